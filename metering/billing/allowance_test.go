package billing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
)

// lowered is a bench whose plan pack includes 40,000 credits from October on, and its prices.
func lowered(t *testing.T) (*bench, *metering.PriceList, func(credits int64, from metering.Period, existing bool)) {
	clock := meteringtest.NewClock()
	prices := new(metering.PriceList)
	b := newBench(t, clock, memory.New(memory.Config{Clock: clock.Now, Plans: prices}))
	b.Plans = prices
	b.at("2026-09-10T00:00:00Z")
	first := metering.DefaultPlans().Versions(metering.Period{}, clock.Now())
	require.NoError(t, b.store.PutPlanVersions(t.Context(), first...))
	require.NoError(t, prices.Read(t.Context(), b.store))
	imports := func(credits int64, from metering.Period, existing bool) {
		plan := metering.DefaultPlans()["pack"]
		plan.Credits, plan.OverageRate, plan.PriceCents = credits, 2*plan.OverageRate, new(int64(3000))
		admin := metering.Admin{Store: b.store, Plans: prices, Clock: clock.Now, ReplaceAllowances: existing}
		_, err := admin.ImportPlans(t.Context(), metering.Plans{"pack": plan}, from)
		require.NoError(t, err)
		require.NoError(t, prices.Read(t.Context(), b.store))
	}
	imports(40_000, october, false)
	return b, prices, imports
}

// An invoice shows the allowance that the account keeps, at the price and the rate of the month, regardless of later
// changes.
func TestKeptAllowance(t *testing.T) {
	b, _, imports := lowered(t)
	old, returning, leaving := b.account("pack"), b.account("agency"), b.account("pack")
	b.at("2026-09-20T00:00:00Z")
	b.set(returning, toPlan("pack"))
	between := b.account("pack")
	b.at("2026-10-05T00:00:00Z")
	late := b.account("pack")
	for _, id := range []metering.AccountID{old, returning, leaving, between, late} {
		b.spend(id, 50_010)
	}
	b.set(leaving, toPlan("agency"))
	b.at("2026-10-20T00:00:00Z")
	b.set(old, toPlan("free"))
	b.at("2026-11-02T00:00:00Z")
	imports(30_000, october.Next().Next(), true)
	b.close()
	for id, want := range map[metering.AccountID][3]int64{
		old: {50_000, 10, 3000}, between: {50_000, 10, 3000}, returning: {40_000, 10_010, 3000},
		late: {40_000, 10_010, 2613}, leaving: {1_000_000, 10, 13_365},
	} {
		v := b.invoice(id)
		require.Equal(t, want, [3]int64{v.LimitCredits, v.OverageCredits, *v.PriceCents})
		require.EqualValues(t, 200_000, v.OverageRate, "of the month")
	}
	b.sound()

	b.set(between, toPlan("agency"))
	b.set(old, toPlan("pack"))
	b.at("2027-01-05T00:00:00Z")
	b.finalize()
	b.sound()
	for id, want := range map[metering.AccountID][2]int64{old: {40_000, 30_000}, between: {1_000_000, 1_000_000}} {
		for i, month := range []time.Month{time.November, time.December} {
			_, err := b.Close(t.Context(), metering.Period{Year: 2026, Month: month})
			require.NoError(t, err)
			list := b.invoices(billing.Filter{Account: id, Period: &metering.Period{Year: 2026, Month: month}})
			require.Len(t, list, 1)
			require.Equal(t, want[i], list[0].LimitCredits, "%s in %v", id, month)
		}
	}
	b.sound()
}

// Invoices that were made before accounts kept an allowance say that of the month, and are sound.
func TestInvoiceBeforeAllowances(t *testing.T) {
	b, prices, _ := lowered(t)
	id := b.account("pack")
	b.at("2026-11-02T00:00:00Z")
	plans := metering.Plans{}
	for _, plan := range prices.In(october) {
		plans[plan.ID] = metering.Plan{
			ID: plan.ID, Name: plan.Name, Currency: plan.Currency, PriceCents: plan.PriceCents, ForSale: plan.ForSale,
			Credits: plan.Credits, PerMinute: plan.PerMinute, OverageRate: plan.OverageRate,
		}
	}
	b.Plans = plans
	b.close()
	require.EqualValues(t, 40_000, b.invoice(id).LimitCredits)
	b.Plans = prices
	b.sound()
}
