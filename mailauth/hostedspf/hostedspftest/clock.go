package hostedspftest

import (
	"sync/atomic"
	"time"
)

// A Clock stands at 2026-01-15, noon, UTC, until it is moved. It is safe for use by many goroutines.
type Clock struct{ moved atomic.Int64 }

// NewClock returns a clock that nobody has moved.
func NewClock() *Clock { return new(Clock) }

// Now returns what the clock shows.
func (c *Clock) Now() time.Time {
	return time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC).Add(time.Duration(c.moved.Load()))
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) { c.moved.Add(int64(d)) }
