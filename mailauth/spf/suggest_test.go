package spf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Slips of the pen, and what was meant. Nothing is suggested where that is not known.
func TestMend(t *testing.T) {
	tests := []struct{ text, want string }{
		{"v=spf1 ip4:192.0.2.1,192.0.2.2 -all", "v=spf1 ip4:192.0.2.1 ip4:192.0.2.2 -all"},
		{"v=spf1 ip4:192.0.2.1;ip4:192.0.2.2;-all", "v=spf1 ip4:192.0.2.1 ip4:192.0.2.2 -all"},
		{"v=spf1; mx; -all", "v=spf1 mx -all"},
		{"v=spf1, mx, include:x.example, ~all", "v=spf1 mx include:x.example ~all"},
		{"v=spf1 ip4: 192.0.2.1 -all", "v=spf1 ip4:192.0.2.1 -all"},
		{"v=spf1 ip4 :192.0.2.1 -all", "v=spf1 ip4:192.0.2.1 -all"},
		{"v=spf1 ip4 192.0.2.1 -all", "v=spf1 ip4:192.0.2.1 -all"},
		{"v=spf1 include: x.example -all", "v=spf1 include:x.example -all"},
		{"v=spf1 include x.example -all", "v=spf1 include:x.example -all"},
		{"v=spf1 redirect = x.example", "v=spf1 redirect=x.example"},
		{"v=spf1 mx - all", "v=spf1 mx -all"},
		{"v=spf1 mx ~ all", "v=spf1 mx ~all"},
		{"v=spf1 mx ~", "v=spf1 mx ~all"},
		{"v=spf1 mx --all", "v=spf1 mx -all"},
		{"v=spf1 mx -all.", "v=spf1 mx -all"},
		{"v=spf1 mx -al", "v=spf1 mx -all"},
		{"v=spf1 mx \u2013all", "v=spf1 mx -all"},
		{"v=spf1 mx-all", "v=spf1 mx -all"},
		{"v=spf1 ip4:192.0.2.1~all", "v=spf1 ip4:192.0.2.1 ~all"},
		{"v=spf1 ip4:192.0.2.0/255.255.255.0 -all", "v=spf1 ip4:192.0.2.0/24 -all"},
		{"v=spf1 ip4:192.0.2.* -all", "v=spf1 ip4:192.0.2.0/24 -all"},
		{"v=spf1 ip4:192.0.2.8-192.0.2.15 -all", "v=spf1 ip4:192.0.2.8/29 -all"},
		{"v=spf1 ip4:192.0.2.8-11 -all", "v=spf1 ip4:192.0.2.8/30 -all"},
		{"v=spf1 ip4:192.0.2.001 -all", "v=spf1 ip4:192.0.2.1 -all"},
		{"v=spf1 ip4:192.0.2.1:25 -all", "v=spf1 ip4:192.0.2.1 -all"},
		{"v=spf1 ip4:192.0.2.1. -all", "v=spf1 ip4:192.0.2.1 -all"},
		{"v=spf1 ip4:192.0.2.0/024 -all", "v=spf1 ip4:192.0.2.0/24 -all"},
		{"v=spf1 ip4:mail.example.net -all", "v=spf1 a:mail.example.net -all"},
		{"v=spf1 ip4:_spf.example.net -all", "v=spf1 include:_spf.example.net -all"},
		{"v=spf1 ip4:2001:db8::1 -all", "v=spf1 ip6:2001:db8::1 -all"},
		{"v=spf1 ip6:192.0.2.1 -all", "v=spf1 ip4:192.0.2.1 -all"},
		{"v=spf1 ip6:[2001:db8::1] -all", "v=spf1 ip6:2001:db8::1 -all"},
		{"v=spf1 ipv4:192.0.2.1 -all", "v=spf1 ip4:192.0.2.1 -all"},
		{"v=spf1 192.0.2.1 -all", "v=spf1 ip4:192.0.2.1 -all"},
		{"v=spf1 a:192.0.2.1 -all", "v=spf1 ip4:192.0.2.1 -all"},
		{"v=spf1 _spf.example.net -all", "v=spf1 include:_spf.example.net -all"},
		{"v=spf1 includes:x.example -all", "v=spf1 include:x.example -all"},
		{"v=spf1 inlcude:x.example -all", "v=spf1 include:x.example -all"},
		{"v=spf1 inclde:x.example -all", "v=spf1 include:x.example -all"},
		{"v=spf1 include:https://x.example/ -all", "v=spf1 include:x.example -all"},
		{"v=spf1 include:postmaster@x.example -all", "v=spf1 include:x.example -all"},
		{"v=spf1 include:.x.example -all", "v=spf1 include:x.example -all"},
		{"v=spf1 include:m\u00fcller.example -all", "v=spf1 include:xn--mller-kva.example -all"},
		{"v=spf1 redirect:x.example", "v=spf1 redirect=x.example"},
		{"v=spf1 -redirect=x.example", "v=spf1 redirect=x.example"},
		{"v=spf1 a: mx: -all", "v=spf1 a mx -all"},
		{"v=spf1 exists:%i.x.example -all", "v=spf1 exists:%{i}.x.example -all"},
		{"v=spf1 mx\t-all", "v=spf1 mx -all"},
		{"v=spf1 mx \u200b-all", "v=spf1 mx -all"},
		{"\u201cv=spf1 mx -all\u201d", "v=spf1 mx -all"},
		{`"v=spf1 mx -all"`, "v=spf1 mx -all"},
		{"spf=v1 mx -all", "v=spf1 mx -all"},
		{"v=spf1mx -all", "v=spf1 mx -all"},
		{"v = spf1 mx -all", "v=spf1 mx -all"},
		{"v:spf1 mx -all", "v=spf1 mx -all"},
		{"v=spf mx -all", "v=spf1 mx -all"},
		{"ip4:192.0.2.1 include:x.example -all", "v=spf1 ip4:192.0.2.1 include:x.example -all"},

		{"v=spf1 ip4:192.0.2.0/33 mx -all", ""},
		{"v=spf1 moo mx -all", ""},
		{"v=spf1 ip4:192.0.2 -all", ""},
		{"v=spf1 ip4:192.0.2.0/255.0.255.0 -all", ""},
		{"v=spf10 mx -all", ""},
		{"hello", ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) { require.Equal(t, tt.want, mend(tt.text)) })
	}
}

// What is suggested never takes a sender away, and nothing is suggested that is not known to be right.
func TestSuggested(t *testing.T) {
	const mail = "example.com. MX 10 mx.example.com.\n"
	tests := []struct{ name, record, zone, want string }{
		{"all before include", "v=spf1 ~all include:good.example.net", "", "v=spf1 include:good.example.net ~all"},
		{"redirect beside all", "v=spf1 redirect=good.example.net -all", "", "v=spf1 redirect=good.example.net"},
		{"shadowed", "v=spf1 -ip4:198.51.100.0/24 ip4:198.51.100.7 -all", "",
			"v=spf1 ip4:198.51.100.7 -ip4:198.51.100.0/24 -all"},
		{"two records in one", "v=spf1 a:a.example.com -all v=spf1 ip4:198.51.100.7 ~all", "",
			"v=spf1 a:a.example.com ip4:198.51.100.7 ~all"},
		{"all twice", "v=spf1 a:a.example.com ~all -all", "", "v=spf1 a:a.example.com ~all"},
		{"everybody, nobody listed", "v=spf1 +all", mail, ""},
		{"everybody behind senders", "v=spf1 mx +all", mail, "v=spf1 mx ~all"},
		{"neutral", "v=spf1 mx ?all", mail, "v=spf1 mx ~all"},
		{"mechanism with =, and all as a modifier", "v=spf1 all=1 include=good.example.net -all", "",
			"v=spf1 include:good.example.net -all"},
		{"modifier that means nothing", "v=spf1 all=1 include:good.example.net -all", "",
			"v=spf1 include:good.example.net -all"},
		{"include of nothing", "v=spf1 include:bare.example.net -all", "", ""},
		{"redirect to nothing", "v=spf1 redirect=bare.example.net", "", ""},
		{"nothing wrong", "v=spf1 mx -all", mail, ""},
		{"held by another", "v=spf1 include:good.example.net include:dup.example.net -all", "",
			"v=spf1 include:dup.example.net -all"},
		{"rest in another record", "v=spf1 a:a.example.com -all", `example.com. TXT "ip4:198.51.100.1 -all"`,
			"v=spf1 a:a.example.com ip4:198.51.100.1 -all"},
		{"own domain as a modifier", "v=spf1 v=spf1 include=example.com redirect=r.example", "r.example. TXT \"v=spf1 ip4:192.0.2.0/26 -all\"", ""},
		{"redirect stands before what had no effect", "v=spf1 v=spf1 a=gone.example.com redirect=r.example",
			"r.example. TXT \"v=spf1 ip4:192.0.2.0/26 -all\"", "v=spf1 include:r.example a:gone.example.com ~all"},
		{"no mail, no record", "", "example.com. MX 0 .", "v=spf1 -all"},
		{"mail, no record", "", mail, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := lookup(t, published(t, tt.record, hosts+tt.zone))
			got := ""
			for _, advice := range r.Recommendations {
				if advice.SuggestedValue != "" {
					require.True(t, got == "" || got == advice.SuggestedValue, "%s and %s", got, advice.SuggestedValue)
					got = advice.SuggestedValue
				}
			}
			require.Equal(t, tt.want, got, "%+v", r.Findings)
		})
	}
}

// Whatever is published, a suggested record has no error, and whoever passes today passes by it: unless
// that was by +all, when nobody who is not listed can be told from a forger, and is not refused.
func TestSuggestionsKeepSenders(t *testing.T) {
	suggested := 0
	rapid.Check(t, func(t *rapid.T) {
		name := func() string { return fmt.Sprintf("n%d.example", rapid.IntRange(0, 5).Draw(t, "name")) }
		sign := rapid.SampledFrom([]string{"", "", "", "", "-", "~", "?"})
		term := func() string {
			address := fmt.Sprintf("192.0.2.%d/%d", rapid.IntRange(0, 63).Draw(t, "host"), rapid.IntRange(26, 32).Draw(t, "bits"))
			kind := rapid.SampledFrom([]string{"ip4:", "ip4:", "a:", "mx:", "include:", "exists:", "all", "redirect=", "v=spf1",
				"include=", "all=", "a=", "mx=", "ip4=", "exists=", "ptr=", "ip4: ", "ipv4:", "include: "}).Draw(t, "kind")
			switch {
			case strings.Contains(kind, "="):
				return kind + map[bool]string{true: address, false: name()}[kind == "ip4="]
			case strings.HasPrefix(kind, "ip"):
				return sign.Draw(t, "sign") + kind + address
			case kind == "all":
				return rapid.SampledFrom([]string{"-all", "~all", "?all", "+all"}).Draw(t, "all")
			default:
				return sign.Draw(t, "sign") + kind + name()
			}
		}
		zone := records{}
		for i := range 6 {
			text := version
			for range rapid.IntRange(0, 4).Draw(t, "terms") {
				text += " " + term()
			}
			host := fmt.Sprintf("n%d.example", i)
			zone[host] = [][2]any{{"TXT", []any{text}}, {"A", fmt.Sprintf("192.0.2.%d", rapid.IntRange(0, 63).Draw(t, "a"))}}
			if rapid.Bool().Draw(t, "mx") {
				zone[host] = append(zone[host], [2]any{"MX", []any{1.0, name()}})
			}
		}
		domain := diag.MustName("n0.example")
		r, err := Lookup(t.Context(), &diag.Env{Resolver: zone}, LookupRequest{Domain: domain})
		require.NoError(t, err)
		for _, advice := range r.Recommendations {
			if advice.SuggestedValue == "" {
				continue
			}
			suggested++
			again, err := Validate(ValidateRequest{Record: advice.SuggestedValue, Domain: domain})
			require.NoError(t, err)
			for _, f := range again.Findings {
				require.Less(t, f.Severity, diag.Error, "%s for %v: %+v", advice.SuggestedValue, zone, f)
			}
			keepsSenders(t, zone, advice.SuggestedValue)
		}
	})
	t.Logf("suggested: %d", suggested)
	require.Positive(t, suggested)
}

func keepsSenders(t *rapid.T, zone records, suggested string) {
	better := records{}
	for host, list := range zone {
		better[host] = list
	}
	old := zone["n0.example"]
	better["n0.example"] = append([][2]any{{"TXT", []any{suggested}}}, old[1:]...)
	for i := range 64 {
		req := CheckRequest{IP: ip(fmt.Sprintf("192.0.2.%d", i)), Sender: "a@n0.example"}
		before, err := Check(t.Context(), &diag.Env{Resolver: zone}, req)
		require.NoError(t, err)
		if before.Outcome != Pass {
			continue
		}
		after, err := Check(t.Context(), &diag.Env{Resolver: better}, req)
		require.NoError(t, err)
		if strings.TrimPrefix(strings.ToLower(before.MatchedTerm), "+") == "all" {
			require.NotEqual(t, Fail, after.Outcome)
			continue
		}
		require.Equal(t, Pass, after.Outcome, "%s by %q instead of %v", req.IP, suggested, zone)
	}
}
