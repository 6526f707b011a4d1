package main

import (
	"sync/atomic"
	"time"
)

// A movableClock is a clock that is set to the days before, and follows that of the machine once they are over.
type movableClock struct{ behind atomic.Int64 }

func (p *movableClock) Now() time.Time { return time.Now().Add(-time.Duration(p.behind.Load())) }

// setTime sets the clock of the server and of its world.
func (h *environment) setTime(at time.Time) {
	h.behind.Store(int64(time.Since(at)))
	h.world.SetTime(at.UTC())
}
