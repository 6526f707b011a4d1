package domaincheck

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func ExampleCheck() {
	world, err := diagtest.New(diagtest.Config{Zone: edits{"host": ""}.zone()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	r, err := Check(context.Background(), world.Env(), Request{Domain: diag.MustDomain("example.com")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Headline)
	fmt.Println(r.Recommendations[0].Detail)
	for _, q := range r.Requirements {
		fmt.Println(q.Code, *q.Met)
	}
	// Output:
	// Fix first: no MX host has a public address
	// Correct the name in the MX record, or add an address record for the host: until then all mail to the domain is returned to its senders.
	// google_bulk false
	// yahoo_bulk false
	// microsoft_bulk true
}

func TestRules(t *testing.T) {
	var seen diagtest.Seen
	for _, tt := range []struct {
		edits edits
		more  func(*diagtest.World)
		req   Request
		want  []diag.Code
	}{
		{req: example, want: []diag.Code{}},
		{edits: edits{"ptr": ""}, req: example, want: []diag.Code{"check.ptr.missing"}},
		{edits: edits{"ptr": "25.2.0.192.in-addr.arpa. PTR mx2.example.com."}, req: example, want: []diag.Code{"check.ptr.unconfirmed"}},
		{more: servfail("25.2.0.192.in-addr.arpa"), req: example, want: []diag.Code{"check.ptr.unknown"}},
		{req: Request{Domain: diag.MustDomain("gone.example")}, want: []diag.Code{"check.domain.nxdomain"}},
	} {
		w := tt.edits.world(t)
		if tt.more != nil {
			tt.more(w)
		}
		c := &check{Request: tt.req}
		c.gather(t.Context(), w.Env())
		c.conclude()
		require.Equal(t, tt.want, seen.Add(rules.Judge(c, texts)))
	}
	diagtest.CoverRules(t, rules, seen)
	diagtest.CheckTexts(t, texts, rules.Describe(), seen)
}

// Whether bulk senders meet the requirements, and what is missing.
func TestRequirements(t *testing.T) {
	ok, failed := new(true), new(false)
	noPTR := edits{"ptr": ""}
	for _, tt := range []struct {
		name                     string
		edits                    edits
		more                     func(*diagtest.World)
		google, yahoo, microsoft *bool
		missing                  int // of Google
	}{
		{"good", nil, nil, ok, ok, ok, 0},
		{"p=none is enough", edits{"dmarc": `_dmarc.example.com. TXT "v=DMARC1; p=none"`}, nil, ok, ok, ok, 0},
		{"no DMARC", edits{"dmarc": ""}, nil, failed, failed, failed, 1},
		{"no SPF", edits{"spf": ""}, nil, failed, failed, failed, 1},
		{"Microsoft asks for no PTR", noPTR, nil, failed, failed, ok, 1},
		{"1024 bits are enough", edits{"dkim": `default._domainkey.example.com. TXT ` + key1024}, nil, ok, ok, ok, 0},
		{"a key at another selector", edits{"dkim": `x._domainkey.example.com. TXT ` + key2048}, nil, nil, nil, nil, 0},
		{"which does not matter without DMARC", edits{"dkim": `x._domainkey.example.com. TXT ` + key2048, "dmarc": ""}, nil,
			failed, failed, failed, 1},
		{"DMARC unknown", nil, servfail("_dmarc.example.com"), nil, nil, nil, 0},
		{"reverse DNS unknown", nil, servfail("25.2.0.192.in-addr.arpa"), nil, nil, ok, 0},
		{"sends no mail", edits{"spf": `example.com. TXT "v=spf1 -all"`, "dkim": ""}, nil, failed, failed, failed, 2},
	} {
		w := tt.edits.world(t)
		if tt.more != nil {
			tt.more(w)
		}
		r := run(t, w, example)
		require.Equal(t, []*bool{tt.google, tt.yahoo, tt.microsoft},
			[]*bool{r.Requirements[0].Met, r.Requirements[1].Met, r.Requirements[2].Met}, tt.name)
		require.Len(t, r.Requirements[0].Missing, tt.missing, tt.name)
	}
}

// A domain that authorizes no host to send, but has a key to sign with, is neither set up correctly nor ready.
func TestContradictions(t *testing.T) {
	r := run(t, edits{"spf": `example.com. TXT "v=spf1 -all"`}.world(t), example)
	require.Equal(t, []diag.Code{"check.spf.mute"}, grave(r))
	require.Equal(t, "SPF lets nobody send, but there is a DKIM key", r.Pillars.Sending.SPF.Headline)
	require.Equal(t, []any{diag.Warned, diag.Warned, ""}, []any{r.State, r.Pillars.Sending.SPF.State, readiness(r)})
	require.Nil(t, r.SendsMail)
	require.Equal(t, new(false), r.Requirements[0].Met)
}

// A key that few verifiers support does not matter next to one that all support.
func TestTwoKinds(t *testing.T) {
	alone := `default._domainkey.example.com. TXT "v=DKIM1; k=ed25519; p=iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w="`
	for records, told := range map[string]bool{alone: true, alone + "\n" + `s1._domainkey.example.com. TXT ` + key2048: false} {
		r := run(t, edits{"dkim": records}.world(t), example)
		require.Equal(t, told, slices.Contains(diagtest.Codes(r.Verdict), "dkim.key.ed25519.alone"))
		for _, p := range r.Pillars.Sending.DKIM {
			require.True(t, told || !slices.Contains(diagtest.Codes(p.Result.Verdict), "dkim.key.ed25519.alone"))
		}
	}
}

// With its mail servers seen at work, a domain without a fault is ready; with one of them unreachable, that is
// unknown.
func TestReady(t *testing.T) {
	req := example
	req.IncludeSMTP = true
	closed := map[string]string{"RCPT": "550 5.7.1 relay denied"}
	serve := func(w *diagtest.World) {
		for _, host := range []string{"mx1.example.com", "mx2.example.com"} {
			w.SMTP(diagtest.SMTP{Host: host, Replies: closed})
		}
	}
	r := run(t, edits{"tlsa": ""}.world(t, serve), req)
	require.Equal(t, "true", readiness(r), "%+v", r.Findings)
	r = run(t, edits{"tlsa": ""}.world(t, serve, func(w *diagtest.World) { w.Behave("198.51.100.25:25", diagtest.Unreachable) }), req)
	require.NotEqual(t, "true", readiness(r))
	require.NotContains(t, r.Headline, "ready")
}

// If no server answers at all, there is no result, and the caller is not charged.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Silence("example.com")
		w.Silence("*.example.com")
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err := Check(ctx, w.Env(), example)
		require.ErrorIs(t, err, diag.ErrUnavailable)
	})
}

// One unanswered name costs no more than its part.
func TestSilenceOfOnePart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := edits{}.world(t, func(w *diagtest.World) { w.Silence("_dmarc.example.com") })
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		r, err := Check(ctx, w.Env(), example)
		require.NoError(t, err)
		require.NoError(t, ctx.Err())
		require.Equal(t, diag.Unknown, r.Pillars.Sending.DMARC.State)
		require.Equal(t, diag.Valid, r.Pillars.Sending.SPF.State)
		require.True(t, r.Partial)
		require.Nil(t, r.Ready)
	})
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Check(ctx, edits{}.world(t).Env(), example)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Check(t.Context(), nil, Request{})
	require.ErrorContains(t, err, "domain")
}

// A record of another domain is not suggested to this one.
func TestSubdomain(t *testing.T) {
	w := edits{
		"dmarc": `_dmarc.example.com. TXT "v=DMARC1; p=none; rua=mailto:a@example.com"`,
		"more":  "sub.example.com. MX 10 mx1.example.com.\n" + `sub.example.com. TXT "v=spf1 ip4:192.0.2.25 -all"`,
	}.world(t)
	r := run(t, w, Request{Domain: diag.MustDomain("sub.example.com")})
	require.Contains(t, grave(r), diag.Code("dmarc.policy.none"))
	for _, one := range r.Recommendations {
		require.NotContains(t, one.SuggestedValue, "v=DMARC1", "the record is that of example.com")
	}
}

// A consequence of a missing record is not attributed to another fault if the lookup of that record's wrong places
// failed.
func TestConsequenceOfAFailedLookup(t *testing.T) {
	e := edits{"dmarc": "", "more": `default._bimi.example.com. TXT "v=BIMI1; l=https://example.com/logo.svg"`}
	r, err := Check(t.Context(), e.world(t, servfailTXT("example.com")).Env(), example)
	require.NoError(t, err)
	assert.Contains(t, diagtest.Codes(r.Verdict), diag.Code("check.lookups.failed"))
	assert.NotContains(t, diagtest.Codes(r.Verdict), diag.Code("bimi.dmarc.missing"))
}

// No stricter policy is suggested for p=none, whether or not SPF is known to pass: the advice says when to raise it.
func TestNoPolicyBesideUnknownSPF(t *testing.T) {
	none := edits{"dmarc": `_dmarc.example.com. TXT "v=DMARC1; p=none; rua=mailto:dmarc@example.com"`}
	for _, silent := range []string{"nothing.example.net", "_spf.example.net"} {
		r, err := Check(t.Context(), none.world(t, servfailTXT(silent)).Env(), example)
		require.NoError(t, err)
		for _, one := range r.Recommendations {
			assert.NotContains(t, one.SuggestedValue, "v=DMARC1", silent)
		}
	}
}

func servfailTXT(name string) func(*diagtest.World) {
	return func(w *diagtest.World) { w.Fault(name, dns.TypeTXT, diagtest.Fault{Rcode: dns.RcodeServerFailure}) }
}
