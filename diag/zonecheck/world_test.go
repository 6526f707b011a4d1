package zonecheck

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// parentZone is the parent zone.
const parentZone = `
com.           3600 SOA ns1.nic.com. hostmaster.nic.com. 1 14400 3600 1209600 3600
com.           3600 NS  ns1.nic.com.
com.           3600 NS  ns2.nic.com.
ns1.nic.com.   3600 A   192.0.2.2
ns2.nic.com.   3600 A   198.51.100.2
ns2.nic.com.   3600 AAAA 2001:db8:fe::2
`

// goodZone is a zone with which nothing is wrong.
const goodZone = `
example.com.      3600 SOA ns1.example.com. hostmaster.example.com. 2026010101 14400 3600 1209600 3600
example.com.      3600 NS  ns1.example.com.
example.com.      3600 NS  ns2.example.com.
ns1.example.com.  3600 A    192.0.2.53
ns1.example.com.  3600 AAAA 2001:db8:1::53
ns2.example.com.  3600 A    198.51.100.53
ns2.example.com.  3600 AAAA 2001:db8:2::53
example.com.      3600 A    203.0.113.80
example.com.      3600 MX 10 mx.example.com.
mx.example.com.   3600 A    203.0.113.25
example.com.      3600 TXT "v=spf1 mx -all"
www.example.com.  3600 A    203.0.113.80
`

// around has the records of the world for the servers of the good zone.
const around = `
53.2.0.192.in-addr.arpa.      PTR ns1.example.com.
53.100.51.198.in-addr.arpa.   PTR ns2.example.com.
ns3.example.net.  A 203.0.113.53
53.113.0.203.in-addr.arpa.    PTR ns3.example.net.
53.113.0.203.origin.asn.cymru.com.  TXT "64498 | 203.0.113.0/24 | US | arin | 2026-01-01"
53.2.0.192.origin.asn.cymru.com.    TXT "64496 | 192.0.2.0/24 | US | arin | 2026-01-01"
53.100.51.198.origin.asn.cymru.com. TXT "64497 | 198.51.100.0/24 | US | arin | 2026-01-01"
3.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa. PTR ns1.example.com.
3.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa. PTR ns2.example.com.
3.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.0.0.8.b.d.0.1.0.0.2.origin6.asn.cymru.com. TXT "64496 |"
3.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2.0.0.0.8.b.d.0.1.0.0.2.origin6.asn.cymru.com. TXT "64497 |"
`

var request = Request{Domain: diag.MustDomain("example.com")}

// A stage is a world with a zone and its servers, in which a test may spoil something.
type stage struct {
	*diagtest.World
	env      *diag.Env
	ns1, ns2 *diagtest.Server
	ns3      *diagtest.Server // at 203.0.113.53, in no NS record
}

// good is the behavior of the servers in the healthy world.
var good = diagtest.ServerConfig{Cookies: true}

// serve opens the servers of a zone below com.
func (s *stage) serve(zone string) {
	s.Zone(parentZone + around + zone)
	s.ServeZones()
	s.ns1 = s.Server("ns1.example.com", "").Configure(good)
	s.ns2 = s.Server("ns2.example.com", "").Configure(good)
	s.ns3 = s.Server("ns3.example.net", "203.0.113.53").Configure(good)
	cert := s.Certificate(diagtest.CertSpec{Names: []string{"ns1.example.com"}})
	for _, host := range []string{"ns1.example.com:853", "ns2.example.com:853"} {
		s.World.Serve(host, func(c net.Conn) {
			server := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"dot"}})
			io.Copy(io.Discard, server)
		})
	}
}

// play audits example.com in a bubble, in a world that the function sets up.
func play(t *testing.T, setup func(*stage)) *Report {
	t.Helper()
	var report *Report
	synctest.Test(t, func(t *testing.T) {
		s := &stage{World: diagtest.NewWorld(t)}
		s.env = s.World.Env()
		setup(s)
		r, err := Check(t.Context(), s.env, request)
		require.NoError(t, err)
		report = r
	})
	return report
}

// drop returns the good zone without the lines that hold one of the texts.
func drop(texts ...string) string {
	zone := ""
	for line := range strings.Lines(goodZone) {
		held := false
		for _, text := range texts {
			held = held || strings.Contains(line, text)
		}
		if !held {
			zone += line
		}
	}
	return zone
}

// swap returns the good zone with one text replaced.
func swap(old, replacement string) string {
	if !strings.Contains(goodZone, old) {
		panic("the zone does not have " + old)
	}
	return strings.ReplaceAll(goodZone, old, replacement)
}

// codes joins the codes of all findings, each once, in the order of the table.
func codes(r *Report) string {
	found := map[diag.Code]bool{}
	for _, f := range r.Findings {
		found[f.Code] = true
	}
	var list []string
	for _, rule := range rules() {
		if found[rule.Code] {
			list = append(list, strings.TrimPrefix(string(rule.Code), "zone."))
		}
	}
	return strings.Join(list, " ")
}

// A meddler changes a reply: it returns what is received instead.
type meddler func(addr netip.Addr, q, m *dns.Msg) []*dns.Msg

// meddle lets a function change the replies of all servers on their way, over UDP and TCP.
func (s *stage) meddle(f meddler) {
	s.meddleOver(func(_ bool, addr netip.Addr, q, m *dns.Msg) []*dns.Msg { return f(addr, q, m) })
}

// meddleOver is [stage.meddle] for a function with a flag for replies over TCP.
func (s *stage) meddleOver(f func(stream bool, addr netip.Addr, q, m *dns.Msg) []*dns.Msg) {
	env := s.NewEnv()
	env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := s.Dial(ctx, network, addr)
		to, parsed := netip.ParseAddrPort(addr)
		if err != nil || parsed != nil || to.Port() != 53 {
			return c, err
		}
		stream := network == "tcp"
		return &meddled{Conn: c, addr: to.Addr(), stream: stream, f: func(addr netip.Addr, q, m *dns.Msg) []*dns.Msg {
			return f(stream, addr, q, m)
		}}, nil
	}
	s.env = env
}

// A meddled connection belongs to one query at a time.
type meddled struct {
	net.Conn
	addr   netip.Addr
	stream bool
	f      meddler
	q      *dns.Msg
	queue  [][]byte
}

// Write keeps the query.
func (c *meddled) Write(b []byte) (int, error) {
	packed := b
	if c.stream {
		packed = b[2:]
	}
	c.q = new(dns.Msg)
	if err := c.q.Unpack(packed); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Read returns the replies as the meddler left them.
func (c *meddled) Read(b []byte) (int, error) {
	for len(c.queue) == 0 {
		m, err := c.receive()
		if err != nil {
			return 0, err
		}
		for _, changed := range c.f(c.addr, c.q, m) {
			changed.Compress = true
			packed, err := changed.Pack()
			if err != nil {
				return 0, err
			}
			if c.stream {
				packed = append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...)
			}
			c.queue = append(c.queue, packed)
		}
	}
	n := copy(b, c.queue[0])
	if c.queue[0] = c.queue[0][n:]; len(c.queue[0]) == 0 || !c.stream {
		c.queue = c.queue[1:]
	}
	return n, nil
}

func (c *meddled) receive() (*dns.Msg, error) {
	b := make([]byte, 65535)
	n := 0
	var err error
	if c.stream {
		if _, err = io.ReadFull(c.Conn, b[:2]); err == nil {
			n, err = io.ReadFull(c.Conn, b[:binary.BigEndian.Uint16(b)])
		}
	} else {
		n, err = c.Conn.Read(b)
	}
	if err != nil {
		return nil, err
	}
	m := new(dns.Msg)
	return m, m.Unpack(b[:n])
}

// at1 makes a meddler that changes the replies of ns1 at its IPv4 address to queries of a type; type 0 matches all.
func at1(qtype uint16, change func(q, m *dns.Msg)) meddler {
	return func(addr netip.Addr, q, m *dns.Msg) []*dns.Msg {
		if addr == netip.MustParseAddr("192.0.2.53") && (qtype == 0 || q.Question[0].Qtype == qtype) {
			change(q, m)
		}
		return []*dns.Msg{m}
	}
}

// rr reads a record.
func rr(text string) dns.RR {
	r, err := dns.NewRR(text)
	if err != nil {
		panic(err)
	}
	return r
}

// unroute takes away the way to all IPv6 addresses.
func (s *stage) unroute() {
	env := s.NewEnv()
	env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if to, err := netip.ParseAddrPort(addr); err == nil && to.Addr().Is6() {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ENETUNREACH}
		}
		return s.Dial(ctx, network, addr)
	}
	s.env = env
}

// displace lets the datagrams of an address come from another.
func (s *stage) displace(addr, from string) {
	dial := s.env.Dial
	env := s.NewEnv()
	env.Dial = func(ctx context.Context, network, to string) (net.Conn, error) {
		c, err := dial(ctx, network, to)
		if err == nil && network == "udp" && to == addr+":53" {
			return displaced{c, netip.MustParseAddrPort(from + ":53")}, nil
		}
		return c, err
	}
	s.env = env
}

type displaced struct {
	net.Conn
	from netip.AddrPort
}

// ReadFromUDPAddrPort is like that of [net.UDPConn].
func (d displaced) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	n, err := d.Read(b)
	return n, d.from, err
}
