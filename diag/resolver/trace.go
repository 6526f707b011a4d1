package resolver

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// maxSteps bounds a trace. A query to the full set of system servers takes at most a dozen steps, a walk from the
// root some tens; a longer trace is of no use.
const maxSteps = 512

// A Step is one message sent to one server, and its reply.
type Step struct {
	Server    Server         // the server as configured
	Addr      netip.AddrPort // address that the message was sent to; invalid if no connection was made
	Transport Transport      // transport of the message; TCP if the reply over UDP was truncated
	Question  dns.Question
	Rcode     int           // reply code, meaningful if Err is nil
	Latency   time.Duration // time until the reply, including the time to connect
	Err       error         // why there was no reply, or nil
	Truncated bool          // the reply was truncated (TC)
	FromCache bool          // the reply came from a cache; Server, Addr and Transport are those of its origin
}

// A Trace records queries, up to 512; see [WithTrace]. Its zero value is an empty trace. It may be used by
// several goroutines concurrently.
type Trace struct {
	mu    sync.Mutex
	steps []Step
}

// Steps returns a copy of the steps so far, in the order of the replies.
func (t *Trace) Steps() []Step {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.steps)
}

// last returns the step that came last, which is not changed any more.
func (t *Trace) last() *Step {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.steps); n > 0 {
		return &t.steps[n-1]
	}
	return new(Step)
}

func (t *Trace) add(steps ...Step) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps = append(t.steps, steps[:min(len(steps), maxSteps-len(t.steps))]...)
}

type traceKey struct{}

// WithTrace returns a context in which queries are recorded in t.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// traceOf returns the trace of a context, or nil.
func traceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}
