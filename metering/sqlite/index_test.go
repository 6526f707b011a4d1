package sqlite

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
)

// numbered is an operation under the idempotency key with a number.
func numbered(op metering.Op, number int) metering.Op {
	op.RequestID = fmt.Sprint("req_", number)
	hash := sha256.Sum256([]byte(op.RequestID))
	op.Idempotency, op.Fingerprint = &hash, &hash
	return op
}

// settleNumbered charges operations with the numbers by several goroutines, and returns who failed.
func settleNumbered(t *testing.T, s *Store, op metering.Op, from, to int) (failed []int) {
	var mu sync.Mutex
	var next atomic.Int64
	next.Store(int64(from))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < to; i = int(next.Add(1)) - 1 {
				begun, err := s.Begin(t.Context(), numbered(op, i))
				if !assert.NoError(t, err) || !assert.NotNil(t, begun.Ticket) {
					return
				}
				out := metering.Outcome{At: op.Now, Reply: &metering.Reply{Body: make([]byte, 100)}}
				if _, err := s.Settle(t.Context(), *begun.Ticket, out); err != nil {
					assert.NoError(t, s.Cancel(t.Context(), *begun.Ticket))
					mu.Lock()
					failed = append(failed, i)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return failed
}

// TestIndex lets replies go through heaps into the index, with failures and restarts on the way: each
// is found wherever it is, and what was never kept is not.
func TestIndex(t *testing.T) {
	clock := meteringtest.NewClock()
	path := filepath.Join(t.TempDir(), "diag.db")
	start := func() *Store {
		s, err := Open(t.Context(), path, Config{Plans: meteringtest.Plans(), Clock: clock.Now})
		require.NoError(t, err)
		s.index.size = 300
		return s
	}
	s := start()
	op := customer(t, s, clock)
	unkept := make(map[int]bool)
	verify := func(to int) {
		for i := range to + 1 {
			begun, err := s.Begin(t.Context(), numbered(at(op, clock), i))
			require.NoError(t, err)
			if i == to || unkept[i] {
				require.NotNil(t, begun.Ticket, i)
				require.NoError(t, s.Cancel(t.Context(), *begun.Ticket))
			} else {
				require.NotNil(t, begun.Replay, i)
				require.Equal(t, fmt.Sprint("req_", i), begun.Replay.RequestID)
			}
		}
	}
	require.Empty(t, settleNumbered(t, s, op, 0, 1000))
	require.Positive(t, count(t, s, "SELECT count(*) FROM reply_index"))
	require.Less(t, count(t, s, "SELECT count(*) FROM reply_index"), int64(1000), "the last are in the heap")
	verify(1000)

	pages := count(t, s, "PRAGMA page_count")
	limitPages(t, s, pages+1)
	for _, i := range settleNumbered(t, s, op, 1000, 1400) {
		unkept[i] = true
	}
	limitPages(t, s, 1<<20)
	require.NotEmpty(t, unkept)
	clock.Advance(5 * time.Hour) // another bucket
	require.Empty(t, settleNumbered(t, s, at(op, clock), 1400, 2000))
	last := 2000
	for ; len(s.index.order) == 0; last++ { // the writer is at rest between two calls
		require.Empty(t, settleNumbered(t, s, at(op, clock), last, last+1))
	}
	verify(last) // with a heap half written
	require.Empty(t, settleNumbered(t, s, at(op, clock), last, 2500))
	verify(2500)
	require.NoError(t, s.Close())

	s = start()
	verify(2500)
	require.Eventually(t, s.known.complete.Load, 10*time.Second, time.Millisecond)
	require.Equal(t, int64(2500-len(unkept)), s.known.count.Load())
	s.known.giveUp()
	verify(2500)

	for _, wait := range []time.Duration{20 * time.Hour, 10 * time.Hour} {
		clock.Advance(wait) // past the first 1400, then past the rest
		sweepAll(t, s)
	}
	require.Zero(t, count(t, s, "SELECT count(*) FROM replies"))
	require.Zero(t, count(t, s, "SELECT count(*) FROM reply_index"))
	for i := range 2500 {
		unkept[i] = true
	}
	verify(2500)
	require.NoError(t, s.Close())

	// Ids go on where they were, although nothing is left of them.
	s = start()
	require.Empty(t, settleNumbered(t, s, at(op, clock), 3000, 3010))
	require.NoError(t, s.Close())
	s = start()
	begun, err := s.Begin(t.Context(), numbered(at(op, clock), 3000))
	require.NoError(t, err)
	require.NotNil(t, begun.Replay)
	require.NoError(t, s.Close())
}

// TestTagCollision keeps replies whose claims share a tag: a chance of one in 2^64, or a client with
// much time. The row tells them apart, in the heap and in the table.
func TestTagCollision(t *testing.T) {
	s, clock := opened(t)
	s.index.size = 3
	op := customer(t, s, clock)
	claim := func(number byte) metering.Op {
		op := op
		op.RequestID = fmt.Sprint("req_", number)
		op.Idempotency, op.Fingerprint = &[32]byte{8: number}, &[32]byte{}
		return op
	}
	require.Equal(t, tagOf(op.Key, [32]byte{8: 1}), tagOf(op.Key, [32]byte{8: 2}))
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
	require.Positive(t, count(t, s, "SELECT count(*) FROM reply_index"))
}

func sweepAll(t *testing.T, s *Store) {
	for {
		n, err := s.sweepReplies()
		require.NoError(t, err)
		if n == 0 {
			break
		}
	}
	for {
		more, err := s.sweepIndex()
		require.NoError(t, err)
		if !more {
			return
		}
	}
}

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
