package resolver

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/ipv4"
)

// maxStrays is how many messages without a query a socket may receive before it is abandoned. Late replies are few;
// more means that an attacker found the port and is guessing (RFC 5452 section 7).
const maxStrays = 64

// ErrTimeout means that no reply came in time.
var ErrTimeout = errors.New("no reply in time")

// errRetired says that a mux takes no more queries; it is not for callers.
var errRetired = errors.New("connection retired")

// A mux shares one connection among queries, and hands each reply to the query it belongs to. It has no goroutine of
// its own: one of the waiters reads, for all of them, and appoints another when its own reply has come. With one
// query in flight, as is usual, a reply wakes no second goroutine.
type mux struct {
	conn   net.Conn
	remote netip.AddrPort
	born   time.Time
	quota  int // queries after which it takes no more

	stream  *streamReader    // nil for datagrams
	writing chan struct{}    // held while writing to a stream
	batches *ipv4.PacketConn // a socket that can send and read several datagrams in one system call; else nil
	gather  func()           // called before datagrams are sent, for others to add theirs; may be nil

	mu        sync.Mutex
	waiting   []*waiter
	out       *outbox // datagrams that one of the waiters is about to send, or nil
	hasReader bool    // a waiter reads
	uses      int
	strays    int
	retired   bool
	err       error // why the connection is of no use any more
	idle      time.Time
}

// A waiter is a query in flight. The fields below state are guarded by the mutex of the mux until the state is done.
type waiter struct {
	id    uint16
	query *query
	wake  chan struct{} // one token for each change from parked to another state
	timer *time.Timer

	state        waiterState
	reply        *buffer
	err          error
	forged       bool // something with its identifier came that was no reply to it
	caseMismatch bool // it differed from a reply in the letter case of the name alone
}

type waiterState uint8

const (
	sending waiterState = iota // not waiting yet
	parked                     // waiting for wake
	leading                    // reading for all
	done
)

func newWaiter() *waiter {
	w := &waiter{wake: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	w.timer.Stop()
	return w
}

func newMux(conn net.Conn, transport Transport, quota int) *mux {
	m := &mux{conn: conn, born: time.Now(), quota: quota, remote: addrOf(conn)}
	m.idle = m.born
	if socket, ok := conn.(*net.UDPConn); ok && runtime.GOOS != "windows" {
		m.batches = ipv4.NewPacketConn(socket)
	}
	if transport != UDP {
		m.stream = &streamReader{in: bufio.NewReaderSize(conn, maxDatagram)}
		m.writing = make(chan struct{}, 1)
	}
	return m
}

// join enters a query under a random identifier that no other query in flight has.
func (m *mux) join(w *waiter, q *query, now time.Time, maxAge time.Duration) error {
	random := randomUint64()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	if m.retired || m.uses >= m.quota || now.Sub(m.born) > maxAge {
		return errRetired
	}
	m.uses++
	*w = waiter{wake: w.wake, timer: w.timer, query: q, id: uint16(random)}
	for m.find(w.id) >= 0 {
		w.id = uint16(randomUint64())
	}
	binary.BigEndian.PutUint16(q.wire, w.id)
	m.waiting = append(m.waiting, w)
	return nil
}

// find returns the index of the waiter with an identifier, or -1. There are few at a time.
func (m *mux) find(id uint16) int {
	for i, w := range m.waiting {
		if w.id == id {
			return i
		}
	}
	return -1
}

func (m *mux) exchange(ctx context.Context, w *waiter, deadline time.Time) (*buffer, error) {
	if whole, err := m.send(ctx, w.query, deadline); err != nil {
		if !whole {
			err = m.tear(err)
		}
		m.leave(w)
		return nil, readable(ctx, err)
	}
	m.mu.Lock()
	switch {
	case w.state == done:
		m.mu.Unlock()
		return w.reply, w.err
	case m.hasReader:
		w.state = parked
		m.mu.Unlock()
		return m.follow(ctx, w, deadline)
	}
	m.hasReader, w.state = true, leading
	m.mu.Unlock()
	return m.lead(ctx, w, deadline)
}

// lead reads replies until that of w has come.
func (m *mux) lead(ctx context.Context, w *waiter, deadline time.Time) (*buffer, error) {
	m.conn.SetReadDeadline(deadline)
	if ctx.Done() != nil {
		// A late interrupt hits the next reader, which finds that it was not interrupted and reads on.
		defer context.AfterFunc(ctx, func() { m.conn.SetReadDeadline(longAgo) })()
	}
	in := inboxes.Get().(*inbox)
	defer inboxes.Put(in)
	for {
		read, err := m.fill(in)
		switch {
		case err == nil && m.deliver(read, w):
			return w.reply, nil
		case err == nil && w.caseMismatch:
			if end := time.Now().Add(otherCaseGrace); end.Before(deadline) {
				deadline = end
				m.conn.SetReadDeadline(deadline)
			}
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			err = m.fail(err)
			m.leave(w)
			return nil, readable(ctx, err)
		case ctx.Err() != nil || !time.Now().Before(deadline):
			m.leave(w)
			return nil, readable(ctx, err)
		default:
			m.conn.SetReadDeadline(deadline)
			if ctx.Err() != nil { // the interrupt may have come before the line above
				m.leave(w)
				return nil, ctx.Err()
			}
		}
	}
}

// follow waits for the reply while another reads.
func (m *mux) follow(ctx context.Context, w *waiter, deadline time.Time) (*buffer, error) {
	w.timer.Reset(time.Until(deadline))
	defer w.timer.Stop()
	var failure error
	select {
	case <-w.wake:
	case <-w.timer.C:
		failure = ErrTimeout
	case <-ctx.Done():
		failure = ctx.Err()
	}
	if failure != nil {
		if m.leave(w) {
			return nil, failure
		}
		<-w.wake // the reply, or an error, came at the same moment
	}
	if w.state == done {
		return w.reply, w.err
	}
	return m.lead(ctx, w, deadline)
}

// deliver hands messages to the queries that they answer, and takes them out of the list. It reports whether one was
// the reader's, which then is the reader no more.
func (m *mux) deliver(read []*buffer, reader *waiter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, b := range read {
		read[k] = nil
		i := -1
		if len(b.data) >= headerLen {
			i = m.find(binary.BigEndian.Uint16(b.data))
		}
		if i < 0 || !m.waiting[i].query.matches(b.data) {
			m.stray(i, b)
			continue
		}
		w := m.waiting[i]
		w.reply = b
		m.settle(w)
		m.remove(i)
	}
	if reader.state != done {
		return false
	}
	m.promoteReader()
	return true
}

// stray notes a message that answers nothing, although it may have the identifier of a query.
func (m *mux) stray(i int, b *buffer) {
	if i >= 0 {
		m.waiting[i].forged = true
		m.waiting[i].caseMismatch = m.waiting[i].caseMismatch || m.waiting[i].query.differsInCase(b.data)
	}
	if m.strays++; m.strays > maxStrays {
		m.retired = true
	}
	b.free()
}

func (m *mux) settle(w *waiter) {
	was := w.state
	w.state = done
	if was == parked {
		w.wake <- struct{}{}
	}
}

func (m *mux) remove(i int) {
	last := len(m.waiting) - 1
	m.waiting[i] = m.waiting[last]
	m.waiting[last] = nil
	m.waiting = m.waiting[:last]
	if last > 0 {
		return
	}
	m.idle = time.Now()
	if m.retired || m.uses >= m.quota {
		m.conn.Close()
	}
}

// promoteReader makes one of the waiters the reader. One that is still sending does so itself.
func (m *mux) promoteReader() {
	m.hasReader = false
	if m.err != nil {
		return
	}
	for _, w := range m.waiting {
		if w.state == parked {
			m.hasReader, w.state = true, leading
			w.wake <- struct{}{}
			return
		}
	}
}

// leave takes a waiter out. It reports false if there is a token in wake for it, unless it was appointed reader, in
// which case another one is appointed and the token is taken.
func (m *mux) leave(w *waiter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.state == done {
		return false
	}
	was := w.state
	w.state = done
	if i := slices.Index(m.waiting, w); i >= 0 {
		m.remove(i)
	}
	if was == leading {
		select {
		case <-w.wake: // appointed just now
		default:
		}
		m.promoteReader()
	}
	return true
}

// fail ends the connection and all waits on it. The reader notices by itself. It returns the error that ended the
// connection, which may be an earlier one.
func (m *mux) fail(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
		m.abort()
	}
	kept := m.waiting[:0]
	for _, w := range m.waiting {
		if w.state == leading {
			kept = append(kept, w)
			continue
		}
		w.err = err
		m.settle(w)
	}
	clear(m.waiting[len(kept):])
	m.waiting = kept
	return m.err
}

// retire closes the connection as soon as it has no waiters.
func (m *mux) retire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retired = true
	if len(m.waiting) == 0 {
		m.conn.Close()
	}
}

// idleSince reports whether the connection has been unused since a time.
func (m *mux) idleSince(t time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiting) == 0 && m.idle.Before(t)
}

// used reports whether queries have been sent on the connection before the latest.
func (m *mux) used() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.uses > 1
}
