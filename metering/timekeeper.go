package metering

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// maxJump is by how much a clock may be wrong before it is in doubt (CONTRACT 4.8).
	maxJump = 5 * time.Second
	// jumpTrust is how long a clock must have kept step after a jump to be trusted again: long enough for an operator
	// to fix it, and harmless if the jump has fixed it.
	jumpTrust = 24 * time.Hour
)

// A Timekeeper decides whether the clock of this node can be trusted. It is in doubt when it jumps, compared with the
// monotonic clock; while it is behind the newest instant that the store has seen; or while it differs from the clock
// of a store that several nodes share. Meanwhile requests are served, but nothing is closed, swept or pruned. The zero
// value is ready for use.
type Timekeeper struct {
	Clock  func() time.Time     // of the wall; nil means time.Now
	Steady func() time.Duration // cannot be set; nil means the monotonic clock
	Log    *slog.Logger         // logs when doubt begins and ends; nil disables logging

	mu        sync.Mutex
	reference func() time.Time
	newest    time.Time
	origin    time.Time // of the monotonic clock

	started    bool
	offset     time.Duration // of the wall to the steady clock, as it is believed
	candidate  time.Duration // as it has been since the last jump
	doubtStart time.Duration // the last jump, or since when the clock is behind; by the steady clock
	behind     bool
	doubt      error
}

// Clocked is an optional ability of a [Store] that several nodes share: its own clock.
type Clocked interface{ Now() time.Time }

// Dated is an optional ability of a [Store]: it returns the newest instant in the store at the time it was opened.
type Dated interface{ Newest() time.Time }

// Follow compares the clock with what a store knows of the time.
func (k *Timekeeper) Follow(s Store) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c, ok := s.(Clocked); ok {
		k.reference = c.Now
	}
	if d, ok := s.(Dated); ok {
		k.newest = d.Newest()
	}
}

// Doubt returns why the clock cannot be trusted now; nil if it can.
func (k *Timekeeper) Doubt() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.examine()
	return k.doubt
}

// Now returns the best known time: that of a store that nodes share, else that of this node without its jumps since it
// was trusted, and not before the newest instant of the store. Months, expiry and what is written down go by it.
func (k *Timekeeper) Now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	wall, steady := k.examine()
	switch {
	case k.reference != nil:
		return k.reference()
	case k.doubt == nil:
		return wall
	case k.behind:
		return k.newest.Add(steady - k.doubtStart)
	}
	return time.Unix(0, int64(k.offset+steady))
}

// examine compares the clocks, and logs a change.
func (k *Timekeeper) examine() (wall time.Time, steady time.Duration) {
	wall, steady = k.read()
	was := k.doubt
	if k.reference != nil {
		k.doubt = differenceError(wall.Sub(k.reference()), "the clock is %v apart from that of the store")
	} else {
		k.doubt = k.assess(wall, steady)
	}
	switch {
	case k.Log == nil:
	case was == nil && k.doubt != nil:
		k.Log.Error("the clock is in doubt; until it is not, no month is closed and nothing is forgotten", "reason", k.doubt)
	case was != nil && k.doubt == nil:
		k.Log.Warn("the clock is believed again")
	}
	return wall, steady
}

func (k *Timekeeper) read() (wall time.Time, steady time.Duration) {
	now := time.Now() // of both clocks
	if k.origin.IsZero() {
		k.origin = now
	}
	wall, steady = now, now.Sub(k.origin)
	if k.Clock != nil {
		wall = k.Clock()
	}
	if k.Steady != nil {
		steady = k.Steady()
	}
	return wall, steady
}

func differenceError(d time.Duration, format string) error {
	if d.Abs() <= maxJump {
		return nil
	}
	return fmt.Errorf(format, d.Round(time.Second))
}

// lag is by how much the clock is behind the newest instant that the store has seen; 0 if it is not.
func (k *Timekeeper) lag(wall time.Time) time.Duration {
	if !wall.Before(k.newest) {
		return 0
	}
	return k.newest.Sub(wall)
}

// assess compares the clock of a single node with itself.
func (k *Timekeeper) assess(wall time.Time, steady time.Duration) error {
	if lag := k.lag(wall); lag > maxJump {
		if !k.behind {
			k.behind, k.doubtStart = true, steady
		}
		if steady-k.doubtStart < jumpTrust {
			k.started = false
			return differenceError(lag, "the clock is %v behind what the store has seen")
		}
		k.newest = time.Time{} // which was of a clock that was ahead
	}
	k.behind = false
	offset := time.Duration(wall.UnixNano()) - steady
	if !k.started {
		k.started, k.offset, k.candidate = true, offset, offset
	}
	if (offset - k.candidate).Abs() > maxJump {
		k.doubtStart = steady
	}
	k.candidate = offset
	err := differenceError(offset-k.offset, "the clock jumped by %v")
	if err == nil || steady-k.doubtStart >= jumpTrust {
		k.offset, err = offset, nil // small corrections add up
	}
	return err
}
