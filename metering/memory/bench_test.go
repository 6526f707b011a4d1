package memory_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
)

func BenchmarkSettle(b *testing.B) {
	for _, accounts := range []int{1, 1000} {
		b.Run(fmt.Sprintf("goroutines=64/accounts=%d", accounts), func(b *testing.B) {
			store := memory.New(memory.Config{Plans: meteringtest.Plans()})
			defer store.Close()
			ids := make([]metering.AccountID, accounts)
			for i := range ids {
				ids[i] = metering.AccountID(fmt.Sprintf("acc_%026d", i))
				require.NoError(b, store.PutAccount(b.Context(), metering.Account{ID: ids[i], Plan: meteringtest.Large}))
			}
			b.ReportAllocs()
			b.ResetTimer()
			var next atomic.Int64
			var wg sync.WaitGroup
			for range 64 {
				wg.Go(func() {
					op := metering.Op{RequestID: "req_example", Key: "key_example", Endpoint: "POST /x", Credits: 1}
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						op.Account = ids[i%int64(len(ids))]
						op.Now = time.Now()
						op.Lease = op.Now.Add(time.Minute)
						begun, err := store.Begin(b.Context(), op)
						if err == nil {
							_, err = store.Settle(b.Context(), *begun.Ticket, metering.Outcome{At: op.Now})
						}
						if err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "charges/s")
		})
	}
}
