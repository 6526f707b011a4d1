package diagtest_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// Several providers sign a zone, each with keys of its own; parent zone and resolvers see what the world says.
func TestServersSignEachForItself(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(`
		example.com.      SOA ns1.example.com. h.example.com. 1 7200 900 1209600 300
		example.com.      NS  ns1.example.com.
		example.com.      NS  ns2.example.com.
		ns1.example.com.  A   192.0.2.53
		ns2.example.com.  A   192.0.2.54
		www.example.com.  A   192.0.2.80
	`)
	servers := map[string]*diagtest.Server{
		"1": world.Server("ns1.example.com", ""), "2": world.Server("ns2.example.com", ""),
	}
	world.ServeZones()
	ds := []string{"ksk-1", "ksk-2"}
	for _, n := range []string{"2", "1"} {
		how := diagtest.Signing{Keys: &diagtest.Keys{
			Published: []string{"ksk-" + n, "zsk-1", "zsk-2"}, Signing: []string{"ksk-" + n, "zsk-" + n}, DS: ds,
		}}
		world.Sign("example.com.", how)
		how.Omit = map[string][]uint16{"WWW.example.com": {dns.TypeA}}
		servers[n].Sign("example.com.", how)
	}

	question := func(name string, qtype uint16) *dns.Msg {
		q := new(dns.Msg).SetQuestion(name, qtype)
		q.SetEdns0(1232, true)
		return q
	}
	ask := func(addr, name string, qtype uint16) *dns.Msg {
		m, err := ask(t.Context(), world, "udp", addr, question(name, qtype))
		require.NoError(t, err)
		return m
	}
	tags := map[string][]uint16{}
	signers := map[string][]uint16{}
	for i, addr := range []string{"192.0.2.53", "192.0.2.54"} {
		n := strconv.Itoa(i + 1)
		for _, rr := range ask(addr, "example.com.", dns.TypeDNSKEY).Answer {
			if key, ok := rr.(*dns.DNSKEY); ok {
				tags[n] = append(tags[n], key.KeyTag())
			}
		}
		require.Len(t, tags[n], 3)
		for _, rr := range ask(addr, "www.example.com.", dns.TypeA).Answer {
			if sig, ok := rr.(*dns.RRSIG); ok {
				require.Contains(t, tags["1"], sig.KeyTag, "the keys that sign records are in both sets")
				signers[n] = append(signers[n], sig.KeyTag)
			}
		}
		nsec := ask(addr, "www.example.com.", dns.TypeAAAA).Ns
		at := slices.IndexFunc(nsec, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeNSEC })
		require.NotContains(t, nsec[at].(*dns.NSEC).TypeBitMap, dns.TypeA, "it is left out")
	}
	require.NotEqual(t, signers["1"], signers["2"])
	require.Len(t, world.DS("example.com."), 2)
	m, err := world.Exchange(t.Context(), question("www.example.com.", dns.TypeA))
	require.NoError(t, err)
	require.True(t, m.AuthenticatedData)
}

// Replaced contents of a name have the SOA record of its zone and no proof, not even in the referral.
func TestReplacedAnswersAreNotProved(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(`
		com.              SOA ns.com. h.com. 7 7200 900 1209600 300
		com.              NS  ns.com.
		ns.com.           A   192.0.2.2
		example.com.      SOA ns.example.com. h.example.com. 1 7200 900 1209600 300
		example.com.      NS  ns.example.com.
		ns.example.com.   A   192.0.2.53
	`)
	parent := world.Server("ns.com", "")
	world.ServeZones()
	world.Sign("com.", diagtest.Signing{})
	proofs := func(qtype uint16) (n int, soa uint32) {
		q := new(dns.Msg).SetQuestion("example.com.", qtype)
		q.SetEdns0(1232, true)
		m, err := ask(t.Context(), world, "udp", "192.0.2.2", q)
		require.NoError(t, err)
		for _, rr := range m.Ns {
			switch rr := rr.(type) {
			case *dns.NSEC:
				n++
			case *dns.SOA:
				soa = rr.Serial
			}
		}
		return n, soa
	}
	for _, qtype := range []uint16{dns.TypeDS, dns.TypeA} {
		n, _ := proofs(qtype)
		require.NotZero(t, n)
	}
	parent.Fault("example.com", dns.TypeDS, diagtest.Fault{Answers: []string{`example.com. TYPE65280 \# 0`}})
	for _, qtype := range []uint16{dns.TypeDS, dns.TypeA} {
		n, _ := proofs(qtype)
		require.Zero(t, n)
	}
	_, soa := proofs(dns.TypeDS)
	require.Equal(t, uint32(7), soa)
}
