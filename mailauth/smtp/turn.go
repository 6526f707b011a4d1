package smtp

import (
	"context"
	"net/netip"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

// maxConnections is how many connections an address has to serve at the same time, whoever asks for them: callers must
// not be able to turn the environment against a mail server, many of which take more than a few for an attack.
const maxConnections = 2

type turnsKey struct{}

// turns says who may connect to an address. All sessions of an environment share it.
type turns struct {
	mu     sync.Mutex
	queues map[netip.Addr]*queue // only addresses that somebody connects to or waits for
}

// A queue is those who connect to one address, or wait for it.
type queue struct {
	taken chan struct{} // holds one element for each connection
	users int
}

func turnsOf(env *diag.Env) *turns {
	return diag.Shared(env, turnsKey{}, func() *turns { return &turns{queues: map[netip.Addr]*queue{}} })
}

// take waits until the address may be connected to. What it returns ends the turn, however often it is called.
func (t *turns) take(ctx context.Context, ip netip.Addr) (end func(), err error) {
	t.mu.Lock()
	q := t.queues[ip]
	if q == nil {
		q = &queue{taken: make(chan struct{}, maxConnections)}
		t.queues[ip] = q
	}
	q.users++
	t.mu.Unlock()
	select {
	case q.taken <- struct{}{}:
		return sync.OnceFunc(func() {
			<-q.taken
			t.leave(ip, q)
		}), nil
	case <-ctx.Done():
		t.leave(ip, q)
		return nil, ctx.Err()
	}
}

func (t *turns) leave(ip netip.Addr, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(t.queues, ip)
	}
}
