package spf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
)

// A missing space is reported as the cause, by lookup and validation, with the record that contains it.
func TestSeams(t *testing.T) {
	const zone = hosts + "example.com. MX 10 mx.example.com.\n"
	tests := []struct{ parts, code, want string }{
		{"v=spf1 include:good.example.net|include:soft.example.net ~all", "spf.record.joined",
			"v=spf1 include:good.example.net include:soft.example.net ~all"},
		{"v=spf1 include:good.example.net|-ip4:198.51.100.7|mx -all", "spf.record.joined",
			"v=spf1 include:good.example.net -ip4:198.51.100.7 mx -all"},
		{"v=spf1 mx|-all", "spf.record.joined", "v=spf1 mx -all"},
		{"v=spf1 ip4:198.51.100.7|-all", "spf.record.joined", "v=spf1 ip4:198.51.100.7 -all"},
		{"v=spf1 include:good.example.net|~all", "spf.record.joined", "v=spf1 include:good.example.net ~all"},
		{"v=spf1 ip4:198.51.100.7|include:good.example.net -all", "spf.record.joined",
			"v=spf1 ip4:198.51.100.7 include:good.example.net -all"},
		{"v=spf1 ip4:198.51.100.7|mx -all", "spf.record.joined", "v=spf1 ip4:198.51.100.7 mx -all"},
		{"v=spf1 ip6:2001:db8::/32|a:a.example.com -all", "spf.record.joined", "v=spf1 ip6:2001:db8::/32 a:a.example.com -all"},
		{"v=spf1 mx|redirect=good.example.net", "spf.record.joined", "v=spf1 mx redirect=good.example.net"},
		{"v=spf1 a:a.example.com|include:good.example.net|ip4:192.0.2.200|-all", "spf.record.joined",
			"v=spf1 a:a.example.com include:good.example.net ip4:192.0.2.200 -all"},
		{"v=spf1 include:good.example.netinclude:soft.example.net ~all", "spf.term.glued",
			"v=spf1 include:good.example.net include:soft.example.net ~all"},
		{"v=spf1 ip4:198.51.100.7ip4:198.51.100.8 -all", "spf.term.glued", "v=spf1 ip4:198.51.100.7 ip4:198.51.100.8 -all"},
		{"v=spf1 mxinclude:good.example.net?include:soft.example.net -all", "spf.term.glued",
			"v=spf1 mx include:good.example.net ?include:soft.example.net -all"},
		{"v=spf1 mxredirect=good.example.net", "spf.term.glued", "v=spf1 mx redirect=good.example.net"},
		{"v=spf1 include:good.example.net -allv=spf1 include:soft.example.net -all", "spf.modifier.version",
			"v=spf1 include:good.example.net include:soft.example.net -all"},
		{"v=spf1 include:good.example.net ~all|v=spf1 mx -all", "spf.modifier.version", "v=spf1 include:good.example.net mx ~all"},
		{"v=spf1 include:good.example.netv=spf1 mx -all", "spf.modifier.version", "v=spf1 include:good.example.net mx -all"},
		{"v=spf1 include:good.example.net|mx -all", "spf.record.joined", "v=spf1 include:good.example.net mx -all"},
		{"v=spf1 include:good.example.neta:a.example.com -all", "spf.term.glued", "v=spf1 include:good.example.net a:a.example.com -all"},
		{"v=spf1 ip4:198.51.100.7a:a.example.com -all", "spf.term.glued", "v=spf1 ip4:198.51.100.7 a:a.example.com -all"},
	}
	for _, tt := range tests {
		t.Run(tt.parts, func(t *testing.T) {
			quoted := `"` + strings.ReplaceAll(tt.parts, "|", `" "`) + `"`
			alone, err := Validate(ValidateRequest{Record: quoted})
			require.NoError(t, err)
			published := lookup(t, zoneWith(t, "", zone+"example.com. TXT "+quoted))
			for _, v := range []diag.Verdict{alone.Verdict, published.Verdict} {
				require.Equal(t, diag.Code(tt.code), v.Findings[0].Code, "%+v", v.Findings)
				require.Equal(t, v.Findings[0].Title, v.Headline)
				require.Equal(t, tt.want, v.Recommendations[0].SuggestedValue)
				for _, f := range v.Findings {
					require.Equal(t, diag.Code(tt.code), f.Code, "%+v", v.Findings)
				}
			}
		})
	}
	r := lookup(t, zoneWith(t, "", zone+`example.com. TXT "v=spf1 include:good.example.net" "include:nowhere.example.net -all"`))
	require.Equal(t, "v=spf1 include:good.example.net ~all", r.Recommendations[0].SuggestedValue)
	for _, text := range []string{"v=spf1 ip6:2001:db8::a:1 ip6:2001:db8::1a:b -all", "v=spf1 x=include:a.example -all", "v=spf1 include:include:a.example -all", "v=spf1 moo=v=spf1 -all",
		"v=spf1 exp=exp.example -all", "v=spf1 include:v=spf1.example -all", "v=spf1 -include:a.example -all"} {
		require.Empty(t, findMissingSpaces(text, []string{text}), text)
	}
	text := fmt.Sprintf("v=spf1 include:%s", strings.Repeat("a", 240))
	require.Empty(t, findMissingSpaces(text+"b.example -all", []string{text, "b.example -all"}))
}
