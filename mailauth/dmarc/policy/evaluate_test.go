package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func TestEvaluate(t *testing.T) {
	tests := []struct {
		name            string
		from, spf, dkim string // dkim: separated by blanks
		broken          string // answers SERVFAIL
		want            string // result, tag, policy, applied
		aligned         string
	}{
		{name: "existing subdomain", from: "www.example.com", want: "fail sp quarantine quarantine"},
		{name: "empty non-terminal exists", from: "_domainkey.twice.example.com", want: "fail np none none"},
		{name: "alias to nowhere exists", from: "old.example.com", want: "fail sp quarantine quarantine"},
		{name: "does not exist", from: "nx.example.com", want: "fail np none none"},
		{name: "own record: its sp does not matter", from: "own.example.com", want: "fail p none none"},
		{name: "policy of the public suffix, tested", from: "giant.bank.example", want: "fail p reject quarantine"},
		{name: "policy of the public suffix for what does not exist", from: "nx.bank.example",
			want: "fail p reject quarantine"},
		{name: "unusable record", from: "void.example", spf: "void.example", want: "none"},
		{name: "no record", from: "example.net", spf: "example.net", want: "none"},

		{name: "same domain", from: "www.example.com", spf: "www.example.com", want: "pass sp quarantine quarantine",
			aligned: "spf"},
		{name: "sibling", from: "www.example.com", dkim: "old.example.com", want: "pass sp quarantine quarantine",
			aligned: "dkim"},
		{name: "a walk of its own ends at psd=n", from: "example.com", spf: "x.unit.example.com", dkim: "unit.example.com",
			want: "fail p reject reject"},
		{name: "one of several", from: "example.com", spf: "bounce.example.net", dkim: "example.net own.example.com " +
			"example.org",
			want: "pass p reject reject", aligned: "dkim"},
		{name: "banks of one public suffix", from: "giant.bank.example", dkim: "mega.bank.example",
			want: "fail p reject quarantine"},

		{name: "unknown policy", from: "www.example.com", spf: "www.example.com", broken: "_dmarc.com", want: "temperror"},
		{name: "unknown top, same domain", from: "example.com", spf: "example.com", broken: "_dmarc.com",
			want: "pass p reject reject", aligned: "spf"},
		{name: "unknown top, subdomain", from: "example.com", spf: "www.example.com", broken: "_dmarc.com",
			want: "temperror p reject reject"},
		{name: "unknown walk of one of two", from: "example.com", spf: "example.net", dkim: "www.example.com",
			broken: "_dmarc.net", want: "pass p reject reject", aligned: "dkim"},
		{name: "unknown walk", from: "example.com", spf: "example.net", broken: "_dmarc.net",
			want: "temperror p reject reject"},
		{name: "existence not known, and it matters", from: "www.example.com", broken: "www.example.com", want: "temperror"},
		{name: "existence not known, aligned all the same", from: "www.example.com", spf: "www.example.com",
			broken: "www.example.com", want: "pass", aligned: "spf"},
		{name: "existence not known, and it does not matter", from: "giant.bank.example", broken: "giant.bank.example",
			want: "fail p reject quarantine"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(zone)
			if tt.broken != "" {
				w.Break(tt.broken, dns.RcodeServerFailure)
			}
			m := Message{From: diag.MustName(tt.from)}
			if tt.spf != "" {
				m.SPF = diag.MustName(tt.spf)
			}
			for _, d := range strings.Fields(tt.dkim) {
				m.DKIM = append(m.DKIM, diag.MustName(d))
			}
			e, err := Evaluate(t.Context(), w.Env(), m)
			require.NoError(t, err)
			got := strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s", e.Result, e.Tag, e.Policy, e.Applied)), " ")
			require.Equal(t, tt.want, got)
			require.Equal(t, e.Result == ResultTempError, e.Err != nil && e.Result != ResultPass)
			var aligned []string
			for _, id := range e.Identifiers {
				if id.Aligned {
					aligned = append(aligned, string(id.Mechanism))
				}
			}
			require.Equal(t, tt.aligned, strings.Join(aligned, " "))
		})
	}
}

// Strict alignment compares names, even if the tree is partly unknown.
func TestEvaluateStrict(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(`_dmarc.example.com. TXT "v=DMARC1; p=reject; adkim=s; aspf=s"`)
	w.Break("_dmarc.com", dns.RcodeServerFailure)
	m := Message{From: diag.MustName("example.com"), SPF: diag.MustName("www.example.com")}
	e, err := Evaluate(t.Context(), w.Env(), m)
	require.NoError(t, err)
	require.Equal(t, ResultFail, e.Result)
	require.Nil(t, e.Identifiers[0].Walk)
}

// A message with a hundred valid signatures does not lead to hundreds of queries.
func TestEvaluateBounds(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(zone)
	m := Message{From: diag.MustName("example.com"), SPF: diag.MustName("s.example.net")}
	for i := range 100 {
		m.DKIM = append(m.DKIM, diag.MustName(fmt.Sprintf("d%d.example", i)), diag.MustName("d0.example"))
	}
	e, err := Evaluate(t.Context(), w.Env(), m)
	require.NoError(t, err)
	require.Len(t, e.Identifiers, maxIdentifiers)
	require.Equal(t, 101-maxIdentifiers, e.Omitted)
	require.Less(t, len(w.Queries()), 50)
}

func TestEvaluateInput(t *testing.T) {
	ok, bad := diag.MustName("example.com"), diag.MustName(".")
	for field, m := range map[string]Message{
		"from": {}, "spf": {From: ok, SPF: bad}, "dkim[1]": {From: ok, DKIM: []diag.Name{ok, bad}},
	} {
		_, err := Evaluate(t.Context(), diagtest.NewWorld(t).Env(), m)
		var input *diag.InputError
		require.ErrorAs(t, err, &input)
		require.Equal(t, field, input.Field)
	}
}
