package resolver_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFamiliesAndChecks(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(zones())
	world.Zone("example.com. NS ns6.example.com.\nns6.example.com. AAAA 2001:db8::53")
	world.ServeZones()
	it := walker(world)
	it.NoIPv6 = true
	walk := it.Find(t.Context(), "www.example.com.", dns.TypeA, false)
	require.NoError(t, walk.Err)
	for _, hop := range walk.Hops {
		assert.True(t, hop.Addr.Addr().Is4())
	}
	it.NoIPv6, it.NoIPv4 = false, true
	assert.Error(t, it.Find(t.Context(), "www.example.com.", dns.TypeA, false).Err, "ns.com has no IPv6 address")

	forbidden := errors.New("forbidden")
	it = walker(world)
	it.Check = func(addr netip.AddrPort) error {
		if addr.Addr() == netip.MustParseAddr("192.0.2.2") {
			return forbidden
		}
		return nil
	}
	world.Forget()
	walk = it.Find(t.Context(), "www.example.com.", dns.TypeA, false)
	assert.ErrorIs(t, walk.Err, forbidden)
	assert.Len(t, walk.Hops, 2)
	assert.Len(t, world.Connections(), 1)
}

func TestFindZone(t *testing.T) {
	tests := []struct{ name, zone, parent string }{
		{"example.com.", "example.com.", "com."},
		{"www.example.com.", "example.com.", "com."},
		{"x.y.z.example.com.", "example.com.", "com."},
		{"out.example.com.", "example.com.", "com."},
		{"www.far.example.com.", "far.example.com.", "example.com."},
		{"com.", "com.", "."},
		{"nothing.test.", ".", ""},
		{".", ".", ""},
	}
	world := diagtest.NewWorld(t)
	world.Zone(zones())
	world.ServeZones()
	for _, tt := range tests {
		z := walker(world).FindZone(t.Context(), tt.name)
		require.NoError(t, z.Err, tt.name)
		assert.Equal(t, tt.zone, z.Name, tt.name)
		assert.Equal(t, tt.parent, z.Parent, tt.name)
		assert.Equal(t, tt.zone, z.SOA.Hdr.Name, tt.name)
		assert.NotEmpty(t, z.NS, tt.name)
		for _, server := range z.Servers {
			assert.NotEmpty(t, server.Addrs, "%s: %s", tt.name, server.Name)
		}
	}
}

// One server has three zones on top of each other, and never refers.
func TestFindZoneBehindOneServer(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Server("ns.test", "192.0.2.1", `
		test. SOA ns.test. . 1 1 1 1 1
		test. NS ns.test.
		ns.test. A 192.0.2.1
		co.test. SOA ns.test. . 1 1 1 1 1
		co.test. NS ns.test.
		a.co.test. SOA ns.test. . 1 1 1 1 1
		a.co.test. NS ns.test.
		www.a.co.test. CNAME a.co.test.
		b.co.test. NS ns.b.co.test.
		ns.b.co.test. A 192.0.2.3`)
	world.Server("ns.b.co.test", "192.0.2.3", `
		b.co.test. SOA ns.b.co.test. . 1 1 1 1 1
		b.co.test. NS ns.b.co.test.
		b.co.test. NS ns.test.
		ns.b.co.test. A 192.0.2.3
		ns.b.co.test. AAAA 2001:db8::3`)
	world.Server("root.test", "192.0.2.2", ". SOA . . 1 1 1 1 1\ntest. NS ns.test.\nns.test. A 192.0.2.1")
	it := walker(world)
	it.Roots = []resolver.NameServer{{Name: "root.test.", Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.2")}}}

	for _, name := range []string{"a.co.test.", "www.a.co.test.", "x.a.co.test."} {
		z := it.FindZone(t.Context(), name)
		require.NoError(t, z.Err)
		assert.Equal(t, "a.co.test.", z.Name)
		want := []resolver.NameServer{{Name: "ns.test.", Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}}
		assert.Equal(t, want, z.Servers)
	}
	z := it.FindZone(t.Context(), "b.co.test.")
	require.NoError(t, z.Err)
	assert.Equal(t, "b.co.test.", z.Name)
	assert.Equal(t, "co.test.", z.Parent)
	assert.Equal(t, []string{"ns.b.co.test.", "ns.test."}, z.NS)
	assert.Len(t, z.Delegation, 1)
	require.Len(t, z.Servers, 2)
	assert.Len(t, z.Servers[0].Addrs, 2, "glue, and what the zone adds to it")
	assert.Len(t, z.Servers[1].Addrs, 1)
}

func TestFindZoneWithoutServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(zones())
		for _, name := range []string{"ns1.example.com", "ns2.example.com"} {
			world.Server(name, "").Configure(diagtest.ServerConfig{Silent: true})
		}
		world.ServeZones()
		z := walker(world).FindZone(t.Context(), "www.example.com.")
		assert.ErrorIs(t, z.Err, resolver.ErrTimeout)
		assert.Equal(t, "example.com.", z.Name)
		assert.Nil(t, z.SOA)
		assert.Nil(t, z.NS)
		assert.Len(t, z.Delegation, 2)
		assert.Len(t, z.Servers, 2)
	})
}

func TestExchange(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(zones())
	world.ServeZones()
	it := walker(world)
	q := new(dns.Msg).SetQuestion("out.example.com.", dns.TypeA)
	m, err := it.Exchange(t.Context(), q)
	require.NoError(t, err)
	assert.Equal(t, q.Id, m.Id)
	assert.Equal(t, "NOERROR; out.example.com. CNAME www.example.net.; www.example.net. A 192.0.2.90", brief(m))
	assert.Nil(t, m.IsEdns0())
	assert.True(t, m.RecursionAvailable)

	_, err = it.Exchange(t.Context(), new(dns.Msg))
	assert.Error(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = it.Exchange(ended, q)
	assert.Equal(t, context.Canceled, err)

	it.MaxQueries = 2
	q.SetEdns0(1232, false)
	m, err = it.Exchange(t.Context(), q)
	require.NoError(t, err)
	assert.Equal(t, "SERVFAIL", brief(m))
	require.Len(t, m.IsEdns0().Option, 1)
	assert.Contains(t, m.IsEdns0().Option[0].String(), "the walk took too many questions")
}

func TestPanicReachesTheCaller(t *testing.T) {
	it := &resolver.Iterator{Ask: func(context.Context, resolver.Server, *dns.Msg) (*dns.Msg, error) { panic("oh") }}
	assert.PanicsWithError(t, "oh", func() {
		defer func() {
			v := recover().(error)
			first, _, _ := strings.Cut(v.Error(), "\n")
			panic(errors.New(first))
		}()
		it.Find(t.Context(), "example.com.", dns.TypeA, false)
	})
}

func TestAskServer(t *testing.T) {
	tests := []struct {
		name   string
		config diagtest.ServerConfig
		err    string
	}{
		{"good", diagtest.ServerConfig{}, ""},
		{"EDNS swallowed", diagtest.ServerConfig{EDNS: diagtest.EDNSDropped}, ""},
		{"cut off", diagtest.ServerConfig{Truncate: true}, ""},
		{"lame", diagtest.ServerConfig{NoAA: true}, "does not claim authority"},
		{"silent", diagtest.ServerConfig{Silent: true}, "no reply in time"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world := diagtest.NewWorld(t)
				world.Zone(zones())
				world.Server("ns1.example.com", "").Configure(tt.config)
				hop := walker(world).AskServer(t.Context(), "Example.com", "ns1.example.com", netip.MustParseAddr("192.0.2.11"),
					dns.Question{Name: "www.example.com.", Qtype: dns.TypeA, Qclass: dns.ClassINET})
				if tt.err != "" {
					assert.ErrorContains(t, hop.Err, tt.err)
					return
				}
				require.NoError(t, hop.Err)
				assert.Equal(t, "NOERROR; www.example.com. A 192.0.2.80", brief(hop.Reply))
			})
		})
	}
}
