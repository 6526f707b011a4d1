package survey

import (
	"context"
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

// A packetReader reports the source of each datagram.
type packetReader interface {
	ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error)
}

// udp sends a query in a datagram, so often at most, and waits so long for the reply to each.
func (w *wire) udp(ctx context.Context, ip netip.Addr, q *dns.Msg, times int, timeout time.Duration) Reply {
	leave, ok := w.enter(ctx, ip)
	if !ok {
		return Reply{}
	}
	defer leave()
	return w.send(ctx, ip, q, times, timeout)
}

// send is udp for callers that have entered.
func (w *wire) send(ctx context.Context, ip netip.Addr, q *dns.Msg, times int, timeout time.Duration) Reply {
	packed, err := q.Pack()
	if err != nil || !w.spend() {
		return Reply{}
	}
	conn, err := w.env.DialAddr(ctx, "udp", netip.AddrPortFrom(ip, 53), diag.DNSPorts)
	if err != nil {
		return Reply{Result: resultOf(ctx, err)}
	}
	defer conn.Close()
	return w.converse(ctx, conn, ip, q, packed, times, timeout)
}

// converse sends a query over a socket, more than once if need be, and reads until the reply comes.
func (w *wire) converse(ctx context.Context, conn net.Conn, ip netip.Addr, q *dns.Msg, packed []byte, times int,
	timeout time.Duration) Reply {
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	l := listener{conn: conn, q: q, ip: ip, buffer: make([]byte, maxDatagram)}
	began := time.Now()
	var r Reply
	for try := 1; ; try++ {
		conn.SetDeadline(time.Now().Add(timeout))
		if ctx.Err() != nil { // its end may just have been overwritten
			return l.note(Reply{})
		}
		if _, err := conn.Write(packed); err != nil {
			return l.note(Reply{Result: resultOf(ctx, err)})
		}
		if r = l.listen(ctx); r.Result != TimedOut || l.from.IsValid() || try == times {
			break
		}
		if !w.spend() { // one datagram may have been lost
			return l.note(Reply{})
		}
	}
	r.Latency = time.Since(began)
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

// note adds what else came back.
func (l *listener) note(r Reply) Reply {
	r.Forged, r.From = l.forged, l.from
	if r.Result == TimedOut && l.garbled {
		r.Result = Malformed
	}
	return r
}

// listen reads datagrams until one is the reply.
func (l *listener) listen(ctx context.Context) Reply {
	for range maxStrays {
		n, from, err := l.read()
		if err != nil {
			return Reply{Result: resultOf(ctx, err)}
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
			return Reply{Result: Answered, Msg: m, CaseChanged: !exact}
		}
		l.forged++
	}
	return Reply{Result: TimedOut}
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
func (w *wire) stray(ctx context.Context, ip netip.Addr, q *dns.Msg) Reply {
	if w.env != nil && w.env.Dial != nil || !w.public(ip) || !w.spend() {
		return Reply{}
	}
	packed, err := q.Pack()
	if err != nil {
		return Reply{}
	}
	leave, ok := w.enter(ctx, ip)
	if !ok {
		return Reply{}
	}
	defer leave()
	socket, err := new(net.ListenConfig).ListenPacket(ctx, "udp", "")
	if err != nil {
		return Reply{}
	}
	conn, ok := socket.(*net.UDPConn)
	defer socket.Close()
	if !ok {
		return Reply{}
	}
	return w.converse(ctx, openSocket{conn, netip.AddrPortFrom(ip, 53)}, ip, q, packed, 2, silentAfter)
}

func (w *wire) public(ip netip.Addr) bool {
	var guard diag.Guard
	if w.env != nil {
		guard = w.env.Guard
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

// resultOf returns the result for a network error. A query ended by the context counts as not sent.
func resultOf(ctx context.Context, err error) Result {
	var refusal *diag.BlockedError
	switch {
	case ctx.Err() != nil:
		return NotAsked
	case errors.As(err, &refusal):
		return Blocked
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH),
		errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EAFNOSUPPORT):
		return Unroutable
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE):
		return Reset
	default:
		return TimedOut
	}
}

// tcp asks queries one after the other over one connection, each when the one before was answered. Of
// an answer in several messages the first is returned.
func (w *wire) tcp(ctx context.Context, ip netip.Addr, queries ...*dns.Msg) []Reply {
	replies := make([]Reply, len(queries))
	leave, ok := w.enter(ctx, ip)
	if !ok {
		return replies
	}
	defer leave()
	if !w.spend() {
		return replies
	}
	limited, cancel := context.WithTimeout(ctx, tcpTimeout)
	defer cancel()
	began := time.Now()
	conn, err := w.env.DialAddr(limited, "tcp", netip.AddrPortFrom(ip, 53), diag.DNSPorts)
	if err != nil {
		replies[0] = Reply{Result: resultOf(ctx, err), TCP: true}
		return replies
	}
	defer conn.Close()
	defer context.AfterFunc(limited, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	for i, q := range queries {
		if i > 0 && !w.spend() {
			return replies
		}
		replies[i] = overStream(ctx, conn, q)
		replies[i].Latency = time.Since(began)
		if !replies[i].OK() {
			return replies
		}
		began = time.Now()
	}
	return replies
}

// overStream asks one query over a connection (RFC 1035 section 4.2.2).
func overStream(ctx context.Context, conn net.Conn, q *dns.Msg) Reply {
	messages := &dns.Conn{Conn: conn}
	if err := messages.WriteMsg(q); err != nil {
		return Reply{Result: resultOf(ctx, err), TCP: true}
	}
	r := Reply{Result: TimedOut, TCP: true}
	for range maxStrays {
		b, err := messages.ReadMsgHeader(nil)
		m := new(dns.Msg)
		switch {
		case errors.Is(err, dns.ErrShortRead), err == nil && m.Unpack(b) != nil:
			r.Result = Malformed
			return r
		case err != nil:
			r.Result = resultOf(ctx, err)
			return r
		}
		if same, exact := answers(m, q); same {
			r.Result, r.Msg, r.CaseChanged = Answered, m, !exact
			return r
		}
		r.Forged++
	}
	return r
}
