package spf

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Typos, and the intended records. There is no suggestion where the intent is unknown.
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
		{"v==spf1 mx -all", "v=spf1 mx -all"},
		{"v=sp1 mx -all", "v=spf1 mx -all"},
		{"v-spf1 mx -all", "v=spf1 mx -all"},
		{"version=spf1 mx -all", "v=spf1 mx -all"},
		{`v=spf1 ip4:6.6.6.0\24 -all`, "v=spf1 ip4:6.6.6.0/24 -all"},
		{`v=spf1 ip6:2001:db8::\32 -all`, "v=spf1 ip6:2001:db8::/32 -all"},
		{"v=spf1 ip4:192.0.2.1/ -all", "v=spf1 ip4:192.0.2.1 -all"},
		{"v=spf1 192.0.2.1/ -all", "v=spf1 ip4:192.0.2.1 -all"},
		{"v=spf1 ip4:192.0.2.1 and ip4:192.0.2.2 -all", "v=spf1 ip4:192.0.2.1 ip4:192.0.2.2 -all"},
		{"v=spf1 lp4:192.0.2.1 -all", "v=spf1 ip4:192.0.2.1 -all"},
		{"v=spf1 mx all-", "v=spf1 mx -all"},
		{"v=spf1 mx all~", "v=spf1 mx ~all"},
		{"v=spf1 mx -a11", "v=spf1 mx -all"},
		{"v=spf1 mx include: -all", "v=spf1 mx -all"},
		{"v=spf1 mx -all exp=a.example exp=b.example", "v=spf1 mx -all exp=a.example"},

		{"v=spf1 include:a.example/include:b.example -all", ""},
		{"v=spf1 redirect=a.example redirect=b.example", ""},
		{"v=spf1 ip4:192.0.2.0/33 mx -all", ""},
		{"v=spf1 moo mx -all", ""},
		{"v=spf1 ip4:192.0.2 -all", ""},
		{"v=spf1 ip4:192.0.2.0/255.0.255.0 -all", ""},
		{"v=spf10 mx -all", ""},
		{"hello", ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, _ := correctRecord(tt.text)
			require.Equal(t, tt.want, got)
		})
	}
}

// Suggestions never remove a sender, and are made only if known to be right.
func TestSuggested(t *testing.T) {
	const mail = "example.com. MX 10 mx.example.com.\n"
	twelve, twelveRecords := "", ""
	for i := range 12 {
		twelve += fmt.Sprintf(" include:s%d.example.net", i)
		twelveRecords += fmt.Sprintf("s%d.example.net. TXT \"v=spf1 ip4:198.51.100.%d -all\"\n", i, i)
	}
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
		{"neutral, nobody listed", "v=spf1 ?all", mail, ""},
		{"neutral for everybody", "v=spf1 ?mx ?all", mail, ""},
		{"version alone", "v=spf1", mail, ""},
		{"senders that do not exist", "v=spf1 a:gone.example.com ?all", mail, ""},
		{"include of nothing", "v=spf1 include:bare.example.net -all", "", ""},
		{"include of nothing beside a sender", "v=spf1 mx include:bare.example.net -all", mail, "v=spf1 mx ~all"},
		{"include of nobody", "v=spf1 mx include: -all", mail, "v=spf1 mx ~all"},
		{"include of nobody alone", "v=spf1 include: -all", mail, ""},
		{"include of itself", "v=spf1 mx include:example.com -all", mail, "v=spf1 mx -all"},
		{"include of itself alone", "v=spf1 include:example.com -all", mail, ""},
		{"slip in the name of a provider", "v=spf1 include:_spf.gogle.com -all", `_spf.google.com. TXT "v=spf1 ip4:198.51.100.9 ~all"`,
			"v=spf1 include:_spf.google.com -all"},
		{"another provider", "v=spf1 mx include:spf.protecton.outlook.com -all", mail +
			`spf.protection.outlook.com. TXT "v=spf1 ip4:198.51.100.9 -all"`, "v=spf1 mx include:spf.protection.outlook.com -all"},
		{"URL of a record", "v=spf1 include:https://good.example.net -all", "", "v=spf1 include:good.example.net -all"},
		{"URL of nothing", "v=spf1 include:https://nowhere.example.net -all", "", ""},
		{"a provider without a record", "v=spf1 include:_spf.gogle.com -all", mail, ""},
		{"a name like that of a provider", "v=spf1 include:_spf.gogle.com -all", `_spf.gogle.com. TXT "v=spf1 ip4:198.51.100.9 ~all"` + "\n" + `_spf.google.com. TXT "v=spf1 ip4:198.51.100.8 ~all"`, ""},
		{"twelve includes of one network", "v=spf1" + twelve + " mx -all", mail + twelveRecords,
			"v=spf1 ip4:198.51.100.0/29 ip4:198.51.100.8/30 mx -all"},
		{"two records, one with an include of nothing", "v=spf1 mx include:bare.example.net -all",
			mail + `example.com. TXT "v=spf1 a:a.example.com -all"`, "v=spf1 a:a.example.com mx ~all"},
		{"two records, merged", "v=spf1 mx -all", mail + `example.com. TXT "v=spf1 include:good.example.net -all"`,
			"v=spf1 include:good.example.net mx -all"},
		{"include with a weaker end", "v=spf1 mx include:bare.example.net ~all", mail, "v=spf1 mx ~all"},
		{"three voids", "v=spf1 a:x.example.com a:y.example.com a:z.example.com mx -all", mail, "v=spf1 mx ~all"},
		{"void beside all in force", "v=spf1 a:x.example.com mx -all", mail, "v=spf1 mx -all"},
		{"redirect beside a weaker all", "v=spf1 redirect=good.example.net ~all", "", "v=spf1 include:good.example.net ~all"},
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
			r := lookup(t, zoneWith(t, tt.record, hosts+tt.zone))
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

// For any published record, a suggested record has no error and passes every host that passes today, except hosts
// that pass only by +all, which cannot be distinguished from forgers: they are not refused.
func TestSuggestionsKeepSenders(t *testing.T) {
	suggested := 0
	rapid.Check(t, func(t *rapid.T) {
		zone := drawZone(t)
		domain := diag.MustName("n0.example")
		r, err := Lookup(t.Context(), &diag.Env{Resolver: zone}, LookupRequest{Name: domain})
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
		req := eval.Request{IP: ip(fmt.Sprintf("192.0.2.%d", i)), Sender: "a@n0.example"}
		before, err := eval.Check(t.Context(), &diag.Env{Resolver: zone}, req)
		require.NoError(t, err)
		if before.Outcome != eval.Pass {
			continue
		}
		after, err := eval.Check(t.Context(), &diag.Env{Resolver: better}, req)
		require.NoError(t, err)
		if strings.TrimPrefix(strings.ToLower(before.MatchedTerm), "+") == "all" {
			require.NotEqual(t, eval.Fail, after.Outcome)
			continue
		}
		require.Equal(t, eval.Pass, after.Outcome, "%s by %q instead of %v", req.IP, suggested, zone)
	}
}

// drawZone generates domains with records that refer to each other.
func drawZone(t *rapid.T) records {
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
	return zone
}

// unanswered is a zone in which one query fails.
type unanswered struct {
	records
	name  string
	qtype uint16
}

func (u unanswered) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if q.Question[0].Qtype == u.qtype && strings.EqualFold(q.Question[0].Name, u.name+".") {
		return new(dns.Msg).SetRcode(q, dns.RcodeServerFailure), nil
	}
	return u.records.Exchange(ctx, q)
}

// For any published records and any unanswered query: less knowledge makes no verdict surer, better or graver
// (CONTRACT 1.7, Knowledge).
func TestSilence(t *testing.T) {
	grave := func(v diag.Verdict, c diag.Code) bool {
		return slices.ContainsFunc(v.Findings, func(f diag.Finding) bool { return f.Code == c && f.Severity > diag.Info })
	}
	ignorance := []diag.Code{"spf.record.unknown", "spf.tree.unknown", "spf.mail.unknown"}
	rapid.Check(t, func(t *rapid.T) {
		zone := drawZone(t)
		u := unanswered{zone, fmt.Sprintf("n%d.example", rapid.IntRange(0, 5).Draw(t, "silent")),
			rapid.SampledFrom([]uint16{dns.TypeTXT, dns.TypeMX, dns.TypeA, dns.TypeAAAA, dns.TypeSPF, dns.TypeSOA}).Draw(t, "type")}
		if rapid.IntRange(0, 3).Draw(t, "bare") == 0 {
			zone["n0.example"] = zone["n0.example"][1:]
		}
		full, err := Lookup(t.Context(), &diag.Env{Resolver: zone}, LookupRequest{Domain: diag.MustDomain("n0.example")})
		require.NoError(t, err)
		less, err := Lookup(t.Context(), &diag.Env{Resolver: u}, LookupRequest{Domain: diag.MustDomain("n0.example")})
		require.NoError(t, err)
		for _, f := range less.Findings {
			require.True(t, f.Severity == diag.Info || grave(full.Verdict, f.Code) || slices.Contains(ignorance, f.Code), "%+v of %v", f, u)
		}
		for _, c := range less.Passed {
			require.Contains(t, full.Passed, c, "%v", u)
		}
		for _, r := range less.Recommendations {
			require.True(t, r.SuggestedValue == "" || slices.ContainsFunc(full.Recommendations, func(o diag.Recommendation) bool {
				return o.SuggestedValue == r.SuggestedValue
			}), "%+v of %v", r, u)
		}
		require.False(t, less.Valid && !full.Valid, "%v", u)
		require.True(t, less.State == full.State || less.State == diag.Unknown || less.Partial, "%s, not %s: %v", less.State, full.State, u)
	})
}
