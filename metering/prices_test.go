package metering_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

// shop is a store with dated plans, a gate and a customer.
type shop struct {
	*testing.T
	store  *memory.Store
	prices *metering.PriceList
	gate   *metering.Gate
	admin  metering.Admin
	now    time.Time
}

func newShop(t *testing.T) *shop {
	s := &shop{T: t, prices: new(metering.PriceList), now: time.Date(2026, 1, 20, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return s.now }
	s.store = memory.New(memory.Config{Plans: s.prices, Clock: clock})
	t.Cleanup(func() { require.NoError(t, s.store.Close()) })
	s.admin = metering.Admin{Store: s.store, Plans: s.prices, Clock: clock}
	first := metering.DefaultPlans().Versions(metering.Period{}, s.now)
	require.NoError(t, s.store.PutPlanVersions(t.Context(), first...))
	require.NoError(t, s.prices.Read(t.Context(), s.store))
	gate, err := metering.NewGate(context.WithoutCancel(t.Context()), metering.GateConfig{
		Store: s.store, Plans: s.prices, Clock: clock,
	})
	require.NoError(t, err)
	t.Cleanup(gate.Close)
	s.gate = gate
	return s
}

// imports puts an edited plan into force from a month on.
func (s *shop) imports(id metering.PlanID, from metering.Period, edit func(*metering.Plan)) error {
	plan := metering.DefaultPlans()["pack"]
	plan.ID = id
	edit(&plan)
	_, err := s.admin.ImportPlans(s.Context(), metering.Plans{id: plan}, from)
	return errors.Join(err, s.prices.Read(s.Context(), s.store))
}

// limits returns the limits shown to a new customer on the plan pack at an instant: allowance and rate.
func (s *shop) limits() (at func(time.Time) [2]int, account metering.AccountID) {
	a, err := s.admin.CreateAccount(s.Context(), "Example Ltd", "pack")
	require.NoError(s, err)
	_, secret, err := s.admin.CreateKey(s.Context(), metering.KeyRequest{
		Account: a.ID, Name: "first", Scopes: []metering.Scope{metering.DNSRead},
	})
	require.NoError(s, err)
	return func(at time.Time) [2]int {
		s.Helper()
		s.now = at
		c, err := s.gate.Admit(s.Context(), secret.Reveal(), netip.MustParseAddr("192.0.2.1"), s.now)
		require.NoError(s, err)
		_, err = s.gate.Begin(s.Context(), c, metering.Op{RequestID: "req", Credits: 1 << 40})
		quota, ok := errors.AsType[*metering.QuotaError](err)
		require.True(s, ok, err)
		return [2]int{int(quota.Limit), c.Rate.Limit}
	}, a.ID
}

// A new price list, and a plan that was scheduled, hold for charges and gate from the first instant of their month on.
func TestPricesByMonth(t *testing.T) {
	s := newShop(t)
	january := metering.PeriodOf(s.now)
	at, _ := s.limits()
	require.NoError(t, s.imports("pack", january.Next(), func(p *metering.Plan) { p.Credits, p.PerMinute = 70_000, 3 }))
	require.Equal(t, [2]int{50_000, 60}, at(s.now))
	require.Equal(t, [2]int{50_000, 60}, at(january.End().Add(-time.Nanosecond)))
	require.Equal(t, [2]int{70_000, 3}, at(january.End()))

	s = newShop(t)
	at, account := s.limits()
	require.Equal(t, [2]int{50_000, 60}, at(s.now))
	_, err := s.admin.SetAccount(t.Context(), account, func(a *metering.Account) { a.Plan = "free" })
	require.NoError(t, err)
	require.Equal(t, [2]int{50_000, 60}, at(january.End().Add(-time.Nanosecond)))
	require.Equal(t, [2]int{30, 10}, at(january.End()))
}

// Plans in force do not change: only later months change, and a new plan may begin immediately.
func TestImportPlans(t *testing.T) {
	s := newShop(t)
	january := metering.PeriodOf(s.now)
	dearer := func(p *metering.Plan) { p.PriceCents = new(int64(3900)) }
	same := func(*metering.Plan) {}
	field := func(err error) string {
		fault, _ := errors.AsType[*metering.FieldError](err)
		if fault == nil {
			return ""
		}
		return fault.Field
	}
	require.Equal(t, "from", field(s.imports("pack", january, dearer)))
	require.Equal(t, "from", field(s.imports("pack", january.Previous(), dearer)))
	require.Equal(t, "from", field(s.imports("new", january.Previous(), same)))
	require.Equal(t, "plans", field(s.imports("new", january, func(p *metering.Plan) { p.PerMinute = 0 })))
	require.NoError(t, s.imports("new", january, same))
	require.Equal(t, "from", field(s.imports("new", january, dearer)), "it is in force now")
	require.NoError(t, s.imports("pack", january.Next().Next(), dearer))
	require.Equal(t, "from", field(s.imports("pack", january.Next().Next(), func(p *metering.Plan) { p.Credits++ })),
		"a version never changes")
	require.NoError(t, s.imports("pack", january.Next(), same), "nothing changes")
	versions, err := s.store.PlanVersions(t.Context())
	require.NoError(t, err)
	require.Len(t, versions, len(metering.DefaultPlans())+2)
	require.EqualValues(t, 2900, *s.prices.In(january.Next())["pack"].PriceCents)
	require.EqualValues(t, 3900, *s.prices.In(january.Next().Next())["pack"].PriceCents)

	s.now = january.Next().Next().Start()
	require.Equal(t, "from", field(s.imports("pack", metering.PeriodOf(s.now), same)), "back to what it was: later")
	require.NoError(t, s.imports("pack", metering.PeriodOf(s.now).Next(), same))
	empty := new(metering.PriceList)
	require.Nil(t, empty.In(january))
	require.Nil(t, metering.NewPriceList(metering.PlanVersion{From: january.Next()}).In(january))
}

// A more expensive plan, by price and then by credits, takes effect immediately; a cheaper one from the next month on,
// or now on request.
func TestChangeOfPlan(t *testing.T) {
	s := newShop(t)
	next := metering.PeriodOf(s.now).Next()
	type change struct {
		to     metering.PlanID
		agreed *int64
		now    bool
		want   metering.PlanID // this month; otherwise it is scheduled
	}
	for from, changes := range map[metering.PlanID][]change{
		"free":       {{"pack", nil, false, "pack"}, {"self", nil, false, "self"}},
		"pack":       {{"free", nil, false, "pack"}, {"free", nil, true, "free"}, {"pack", nil, false, "pack"}},
		"agency":     {{"enterprise", nil, false, "enterprise"}, {"enterprise", new(int64(100)), false, "agency"}},
		"enterprise": {{"agency", nil, false, "enterprise"}, {"agency", new(int64(100)), false, "agency"}},
	} {
		for _, c := range changes {
			account, err := s.admin.CreateAccount(t.Context(), "Example Ltd", from)
			require.NoError(t, err)
			admin := s.admin
			admin.DowngradeNow = c.now
			account, err = admin.SetAccount(t.Context(), account.ID, func(a *metering.Account) {
				a.Plan, a.AgreedPriceCents = c.to, c.agreed
			})
			require.NoError(t, err)
			require.Equal(t, c.want, account.PlanIn(next.Previous()), "%s to %s", from, c.to)
			require.Equal(t, c.to, account.PlanIn(next), "%s to %s", from, c.to)
		}
	}

	account, err := s.admin.CreateAccount(t.Context(), "Example Ltd", "agency")
	require.NoError(t, err)
	plans := metering.DefaultPlans()
	dollars := plans["enterprise"]
	dollars.ID, dollars.Currency = "dollars", "USD"
	plans["dollars"] = dollars
	abroad := s.admin
	abroad.Plans = plans
	toDollars := func(a *metering.Account) { a.Plan = "dollars" }
	moved, err := abroad.SetAccount(t.Context(), account.ID, toDollars)
	require.NoError(t, err)
	require.Equal(t, &metering.PlanChange{Plan: "dollars", From: next}, moved.Scheduled, "a month has one currency")
	abroad.DowngradeNow = true
	_, err = abroad.SetAccount(t.Context(), account.ID, toDollars)
	require.ErrorContains(t, err, `plan: the plan "dollars" is billed in USD and this month in EUR`)
	newcomer, err := s.admin.CreateAccount(t.Context(), "Example Ltd", "free")
	require.NoError(t, err)
	newcomer, err = abroad.SetAccount(t.Context(), newcomer.ID, toDollars)
	require.NoError(t, err)
	require.EqualValues(t, "dollars", newcomer.Plan, "nothing is billed in the other currency")

	set := func(edit func(*metering.Account)) metering.Account {
		t.Helper()
		a, err := s.admin.SetAccount(t.Context(), account.ID, edit)
		require.NoError(t, err)
		stored, err := s.store.Account(t.Context(), account.ID)
		require.NoError(t, err)
		require.Equal(t, stored, a)
		return a
	}
	require.Equal(t, &metering.PlanChange{Plan: "free", From: next},
		set(func(a *metering.Account) { a.Plan = "free" }).Scheduled)
	require.NotNil(t, set(func(a *metering.Account) { a.Name = "Other Ltd" }).Scheduled, "another change leaves it")
	s.now = next.Start()
	a := set(func(a *metering.Account) {
		require.EqualValues(t, "free", a.Plan)
		a.OverageBudgetCents = new(int64(1))
	})
	require.EqualValues(t, "free", a.Plan)
	require.Nil(t, a.Scheduled, "it has come, and is written down")
	book, err := metering.ReadTerms(t.Context(), s.store, a.ID)
	require.NoError(t, err)
	terms, err := book.In(a, next.Previous())
	require.NoError(t, err)
	require.Equal(t, []metering.Terms{{Plan: "agency", PlanSince: next.Previous(), Began: account.CreatedAt}}, terms)
	terms, err = book.In(a, next)
	require.NoError(t, err)
	require.Equal(t, []metering.Terms{{Plan: "free", PlanSince: next, Began: next.Start()}}, terms)

	for field, edit := range map[string]func(*metering.Account){
		"agreed_price_cents": func(a *metering.Account) { a.AgreedPriceCents = new(int64(-1)) },
		"tax":                func(a *metering.Account) { a.Tax.BasisPoints = 10_001 },
		"tax_note":           func(a *metering.Account) { a.Tax.Note = string(make([]byte, 201)) },
	} {
		_, err := s.admin.SetAccount(t.Context(), account.ID, edit)
		fault, ok := errors.AsType[*metering.FieldError](err)
		require.True(t, ok, err)
		require.Equal(t, field, fault.Field)
	}
}
