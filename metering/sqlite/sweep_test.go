//go:build !race || nightly

package sqlite

import (
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

// Without the race detector, which makes this many times slower: nothing in it runs at once.
func TestSweep(t *testing.T) {
	s, clock := opened(t)
	op := customer(t, s, clock)
	const old = 2*sweepRows + 7
	for i := range old {
		id := [32]byte{byte(i), byte(i >> 8), 1}
		op.Idempotency, op.Fingerprint = &id, &id
		begun, err := s.Begin(t.Context(), op)
		require.NoError(t, err)
		_, err = s.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: op.Now, Reply: &metering.Reply{}})
		require.NoError(t, err)
	}
	clock.Advance(time.Second)
	require.NoError(t, charge(t, s, at(op, clock), 1, nil))
	clock.Advance(metering.ReplayWindow - time.Second - time.Microsecond)
	swept, err := s.sweepReplies()
	require.NoError(t, err)
	require.Zero(t, swept, "nothing has expired yet")

	clock.Advance(time.Microsecond)
	// A claim that ran again has two records for a while; the sweep takes only the old one.
	again := at(op, clock)
	again.Idempotency = &[32]byte{5, 0, 1}
	begun, err := s.Begin(t.Context(), again)
	require.NoError(t, err)
	_, err = s.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: again.Now, Reply: &metering.Reply{}})
	require.NoError(t, err)

	for _, want := range []int{sweepRows, sweepRows, 7, 0} {
		swept, err := s.sweepReplies()
		require.NoError(t, err)
		require.Equal(t, want, swept)
	}
	require.Equal(t, int64(2), count(t, s, "SELECT count(*) FROM replies"))
	require.Equal(t, int64(2), s.known.count.Load())
	require.ErrorContains(t, charge(t, s, at(op, clock), 1, nil), "replay")
	begun, err = s.Begin(t.Context(), again)
	require.NoError(t, err)
	require.NotNil(t, begun.Replay)
	require.Equal(t, int64(old+2), count(t, s, "SELECT count(*) FROM ledger"), "charges stay for good")
}
