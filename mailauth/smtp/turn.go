package smtp

import (
	"context"
	"strings"
	"sync"
)

// maxConnections is how many connections a host, and an address, has to serve at the same time, whoever asks for them:
// callers must not be able to turn the environment against a mail server, many of which take more than a few for an
// attack.
const maxConnections = 2

type turnsKey struct{}

// turns says who may connect to a host. All sessions of an environment share it.
type turns struct {
	mu     sync.Mutex
	queues map[string]*queue // by host name and by address, as long as somebody connects to it or waits
}

// A queue is those who connect to one host or address, or wait for it.
type queue struct {
	taken chan struct{} // holds one element for each connection
	users int
}

// enter waits for a turn with the host of a configuration, which may have several addresses, and then for one with the
// address, to which several hosts may lead: nobody who has the second waits. What it returns ends both, however often it
// is called.
func (t *turns) enter(ctx context.Context, c Config) (leave func(), err error) {
	leaveHost := func() {}
	if c.ServerName != "" {
		if leaveHost, err = t.take(ctx, strings.ToLower(c.ServerName)); err != nil {
			return nil, err
		}
	}
	leaveAddress, err := t.take(ctx, c.Addr.Addr().Unmap().String())
	if err != nil {
		leaveHost()
		return nil, err
	}
	return func() {
		leaveAddress()
		leaveHost()
	}, nil
}

func (t *turns) take(ctx context.Context, key string) (leave func(), err error) {
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
			t.left(key, q)
		}), nil
	case <-ctx.Done():
		t.left(key, q)
		return nil, ctx.Err()
	}
}

func (t *turns) left(key string, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(t.queues, key)
	}
}
