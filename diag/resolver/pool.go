package resolver

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A kind holds the figures by which connections of one sort are shared and given up.
type kind struct {
	transport Transport
	slots     int           // connections at most; a power of two
	room      int           // queries in flight on each at most
	quota     int           // queries on each before it is replaced
	maxAge    time.Duration // after which it is replaced
	idle      time.Duration // after which it is closed
}

// Sockets are many, so that a forger has to guess the port beside the identifier, and short-lived,
// so that a port that leaked is soon of no use (RFC 5452 section 9.2). With 64 sockets of 32 queries
// a server can have 2048 queries in flight, which is more than a caller should send to one server.
var datagrams = kind{transport: UDP, slots: 64, room: 32, quota: 512, maxAge: 30 * time.Second, idle: 10 * time.Second}

// Streams need no guessing, so one does until it is full (RFC 7766 section 6.2.2). Servers close idle
// ones after some seconds (section 6.2.3); being first avoids sending into a closed one.
var streams = kind{transport: TCP, slots: 4, room: 64, quota: 1 << 20, maxAge: time.Hour, idle: 5 * time.Second}

// A pool is the connections to one server over one transport. They are opened when needed.
type pool struct {
	kind
	dial  func(ctx context.Context) (net.Conn, error)
	slots []slot
	// waiters are kept by pool and not for all, because their channels must not leave the
	// testing/synctest bubble that they were made in.
	waiters sync.Pool

	inFlight atomic.Int32
	// burst collects datagrams until one of their senders puts them on the wire, or nil.
	burst atomic.Pointer[slot]

	mu      sync.Mutex
	closed  bool
	sweeper *time.Timer
}

// A slot is a place for one connection. The connection changes, the place and its bound stay.
type slot struct {
	current atomic.Pointer[mux]
	room    chan struct{} // a token for each query in flight
	dialing chan struct{} // held by the goroutine that replaces the connection
}

// take reserves room for a query, if there is some.
func (s *slot) take() bool {
	select {
	case s.room <- struct{}{}:
		return true
	default:
		return false
	}
}

func newPool(k kind, dial func(ctx context.Context) (net.Conn, error)) *pool {
	p := &pool{kind: k, dial: dial, slots: make([]slot, k.slots)}
	for i := range p.slots {
		p.slots[i].room = make(chan struct{}, k.room)
		p.slots[i].dialing = make(chan struct{}, 1)
	}
	return p
}

type arrival struct {
	data        *buffer
	remote      netip.AddrPort // where the query went, if it went
	forged      bool           // something that only looked like a reply came before the end
	caseDiffers bool           // that differed from a reply in the letter case of the name alone
	age         uint32         // seconds that it lay in HTTP caches
}

func (p *pool) exchange(ctx context.Context, q *query, deadline time.Time) (arrival, error) {
	p.inFlight.Add(1)
	defer p.inFlight.Add(-1)
	s, err := p.enter(ctx, deadline)
	if err != nil {
		return arrival{}, err
	}
	defer func() { <-s.room }()

	w, ok := p.waiters.Get().(*waiter)
	if !ok {
		w = newWaiter()
	}
	defer p.waiters.Put(w)

	for again := false; ; again = true {
		m, err := p.join(ctx, s, w, q, deadline)
		if err != nil {
			return arrival{}, err
		}
		b, err := m.exchange(ctx, w, deadline)
		if err != nil && !again && brokenByPeer(ctx, err) && m.used() {
			// The server closed an idle connection, as it may (RFC 7766 section 6.2.4), or the
			// error is that of an earlier query, which the system reports late.
			continue
		}
		return arrival{data: b, remote: m.remote, forged: w.forged, caseDiffers: w.caseMismatch}, err
	}
}

func brokenByPeer(ctx context.Context, err error) bool {
	return ctx.Err() == nil && !errors.Is(err, ErrTimeout) && !errors.Is(err, net.ErrClosed)
}

// enter reserves room for a query in a slot: for streams the first, for datagrams a random one, which queries of the
// same moment share. The port of each is as hard to guess as if they did not.
func (p *pool) enter(ctx context.Context, deadline time.Time) (*slot, error) {
	s := p.burst.Load()
	if s != nil && s.take() {
		return s, nil
	}
	random := randomUint64()
	for i := range 4 {
		if p.transport == UDP {
			i = int(random) & (len(p.slots) - 1)
			random >>= 8
		}
		s = &p.slots[i]
		if !s.take() {
			continue
		}
		if p.transport == UDP {
			p.burst.Store(s)
		}
		return s, nil
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case s.room <- struct{}{}:
		return s, nil
	case <-timer.C:
		return nil, ErrTimeout
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// join enters a query into the connection of a slot, and opens another where that takes no more.
func (p *pool) join(ctx context.Context, s *slot, w *waiter, q *query, deadline time.Time) (*mux, error) {
	now := time.Now()
	m := s.current.Load()
	if m != nil && m.join(w, q, now, p.maxAge) == nil {
		return m, nil
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	select {
	case s.dialing <- struct{}{}:
		defer func() { <-s.dialing }()
	case <-ctx.Done():
		return nil, connectError(ctx, ctx.Err())
	}
	if other := s.current.Load(); other != nil && other != m && other.join(w, q, now, p.maxAge) == nil {
		return other, nil
	}
	conn, err := p.dial(ctx)
	if err != nil {
		return nil, connectError(ctx, err)
	}
	// A quota that varies keeps sockets opened together from being replaced together.
	m = newMux(conn, p.transport, p.quota/2+int(randomUint64()%uint64(p.quota/2)))
	m.gather = func() {
		if p.inFlight.Load() > 1 {
			runtime.Gosched() // goroutines that are about to send join this query
		}
		p.burst.CompareAndSwap(s, nil)
	}
	if err := m.join(w, q, now, p.maxAge); err != nil {
		return nil, err
	}
	return m, p.replace(s, m)
}

// connectError is the reason why a connection could not be opened in the time of one try.
func connectError(ctx context.Context, err error) error {
	var netErr net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netErr) && netErr.Timeout() {
		return ErrTimeout
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// replace puts a connection into a slot. The one that was there goes when it is no longer needed.
func (p *pool) replace(s *slot, m *mux) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		m.fail(net.ErrClosed)
		return net.ErrClosed
	}
	if old := s.current.Swap(m); old != nil {
		old.retire()
	}
	if p.sweeper == nil {
		p.sweeper = time.AfterFunc(p.idle, p.sweep)
	}
	return nil
}

// sweep closes what has been idle, and comes back as long as there is something to close.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	limit := time.Now().Add(-p.idle)
	open := 0
	for i := range p.slots {
		m := p.slots[i].current.Load()
		switch {
		case m == nil:
		case m.idleSince(limit) && p.slots[i].current.CompareAndSwap(m, nil):
			m.retire()
		default:
			open++
		}
	}
	p.sweeper = nil
	if open > 0 {
		p.sweeper = time.AfterFunc(p.idle, p.sweep)
	}
}

// close ends all connections, and the exchanges on them.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.sweeper != nil {
		p.sweeper.Stop()
	}
	for i := range p.slots {
		if m := p.slots[i].current.Swap(nil); m != nil {
			m.fail(net.ErrClosed)
		}
	}
}

// once sends a query on a connection of its own, for servers that are asked rarely, and for networks
// that are not the real one.
func once(ctx context.Context, dial func(context.Context) (net.Conn, error), t Transport, q *query,
	deadline time.Time) (arrival, error) {
	dialCtx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	conn, err := dial(dialCtx)
	if err != nil {
		return arrival{}, connectError(dialCtx, err)
	}
	m, w := newMux(conn, t, 1), newWaiter()
	defer m.abort()
	if err := m.join(w, q, m.born, time.Hour); err != nil {
		return arrival{}, err
	}
	if t == UDP {
		// Nobody shares the socket, so its writes may be interrupted at any time.
		conn.SetWriteDeadline(deadline)
		defer context.AfterFunc(ctx, func() { conn.SetWriteDeadline(longAgo) })()
	}
	b, err := m.exchange(ctx, w, deadline)
	return arrival{data: b, remote: m.remote, forged: w.forged, caseDiffers: w.caseMismatch}, err
}
