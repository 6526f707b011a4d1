package sqlite

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
)

// opened is a store on a file of its own, and its clock.
func opened(t *testing.T) (*Store, *meteringtest.Clock) {
	clock := meteringtest.NewClock()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "diag.db"),
		Config{Plans: meteringtest.Plans(), Clock: clock.Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, clock
}

// TestStoreBeyondKnown is the suite without the proof of absence that memory gives.
func TestStoreBeyondKnown(t *testing.T) {
	meteringtest.TestStore(t, func(t *testing.T, clock *meteringtest.Clock) metering.Store {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "diag.db"),
			Config{Plans: meteringtest.Plans(), Clock: clock.Now})
		require.NoError(t, err)
		s.known.giveUp()
		return s
	})
}

// customer creates an account with a key.
func customer(t *testing.T, s *Store, clock *meteringtest.Clock) metering.Op {
	op := metering.Op{Account: "acc_a", Key: "key_a", Endpoint: "POST /x", Credits: 1}
	require.NoError(t, s.PutAccount(t.Context(), metering.Account{ID: op.Account, Plan: meteringtest.Large}))
	require.NoError(t, s.PutKeys(t.Context(), metering.Key{ID: op.Key, Account: op.Account}))
	return at(op, clock)
}

func at(op metering.Op, clock *meteringtest.Clock) metering.Op {
	op.Now = clock.Now()
	op.Lease = op.Now.Add(time.Minute)
	return op
}

// charge begins and settles with a reply, under an idempotency key with a number.
func charge(t *testing.T, s *Store, op metering.Op, number byte, body []byte) error {
	op.RequestID = fmt.Sprint("req_", number)
	op.Idempotency, op.Fingerprint = &[32]byte{number}, &[32]byte{}
	begun, err := s.Begin(t.Context(), op)
	if err != nil {
		return err
	}
	if begun.Replay != nil {
		return fmt.Errorf("replay of %s", begun.Replay.RequestID)
	}
	_, err = s.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: op.Now, Reply: &metering.Reply{Body: body}})
	return err
}

// count returns the single number that a query selects.
func count(t *testing.T, s *Store, sql string) (n int64) {
	require.NoError(t, s.read(t.Context(), func(conn *sqlite.Conn) error {
		return rows(conn, sql, nil, func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt64(0); return nil })
	}))
	return n
}

// limitPages fills the disk, or makes room.
func limitPages(t *testing.T, s *Store, pages int64) {
	require.NoError(t, s.administer(func(w *writer) error {
		return sqlitex.ExecuteTransient(w.conn, fmt.Sprintf("PRAGMA max_page_count = %d", pages), nil)
	}, nil))
}

func TestDiskFull(t *testing.T) {
	s, clock := opened(t)
	op := customer(t, s, clock)
	require.NoError(t, charge(t, s, op, 1, nil))

	limitPages(t, s, count(t, s, "PRAGMA page_count"))

	// The first needs more room than there is, and takes down whoever shares its transaction.
	fullOp := op
	fullOp.Idempotency, fullOp.Fingerprint = &[32]byte{2}, &[32]byte{}
	fullOp.Endpoint = "POST /never/seen/before" // its number must not be remembered
	begun, err := s.Begin(t.Context(), fullOp)
	require.NoError(t, err)
	out := metering.Outcome{At: op.Now, Reply: &metering.Reply{Body: make([]byte, 1<<20)}}
	_, err = s.Settle(t.Context(), *begun.Ticket, out)
	require.Equal(t, sqlite.ResultFull, sqlite.ErrCode(err).ToPrimary(), "%v", err)
	require.NotErrorIs(t, err, metering.ErrLapsed)
	b, err := s.Balance(t.Context(), op.Account, metering.PeriodOf(op.Now))
	require.NoError(t, err)
	require.Equal(t, [2]int64{1, 1}, [2]int64{b.Used, b.Held}, "still held, not charged")
	require.ErrorIs(t, charge(t, s, op, 2, nil), metering.ErrInFlight)

	// When there is room again, the same ticket can be settled.
	limitPages(t, s, 1<<20)
	balance, err := s.Settle(t.Context(), *begun.Ticket, out)
	require.NoError(t, err)
	require.Equal(t, int64(2), balance.Used)
	require.ErrorContains(t, charge(t, s, op, 2, nil), "replay")
	audit, err := s.Audit(t.Context())
	require.NoError(t, err)
	require.Equal(t, metering.Audit{Accounts: 1, Entries: 2, Credits: 2}, audit)
}

func TestRefusedActHarmsNobody(t *testing.T) {
	s, clock := opened(t)
	op := customer(t, s, clock)
	var charged atomic.Int64
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			if i%2 == 0 {
				op := op
				begun, err := s.Begin(t.Context(), op)
				if assert.NoError(t, err) {
					_, err = s.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: op.Now})
					assert.NoError(t, err)
					charged.Add(1)
				}
				return
			}
			stale := metering.Key{ID: "key_a", Account: "acc_a", Version: 9}
			fresh := metering.Key{ID: metering.KeyID(fmt.Sprint("key_", i)), Account: "acc_a", Hash: [32]byte{1, byte(i)}}
			assert.ErrorIs(t, s.PutKeys(t.Context(), fresh, stale), metering.ErrVersion)
		})
	}
	wg.Wait()
	require.Equal(t, charged.Load(), count(t, s, "SELECT count(*) FROM ledger"))
	require.Equal(t, int64(1), count(t, s, "SELECT count(*) FROM keys"))
	require.Equal(t, int64(2), count(t, s, "SELECT count(*) FROM changes"))
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
	require.Empty(t, settleNumbered(t, s, at(op, clock), 1400, 2500))
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
	require.Empty(t, settleNumbered(t, s, at(op, clock), 3000, 3700))
	begun, err := s.Begin(t.Context(), numbered(at(op, clock), 3000))
	require.NoError(t, err)
	require.NotNil(t, begun.Replay)
	require.NoError(t, s.Close())
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

func TestFileModes(t *testing.T) {
	s, clock := opened(t)
	require.NoError(t, charge(t, s, customer(t, s, clock), 1, nil))
	var path string
	require.NoError(t, s.read(t.Context(), func(conn *sqlite.Conn) error {
		return rows(conn, "SELECT file FROM pragma_database_list", nil,
			func(stmt *sqlite.Stmt) error { path = stmt.ColumnText(0); return nil })
	}))
	var names []string
	require.NoError(t, filepath.WalkDir(filepath.Dir(path), func(path string, d fs.DirEntry, err error) error {
		if d.Type().IsRegular() {
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), path)
			names = append(names, d.Name())
		}
		return err
	}))
	require.ElementsMatch(t, []string{"diag.db", "diag.db-wal", "diag.db-shm", "diag.db-lock", "diag.db-lock-journal"}, names)
}

func TestMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "diag.db")
	from, to, err := Migrate(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, [2]int{0, SchemaVersion}, [2]int{from, to})
	from, to, err = Migrate(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, [2]int{SchemaVersion, SchemaVersion}, [2]int{from, to}, "nothing left to do")

	conn, err := open(path)
	require.NoError(t, err)
	require.NoError(t, pragmas(conn, fmt.Sprintf("user_version = %d", SchemaVersion+1)))
	require.NoError(t, conn.Close())
	_, _, err = Migrate(t.Context(), path)
	require.ErrorContains(t, err, "this program knows up to")
	_, err = Open(t.Context(), path, Config{})
	require.ErrorContains(t, err, "this program knows up to")

	text := filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o600))
	_, err = Open(t.Context(), text, Config{})
	require.Equal(t, sqlite.ResultNotADB, sqlite.ErrCode(err).ToPrimary(), "%v", err)
	_, err = Open(t.Context(), "", Config{})
	require.Error(t, err)
	_, err = Open(t.Context(), filepath.Join(t.TempDir(), "none", "diag.db"), Config{})
	require.ErrorIs(t, err, fs.ErrNotExist)
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

func FuzzHeader(f *testing.F) {
	f.Add([]byte{})
	f.Add(appendHeader(nil, map[string]string{"Content-Type": "image/png", "X": ""}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{3, 'a'})
	f.Fuzz(func(t *testing.T, data []byte) {
		header, err := parseHeader(data)
		if err != nil {
			require.Nil(t, header)
			return
		}
		again, err := parseHeader(appendHeader(nil, header))
		require.NoError(t, err)
		require.Equal(t, header, again)
	})
}
