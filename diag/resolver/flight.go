package resolver

import (
	"context"

	"github.com/miekg/dns"
)

// A flight is one exchange for all who ask for the same thing at the same time. It goes on until the
// reply has come or the last of them has left.
type flight struct {
	key     key
	waiters int // guarded by the lock of the shard
	cancel  context.CancelFunc
	trace   Trace
	done    chan struct{} // closed when msg and err are set

	msg *dns.Msg // not changed any more; callers get copies
	err error
}

// launch begins a flight. The shard is locked. The flight has the values of the context of the one
// who asks first, but does not end with it.
func (c *Cache) launch(ctx context.Context, s *shard, k key, q *dns.Msg) *flight {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{key: k, cancel: cancel, done: make(chan struct{})}
	s.flights[k] = f
	q = q.Copy() // the caller may be gone, and its message be used for something else
	go f.run(WithTrace(ctx, &f.trace), c, s, q)
	return f
}

func (f *flight) run(ctx context.Context, c *Cache, s *shard, q *dns.Msg) {
	defer f.cancel()
	f.msg, f.err = c.upstream.Exchange(ctx, q)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.err == nil {
		c.store(s, f.key, f.msg, f.origin())
	}
	s.forget(f)
	close(f.done)
}

// origin is the exchange that brought the reply.
func (f *flight) origin() Step {
	steps := f.trace.Steps()
	if len(steps) == 0 {
		return Step{}
	}
	return steps[len(steps)-1]
}

// forget takes a flight off the list, unless another has taken its place. The shard is locked.
func (s *shard) forget(f *flight) {
	if s.flights[f.key] == f {
		delete(s.flights, f.key)
	}
}

// wait returns the reply when it has come. The last to leave before that ends the flight.
func (f *flight) wait(ctx context.Context, s *shard, q *dns.Msg) (*dns.Msg, error) {
	select {
	case <-f.done:
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		if f.waiters--; f.waiters == 0 {
			s.forget(f)
			f.cancel()
		}
		return nil, ctx.Err()
	}
	traceOf(ctx).add(f.trace.Steps()...)
	if f.err != nil {
		return nil, f.err
	}
	return copyFor(q, f.msg), nil
}
