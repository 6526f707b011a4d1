package meteringtest

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

func testInvalid(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	faults := map[string]func(op *metering.Op){
		"no price":             func(op *metering.Op) { op.Credits = 0 },
		"negative price":       func(op *metering.Op) { op.Credits = -5 },
		"no lease":             func(op *metering.Op) { op.Lease = time.Time{} },
		"lease already over":   func(op *metering.Op) { op.Lease = op.Now },
		"endless lease":        func(op *metering.Op) { op.Lease = op.Now.Add(metering.ClaimLease + 1) },
		"claim for nothing":    func(op *metering.Op) { *op = keyed(*op, "k", "b"); op.Fingerprint = nil },
		"fingerprint no claim": func(op *metering.Op) { *op = keyed(*op, "k", "b"); op.Idempotency = nil },
	}
	for name, spoil := range faults {
		op := f.op(customer, 1)
		spoil(&op)
		begun, err := f.store.Begin(t.Context(), op)
		require.Error(t, err, name)
		require.Equal(t, metering.Begun{}, begun, name)
	}
	f.uses(customer.Account, 0, 0)
}

func testUnknownAccount(t *testing.T, f *fixture) {
	op := f.op(metering.Op{Account: "acc_none", Key: "key_none"}, 1)
	require.ErrorIs(t, f.refused(op), metering.ErrNotFound)
	_, err := f.store.Balance(t.Context(), "acc_none", metering.PeriodOf(op.Now))
	require.ErrorIs(t, err, metering.ErrNotFound)
	_, err = f.store.Settle(t.Context(), metering.Ticket{Op: op, Token: 1}, f.outcome(""))
	require.ErrorIs(t, err, metering.ErrLapsed)
	require.NoError(t, f.store.Cancel(t.Context(), metering.Ticket{Op: op, Token: 1}))

	noPlan := f.customer("no such plan")
	var quota *metering.QuotaError
	require.NotErrorAs(t, f.refused(f.op(noPlan, 1)), &quota, "a missing plan is not the caller's fault")
}

// quotaError expects a refusal for lack of credits.
func (f *fixture) quotaError(op metering.Op) metering.QuotaError {
	f.t.Helper()
	var quota *metering.QuotaError
	require.ErrorAs(f.t, f.refused(op), &quota)
	return *quota
}

func testHardCap(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	balance := f.settle(f.begin(f.op(customer, 4)))
	period := metering.PeriodOf(f.clock.Now())
	require.Equal(t, metering.Balance{Period: period, Plan: Tiny, Limit: 10, Used: 4, Charges: 1}, balance)
	held := f.begin(f.op(customer, 5))

	want := metering.QuotaError{
		Plan: Tiny, Limit: 10, Current: 9, Requested: 2, Left: 1, Reason: metering.QuotaAllowanceUsed,
	}
	require.Equal(t, want, f.quotaError(f.op(customer, 2)), "what is held counts")
	f.uses(customer.Account, 4, 5)
	last := f.begin(f.op(customer, 1))
	f.quotaError(f.op(customer, 1))
	f.settle(held)
	balance = f.settle(last)
	require.Equal(t, int64(10), balance.Used)
	require.Equal(t, int64(0), balance.Remaining())
	require.Equal(t, int64(3), balance.Charges)

	other := f.customer(Tiny)
	f.spend(other, 10)
	f.sound()
}

func testOverage(t *testing.T, f *fixture) {
	cases := []struct {
		name    string
		enabled bool
		budget  *int64
		sells   int64 // in total; the plan costs a tenth of a cent per credit
		reason  metering.QuotaReason
	}{
		{"not opted in", false, new(int64(100)), 100, metering.QuotaOverageOff},
		{"no budget", true, new(int64(0)), 100, metering.QuotaBudgetReached},
		{"budget of a cent", true, new(int64(1)), 110, metering.QuotaBudgetReached},
		{"budget of a euro", true, new(int64(100)), 1100, metering.QuotaBudgetReached},
	}
	for _, c := range cases {
		customer := f.customer(flex)
		f.change(customer.Account, func(a *metering.Account) { a.OverageEnabled, a.OverageBudgetCents = c.enabled, c.budget })
		f.spend(customer, c.sells-3)
		require.EqualValues(t, 3, f.quotaError(f.op(customer, 4)).Left, "overage that the budget covers counts too")
		f.spend(customer, 3)
		quota := f.quotaError(f.op(customer, 1))
		require.Equal(t, metering.QuotaError{
			Plan: flex, Limit: 100, Current: c.sells, Requested: 1, Overage: c.sells - 100,
			OverageMicros: (c.sells - 100) * flexRate, Reason: c.reason,
		}, quota, c.name)
		require.Equal(t, c.sells-100, f.balance(customer.Account).Overage, c.name)
	}

	endless := f.customer(flex)
	f.change(endless.Account, func(a *metering.Account) { a.OverageEnabled = true })
	f.spend(endless, 1_000_000_000_000)
	f.sound()
}

func testPlanChange(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	f.spend(customer, 8)
	f.quotaError(f.op(customer, 50))
	change := func(plan metering.PlanID) { f.change(customer.Account, func(a *metering.Account) { a.Plan = plan }) }
	change(flex)
	require.Equal(t, int64(100), f.balance(customer.Account).Limit)
	held := f.begin(f.op(customer, 50))
	change(Tiny)
	require.Equal(t, int64(58), f.quotaError(f.op(customer, 1)).Current)
	require.Equal(t, int64(58), f.settle(held).Used, "what was promised is honored")

	// Charges may be settled in another order than they were promised in.
	customer = f.customer(Tiny)
	small := f.begin(f.op(customer, 5))
	change(Large)
	f.spend(customer, 500)
	f.settle(small)
	f.sound()
}

func testHugePrice(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	f.spend(customer, 1)
	require.Equal(t, int64(math.MaxInt64), f.quotaError(f.op(customer, math.MaxInt64)).Requested)
	f.change(customer.Account, func(a *metering.Account) { a.Plan, a.OverageEnabled = flex, true })
	f.quotaError(f.op(customer, math.MaxInt64))
	f.uses(customer.Account, 1, 0)
}

func testSettleOnce(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	ticket := f.spend(customer, 3)
	_, err := f.store.Settle(t.Context(), ticket, f.outcome("again"))
	require.ErrorIs(t, err, metering.ErrLapsed)
	require.NoError(t, f.store.Cancel(t.Context(), ticket), "a settled ticket is beyond cancelling")
	f.uses(customer.Account, 3, 0)
	require.Len(t, f.entries(metering.EntryFilter{}), 1)
	require.Equal(t, int64(3), f.sound().Credits)
}

func testCancel(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	ticket := f.begin(f.op(customer, 10))
	f.quotaError(f.op(customer, 1))
	require.NoError(t, f.store.Cancel(t.Context(), ticket))
	require.NoError(t, f.store.Cancel(t.Context(), ticket), "twice is as good as once")
	f.uses(customer.Account, 0, 0)
	_, err := f.store.Settle(t.Context(), ticket, f.outcome(""))
	require.ErrorIs(t, err, metering.ErrLapsed)
	f.spend(customer, 10)
	require.Len(t, f.entries(metering.EntryFilter{}), 1)
}

func testLease(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	short := f.op(customer, 4)
	short.Lease = short.Now.Add(10 * time.Second)
	lapsing, lasting := f.begin(short), f.begin(f.op(customer, 6))

	f.clock.Advance(10*time.Second - 1)
	f.quotaError(f.op(customer, 1))
	f.clock.Advance(1)
	f.uses(customer.Account, 0, 6)
	_, err := f.store.Settle(t.Context(), lapsing, f.outcome(""))
	require.ErrorIs(t, err, metering.ErrLapsed, "at the very end of the lease it is over")
	require.NoError(t, f.store.Cancel(t.Context(), lapsing))
	f.begin(f.op(customer, 4))
	f.quotaError(f.op(customer, 1))
	f.settle(lasting)
	f.clock.Advance(time.Hour)
	f.uses(customer.Account, 6, 0)

	// A Begin that needs the credits releases them itself.
	f.begin(f.op(customer, 4))
	f.clock.Advance(time.Minute)
	last := f.begin(f.op(customer, 4))

	// A Settle after the end of the lease finds it over, even without any other call.
	f.clock.Advance(time.Minute)
	_, err = f.store.Settle(t.Context(), last, f.outcome(""))
	require.ErrorIs(t, err, metering.ErrLapsed)
	f.uses(customer.Account, 6, 0)
}

func testForgedTicket(t *testing.T, f *fixture) {
	customer, other := f.customer(Tiny), f.customer(Tiny)
	ticket := f.begin(f.op(customer, 3))

	foreign := ticket
	foreign.Account = other.Account
	_, err := f.store.Settle(t.Context(), foreign, f.outcome(""))
	require.ErrorIs(t, err, metering.ErrLapsed)
	require.NoError(t, f.store.Cancel(t.Context(), foreign))
	wrong := ticket
	wrong.Token++
	_, err = f.store.Settle(t.Context(), wrong, f.outcome(""))
	require.ErrorIs(t, err, metering.ErrLapsed)

	ticket.Credits = 1
	ticket.Period.Year++
	require.Equal(t, int64(3), f.settle(ticket).Used)
	entry := f.entries(metering.EntryFilter{})[0]
	require.Equal(t, int64(3), entry.Credits)
	require.Equal(t, metering.PeriodOf(f.clock.Now()), entry.Period)
	f.uses(other.Account, 0, 0)
}
