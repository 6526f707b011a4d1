package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

// pureTime bounds how long a client waits for work that no context ends. The work of such an operation takes well
// under a second, so this is for an overloaded machine.
const pureTime = 15 * time.Second

// work runs the diagnostic. With an idempotency key it continues when the client disconnects: the reply is kept, and
// waits for a retry.
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
	x.memory.Shrink(int64(len(result.Body))) // until the client has received it
	return result, nil
}

// maxRepeatable is the size, in bytes, up to which a reply is kept that could be made again.
const maxRepeatable = 64 << 10

// inlineWeight is the weight, in bytes, up to which work without a deadline is over before a deadline could matter.
const inlineWeight = 2 << 20

// execute runs the diagnostic. Work that no context ends waits for a processor, of which one key has half at most, and an
// account three quarters; it is left to itself when its time is over, and keeps its memory and its processor until it has
// ended.
func (x *exchange) execute(ctx context.Context, req any) (*Result, error) {
	op := &x.ep.Operation
	if op.time > 0 || x.memory.Amount() <= inlineWeight {
		return op.execute(ctx, x.Env, req)
	}
	processor, err := x.Budget.Processors.Take(ctx, x.owner(), 1)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pureTime)
	defer cancel()
	done := make(chan ran, 1)
	go func() { done <- run(func() (*Result, error) { return op.execute(ctx, x.Env, req) }) }()
	select {
	case r := <-done:
		processor.Release()
		if r.panicked != nil {
			panic(r.panicked)
		}
		return r.result, r.err
	case <-ctx.Done():
		go func(body, memory *budget.Lease) {
			<-done
			processor.Release()
			body.Release()
			memory.Release()
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

// outcome returns what the store keeps of a success: nothing without an idempotency key. Of a reply that is large,
// and deterministic, it keeps only that there was one.
func (x *exchange) outcome(result *Result) (metering.Outcome, error) {
	out := metering.Outcome{At: x.clock()}
	if x.idem == nil {
		return out, nil
	}
	form := x.ep.Operation.form
	if x.ep.Operation.repeats && len(result.Body) > maxRepeatable {
		form = metering.RerunReply
	}
	if form == metering.SealedReply && x.Authenticate != nil { // there is no secret by which to seal it
		form = metering.GoneReply
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
		out.Reply.Body, err = seal(x.secret(), x.idem, result.Body)
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

// outageQuiet is how long no operation of the store must have failed before an outage is over, so that an
// intermittent store is not logged each time.
const outageQuiet = 5 * time.Second

// An outage is the time in which the store cannot do its work. Its beginning and its end are logged, and at level
// debug each request.
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

// worked records a successful charge.
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
