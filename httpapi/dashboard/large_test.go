//go:build !race && linux

package dashboard

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/postgres"
	"github.com/diagkit/diagkit/metering/postgresdb"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/diagkit/diagkit/metering/sqlitedb"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The race detector takes memory of its own.

// A large account has so many keys, of which every tenth is revoked, and so many charges in a month.
const largeKeys, largeCharges = 100_000, 1_000_000

// inSQLite are the statements that give the account ACCOUNT its keys and charges, and inPostgres likewise.
var (
	inSQLite = []string{
		`CREATE TEMP TABLE n AS WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < CHARGES - 1)
			SELECT i FROM c`,
		"INSERT INTO names (id, name) VALUES (1, 'ACCOUNT')",
		"INSERT INTO names (id, name) SELECT 2 + i, 'POST /public/v1/operation/' || i FROM n WHERE i < 60",
		"INSERT INTO names (id, name) SELECT 100 + i, 'key_' || printf('%026d', (i * 7919) % KEYS) FROM n WHERE i < KEYS",
		`INSERT INTO keys (id, version, account, name, environment, scopes, hash, display_prefix, ip_allowlist, created,
				expires, revoked, revoked_reason, rotated_from, rotated_to, grace_until)
			SELECT m.name, 1, 'ACCOUNT', 'Customer ' || i, 'live', '["dns:read","mail:read"]', randomblob(32),
				'svc_live_' || printf('%08x', i * 7919), 'null', MONTH + i, NULL, CASE WHEN i % 10 = 0 THEN MONTH END, '', '', '',
				NULL FROM n JOIN names m ON m.id = 100 + i WHERE i < KEYS`,
		`INSERT INTO ledger (seq, account, key, endpoint, credits, period, at, request, ceiling)
			SELECT 1 + i, 1, 100 + (i * 7919) % KEYS, 2 + i % 60, 1 + i % 5, PERIOD, MONTH + i * (1300000000000 / CHARGES),
				'req_' || printf('%026d', i), 1000000000 FROM n`,
		"INSERT INTO ledger_blocks SELECT 1, i FROM n WHERE i <= CHARGES / 4096",
		"INSERT INTO balances (account, period, used, charges, peak) SELECT 1, PERIOD, sum(credits), count(*), 0 FROM ledger",
	}
	inPostgres = []string{
		`INSERT INTO keys (account, id, version, name, environment, scopes, hash, display_prefix, ip_allowlist, created,
				revoked, revoked_reason, rotated_from, rotated_to)
			SELECT 'ACCOUNT', 'key_' || lpad(((i * 7919::bigint) % KEYS)::text, 26, '0'), 1, 'Customer ' || i, 'live',
				'{dns:read,mail:read}', decode(md5(i::text), 'hex'), 'svc_live_' || lpad(to_hex(i * 7919), 8, '0'), '{}',
				MONTH + i, CASE WHEN i % 10 = 0 THEN MONTH END, '', '', '' FROM generate_series(0, KEYS - 1) i`,
		"INSERT INTO key_directory SELECT id, hash, account FROM keys",
		`INSERT INTO ledger (account, key, endpoint, credits, period, at, request, ceiling)
			SELECT 'ACCOUNT', 'key_' || lpad(((i * 7919::bigint) % KEYS)::text, 26, '0'), 'POST /public/v1/operation/' || i % 60,
				1 + i % 5, PERIOD, MONTH + i::bigint * (1300000000000 / CHARGES), 'req_' || lpad(i::text, 26, '0'), 1000000000
			FROM generate_series(0, CHARGES - 1) i`,
		"INSERT INTO balances (account, period, used, charges, peak) SELECT 'ACCOUNT', PERIOD, sum(credits), count(*), 0 FROM ledger",
		"ANALYZE",
	}
)

// largeAccount gives a store with a large account to fill, and an owner of it; fill executes statements.
func largeAccount(
	t testing.TB, store metering.Store, keys, charges int, statements []string, fill func(sql string) error,
) metering.Account {
	clock := func() time.Time { return startTime }
	month := metering.PeriodOf(startTime)
	account, err := metering.Admin{Store: store, Clock: month.Start}.CreateAccount(t.Context(), "Large", "agency")
	require.NoError(t, err)
	people := member.Members{Store: store, Clock: clock}
	_, err = people.Add(t.Context(), account.ID, "owner@example.com", member.Owner)
	require.NoError(t, err)
	numbers := strings.NewReplacer("ACCOUNT", string(account.ID), "KEYS", strconv.Itoa(keys),
		"CHARGES", strconv.Itoa(charges), "PERIOD", strconv.FormatInt(month.Number(), 10),
		"MONTH", strconv.FormatInt(month.Start().UnixMicro(), 10))
	for _, sql := range statements {
		require.NoError(t, fill(numbers.Replace(sql)), sql)
	}
	return account
}

// TestLargeAccountPages measures the pages of a large account: how long each takes when the server has just started, and
// then, and how much memory. DIAG_TEST_POSTGRES is the URL of a database, on which it is measured, too.
//
//	go test ./httpapi/dashboard -run TestLargeAccountPages -v
func TestLargeAccountPages(t *testing.T) {
	keys, charges := largeKeys, largeCharges
	if testing.Short() {
		keys, charges = keys/20, charges/20
	}
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "large.db")
		config := sqlite.Config{Clock: func() time.Time { return startTime }}
		store, err := sqlite.Open(t.Context(), path, config)
		require.NoError(t, err)
		file, err := sqlitedb.Open(path)
		require.NoError(t, err)
		conn, err := file.Connect()
		require.NoError(t, err)
		account := largeAccount(t, store, keys, charges, inSQLite, func(sql string) error { return sqlitedb.Exec(conn, sql, nil) })
		require.NoError(t, conn.Close())
		require.NoError(t, file.Close())
		measurePages(t, store, account)
	})
	t.Run("postgres", func(t *testing.T) {
		url := os.Getenv("DIAG_TEST_POSTGRES")
		if url == "" {
			t.Skip("needs DIAG_TEST_POSTGRES, the URL of a database")
		}
		scratch, drop, err := postgresdb.Scratch(t.Context(), url)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, drop()) })
		store, err := postgres.Open(t.Context(), scratch, postgres.Config{Clock: func() time.Time { return startTime }})
		require.NoError(t, err)
		conn, err := pgx.Connect(t.Context(), scratch)
		require.NoError(t, err)
		account := largeAccount(t, store, keys, charges, inPostgres, func(sql string) error {
			_, err := conn.Exec(t.Context(), sql)
			return err
		})
		require.NoError(t, conn.Close(t.Context()))
		measurePages(t, store, account)
	})
}

// measurePages logs what each page costs. What it holds the pages to is counted.
func measurePages(t *testing.T, store metering.Store, account metering.Account) {
	clock := func() time.Time { return startTime }
	gate, err := metering.NewGate(context.WithoutCancel(t.Context()), metering.GateConfig{Store: store, Clock: clock})
	require.NoError(t, err)
	t.Cleanup(func() { gate.Close(); store.Close() })
	c := Config{Store: store, Clock: clock, Activity: &Activity{}, Env: &diag.Env{},
		Log: slog.New(slog.DiscardHandler), Secure: true, PublicURL: "https://diag.example.com"}
	c.API = httpapi.New(httpapi.Config{Gate: gate, Clock: clock, Env: c.Env, IPRate: -1, Log: c.Log})
	h := &fixture{t: t, store: store, account: account, people: member.Members{Store: store, Clock: clock}, now: startTime}
	h.dash = New(c).(*dashboard)
	b := h.owner()
	b.send(http.MethodGet, "/dashboard/sessions", nil) // templates are read, connections are there
	for _, path := range []string{
		"/dashboard/keys", "/dashboard/keys?page=500", "/dashboard/keys?q=customer+99", "/dashboard/keys?state=revoked",
		"/dashboard/usage", "/dashboard/usage?show=keys&page=1000", "/dashboard/usage?range=24h", "/dashboard/usage?range=7d",
		"/dashboard/usage?range=30d", "/dashboard/usage?range=30d&operation=operation/7",
		"/dashboard/usage?range=24h&key=key_00000000000000000000000077&code=OK",
		"/dashboard/activity", "/dashboard/activity?range=24h", "/dashboard/activity?key=key_00000000000000000000000077",
		"/dashboard/activity?operation=operation/7", "/dashboard/activity?id=req_none",
		"/dashboard/activity?id=req_00000000000000000000000077", "/dashboard/activity.csv", "/dashboard/members", "/dashboard/billing",
		"/dashboard/channels", "/dashboard", "/dashboard/log", "/dashboard/usage.csv",
	} {
		rest := settle(t)
		began, busy := time.Now(), processTime(t)
		page := b.fetch(path)
		first, worked, peak := time.Since(began), processTime(t)-busy, resident(t, "VmHWM")
		again := 5
		if strings.HasSuffix(path, ".csv") {
			again = 1
		}
		var took []time.Duration
		busy = processTime(t)
		for range again {
			began := time.Now()
			b.fetch(path)
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		t.Logf("%-62s %8d bytes  first %5.0f ms (%4.0f of CPU)  then %5.0f ms (%4.0f of CPU)  %3d MiB more resident", path, page,
			first.Seconds()*1e3, worked.Seconds()*1e3, took[again/2].Seconds()*1e3,
			(processTime(t)-busy).Seconds()*1e3/float64(again), (peak-rest)>>20)
		if strings.HasPrefix(path, "/dashboard/usage?") || strings.HasPrefix(path, "/dashboard/activity?") {
			assert.Less(t, page, 60<<10, path)
		} else if !strings.HasSuffix(path, ".csv") {
			assert.Less(t, page, 300<<10, path)
		}
	}
}

// fetch is a page that there must be, as the number of its bytes: to read it as a browser does would take longer.
func (b *browser) fetch(path string) int {
	r, err := http.NewRequest(http.MethodGet, "https://diag.example.com"+path, nil)
	require.NoError(b.t, err)
	r.RemoteAddr = "192.0.2.9:1234"
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := &countedReply{header: http.Header{}}
	b.dash.ServeHTTP(w, r)
	require.Contains(b.t, []int{0, http.StatusOK}, w.status, path)
	return w.bytes
}

// A countedReply keeps nothing of a reply.
type countedReply struct {
	header        http.Header
	status, bytes int
}

func (w *countedReply) Header() http.Header { return w.header }

func (w *countedReply) WriteHeader(status int) { w.status = status }

func (w *countedReply) Write(p []byte) (int, error) { w.bytes += len(p); return len(p), nil }

// processTime is the CPU that the process has used so far: that of the store, too, if that is SQLite.
func processTime(t *testing.T) time.Duration {
	var used syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// resident returns the resident memory of the process in bytes, or its maximum since it settled: VmRSS or VmHWM of
// proc_pid_status(5).
func resident(t *testing.T, which string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	found := regexp.MustCompile(which + `:\s+(\d+) kB`).FindSubmatch(text)
	require.NotNil(t, found)
	kib, err := strconv.ParseInt(string(found[1]), 10, 64)
	require.NoError(t, err)
	return kib << 10
}

// settle releases unused memory, and returns the resident memory then.
func settle(t *testing.T) int64 {
	runtime.GC()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Log("memory is that of all pages so far:", err)
	}
	return resident(t, "VmRSS")
}
