package metering

import (
	"context"
	"sync"
	"time"
)

const (
	// settleTime bounds how long Settle and Cancel wait for the store: longer than a store waits for another process,
	// and short enough for the caller to receive the result.
	settleTime = 15 * time.Second
	// settleShare is for how long calls share one end.
	settleShare = time.Second
)

// settleDeadline ends the wait of Settle and Cancel. A timer for each charge would cost as much as the rest of the
// gate. So calls that begin within a second share one, by which they wait for up to a second less. The zero value is
// ready for use.
type settleDeadline struct {
	mu   sync.Mutex
	end  context.Context // that is shared
	next time.Time       // when it is not shared any more
}

// bound returns a context with the values of another, which ends after settleTime at the latest. It ends with the other
// one, if that ends.
func (s *settleDeadline) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Done() != nil {
		return context.WithTimeout(ctx, settleTime)
	}
	return sharedDeadline{ctx, s.shared()}, func() {}
}

func (s *settleDeadline) shared() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); !now.Before(s.next) {
		end, release := context.WithTimeout(context.Background(), settleTime)
		context.AfterFunc(end, release)
		s.end, s.next = end, now.Add(settleShare)
	}
	return s.end
}

// sharedDeadline has the values of one context, which never ends, and the end of another.
type sharedDeadline struct {
	context.Context
	end context.Context
}

func (b sharedDeadline) Deadline() (time.Time, bool) { return b.end.Deadline() }
func (b sharedDeadline) Done() <-chan struct{}       { return b.end.Done() }
func (b sharedDeadline) Err() error                  { return b.end.Err() }
