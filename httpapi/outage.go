package httpapi

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

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

// failed is told of a request that was refused for want of the store.
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
