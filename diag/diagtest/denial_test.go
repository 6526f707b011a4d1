package diagtest_test

import (
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// transferred returns the records of a zone that a server hands out.
func transferred(t *testing.T, world *diagtest.World) []dns.RR {
	t.Helper()
	world.Server("ns1.example.com", "192.0.2.53").Configure(diagtest.ServerConfig{Transfer: true})
	m, err := ask(t.Context(), world, "tcp", "192.0.2.53", new(dns.Msg).SetAxfr("example.com."))
	require.NoError(t, err)
	return m.Answer
}

func TestChainIsInOrder(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(signedZone)
	world.Sign("example.com", diagtest.Signing{})
	links, wraps := 0, 0
	for _, rr := range transferred(t, world) {
		if n, ok := rr.(*dns.NSEC); ok {
			links++
			assert.NotEqual(t, "hidden.old.example.com.", n.Hdr.Name)
			assert.NotEqual(t, "ns.child.example.com.", n.Hdr.Name)
			if compare(n.Hdr.Name, n.NextDomain) >= 0 {
				wraps++
				assert.Equal(t, "example.com.", n.NextDomain)
			}
		}
	}
	assert.Equal(t, 16, links)
	assert.Equal(t, 1, wraps)
}

func TestOptOutLeavesInsecureDelegationsOut(t *testing.T) {
	count := func(optOut bool) (links int) {
		world := diagtest.NewWorld(t)
		world.Zone(signedZone)
		world.Sign("example.com", diagtest.Signing{NSEC3: &diagtest.NSEC3{OptOut: optOut}})
		for _, rr := range transferred(t, world) {
			if rr.Header().Rrtype == dns.TypeNSEC3 {
				links++
			}
		}
		return links
	}
	assert.Equal(t, 3, count(false)-count(true)) // child, far.off, and off, which is nothing without it
}

func TestTransferOfASignedZoneHasItAll(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(`
		example.com.     SOA  ns hostmaster 1 7200 3600 1209600 300
		example.com.     NS   ns.example.com.
		ns.example.com.  A    192.0.2.53
	`)
	world.Sign("example.com", diagtest.Signing{})
	world.Server("ns.example.com", "").Configure(diagtest.ServerConfig{Transfer: true})
	m, err := ask(t.Context(), world, "tcp", "192.0.2.53", new(dns.Msg).SetAxfr("example.com."))
	require.NoError(t, err)
	count := map[string]int{}
	for _, rr := range m.Answer {
		count[dns.TypeToString[rr.Header().Rrtype]]++
	}
	want := map[string]int{"SOA": 2, "NS": 1, "A": 1, "DNSKEY": 2, "NSEC": 2, "RRSIG": 6}
	assert.Equal(t, want, count)
}
