//go:build !race || nightly

package main

// The race detector makes these many times slower, and their only concurrency is covered by other tests.

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/diagkit/diagkit/diag/diagtest"
	hostedsqlite "github.com/diagkit/diagkit/mailauth/hostedspf/sqlite"
	"github.com/diagkit/diagkit/metering/billing"
	metersqlite "github.com/diagkit/diagkit/metering/sqlite"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

// oldStores is the folder of stores of earlier commits. Its README.md describes them.
const oldStores = "testdata/stores"

// An oldStore is a store that diagd of an earlier commit has written, with what opens it.
type oldStore struct {
	name   string
	Commit string `json:"commit"`
	Layout struct {
		Store  int `json:"to_version"`
		Hosted int `json:"hosted_spf_to_version"`
	} `json:"layout"`
	Account string `json:"account"`
	Key     string `json:"key"`     // of the account
	Foreign string `json:"foreign"` // a key that only other networks may use
	Revoked string `json:"revoked"`
	Ended   string `json:"ended"`
	Reply   string `json:"reply"`   // the reply in November under the idempotency key november-1
	Session string `json:"session"` // the cookie of a member; empty if there were none yet
	Kept    string `json:"kept"`    // the page of a result, and that of a link that leads to it
	Share   string `json:"share"`
	said    []said
}

// said is the output of a command.
type said struct {
	Command []string `json:"command"`
	Said    any      `json:"said"`
}

// The first layouts that record what a charge was taken from, and that have the current chain.
var (
	partsSince = map[string]int{".db.gz": 4, ".sql.gz": 2}
	chainSince = map[string]int{".db.gz": 5, ".sql.gz": 3}
)

// forget reduces an output to what can still be known. Charges of earlier layouts do not record what was overage, and
// count as unproven, as diagd migrate says. The current plan of an account depends on the day, as does what a watch
// has spent in this month: usage reports the plans of months.
func (s oldStore) forget(command []string, said any, kind string) {
	v, _ := said.(map[string]any)
	switch command[0] {
	case "account", "watch":
		list, ok := said.([]any)
		if !ok {
			list = []any{said}
		}
		for _, one := range list {
			for _, field := range []string{"plan", "limit", "scheduled", "spent_credits"} {
				delete(one.(map[string]any), field)
			}
		}
	case "usage":
		if s.Layout.Store < partsSince[kind] {
			v["overage"] = 0.0
		}
	case "audit":
		if s.Layout.Store < chainSince[kind] {
			v["unproven_count"] = v["entries_count"]
		}
	}
}

// oldStoresOf reads all that there are of a kind, which is the ending of their files.
func oldStoresOf(t *testing.T, kind string) (list []oldStore) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(oldStores, "*"+kind))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		s := oldStore{name: strings.TrimSuffix(filepath.Base(name), kind)}
		data, err := os.ReadFile(filepath.Join(oldStores, s.name+".json"))
		require.NoError(t, err)
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, len(data)+1)
		require.True(t, lines.Scan())
		require.NoError(t, json.Unmarshal(lines.Bytes(), &s))
		for lines.Scan() {
			var one said
			require.NoError(t, json.Unmarshal(lines.Bytes(), &one))
			s.forget(one.Command, one.Said, kind)
			s.said = append(s.said, one)
		}
		list = append(list, s)
	}
	return list
}

// oldStoreOf is the store of a commit.
func oldStoreOf(t *testing.T, commit, kind string) oldStore {
	t.Helper()
	all := oldStoresOf(t, kind)
	i := slices.IndexFunc(all, func(s oldStore) bool { return s.Commit == commit })
	require.GreaterOrEqual(t, i, 0)
	return all[i]
}

// unpacked is a file of the folder without its compression.
func (s oldStore) unpacked(t *testing.T, kind string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join(oldStores, s.name+kind))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	data, err := io.ReadAll(z)
	require.NoError(t, err)
	return data
}

// copyTo puts a copy of a SQLite store into a folder, and returns its path and the flag that leads to it.
func (s oldStore) copyTo(t *testing.T, dir string) (path, flag string) {
	t.Helper()
	path = filepath.Join(dir, "diag.db")
	require.NoError(t, os.WriteFile(path, s.unpacked(t, ".db.gz"), 0o600))
	return path, "--store=sqlite:" + path
}

// migrated brings a store to the layout of today. It holds its plans from then on.
func (s oldStore) migrated(t *testing.T, store string) {
	t.Helper()
	moved := parsed[migrateView](t, "migrate", store, "--data="+oldStores)
	unproven := slices.Contains(moved.Unknown, "Charges from before are not proven by a chain.")
	assert.Equal(t, moved.From != moved.To, unproven)
	assert.Equal(t, s.Layout.Store, moved.From)
	assert.Equal(t, s.Layout.Hosted, moved.HostedFrom)
	again := parsed[migrateView](t, "migrate", store)
	assert.Equal(t, migrateView{moved.To, moved.To, moved.HostedTo, moved.HostedTo, []string{}}, again)
}

// lossless asserts that all earlier output is still there. Fields may have been added since.
func lossless(t *testing.T, where string, was, now any) {
	t.Helper()
	switch was := was.(type) {
	case map[string]any:
		now, ok := now.(map[string]any)
		require.True(t, ok, where)
		for field, value := range was {
			lossless(t, where+"."+field, value, now[field])
		}
	case []any:
		now, ok := now.([]any)
		if assert.True(t, ok, where) && assert.Len(t, now, len(was), where) {
			for i := range was {
				lossless(t, where+"["+strconv.Itoa(i)+"]", was[i], now[i])
			}
		}
	default:
		assert.Equal(t, was, now, where)
	}
}

// saysTheSame runs the commands of the earlier diagd again, and compares their output.
func (s oldStore) saysTheSame(t *testing.T, store string) {
	t.Helper()
	for _, one := range s.said {
		now := parsed[any](t, append(slices.Clone(one.Command), store)...)
		lossless(t, strings.Join(one.Command, " "), one.Said, now)
	}
}

// wasWritten is the time of the last phase of make.sh, at which the server of a test resumes.
var wasWritten = time.Date(2026, 11, 20, 8, 30, 0, 0, time.UTC)

// A store of any earlier layout is migrated to the current one in one step. Nothing of it is lost or reported
// differently, its audit finds nothing, and opening it once more changes nothing. A backup of it can be restored, and
// a server continues with it.
func TestUpgradeSQLite(t *testing.T) {
	for _, s := range oldStoresOf(t, ".db.gz") {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path, store := s.copyTo(t, dir)
			s.migrated(t, store)
			before, err := os.ReadFile(path)
			require.NoError(t, err)
			s.saysTheSame(t, store)
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, sha256.Sum256(before), sha256.Sum256(after), "opened again")

			copied, restored := filepath.Join(dir, "copy.db"), "--store=sqlite:"+filepath.Join(dir, "restored.db")
			assert.Empty(t, parsed[auditView](t, "backup", copied, store).Faults)
			assert.Empty(t, parsed[restoreView](t, "restore", copied, restored).Faults)
			s.saysTheSame(t, restored)
			require.NoError(t, os.WriteFile(copied, s.unpacked(t, ".db.gz"), 0o600))
			assert.Empty(t, parsed[restoreView](t, "restore", copied, restored).Faults, "an earlier backup")
			command(t, "migrate", restored, "--data="+oldStores)
			s.saysTheSame(t, restored)

			began := time.Now()
			a := &app{drain: drainTime, wall: func() time.Time { return wasWritten.Add(time.Since(began)) }}
			server := startApp(t, a, store, servePublished(t))
			s.goesOn(t, server, "2026-11", store)
			s.remembers(t, server)
			require.Equal(t, exitOK, server.wait())
			assertNoTrouble(t, server.log.String())
			if s.hasWatches() {
				command(t, "watch", "remove", "example.net", "--account", s.Account, store)
			}
			s.watches(t, store)
			s.bills(t, store)
		})
	}
}

// servePublished runs a resolver on loopback with the records that the domain of make.sh published.
func servePublished(t *testing.T) (flag string) {
	world := diagtest.NewWorld(t)
	world.Zone(`
		example.com.        MX  10 mx1.example.com.
		example.com.        TXT "v=spf1 ip4:192.0.2.0/24 -all"
		_dmarc.example.com. TXT "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"
		mx1.example.com.    A   127.0.0.1
	`)
	return serveWorld(t, world)
}

// goesOn calls a server as the holders of the keys do.
func (s oldStore) goesOn(t *testing.T, server *server, month, store string) {
	t.Helper()
	keys := parsed[[]keyView](t, "key", "list", "--account", s.Account, store)
	live := keys[slices.IndexFunc(keys, func(k keyView) bool { return k.Name == "live" })].ID
	used := func() int64 { // watches are charged, too
		for _, sum := range parsed[usageView](t, "usage", "--month", month, "--account", s.Account, store).ByKey {
			if sum.Name == string(live) {
				return sum.Credits
			}
		}
		return 0
	}
	before := used()
	for _, test := range []struct {
		key  string
		want int
	}{
		{s.Key, http.StatusOK}, {s.Foreign, http.StatusForbidden}, {s.Revoked, http.StatusUnauthorized},
		{s.Ended, http.StatusUnauthorized},
	} {
		r, err := post(t.Context(), server.url, test.key, "/text/upper", upper)
		require.NoError(t, err)
		assert.Equal(t, test.want, r.status, "%s: %s", test.key, r.body)
	}
	assert.Equal(t, before+1, used())
	assert.Empty(t, parsed[auditView](t, "audit", store).Faults)
}

// remembers requests what a server keeps for hours or days.
func (s oldStore) remembers(t *testing.T, server *server) {
	t.Helper()
	r, err := post(t.Context(), server.url, s.Key, "/text/upper", `{"text":"A"}`, "Idempotency-Key", "november-1")
	require.NoError(t, err)
	assert.Equal(t, "true", r.header.Get("X-Idempotent-Replay"))
	assert.Equal(t, s.Reply, strings.TrimSpace(r.body))
	if s.Session == "" {
		return
	}
	for path, want := range map[string]string{
		"/dashboard": "example.com", "/dashboard/keys": "elsewhere", "/dashboard/members": "grace@example.com",
		"/dashboard/billing": "2026-09", "/dashboard/channels": "hooks.example.com", s.Kept: "kept by Ada",
		"/dashboard/shares": "text/stats", s.Share: "text/stats",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+path, nil)
		require.NoError(t, err)
		req.Header.Set("Cookie", "diagkit="+s.Session)
		r, err := do(http.DefaultClient, req)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, r.status, path)
		assert.Contains(t, r.body, want, path)
	}
}

func (s oldStore) hasWatches() bool {
	return slices.ContainsFunc(s.said, func(one said) bool { return one.Command[0] == "watch" })
}

// watches has a server check a watched domain that is as it was when the store was made.
func (s oldStore) watches(t *testing.T, store string) {
	t.Helper()
	if !s.hasWatches() {
		return
	}
	show := func() map[string]any {
		return parsed[map[string]any](t, "watch", "show", "example.com", "--account", s.Account, store)
	}
	was := show()
	server := start(t, store, servePublished(t), "--keep-ledger-months=0")
	command(t, "watch", "run", "example.com", "--account", s.Account, store)
	require.Eventually(t, func() bool { return show()["last_run_at"] != was["last_run_at"] },
		patience, 20*time.Millisecond)
	require.Equal(t, exitOK, server.wait())
	now := show()
	for _, field := range []string{"mark", "score", "findings", "unknown_parts"} {
		assert.Equal(t, was[field], now[field], field)
	}
	records := func(v map[string]any) any { return v["known"].(map[string]any)["records"] }
	assert.NotEmpty(t, records(was))
	assert.Equal(t, records(was), records(now), "a record that had changed would be one since today")
}

// bills ends what invoices there are, and makes those of the last month.
func (s oldStore) bills(t *testing.T, store string) {
	t.Helper()
	command(t, "billing", "close", "--month", "2026-10", store)
	for _, v := range parsed[[]billing.Invoice](t, "billing", "invoices", "--account", s.Account, store) {
		if v.State == billing.Draft {
			command(t, "billing", "finalize", s.Account, v.ID, store)
		}
		if v.State == billing.Draft || v.State == billing.Open || v.State == billing.Failed {
			command(t, "billing", "paid", s.Account, v.ID, "--reference=7", "--reason=by bank", store)
		}
		command(t, "billing", "credit", s.Account, v.ID, "--cents=1", "--reason=too much", store)
	}
	audit := parsed[auditView](t, "audit", store)
	assert.Empty(t, audit.Faults)
	assert.NotZero(t, audit.Invoices.Count)
}

// loaded is a database with a copy of a PostgreSQL store.
func (s oldStore) loaded(t *testing.T) database {
	t.Helper()
	db := newDatabase(t)
	conn, err := db.own.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Conn().PgConn().Exec(t.Context(), string(s.unpacked(t, ".sql.gz"))).ReadAll()
	require.NoError(t, err)
	return db
}

// contents are the numbers of rows of all tables, with a digest of them.
func (d database) contents() map[string]string {
	d.t.Helper()
	rows, err := d.own.Query(d.t.Context(), "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
	require.NoError(d.t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(d.t, err)
	found := map[string]string{}
	for _, table := range tables {
		var digest string
		sql := "SELECT count(*) || ' ' || md5(coalesce(string_agg(t::text, ' ' ORDER BY t::text), '')) FROM "
		sql += table + " t"
		require.NoError(d.t, d.own.QueryRow(d.t.Context(), sql).Scan(&digest))
		found[table] = digest
	}
	return found
}

// The counterpart of TestUpgradeSQLite for stores in PostgreSQL, whose servers use the clock of the database: what is
// kept for hours is gone by now.
func TestUpgradePostgres(t *testing.T) {
	for _, s := range oldStoresOf(t, ".sql.gz") {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			db := s.loaded(t)
			store := "--store=" + db.url
			s.migrated(t, store)
			before := db.contents()
			s.saysTheSame(t, store)
			assert.Equal(t, before, db.contents(), "opened again")

			if s.hasWatches() { // it is due, and has checks that wait for servers
				command(t, "watch", "remove", "example.net", "--account", s.Account, store)
			}
			server := start(t, store, servePublished(t), "--keep-ledger-months=0")
			s.goesOn(t, server, thisMonth().String(), store)
			require.Equal(t, exitOK, server.wait())
			assertNoTrouble(t, server.log.String())
			s.watches(t, store)
			s.bills(t, store)
		})
	}
}

// The first databases of layout 2 lack a column.
func TestUpgradePostgresWithoutParts(t *testing.T) {
	s := oldStoreOf(t, "4f1cc217", ".sql.gz")
	db := s.loaded(t)
	db.execute("ALTER TABLE holds DROP COLUMN parts")
	store := "--store=" + db.url
	s.migrated(t, store)
	server := start(t, store, servePublished(t), "--keep-ledger-months=0")
	s.goesOn(t, server, thisMonth().String(), store)
	require.Equal(t, exitOK, server.wait())
}

// refusedBy runs commands on a store that none of them can open, and asserts their errors.
func refusedBy(t *testing.T, store, says string, commands ...string) {
	t.Helper()
	for _, command := range commands {
		var out, err bytes.Buffer
		ctx, stop := context.WithTimeout(t.Context(), patience)
		code := run(ctx, append(strings.Fields(command), store), &out, &err)
		stop()
		assert.Equal(t, exitFailed, code, "%s: %s", command, &err)
		assert.Contains(t, err.String(), says, command)
	}
}

// opening are commands of each way to open a store.
var opening = []string{
	"serve --listen=127.0.0.1:0", "migrate", "audit", "account list", "usage", "key list", "plan list",
}

// A store that a newer version has written is refused, with the versions and what to do, and left as it is.
func TestNewerStore(t *testing.T) {
	s := oldStoresOf(t, ".db.gz")[0]
	for _, test := range []struct {
		sql, says string
		commands  []string
	}{
		{"PRAGMA user_version = 999",
			"layout 999, this program knows up to " + strconv.Itoa(metersqlite.SchemaVersion), opening},
		{"UPDATE spf_state SET layout = 999",
			"layout 999, this program knows up to " + strconv.Itoa(hostedsqlite.SchemaVersion),
			[]string{"serve --listen=127.0.0.1:0", "migrate", "spf list"}},
	} {
		dir := t.TempDir()
		path, store := s.copyTo(t, dir)
		command(t, "migrate", store)
		execute(t, path, test.sql)
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		refusedBy(t, store, test.says, test.commands...)
		refusedBy(t, store, "a newer version", test.commands...)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, sha256.Sum256(before), sha256.Sum256(after), test.sql)
	}
}

// TestNewerDatabase is TestNewerStore of PostgreSQL.
func TestNewerDatabase(t *testing.T) {
	for table, commands := range map[string][]string{
		"metering_layout": opening, "spf_layout": {"serve --listen=127.0.0.1:0", "migrate", "spf list"},
	} {
		db := newDatabase(t)
		store := "--store=" + db.url
		command(t, "migrate", store)
		db.execute("UPDATE " + table + " SET version = 999")
		before := db.contents()
		refusedBy(t, store, "layout 999, this program knows up to ", commands...)
		refusedBy(t, store, "a newer version", commands...)
		assert.Equal(t, before, db.contents())
	}
}

// A store with a missing part is refused, and not changed, so that it can be recovered.
func TestTornStore(t *testing.T) {
	for _, s := range oldStoresOf(t, ".db.gz") {
		dir := t.TempDir()
		path, store := s.copyTo(t, dir)
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, size := range []int{len(whole) / 2, len(whole)/2 + 1000} {
			torn := whole[:size]
			require.NoError(t, os.WriteFile(path, torn, 0o600))
			refusedBy(t, store, "malformed", opening...)
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, sha256.Sum256(torn), sha256.Sum256(after), s.name)
		}
	}
}

func execute(t *testing.T, path, sql string) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	require.NoError(t, sqlitex.ExecuteScript(conn, sql, nil))
	require.NoError(t, conn.Close())
}

// A process that is killed while it migrates a large store leaves the old one whole.
func TestMigrationKilled(t *testing.T) {
	s := oldStoreOf(t, "a4f57276", ".db.gz")
	path, store := s.copyTo(t, t.TempDir())
	const replies = 60_000
	execute(t, path, `WITH RECURSIVE
		n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < `+strconv.Itoa(replies)+`)
		INSERT INTO replies (tag, expires, key, status, form, hash, fingerprint, request, header, body)
		SELECT tag + i << 32, expires, key, status, form, hash, fingerprint, request || i, header, zeroblob(100)
		FROM (SELECT * FROM replies LIMIT 1), n`)
	const state = `SELECT (SELECT user_version FROM pragma_user_version), (SELECT * FROM pragma_integrity_check),
		(SELECT count(*) FROM replies), (SELECT sum(length(body)) FROM replies),
		(SELECT group_concat(sql) FROM sqlite_schema)`
	read := func() (version int, check string, count, bytes int, schema string) {
		conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close()) }()
		_, err = sqlitedb.Get(conn, state, nil, &version, &check, &count, &bytes, &schema)
		require.NoError(t, err)
		return version, check, count, bytes, schema
	}
	_, _, count, bytes, schema := read()
	require.Greater(t, count, replies)
	killed := child(t.Context(), "migrate", store)
	require.NoError(t, killed.Start())
	ended := make(chan error, 1)
	go func() { ended <- killed.Wait() }()
	deadline := time.Now().Add(patience)
	for { // rows logged until then are not committed: they end with the transaction
		if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 1<<20 {
			break
		}
		require.True(t, time.Now().Before(deadline))
		runtime.Gosched()
	}
	require.NoError(t, killed.Process.Kill())
	require.Error(t, <-ended)

	nowVersion, check, nowCount, nowBytes, nowSchema := read()
	assert.Equal(t, "ok", check)
	assert.Equal(t, []any{s.Layout.Store, count, bytes, schema}, []any{nowVersion, nowCount, nowBytes, nowSchema})
	s.migrated(t, store)
	s.saysTheSame(t, store)
	_, _, nowCount, nowBytes, _ = read()
	assert.Equal(t, []int{count, bytes}, []int{nowCount, nowBytes})
}

// TestDatabaseMigrationKilled is TestMigrationKilled of PostgreSQL, whose migration waits in the middle for the lock
// of another connection.
func TestDatabaseMigrationKilled(t *testing.T) {
	s := oldStoreOf(t, "bf48ee24", ".sql.gz")
	db := s.loaded(t)
	store := "--store=" + db.url
	before := db.contents()
	other, err := pgx.Connect(t.Context(), db.url)
	require.NoError(t, err)
	defer other.Close(context.WithoutCancel(t.Context()))
	held, err := other.Begin(t.Context())
	require.NoError(t, err)
	_, err = held.Exec(t.Context(), "LOCK TABLE records IN ROW EXCLUSIVE MODE")
	require.NoError(t, err)
	killed := child(t.Context(), "migrate", store)
	require.NoError(t, killed.Start())
	require.Eventually(t, func() bool {
		return db.number("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'records'::regclass") > 0
	}, patience, time.Millisecond)
	require.NoError(t, killed.Process.Kill())
	require.Error(t, killed.Wait())
	require.NoError(t, held.Rollback(t.Context()))
	assert.Equal(t, before, db.contents())
	s.migrated(t, store)
	s.saysTheSame(t, store)
}
