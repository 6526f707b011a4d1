package compose

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const keyText = `"v=DKIM1; k=ed25519; p=iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w="`

var domain = diag.MustDomain("example.com")

func keysOf(t *testing.T, w *diagtest.World, silent bool, services []*provider.Service, selectors ...diag.Selector) []*DKIMPart {
	run := Start(t.Context(), w.Env())
	keys := FindKeys(run, domain, selectors)
	run.Wait()
	return keys.parts(&keyEvidence{sendsNoMail: silent, services: services})
}

// Reports where no key was found: a key that was not requested is never called missing.
func TestNoKey(t *testing.T) {
	var seen diagtest.Seen
	google := []*provider.Service{provider.BySPF("_spf.google.com")}
	for _, tt := range []struct {
		name, zone string
		servfail   string
		silent     bool
		services   []*provider.Service
		want       diag.Code
		advice     string
	}{
		{name: "nothing below _domainkey", zone: `example.com. TXT "x"`, want: "check.dkim.none", advice: "Set up DKIM signing"},
		{name: "something is there", zone: `x2026._domainkey.example.com. TXT ` + keyText, want: "check.dkim.selector",
			advice: "Check again"},
		{name: "a known service", zone: `x2026._domainkey.example.com. TXT ` + keyText, services: google,
			want: "check.dkim.selector", advice: "For Google Workspace: In the Admin console"},
		{name: "a wildcard", zone: `*._domainkey.example.com. TXT "v=DKIM1; p="`, want: "check.dkim.selector"},
		{name: "the servers do not say", zone: `example.com. TXT "x"`, servfail: "*.example.com", want: "check.dkim.record.unknown"},
		{name: "one of them does not", zone: `x2026._domainkey.example.com. TXT ` + keyText, servfail: "google._domainkey.example.com",
			want: "check.dkim.selector", advice: "Check again"},
		{name: "no mail is sent", zone: `example.com. TXT "v=spf1 -all"`, silent: true, want: "check.dkim.unneeded"},
		{name: "no mail is sent, and a wildcard revokes all selectors", zone: `*._domainkey.example.com. TXT "v=DKIM1; p="`,
			silent: true, want: "check.dkim.unneeded"},
		{name: "and the servers do not say", zone: `example.com. TXT "x"`, servfail: "*.example.com", silent: true,
			want: "check.dkim.unneeded"},
	} {
		w := diagtest.NewWorld(t)
		w.Zone(tt.zone)
		if tt.servfail != "" {
			w.Break(tt.servfail, dns.RcodeServerFailure)
		}
		list := keysOf(t, w, tt.silent, tt.services)
		require.Len(t, list, 1, tt.name)
		require.Equal(t, []diag.Code{tt.want}, seen.Add(list[0].verdict), tt.name)
		if tt.want == "check.dkim.none" {
			require.Equal(t, []any{diag.Missing, "0"}, []any{list[0].State, diagtest.Score(list[0].verdict)}, tt.name)
		} else {
			require.Equal(t, []any{diag.Unknown, "none"}, []any{list[0].State, diagtest.Score(list[0].verdict)}, tt.name)
		}
		require.Contains(t, list[0].Findings[0].Advice, tt.advice, tt.name)
		require.Empty(t, list[0].Selector)
		require.Equal(t, tt.want == "check.dkim.unneeded", list[0].Unneeded())
		require.Equal(t, tt.want == "check.dkim.unneeded", list[0].Mark() == view.Optional)
		require.Equal(t, strings.Contains(tt.zone, "*._domainkey"), strings.Contains(list[0].Findings[0].Detail, "revokes every"), tt.name)
		require.Equal(t, tt.silent && strings.Contains(tt.zone, "*._domainkey"), list[0].Headline == "A wildcard revokes all DKIM selectors")
	}
	diagtest.CoverRules(t, keyRules, append(seen, keyRules.Judge(&keyEvidence{}, keyTexts)))
	diagtest.CheckTexts(t, keyTexts, keyRules.Describe(), seen)
}

// Which keys count: remnants of rotations do not, unless requested.
func TestKeysThatCount(t *testing.T) {
	const inUse = `s1._domainkey.example.com. TXT ` + keyText + "\n"
	const revoked = `k1._domainkey.example.com. TXT "v=DKIM1; p="` + "\n"
	const dangling = "selector2._domainkey.example.com. CNAME gone.example.net.\n"
	const broken = `google._domainkey.example.com. TXT "v=DKIM1; p=AAAA"` + "\n"
	for _, tt := range []struct {
		name, zone string
		silent     bool
		asked      []diag.Selector
		want       []string
	}{
		{"one in use", inUse, false, nil, []string{"s1"}},
		{"rotated", inUse + revoked + dangling, false, nil, []string{"s1"}},
		{"only revoked", revoked, false, nil, []string{"k1"}},
		{"only dangling", dangling, false, nil, []string{"selector2"}},
		{"revoked, for a domain that sends nothing", revoked, true, nil, []string{""}},
		{"broken beside one in use", inUse + broken, false, nil, []string{"google", "s1"}},
		{"asked for", inUse + revoked, false, []diag.Selector{diag.MustSelector("k1"), diag.MustSelector("gone")}, []string{"k1", "gone"}},
	} {
		w := diagtest.NewWorld(t)
		w.Zone(tt.zone)
		var got []string
		for _, p := range keysOf(t, w, tt.silent, nil, tt.asked...) {
			got = append(got, p.Selector)
		}
		require.Equal(t, tt.want, got, tt.name)
	}
}

// All keys together count for one weight, by their mean.
func TestKeyShares(t *testing.T) {
	key := func(score int) *DKIMPart {
		return &DKIMPart{Part: Part[dkim.LookupReport]{Summary: *part(DKIM, score)}}
	}
	shares := WeighKeys([]*DKIMPart{key(100), key(50), key(90)}, 15, false)
	var weights []int
	for _, s := range shares {
		weights = append(weights, s.Weight)
	}
	require.Equal(t, []int{0, 15, 0}, weights)
	require.Equal(t, 80, *shares[1].Rating)
	unknown := key(0)
	unknown.State, unknown.Score = diag.Unknown, nil
	shares = WeighKeys([]*DKIMPart{unknown}, 15, true)
	require.Nil(t, shares[0].Rating)
	require.False(t, shares[0].MayBeUnknown, "it may be one to sign with")
	unknown.answered = true
	require.True(t, WeighKeys([]*DKIMPart{unknown}, 15, true)[0].MayBeUnknown)
	shares = WeighKeys([]*DKIMPart{key(100), unknown}, 15, false)
	require.Equal(t, []any{15, (*int)(nil)}, []any{shares[1].Weight, shares[1].Rating}, "nobody knows what the mean would be")
}

// A part without effect earns nothing, whatever its own report says; a revoked key next to a working one is usual.
func TestVoid(t *testing.T) {
	revoked := func() *DKIMPart {
		return &DKIMPart{Part: Part[dkim.LookupReport]{Summary: *part(DKIM, 69, fault{code: "dkim.key.revoked", severity: diag.Error})}}
	}
	good := &DKIMPart{Part: Part[dkim.LookupReport]{Summary: *part(DKIM, 100)}}
	require.Equal(t, 0, *WeighKeys([]*DKIMPart{revoked()}, 25, false)[0].Rating)
	require.Equal(t, 69, *WeighKeys([]*DKIMPart{revoked(), good}, 25, false)[0].Rating)
	for _, tt := range []struct {
		summary *Summary
		points  int
	}{
		{part(SPF, 100), 25},
		{part(SPF, 39, fault{code: "spf.all.pass", severity: diag.Critical}), 0},
		{part(SPF, 69, fault{code: "spf.voids.exceeded", severity: diag.Error}), 0},
		{part(SPF, 69, fault{code: "spf.record.string", severity: diag.Error}), 17},
		{part(DMARC, 89, fault{code: "dmarc.policy.none", severity: diag.Warning}), 22},
	} {
		points, most, measured := (&WeightedPart{Summary: tt.summary, Weight: 25}).Points()
		require.Equal(t, []any{tt.points, 25, true}, []any{points, most, measured}, "%v", tt.summary.Findings)
	}
}

func TestReverseRules(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(`
		1.2.0.192.in-addr.arpa. PTR good.example.
		good.example. A 192.0.2.1
		2.2.0.192.in-addr.arpa. PTR good.example.
		2.2.0.192.in-addr.arpa. PTR other.example.
		other.example. A 198.51.100.1
	`)
	w.Break("4.2.0.192.in-addr.arpa", dns.RcodeServerFailure)
	w.Silence("5.2.0.192.in-addr.arpa")
	rules := ReverseRules(func(list []ReverseName) []ReverseName { return list })
	var seen diagtest.Seen
	for addr, want := range map[string]diag.Code{
		"192.0.2.1": "", "192.0.2.2": "check.ptr.unconfirmed", "192.0.2.3": "check.ptr.missing", "192.0.2.4": "check.ptr.unknown",
	} {
		list := LookupReverse(t.Context(), w.Env(), []netip.Addr{netip.MustParseAddr(addr)})
		codes := seen.Add(rules.Judge(list, nil))
		if want == "" {
			require.Empty(t, codes)
			continue
		}
		require.Equal(t, []diag.Code{want}, codes, addr)
	}
	require.Equal(t, "a, b, c and 1 more", listNames([]string{"a", "b", "c", "d"}))
	diagtest.CoverRules(t, rules, seen)
}
