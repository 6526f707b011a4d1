package resolver

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

type upstream struct {
	server Server
	fault  error // why the server cannot be asked at all

	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	lookup   func(ctx context.Context, host string) ([]netip.Addr, error)
	roots    *x509.CertPool
	clock    func() time.Time
	sessions tls.ClientSessionCache

	single bool  // each query has a connection of its own
	udp    *pool // nil: a socket for each query
	tcp    *pool // over TLS for a DoT server; nil: a connection for each query
	http   *http.Client
	window *window // of what is sent over the transport of the server; nil where each query has a connection of its own

	silentUntil atomic.Int64 // nanoseconds since 1970; others are asked first until then
}

// silence is how long a server that did not answer is ranked behind the others.
const silence = 10 * time.Second

// sessionsKept is enough for one server to give out tickets as it likes.
const sessionsKept = 8

// newUpstream prepares to ask a server. If single, connections are not kept.
func (c *Client) newUpstream(s Server, single bool) *upstream {
	u := &upstream{server: s, single: single, dial: c.Dial, lookup: c.Lookup, roots: c.Roots, clock: c.Clock}
	if err := s.check(); err != nil {
		u.fault = fmt.Errorf("name server %.200q: %w", s, err)
		return u
	}
	if u.lookup == nil {
		u.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if u.dial == nil {
		u.dial = new(net.Dialer).DialContext
	}
	if s.transport() == DoH {
		u.http = u.newHTTPClient()
	}
	if single {
		return u
	}
	u.window = newWindow(s.transport())
	u.sessions = tls.NewLRUClientSessionCache(sessionsKept)
	switch s.transport() {
	case UDP:
		if c.Dial == nil { // sharing sockets pays on the real network alone
			u.udp = newPool(datagrams, u.dialUDP)
		} else {
			u.window = nil
		}
		u.tcp = newPool(streams, u.dialTCP)
	case TCP:
		u.tcp = newPool(streams, u.dialTCP)
	case DoT:
		u.tcp = newPool(streams, u.dialTLS)
	}
	return u
}

// dialUDP opens a socket on a port that the system chooses at random (RFC 6056). It is connected, so
// that the system drops what comes from any other address (RFC 5452 section 9.1).
func (u *upstream) dialUDP(ctx context.Context) (net.Conn, error) {
	return u.dial(ctx, "udp", netip.AddrPortFrom(u.server.Addrs[0], u.server.port()).String())
}

func (u *upstream) dialStream(ctx context.Context) (net.Conn, error) {
	if u.server.Transport == DoT {
		return u.dialTLS(ctx)
	}
	return u.dialTCP(ctx)
}

func (u *upstream) close() {
	if u.udp != nil {
		u.udp.close()
	}
	if u.tcp != nil {
		u.tcp.close()
	}
	if u.http != nil {
		u.http.CloseIdleConnections()
	}
}

// A manner is the set of query parameters that apply to any server.
type manner struct {
	timeout time.Duration
	fold    bool // random letter case over UDP
	asIs    bool // nothing added, nothing repeated in another form
	tcp     bool // over TCP instead of UDP
}

// exchange puts a question to the server once, in as many forms as it takes to be understood.
func (u *upstream) exchange(ctx context.Context, q *query, how manner) (*dns.Msg, error) {
	if u.fault != nil {
		return nil, u.fault
	}
	came, err := u.attempt(ctx, q, how)
	if err == nil && !how.asIs && q.refusesEDNS(came.data.data) {
		came.data.free()
		if err = q.withoutEDNS(); err == nil {
			came, err = u.attempt(ctx, q, how)
		}
	}
	if err == nil {
		m, err := q.decode(came.data.data)
		came.data.free()
		if err == nil {
			lowerTTLs(m, came.age)
			u.silentUntil.Store(0)
			return m, nil
		}
		return nil, &AskError{u.server, err}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	u.silentUntil.Store(time.Now().Add(silence).UnixNano())
	return nil, &AskError{u.server, err}
}

// attempt sends a query in its present form, and again over TCP if the reply does not fit into a
// datagram, or if none came but something that only looked like one: over TCP, forging is harder.
func (u *upstream) attempt(ctx context.Context, q *query, how manner) (arrival, error) {
	t := u.server.transport()
	if t == UDP && how.tcp {
		t = TCP
	}
	if t != UDP {
		return u.send(ctx, q, t, how.timeout)
	}
	if how.fold {
		q.fold()
	}
	came, err := u.send(ctx, q, UDP, how.timeout)
	caseDiffers := came.caseDiffers
	switch {
	case ctx.Err() != nil, err == nil && !truncated(came.data.data), err != nil && !came.forged:
		return came, err
	case how.asIs && !caseDiffers:
		return came, err
	case err == nil:
		came.data.free()
	}
	q.unfold()
	came, err = u.send(ctx, q, TCP, how.timeout)
	if err != nil && how.asIs && ctx.Err() == nil { // a server of that kind, and without TCP
		return u.send(ctx, q, UDP, how.timeout)
	}
	if err != nil {
		return came, fmt.Errorf("the reply over UDP was cut off or forged, and over TCP: %w", err)
	}
	return came, nil
}

// otherCaseGrace is how long the true reply is waited for after one that came in another letter case. If
// that one was a forgery, the true one is on its way too.
const otherCaseGrace = 100 * time.Millisecond

// send sends a query when it is its turn, and waits for the reply. The wait for the turn is not part of the timeout.
func (u *upstream) send(ctx context.Context, q *query, t Transport, timeout time.Duration) (came arrival, err error) {
	w := u.window
	if t != u.server.transport() {
		w = nil
	}
	number, err := w.enter(ctx, timeout)
	began := time.Now()
	if err == nil {
		came, err = u.carry(ctx, q, t, began.Add(timeout))
		w.leave(ctx, q, number, began, came, err)
	}
	if trace := traceOf(ctx); trace != nil {
		u.note(trace, q, t, came, err, time.Since(began))
	}
	return came, err
}

func (u *upstream) carry(ctx context.Context, q *query, t Transport, deadline time.Time) (arrival, error) {
	switch {
	case t == DoH:
		return u.overHTTPS(ctx, q, deadline)
	case t == UDP && u.udp != nil:
		return u.udp.exchange(ctx, q, deadline)
	case t == UDP:
		return once(ctx, u.dialUDP, t, q, deadline)
	case u.tcp != nil:
		return u.tcp.exchange(ctx, q, deadline)
	default:
		return once(ctx, u.dialStream, t, q, deadline)
	}
}

// note adds a step to a trace. It is no part of send, which waits on many stacks.
func (u *upstream) note(trace *Trace, q *query, t Transport, came arrival, err error, latency time.Duration) {
	step := Step{
		Server: u.server, Transport: t, Addr: came.remote, Question: q.msg.Question[0], Latency: latency, Err: err,
	}
	if err == nil {
		step.Rcode = rcodeOf(came.data.data)
		step.Truncated = truncated(came.data.data)
	}
	trace.add(step)
}

// rcodeOf reads the rcode of a message, with the upper bits from the OPT record if there is one
// (RFC 6891 section 6.1.3).
func rcodeOf(reply []byte) int {
	var m dns.Msg
	if err := m.Unpack(reply); err != nil {
		return int(reply[3] & maskRcode)
	}
	return m.Rcode
}

// An AskError describes the failure of a query to a server. Its text names the server, which may be private.
type AskError struct {
	Server Server
	Err    error
}

func (e *AskError) Error() string { return fmt.Sprintf("asking %s: %v", e.Server, e.Err) }

// Unwrap returns the cause.
func (e *AskError) Unwrap() error { return e.Err }

// ErrClosed means that the client was closed.
var ErrClosed = errors.New("resolver client closed")

// A streamReader takes messages off a stream (RFC 1035 section 4.2.2). Being interrupted by a
// deadline, in the middle of a message or not, loses nothing.
type streamReader struct {
	in   *bufio.Reader
	part *buffer // message under way
	have int     // bytes of it
}

func (s *streamReader) next() (*buffer, error) {
	if s.part == nil {
		prefix, err := s.in.Peek(prefixLen)
		if err != nil {
			return nil, err
		}
		s.part, s.have = newBuffer(int(binary.BigEndian.Uint16(prefix))), 0
		s.in.Discard(prefixLen)
	}
	for s.have < len(s.part.data) {
		n, err := s.in.Read(s.part.data[s.have:])
		s.have += n
		if err != nil {
			return nil, err
		}
	}
	b := s.part
	s.part = nil
	return b, nil
}
