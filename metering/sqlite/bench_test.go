package sqlite_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	zombiezen "zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

// load charges b.N times by many goroutines and reports the rate.
func load(b *testing.B, store metering.Store, goroutines, accounts int, reply *metering.Reply) {
	customers := make([]metering.Op, accounts)
	for i := range customers {
		id := fmt.Sprintf("%026d", i)
		op := metering.Op{Account: metering.AccountID("acc_" + id), Key: metering.KeyID("key_" + id)}
		op.Endpoint = "POST /public/v1/resolve"
		customers[i] = op
		require.NoError(b, store.PutAccount(b.Context(), metering.Account{ID: op.Account, Plan: meteringtest.Large}))
		require.NoError(b, store.PutKeys(b.Context(), metering.Key{
			ID: customers[i].Key, Account: customers[i].Account, Hash: sha256.Sum256([]byte(id)),
		}))
	}
	ids := make([]string, 1<<16) // made beforehand: they are the caller's affair
	for i := range ids {
		ids[i] = fmt.Sprintf("req_%026d", i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime(b)
	var next atomic.Int64
	var wg sync.WaitGroup
	waits := make([]time.Duration, b.N)
	for range goroutines {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				start := time.Now()
				charge(b, store, customers[int(i*7919)%len(customers)], ids[i%int64(len(ids))], i, reply)
				waits[i] = time.Since(start)
			}
		})
	}
	wg.Wait()
	slices.Sort(waits)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "charges/s")
	b.ReportMetric(float64(waits[len(waits)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
}

// cpuTime returns the CPU time of the process, which is more reliable than wall time on a busy machine.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func charge(b *testing.B, store metering.Store, op metering.Op, id string, i int64, reply *metering.Reply) {
	op.RequestID = id
	op.Credits = 1
	op.Now = time.Now()
	op.Lease = op.Now.Add(time.Minute)
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
}

func BenchmarkSettle(b *testing.B) {
	reply := &metering.Reply{
		Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(strings.Repeat("x", 700)),
	}
	cases := []struct {
		name                 string
		goroutines, accounts int
		reply                *metering.Reply
	}{
		{"goroutines=1", 1, 1, nil},
		{"goroutines=16", 16, 1, nil},
		{"goroutines=64", 64, 1, nil},
		{"goroutines=256", 256, 1, nil},
		{"goroutines=64,accounts=1000", 64, 1000, nil},
		{"goroutines=64,idempotency", 64, 1, reply},
		{"goroutines=256,idempotency", 256, 1, reply},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "diag.db"),
				sqlite.Config{Plans: meteringtest.Plans()})
			require.NoError(b, err)
			load(b, store, c.goroutines, c.accounts, c.reply)
			require.NoError(b, store.Close())
		})
	}
}

// BenchmarkPlain is what a ledger costs without a store of its own: a transaction for each charge, with an update of a
// balance and an insert, one after the other, since SQLite has one writer.
func BenchmarkPlain(b *testing.B) {
	file, err := sqlitedb.Open(filepath.Join(b.TempDir(), "plain.db"))
	require.NoError(b, err)
	conn, err := file.Connect()
	require.NoError(b, err)
	execute := func(sql string, bind func(*zombiezen.Stmt)) { require.NoError(b, sqlitedb.Exec(conn, sql, bind)) }
	execute(`CREATE TABLE accounts (id INTEGER PRIMARY KEY, used INTEGER NOT NULL) STRICT`, nil)
	execute(`INSERT INTO accounts VALUES (1, 0)`, nil)
	execute(`CREATE TABLE ledger (seq INTEGER PRIMARY KEY, account INTEGER, key TEXT, endpoint TEXT, credits INTEGER,
		at INTEGER, request TEXT) STRICT`, nil)
	before := cpuTime(b)
	for i := 0; b.Loop(); i++ {
		execute(`BEGIN IMMEDIATE`, nil)
		execute(`UPDATE accounts SET used = used + 1 WHERE id = 1 AND used + 1 <= 1000000000`, nil)
		execute(`INSERT INTO ledger (account, key, endpoint, credits, at, request) VALUES (1, ?1, ?2, 1, ?3, ?4)`,
			sqlitedb.Args("key_example", "POST /public/v1/resolve", time.Now().UnixNano(), fmt.Sprintf("req_%026d", i)))
		execute(`COMMIT`, nil)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "charges/s")
	b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
	require.NoError(b, conn.Close())
	require.NoError(b, file.Close())
}

// BenchmarkAudit audits b.N charges of a thousand accounts.
func BenchmarkAudit(b *testing.B) {
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "diag.db"),
		sqlite.Config{Plans: meteringtest.Plans()})
	require.NoError(b, err)
	load(b, store, 256, 1000, nil)
	b.ResetTimer()
	audit, err := store.Audit(b.Context())
	require.NoError(b, err)
	require.Empty(b, audit.Faults)
	require.EqualValues(b, b.N, audit.Entries)
	b.StopTimer()
	require.NoError(b, store.Close())
}
