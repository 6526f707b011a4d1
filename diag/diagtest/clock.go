package diagtest

import (
	"context"
	"sync"
	"time"
)

// epoch is when every world begins.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// A clock stands still, or runs with the time of the process.
type clock struct {
	mu    sync.Mutex
	base  time.Time // the time shown at start
	start time.Time // of the process or bubble; zero if the clock stands still
}

func newClock(base time.Time, running bool) *clock {
	c := &clock{base: base.Round(0)}
	if running {
		c.start = time.Now()
	}
	return c
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.start.IsZero() {
		return c.base
	}
	return c.base.Add(time.Since(c.start))
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base = t.Round(0)
	if !c.start.IsZero() {
		c.start = time.Now()
	}
}

// inBubble reports whether the caller runs in a bubble of testing/synctest. The time of a bubble
// begins at midnight UTC 2000-01-01, which is part of its documented behaviour, and no machine that
// runs this has a clock which shows that decade.
func inBubble() bool { return time.Now().Year() < 2010 }

// Now returns the time in the world.
func (w *World) Now() time.Time { return w.clock.now() }

// SetTime sets the clock of the world.
func (w *World) SetTime(t time.Time) { w.clock.set(t) }

// Advance moves the clock of the world, back if d is negative. Nothing that waits is woken by it.
func (w *World) Advance(d time.Duration) { w.clock.set(w.clock.now().Add(d)) }

// wait lasts for d, or until the context or the world ends.
func (w *World) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}
