package meteringtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

// testMonthly reads the balances of all accounts at once, where a store can, and the charges with overage alone.
func testMonthly(t *testing.T, f *fixture) {
	settled, held, idle, early := f.customer(flex), f.customer(Tiny), f.customer(Tiny), f.customer(Tiny)
	f.spend(early, 1)
	f.clock.Set(metering.PeriodOf(f.clock.Now()).End())
	p := metering.PeriodOf(f.clock.Now())
	f.change(settled.Account, func(a *metering.Account) { a.OverageEnabled = true })
	f.spend(settled, 95)
	f.spend(settled, 20)
	f.begin(f.op(settled, 2))
	f.begin(f.op(held, 3))
	charges := f.entries(metering.EntryFilter{Account: settled.Account, Period: &p, Overage: true})
	require.Len(t, charges, 1)
	require.Equal(t, [2]int64{20, 15}, [2]int64{charges[0].Credits, charges[0].Overage})

	store, ok := f.store.(metering.Monthly)
	if !ok {
		return
	}
	got := map[metering.AccountID]metering.Balance{}
	for b, err := range store.Balances(t.Context(), p) {
		require.NoError(t, err)
		require.NotContains(t, got, b.Account)
		got[b.Account] = b.Balance
	}
	want := map[metering.AccountID]metering.Balance{}
	for _, id := range []metering.AccountID{settled.Account, held.Account} {
		b, err := f.store.Balance(t.Context(), id, p)
		require.NoError(t, err)
		b.Plan, b.Limit = "", 0
		want[id] = b
	}
	require.Equal(t, want, got)
	require.NotContains(t, got, idle.Account)
}
