package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	zombiezen "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/hostedspftest"
	"github.com/diagkit/diagkit/mailauth/hostedspf/sqlite"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(crashPath); path != "" {
		fmt.Fprintln(os.Stderr, crashChild(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// file is a store that can be opened again.
type file struct {
	hostedspf.Store
	path  string
	clock *hostedspftest.Clock
}

func openFile(t *testing.T, path string, clock *hostedspftest.Clock) file {
	store, err := sqlite.Open(t.Context(), path, sqlite.Config{Clock: clock.Now})
	require.NoError(t, err)
	return file{store, path, clock}
}

// Reopen implements [hostedspftest.Reopener].
func (f file) Reopen(t *testing.T) hostedspf.Store {
	require.NoError(t, f.Close())
	return openFile(t, f.path, f.clock)
}

func TestStore(t *testing.T) {
	hostedspftest.TestStore(t, func(t *testing.T, clock *hostedspftest.Clock) hostedspf.Store {
		return openFile(t, filepath.Join(t.TempDir(), "diag.db"), clock)
	})
}

// example is a profile with every field set.
func example(n int) hostedspf.Profile {
	at := time.Date(2026, 1, 15, 12, 0, n, 123456000, time.UTC)
	host := fmt.Sprintf("h%d.spf.example.net", n)
	return hostedspf.Profile{
		ID: fmt.Sprintf("spf_%026d", n), Domain: diag.MustDomain("example.com"), Name: "Größe", Status: hostedspf.Failed,
		SourceRecord: "v=spf1 mx -all", FlattenedRecord: "v=spf1 ip4:192.0.2.1 -all", IncludeHost: diag.MustName(host),
		Records:       []hostedspf.Record{{Name: host, Value: "v=spf1 ip4:192.0.2.1 -all", LengthBytes: 25}},
		LookupsBefore: 1, LookupsAfter: 2, IP4Count: 3, IP6Count: 4, RecordHash: "abc", IntervalSeconds: 3600,
		LastResolvedAt: at.Add(1 * time.Second), LastChangedAt: at.Add(2 * time.Second),
		NextResolveAt: at.Add(3 * time.Second), LastError: "no answer", CreatedAt: at, UpdatedAt: at.Add(4 * time.Second),
		Owner: "key_a", Failures: 5, IsPaused: false,
	}
}

// Two stores on one file, as two processes have.
func two(t *testing.T) (a, b *sqlite.Store, clock *hostedspftest.Clock) {
	path, clock := filepath.Join(t.TempDir(), "diag.db"), hostedspftest.NewClock()
	var stores [2]*sqlite.Store
	for i := range stores {
		s, err := sqlite.Open(t.Context(), path, sqlite.Config{Clock: clock.Now})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		stores[i] = s
	}
	return stores[0], stores[1], clock
}

// What one process writes, another reads, with every field as it was.
func TestTwoProcesses(t *testing.T) {
	a, b, clock := two(t)
	before, err := b.Version(t.Context())
	require.NoError(t, err)
	p := example(1)
	require.NoError(t, a.Create(t.Context(), p))
	got, err := b.Profile(t.Context(), p.ID)
	require.NoError(t, err)
	require.Equal(t, p, got)
	after, err := b.Version(t.Context())
	require.NoError(t, err)
	require.Greater(t, after, before, "it rises")

	claim, err := a.Claim(t.Context(), p.ID, time.Minute)
	require.NoError(t, err)
	_, err = b.Claim(t.Context(), p.ID, time.Minute)
	require.ErrorIs(t, err, hostedspf.ErrClaimed)
	clock.Advance(time.Minute)
	second, err := b.Claim(t.Context(), p.ID, time.Minute)
	require.NoError(t, err)
	require.Greater(t, second.Fence, claim.Fence)
	_, err = a.Finish(t.Context(), claim, hostedspf.Outcome{})
	require.ErrorIs(t, err, hostedspf.ErrLapsed)
	require.NoError(t, a.Release(t.Context(), claim), "releasing what has lapsed frees nothing")
	_, err = a.Claim(t.Context(), p.ID, time.Minute)
	require.ErrorIs(t, err, hostedspf.ErrClaimed)
}

// Sixty-four claims on two processes: one wins, again and again.
func TestClaimsOfTwoProcesses(t *testing.T) {
	a, b, _ := two(t)
	require.NoError(t, a.Create(t.Context(), example(1)))
	for range 5 {
		var wg sync.WaitGroup
		won := make(chan hostedspf.Claim, 64)
		for i := range 64 {
			store := []*sqlite.Store{a, b}[i%2]
			wg.Go(func() {
				claim, err := store.Claim(t.Context(), example(1).ID, time.Minute)
				if err == nil {
					won <- claim
					return
				}
				assert.ErrorIs(t, err, hostedspf.ErrClaimed)
			})
		}
		wg.Wait()
		require.Len(t, won, 1)
		require.NoError(t, b.Release(t.Context(), <-won))
	}
}

// A long history is removed in several transactions, and by the next process if one does not get so far.
func TestRemoveLongHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "diag.db")
	store, err := sqlite.Open(t.Context(), path, sqlite.Config{})
	require.NoError(t, err)
	p := example(1)
	require.NoError(t, store.Create(t.Context(), p))
	require.NoError(t, store.Create(t.Context(), example(2)))
	execute(t, path, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1300)
		INSERT INTO spf_resolutions SELECT i, '`+p.ID+`', i, 'res_' || i, 'manual', 'failed', 1, 1, '[]', '[]', 0, 0, 0, 0,
			'', 'x' FROM n`)
	_, err = store.Claim(t.Context(), p.ID, time.Minute)
	require.NoError(t, err)
	q := hostedspf.HistoryQuery{ProfileID: p.ID, Limit: 2}
	list, err := store.Resolutions(t.Context(), q)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.NoError(t, store.Remove(t.Context(), p.ID))
	require.Zero(t, count(t, path, "spf_resolutions")+count(t, path, "spf_removed")+count(t, path, "spf_claims"))
	require.Equal(t, 1, count(t, path, "spf_profiles"))

	// As if a process had died after the first transaction.
	execute(t, path, `INSERT INTO spf_removed VALUES ('`+p.ID+`')`)
	execute(t, path, `INSERT INTO spf_resolutions
		VALUES (1, '`+p.ID+`', 1, 'res_1', 'manual', 'failed', 1, 1, '[]', '[]', 0, 0, 0, 0, '', 'x')`)
	list, err = store.Resolutions(t.Context(), q)
	require.NoError(t, err)
	require.Empty(t, list)
	require.NoError(t, store.Close())
	store, err = sqlite.Open(t.Context(), path, sqlite.Config{})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.Zero(t, count(t, path, "spf_resolutions")+count(t, path, "spf_removed"))
}

func execute(t *testing.T, path, script string) {
	t.Helper()
	conn, err := zombiezen.OpenConn(path, zombiezen.OpenReadWrite)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, sqlitex.ExecuteScript(conn, script, nil))
}

func count(t *testing.T, path, table string) (n int) {
	t.Helper()
	conn, err := zombiezen.OpenConn(path, zombiezen.OpenReadWrite)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, sqlitex.ExecuteTransient(conn, "SELECT count(*) FROM "+table, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *zombiezen.Stmt) error { n = stmt.ColumnInt(0); return nil },
	}))
	return n
}

func TestMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "diag.db")
	from, to, err := sqlite.Migrate(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, []int{0, sqlite.SchemaVersion}, []int{from, to})
	from, _, err = sqlite.Migrate(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, sqlite.SchemaVersion, from)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	execute(t, path, "ALTER TABLE spf_profiles DROP COLUMN parts; UPDATE spf_state SET layout = 1")
	from, to, err = sqlite.Migrate(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, []int{from, to})

	execute(t, path, "UPDATE spf_state SET layout = 99")
	_, _, err = sqlite.Migrate(t.Context(), path)
	require.ErrorContains(t, err, "migrating hosted SPF: the file has layout 99, this program knows up to 2")
	_, err = sqlite.Open(t.Context(), path, sqlite.Config{})
	require.ErrorContains(t, err, path)
	_, err = sqlite.Open(t.Context(), "", sqlite.Config{})
	require.ErrorContains(t, err, "no path")
	_, err = sqlite.Open(t.Context(), filepath.Join(path, "below"), sqlite.Config{})
	require.Error(t, err)
}

// A refused or panicking change leaves no trace, and the store keeps working.
func TestUpdateThatFails(t *testing.T) {
	a, b, _ := two(t)
	require.NoError(t, a.Create(t.Context(), example(1)))
	refusal := errors.New("no")
	_, err := a.Update(t.Context(), example(1).ID, func(p *hostedspf.Profile) error { p.Name = "x"; return refusal })
	require.Equal(t, refusal, err)
	require.Panics(t, func() {
		a.Update(t.Context(), example(1).ID, func(p *hostedspf.Profile) error { p.Name = "y"; panic("oh") })
	})
	for _, store := range []*sqlite.Store{a, b} {
		p, err := store.Profile(t.Context(), example(1).ID)
		require.NoError(t, err)
		require.Equal(t, example(1), p)
		_, err = store.Update(t.Context(), p.ID, func(*hostedspf.Profile) error { return nil })
		require.NoError(t, err, "nobody is left waiting")
	}
}

// While another process writes, a call waits as long as its context, and no longer.
func TestWaitsForItsTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "diag.db")
	store, err := sqlite.Open(t.Context(), path, sqlite.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	other, err := zombiezen.OpenConn(path, zombiezen.OpenReadWrite)
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, sqlitex.ExecuteTransient(other, "BEGIN IMMEDIATE", nil))

	done := make(chan error, 1)
	go func() { done <- store.Create(t.Context(), example(1)) }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, store.Create(ctx, example(2)), ctx.Err())
	require.NoError(t, sqlitex.ExecuteTransient(other, "COMMIT", nil))
	require.NoError(t, <-done)
	page, err := store.Profiles(t.Context(), hostedspf.ProfileQuery{Owner: hostedspf.AnyOwner, Limit: 9})
	require.NoError(t, err)
	require.Equal(t, []hostedspf.Profile{example(1)}, page.Profiles)
}

// So does a migration: a file that has no tables of hosted SPF yet may belong to a busy ledger.
func TestMigrationWaitsForItsTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "diag.db")
	other, err := zombiezen.OpenConn(path, zombiezen.OpenReadWrite, zombiezen.OpenCreate, zombiezen.OpenWAL)
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, sqlitex.ExecuteScript(other, "CREATE TABLE ledger (seq INTEGER PRIMARY KEY)", nil))
	require.NoError(t, sqlitex.ExecuteTransient(other, "BEGIN IMMEDIATE", nil))

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, _, err = sqlite.Migrate(ctx, path)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), time.Minute, "no longer than its context")

	require.NoError(t, sqlitex.ExecuteTransient(other, "COMMIT", nil))
	_, to, err := sqlite.Migrate(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, sqlite.SchemaVersion, to)
}

// Profiles that were created at the same instant are all listed, once, and a paused one is never due.
func TestSameInstant(t *testing.T) {
	store, _, clock := two(t)
	want := []hostedspf.Profile{}
	for n := range 5 {
		p := example(n)
		p.CreatedAt, p.IsPaused = example(0).CreatedAt, n > 0
		require.NoError(t, store.Create(t.Context(), p))
		want = append(want, p)
	}
	got := []hostedspf.Profile{}
	q := hostedspf.ProfileQuery{Owner: "key_a", Domain: want[0].Domain, Limit: 2}
	for range 3 {
		page, err := store.Profiles(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, 5, page.Total)
		got = append(got, page.Profiles...)
		q.After = hostedspf.Position{Time: got[len(got)-1].CreatedAt, ID: got[len(got)-1].ID}
	}
	require.Equal(t, want, got)
	due, err := store.Due(t.Context(), clock.Now().Add(time.Hour), 9)
	require.NoError(t, err)
	require.Equal(t, []hostedspf.Due{{ID: want[0].ID, At: want[0].NextResolveAt}}, due)
}

// Damage of the file is reported, and never mistaken for an empty list.
func TestDamage(t *testing.T) {
	for _, script := range []string{
		"UPDATE spf_profiles SET records = '['", "UPDATE spf_profiles SET domain = '..'",
		"UPDATE spf_profiles SET include_host = '..'", "DROP TABLE spf_profiles",
	} {
		path := filepath.Join(t.TempDir(), "diag.db")
		store, err := sqlite.Open(t.Context(), path, sqlite.Config{})
		require.NoError(t, err)
		require.NoError(t, store.Create(t.Context(), example(1)))
		execute(t, path, script)
		_, err = store.Profiles(t.Context(), hostedspf.ProfileQuery{Owner: "key_a", Limit: 9})
		require.Error(t, err, script)
		_, err = store.Profile(t.Context(), example(1).ID)
		require.Error(t, err, script)
		require.NotErrorIs(t, err, hostedspf.ErrNotFound)
		require.NoError(t, store.Close())
	}
}
