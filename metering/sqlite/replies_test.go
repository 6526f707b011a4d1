package sqlite

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
	"github.com/diagkit/diagkit/metering/meteringtest"
)

// TestTagCollision keeps replies whose claims share a tag: a chance of one in 2^31 for each pair, or a patient
// attacker. The row distinguishes them.
func TestTagCollision(t *testing.T) {
	s, clock := opened(t)
	op := customer(t, s, clock)
	claim := func(number byte) metering.Op {
		op := op
		op.RequestID = fmt.Sprint("req_", number)
		op.Idempotency, op.Fingerprint = &[32]byte{8: number}, &[32]byte{}
		return op
	}
	tag := func(hash [32]byte) uint32 { return tagOf(hold.ClaimID{Line: op.Key, Hash: hash}) }
	require.Equal(t, tag([32]byte{8: 1}), tag([32]byte{8: 2}))
	for number := range byte(8) {
		begun, err := s.Begin(t.Context(), claim(number))
		require.NoError(t, err)
		require.NotNil(t, begun.Ticket, number)
		_, err = s.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: op.Now, Reply: &metering.Reply{}})
		require.NoError(t, err)
		for earlier := range number + 1 {
			begun, err := s.Begin(t.Context(), claim(earlier))
			require.NoError(t, err)
			require.NotNil(t, begun.Replay, earlier)
			require.Equal(t, fmt.Sprint("req_", earlier), begun.Replay.RequestID)
		}
	}
}

// TestSweepBehindAClockThatWasAhead keeps more replies under a clock that is ahead than one sweep deletes: they must
// not block the deletion of those that expire.
func TestSweepBehindAClockThatWasAhead(t *testing.T) {
	s, clock := opened(t)
	op := customer(t, s, clock)
	settle := func(op metering.Op, number int) {
		id := [32]byte{byte(number), byte(number >> 8), 1}
		op.Idempotency, op.Fingerprint = &id, &id
		begun, err := s.Begin(t.Context(), op)
		require.NoError(t, err)
		_, err = s.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: op.Now, Reply: &metering.Reply{}})
		require.NoError(t, err)
	}
	clock.Advance(365 * 24 * time.Hour)
	for i := range sweepRows + 10 {
		settle(at(op, clock), i)
	}
	clock.Advance(-365 * 24 * time.Hour)
	for i := range 20 {
		settle(at(op, clock), sweepRows+10+i)
	}
	clock.Advance(metering.ReplayWindow)
	swept, err := s.sweepReplies()
	require.NoError(t, err)
	require.Equal(t, 20, swept)
	require.Equal(t, int64(sweepRows+10), count(t, s, "SELECT count(*) FROM replies"))
}

func TestKnown(t *testing.T) {
	var k known
	require.False(t, k.absent(1), "nothing is proven before all is learnt")
	k.complete.Store(true)
	require.True(t, k.absent(1))
	k.add(1)
	k.add(1)
	k.remove(1)
	require.False(t, k.absent(1), "one of two is left")
	k.remove(1)
	require.True(t, k.absent(1))
	k.remove(1)
	require.Zero(t, k.count.Load())

	k.count.Store(maxKnown - 1)
	k.add(2)
	require.False(t, k.absent(2))
	require.True(t, k.absent(3))
	k.add(3)
	require.False(t, k.absent(4), "above the bound nothing is proven")
	k.remove(2)
	k.add(5)
	require.False(t, k.absent(5))
}

// Nothing is swept, and what was kept is replayed, while the clock is in doubt. What a store knows of the time outlives it.
func TestNothingIsForgottenInDoubt(t *testing.T) {
	s, clock := opened(t)
	op := customer(t, s, clock)
	var doubt error
	path := s.file.Path()
	require.NoError(t, charge(t, s, op, 1, []byte("paid")))
	require.NoError(t, s.Close())
	s, err := Open(t.Context(), path, Config{
		Plans: meteringtest.Plans(), Clock: clock.Now, Doubt: func() error { return doubt }, pause: time.Hour,
	})
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, op.Now.UTC(), s.Newest())
	clock.Advance(10 * 24 * time.Hour)
	doubt = errors.New("it jumped")
	swept, err := s.sweepReplies()
	require.NoError(t, err)
	require.Zero(t, swept)
	require.ErrorContains(t, charge(t, s, at(op, clock), 1, nil), "replay")
	doubt = nil
	swept, err = s.sweepReplies()
	require.NoError(t, err)
	require.Equal(t, 1, swept)
}
