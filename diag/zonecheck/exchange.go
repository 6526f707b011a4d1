package zonecheck

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// An outcome is what became of a query.
type outcome int

const (
	notAsked   outcome = 0 // nobody asked, or there was no time for it
	answered   outcome = 1
	silent     outcome = 2 // nothing came that was a reply
	closed     outcome = 3 // nobody listens: the connection was refused
	broken     outcome = 4 // the connection was closed before a reply
	malformed  outcome = 5 // the reply cannot be read
	unroutable outcome = 6 // there is no way to the address from here
	blocked    outcome = 7 // the guard refused the address
)

// A reply is what was heard to one query.
type reply struct {
	outcome outcome
	msg     *dns.Msg // if answered
	latency time.Duration
	tcp     bool
	retyped bool           // the question came back in other letter case
	forged  int            // datagrams that were no reply to the query
	from    netip.AddrPort // another address that a reply came from
	by      *address       // who was asked, where it may be one of several
}

// ok reports whether there is a reply at all.
func (r reply) ok() bool { return r.outcome == answered }

// rcode returns the rcode of a reply, or -1.
func (r reply) rcode() int {
	if !r.ok() {
		return -1
	}
	return r.msg.Rcode
}

// A wire sends queries to servers, within the bounds of an audit.
type wire struct {
	env   *diag.Env
	left  atomic.Int64 // queries
	mu    sync.Mutex
	gates map[netip.Addr]chan struct{}
}

func newWire(env *diag.Env) *wire {
	w := &wire{env: env, gates: map[netip.Addr]chan struct{}{}}
	w.left.Store(MaxQueries)
	return w
}

// spend takes one query from the budget.
func (w *wire) spend() bool { return w.left.Add(-1) >= 0 }

// exhausted reports whether a query was not sent because there were too many before.
func (w *wire) exhausted() bool { return w.left.Load() < 0 }

// enter waits until one query more may be in flight to an address.
func (w *wire) enter(ctx context.Context, ip netip.Addr) (leave func(), ok bool) {
	w.mu.Lock()
	gate := w.gates[ip]
	if gate == nil {
		gate = make(chan struct{}, MaxInFlight)
		w.gates[ip] = gate
	}
	w.mu.Unlock()
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, true
	case <-ctx.Done():
		return nil, false
	}
}

// A packetReader tells where each datagram is from.
type packetReader interface {
	ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error)
}

// udp sends a query in a datagram, and once more if no reply comes in time.
func (w *wire) udp(ctx context.Context, ip netip.Addr, q *dns.Msg, wait time.Duration) reply {
	leave, ok := w.enter(ctx, ip)
	if !ok {
		return reply{}
	}
	defer leave()
	packed, err := q.Pack()
	if err != nil || !w.spend() {
		return reply{}
	}
	conn, err := w.env.DialAddr(ctx, "udp", netip.AddrPortFrom(ip, 53), diag.DNSPorts)
	if err != nil {
		return reply{outcome: outcomeOf(ctx, err)}
	}
	defer conn.Close()
	return w.converse(ctx, conn, ip, q, packed, wait)
}

// converse sends a query over a socket, twice if need be, and reads until the reply comes.
func (w *wire) converse(ctx context.Context, conn net.Conn, ip netip.Addr, q *dns.Msg, packed []byte,
	wait time.Duration) reply {
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	l := listener{conn: conn, q: q, ip: ip, buffer: make([]byte, maxDatagram)}
	began := time.Now()
	var r reply
	for range 2 {
		conn.SetDeadline(time.Now().Add(wait))
		if ctx.Err() != nil { // its end may just have been overwritten
			return l.note(reply{})
		}
		if _, err := conn.Write(packed); err != nil {
			return l.note(reply{outcome: outcomeOf(ctx, err)})
		}
		if r = l.listen(ctx); r.outcome != silent || l.from.IsValid() || !w.spend() {
			break
		}
	}
	r.latency = time.Since(began)
	return l.note(r)
}

// A listener waits for the reply to one query.
type listener struct {
	conn    net.Conn
	q       *dns.Msg
	ip      netip.Addr
	buffer  []byte
	forged  int
	garbled bool
	from    netip.AddrPort
}

// note adds what else was heard.
func (l *listener) note(r reply) reply {
	r.forged, r.from = l.forged, l.from
	if r.outcome == silent && l.garbled {
		r.outcome = malformed
	}
	return r
}

// listen reads datagrams until one is the reply.
func (l *listener) listen(ctx context.Context) reply {
	for range maxStrays {
		n, from, err := l.read()
		if err != nil {
			return reply{outcome: outcomeOf(ctx, err)}
		}
		if from.IsValid() && from.Addr().Unmap() != l.ip.Unmap() {
			if headOf(l.buffer[:n], l.q) {
				l.from = from
			}
			continue
		}
		if n >= 12 && !headOf(l.buffer[:n], l.q) {
			l.forged++
			continue
		}
		m := new(dns.Msg)
		if n < 12 || m.Unpack(l.buffer[:n]) != nil {
			l.garbled = true
			continue
		}
		if same, exact := answers(m, l.q); same {
			return reply{outcome: answered, msg: m, retyped: !exact}
		}
		l.forged++
	}
	return reply{outcome: silent}
}

func (l *listener) read() (int, netip.AddrPort, error) {
	if p, ok := l.conn.(packetReader); ok {
		return p.ReadFromUDPAddrPort(l.buffer)
	}
	n, err := l.conn.Read(l.buffer)
	return n, netip.AddrPort{}, err
}

// headOf reports whether a datagram of any length has the identifier of a query and claims to be a
// reply (RFC 5452 section 4).
func headOf(b []byte, q *dns.Msg) bool {
	return len(b) >= 3 && binary.BigEndian.Uint16(b) == q.Id && b[2]&0x80 != 0
}

// answers reports whether a message repeats the question of a query, and whether in the same letter
// case. Servers that do not understand a query may leave the question out.
func answers(m, q *dns.Msg) (same, exact bool) {
	if !m.Response || m.Id != q.Id {
		return false, false
	}
	if len(m.Question) == 0 {
		return m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError, true
	}
	a, b := m.Question[0], q.Question[0]
	same = len(m.Question) == 1 && a.Qtype == b.Qtype && a.Qclass == b.Qclass && strings.EqualFold(a.Name, b.Name)
	return same, a.Name == b.Name
}

// stray asks over a socket that takes datagrams from everywhere, and returns the address of a reply
// from elsewhere. A connected socket never sees those. Where connections are not those of the operating
// system there is no such socket, and what [wire.udp] saw is all.
func (w *wire) stray(ctx context.Context, ip netip.Addr, q *dns.Msg) reply {
	if w.env != nil && w.env.Dial != nil || !w.public(ip) || !w.spend() {
		return reply{}
	}
	packed, err := q.Pack()
	if err != nil {
		return reply{}
	}
	leave, ok := w.enter(ctx, ip)
	if !ok {
		return reply{}
	}
	defer leave()
	socket, err := new(net.ListenConfig).ListenPacket(ctx, "udp", "")
	if err != nil {
		return reply{}
	}
	conn, ok := socket.(*net.UDPConn)
	defer socket.Close()
	if !ok {
		return reply{}
	}
	return w.converse(ctx, openSocket{conn, netip.AddrPortFrom(ip, 53)}, ip, q, packed, silentAfter)
}

// public asks the guard about an address.
func (w *wire) public(ip netip.Addr) bool {
	var guard diag.Guard
	if w.env != nil {
		return w.env.Guard.Check(netip.AddrPortFrom(ip, 53), diag.DNSPorts) == nil
	}
	return guard.Check(netip.AddrPortFrom(ip, 53), diag.DNSPorts) == nil
}

// An openSocket sends to one address and receives from all.
type openSocket struct {
	*net.UDPConn
	to netip.AddrPort
}

// Write implements [net.Conn].
func (s openSocket) Write(b []byte) (int, error) { return s.WriteToUDPAddrPort(b, s.to) }

// tcp asks queries one after the other over one connection, each when the one before was answered. Of
// an answer in several messages the first is returned.
func (w *wire) tcp(ctx context.Context, ip netip.Addr, queries ...*dns.Msg) []reply {
	replies := make([]reply, len(queries))
	leave, ok := w.enter(ctx, ip)
	if !ok {
		return replies
	}
	defer leave()
	if !w.spend() {
		return replies
	}
	limited, cancel := context.WithTimeout(ctx, tcpPatience)
	defer cancel()
	began := time.Now()
	conn, err := w.env.DialAddr(limited, "tcp", netip.AddrPortFrom(ip, 53), diag.DNSPorts)
	if err != nil {
		replies[0] = reply{outcome: outcomeOf(ctx, err), tcp: true}
		return replies
	}
	defer conn.Close()
	defer context.AfterFunc(limited, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	for i, q := range queries {
		if i > 0 && !w.spend() {
			return replies
		}
		replies[i] = overStream(ctx, conn, q)
		replies[i].latency = time.Since(began)
		if !replies[i].ok() {
			return replies
		}
		began = time.Now()
	}
	return replies
}

// overStream asks one query over a connection (RFC 1035 section 4.2.2).
func overStream(ctx context.Context, conn net.Conn, q *dns.Msg) reply {
	packed, err := q.Pack()
	if err != nil {
		return reply{tcp: true}
	}
	frame := append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...)
	if _, err := conn.Write(frame); err != nil {
		return reply{outcome: outcomeOf(ctx, err), tcp: true}
	}
	r := reply{outcome: silent, tcp: true}
	for range maxStrays {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			r.outcome = outcomeOf(ctx, err)
			return r
		}
		b := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, b); err != nil {
			r.outcome = outcomeOf(ctx, err)
			return r
		}
		m := new(dns.Msg)
		if m.Unpack(b) != nil {
			r.outcome = malformed
			return r
		}
		if same, exact := answers(m, q); same {
			r.outcome, r.msg, r.retyped = answered, m, !exact
			return r
		}
		r.forged++
	}
	return r
}

// tls finds out whether a server speaks TLS on the port for it (RFC 9539 section 4.6.1). The
// certificate does not matter, for nobody can know the name in it.
func (w *wire) tls(ctx context.Context, ip netip.Addr, wait time.Duration) reply {
	leave, ok := w.enter(ctx, ip)
	if !ok {
		return reply{}
	}
	defer leave()
	if !w.spend() {
		return reply{}
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	conn, err := w.env.DialAddr(limited, "tcp", netip.AddrPortFrom(ip, 853), diag.DNSPorts)
	if err != nil {
		return reply{outcome: outcomeOf(ctx, err)}
	}
	secure := tls.Client(conn, &tls.Config{
		InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, NextProtos: []string{"dot"},
	})
	defer secure.Close()
	if err := secure.HandshakeContext(limited); err != nil {
		return reply{outcome: outcomeOf(ctx, err)}
	}
	return reply{outcome: answered, msg: new(dns.Msg), tcp: true}
}

// outcomeOf tells what an error of the network means. What the context ended was not asked.
func outcomeOf(ctx context.Context, err error) outcome {
	var refusal *diag.BlockedError
	switch {
	case ctx.Err() != nil:
		return notAsked
	case errors.As(err, &refusal):
		return blocked
	case errors.Is(err, syscall.ECONNREFUSED):
		return closed
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH),
		errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EAFNOSUPPORT):
		return unroutable
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE):
		return broken
	default:
		return silent
	}
}
