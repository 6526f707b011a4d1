package nameserver

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func dial(t testing.TB, s *Server, network string) net.Conn {
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), network, s.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn
}

// Many questions on one connection without waiting for answers: RFC 7766 section 6.2.1.1.
func TestPipelining(t *testing.T) {
	s := serve(t, newStore(t, newProfile(1, "v=spf1 -all")), nil)
	conn := dial(t, s, "tcp")
	const questions = 100
	stream := []byte{}
	for i := range questions {
		q := new(dns.Msg).SetQuestion("h1.spf.example.net.", dns.TypeTXT)
		q.Id = uint16(i)
		wire, err := q.Pack()
		require.NoError(t, err)
		stream = append(binary.BigEndian.AppendUint16(stream, uint16(len(wire))), wire...)
	}
	for len(stream) > 0 { // in pieces that do not end where messages do
		n := min(77, len(stream))
		_, err := conn.Write(stream[:n])
		require.NoError(t, err)
		stream = stream[n:]
	}
	seen := map[uint16]bool{}
	for range questions {
		m, err := (&dns.Conn{Conn: conn}).ReadMsg()
		require.NoError(t, err)
		require.Len(t, m.Answer, 1)
		seen[m.Id] = true
	}
	require.Len(t, seen, questions)
}

// One address does not get all connections, and may reuse those that it closes.
func TestConnectionsOfOneAddress(t *testing.T) {
	s := serve(t, newStore(t), nil)
	conns := []net.Conn{}
	for range maxConnsEach {
		conns = append(conns, dial(t, s, "tcp"))
		require.NoError(t, answers(conns[len(conns)-1]))
	}
	require.ErrorIs(t, answers(dial(t, s, "tcp")), io.EOF)
	conns[0].Close()
	require.Eventually(t, func() bool { return answers(dial(t, s, "tcp")) == nil }, time.Minute, time.Millisecond)
}

// answers sends a query on a connection and waits for the answer.
func answers(conn net.Conn) error {
	c := &dns.Conn{Conn: conn}
	if err := c.WriteMsg(new(dns.Msg).SetQuestion("spf.example.net.", dns.TypeSOA)); err != nil {
		return io.EOF // closed before the question was written
	}
	_, err := c.ReadMsg()
	if _, broken := errors.AsType[*net.OpError](err); broken {
		return io.EOF // closed before it was read
	}
	return err
}

func TestDoorman(t *testing.T) {
	d := newDoorman(nil, nil)
	ip := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) }
	for i := range maxConns {
		require.True(t, d.enter(ip(i)))
	}
	require.False(t, d.enter(ip(maxConns)))
	for i := range maxConns {
		d.leave(ip(i))
	}
	require.Zero(t, d.total)
	require.Empty(t, d.each)
}

// Clients that are not admitted are rejected, whatever the server's own bound, and closed connections make room.
func TestAdmit(t *testing.T) {
	var admitted atomic.Int32
	s := serve(t, newStore(t), func(c *Config) {
		c.Admit = func(ip netip.Addr) (func(), bool) {
			if !ip.IsLoopback() || admitted.Add(1) > maxConnsEach+1 {
				return nil, false
			}
			return func() { admitted.Add(-1) }, true
		}
	})
	conns := []net.Conn{}
	for range maxConnsEach + 1 {
		conns = append(conns, dial(t, s, "tcp"))
		require.NoError(t, answers(conns[len(conns)-1]))
	}
	require.ErrorIs(t, answers(dial(t, s, "tcp")), io.EOF)
	admitted.Add(-1) // of the rejected client
	conns[0].Close()
	require.Eventually(t, func() bool { return admitted.Load() == maxConnsEach }, time.Minute, time.Millisecond)
	require.NoError(t, answers(dial(t, s, "tcp")))
}

// The owner of an IPv6 network has more addresses than there are connections.
func TestHostOf(t *testing.T) {
	for ip, want := range map[string]string{
		"192.0.2.7":           "192.0.2.7",
		"2001:db8:1:2::7":     "2001:db8:1:2::",
		"2001:db8:1:2:f::":    "2001:db8:1:2::",
		"2001:db8:1:3::7":     "2001:db8:1:3::",
		"fe80::1:2:3:4%other": "fe80::",
	} {
		require.Equal(t, netip.MustParseAddr(want), hostOf(netip.MustParseAddr(ip)), ip)
	}
}
