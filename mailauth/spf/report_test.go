package spf

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

func golden(t *testing.T, name string, v any) {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/"+name, append(text, '\n'))
}

func TestLookupReport(t *testing.T) {
	w := zoneWith(t, "v=spf1 mx ip4:192.0.2.0/24 include:_spf.google.com include:two.example.net a:%{i}.example.com "+
		"-all exp=why.example.net", hosts+`
example.com. MX 10 mx.example.com.
_spf.google.com. TXT "v=spf1 include:_netblocks.google.com ~all"
_netblocks.google.com. TXT "v=spf1 ip4:198.51.100.0/24 ip6:2001:db8:4000::/36 ~all"
`)
	r, err := Lookup(t.Context(), w.Env(), LookupRequest{Domain: request.Domain, IP: diag.MustIP("198.51.100.1")})
	require.NoError(t, err)
	r.DurationMS = 0
	golden(t, "lookup.json", r)
}

func TestLookupReportOfNothing(t *testing.T) {
	r := lookup(t, zoneWith(t, "", "example.com. A 192.0.2.1"))
	require.False(t, r.Valid || r.Found)
	require.Empty(t, r.Version)
	for _, list := range []any{r.Terms, r.Tree.Children, r.Authorized.IP4, r.Authorized.IP6, r.Providers, r.Findings} {
		require.NotNil(t, list)
	}
	require.Equal(t, "there is no SPF record", r.Tree.Error)
}

func TestValidateReport(t *testing.T) {
	r, err := Validate(ValidateRequest{
		Record: "v=spf1 ip4:192.0.2.300 include:_spf.example.net redirect:example.org -all",
		Domain: request.Domain.Name(), IP: diag.MustIP("192.0.2.1"),
	})
	require.NoError(t, err)
	golden(t, "validate.json", r)
}

func TestTexts(t *testing.T) {
	require.NoError(t, rules().Check())
	golden(t, "texts.json", verdicts)
}

func TestSuggestions(t *testing.T) {
	tests := []struct{ record, zone, code, want string }{
		{"v=spf1 ipv4:192.0.2.1 redirect:x.example -all", "", "spf.syntax.mechanism",
			"v=spf1 ip4:192.0.2.1 include:x.example -all"},
		{"v=spf1 ip4:192.0.2.1~all", "", "spf.syntax.glued", "v=spf1 ip4:192.0.2.1 ~all"},
		{"v=spf1 include:good.example.net-all", "", "spf.syntax.glued", "v=spf1 include:good.example.net -all"},
		{"v=spf1 moo ipv4:192.0.2.1 -all", "", "spf.syntax.mechanism", ""},
		{"v=spf1\ta:x.example\t-all", "", "spf.record.version", "v=spf1 a:x.example -all"},
		{`"v=spf1 -all"`, "", "spf.record.version", "v=spf1 -all"},
		{"v=spf1mx -all", "", "spf.record.version", "v=spf1 mx -all"},
		{"v=spf1 a:a.example.com a:A.example.com -all", "", "spf.term.repeated", "v=spf1 a:a.example.com -all"},
		{"v=spf1 a:a.example.com", "", "spf.all.missing", "v=spf1 a:a.example.com ~all"},
		{"v=spf1 a:a.example.com +all", "", "spf.all.pass", "v=spf1 a:a.example.com ~all"},
		{"v=spf1 ip4=192.0.2.1 -all", "", "spf.modifier.mechanism", "v=spf1 ip4:192.0.2.1 -all"},
		{"v=spf1 a:a.example.com v=spf1 -all", "", "spf.modifier.version", "v=spf1 a:a.example.com -all"},
		{"v=spf1 redirect=x.example a:a.example.com -all", "", "spf.redirect.ignored", "v=spf1 a:a.example.com include:x.example -all"},
		{"v=spf1 mx a:a.example.com -all", "", "spf.mx.void", "v=spf1 a:a.example.com -all"},
		{"v=spf1 ~ip4:192.0.2.1/24 -all", "", "spf.network.host_bits", "v=spf1 ~ip4:192.0.2.0/24 -all"},
		{"v=spf1 a:a.example.com -all", `example.com. TXT "v=spf1 a:b.example.com ~all"`, "spf.record.multiple",
			"v=spf1 a:a.example.com a:b.example.com ~all"},
		{"", `example.com. TXT "v=spf1 a:a.example.com" "a:b.example.com -all"`, "spf.record.joined",
			"v=spf1 a:a.example.com a:b.example.com -all"},
	}
	for _, tt := range tests {
		t.Run(tt.code+" "+tt.record, func(t *testing.T) {
			r := lookup(t, zoneWith(t, tt.record, hosts+tt.zone))
			for _, advice := range r.Recommendations {
				if string(advice.Code) == tt.code {
					require.Equal(t, tt.want, advice.SuggestedValue)
					return
				}
			}
			t.Errorf("not recommended: %+v", r.Findings)
		})
	}
}

// Findings locate their place in the record.
func TestLocations(t *testing.T) {
	tests := []struct{ record, code, want string }{
		{"v=spf1 moo -all", "spf.syntax.mechanism", "moo"},
		{"v=spf1 ip4:192.0.2.0/33 -all", "spf.syntax.prefix", "33"},
		{"v=spf1 a:%{x}.example.com -all", "spf.syntax.macro", "%{x}"},
		{"v=spf1 -all a:a.example.com", "spf.term.unreached", "a:a.example.com"},
		{"v=spf1 a:a.example.com include:bare.example.net -all", "spf.include.missing", "include:bare.example.net"},
		{"v=spf1 include:dup.example.net include:loop.example.net -all", "spf.include.loop", "include:loop.example.net"},
		{"v=spf1 a:a.example.com ?all", "spf.all.neutral", "?all"},
		{"v=spf1 a:a.example.com a:A.example.com ~all", "spf.term.repeated", "a:A.example.com"},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			r := lookup(t, zoneWith(t, tt.record, hosts))
			for _, f := range r.Findings {
				if string(f.Code) == tt.code {
					require.Equal(t, tt.want, tt.record[f.Location.Offset:f.Location.Offset+f.Location.Length])
					return
				}
			}
			t.Errorf("not found: %+v", r.Findings)
		})
	}
}

// Every kind of fault that checkdmarc 5.17 (github.com/domainaware/checkdmarc) reports has a rule. Its messages of
// one kind, such as lookups counted in several places, share one. Faults without effect on readers, such as a record
// of 460 bytes, have no rule.
func TestFindingsOfOthers(t *testing.T) {
	tests := []struct{ message, record, zone, code string }{
		{"SPF record does not exist", "", "example.com. A 192.0.2.1", "spf.record.missing"},
		{"domain does not exist", "", "", "spf.domain.nxdomain"},
		{"multiple SPF TXT records", "v=spf1 -all", `example.com. TXT "v=spf1 mx -all"`, "spf.record.multiple"},
		{"should equal v=spf1 or begin with it and a space", "v=spf1mx -all", "", "spf.record.version"},
		{"SPF type DNS records found", "v=spf1 -all", `example.com. SPF "v=spf1 -all"`, "spf.record.type99"},
		{"deprecated Sender ID record", "v=spf1 -all", `example.com. TXT "spf2.0/mfrom -all"`, "spf.record.sender_id"},
		{"record > 512 bytes", "v=spf1" + networks(30) + " -all", "", "spf.record.oversized"},
		{"parked domains should be", "v=spf1 ?mx -all", "", "spf.none.form"},
		{"expected whitespace before all", "v=spf1 ip4:192.0.2.1~all", "", "spf.syntax.glued"},
		{"expected ... at position", "v=spf1 foo -all", "", "spf.syntax.mechanism"},
		{"exp modifier is missing a value", "v=spf1 -all exp=", "", "spf.syntax.value.missing"},
		{"no text after the exp modifier value", "v=spf1 -all exp=why.example.net more", "", "spf.syntax.mechanism"},
		{"no TXT records at exp value", "v=spf1 -all exp=x.example.net", "", "spf.exp.missing"},
		{"too many TXT records at exp value", "v=spf1 -all exp=whys.example.net", "", "spf.exp.multiple"},
		{"text after all is ignored", "v=spf1 -all mx", "", "spf.term.unreached"},
		{"macros not allowed in ip4", "v=spf1 ip4:%{i} -all", "", "spf.syntax.network_macro"},
		{"invalid macro syntax", "v=spf1 a:%{q}.example.com -all", "", "spf.syntax.macro"},
		{"ip4 looks like ipv6", "v=spf1 ip4:2001:db8::1 -all", "", "spf.syntax.family"},
		{"not a valid ipv4 value", "v=spf1 ip4:192.0.2.x -all", "", "spf.syntax.ip4"},
		{"ip6 looks like ipv4", "v=spf1 ip6:192.0.2.1 -all", "", "spf.syntax.family"},
		{"not a valid ipv6 value", "v=spf1 ip6:x -all", "", "spf.syntax.ip6"},
		{"a has no records", "v=spf1 a:x.example.com -all", "", "spf.a.void"},
		{"mx has no records", "v=spf1 mx:x.example.com -all", "", "spf.mx.void"},
		{"more than 10 MX records", "v=spf1 mx:many.example.net -all", manyMX(6), "spf.mx.exceeded"},
		{"maximum void lookups", "v=spf1 mx a:x.example.com a:y.example.com -all", "", "spf.voids.exceeded"},
		{"maximum lookups", "v=spf1 include:eleven.example.net -all", "", "spf.lookups.exceeded"},
		{"must have a value", "v=spf1 include: -all", "", "spf.syntax.value.missing"},
		{"multiple redirect modifiers", "v=spf1 redirect=a.example redirect=b.example", "", "spf.syntax.repeated"},
		{"redirect loop", "v=spf1 redirect=round.example.net", "", "spf.redirect.loop"},
		{"all can only be used once", "v=spf1 -all -all", "", "spf.term.repeated"},
		{"multiple exp values", "v=spf1 -all exp=a.example exp=b.example", "", "spf.syntax.repeated"},
		{"include loop", "v=spf1 include:loop.example.net -all", "", "spf.include.loop"},
		{"duplicate include", "v=spf1 include:good.example.net include:good.example.net -all", "", "spf.include.repeated"},
		{"error in an included record", "v=spf1 include:broken.example.net -all", "", "spf.include.syntax"},
		{"no record to include", "v=spf1 include:bare.example.net -all", "", "spf.include.missing"},
		{"no record to redirect to", "v=spf1 redirect=bare.example.net", "", "spf.redirect.missing"},
		{"ptr should not be used", "v=spf1 ptr -all", "", "spf.ptr"},
	}
	for _, tt := range tests {
		t.Run(tt.message, func(t *testing.T) {
			zone := hosts + tt.zone
			if tt.zone+tt.record == "" {
				zone = "example.net. A 192.0.2.1"
			}
			r := lookup(t, zoneWith(t, tt.record, zone))
			require.Contains(t, diagtest.Codes(r.Verdict), diag.Code(tt.code), fmt.Sprint(r.Findings))
			for _, f := range r.Findings {
				require.NotEmpty(t, f.Advice)
				require.NotEmpty(t, f.Reference)
			}
		})
	}
}
