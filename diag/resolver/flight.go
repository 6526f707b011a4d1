package resolver

import (
	"context"

	"github.com/miekg/dns"
)

// A flight is one exchange for all concurrent callers with the same query. It lasts until the reply has come or the
// last of them has left.
type flight struct {
	key     key
	waiters int                        // guarded by the lock of the shard, as is the next
	told    []func(outcome[exchanged]) // those that wait for the outcome without a goroutine
	cancel  func()                     // ends it when the last has left; set before the first waits
	trace   Trace
	done    chan struct{} // closed when the outcome is set
	outcome outcome[exchanged]
}

// exchanged is the result of an exchange. The message does not change any more; callers get copies.
type exchanged struct {
	msg *dns.Msg
	err error
}

// board adds a waiter to the flight of a key, and reports whether it must be launched. The shard is locked.
func (s *shard) board(k key) (f *flight, first bool) {
	if f = s.flights[k]; f == nil {
		f, first = &flight{key: k, done: make(chan struct{})}, true
		s.flights[k] = f
	}
	f.waiters++
	return f, first
}

// launch begins a flight. It has the values of the first caller's context, but does not end with it.
func (c *Cache) launch(ctx context.Context, s *shard, f *flight, q *dns.Msg) {
	ctx = WithTrace(context.WithoutCancel(ctx), &f.trace)
	if below, ok := c.upstream.(*Cache); ok {
		if leave, ok := below.join(ctx, q, func(o outcome[exchanged]) { c.land(s, f, o) }); ok {
			f.cancel = leave
			return
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	f.cancel = cancel
	q = q.Copy() // the caller may be gone, and its message be used for something else
	go func() {
		defer cancel()
		c.land(s, f, caught(func() (e exchanged) {
			e.msg, e.err = Ask(ctx, c.upstream, q)
			return e
		}))
	}()
}

// join queries for a cache above this one and passes the outcome to told. The message is shared with it. That cache
// calls leave when it has no more waiters. The result is false for queries that are not cached.
func (c *Cache) join(ctx context.Context, q *dns.Msg, told func(outcome[exchanged])) (leave func(), ok bool) {
	s, k, ok := c.place(ctx, q)
	if !ok {
		return nil, false
	}
	now := c.now()
	s.mu.Lock()
	if e := s.fresh(k, now); e != nil {
		s.mu.Unlock()
		m := e.msg
		if age := e.use(ctx, q, now); age > 0 {
			m = m.Copy()
			lowerTTLs(m, age)
		}
		told(outcome[exchanged]{value: exchanged{msg: m}})
		return func() {}, true
	}
	f, first := s.board(k)
	f.told = append(f.told, func(o outcome[exchanged]) {
		f.report(ctx)
		told(o)
	})
	s.mu.Unlock()
	if first {
		c.launch(ctx, s, f, q)
	}
	return func() { s.leave(f) }, true
}

// land ends a flight. A panic, such as of a caller's resolver, is passed to all waiters.
func (c *Cache) land(s *shard, f *flight, o outcome[exchanged]) {
	if o.panicked == nil && o.value.err == nil {
		o = caught(func() exchanged {
			s.mu.Lock()
			defer s.mu.Unlock()
			c.store(s, f.key, o.value.msg, f.trace.last())
			return o.value
		})
	}
	s.mu.Lock()
	s.forget(f)
	f.outcome = o
	told := f.told
	close(f.done)
	s.mu.Unlock()
	for _, tell := range told {
		tell(o)
	}
}

// report adds the steps to the trace of a waiter.
func (f *flight) report(ctx context.Context) {
	if trace := traceOf(ctx); trace != nil {
		trace.add(f.trace.Steps()...)
	}
}

// wait returns the reply when it has come.
func (f *flight) wait(ctx context.Context, s *shard, q *dns.Msg) (*dns.Msg, error) {
	select {
	case <-f.done:
	case <-ctx.Done():
		s.leave(f)
		return nil, ctx.Err()
	}
	f.report(ctx)
	e := f.outcome.get()
	if e.err != nil {
		return nil, e.err
	}
	return copyFor(q, e.msg), nil
}

// leave removes a waiter from a flight. The last to leave before it lands ends it.
func (s *shard) leave(f *flight) {
	s.mu.Lock()
	f.waiters--
	last := f.waiters == 0
	if last {
		s.forget(f)
	}
	s.mu.Unlock()
	if last {
		f.cancel()
	}
}

// forget takes a flight off the list, unless another has taken its place. The shard is locked.
func (s *shard) forget(f *flight) {
	if s.flights[f.key] == f {
		delete(s.flights, f.key)
	}
}
