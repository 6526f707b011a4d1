package meteringtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

// pruner returns the optional ability of the store; false without it.
func (f *fixture) pruner() (metering.Pruner, bool) {
	p, ok := f.store.(metering.Pruner)
	if !ok {
		f.t.Log("the store has no Prune, which is optional")
	}
	return p, ok
}

// nextMonth moves the clock to the same day of the next month.
func (f *fixture) nextMonth() {
	f.clock.Advance(metering.Anniversary(f.clock.Now(), 1).Sub(f.clock.Now()))
}

// spendMany charges so many operations of one, two and three credits.
func (f *fixture) spendMany(customer metering.Op, n int) {
	f.t.Helper()
	ops := make([]metering.Op, n)
	for i := range ops {
		ops[i] = f.op(customer, int64(i%3+1))
	}
	f.settleAll(f.beginAll(ops))
}

func testPruneLedger(t *testing.T, f *fixture) {
	if _, ok := f.pruner(); !ok {
		return
	}
	one, two := f.customer(Large), f.customer(Large)
	var months []metering.Period
	for range 4 {
		months = append(months, metering.PeriodOf(f.clock.Now()))
		f.spendMany(one, 1500) // more than any store removes at once
		f.spend(two, 7)
		f.nextMonth()
	}
	prune := func(keep metering.Retention) metering.Pruned {
		t.Helper()
		p, _ := f.pruner()
		pruned, err := p.Prune(t.Context(), keep)
		require.NoError(t, err)
		f.sound()
		return pruned
	}
	require.Zero(t, prune(metering.Retention{}), "nothing is to go")
	before := f.entries(metering.EntryFilter{})
	require.Equal(t, metering.Pruned{Charges: 3002, Balances: 4}, prune(metering.Retention{Ledger: months[2]}))
	require.Zero(t, prune(metering.Retention{Ledger: months[2]}), "nothing is left to go")
	check := func() {
		t.Helper()
		require.Equal(t, before[3002:], f.entries(metering.EntryFilter{}))
		require.Equal(t, before[len(before)-1:],
			f.entries(metering.EntryFilter{Account: two.Account, After: before[4503].Seq}))
		require.Len(t, f.entries(metering.EntryFilter{Account: one.Account}), 3000)
		for i, p := range months {
			b, err := f.store.Balance(t.Context(), two.Account, p)
			require.NoError(t, err)
			require.Equal(t, []int64{0, 0, 7, 7}[i], b.Used, p)
		}
		require.Equal(t, int64(3002), f.sound().Entries)
	}
	check()
	if f.reopen() {
		check()
	}
	last := before[len(before)-1].Seq
	f.spend(two, 1)
	list := f.entries(metering.EntryFilter{Account: two.Account, After: last})
	require.Len(t, list, 1)
	require.Greater(t, list[0].Seq, last)

	// What can still be charged stays.
	p, _ := f.pruner()
	_, err := p.Prune(t.Context(), metering.Retention{Ledger: metering.PeriodOf(f.clock.Now())})
	require.Error(t, err)
	_, err = p.Prune(t.Context(), metering.Retention{Changes: -1})
	require.Error(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Prune(ended, metering.Retention{Ledger: months[3]})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, int64(3003), f.sound().Entries)

	// Even if everything has expired, the sequence numbers do not restart.
	f.nextMonth()
	f.nextMonth()
	prune(metering.Retention{Ledger: metering.PeriodOf(f.clock.Now()).Previous()})
	f.spend(one, 1)
	list = f.entries(metering.EntryFilter{Account: one.Account})
	require.Greater(t, list[len(list)-1].Seq, last+1)
	f.sound()
}

func testPruneChanges(t *testing.T, f *fixture) {
	p, ok := f.pruner()
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := f.watching(ctx, 0)
	f.account(Tiny)
	seq := f.next(first).Seq
	var last metering.AccountID
	for range 9 {
		last = f.account(Tiny)
	}
	for range 9 {
		f.next(first)
	}
	pruned, err := p.Prune(t.Context(), metering.Retention{Changes: 3})
	require.NoError(t, err)
	require.Equal(t, int64(7), pruned.Changes)
	pruned, err = p.Prune(t.Context(), metering.Retention{Changes: 3})
	require.NoError(t, err)
	require.Zero(t, pruned)

	late := f.watching(ctx, seq)
	told := f.next(late)
	require.Equal(t, metering.Change{Seq: told.Seq}, told, "a watcher that missed something learns so")
	require.Greater(t, told.Seq, seq)
	f.next(late)
	f.next(late)
	change := f.next(late)
	require.Equal(t, last, change.Account)
	require.Greater(t, change.Seq, told.Seq)
	again := f.watching(ctx, change.Seq-1)
	require.Equal(t, change, f.next(again), "a watcher that missed nothing learns nothing else")
	added := f.account(Tiny)
	for _, news := range []<-chan metering.Change{first, late, again} {
		got := f.next(news)
		require.Equal(t, added, got.Account)
		require.Greater(t, got.Seq, change.Seq)
	}
	cancel()
	drain(first, late, again)
}

// testPruneRace prunes on several nodes while charges and audits go on.
func testPruneRace(t *testing.T, f *fixture) {
	p, ok := f.pruner()
	if !ok {
		return
	}
	customer := f.customer(Large)
	f.spendMany(customer, 3000)
	f.nextMonth()
	f.nextMonth()
	keep := metering.Retention{Ledger: metering.PeriodOf(f.clock.Now()).Previous(), Changes: 1}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				f.sell(f.op(customer, 3))
			}
		})
	}
	for range 3 {
		wg.Go(func() {
			_, err := p.Prune(f.ctx(), keep)
			assert.NoError(t, err)
		})
	}
	wg.Go(func() {
		for range 10 {
			audit, err := f.store.Audit(f.ctx())
			assert.NoError(t, err)
			assert.Empty(t, audit.Faults)
		}
	})
	wg.Wait()
	f.uses(customer.Account, 1200, 0)
	f.spend(customer, 1)
	_, err := p.Prune(t.Context(), keep)
	require.NoError(t, err)
	require.Equal(t, int64(401), f.sound().Entries)
	b, err := f.store.Balance(t.Context(), customer.Account, metering.PeriodOf(f.clock.Now().Add(-61*24*time.Hour)))
	require.NoError(t, err)
	require.Zero(t, b.Used)
}
