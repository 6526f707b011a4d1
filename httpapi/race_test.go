package httpapi

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

// 256 clients race for a cap that is a prime number: the ledger holds exactly what was acknowledged, and the cap is
// sold to the last credit.
func TestCapIsSoldExactly(t *testing.T) {
	const cap, clients = 1009, 256
	prices := []int64{1, 2, 3, 5, 7}
	table := []Endpoint{}
	for i, p := range prices {
		table = append(table, row("/"+string(rune('a'+i)), p, echo))
	}
	a := newAPI(t, "self", func(c *Config) { c.Observe = nil; c.IPRate = -1 }, table...)
	plans := metering.DefaultPlans()
	_, err := a.admin.SetAccount(t.Context(), a.account.ID, func(acc *metering.Account) {
		acc.Plan, acc.OverageEnabled, acc.OverageBudgetCents = "enterprise", true, new(int64(0))
	})
	require.NoError(t, err)
	left := plans["enterprise"].Credits - cap // used up beforehand, so that the race is short
	begun, err := a.store.Begin(t.Context(), metering.Op{
		RequestID: "before", Account: a.account.ID, Key: a.key.ID, Endpoint: "x", Credits: left,
		Now: a.clock.Now(), Lease: a.clock.Now().Add(metering.ClaimLease),
	})
	require.NoError(t, err)
	_, err = a.store.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: a.clock.Now()})
	require.NoError(t, err)

	var acknowledged atomic.Int64
	var wg sync.WaitGroup
	for n := range clients {
		key, secret := a.newKey(metering.DNSRead) // a bucket of its own: the plan's rate is no part of this
		require.NotEmpty(t, key.ID)
		wg.Go(func() {
			for i := n; ; i++ {
				price := prices[i%len(prices)]
				path := "/" + string(rune('a'+i%len(prices)))
				switch r := a.post(path, "{}", "Authorization", "Bearer "+secret); r.Code {
				case 200:
					acknowledged.Add(price)
				case 403:
					require.Equal(t, QuotaExceeded, r.problem().Code)
					if price == 1 {
						return
					}
				default:
					t.Errorf("%d %s", r.Code, r.Body)
					return
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(cap), acknowledged.Load())
	require.Equal(t, left+cap, a.used())
}
