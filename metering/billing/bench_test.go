package billing_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/postgres"
)

// BenchmarkClose measures the close of a month of 100,000 accounts on PostgreSQL, of which each fiftieth has overage,
// with what comes after it:
//
//	go test -run '^$' -bench Close -benchtime 1x ./metering/billing
func BenchmarkClose(b *testing.B) {
	const accounts = 100_000
	numbers := strings.NewReplacer("ACCOUNTS", strconv.Itoa(accounts), "MONTH", strconv.FormatInt(october.Number(), 10))
	for range b.N {
		url := newSchema(b)
		clock := func() time.Time { return billing.ClosesAt(october) }
		store, err := postgres.Open(b.Context(), url, postgres.Config{Clock: clock})
		require.NoError(b, err)
		conn, err := pgx.Connect(b.Context(), url)
		require.NoError(b, err)
		for _, sql := range []string{
			`INSERT INTO accounts (account, version, name, plan, overage, created) SELECT 'acc_' || lpad(i::text, 26, 'a'), 1,
				'Example ' || i, CASE WHEN i % 10 < 6 THEN 'free' WHEN i % 10 < 9 THEN 'pack' ELSE 'agency' END, true, 0
				FROM generate_series(1, ACCOUNTS) i`,
			`INSERT INTO balances (account, period, used, charges, peak, overage, micros) SELECT account, MONTH, 1001, 1001,
				100000, CASE WHEN right(account, 2) IN ('07', '57') THEN 50 ELSE 0 END,
				CASE WHEN right(account, 2) IN ('07', '57') THEN 5000000 ELSE 0 END FROM accounts`,
			`INSERT INTO ledger (account, key, endpoint, credits, period, at, request, overage, rate, chain)
				SELECT account, 'key_a', 'POST /x', 1, MONTH, 0, 'req_' || i, 1, 100000, decode(repeat('00', 32), 'hex')
				FROM balances, generate_series(1, 50) i WHERE overage > 0`,
			"ANALYZE",
		} {
			_, err := conn.Exec(b.Context(), numbers.Replace(sql))
			require.NoError(b, err)
		}
		require.NoError(b, conn.Close(b.Context()))
		bill := billing.Billing{Store: store, Clock: clock}
		timed := func(name string, do func() error) {
			began := time.Now()
			require.NoError(b, do())
			b.ReportMetric(time.Since(began).Seconds(), name+"-s")
		}
		for _, name := range []string{"close", "again"} {
			timed(name, func() error {
				closed, err := bill.Close(b.Context(), october)
				require.Equal(b, accounts, closed.Created+closed.Existed)
				return err
			})
		}
		timed("audit", func() error {
			found, err := bill.Audit(b.Context())
			require.Empty(b, found.Faults)
			return err
		})
		require.NoError(b, store.Close())
	}
}
