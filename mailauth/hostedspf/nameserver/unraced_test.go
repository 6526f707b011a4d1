//go:build !race || nightly

package nameserver

// The race detector makes these tests many times slower, and other tests cover their concurrency.

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever is published in whatever order, and whichever versions of its records resolvers have cached: a
// message gets the result of one of the versions that were published within a lifetime, and so passes if its sender is
// authorized by all of them. No mixture of versions ends in an error.
func TestMixturesOfVersions(t *testing.T) {
	mixed, sets, changes := 0, 0, 0
	key, err := NewSigningKey(testZone().Name)
	require.NoError(t, err)
	rapid.Check(t, func(r *rapid.T) {
		h := &history{T: r, now: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC), static: map[string]string{}}
		clock := func() time.Time { return h.now }
		store := memory.New(memory.Config{Clock: clock})
		defer store.Close()
		zone := testZone()
		zone.TTL = rapid.SampledFrom([]time.Duration{0, time.Minute, hostedspf.MaxTTL}).Draw(r, "ttl")
		h.ttl = time.Duration(zone.ttl(time.Hour)) * time.Second
		config := Config{Zone: zone, Store: store, Clock: clock}
		access := hostedspf.Access{Store: store, Owner: "key_a"}
		switch rapid.SampledFrom([]string{"alone", "sets", "secondaries", "signed"}).Draw(r, "servers") {
		case "sets":
			access.Zone = zone.Name
		case "signed":
			h.denied, config.Signing = negativeTTL, []SigningKey{key}
			fallthrough
		case "secondaries":
			h.lag, config.Secondaries = settle-maxGap, []netip.AddrPort{netip.MustParseAddrPort("192.0.2.9:53")}
		}
		var err error
		h.server, err = New(context.Background(), config)
		require.NoError(r, err)
		env := &diag.Env{Resolver: h, Clock: clock}
		h.static["a.example."], h.static["b.example."] = "v=spf1 ip4:192.0.2.1", "v=spf1"
		source := "v=spf1 include:a.example ?ip4:10.0.7.1 include:b.example " +
			rapid.SampledFrom([]string{"-all", "~all", "?all"}).Draw(r, "all")
		h.static["source.example."] = source
		p, err := hostedspf.Create(context.Background(), env, access, hostedspf.CreateRequest{
			Domain: diag.MustDomain("example.com"), Zone: zone.Name, SourceRecord: source,
		})
		require.NoError(r, err)
		require.Empty(r, p.LastError)
		h.head = p.IncludeHost.FQDN()
		h.static["customer.example."] = "v=spf1 redirect=" + p.IncludeHost.String()
		h.refresh()

		for range rapid.IntRange(2, 6).Draw(r, "changes") {
			h.static[rapid.SampledFrom([]string{"a.example.", "b.example."}).Draw(r, "service")] = h.draw()
			report, err := hostedspf.Resolve(context.Background(), env, access, hostedspf.ResolveRequest{ID: p.ID})
			require.NoError(r, err)
			if report.Resolution.Status == hostedspf.ResolutionChanged {
				changes++
			}
			if strings.Contains(report.Profile.Records[0].Value, "exists:") {
				sets++
			}
			h.refresh()
			if ip := sender(rapid.IntRange(0, many).Draw(r, "any")); report.Resolution.Error == "" && h.lag == 0 {
				h.fixed = h.server.current.Load()
				require.Equal(r, h.evaluate("source.example", ip).Outcome, h.evaluate("customer.example", ip).Outcome, "%s", ip)
			}
			for range 3 {
				h.wait(rapid.SampledFrom([]time.Duration{
					0, time.Second, time.Minute, 299 * time.Second, 20 * time.Minute, time.Hour, 7 * time.Hour,
				}).Draw(r, "wait"), rapid.Bool().Draw(r, "outage"))
				ip := sender(rapid.IntRange(0, many).Draw(r, "sender"))
				h.fixed, h.seed = nil, rapid.IntRange(0, 1<<30).Draw(r, "caches")
				got := h.evaluate("customer.example", ip)
				require.NotContains(r, []eval.Outcome{eval.Permerror, eval.Temperror}, got.Outcome, "%s: %s", ip, got.Reason)
				always, list, chosen := true, h.cached(), h.chosen
				for _, s := range list {
					h.fixed = s
					outcome := h.evaluate("customer.example", ip).Outcome
					always = always && outcome == eval.Pass
					if s == chosen {
						require.Equal(r, outcome, got.Outcome, "%s", ip)
					}
				}
				require.True(r, !always || got.Outcome == eval.Pass, "%s is refused", ip)
				h.fixed = nil
				if len(list) > 1 {
					mixed++
				}
			}
		}
	})
	t.Logf("%d changes, %d of them to sets, and %d evaluations with more than one version in caches", changes, sets, mixed)
	require.Positive(t, mixed)
	require.Positive(t, sets)
}

// Only names that exist are kept, and no longer than for a while.
func TestPackedAnswersAreKept(t *testing.T) {
	s, now := testSnapshot(), newProfile(0).CreatedAt
	for name, kept := range map[string]int{"none.spf.example.net.": 0, "example.com.": 0, "abc.spf.example.net.": 1, "ABC.SPF.example.net.": 1} {
		s.pantry.answers = nil
		wire, err := new(dns.Msg).SetQuestion(name, dns.TypeTXT).Pack()
		require.NoError(t, err)
		require.NotNil(t, answerPacked(s, wire, now))
		require.Len(t, s.pantry.answers, kept, name)
	}
	wire, err := new(dns.Msg).SetQuestion("abc.spf.example.net.", dns.TypeTXT).Pack()
	require.NoError(t, err)
	var p plain
	require.True(t, p.isPlain(wire))
	first := s.ready(&p, wire, now)
	require.Same(t, first, s.ready(&p, wire, now.Add(packedLife-1)))
	require.NotSame(t, first, s.ready(&p, wire, now.Add(packedLife)))
	require.NotSame(t, first, s.ready(&p, wire, now.Add(-packedLife)), "the clock was set back")

	for n := range maxPacked + 10 {
		wire[len(wire)-4], wire[len(wire)-3] = byte(n>>8), byte(n) // the type
		answerPacked(s, wire, now)
	}
	require.LessOrEqual(t, len(s.pantry.answers), maxPacked)
}
