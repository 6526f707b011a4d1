package resolver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// The sizes of a window. By default the socket of a server has room for 90 to 250 queries, as with
// net.core.rmem_default of Linux; any has room for smallestWindow.
const (
	initialWindow  = 64
	smallestWindow = 8
	largestWindow  = 256
)

const (
	// growEvery is the time in which a window grows by one, if it is too small for all callers. TCP grows faster,
	// but also detects losses earlier: until then, a window that is too large loses more.
	growEvery = 125 * time.Millisecond
	// queueing is how much longer than the quickest an answer may take where the window can still grow: else the server
	// has more to do than it can, and a larger window makes all wait longer.
	queueing = 10 * time.Millisecond
	// overdue is the age at which a query without an answer counts no more: it was dropped, or the server has read it
	// and waits for another one. Servers that are silent must not keep those from being asked that answer.
	overdue = 500 * time.Millisecond
)

// A window bounds the queries in flight to one server, as TCP bounds its segments in flight (RFC 5681): queries that
// arrive while the socket of the server is full are dropped. The window grows while it is too small for all callers,
// and is halved by a loss. Callers that find it full wait in a queue. A nil window has room for all.
//
// A query in a datagram that is not answered in time may have been dropped, or the server itself waits for another
// server. At first it counts as dropped, if only other queries were answered meanwhile. If its retry is not answered
// either, or not soon, or with such a failure, the window gets its size back.
type window struct {
	lossy bool // carries datagrams: a timeout may be a loss

	mu       sync.Mutex
	size     int
	open     int           // queries that count
	pending  []pending     // the queries since the oldest that counts, in their order
	first    uint64        // the number of the first of them
	heard    time.Time     // when the server answered last
	asked    time.Time     // when it was asked first after that; zero: it was not
	quickest time.Duration // of all answers
	grown    time.Time
	halved   time.Time
	line     []*turn
	watcher  *time.Timer // while there is a line
}

type pending struct {
	sent time.Time
	done bool
}

// A turn is a place in the line.
type turn struct {
	come   chan struct{} // closed when the number is set
	number uint64
	left   bool
}

func newWindow(t Transport) *window {
	if t == UDP {
		return &window{lossy: true, size: initialWindow, first: 1, quickest: overdue}
	}
	return &window{size: largestWindow, first: 1, quickest: overdue} // the transport takes care of the rest
}

// enter waits until a query may be sent, and returns its number, for leave. A caller that has queued for the length
// of a timeout while the server answered no query does not wait for replies to the others too.
func (w *window) enter(ctx context.Context, timeout time.Duration) (uint64, error) {
	if w == nil {
		return 0, nil
	}
	now := time.Now()
	w.mu.Lock()
	w.forget(now)
	if len(w.line) == 0 && w.open < w.size || w.silence(now) >= timeout {
		defer w.mu.Unlock()
		return w.admit(now), nil
	}
	t := &turn{come: make(chan struct{})}
	w.line = append(w.line, t)
	w.advance(now)
	timer := time.NewTimer(timeout - w.silence(now))
	w.mu.Unlock()
	defer timer.Stop()
	for {
		select {
		case <-t.come:
			return t.number, nil
		case <-ctx.Done():
			return w.quit(t, ctx.Err())
		case <-timer.C:
			if w.jump(t, timer, timeout) {
				return t.number, nil
			}
		}
	}
}

// quit leaves the line for a reason, unless the turn has come at the same moment.
func (w *window) quit(t *turn, reason error) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.number > 0 {
		return t.number, nil
	}
	t.left = true
	return 0, reason
}

// jump leaves the queue to be sent if the server has been silent for long, or sets the timer to when that will be.
func (w *window) jump(t *turn, timer *time.Timer, timeout time.Duration) bool {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.number == 0 && w.silence(now) < timeout {
		timer.Reset(timeout - w.silence(now))
		return false
	}
	if t.number == 0 {
		t.left, t.number = true, w.admit(now)
	}
	return true
}

// silence returns how long the server has answered no query, although it was queried.
func (w *window) silence(now time.Time) time.Duration {
	if w.asked.IsZero() {
		return 0
	}
	return now.Sub(w.asked)
}

func (w *window) admit(now time.Time) uint64 {
	if w.asked.IsZero() {
		w.asked = now
	}
	w.open++
	w.pending = append(w.pending, pending{sent: now})
	return w.first + uint64(len(w.pending)) - 1
}

// forget drops queries that are overdue, or done and the oldest.
func (w *window) forget(now time.Time) {
	n := 0
	for n < len(w.pending) && (w.pending[n].done || now.Sub(w.pending[n].sent) >= overdue) {
		if !w.pending[n].done {
			w.open--
		}
		n++
	}
	w.pending = slices.Delete(w.pending, 0, n)
	w.first += uint64(n)
}

// advance lets in those whose turn it is, and sees to it that the others come in when something is overdue.
func (w *window) advance(now time.Time) {
	w.forget(now)
	for len(w.line) > 0 && w.open < w.size {
		t := w.line[0]
		w.line[0], w.line = nil, w.line[1:]
		if !t.left {
			t.number = w.admit(now)
			close(t.come)
		}
	}
	if len(w.line) > 0 && w.watcher == nil {
		w.watcher = time.AfterFunc(w.pending[0].sent.Add(overdue).Sub(now), func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.watcher = nil
			w.advance(time.Now())
		})
	}
}

// leave ends a query that was sent at a time: a reply came, or the caller left.
func (w *window) leave(ctx context.Context, q *query, number uint64, sent time.Time, came arrival, err error) {
	if w == nil {
		return
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.end(number, now)
	switch {
	case errors.Is(err, ErrTimeout) && !came.forged:
		// A query sent before the window shrank is part of the same loss.
		if w.lossy && q.halved == nil && sent.After(w.halved) && w.heard.After(sent) {
			w.size, w.halved, q.halved = max(w.size/2, smallestWindow), now, w
		}
	case err == nil || ctx.Err() == nil:
		w.heard, w.asked = now, time.Time{}
		took := now.Sub(sent)
		w.quickest = min(w.quickest, took)
		if len(w.line) > 0 && now.Sub(w.grown) >= growEvery && took < w.quickest+queueing {
			w.size, w.grown = min(w.size+1, largestWindow), now
		}
		if q.halved != nil && err == nil && took < overdue && !failed(came.data.data) {
			q.halved = nil // so it had been dropped
		}
	}
}

// end takes a query out.
func (w *window) end(number uint64, now time.Time) {
	if number >= w.first {
		w.pending[number-w.first].done = true
		w.open--
	}
	w.advance(now)
}

// pass waits in line as a query would, for nothing.
func (w *window) pass(ctx context.Context, timeout time.Duration) error {
	number, err := w.enter(ctx, timeout)
	if err != nil || w == nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(number, time.Now())
	return nil
}

// failed reports whether a reply says that another server did not answer, among other faults.
func failed(reply []byte) bool { return int(reply[3]&maskRcode) == dns.RcodeServerFailure }

// restore takes back that the window was halved.
func (w *window) restore() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.size = min(2*w.size, largestWindow)
	w.advance(time.Now())
}
