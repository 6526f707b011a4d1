package billing_test

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// step is a change of an account at an instant.
type step struct {
	at     string // of October 2026, such as "20T15:00"
	change func(*metering.Account)
	now    bool // a downgrade holds at once
}

func toPlan(p metering.PlanID) func(*metering.Account) {
	return func(a *metering.Account) { a.Plan = p }
}

// A day costs the dearest plan held from the month's beginning to its end. October has 31 days.
func TestBasePrice(t *testing.T) {
	cents := func(n int64) *int64 { return &n }
	agree := func(n int64) func(*metering.Account) {
		return func(a *metering.Account) { a.AgreedPriceCents = &n }
	}
	for name, c := range map[string]struct {
		created string
		plan    metering.PlanID
		steps   []step
		want    *int64
		lines   string
	}{
		"whole month":        {plan: "pack", want: cents(2900), lines: "pack 2026-10-01 31"},
		"created in it":      {created: "20T23:59", plan: "pack", want: cents(1123), lines: "pack 2026-10-20 12"}, // 1122.58
		"created at its end": {created: "31T23:59", plan: "pack", want: cents(94), lines: "pack 2026-10-31 1"},
		"upgrade": {plan: "pack", steps: []step{{at: "20T15:00", change: toPlan("agency")}},
			want: cents(7545), lines: "pack 2026-10-01 19, agency 2026-10-20 12"}, // 1777.42 + 5767.74
		"upgrade in the last second": {plan: "pack", steps: []step{{at: "31T23:59", change: toPlan("agency")}},
			want: cents(3287), lines: "pack 2026-10-01 30, agency 2026-10-31 1"},
		"downgrade": {plan: "agency", steps: []step{{at: "05T00:00", change: toPlan("pack")}},
			want: cents(14900), lines: "agency 2026-10-01 31"},
		"downgrade at once credits nothing": {plan: "agency", steps: []step{
			{at: "05T00:00", change: toPlan("free"), now: true},
		}, want: cents(14900), lines: "agency 2026-10-01 31"},
		"dear for an instant": {plan: "free", steps: []step{
			{at: "10T10:00", change: toPlan("agency")}, {at: "10T10:01", change: toPlan("free"), now: true},
		}, want: cents(10574), lines: "free 2026-10-01 9, agency 2026-10-10 22"}, // 10574.19
		"back and forth": {plan: "pack", steps: []step{
			{at: "03T00:00", change: toPlan("agency")}, {at: "04T00:00", change: toPlan("pack"), now: true},
			{at: "05T00:00", change: toPlan("agency")},
		}, want: cents(14126), lines: "pack 2026-10-01 2, agency 2026-10-03 29"},
		"no price": {plan: "enterprise", lines: "enterprise 2026-10-01 31"},
		"agreed price": {plan: "enterprise", steps: []step{{at: "01T00:00", change: agree(50_000)}}, want: cents(50_000),
			lines: "enterprise 2026-10-01 31"},
		"agreed later in it": {plan: "enterprise", steps: []step{{at: "09T00:00", change: agree(50_000)}},
			want: cents(50_000), lines: "enterprise 2026-10-01 31"},
		"agreed anew": {plan: "enterprise", steps: []step{
			{at: "01T00:00", change: agree(31_000)}, {at: "11T00:00", change: agree(62_000)},
		}, want: cents(52_000), lines: "enterprise 2026-10-01 10, enterprise 2026-10-11 21"},
		"no price for a part": {plan: "agency", steps: []step{{at: "20T15:00", change: toPlan("enterprise")}},
			lines: "agency 2026-10-01 19, enterprise 2026-10-20 12"},
		"own use costs nothing": {plan: "self", steps: []step{{at: "31T00:00", change: toPlan("pack"), now: true}},
			want: cents(94), lines: "self 2026-10-01 30, pack 2026-10-31 1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := inMemory(t)
			at := func(text string) { b.at("2026-10-" + text + ":00Z") }
			if c.created != "" {
				at(c.created)
			}
			a, err := b.admin().CreateAccount(t.Context(), "Example Ltd", c.plan)
			require.NoError(t, err)
			for _, s := range c.steps {
				at(s.at)
				admin := b.admin()
				admin.DowngradeNow = s.now
				_, err := admin.SetAccount(t.Context(), a.ID, s.change)
				require.NoError(t, err)
			}
			for _, later := range []string{"2026-11-01T00:15:00Z", "2027-02-01T00:00:00Z"} {
				b.at(later)
				b.close()
				v := b.invoice(a.ID)
				require.Equal(t, c.want, v.PriceCents)
				text := ""
				for i, l := range v.Plans {
					if i > 0 {
						text += ", "
					}
					text += fmt.Sprintf("%s %s %d", l.Plan, l.From, l.Days)
				}
				require.Equal(t, c.lines, text)
				require.Equal(t, c.want == nil, v.State == billing.Draft && v.PriceCents == nil)
				b.set(a.ID, toPlan("agency")) // which is of a later month
			}
			b.sound()
		})
	}
}

// The bill matches what was shown, at the rate that held at that time.
func TestOverageLines(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		id := b.account("pack")
		b.spend(id, 50_100)
		b.at("2026-10-10T00:00:00Z")
		b.set(id, toPlan("agency")) // includes what comes next
		b.spend(id, 900_000)
		admin := b.admin()
		admin.DowngradeNow = true
		b.at("2026-10-20T00:00:00Z")
		_, err := admin.SetAccount(t.Context(), id, toPlan("pack"))
		require.NoError(t, err)
		b.spend(id, 7)
		_, err = admin.SetAccount(t.Context(), id, toPlan("enterprise"))
		require.NoError(t, err)
		b.spend(id, 4_200_000) // included up to 5,000,000
		b.set(id, func(a *metering.Account) {
			a.OverageEnabled, a.AgreedPriceCents, a.Tax = false, new(int64), metering.Tax{BasisPoints: 1900, Note: "VAT 19 %"}
		})
		b.at("2026-11-02T00:00:00Z")
		b.close()
		v := b.invoice(id)
		require.Equal(t, []billing.OverageLine{
			{Rate: 30_000, Credits: 150_000, Exact: "4500"}, {Rate: 100_000, Credits: 107, Exact: "10.7"},
		}, v.Overage)
		require.Equal(t, [2]int64{5_150_107, 150_107}, [2]int64{v.UsedCredits, v.OverageCredits})
		require.Equal(t, "4510.7", v.OverageExact)
		require.Equal(t, int64(4511), v.OverageCents)
		net := *v.PriceCents + 4511
		require.Equal(t, (net*19+50)/100, v.TaxCents)
		require.Equal(t, net+v.TaxCents, v.TotalCents)
		require.Equal(t, "VAT 19 %", v.TaxNote)
		require.Zero(t, v.OverageRate, "there are several")
		b.sound()
	})
}

func TestCurrencies(t *testing.T) {
	b := inMemory(t)
	plans := metering.DefaultPlans()
	dollars := plans["agency"]
	dollars.ID, dollars.Currency = "dollars", "USD"
	plans["dollars"] = dollars
	b.Plans = plans
	mixed, missing := b.account("pack"), b.account("agency")
	b.at("2026-10-02T00:00:00Z")
	euros := metering.DefaultPlans() // Admin would let a plan in another currency wait for the next month
	euros["dollars"] = metering.Plan{ID: "dollars", Currency: "EUR", PriceCents: dollars.PriceCents, Credits: dollars.Credits}
	admin := metering.Admin{Store: b.store, Plans: euros, Clock: b.clock.Now}
	_, err := admin.SetAccount(t.Context(), mixed, toPlan("dollars"))
	require.NoError(t, err)
	delete(plans, "agency")
	b.at("2026-11-02T00:00:00Z")
	closed, err := b.Close(t.Context(), october)
	require.ErrorContains(t, err, "plans in EUR and in USD cannot be on one invoice")
	require.ErrorContains(t, err, `plan "agency" is not in the price list of 2026-10`)
	require.Zero(t, closed.Created)
	require.NotEmpty(t, missing)
}

// small are plans whose allowances a test can use up, with odd prices.
func small() metering.Plans {
	price := func(n int64) *int64 { return &n }
	plans := metering.Plans{}
	for _, p := range []metering.Plan{
		{ID: "none", ForSale: true, PriceCents: price(0), Credits: 3},
		{ID: "one", ForSale: true, PriceCents: price(1001), Credits: 10, OverageRate: 7_333_333},
		{ID: "two", ForSale: true, PriceCents: price(2503), Credits: 25, OverageRate: 3_000_001},
		{ID: "agreed", ForSale: true, Credits: 40, OverageRate: 1},
	} {
		p.Name, p.Currency, p.PerMinute = string(p.ID), "EUR", 60
		plans[p.ID] = p
	}
	return plans
}

// life is an account with what a customer has seen of it.
type life struct {
	*rapid.T
	now     time.Time
	store   metering.Store
	account metering.Account
	shown   map[metering.Period]metering.Balance // by the newest reply
	held    []heldSince
}

type heldSince struct {
	at    time.Time
	price int64
}

// changed notes the plan that holds from now on.
func (l *life) changed() {
	plan := small()[l.account.Plan]
	price := plan.PriceCents
	if price == nil {
		price = l.account.AgreedPriceCents
	}
	l.held = append(l.held, heldSince{l.now, *price})
}

func (l *life) act() {
	ctx := context.Background()
	admin := metering.Admin{Store: l.store, Plans: small(), Clock: func() time.Time { return l.now }}
	admin.DowngradeNow = rapid.Bool().Draw(l.T, "now")
	switch rapid.IntRange(0, 5).Draw(l.T, "act") {
	case 0:
		plan := rapid.SampledFrom([]metering.PlanID{"none", "one", "two", "agreed"}).Draw(l.T, "plan")
		l.set(admin, toPlan(plan))
	case 1:
		if !small()[l.account.Plan].HasHardCap() {
			l.set(admin, func(a *metering.Account) { a.OverageEnabled = !a.OverageEnabled })
		}
	case 2:
		agreed := rapid.Int64Range(0, 5000).Draw(l.T, "agreed")
		l.set(admin, func(a *metering.Account) { a.AgreedPriceCents = &agreed })
	default:
		begun, err := l.store.Begin(ctx, metering.Op{
			RequestID: metering.NewRequestID(), Account: l.account.ID, Key: "key_a", Endpoint: "POST /x",
			Credits: rapid.Int64Range(1, 12).Draw(l.T, "credits"), Now: l.now, Lease: l.now.Add(time.Minute),
		})
		if err != nil {
			return // there are no credits
		}
		b, err := l.store.Settle(ctx, *begun.Ticket, metering.Outcome{At: l.now})
		require.NoError(l.T, err)
		l.shown[b.Period] = b
	}
}

func (l *life) set(admin metering.Admin, change func(*metering.Account)) {
	a, err := admin.SetAccount(context.Background(), l.account.ID, change)
	require.NoError(l.T, err)
	l.account = a
	l.changed()
}

// pass lets time go by. A change that was scheduled comes with its month.
func (l *life) pass(d time.Duration) {
	if s := l.account.Scheduled; s != nil && !l.now.Add(d).Before(s.From.Start()) && l.account.Plan != s.Plan {
		now := l.now
		l.now, l.account.Plan = s.From.Start(), s.Plan
		l.changed()
		l.now = now
	}
	l.now = l.now.Add(d)
}

// base returns the price of a month, and its lower and upper bound.
func (l *life) base(p metering.Period) (want, least, most int64) {
	sum, low, high := new(big.Rat), new(big.Rat), new(big.Rat)
	days := int64(p.End().Sub(p.Start()).Hours() / 24)
	var all []int64
	for end := p.Start().AddDate(0, 0, 1); !end.After(p.End()); end = end.AddDate(0, 0, 1) {
		var prices []int64
		for i, h := range l.held {
			begun := h.at.Before(end)
			over := i+1 < len(l.held) && !l.held[i+1].at.After(p.Start())
			if begun && !over {
				prices = append(prices, h.price)
			}
		}
		if len(prices) > 0 {
			sum.Add(sum, big.NewRat(slices.Max(prices), days))
			all = append(all, prices...)
			low.Add(low, big.NewRat(1, days))
		}
	}
	if len(all) == 0 {
		return 0, 0, 0
	}
	high.Mul(low, big.NewRat(slices.Max(all), 1))
	low.Mul(low, big.NewRat(slices.Min(all), 1))
	return divideHalfUp(sum), divideHalfUp(low), divideHalfUp(high)
}

func divideHalfUp(r *big.Rat) int64 {
	twice := new(big.Rat).Add(new(big.Rat).Mul(r, big.NewRat(2, 1)), big.NewRat(1, 1))
	return new(big.Int).Div(twice.Num(), new(big.Int).Mul(twice.Denom(), big.NewInt(2))).Int64()
}

// micros is a time of so many microseconds, which every store can keep.
func costMicros(t *rapid.T, most time.Duration) time.Duration {
	return time.Duration(rapid.Int64Range(0, most.Microseconds()).Draw(t, "pass")) * time.Microsecond
}
