package postgres_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/postgres"
)

// benchGoroutines is the number of concurrent clients.
const benchGoroutines = 64

// BenchmarkSettle measures what a charge costs: begin and settle, and settle alone. pgbench, in the same run, is the
// baseline of PostgreSQL: a row-locked update and an insert for each charge. Without sslmode=disable both encrypt
// their traffic to a server on this machine.
func BenchmarkSettle(b *testing.B) {
	reply := &metering.Reply{
		Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(strings.Repeat("x", 700)),
	}
	b.Run("accounts=1", func(b *testing.B) { benchCharges(b, 1, nil) })
	b.Run("accounts=1,settle", func(b *testing.B) { benchSettles(b, 1) })
	b.Run("accounts=1,idempotency", func(b *testing.B) { benchCharges(b, 1, reply) })
	b.Run("accounts=1000", func(b *testing.B) { benchCharges(b, 1000, nil) })
	b.Run("accounts=1000,settle", func(b *testing.B) { benchSettles(b, 1000) })
	b.Run("pgbench", benchPlain)
}

// customers creates accounts with a key each.
func customers(b *testing.B, store metering.Store, n int) []metering.Op {
	list, keys := make([]metering.Op, n), make([]metering.Key, n)
	for i := range list {
		id := fmt.Sprintf("%026d", i)
		list[i] = metering.Op{
			Account: metering.AccountID("acc_" + id), Key: metering.KeyID("key_" + id), Endpoint: "POST /public/v1/resolve",
		}
		require.NoError(b, store.PutAccount(b.Context(), metering.Account{ID: list[i].Account, Plan: meteringtest.Large}))
		keys[i] = metering.Key{ID: list[i].Key, Account: list[i].Account, Hash: sha256.Sum256([]byte(id))}
	}
	require.NoError(b, store.PutKeys(b.Context(), keys...))
	return list
}

// benchOp is the i-th operation, of one of the customers.
func benchOp(list []metering.Op, i int64) metering.Op {
	op := list[int(i*7919)%len(list)]
	op.RequestID = fmt.Sprintf("req_%026d", i)
	op.Credits, op.Now = 1, time.Now()
	op.Lease = op.Now.Add(time.Minute)
	return op
}

// inParallel calls do for 0 to n-1.
func inParallel(n int64, do func(i int64)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range benchGoroutines {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < n; i = next.Add(1) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

func openBench(b *testing.B) (metering.Store, string) {
	text := newSchema(b)
	store, err := postgres.Open(b.Context(), text, postgres.Config{Plans: meteringtest.Plans()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, store.Close()) })
	return store, text
}

// cpuTime returns the CPU time of this process and of the backends that serve it, which is more reliable than wall
// time on a busy machine. It is 0 for a remote server.
func cpuTime(b *testing.B, text string) (own, server time.Duration) {
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	own = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	u, err := url.Parse(text)
	require.NoError(b, err)
	conn, err := pgx.Connect(b.Context(), text)
	require.NoError(b, err)
	rows, err := conn.Query(b.Context(), "SELECT pid FROM pg_stat_activity WHERE application_name = $1",
		u.Query().Get("application_name"))
	require.NoError(b, err)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(b, err)
	require.NoError(b, conn.Close(b.Context()))
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid)) // nanoseconds first
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.Fields(string(stat))[0], 10, 64)
		require.NoError(b, err)
		server += time.Duration(n)
	}
	return own, server
}

func benchCharges(b *testing.B, accounts int, reply *metering.Reply) {
	store, text := openBench(b)
	list := customers(b, store, accounts)
	waits := make([]time.Duration, b.N)
	own, server := cpuTime(b, text)
	b.ResetTimer()
	inParallel(int64(b.N), func(i int64) {
		op := benchOp(list, i)
		if reply != nil {
			hash := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(i)))
			op.Idempotency, op.Fingerprint = &hash, &hash
		}
		begun, err := store.Begin(b.Context(), op)
		if err == nil {
			_, err = store.Settle(b.Context(), *begun.Ticket, metering.Outcome{At: op.Now, Reply: reply})
		}
		if err != nil {
			b.Error(err)
		}
		waits[i] = time.Since(op.Now)
	})
	b.StopTimer()
	ownAfter, serverAfter := cpuTime(b, text)
	b.ReportMetric(float64((ownAfter-own).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64((serverAfter-server).Nanoseconds())/1e3/float64(b.N), "server-cpu-µs/op")
	report(b, waits)
}

func report(b *testing.B, waits []time.Duration) {
	slices.Sort(waits)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "charges/s")
	b.ReportMetric(float64(waits[len(waits)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds()), "p99-µs")
}

// benchSettles begins some hundreds at a time, as a busy account has them, and counts the time of settling.
func benchSettles(b *testing.B, accounts int) {
	store, text := openBench(b)
	list := customers(b, store, accounts)
	waits := make([]time.Duration, b.N)
	own, server := cpuTime(b, text)
	b.ResetTimer()
	for from := int64(0); from < int64(b.N); {
		n := min(1024, int64(b.N)-from)
		tickets := make([]metering.Ticket, n)
		b.StopTimer()
		inParallel(n, func(i int64) {
			begun, err := store.Begin(b.Context(), benchOp(list, from+i))
			if err != nil {
				b.Error(err)
				return
			}
			tickets[i] = *begun.Ticket
		})
		b.StartTimer()
		inParallel(n, func(i int64) {
			start := time.Now()
			if _, err := store.Settle(b.Context(), tickets[i], metering.Outcome{At: start}); err != nil {
				b.Error(err)
			}
			waits[from+i] = time.Since(start)
		})
		from += n
	}
	b.StopTimer()
	ownAfter, serverAfter := cpuTime(b, text)
	b.ReportMetric(float64((ownAfter-own).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64((serverAfter-server).Nanoseconds())/1e3/float64(b.N), "server-cpu-µs/op")
	report(b, waits)
}

// benchPlain runs pgbench for three seconds.
func benchPlain(b *testing.B) {
	if _, err := exec.LookPath("pgbench"); err != nil {
		b.Skip("needs the program pgbench (Debian: postgresql-contrib)")
	}
	text := newSchema(b)
	execute(b, text, `CREATE TABLE plain_accounts (id integer PRIMARY KEY, used bigint NOT NULL) WITH (fillfactor = 50)`)
	execute(b, text, `INSERT INTO plain_accounts VALUES (1, 0)`)
	execute(b, text, `CREATE TABLE plain_ledger (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account integer,
		key text, endpoint text, credits bigint, at timestamptz DEFAULT now())`)
	script := filepath.Join(b.TempDir(), "charge.sql")
	require.NoError(b, os.WriteFile(script, []byte(`BEGIN;
UPDATE plain_accounts SET used = used + 1 WHERE id = 1 AND used + 1 <= 1000000000;
INSERT INTO plain_ledger (account, key, endpoint, credits) VALUES (1, 'key_example', 'POST /public/v1/resolve', 1);
COMMIT;
`), 0o600))
	u, err := url.Parse(text)
	require.NoError(b, err)
	cmd := exec.Command("pgbench", "-n", "-M", "prepared", "-c", strconv.Itoa(benchGoroutines), "-j", "2", "-T", "3",
		"-f", script, strings.TrimPrefix(u.Path, "/"))
	cmd.Env = append(os.Environ(), "PGHOST="+u.Hostname(), "PGPORT="+u.Port(), "PGUSER="+u.User.Username(),
		"PGSSLMODE="+cmp.Or(u.Query().Get("sslmode"), "prefer"), "PGOPTIONS=-c search_path="+u.Query().Get("search_path"))
	out, err := cmd.CombinedOutput()
	require.NoError(b, err, "%s", out)
	tps := regexp.MustCompile(`tps = ([0-9.]+)`).FindSubmatch(out)
	require.NotNil(b, tps, "%s", out)
	rate, err := strconv.ParseFloat(string(tps[1]), 64)
	require.NoError(b, err)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(rate, "charges/s")
}

// BenchmarkAudit audits 100,000 accounts with ten charges each, which PostgreSQL itself generates.
func BenchmarkAudit(b *testing.B) {
	const accounts, charges = 100_000, 10
	store, text := openBench(b)
	stem := func(field string) string { return "octet_length(" + field + ") || ':' || " + field }
	execute(b, text, fmt.Sprintf(`INSERT INTO accounts (account, version, name, plan, overage, created)
		SELECT 'acc_' || lpad(n::text, 26, '0'), 1, '', '%s', false, 0 FROM generate_series(1, %d) n;
		INSERT INTO keys SELECT account, 'key_' || right(account, 26), 1, '', '', '{}', '', '', '{}', 0,
			NULL, NULL, '', '', '', NULL
			FROM accounts`, meteringtest.Large, accounts))
	execute(b, text, fmt.Sprintf(`CREATE TABLE made AS
		SELECT *, %s || %s || '5:24312' AS start, %s || %s || %s || '1:01:11:01:03:100' AS form FROM (
			SELECT account, 'key_' || right(account, 26) AS key, '/x' AS endpoint, 'req_' || i AS request, i, 'ledger.v2' AS kind
			FROM accounts, generate_series(1, %d) i) m`,
		stem("kind"), stem("account"), stem("key"), stem("endpoint"), stem("request"), charges))
	execute(b, text, fmt.Sprintf(`CREATE TABLE links AS SELECT account,
			sha256(decode(repeat('00', 32), 'hex')
				|| sha256(convert_to(start || string_agg(form, '' ORDER BY i), 'UTF8'))) AS chain
		FROM made GROUP BY account, start;
		INSERT INTO ledger (account, key, endpoint, credits, period, at, request, ceiling, chain)
			SELECT account, key, endpoint, 1, 24312, 0, request, 100, CASE i WHEN %d THEN chain END
			FROM made JOIN links USING (account) ORDER BY i;
		INSERT INTO balances (account, period, used, charges, peak, chain)
			SELECT account, 24312, count(*), count(*), 100, max(chain::text)::bytea FROM ledger GROUP BY account`, charges))
	for b.Loop() {
		audit, err := store.Audit(b.Context())
		require.NoError(b, err)
		require.Empty(b, audit.Faults)
		require.EqualValues(b, accounts*charges, audit.Entries)
	}
}
