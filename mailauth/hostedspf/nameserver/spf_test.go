package nameserver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// mailWorld returns a world with a domain whose record takes more than ten lookups.
func mailWorld(t *testing.T) *diagtest.World {
	world := diagtest.NewWorld(t)
	zone := &strings.Builder{}
	fmt.Fprintf(zone, "example.com. TXT %q %q\n",
		"v=spf1 -ip4:192.0.2.7 mx a:web.example.com include:many.example ",
		"include:macro.example ?ip4:198.51.100.0/25 ~all")
	world.Zone(`
		example.com. MX 10 mail.example.com.
		mail.example.com. A 192.0.2.1
		mail.example.com. AAAA 2001:db8::1
		web.example.com. A 203.0.113.80
		macro.example. TXT "v=spf1 exists:%{ir}.list.example -all"
		9.100.51.198.list.example. A 127.0.0.2
	`)
	fmt.Fprintf(zone, "many.example. TXT \"v=spf1")
	for i := range 12 {
		fmt.Fprintf(zone, " include:s%d.many.example", i)
	}
	zone.WriteString(" -all\"\n")
	for i := range 12 {
		fmt.Fprintf(zone, "s%d.many.example. TXT \"v=spf1", i)
		for j := range 9 {
			fmt.Fprintf(zone, " ip4:10.%d.%d.0/%d", i, 16*j, 20+j%9)
		}
		fmt.Fprintf(zone, " ip6:2001:db8:%d::/48 -ip4:10.%d.16.1 ~all\"\n", i, i)
	}
	world.Zone(zone.String())
	return world
}

// byZone queries the name server about its zone, and the world about everything else.
type byZone struct {
	served *resolver.Client
	world  diag.Resolver
}

func (s byZone) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if dns.IsSubDomain("spf.example.net.", dns.CanonicalName(q.Question[0].Name)) {
		return s.served.Exchange(ctx, q)
	}
	return s.world.Exchange(ctx, q)
}

// TestVerdicts resolves a record, publishes it, and has receivers evaluate it through the name server: each
// address gets the verdict of the original.
func TestVerdicts(t *testing.T) {
	world := mailWorld(t)
	store := newStore(t)
	s := serve(t, store, nil)
	env := world.NewEnv()
	env.Resolver = byZone{client(t, s, resolver.UDP), world}

	profile, err := hostedspf.Create(t.Context(), env, hostedspf.Access{Store: store, Owner: "key_a"},
		hostedspf.CreateRequest{Domain: diag.MustDomain("example.com"), Zone: diag.MustName("spf.example.net")})
	require.NoError(t, err)
	require.Empty(t, profile.LastError)
	require.Greater(t, len(profile.Records), 2)
	require.NoError(t, s.Refresh(t.Context()))
	world.Zone(fmt.Sprintf("flat.example.com. TXT \"v=spf1 redirect=%s\"", profile.IncludeHost))

	tally := map[eval.Outcome]int{}
	for _, ip := range senders() {
		original, err := eval.Check(t.Context(), env, eval.Request{
			IP: ip, Sender: "a@example.com", HELO: "mail.example.com", Domain: "example.com", Lookups: eval.MaxTerms,
		})
		require.NoError(t, err)
		flat, err := eval.Check(t.Context(), env, eval.Request{
			IP: ip, Sender: "a@example.com", HELO: "mail.example.com", Domain: "flat.example.com",
		})
		require.NoError(t, err)
		require.Equal(t, original.Outcome, flat.Outcome, "%s: %s, %s", ip, flat.MatchedTerm, flat.Reason)
		tally[original.Outcome]++
	}
	t.Logf("%d addresses: %v", len(senders()), tally)
	require.Len(t, tally, 4, "pass, fail, softfail and neutral were all seen")

	report, err := spf.Lookup(t.Context(), env, spf.LookupRequest{
		Domain: diag.MustDomain("flat.example.com"), IP: diag.MustIP("10.3.16.9"),
	})
	require.NoError(t, err)
	require.Equal(t, eval.Pass, report.IPTest.Result)
	require.False(t, report.DNSLookups.Exceeded, "%d", report.DNSLookups.Count)
}

// senders returns addresses at and around the edges of the authorized networks, and some at random.
func senders() (list []netip.Addr) {
	for _, text := range []string{
		"192.0.2.1", "192.0.2.7", "203.0.113.80", "203.0.113.81", "198.51.100.0", "198.51.100.9", "198.51.100.127",
		"198.51.100.128", "2001:db8::1", "2001:db8::2", "2001:db8:3::", "2001:db8:3:ffff::1", "2001:db8:c::1",
		"10.3.16.1", "10.3.16.0", "10.3.16.2",
	} {
		list = append(list, netip.MustParseAddr(text))
	}
	for i := range 12 {
		for j := range 9 {
			p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i), byte(16 * j)}), 20+j%9)
			last := p.Addr().As4()
			hosts := uint16(1)<<(32-p.Bits()) - 1
			last[2], last[3] = last[2]+byte(hosts>>8), byte(hosts)
			list = append(list, p.Addr(), p.Addr().Prev(), netip.AddrFrom4(last), netip.AddrFrom4(last).Next())
		}
	}
	dice := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		list = append(list, netip.AddrFrom4([4]byte{10, byte(dice.IntN(13)), byte(dice.IntN(160)), byte(dice.IntN(256))}))
	}
	return list
}
