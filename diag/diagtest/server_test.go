package diagtest_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ask sends one question over a connection of its own, and returns the first reply.
func ask(ctx context.Context, world *diagtest.World, network, addr string, q *dns.Msg) (*dns.Msg, error) {
	c, err := world.Dial(ctx, network, netip.AddrPortFrom(netip.MustParseAddr(addr), 53).String())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if end, ok := ctx.Deadline(); ok {
		c.SetDeadline(end)
	}
	wire := &dns.Conn{Conn: wireConn(c), UDPSize: 4096}
	if err := wire.WriteMsg(q); err != nil {
		return nil, err
	}
	return wire.ReadMsg()
}

const parentZone = `
$ORIGIN com.
@            SOA ns.com. hostmaster 1 7200 3600 1209600 300
@            NS  ns
ns           A   192.0.2.2
example      NS  ns1.example
example      NS  ns.elsewhere.net.
ns1.example  A   192.0.2.53
`

const childZone = `
$ORIGIN example.com.
@    SOA ns1 hostmaster 2026010100 7200 3600 1209600 300
@    NS  ns1
ns1  A   192.0.2.53
www  A   192.0.2.80
out  CNAME www.example.net.
in   CNAME www
`

func TestAuthoritativeServer(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Server("ns.com", "192.0.2.2", parentZone)
	world.Server("ns1.example.com", "192.0.2.53", childZone)
	tests := []struct{ name, server, question, want string }{
		{"answer", "192.0.2.53", "www.example.com. A", "aa NOERROR; www.example.com. A 192.0.2.80"},
		{"no such type", "192.0.2.53", "www.example.com. MX", "aa NOERROR; auth example.com. SOA"},
		{"no such name", "192.0.2.53", "x.example.com. MX", "aa NXDOMAIN; auth example.com. SOA"},
		{"alias inside", "192.0.2.53", "in.example.com. A",
			"aa NOERROR; in.example.com. CNAME www.example.com.; www.example.com. A 192.0.2.80"},
		{"alias outside", "192.0.2.53", "out.example.com. A", "aa NOERROR; out.example.com. CNAME www.example.net."},
		{"outside", "192.0.2.53", "www.example.net. A", "REFUSED"},
		{"referral with glue", "192.0.2.2", "www.example.com. A", "NOERROR; auth example.com. NS ns1.example.com.; " +
			"auth example.com. NS ns.elsewhere.net.; add ns1.example.com. A 192.0.2.53"},
		{"DS at the parent", "192.0.2.2", "example.com. DS", "aa NOERROR; auth com. SOA"},
		{"own servers with addresses", "192.0.2.53", "example.com. NS",
			"aa NOERROR; example.com. NS ns1.example.com.; add ns1.example.com. A 192.0.2.53"},
		{"version", "192.0.2.53", "version.bind. CH", "REFUSED"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			name, qtype, _ := strings.Cut(tt.question, " ")
			q := new(dns.Msg).SetQuestion(name, dns.StringToType[qtype])
			if qtype == "CH" {
				q.Question[0] = dns.Question{Name: name, Qtype: dns.TypeTXT, Qclass: dns.ClassCHAOS}
			}
			for _, network := range []string{"udp", "tcp"} {
				m, err := ask(t.Context(), world, network, tt.server, q)
				require.NoError(t, err)
				assert.Equal(t, tt.want, summary(m))
				assert.False(t, m.RecursionAvailable)
			}
		})
	}
}

func TestServerOfZonesAboveAndBelow(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Server("ns.com", "192.0.2.2", parentZone, childZone)
	for question, want := range map[uint16]string{
		dns.TypeDS: "aa NOERROR; auth com. SOA",
		dns.TypeMX: "aa NOERROR; auth example.com. SOA",
	} {
		m, err := ask(t.Context(), world, "udp", "192.0.2.2", new(dns.Msg).SetQuestion("example.com.", question))
		require.NoError(t, err)
		assert.Equal(t, want, summary(m))
	}
}

func TestServersDisagree(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(childZone + "@ NS ns2\nns2 A 192.0.2.54")
	one := world.Server("ns1.example.com", "192.0.2.53")
	world.Server("ns2.example.com", "192.0.2.54", strings.ReplaceAll(childZone, "2026010100", "2025123100"))
	serial := func(addr string) uint32 {
		m, err := ask(t.Context(), world, "udp", addr, new(dns.Msg).SetQuestion("example.com.", dns.TypeSOA))
		require.NoError(t, err)
		return m.Answer[0].(*dns.SOA).Serial
	}
	assert.Equal(t, uint32(2026010100), serial("192.0.2.53"))
	assert.Equal(t, uint32(2025123100), serial("192.0.2.54"))
	assert.Equal(t, 1, one.Asked("example.com", dns.TypeSOA))
	assert.Equal(t, 2, world.Asked("example.com", dns.TypeSOA))
}

func edns(version uint8, options ...dns.EDNS0) *dns.Msg {
	q := new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA)
	q.SetEdns0(4096, false)
	q.IsEdns0().SetVersion(version)
	q.IsEdns0().Option = options
	return q
}

func TestServerConfig(t *testing.T) {
	const answer = "aa NOERROR; www.example.com. A 192.0.2.80"
	version := new(dns.Msg).SetQuestion("version.bind.", dns.TypeTXT)
	version.Question[0].Qclass = dns.ClassCHAOS
	upper := new(dns.Msg).SetQuestion("WWW.example.com.", dns.TypeA)
	tests := []struct {
		name   string
		config diagtest.ServerConfig
		q      *dns.Msg
		want   string
		opt    string // options of the reply, or none without EDNS
	}{
		{"good", diagtest.ServerConfig{}, edns(0), answer, ""},
		{"EDNS ignored", diagtest.ServerConfig{EDNS: diagtest.EDNSIgnored}, edns(0), answer, "none"},
		{"EDNS refused", diagtest.ServerConfig{EDNS: diagtest.EDNSRefused}, edns(0), "FORMERR", "none"},
		{"unknown version", diagtest.ServerConfig{}, edns(1), "BADVERS", ""},
		{"unknown version taken", diagtest.ServerConfig{AnyVersion: true}, edns(1), answer, ""},
		{"name of the server", diagtest.ServerConfig{NSID: "ns1"}, edns(0, &dns.EDNS0_NSID{Code: dns.EDNS0NSID}),
			answer, "6e7331"},
		{"cookie", diagtest.ServerConfig{Cookies: true},
			edns(0, &dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: "0123456789abcdef"}),
			answer, "0123456789abcdefd1a67e57d1a67e57"},
		{"no cookie", diagtest.ServerConfig{},
			edns(0, &dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: "0123456789abcdef"}), answer, ""},
		{"version told", diagtest.ServerConfig{Version: "demo 1"}, version, `aa NOERROR; version.bind. TXT "demo 1"`,
			"none"},
		{"letter case lost", diagtest.ServerConfig{LowerCase: true}, upper, answer, "none"},
		{"letter case kept", diagtest.ServerConfig{}, upper,
			"aa NOERROR; WWW.example.com. A 192.0.2.80", "none"},
		{"other operation", diagtest.ServerConfig{}, new(dns.Msg).SetNotify("example.com."), "NOTIMP", "none"},
		{"not authoritative", diagtest.ServerConfig{NoAA: true}, edns(0),
			"NOERROR; www.example.com. A 192.0.2.80", ""},
		{"everything cut off", diagtest.ServerConfig{Truncate: true}, edns(0), "aa tc NOERROR", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			world := diagtest.NewWorld(t)
			world.Server("ns1.example.com", "192.0.2.53", childZone).Configure(tt.config)
			m, err := ask(t.Context(), world, "udp", "192.0.2.53", tt.q)
			require.NoError(t, err)
			assert.Equal(t, tt.want, summary(m))
			assert.Equal(t, tt.opt, options(m))
		})
	}
}

func options(m *dns.Msg) string {
	opt := m.IsEdns0()
	if opt == nil {
		return "none"
	}
	var list []string
	for _, o := range opt.Option {
		list = append(list, o.String())
	}
	return strings.Join(list, " ")
}

func TestServerRecursionAndReferralsUpward(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(`www.example.net. A 192.0.2.99`)
	q := new(dns.Msg).SetQuestion("www.example.net.", dns.TypeA)
	s := world.Server("ns1.example.com", "192.0.2.53", childZone)

	s.Configure(diagtest.ServerConfig{Recursive: true})
	m, err := ask(t.Context(), world, "udp", "192.0.2.53", q)
	require.NoError(t, err)
	assert.Equal(t, "NOERROR; www.example.net. A 192.0.2.99", summary(m))
	assert.True(t, m.RecursionAvailable)

	s.Configure(diagtest.ServerConfig{Upward: true})
	m, err = ask(t.Context(), world, "udp", "192.0.2.53", q)
	require.NoError(t, err)
	assert.Len(t, m.Ns, 13)
	assert.Equal(t, ".", m.Ns[0].Header().Name)
}

func TestServerTransports(t *testing.T) {
	world := diagtest.NewWorld(t)
	s := world.Server("ns1.example.com", "192.0.2.53", childZone)
	q := new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA)

	s.Configure(diagtest.ServerConfig{NoTCP: true})
	_, err := ask(t.Context(), world, "tcp", "192.0.2.53", q)
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, err = ask(t.Context(), world, "udp", "192.0.2.53", q)
	assert.NoError(t, err)

	s.Configure(diagtest.ServerConfig{NoUDP: true})
	_, err = ask(t.Context(), world, "tcp", "192.0.2.53", q)
	assert.NoError(t, err)
	_, err = ask(t.Context(), world, "udp", "192.0.2.53", q)
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestLongRepliesAreCutOffOverUDP(t *testing.T) {
	world := diagtest.NewWorld(t)
	zone := childZone
	for _, letter := range []string{"x", "y", "z"} {
		zone += "big TXT " + strings.Repeat(letter, 250) + "\n"
	}
	world.Server("ns1.example.com", "192.0.2.53", zone)
	q := new(dns.Msg).SetQuestion("big.example.com.", dns.TypeTXT)
	m, err := ask(t.Context(), world, "udp", "192.0.2.53", q)
	require.NoError(t, err)
	assert.Equal(t, "aa tc NOERROR", summary(m))
	m, err = ask(t.Context(), world, "tcp", "192.0.2.53", q)
	require.NoError(t, err)
	assert.Len(t, m.Answer, 3)
	q.SetEdns0(600, false)
	m, err = ask(t.Context(), world, "udp", "192.0.2.53", q)
	require.NoError(t, err)
	assert.Equal(t, "aa tc NOERROR", summary(m))
	q.IsEdns0().SetUDPSize(4096)
	m, err = ask(t.Context(), world, "udp", "192.0.2.53", q)
	require.NoError(t, err)
	assert.Len(t, m.Answer, 3)
}

func TestForgedRepliesComeFirst(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Server("ns1.example.com", "192.0.2.53", childZone).Configure(diagtest.ServerConfig{
		Forged: []diagtest.Forgery{diagtest.ForgedName, diagtest.ForgedType, diagtest.ForgedID, diagtest.ForgedQuery},
	})
	q := new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA)
	m, err := ask(t.Context(), world, "udp", "192.0.2.53", q)
	require.NoError(t, err)
	assert.Contains(t, summary(m), "forged")

	client := &resolver.Client{Dial: world.Dial}
	defer client.Close()
	m, err = client.Ask(t.Context(), resolver.Server{Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.53")}}, q)
	require.NoError(t, err)
	assert.Equal(t, "aa NOERROR; www.example.com. A 192.0.2.80", summary(m))
}

func TestZoneTransfer(t *testing.T) {
	world := diagtest.NewWorld(t)
	s := world.Server("ns1.example.com", "192.0.2.53", childZone)
	transfer := func() (records int, err error) {
		c, err := world.Dial(t.Context(), "tcp", "192.0.2.53:53")
		require.NoError(t, err)
		defer c.Close()
		in, err := (&dns.Transfer{Conn: &dns.Conn{Conn: c}}).In(new(dns.Msg).SetAxfr("example.com."), "")
		require.NoError(t, err)
		for part := range in {
			err = errors.Join(err, part.Error)
			records += len(part.RR)
		}
		return records, err
	}
	_, err := transfer()
	assert.ErrorContains(t, err, "bad xfr rcode: 5")
	s.Configure(diagtest.ServerConfig{Transfer: true})
	records, err := transfer()
	assert.NoError(t, err)
	assert.Equal(t, 7, records)
}

func TestSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Server("ns1.example.com", "192.0.2.53", childZone).
			Fault("www.example.com", 0, diagtest.Fault{Silent: true})
		world.Server("ns2.example.com", "192.0.2.54", childZone).
			Configure(diagtest.ServerConfig{EDNS: diagtest.EDNSDropped})
		world.Server("ns3.example.com", "192.0.2.55", childZone).Configure(diagtest.ServerConfig{Silent: true})
		for _, addr := range []string{"192.0.2.53", "192.0.2.54", "192.0.2.55"} {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			begin := time.Now()
			_, err := ask(ctx, world, "udp", addr, edns(0))
			assert.ErrorContains(t, err, "timeout")
			assert.Equal(t, 5*time.Second, time.Since(begin))
		}
	})
}

func TestPublicResolvers(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(`www.example.com. A 192.0.2.1`)
	world.Resolver("9.9.9.9", `www.example.com. A 192.0.2.66`)
	world.Resolver("149.112.112.112", `www.example.com. A 192.0.2.66`)
	want := map[string]string{
		"google": "192.0.2.1", "cloudflare": "192.0.2.1", "quad9": "192.0.2.66", "opendns": "192.0.2.1",
	}
	q := dnsmsg.Question("www.example.com", dns.TypeA, false)
	for _, p := range resolver.Public() {
		for _, transport := range []resolver.Transport{resolver.UDP, resolver.TCP, resolver.DoT, resolver.DoH} {
			client := &resolver.Client{Dial: world.Dial, Roots: world.Roots(), Clock: world.Now}
			m, err := client.Ask(t.Context(), p.Servers(transport)[0], q)
			client.Close()
			if assert.NoError(t, err, "%s %s", p.ID, transport) {
				assert.Equal(t, "NOERROR; www.example.com. A "+want[p.ID], summary(m), "%s %s", p.ID, transport)
			}
		}
	}
	assert.Equal(t, diagtest.Query{
		Server: netip.MustParseAddr("8.8.8.8"), Transport: "dot", Name: "www.example.com.", Type: dns.TypeA,
		Time: world.Now(),
	}, world.Queries()[2])
}

func TestWalkFromTheRoot(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(childZone)
	world.ServeZones()
	q := new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA)
	server := "198.41.0.4"
	for _, next := range []string{"com. NS ns.com.", "example.com. NS ns1.example.com."} {
		m, err := ask(t.Context(), world, "udp", server, q)
		require.NoError(t, err)
		require.NotEmpty(t, m.Extra, summary(m))
		assert.Equal(t, next, brief(m.Ns[0]))
		server = m.Extra[0].(*dns.A).A.String()
	}
	m, err := ask(t.Context(), world, "udp", server, q)
	require.NoError(t, err)
	assert.Equal(t, "aa NOERROR; www.example.com. A 192.0.2.80", summary(m))
}

func TestServerWithTwoAddresses(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Host("ns1.example.com", "192.0.2.53", "2001:db8::53")
	s := world.Server("ns1.example.com", "", childZone).Configure(diagtest.ServerConfig{NoTCP: true})
	for _, ip := range s.Addrs() {
		_, err := ask(t.Context(), world, "udp", ip.String(), new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA))
		require.NoError(t, err)
		_, err = ask(t.Context(), world, "tcp", ip.String(), new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA))
		assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		assert.Equal(t, ip, world.Queries()[len(world.Queries())-1].Server)
	}
	assert.Equal(t, 2, s.Asked("", 0))
}

func TestDoHByGET(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone("www.example.com. A 192.0.2.1\ndns.google. A 8.8.8.8")
	packed, err := dnsmsg.Question("www.example.com", dns.TypeA, false).Pack()
	require.NoError(t, err)
	url := "https://dns.google/dns-query?dns="
	code, body, err := get(t.Context(), t, world.Env(), url+base64.RawURLEncoding.EncodeToString(packed))
	require.NoError(t, err)
	m := new(dns.Msg)
	require.NoError(t, m.Unpack([]byte(body)))
	assert.Equal(t, 200, code)
	assert.Equal(t, "NOERROR; www.example.com. A 192.0.2.1", summary(m))
	code, _, err = get(t.Context(), t, world.Env(), url+"x")
	require.NoError(t, err)
	assert.Equal(t, 400, code)
}
