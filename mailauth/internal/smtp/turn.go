package smtp

import (
	"context"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

// maxConnections bounds the simultaneous connections to a host, and to an address, over all callers: the environment
// must not become a weapon against a mail server, and many treat more than a few connections as an attack.
const maxConnections = 2

type turnsKey struct{}

// turns schedules the connections to hosts. All sessions of an environment share it.
type turns struct {
	mu     sync.Mutex
	queues map[string]*queue // by host name and by address, while connections to it are open or pending
}

// A queue holds the open and pending connections to one host or address.
type queue struct {
	taken chan struct{} // holds one element for each connection
	users int
}

// enter waits for a turn with the host of a configuration, which may have several addresses, and then for one with
// the address, which several hosts may share: no caller waits while holding the second. The returned function ends
// both turns and may be called repeatedly.
func (t *turns) enter(ctx context.Context, c Config) (leave func(), err error) {
	leaveHost := func() {}
	if c.ServerName != "" {
		if leaveHost, err = t.acquire(ctx, strings.ToLower(c.ServerName)); err != nil {
			return nil, err
		}
	}
	leaveAddress, err := t.acquire(ctx, c.Addr.Addr().Unmap().String())
	if err != nil {
		leaveHost()
		return nil, err
	}
	return func() {
		leaveAddress()
		leaveHost()
	}, nil
}

func (t *turns) acquire(ctx context.Context, key string) (leave func(), err error) {
	t.mu.Lock()
	q := t.queues[key]
	if q == nil {
		q = &queue{taken: make(chan struct{}, maxConnections)}
		t.queues[key] = q
	}
	q.users++
	t.mu.Unlock()
	select {
	case q.taken <- struct{}{}:
		return sync.OnceFunc(func() {
			<-q.taken
			t.release(key, q)
		}), nil
	case <-ctx.Done():
		t.release(key, q)
		return nil, ctx.Err()
	}
}

func (t *turns) release(key string, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(t.queues, key)
	}
}

type sharingKey struct{}

// Sharing returns a context in which all calls of [Secure] with the same configuration share one session, which is
// already closed: an operation of several diagnostics connects once to examine a certificate. A context that shares
// already is returned unchanged.
func Sharing(ctx context.Context) context.Context {
	if ctx.Value(sharingKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, sharingKey{}, new(sync.Map))
}

// A meeting is a shared session, in progress or completed.
type meeting struct {
	done    chan struct{}
	session *Session
	err     error
}

// shared lets the first caller hold the session, and all others wait for it or for the end of their context.
func shared(ctx context.Context, env *diag.Env, c Config, held *sync.Map) (*Session, error) {
	m := &meeting{make(chan struct{}), newSession(env, c), &Error{Step: StepConnect, Kind: Overrun}} // in case it panics
	if other, found := held.LoadOrStore(c, m); found {
		first := other.(*meeting)
		select {
		case <-first.done:
			return first.session, first.err
		case <-ctx.Done():
			return m.session, &Error{Step: StepConnect, Kind: Overrun, Err: ctx.Err()}
		}
	}
	defer close(m.done)
	m.session, m.err = secure(ctx, env, c)
	m.session.Close()
	return m.session, m.err
}
