package httpapi

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
)

const (
	// DefaultMemory bounds what running operations hold together, in bytes.
	DefaultMemory = 512 << 20
	// shares is how many keys must be at their worst at once before they are in the way of others.
	shares = 4
	// maxShare bounds what the operations of one key hold, however large the machine is: with the
	// garbage that goes with it, one key keeps a server below half a gigabyte.
	maxShare = 128 << 20
	// maxQueued is how long a request waits for memory, before the reply says that the server is busy.
	maxQueued = 10 * time.Second
)

var errOverloaded = errors.New("too much work is running")

// A budget bounds the memory that requests hold, in all and for each key. What does not fit waits, so
// that a burst which the rate limit allows is served, one after the other.
type budget struct {
	total, share int64
	slots        int // bounds the number of leases; 0: any number

	mu     sync.Mutex
	held   int64
	leases int
	keys   map[metering.KeyID]int64 // held by each key; only keys that hold something
	queue  []*lease
}

// newBudget returns a budget of a number of bytes.
func newBudget(total int64, slots int) *budget {
	return &budget{total: total, share: min(total/shares, maxShare), slots: slots, keys: map[metering.KeyID]int64{}}
}

// A lease is memory that a request may hold. The zero lease holds nothing.
type lease struct {
	budget  *budget
	key     metering.KeyID
	bytes   int64
	granted chan struct{} // closed when it is; nil if it was at once
}

// take waits for memory. More than the share of a key counts as the share: it then runs alone. The
// error is errOverloaded, or that of the context.
func (b *budget) take(ctx context.Context, key metering.KeyID, bytes int64) (*lease, error) {
	l := &lease{budget: b, key: key, bytes: min(bytes, b.share)}
	b.mu.Lock()
	if b.slots > 0 && b.leases >= b.slots {
		b.mu.Unlock()
		return nil, errOverloaded
	}
	b.leases++
	if b.fits(l) {
		b.grant(l)
		b.mu.Unlock()
		return l, nil
	}
	l.granted = make(chan struct{})
	b.queue = append(b.queue, l)
	b.mu.Unlock()
	return b.await(ctx, l)
}

func (b *budget) await(ctx context.Context, l *lease) (*lease, error) {
	timer := time.NewTimer(maxQueued)
	defer timer.Stop()
	err := errOverloaded
	select {
	case <-l.granted:
		return l, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.queue, l)
	if i < 0 {
		return l, nil // it was granted at the same moment
	}
	b.queue = slices.Delete(b.queue, i, i+1)
	b.leases--
	return nil, err
}

func (b *budget) fits(l *lease) bool {
	return b.held+l.bytes <= b.total && b.keys[l.key]+l.bytes <= b.share
}

func (b *budget) grant(l *lease) {
	b.held += l.bytes
	b.keys[l.key] += l.bytes
}

func (l *lease) shrink(bytes int64) {
	if l == nil || l.bytes <= bytes {
		return
	}
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.giveBack(l, l.bytes-bytes)
}

// release gives everything back. Doing so again does nothing.
func (l *lease) release() {
	if l == nil || l.budget == nil {
		return
	}
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	l.budget = nil
	b.leases--
	b.giveBack(l, l.bytes)
}

// giveBack grants those that wait what has become free: the first one first, but none waits for a key
// that holds its share.
func (b *budget) giveBack(l *lease, bytes int64) {
	b.held -= bytes
	l.bytes -= bytes
	if b.keys[l.key] -= bytes; b.keys[l.key] == 0 {
		delete(b.keys, l.key)
	}
	b.queue = slices.DeleteFunc(b.queue, func(w *lease) bool {
		if !b.fits(w) {
			return false
		}
		b.grant(w)
		close(w.granted)
		return true
	})
}
