package resolver_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// walker makes an iterator in a world.
func walker(w *diagtest.World) *resolver.Iterator {
	client := &resolver.Client{Dial: w.Dial, AsIs: true, Case0x20: true, Attempts: 1}
	return &resolver.Iterator{Ask: client.Ask}
}

// brief writes a reply on one line: its code, the records of the answer, and the negative side.
func brief(m *dns.Msg) string {
	parts := []string{dns.RcodeToString[m.Rcode]}
	for _, rr := range m.Answer {
		parts = append(parts, inShort(rr))
	}
	return strings.Join(parts, "; ")
}

func inShort(rr dns.RR) string {
	h := rr.Header()
	if h.Rrtype == dns.TypeRRSIG {
		return h.Name + " RRSIG " + dns.TypeToString[rr.(*dns.RRSIG).TypeCovered]
	}
	return h.Name + " " + dns.TypeToString[h.Rrtype] + " " + strings.TrimPrefix(rr.String(), h.String())
}

// route writes the hops of a walk: the zone, the server, and what it did.
func route(hops []resolver.Hop) []string {
	list := []string{}
	for _, h := range hops {
		text := fmt.Sprintf("%s @%s %s", h.Zone, h.Server, h.Addr.Addr())
		if h.For != "" {
			text += " for " + h.For
		}
		switch {
		case h.Err != nil:
			text += ": " + h.Err.Error()
		case h.Child != "":
			text += fmt.Sprintf(" -> %s %d/%d", h.Child, len(h.NS), len(h.Glue))
		default:
			text += " = " + dns.RcodeToString[h.Reply.Rcode]
		}
		list = append(list, text)
	}
	return list
}

const internet = `
	$ORIGIN com.
	@ SOA ns hostmaster 1 7200 3600 1209600 300
	@ NS ns
	ns A 192.0.2.2
	$ORIGIN net.
	@ SOA ns hostmaster 1 7200 3600 1209600 300
	@ NS ns
	ns A 192.0.2.3
	$ORIGIN example.com.
	@ SOA ns1 hostmaster 1 7200 3600 1209600 300
	@ NS ns1
	@ NS ns2
	ns1 A 192.0.2.11
	ns2 A 192.0.2.12
	www A 192.0.2.80
	in CNAME www
	out CNAME www.example.net.
	gone CNAME nothing.example.net.
	loop CNAME loop.example.net.
	a.b.c.d A 192.0.2.81
	big TXT "%s" "%s" "%s" "%s" "%s" "%s"
	$ORIGIN example.net.
	@ SOA ns hostmaster 1 7200 3600 1209600 300
	@ NS ns
	ns A 192.0.2.13
	www A 192.0.2.90
	loop CNAME loop.example.com.
	tree DNAME tree.example.com.
	$ORIGIN far.example.com.
	@ SOA ns.example.net. hostmaster 1 7200 3600 1209600 300
	@ NS ns.example.net.
	www A 192.0.2.82
	`

func zones() string {
	long := strings.Repeat("x", 250)
	return fmt.Sprintf(internet, long, long, long, long, long, long)
}

func TestFind(t *testing.T) {
	tests := []struct{ name, question, want string }{
		{"answer", "www.example.com. A", "NOERROR; www.example.com. A 192.0.2.80"},
		{"letter case", "WWW.Example.com. A", "NOERROR; www.example.com. A 192.0.2.80"},
		{"no such type", "www.example.com. MX", "NOERROR"},
		{"no such name", "x.example.com. A", "NXDOMAIN"},
		{"no such domain", "www.example.org. A", "NXDOMAIN"},
		{"empty non-terminal", "b.c.d.example.com. A", "NOERROR"},
		{"the root", ". NS", "NOERROR; . NS a.root-servers.net."},
		{"alias in the zone", "in.example.com. A",
			"NOERROR; in.example.com. CNAME www.example.com.; www.example.com. A 192.0.2.80"},
		{"alias to another zone", "out.example.com. A",
			"NOERROR; out.example.com. CNAME www.example.net.; www.example.net. A 192.0.2.90"},
		{"alias itself", "out.example.com. CNAME", "NOERROR; out.example.com. CNAME www.example.net."},
		{"alias to no name", "gone.example.com. A", "NXDOMAIN; gone.example.com. CNAME nothing.example.net."},
		{"alias of a tree", "a.b.c.d.tree.example.net. A", "NXDOMAIN; tree.example.net. DNAME tree.example.com.; " +
			"a.b.c.d.tree.example.net. CNAME a.b.c.d.tree.example.com."},
		{"aliases in a circle", "loop.example.com. A", "NOERROR; loop.example.com. CNAME loop.example.net.; " +
			"loop.example.net. CNAME loop.example.com."},
		{"servers elsewhere", "www.far.example.com. A", "NOERROR; www.far.example.com. A 192.0.2.82"},
		{"DS at the parent zone", "example.com. DS", "NOERROR"},
	}
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(zones())
		world.ServeZones()
		it := walker(world)
		for _, tt := range tests {
			name, qtype, _ := strings.Cut(tt.question, " ")
			walk := it.Find(t.Context(), name, dns.StringToType[qtype], false)
			require.NoError(t, walk.Err, tt.name)
			got := brief(walk.Reply)
			if len(got) > len(tt.want) && name == "." {
				got = got[:len(tt.want)] // the first of 13
			}
			assert.Equal(t, tt.want, got, tt.name)
			assert.True(t, walk.Last.Reply.Authoritative, tt.name)
		}
	})
}

func TestFindOverTCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(zones())
		world.ServeZones()
		walk := walker(world).Find(t.Context(), "big.example.com.", dns.TypeTXT, false)
		require.NoError(t, walk.Err)
		assert.Len(t, walk.Reply.Answer, 1)
		assert.Equal(t, resolver.TCP, walk.Last.Transport)
		assert.True(t, walk.Last.Truncated)
	})
}

// Each question of a walk goes over TCP if that is asked for; TC is no reason to ask again then.
func TestFindOverTCPAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(zones())
		world.ServeZones()
		it := walker(world)
		it.TCP = true
		walk := it.Find(t.Context(), "big.example.com.", dns.TypeTXT, false)
		require.NoError(t, walk.Err)
		for _, hop := range walk.Hops {
			assert.Equal(t, resolver.TCP, hop.Transport, hop.Zone)
			assert.False(t, hop.Truncated, hop.Zone)
		}
	})
}

func TestFindSignatures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(zones())
		world.Sign("example.com", diagtest.Signing{})
		world.ServeZones()
		walk := walker(world).Find(t.Context(), "in.example.com.", dns.TypeA, true)
		require.NoError(t, walk.Err)
		assert.Equal(t, "NOERROR; in.example.com. CNAME www.example.com.; in.example.com. RRSIG CNAME; "+
			"www.example.com. A 192.0.2.80; www.example.com. RRSIG A", brief(walk.Reply))
	})
}

func TestHops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(zones())
		world.ServeZones()
		world.Latency(20 * time.Millisecond)
		walk := walker(world).Find(t.Context(), "www.far.example.com.", dns.TypeA, false)
		require.NoError(t, walk.Err)
		assert.Equal(t, []string{
			". @k.root-servers.net. 193.0.14.129 -> com. 1/1",
			"com. @ns.com. 192.0.2.2 -> example.com. 2/2",
			"example.com. @ns1.example.com. 192.0.2.11 -> far.example.com. 1/0",
		}, route(walk.Hops)[:3])
		last := walk.Hops[len(walk.Hops)-1]
		assert.Equal(t, "far.example.com. @ns.example.net. 192.0.2.13 = NOERROR", route(walk.Hops[len(walk.Hops)-1:])[0])
		assert.Equal(t, 20*time.Millisecond, last.Latency)
		for _, hop := range walk.Hops[3 : len(walk.Hops)-1] {
			assert.Equal(t, "ns.example.net.", hop.For)
		}
	})
}

// Walks past servers that are broken in one way each.
func TestFindDespite(t *testing.T) {
	tests := []struct {
		name   string
		config diagtest.ServerConfig
		err    string // that of the hop, if there is one
	}{
		{"silence", diagtest.ServerConfig{Silent: true}, "no reply in time"},
		{"closed port", diagtest.ServerConfig{NoUDP: true}, "connection refused"},
		{"no authority", diagtest.ServerConfig{NoAA: true}, "lame server: it does not claim authority for its answer"},
		{"EDNS refused", diagtest.ServerConfig{EDNS: diagtest.EDNSRefused}, ""},
		{"EDNS ignored", diagtest.ServerConfig{EDNS: diagtest.EDNSIgnored}, ""},
		{"EDNS swallowed", diagtest.ServerConfig{EDNS: diagtest.EDNSDropped}, "no reply in time"},
		{"no TCP", diagtest.ServerConfig{Truncate: true, NoTCP: true}, "the reply over UDP was cut off, and over TCP"},
		{"letter case lost", diagtest.ServerConfig{LowerCase: true}, ""},
		{"letter case lost, no TCP", diagtest.ServerConfig{LowerCase: true, NoTCP: true}, ""},
		{"forged replies", diagtest.ServerConfig{Forged: []diagtest.Forgery{diagtest.ForgedID, diagtest.ForgedName}}, ""},
	}
	for _, both := range []bool{false, true} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s, both %t", tt.name, both), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					world := diagtest.NewWorld(t)
					world.Zone(zones())
					world.Server("ns2.example.com", "").Configure(tt.config)
					if both {
						world.Server("ns1.example.com", "").Configure(tt.config)
					}
					world.ServeZones()
					walk := walker(world).Find(t.Context(), "www.example.com.", dns.TypeA, false)
					if failed := walk.Hops[2]; tt.err == "" {
						assert.NoError(t, failed.Err)
					} else if both {
						assert.ErrorContains(t, failed.Err, tt.err)
					}
					if both && tt.err != "" && tt.name != "EDNS swallowed" {
						assert.ErrorContains(t, walk.Err, "asking the servers of example.com.: ")
						return
					}
					assert.NoError(t, walk.Err)
					assert.Equal(t, "NOERROR; www.example.com. A 192.0.2.80", brief(walk.Reply))
				})
			})
		}
	}
}

func TestLame(t *testing.T) {
	tests := []struct {
		name    string
		content string // of the only server of example.com
		config  diagtest.ServerConfig
		reply   string
		err     string
	}{
		{"another zone", "example.org. SOA . . 1 1 1 1 1", diagtest.ServerConfig{}, "REFUSED", "it answers REFUSED"},
		{"upwards", "example.org. SOA . . 1 1 1 1 1", diagtest.ServerConfig{Upward: true}, "SERVFAIL",
			"it refers to the servers of ., which does not lead down"},
		{"no authority", "example.com. SOA . . 1 1 1 1 1\nwww.example.com. A 192.0.2.9",
			diagtest.ServerConfig{NoAA: true}, "NOERROR; www.example.com. A 192.0.2.9", "it does not claim authority"},
		{"sideways", "example.com. SOA . . 1 1 1 1 1\nwww.example.com. NS ns.example.com.",
			diagtest.ServerConfig{}, "SERVFAIL", "no server with a known address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			world := diagtest.NewWorld(t)
			world.Zone("example.com. SOA . . 1 1 1 1 1\nexample.com. NS ns.example.com.\nns.example.com. A 192.0.2.11")
			world.Server("ns.example.com", "192.0.2.11", tt.content).Configure(tt.config)
			world.ServeZones()
			walk := walker(world).Find(t.Context(), "www.example.com.", dns.TypeA, false)
			assert.Equal(t, tt.reply, brief(walk.Reply))
			require.ErrorContains(t, walk.Err, tt.err)
			m, err := walker(world).Exchange(t.Context(), new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA))
			require.NoError(t, err)
			assert.Equal(t, "SERVFAIL", brief(m))
		})
	}
}

// A server that is asked for a zone has no say about others.
func TestBailiwick(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(zones())
	world.Server("ns2.example.com", "", `
		example.com. SOA . . 1 1 1 1 1
		out.example.com. CNAME www.example.net.
		www.example.net. A 6.6.6.6
		sub.example.com. NS ns.example.net.
		example.net. SOA . . 1 1 1 1 1
		ns.example.net. A 6.6.6.6
	`)
	world.Server("ns1.example.com", "").Configure(diagtest.ServerConfig{NoUDP: true})
	world.ServeZones()
	it := walker(world)
	walk := it.Find(t.Context(), "out.example.com.", dns.TypeA, false)
	require.NoError(t, walk.Err)
	assert.Equal(t, "NOERROR; out.example.com. CNAME www.example.net.; www.example.net. A 192.0.2.90", brief(walk.Reply))

	walk = it.Find(t.Context(), "www.sub.example.com.", dns.TypeA, false)
	for _, hop := range walk.Hops {
		assert.NotEqual(t, "6.6.6.6", hop.Addr.Addr().String())
	}
	assert.ErrorContains(t, walk.Err, "it answers REFUSED")
}

func TestDependencies(t *testing.T) {
	tests := []struct{ name, zone, want string }{
		{"each on the other", `
			a.test. NS ns.b.test.
			b.test. NS ns.a.test.`, "asking the servers of a.test.: no server with a known address"},
		{"on itself", `
			a.test. NS ns.a.test.`, "asking the servers of a.test.: no server with a known address"},
		{"on a name that does not exist", `
			a.test. NS ns.nowhere.test.`, "asking the servers of a.test.: no server with a known address"},
		{"too deep", `
			a.test. NS ns.b.test.
			b.test. NS ns.c.test.
			c.test. NS ns.d.test.
			d.test. NS ns.e.test.
			e.test. NS ns.f.test.
			f.test. NS ns.g.test.`, "asking the servers of a.test.: no server with a known address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			world := diagtest.NewWorld(t)
			world.Server("ns.test", "192.0.2.1", tt.zone+"\n\t\t\ttest. SOA . . 1 1 1 1 1")
			it := walker(world)
			it.Roots = []resolver.NameServer{{Name: "root.test.", Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.2")}}}
			world.Server("root.test", "192.0.2.2", ". SOA . . 1 1 1 1 1\ntest. NS ns.test.\nns.test. A 192.0.2.1")
			walk := it.Find(t.Context(), "www.a.test.", dns.TypeA, false)
			assert.EqualError(t, walk.Err, tt.want)
			assert.Less(t, len(walk.Hops), 40)
		})
	}
}

// A dead name server among those without glue does not hold up the others.
func TestGluelessServersAreLookedUpAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(zones())
		world.Zone(`
			$ORIGIN slow.net.
			@ SOA ns hostmaster 1 1 1 1 1
			@ NS ns
			ns A 192.0.2.14
			other A 192.0.2.15
			$ORIGIN far.example.com.
			@ NS other.slow.net.`)
		world.Server("ns.slow.net", "").Configure(diagtest.ServerConfig{Silent: true})
		world.ServeZones()
		began := time.Now()
		walk := walker(world).Find(t.Context(), "www.far.example.com.", dns.TypeA, false)
		require.NoError(t, walk.Err)
		assert.Zero(t, time.Since(began))
	})
}

// Of servers without glue all that have an address are asked, also those whose address came a moment after the first.
func TestDeadServerAmongGlueless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(zones())
		world.Zone(`
			$ORIGIN hosts.net.
			@ SOA ns hostmaster 1 1 1 1 1
			@ NS ns
			ns A 192.0.2.14
			a A 192.0.2.15
			b A 192.0.2.16
			c A 192.0.2.17
			$ORIGIN far.example.com.
			@ NS a.hosts.net.
			@ NS b.hosts.net.
			@ NS c.hosts.net.
			www A 192.0.2.18`)
		world.ServeZones()
		for _, dead := range []string{"ab", "ac", "bc"} {
			it := walker(world)
			ask := it.Ask
			it.Ask = func(ctx context.Context, s resolver.Server, q *dns.Msg) (*dns.Msg, error) {
				if last := s.Addrs[0].As4()[3]; last >= 15 && strings.ContainsRune(dead, rune('a'+last-15)) {
					return nil, errors.New("connection refused")
				}
				time.Sleep(time.Millisecond) // for all at the same time
				return ask(context.WithoutCancel(ctx), s, q)
			}
			assert.NoError(t, it.Find(t.Context(), "www.far.example.com.", dns.TypeA, false).Err, dead)
		}
	})
}

func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(zones())
		for _, name := range []string{"ns1.example.com", "ns2.example.com"} {
			world.Server(name, "").Configure(diagtest.ServerConfig{Silent: true})
		}
		world.ServeZones()
		began := time.Now()
		walk := walker(world).Find(t.Context(), "www.example.com.", dns.TypeA, false)
		assert.ErrorIs(t, walk.Err, resolver.ErrTimeout)
		assert.Equal(t, dns.RcodeServerFailure, walk.Reply.Rcode)
		assert.Nil(t, walk.Last.Reply)
		assert.Less(t, time.Since(began), 4*time.Second)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		walk = walker(world).Find(ctx, "www.example.com.", dns.TypeA, false)
		assert.Equal(t, context.DeadlineExceeded, walk.Err)
		assert.Equal(t, time.Second, time.Since(began))
		assert.Len(t, walk.Hops, 2)
	})
}

func TestSlowServerIsOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(zones())
		world.Server("ns2.example.com", "").Fault("www.example.com", 0, diagtest.Fault{Delay: time.Second})
		world.ServeZones()
		began := time.Now()
		walk := walker(world).Find(t.Context(), "www.example.com.", dns.TypeA, false)
		require.NoError(t, walk.Err)
		assert.LessOrEqual(t, time.Since(began), 300*time.Millisecond)
		assert.Equal(t, "ns1.example.com.", walk.Last.Server)
	})
}
