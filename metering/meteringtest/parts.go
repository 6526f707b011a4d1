package meteringtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

// change edits an account.
func (f *fixture) change(id metering.AccountID, change func(*metering.Account)) {
	f.t.Helper()
	a, err := f.store.Account(f.ctx(), id)
	require.NoError(f.t, err)
	change(&a)
	require.NoError(f.t, f.store.PutAccount(f.ctx(), a))
}

// overages lists the parts of overage and their rates, charge by charge.
func (f *fixture) overages(id metering.AccountID) (list [][2]int64) {
	f.t.Helper()
	for _, e := range f.entries(metering.EntryFilter{Account: id}) {
		list = append(list, [2]int64{e.Overage, e.OverageRate})
	}
	return list
}

// The rates of the plans, in millionths of a cent.
const (
	flexRate    = metering.MicrosPerCent / 10
	meteredRate = metering.MicrosPerCent * 3 / 100
)

// testParts checks that a price is split at its admission, permanently.
func testParts(t *testing.T, f *fixture) {
	customer := f.customer(flex)
	f.change(customer.Account, func(a *metering.Account) {
		a.OverageEnabled, a.OverageBudgetCents = true, new(int64(3))
	})
	f.spend(customer, 90)
	both := f.begin(f.op(customer, 20))
	require.Equal(t, [2]int64{10, flexRate}, [2]int64{both.Overage, both.OverageRate})
	above := f.begin(f.op(customer, 5))
	require.Equal(t, [2]int64{5, flexRate}, [2]int64{above.Overage, above.OverageRate})
	quota := f.quotaError(f.op(customer, 16))
	require.Equal(t, metering.QuotaError{
		Plan: flex, Limit: 100, Current: 115, Requested: 16, Left: 15, Overage: 15, OverageMicros: 15 * flexRate,
		Reason: metering.QuotaBudgetReached,
	}, quota, "three cents pay for thirty credits")

	require.NoError(t, f.store.Cancel(t.Context(), both), "gives back exactly its parts")
	within := f.begin(f.op(customer, 10))
	require.Equal(t, [2]int64{}, [2]int64{within.Overage, within.OverageRate})
	f.settle(above)
	b := f.settle(within)
	require.Equal(t, []int64{105, 5, 5 * flexRate, 0}, []int64{b.Used, b.Overage, b.OverageMicros, b.Remaining()})
	forged := f.begin(f.op(customer, 1))
	forged.Overage, forged.OverageRate = 0, 0
	require.Equal(t, int64(6), f.settle(forged).Overage, "what a ticket says of itself is not trusted with money")

	// Overage stays overage on a larger plan, and does not use its allowance.
	f.change(customer.Account, func(a *metering.Account) { a.Plan = metered })
	require.Equal(t, int64(7), f.balance(customer.Account).Remaining())
	f.spend(customer, 10)
	f.change(customer.Account, func(a *metering.Account) { a.Plan = flex })
	require.Equal(t, int64(23), f.quotaError(f.op(customer, 24)).Left, "2.31 cents are left of the budget")
	f.spend(customer, 4)
	f.change(customer.Account, func(a *metering.Account) { a.Plan = Large })
	f.spend(customer, 1000)
	require.Equal(t, [][2]int64{{}, {5, flexRate}, {}, {1, flexRate}, {3, meteredRate}, {4, flexRate}, {}},
		f.overages(customer.Account))
	check := func() {
		b := f.balance(customer.Account)
		require.Equal(t, []int64{1120, 13, 10*flexRate + 3*meteredRate}, []int64{b.Used, b.Overage, b.OverageMicros})
		require.Equal(t, b.Limit-1107, b.Remaining())
		require.Zero(t, f.sound().Unproven)
	}
	check()
	if f.reopen() {
		check()
	}
}

// testLapsedParts charges no overage while holds whose lease has ended still occupy the allowance.
func testLapsedParts(t *testing.T, f *fixture) {
	customer := f.customer(flex)
	f.change(customer.Account, func(a *metering.Account) { a.OverageEnabled = true })
	f.spend(customer, 10)
	op := f.op(customer, 85)
	op.Lease = op.Now.Add(time.Second)
	f.begin(op)
	f.clock.Set(op.Lease.Add(-time.Microsecond))
	above := f.begin(f.op(customer, 15))
	require.Equal(t, int64(10), above.Overage, "the lease has not ended")
	f.clock.Set(op.Lease)
	within := f.begin(f.op(customer, 80))
	require.Equal(t, [2]int64{}, [2]int64{within.Overage, within.OverageRate})
	f.settle(above)
	require.Equal(t, int64(10), f.settle(within).Overage)
	f.sound()
}

// testBudget lets a budget end where it is lowered, and not before.
func testBudget(t *testing.T, f *fixture) {
	customer := f.customer(metered)
	budget := func(cents *int64) {
		f.change(customer.Account, func(a *metering.Account) { a.OverageEnabled, a.OverageBudgetCents = true, cents })
	}
	budget(new(int64(1)))
	f.spend(customer, 107)
	require.Equal(t, int64(33), f.quotaError(f.op(customer, 34)).Left, "0.99 of a cent")
	held := f.begin(f.op(customer, 33))
	f.quotaError(f.op(customer, 1))
	budget(new(int64(0)))
	require.Zero(t, f.quotaError(f.op(customer, 1)).Left)
	require.Equal(t, int64(33), f.settle(held).Overage, "what was promised is honored")
	budget(nil)
	f.spend(customer, 1_000_000)
	f.change(customer.Account, func(a *metering.Account) { a.OverageEnabled = false })
	f.quotaError(f.op(customer, 1))
	f.nextMonth()
	require.Equal(t, int64(107), f.quotaError(f.op(customer, 108)).Left)
	f.spend(customer, 107)
	require.Zero(t, f.balance(customer.Account).Overage)
	f.sound()
}

// testScheduled changes the plan of an account with the month.
func testScheduled(t *testing.T, f *fixture) {
	customer := f.customer(Large)
	next := metering.PeriodOf(f.clock.Now()).Next()
	f.change(customer.Account, func(a *metering.Account) {
		a.Agreement = metering.Agreement{
			Scheduled: &metering.PlanChange{Plan: Tiny, From: next}, AgreedPriceCents: new(int64(99_00)),
			Tax: metering.Tax{BasisPoints: 1900, Note: "VAT"},
		}
	})
	want, err := f.store.Account(t.Context(), customer.Account)
	require.NoError(t, err)
	require.Equal(t, int64(99_00), *want.AgreedPriceCents)
	f.clock.Set(next.Start().Add(-time.Microsecond))
	f.spend(customer, 500)
	late := f.begin(f.op(customer, 500))
	f.clock.Set(next.Start())
	quota := f.quotaError(f.op(customer, 11))
	require.Equal(t, metering.QuotaError{
		Plan: Tiny, Limit: 10, Requested: 11, Left: 10, Reason: metering.QuotaAllowanceUsed,
	}, quota)
	b := f.settle(late)
	require.Equal(t, metering.Balance{
		Period: next.Previous(), Plan: Large, Limit: b.Limit, Used: 1000, Charges: 2,
	}, b, "the plan of its month")
	require.NotEqual(t, int64(10), b.Limit)
	check := func() {
		t.Helper()
		b := f.balance(customer.Account)
		require.Equal(t, Tiny, b.Plan)
		require.Equal(t, int64(10), b.Limit)
		a, err := f.store.Account(t.Context(), customer.Account)
		require.NoError(t, err)
		require.Equal(t, want, a)
		list, err := f.store.Accounts(t.Context())
		require.NoError(t, err)
		require.Equal(t, []metering.Account{want}, list)
	}
	check()
	f.reopen()
	check()
	f.spend(customer, 10)
	f.quotaError(f.op(customer, 1))
	f.sound()
}

// testLowered leaves an account the allowance of the plan that it has held since before its new version.
func testLowered(t *testing.T, f *fixture) {
	december := f.clock.Now().AddDate(0, -1, 0)
	month := metering.PeriodOf(f.clock.Now())
	holder := func(edit func(*metering.Account)) metering.Op {
		customer := f.customer(lowered)
		f.change(customer.Account, func(a *metering.Account) { a.CreatedAt = december; edit(a) })
		return customer
	}
	holds := func(customer metering.Op, plan metering.PlanID, want int64) {
		t.Helper()
		require.Equal(t, want, f.balance(customer.Account).Limit)
		quota := f.quotaError(f.op(customer, want+1))
		require.Equal(t, [2]int64{want, want}, [2]int64{quota.Limit, quota.Left})
		first, second := f.begin(f.op(customer, 1)), f.begin(keyed(f.op(customer, want-1), "k", "body"))
		require.Equal(t, want, f.settle(first).Limit)
		require.Equal(t, metering.Balance{
			Period: metering.PeriodOf(f.clock.Now()), Plan: plan, Limit: want, Used: want, Charges: 2,
		}, f.settle(second))
		quota = f.quotaError(f.op(customer, 1))
		require.Equal(t, metering.QuotaError{
			Plan: plan, Limit: want, Current: want, Requested: 1, Reason: metering.QuotaAllowanceUsed,
		}, quota)
	}
	old := holder(func(a *metering.Account) { a.CreatedAt = december.AddDate(-1, 0, 0) })
	holds(old, lowered, 30)
	holds(holder(func(*metering.Account) {}), lowered, 30)
	holds(holder(func(a *metering.Account) { a.PlanSince = month.Previous() }), lowered, 30)
	holds(holder(func(a *metering.Account) { a.PlanSince = month }), lowered, 10)
	holds(f.customer(lowered), lowered, 10)

	scheduled := func(from, to metering.PlanID) metering.Op {
		return holder(func(a *metering.Account) {
			a.Plan, a.Scheduled = from, &metering.PlanChange{Plan: to, From: month.Next()}
		})
	}
	leaving, joining := scheduled(lowered, Tiny), scheduled(Tiny, lowered)
	holds(leaving, lowered, 30)
	f.nextMonth()
	holds(old, lowered, 30)
	holds(leaving, Tiny, 10)
	holds(joining, lowered, 10)
	f.reopen()
	require.Equal(t, int64(30), f.balance(old.Account).Limit)
	require.Equal(t, int64(10), f.balance(joining.Account).Limit)
	f.sound()
}

// testSuspension checks that a suspension refuses new charges, and nothing else.
func testSuspension(t *testing.T, f *fixture) {
	customer := f.customer(flex)
	f.settle(f.begin(keyed(f.op(customer, 3), "k", "body")))
	held := f.begin(f.op(customer, 4))
	suspension := metering.Suspension{At: f.clock.Now().UTC(), Reason: "invoice 2026-01 is not paid"}
	f.change(customer.Account, func(a *metering.Account) { a.Suspension = &suspension })
	want := metering.QuotaError{
		Plan: flex, Limit: 100, Current: 7, Requested: 1, Reason: metering.QuotaSuspended,
	}
	require.Equal(t, want, f.quotaError(f.op(customer, 1)))
	require.Equal(t, want, f.quotaError(keyed(f.op(customer, 1), "another", "body")))
	f.replay(keyed(f.op(customer, 3), "k", "body"))
	require.Equal(t, int64(7), f.settle(held).Used)
	f.reopen()
	require.Equal(t, want, f.quotaError(f.op(customer, 1)))
	a, err := f.store.Account(t.Context(), customer.Account)
	require.NoError(t, err)
	require.Equal(t, suspension, *a.Suspension)
	f.change(customer.Account, func(a *metering.Account) { a.Suspension = nil })
	f.spend(customer, 1)
	f.sound()
}

// testPlanVersions checks that price lists are stored unchanged.
func testPlanVersions(t *testing.T, f *fixture) {
	list, err := f.store.PlanVersions(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
	june := metering.Period{Year: 2026, Month: time.June}
	version := func(id metering.PlanID, from metering.Period, credits int64) metering.PlanVersion {
		plan := Plans()[id]
		plan.Credits = credits
		return metering.PlanVersion{Plan: plan, From: from, ImportedAt: f.clock.Now()}
	}
	first := []metering.PlanVersion{version(Tiny, metering.Period{}, 1), version(flex, metering.Period{}, 2)}
	first[1].Plan.PriceCents, first[1].Plan.ForSale = new(int64(4900)), true
	require.NoError(t, f.store.PutPlanVersions(t.Context(), first...))
	f.clock.Advance(time.Hour)
	later := version(Tiny, june, 3)
	later.ReplacesAllowances = true
	require.NoError(t, f.store.PutPlanVersions(t.Context(), later))
	for _, again := range [][]metering.PlanVersion{
		{version(Tiny, june, 4)}, {version(flex, june, 5), version(Tiny, metering.Period{}, 1)},
		{version(flex, june, 5), version(flex, june, 5)},
	} {
		require.ErrorIs(t, f.store.PutPlanVersions(t.Context(), again...), metering.ErrVersion)
	}
	want := append(first, later)
	var last metering.Chain
	for i := range want {
		want[i].ImportedAt = want[i].ImportedAt.UTC().Truncate(time.Microsecond)
		want[i].Chain = want[i].Link(last)
		last = want[i].Chain
	}
	check := func() {
		t.Helper()
		list, err := f.store.PlanVersions(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, list)
		f.sound()
	}
	check()
	if f.reopen() {
		check()
	}
	prices := metering.NewPriceList(list...)
	require.Empty(t, prices.In(june))
	require.NoError(t, prices.Read(t.Context(), f.store))
	require.Equal(t, int64(1), prices.In(june.Previous())[Tiny].Credits)
	require.Equal(t, int64(3), prices.In(june)[Tiny].Credits)
	require.Equal(t, int64(2), prices.In(june.Next())[flex].Credits)
}

// testChain links the charges of each account and month, in whatever groups they were committed.
func testChain(t *testing.T, f *fixture) {
	one, two := f.customer(Large), f.customer(Large)
	for range 2 {
		ops := make([]metering.Op, 0, 600)
		for i := range cap(ops) {
			ops = append(ops, f.op([]metering.Op{one, two}[i%2], int64(i%7+1)))
		}
		f.settleAll(f.beginAll(ops))
		f.spend(one, 3)
		f.nextMonth()
	}
	f.clock.Set(metering.PeriodOf(f.clock.Now()).End().Add(-time.Second))
	var around []metering.Ticket // of two months, possibly committed together
	for range 2 {
		for range 20 {
			around = append(around, f.begin(f.op(two, 1)))
		}
		f.clock.Advance(time.Second)
	}
	f.settleAll(around)
	type month struct {
		account metering.AccountID
		period  metering.Period
	}
	groups, links := make(map[month][]metering.Entry), make(map[month]metering.Chain)
	for _, e := range f.entries(metering.EntryFilter{}) {
		m := month{e.Account, e.Period}
		if groups[m] = append(groups[m], e); e.Chain != nil {
			links[m] = links[m].Link(groups[m]...)
			require.Equal(t, links[m], *e.Chain, "%v", m)
			delete(groups, m)
		}
	}
	require.Len(t, links, 6)
	require.Empty(t, groups)
	require.Zero(t, f.sound().Unproven)
}
