package sqlite

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

// block takes the right to write away from a store, as another process may, until the function that it
// returns is called.
func block(t *testing.T, s *Store) (release func()) {
	require.Eventually(t, s.known.complete.Load, time.Minute, time.Millisecond, "nothing else is to be written")
	conn, err := sqlite.OpenConn(s.file.Path(), sqlite.OpenReadWrite)
	require.NoError(t, err)
	require.NoError(t, sqlitedb.Exec(conn, "BEGIN IMMEDIATE", nil))
	return func() {
		require.NoError(t, sqlitedb.Exec(conn, "ROLLBACK", nil))
		require.NoError(t, conn.Close())
	}
}

// begun is a ticket under an idempotency key with a number.
func begun(t *testing.T, s *Store, op metering.Op, number byte) metering.Ticket {
	op.RequestID = string('a' + rune(number))
	op.Idempotency, op.Fingerprint = &[32]byte{number}, &[32]byte{}
	b, err := s.Begin(t.Context(), op)
	require.NoError(t, err)
	require.NotNil(t, b.Ticket)
	return *b.Ticket
}

// writerBusy returns a function that waits until the writer has taken what comes next.
func writerBusy(t *testing.T, s *Store) (wait func()) {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	s.queue.usual = 0 // until the next batch is cut off
	return queueIs(t, s, func(q *queue) bool { return q.usual > 0 })
}

// queueIs returns a function that waits for a state of the queue.
func queueIs(t *testing.T, s *Store, state func(*queue) bool) (wait func()) {
	return func() {
		require.Eventually(t, func() bool {
			s.queue.mu.Lock()
			defer s.queue.mu.Unlock()
			return state(&s.queue)
		}, time.Minute, time.Millisecond)
	}
}

// expiring is a context whose deadline is met when done is closed.
type expiring struct {
	context.Context
	done chan struct{}
}

func (c expiring) Done() <-chan struct{} { return c.done }

func (c expiring) Err() error {
	select {
	case <-c.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestSlowDisk settles while another process holds a lock on the file. No caller waits longer than its context; the
// charge that was being written is made in the end, and the one that still waited is not.
func TestSlowDisk(t *testing.T) {
	s, clock := opened(t)
	op := customer(t, s, clock)
	writing, waiting := begun(t, s, op, 1), begun(t, s, op, 2)
	out := metering.Outcome{At: op.Now, Reply: &metering.Reply{Body: []byte("paid")}}
	release := block(t, s)
	busy := writerBusy(t, s)
	settle := func(ticket metering.Ticket, wait func()) {
		ctx := expiring{t.Context(), make(chan struct{})}
		done := make(chan error)
		go func() {
			_, err := s.Settle(ctx, ticket, out)
			done <- err
		}()
		wait()
		close(ctx.done)
		err := <-done
		require.ErrorIs(t, err, metering.ErrUnavailable)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	settle(writing, busy)
	settle(waiting, queueIs(t, s, func(q *queue) bool { return q.waiting == 1 }))
	require.ErrorIs(t, s.Health(), metering.ErrUnavailable)
	_, err := s.Begin(t.Context(), op)
	require.ErrorIs(t, err, metering.ErrUnavailable, "refused before anything runs")
	require.NoError(t, s.Cancel(t.Context(), writing), "which is not heeded")
	require.NoError(t, s.Cancel(t.Context(), waiting))
	release()
	s.probe(t.Context())
	require.NoError(t, s.Health())

	require.Eventually(t, func() bool { return strings.Contains(fmt.Sprint(charge(t, s, op, 1, nil)), "replay") },
		time.Minute, time.Millisecond)
	require.NoError(t, charge(t, s, op, 2, nil), "it was never charged")
	audit, err := s.Audit(t.Context())
	require.NoError(t, err)
	require.Equal(t, metering.Audit{Accounts: 1, Entries: 2, Credits: 2}, audit)
}

// TestCancelledWait gives up a charge that waits for the writer, for reasons of the caller's own.
func TestCancelledWait(t *testing.T) {
	s, clock := opened(t)
	op := customer(t, s, clock)
	first, second := begun(t, s, op, 1), begun(t, s, op, 2)
	release := block(t, s)
	busy := writerBusy(t, s)
	done := make(chan error)
	go func() {
		_, err := s.Settle(t.Context(), first, metering.Outcome{At: op.Now})
		done <- err
	}()
	busy()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err := s.Settle(ctx, second, metering.Outcome{At: op.Now})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, metering.ErrUnavailable)
	require.NoError(t, s.Health())
	release()
	require.NoError(t, <-done)
	_, err = s.Settle(t.Context(), second, metering.Outcome{At: op.Now})
	require.NoError(t, err, "the ticket is as good as before")
	require.Equal(t, int64(2), count(t, s, "SELECT count(*) FROM ledger"))
}

// TestFileRemoved takes the file away from under a store: nothing is acknowledged any more.
func TestFileRemoved(t *testing.T) {
	for _, suffix := range []string{"", "-wal"} {
		s, clock := opened(t)
		op := customer(t, s, clock)
		ticket := begun(t, s, op, 1)
		require.NoError(t, os.Remove(s.file.Path()+suffix))
		_, err := s.Settle(t.Context(), ticket, metering.Outcome{At: op.Now})
		require.ErrorIs(t, err, metering.ErrUnavailable)
		require.ErrorIs(t, err, sqlitedb.ErrReplaced)

		s.health.clear()
		s.probe(t.Context()) // detects it without a charge
		require.ErrorIs(t, s.Health(), sqlitedb.ErrReplaced)
		s.probe(t.Context()) // and continues to do so
		_, err = s.Begin(t.Context(), op)
		require.ErrorIs(t, err, metering.ErrUnavailable)
	}
}

// TestProbe breaks each table that a charge writes, one after another: the store reports it before a charge fails, and
// recovers when the table is restored. No row is left behind.
func TestProbe(t *testing.T) {
	s, clock := opened(t)
	op := customer(t, s, clock)
	require.NoError(t, charge(t, s, op, 1, []byte("paid")))
	tables := []string{"ledger", "ledger_blocks", "balances", "key_uses", "replies"}
	rows := func() (counts []int64) {
		for _, table := range tables {
			counts = append(counts, count(t, s, "SELECT count(*) FROM "+table))
		}
		return counts
	}
	before, log := rows(), logSize(t, s)
	s.probe(t.Context())
	require.NoError(t, s.Health())
	require.Equal(t, log, logSize(t, s), "nothing reaches the disk")
	for _, table := range tables {
		administer(t, s, "CREATE TRIGGER broken BEFORE INSERT ON "+table+" BEGIN SELECT raise(ABORT, 'broken'); END")
		s.probe(t.Context())
		require.ErrorIs(t, s.Health(), metering.ErrUnavailable, table)
		require.ErrorContains(t, s.Health(), "broken")
		administer(t, s, "DROP TRIGGER broken")
		s.probe(t.Context())
		require.NoError(t, s.Health(), table)
	}
	require.Equal(t, before, rows())
}

// A store that cannot write refuses new requests, and continues to replay.
func TestReplayWithoutWrites(t *testing.T) {
	s, clock := opened(t)
	op := customer(t, s, clock)
	require.NoError(t, charge(t, s, op, 1, []byte("paid")))
	s.health.set(metering.ErrUnavailable)
	require.ErrorContains(t, charge(t, s, op, 1, nil), "replay")
	require.ErrorIs(t, charge(t, s, op, 2, nil), metering.ErrUnavailable)
	other := at(op, clock)
	other.Idempotency, other.Fingerprint = &[32]byte{1}, &[32]byte{9}
	_, err := s.Begin(t.Context(), other)
	require.ErrorIs(t, err, metering.ErrMismatch)
	clock.Advance(metering.ReplayWindow)
	require.ErrorIs(t, charge(t, s, at(op, clock), 1, nil), metering.ErrUnavailable, "it is no longer kept")
}

func administer(t *testing.T, s *Store, sql string) {
	require.NoError(t, s.administer(t.Context(), func(w *writer) error { return sqlitedb.Exec(w.conn, sql, nil) }, nil))
}

func logSize(t *testing.T, s *Store) int64 {
	info, err := os.Stat(s.file.Path() + "-wal")
	require.NoError(t, err)
	return info.Size()
}

// TestMigrateReplies brings a file of the first layout up to date: its kept replies are replayed, and count.
func TestMigrateReplies(t *testing.T) {
	clock := meteringtest.NewClock()
	path := filepath.Join(t.TempDir(), "diag.db")
	old := layout
	old.Steps = old.Steps[:1]
	_, _, err := old.MigrateFile(t.Context(), path)
	require.NoError(t, err)
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	require.NoError(t, sqlitedb.Exec(conn, "INSERT INTO names VALUES (7, 'key_a')", nil))
	require.NoError(t, sqlitedb.Exec(conn, `INSERT INTO replies (tag, expires, key, status, form, hash, fingerprint,
		request, header, body) VALUES (?1, ?2, 7, 200, 0, ?3, ?4, 'req_old', x'', x'70616964')`,
		func(stmt *sqlite.Stmt) {
			h := fnv.New64a()
			h.Write([]byte("key_a"))
			stmt.BindInt64(1, int64(h.Sum64()^1)) // what the tag was then, of the hash 01 00 …
			stmt.BindInt64(2, micros(clock.Now().Add(time.Hour)))
			stmt.BindBytes(3, append([]byte{1}, make([]byte, 31)...))
			stmt.BindBytes(4, make([]byte, 32))
		}))
	require.NoError(t, conn.Close())

	s, err := Open(t.Context(), path, Config{Plans: meteringtest.Plans(), Clock: clock.Now})
	require.NoError(t, err)
	defer s.Close()
	op := customer(t, s, clock)
	require.ErrorContains(t, charge(t, s, op, 1, nil), "replay of req_old")
	require.Equal(t, int64(4), count(t, s, "SELECT sum(bytes) FROM replies"))
	require.NoError(t, charge(t, s, op, 2, nil))
}
