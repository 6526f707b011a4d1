package diagtest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// trip is how long a round trip lasts while round trips are counted: long enough that no work of the
// processor matters, short enough that few timeouts are reached.
const trip = 100 * time.Millisecond

// RoundTrips counts how many exchanges with the world, one after the other, a diagnostic has to wait for: its critical
// path. An exchange is a question to the DNS with its answer, or the opening of a TCP connection; what is sent over a
// connection costs nothing. Exchanges at the same time count once:
//
//	trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
//		w.Zone(zone)
//	}, func(ctx context.Context, env *diag.Env) {
//		_, err := spf.Lookup(ctx, env, request)
//		require.NoError(t, err)
//	})
//	assert.Equal(t, depth+1, trips)
//
// Both functions run in a bubble of [testing/synctest] that RoundTrips makes, so it must not be called
// inside one; there [World.RoundTrips] does the counting. Time in which the diagnostic waits for
// something else, such as a delay before a second try, counts too, rounded up.
func RoundTrips(t *testing.T, setup func(*World), run func(context.Context, *diag.Env)) int {
	t.Helper()
	return roundTrips(t, Latency{DNS: trip, Connect: trip}, setup, run)
}

// DNSRoundTrips is [RoundTrips] for the exchanges with the DNS alone: connections open at once.
func DNSRoundTrips(t *testing.T, setup func(*World), run func(context.Context, *diag.Env)) int {
	t.Helper()
	return roundTrips(t, Latency{DNS: trip}, setup, run)
}

func roundTrips(t *testing.T, l Latency, setup func(*World), run func(context.Context, *diag.Env)) int {
	t.Helper()
	trips := 0
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t)
		setup(w)
		w.SetLatencies(l)
		trips = w.RoundTrips(func() { run(t.Context(), w.Env()) })
	})
	return trips
}

// RoundTrips counts the round trips that f takes, of the length that [World.Latency] sets for the DNS.
// It is 0 without a latency, and means something only inside a bubble of [testing/synctest], where
// no time passes but that of the world.
func (w *World) RoundTrips(f func()) int {
	unit := w.Latencies().DNS
	begin := time.Now()
	f()
	if unit <= 0 {
		return 0
	}
	return int((time.Since(begin) + unit - 1) / unit)
}
