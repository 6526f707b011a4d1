package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
)

// pureTime bounds how long a client waits for work that no context ends. What an operation may be
// asked takes well under a second, so this is for a machine that has no time left.
const pureTime = 15 * time.Second

// work runs the diagnostic. With an idempotency key it goes on when the client is lost: the reply is
// kept, and waits for the client to ask again.
func (x *exchange) work(req any) (*Result, *failure) {
	ctx := x.r.Context()
	if x.idem != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, problemFor(err)
	}
	result, err := x.execute(ctx, req)
	if err != nil {
		f := x.problem(err)
		f.private = true
		return nil, f
	}
	x.logPanics(result.Report)
	x.memory.shrink(int64(len(result.Body))) // until the client has it
	return result, nil
}

// maxRepeatable is the size, in bytes, up to which a reply is kept that could be made again.
const maxRepeatable = 64 << 10

// inlineWeight is the weight, in bytes, up to which work without a deadline is over before a deadline could matter.
const inlineWeight = 2 << 20

// execute runs the diagnostic. Work that no context ends waits for a processor, of which one key has half at most; it is
// left to itself when its time is over, and keeps its memory and its processor until it has ended.
func (x *exchange) execute(ctx context.Context, req any) (*Result, error) {
	op := &x.ep.Operation
	if op.time > 0 || x.memory.bytes <= inlineWeight {
		return op.execute(ctx, x.Env, req)
	}
	processor, err := x.processors.take(ctx, x.caller.Key.ID, 1)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pureTime)
	defer cancel()
	done := make(chan ran, 1)
	go func() { done <- run(func() (*Result, error) { return op.execute(ctx, x.Env, req) }) }()
	select {
	case r := <-done:
		processor.release()
		if r.panicked != nil {
			panic(r.panicked)
		}
		return r.result, r.err
	case <-ctx.Done():
		go func(body, memory *lease) {
			<-done
			processor.release()
			body.release()
			memory.release()
		}(x.body, x.memory)
		x.body, x.memory = nil, nil
		return nil, ctx.Err()
	}
}

// ran is how work in another goroutine ended.
type ran struct {
	result   *Result
	err      error
	panicked *diag.GoPanic
}

func run(f func() (*Result, error)) (r ran) {
	r.panicked = diag.Catch(func() { r.result, r.err = f() })
	return r
}

// outcome is what the store keeps of a success: nothing without an idempotency key. Of a reply that is
// large, and the same each time, it keeps that there was one.
func (x *exchange) outcome(result *Result) (metering.Outcome, error) {
	out := metering.Outcome{At: x.clock()}
	if x.idem == nil {
		return out, nil
	}
	form := x.ep.Operation.form
	if x.ep.Operation.repeats && len(result.Body) > maxRepeatable {
		form = metering.RerunReply
	}
	if form != metering.RerunReply && len(result.Body) > metering.MaxReplyBytes {
		form = metering.GoneReply
	}
	out.Reply = &metering.Reply{
		Status: http.StatusOK, Header: map[string]string{"Content-Type": result.MediaType}, Form: form,
	}
	var err error
	switch form {
	case metering.PlainReply:
		out.Reply.Body = result.Body
	case metering.SealedReply:
		out.Reply.Body, err = seal(bearer(x.r.Header["Authorization"]), x.idem, result.Body)
	}
	return out, err
}

// logPanics logs the panics that ended parts of a report, which its reader sees as parts that are not known.
func (x *exchange) logPanics(report any) {
	if r, ok := report.(interface{ Panicked() []*diag.GoPanic }); ok {
		for _, p := range r.Panicked() {
			x.logPanic(p.Value, p.Stack)
		}
	}
}

func (x *exchange) logPanic(value any, stack []byte) {
	x.log.Error("panic", "request_id", x.id, "endpoint", x.seen.Endpoint, "panic", fmt.Sprint(value), "stack", string(stack))
}

// outageQuiet is how long nothing must have failed before an outage is over, so that a store which works now and then is
// not told of each time.
const outageQuiet = 5 * time.Second

// An outage is the time in which the store cannot do its work. The log hears of its beginning and its end, and at level
// debug of each request.
type outage struct {
	on atomic.Bool // while there is one

	mu          sync.Mutex
	began, last time.Time
	refused     int
}

func (o *outage) failed(log *slog.Logger, now time.Time, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refused++
	o.last = now
	if !o.on.Swap(true) {
		o.began = now
		log.Error("the store is unavailable; requests that need it are refused, each logged at level debug", "error", err)
	}
}

// worked is told of a charge.
func (o *outage) worked(log *slog.Logger, now time.Time) {
	if !o.on.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.Sub(o.last) < outageQuiet || !o.on.Swap(false) {
		return
	}
	log.Warn("the store is available again", "refused", o.refused, "duration", o.last.Sub(o.began))
	o.refused = 0
}

const (
	// DefaultMemory bounds what running operations hold together, in bytes.
	DefaultMemory = 512 << 20
	// shares is how many keys must be at their worst at once before they are in the way of others.
	shares = 4
	// maxShare bounds what the operations of one key hold, however large the machine is: with the
	// garbage that goes with it, one key keeps a server below half a gigabyte.
	maxShare = 128 << 20
	// maxQueued is how long a request waits for memory, before the reply says that the server is busy.
	maxQueued = 10 * time.Second
)

var errOverloaded = errors.New("too much work is running")

// newProcessors bounds work that does nothing but compute: by a number of processors in all, and half of them for a key.
func newProcessors(n int) *budget {
	return &budget{total: int64(n), share: max(1, int64(n)/2), keys: map[metering.KeyID]int64{}}
}

// A budget bounds the memory that requests hold, in all and for each key. What does not fit waits, so
// that a burst which the rate limit allows is served, one after the other.
type budget struct {
	total, share int64
	slots        int // bounds the number of leases; 0: any number

	mu     sync.Mutex
	held   int64
	leases int
	keys   map[metering.KeyID]int64 // held by each key; only keys that hold something
	queue  []*lease
}

// newBudget returns a budget of a number of bytes.
func newBudget(total int64, slots int) *budget {
	return &budget{total: total, share: min(total/shares, maxShare), slots: slots, keys: map[metering.KeyID]int64{}}
}

// A lease is memory that a request may hold. The zero lease holds nothing.
type lease struct {
	budget  *budget
	key     metering.KeyID
	bytes   int64
	granted chan struct{} // closed when it is; nil if it was at once
}

// take waits for memory. More than the share of a key counts as the share: it then runs alone. The
// error is errOverloaded, or that of the context.
func (b *budget) take(ctx context.Context, key metering.KeyID, bytes int64) (*lease, error) {
	l := &lease{budget: b, key: key, bytes: min(bytes, b.share)}
	b.mu.Lock()
	if b.slots > 0 && b.leases >= b.slots {
		b.mu.Unlock()
		return nil, errOverloaded
	}
	b.leases++
	if b.fits(l) {
		b.grant(l)
		b.mu.Unlock()
		return l, nil
	}
	l.granted = make(chan struct{})
	b.queue = append(b.queue, l)
	b.mu.Unlock()
	return b.await(ctx, l)
}

func (b *budget) await(ctx context.Context, l *lease) (*lease, error) {
	timer := time.NewTimer(maxQueued)
	defer timer.Stop()
	err := errOverloaded
	select {
	case <-l.granted:
		return l, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.queue, l)
	if i < 0 {
		return l, nil // it was granted at the same moment
	}
	b.queue = slices.Delete(b.queue, i, i+1)
	b.leases--
	return nil, err
}

func (b *budget) fits(l *lease) bool {
	return b.held+l.bytes <= b.total && b.keys[l.key]+l.bytes <= b.share
}

func (b *budget) grant(l *lease) {
	b.held += l.bytes
	b.keys[l.key] += l.bytes
}

func (l *lease) shrink(bytes int64) {
	if l == nil || l.bytes <= bytes {
		return
	}
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.giveBack(l, l.bytes-bytes)
}

// release gives everything back. Doing so again does nothing.
func (l *lease) release() {
	if l == nil || l.budget == nil {
		return
	}
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	l.budget = nil
	b.leases--
	b.giveBack(l, l.bytes)
}

// giveBack grants those that wait what has become free: the first one first, but none waits for a key
// that holds its share.
func (b *budget) giveBack(l *lease, bytes int64) {
	b.held -= bytes
	l.bytes -= bytes
	if b.keys[l.key] -= bytes; b.keys[l.key] == 0 {
		delete(b.keys, l.key)
	}
	b.queue = slices.DeleteFunc(b.queue, func(w *lease) bool {
		if !b.fits(w) {
			return false
		}
		b.grant(w)
		close(w.granted)
		return true
	})
}
