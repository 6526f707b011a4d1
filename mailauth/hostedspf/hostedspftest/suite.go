// Package hostedspftest is the conformance suite for stores of hosted SPF: call [TestStore]. It also has a [Clock]
// that is set by hand.
//
// Pass [TestStore] a function that opens an empty store, whose claims end by the clock:
//
//	func TestStore(t *testing.T) {
//		hostedspftest.TestStore(t, func(t *testing.T, clock *hostedspftest.Clock) hostedspf.Store {
//			return mystore.New(mystore.Config{Clock: clock.Now})
//		})
//	}
//
// A store that outlives its process also has a method Reopen(*testing.T) hostedspf.Store, which closes and reopens
// it.
package hostedspftest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/stretchr/testify/require"
)

// A reopener is a store that outlives its process. Reopen closes it, as a stopped server does, and opens it again
// with its data; the old store is not used any more.
type reopener interface {
	Reopen(t *testing.T) hostedspf.Store
}

// TestStore tests that a store keeps every promise of [hostedspf.Store]. Each part gets an empty store of
// its own from open, which must end claims by the clock, and closes it.
func TestStore(t *testing.T, open func(t *testing.T, clock *Clock) hostedspf.Store) {
	parts := []struct {
		name string
		test func(t *testing.T, f *fixture)
	}{
		{"profiles", testProfiles},
		{"every field", testEveryField},
		{"taken", testTaken},
		{"deep copies", testCopies},
		{"order and owners", testOrder},
		{"pages under inserts", testPages},
		{"update", testUpdate},
		{"update and claim", testUpdateClaimed},
		{"remove", testRemove},
		{"version", testVersion},
		{"due", testDue},
		{"due and claimed", testDueClaimed},
		{"claim", testClaim},
		{"lease", testLease},
		{"fence", testFence},
		{"release", testRelease},
		{"finish", testFinish},
		{"finish without success", testFinishFailed},
		{"finish of a paused profile", testFinishPaused},
		{"parts of records that were replaced", testParts},
		{"history", testHistory},
		{"history under inserts", testHistoryPages},
		{"history with times alike", testHistoryTies},
		{"history that is too old", testHistoryAge},
		{"ended context", testEndedContext},
		{"closed", testClosed},
		{"survival", testSurvival},
		{"race of claims", testRaceClaims},
		{"race of resolutions", testRaceResolutions},
		{"race of creations", testRaceCreate},
		{"race of updates", testRaceUpdates},
	}
	for _, part := range parts {
		t.Run(part.name, func(t *testing.T) {
			clock := NewClock()
			f := &fixture{t: t, clock: clock, store: open(t, clock)}
			t.Cleanup(func() { require.NoError(t, f.store.Close()) })
			part.test(t, f)
		})
	}
}

const lease = time.Minute

// A Clock shows 2026-01-15, noon, UTC, until it is moved. It is safe for use by many goroutines.
type Clock struct{ moved atomic.Int64 }

// NewClock returns a clock at its start time.
func NewClock() *Clock { return new(Clock) }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	return time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC).Add(time.Duration(c.moved.Load()))
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) { c.moved.Add(int64(d)) }
