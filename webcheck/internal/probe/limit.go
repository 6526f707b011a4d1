package probe

import (
	"context"
	"sync"
)

// A Limit bounds how many connections are open at the same time: its capacity.
type Limit chan struct{}

// Limits are bounds that all hold, such as that of a server and that of everything.
type Limits []Limit

// Acquire waits until each limit has room, in their order. Release makes the room free again, however often it is
// called; the error is that of the context.
func (l Limits) Acquire(ctx context.Context) (release func(), err error) {
	for i, limit := range l {
		select {
		case limit <- struct{}{}:
		case <-ctx.Done():
			l[:i].release()
			return nil, ctx.Err()
		}
	}
	return sync.OnceFunc(l.release), nil
}

func (l Limits) release() {
	for _, limit := range l {
		<-limit
	}
}
