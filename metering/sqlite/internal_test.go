package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

// opened returns a store on a separate file, and its clock.
func opened(t *testing.T) (*Store, *meteringtest.Clock) {
	clock := meteringtest.NewClock()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "diag.db"),
		Config{Plans: meteringtest.Plans(), Clock: clock.Now, pause: time.Hour}) // no periodic writes
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, clock
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
		return sqlitedb.Rows(conn, sql, nil, func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt64(0); return nil })
	}))
	return n
}

// limitPages fills the disk, or frees space.
func limitPages(t *testing.T, s *Store, pages int64) {
	require.NoError(t, s.administer(t.Context(), func(w *writer) error {
		return sqlitex.ExecuteTransient(w.conn, fmt.Sprintf("PRAGMA max_page_count = %d", pages), nil)
	}, nil))
}

func TestDiskFull(t *testing.T) {
	s, clock := opened(t)
	op := customer(t, s, clock)
	require.NoError(t, charge(t, s, op, 1, nil))

	limitPages(t, s, count(t, s, "PRAGMA page_count"))

	// The first needs more space than there is, and fails all jobs in its transaction.
	fullOp := op
	fullOp.Idempotency, fullOp.Fingerprint = &[32]byte{2}, &[32]byte{}
	fullOp.Endpoint = "POST /never/seen/before" // its number must not be remembered
	begun, err := s.Begin(t.Context(), fullOp)
	require.NoError(t, err)
	out := metering.Outcome{At: op.Now, Reply: &metering.Reply{Body: make([]byte, 1<<20)}}
	_, err = s.Settle(t.Context(), *begun.Ticket, out)
	require.Equal(t, sqlite.ResultFull, sqlite.ErrCode(err).ToPrimary(), "%v", err)
	require.ErrorIs(t, err, metering.ErrUnavailable)
	require.NotErrorIs(t, err, metering.ErrLapsed)
	b, err := s.Balance(t.Context(), op.Account, metering.PeriodOf(op.Now))
	require.NoError(t, err)
	require.Equal(t, [2]int64{1, 1}, [2]int64{b.Used, b.Held}, "still held, not charged")

	// From now on requests are refused before they run, until a write succeeds.
	require.ErrorIs(t, s.Health(), metering.ErrUnavailable)
	require.ErrorIs(t, charge(t, s, op, 2, nil), metering.ErrUnavailable)
	limitPages(t, s, 1<<20)
	s.probe(t.Context())
	require.NoError(t, s.Health())
	require.ErrorIs(t, charge(t, s, op, 2, nil), metering.ErrInFlight)

	// Now that there is space again, the same ticket can be settled.
	balance, err := s.Settle(t.Context(), *begun.Ticket, out)
	require.NoError(t, err)
	require.Equal(t, int64(2), balance.Used)
	require.ErrorContains(t, charge(t, s, op, 2, nil), "replay")
	audit, err := s.Audit(t.Context())
	require.NoError(t, err)
	require.Equal(t, metering.Audit{Accounts: 1, Entries: 2, Credits: 2}, audit)
	var endpoints []string
	for e, err := range s.Entries(t.Context(), metering.EntryFilter{}) {
		require.NoError(t, err)
		endpoints = append(endpoints, e.Endpoint)
	}
	require.Equal(t, []string{"POST /x", fullOp.Endpoint}, endpoints)
}

// TestFailedFirstCharge lets the very first charge of an account fail: what the writer had noted of
// the account is noted again by the next.
func TestFailedFirstCharge(t *testing.T) {
	s, clock := opened(t)
	op := customer(t, s, clock)
	limitPages(t, s, count(t, s, "PRAGMA page_count"))
	require.ErrorIs(t, charge(t, s, op, 1, make([]byte, 1<<20)), metering.ErrUnavailable)
	limitPages(t, s, 1<<20)
	s.probe(t.Context())
	require.NoError(t, charge(t, s, op, 2, nil))
	found := 0
	for e, err := range s.Entries(t.Context(), metering.EntryFilter{Account: op.Account}) {
		require.NoError(t, err)
		require.Equal(t, "req_2", e.RequestID)
		found++
	}
	require.Equal(t, 1, found)
	k, err := s.Key(t.Context(), op.Key)
	require.NoError(t, err)
	require.Equal(t, op.Now, *k.LastUsedAt)
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
			fresh := metering.Key{ID: metering.KeyID(fmt.Sprint("key_", i)), Account: "acc_a"}
			fresh.Hash = [32]byte{1, byte(i)}
			assert.ErrorIs(t, s.PutKeys(t.Context(), fresh, stale), metering.ErrVersion)
		})
	}
	wg.Wait()
	require.Equal(t, charged.Load(), count(t, s, "SELECT count(*) FROM ledger"))
	require.Equal(t, int64(1), count(t, s, "SELECT count(*) FROM keys"))
	require.Equal(t, int64(2), count(t, s, "SELECT count(*) FROM changes"))
}

// TestJoinedShareTheEnd lets a charge join the transaction of an act. Whether it is committed or fails in the joined
// part, both callers get the outcome, and a failed job leaves nothing behind.
func TestJoinedShareTheEnd(t *testing.T) {
	s, clock := opened(t)
	op := customer(t, s, clock)
	broken := errors.New("the disk is gone")
	for _, want := range []error{nil, broken, nil} {
		var joined *batch
		err := s.administer(t.Context(), func(w *writer) error {
			s.queue.mu.Lock()
			defer s.queue.mu.Unlock()
			j := &job{ticket: metering.Ticket{Op: op}, at: micros(op.Now)}
			j.settling.Credits, j.settling.Ceiling, j.settling.Period = 1, 9, metering.PeriodOf(op.Now)
			joined = s.queue.add(j)
			s.queue.add(&job{act: func(w *writer) error {
				if want != nil {
					return errors.Join(want, sqlitex.ExecuteTransient(w.conn, "ROLLBACK", nil))
				}
				return nil
			}})
			s.queue.signal()
			return w.change("", string(op.Account))
		}, nil)
		require.ErrorIs(t, err, want)
		<-joined.done
		for _, j := range joined.jobs {
			require.ErrorIs(t, j.err, want)
		}
	}
	require.Equal(t, int64(2), count(t, s, "SELECT count(*) FROM ledger"))
	require.Equal(t, int64(2+2), count(t, s, "SELECT count(*) FROM changes"), "two of the customer, two of the acts")
	audit, err := s.Audit(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(2), audit.Entries)
	require.Empty(t, audit.Faults)
}

// TestEntriesAreNotSorted checks the query plan of reading the ledger: what runs in its order stops after a page, what
// must be sorted reads all of an account for each page.
func TestEntriesAreNotSorted(t *testing.T) {
	s, clock := opened(t)
	period := metering.PeriodOf(clock.Now())
	behind := &metering.Entry{Seq: 5000}
	for _, c := range []struct {
		f    metering.EntryFilter
		last *metering.Entry
	}{
		{metering.EntryFilter{}, nil}, {metering.EntryFilter{}, behind},
		{metering.EntryFilter{Account: "acc_a"}, nil}, {metering.EntryFilter{Account: "acc_a"}, behind},
		{metering.EntryFilter{Account: "acc_a", Key: "key_a", Period: &period}, nil},
		{metering.EntryFilter{Newest: true}, nil}, {metering.EntryFilter{Newest: true}, behind},
		{metering.EntryFilter{Newest: true, Account: "acc_a"}, nil},
		{metering.EntryFilter{Newest: true, Account: "acc_a", Key: "key_a", Endpoint: "spf", Before: clock.Now()}, behind},
	} {
		f := c.f
		sql, args := entryQuery(f, c.last, pageEntries)
		inner := sql[strings.Index(sql, "(SELECT l.*")+1 : strings.Index(sql, ") l\n")]
		var plan []string
		require.NoError(t, s.read(t.Context(), func(conn *sqlite.Conn) error {
			return sqlitedb.Rows(conn, "EXPLAIN QUERY PLAN "+inner, sqlitedb.Args(args...),
				func(stmt *sqlite.Stmt) error { plan = append(plan, stmt.ColumnText(3)); return nil })
		}))
		require.NotContains(t, strings.Join(plan, "\n"), "TEMP B-TREE")
		if f.Account != "" {
			require.Contains(t, strings.Join(plan, "\n"), "SEARCH b USING PRIMARY KEY (account=? AND block>?")
		}
	}
}

// TestKeysAreNotSorted checks the same for the lists of keys.
func TestKeysAreNotSorted(t *testing.T) {
	s, clock := opened(t)
	for _, f := range []metering.KeyFilter{
		{}, {Newest: true}, {Text: "web", Offset: 7, Limit: 9}, {States: metering.KeyStates(), Newest: true},
	} {
		f.Account, f.At = "acc_a", clock.Now()
		behind := &metering.Key{ID: "key_a", CreatedAt: clock.Now()}
		pages := 0
		for range metering.KeyPages(f, dialect, func(end string, args ...any) ([]metering.Key, error) {
			var plan []string
			require.NoError(t, s.read(t.Context(), func(conn *sqlite.Conn) error {
				return sqlitedb.Rows(conn, "EXPLAIN QUERY PLAN "+keyColumns+end, sqlitedb.Args(args...),
					func(stmt *sqlite.Stmt) error { plan = append(plan, stmt.ColumnText(3)); return nil })
			}))
			require.NotContains(t, strings.Join(plan, "\n"), "TEMP B-TREE", "%+v", f)
			require.Contains(t, strings.Join(plan, "\n"), "USING INDEX keys_created", "%+v", f)
			pages++
			return slices.Repeat([]metering.Key{*behind}, max(0, 2-pages)*args[len(args)-2].(int)), nil // one whole page
		}) {
		}
		require.Equal(t, 2-min(f.Limit, 1), pages, "%+v: the first, and one behind it", f)
	}
}

// TestRecordsAreNotSorted checks the same for the lists of records.
func TestRecordsAreNotSorted(t *testing.T) {
	s, clock := opened(t)
	for _, f := range []metering.RecordFilter{
		{}, {Account: "acc_a"}, {Before: clock.Now()}, {DueBy: clock.Now()}, {DueBy: clock.Now(), Before: clock.Now()},
	} {
		for _, last := range []*metering.Record{nil, {}} {
			f.Kind = "note"
			sql, args := f.Query(last, 64)
			var plan []string
			require.NoError(t, s.read(t.Context(), func(conn *sqlite.Conn) error {
				return sqlitedb.Rows(conn, "EXPLAIN QUERY PLAN "+recordColumns+sql, sqlitedb.Args(args...),
					func(stmt *sqlite.Stmt) error { plan = append(plan, stmt.ColumnText(3)); return nil })
			}))
			require.NotContains(t, strings.Join(plan, "\n"), "TEMP B-TREE", "%+v", f)
			require.Contains(t, strings.Join(plan, "\n"), "USING INDEX records_", "%+v", f)
		}
	}
}

func TestFileModes(t *testing.T) {
	s, clock := opened(t)
	require.NoError(t, charge(t, s, customer(t, s, clock), 1, nil))
	var path string
	require.NoError(t, s.read(t.Context(), func(conn *sqlite.Conn) error {
		return sqlitedb.Rows(conn, "SELECT file FROM pragma_database_list", nil,
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
	want := []string{"diag.db", "diag.db-wal", "diag.db-shm"}
	require.ElementsMatch(t, want, names)
}

// TestWriterIsDurable queries SQLite itself: FULL is 2.
func TestWriterIsDurable(t *testing.T) {
	s, _ := opened(t)
	var mode string
	var synchronous int64
	require.NoError(t, s.administer(t.Context(), func(w *writer) error {
		err := sqlitedb.Rows(w.conn, "SELECT journal_mode, synchronous FROM pragma_journal_mode, pragma_synchronous", nil,
			func(stmt *sqlite.Stmt) error {
				mode, synchronous = stmt.ColumnText(0), stmt.ColumnInt64(1)
				return nil
			})
		return err
	}, nil))
	require.Equal(t, "wal", mode)
	require.Equal(t, int64(2), synchronous)
}

func TestMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "diag.db")
	from, to, err := Migrate(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, [2]int{0, SchemaVersion}, [2]int{from, to})
	from, to, err = Migrate(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, [2]int{SchemaVersion, SchemaVersion}, [2]int{from, to}, "nothing left to do")

	conn, err := sqlite.OpenConn(path)
	require.NoError(t, err)
	require.NoError(t, sqlitedb.Pragmas(conn, fmt.Sprintf("user_version = %d", SchemaVersion+1)))
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

// What another process changes must hold within two seconds (CONTRACT 4.3): looking for it leaves half of them to reading,
// whatever the machine.
func TestFollowPause(t *testing.T) {
	require.LessOrEqual(t, followPause, time.Second)
}
