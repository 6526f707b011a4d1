package resolver_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A handler says what a fake server sends back for a query: any number of messages, in wire form.
type handler func(q *dns.Msg) [][]byte

// A fake is a name server on the loopback interface.
type fake struct {
	addr netip.AddrPort

	mu      sync.Mutex
	queries []*dns.Msg
	sources []netip.AddrPort
	conns   int
}

func (f *fake) server(t resolver.Transport) resolver.Server {
	return resolver.Server{Transport: t, Addrs: []netip.Addr{f.addr.Addr()}, Port: f.addr.Port()}
}

func (f *fake) seen(q *dns.Msg, source net.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queries = append(f.queries, q)
	f.sources = append(f.sources, netip.MustParseAddrPort(source.String()))
}

// all returns the queries so far.
func (f *fake) all() []*dns.Msg {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.queries
}

// connections returns how many TCP connections there were.
func (f *fake) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conns
}

// listen opens UDP and TCP on one port of the loopback address.
func listen(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	for range 50 {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		udp, err := net.ListenPacket("udp", tcp.Addr().String())
		if err == nil {
			udp.(*net.UDPConn).SetReadBuffer(1 << 20) // many queries come in a burst
			return udp, tcp
		}
		tcp.Close()
	}
	t.Fatal("no port is free for both UDP and TCP")
	return nil, nil
}

// serve starts a fake server. A nil handler closes the port for its transport.
func serve(t *testing.T, overUDP, overTCP handler) *fake {
	t.Helper()
	udp, tcp := listen(t)
	f := &fake{addr: netip.MustParseAddrPort(tcp.Addr().String())}
	var group sync.WaitGroup
	t.Cleanup(group.Wait)
	t.Cleanup(func() { udp.Close(); tcp.Close() })
	if overUDP == nil {
		udp.Close()
	} else {
		group.Go(func() { f.serveUDP(udp, overUDP) })
	}
	if overTCP == nil {
		tcp.Close()
		return f
	}
	group.Go(func() {
		for {
			conn, err := tcp.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.conns++
			f.mu.Unlock()
			group.Go(func() { f.serveStream(conn, overTCP) })
		}
	})
	return f
}

func (f *fake) serveUDP(conn net.PacketConn, answer handler) {
	buf := make([]byte, 4096)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		q := new(dns.Msg)
		if q.Unpack(buf[:n]) != nil {
			continue
		}
		f.seen(q, from)
		for _, m := range answer(q) {
			conn.WriteTo(m, from)
		}
	}
}

func (f *fake) serveStream(conn net.Conn, answer handler) {
	defer conn.Close()
	for {
		q, err := readStream(conn)
		if err != nil {
			return
		}
		f.seen(q, conn.RemoteAddr())
		for _, m := range answer(q) {
			if m == nil { // hang up
				return
			}
			conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(m))), m...))
		}
	}
}

func readStream(conn io.Reader) (*dns.Msg, error) {
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	buf := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(conn, buf); err != nil {
		return nil, err
	}
	q := new(dns.Msg)
	return q, q.Unpack(buf)
}

// reply makes the reply that a healthy server gives: the name has the address 192.0.2.1.
func reply(q *dns.Msg, change ...func(*dns.Msg)) []byte {
	m := new(dns.Msg).SetReply(q)
	m.RecursionAvailable = true
	m.Compress = true
	m.Answer = []dns.RR{address(q.Question[0].Name)}
	for _, f := range change {
		f(m)
	}
	wire, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return wire
}

// patch returns a healthy reply with some bytes changed.
func patch(q *dns.Msg, change func(wire []byte)) []byte {
	wire := reply(q)
	change(wire)
	return wire
}

func address(name string) dns.RR {
	return &dns.A{
		Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60},
		A:   net.IPv4(192, 0, 2, 1),
	}
}

func healthy(q *dns.Msg) [][]byte { return [][]byte{reply(q)} }
func silent(*dns.Msg) [][]byte    { return nil }

func rcode(rcode int) handler {
	return func(q *dns.Msg) [][]byte {
		return [][]byte{reply(q, func(m *dns.Msg) { m.Rcode, m.Answer = rcode, nil })}
	}
}

func truncatedReply(q *dns.Msg) [][]byte {
	return [][]byte{reply(q, func(m *dns.Msg) { m.Truncated, m.Answer = true, nil })}
}

func question() *dns.Msg { return new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA) }

// newClient makes a client of servers that is closed with the test.
func newClient(t *testing.T, servers ...resolver.Server) *resolver.Client {
	t.Helper()
	c := &resolver.Client{Servers: servers}
	t.Cleanup(func() { c.Close() })
	return c
}

// requireAnswer asks the usual question and wants the usual answer.
func requireAnswer(t *testing.T, ctx context.Context, c resolver.Exchanger) {
	t.Helper()
	q := question()
	m, err := c.Exchange(ctx, q)
	require.NoError(t, err)
	require.Equal(t, dns.RcodeSuccess, m.Rcode)
	require.Equal(t, q.Id, m.Id)
	require.Equal(t, q.Question, m.Question)
	require.Len(t, m.Answer, 1)
	require.Equal(t, address("www.example.com.").String(), m.Answer[0].String())
}
