package billing

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// month is the data from which the invoices of a month are made.
type month struct {
	Billing
	period      metering.Period
	plans       metering.Plans
	formerTerms metering.TermsHistory
	balances    map[metering.AccountID]metering.Balance // nil: read one by one
}

// month reads a month, of one account or, for an empty id, of all.
func (b Billing) month(ctx context.Context, p metering.Period, account metering.AccountID) (m *month, err error) {
	m = &month{Billing: b, period: p}
	if m.plans = metering.DefaultPlans(); b.Plans != nil {
		m.plans = b.Plans.In(p)
	}
	if m.formerTerms, err = metering.ReadTerms(ctx, b.Store, account); err != nil {
		return nil, err
	}
	scan, ok := b.Store.(metering.Monthly)
	if account != "" || !ok {
		return m, nil
	}
	m.balances = map[metering.AccountID]metering.Balance{}
	for one, err := range scan.Balances(ctx, p) {
		if err != nil {
			return nil, fmt.Errorf("balances: %w", err)
		}
		m.balances[one.Account] = one.Balance
	}
	return m, nil
}

// monthOf reads a month and one account.
func (b Billing) monthOf(
	ctx context.Context, id metering.AccountID, p metering.Period,
) (metering.Account, *month, error) {
	a, err := b.Store.Account(ctx, id)
	if err != nil {
		return a, nil, err
	}
	m, err := b.month(ctx, p, id)
	return a, m, err
}

// termsAndBalance returns the terms and the use of an account in the month.
func (m *month) termsAndBalance(ctx context.Context, a metering.Account) (t terms, b metering.Balance, err error) {
	if t, err = m.terms(a); err != nil {
		return t, b, err
	}
	if m.balances != nil {
		return t, m.balances[a.ID], nil
	}
	b, err = m.Store.Balance(ctx, a.ID, m.period)
	return t, b, err
}

// terms are what an account held in the month: its plans with their prices, the plan at the end, and whether one of
// them is invoiced even if unused.
type terms struct {
	plans    []heldPlan
	lastPlan metering.Plan
	limit    int64 // the allowance at the end
	currency string
	isBilled bool
}

func (m *month) terms(a metering.Account) (t terms, err error) {
	list, err := m.formerTerms.In(a, m.period)
	if err != nil {
		return t, err
	}
	for _, one := range list {
		plan, ok := m.plans[one.Plan]
		if !ok {
			return t, fmt.Errorf("plan %q is not in the price list of %v", one.Plan, m.period)
		}
		price := priceOf(plan, one.AgreedPriceCents, a.AgreedPriceCents)
		if price == nil || *price > 0 || !plan.HasHardCap() {
			if t.currency != "" && plan.Currency != t.currency {
				return t, fmt.Errorf("plans in %s and in %s cannot be on one invoice", t.currency, plan.Currency)
			}
			t.currency = plan.Currency
		}
		t.plans = append(t.plans, heldPlan{plan.ID, one.Began, price})
		t.lastPlan, t.limit = plan, plan.AllowanceSince(one.PlanSince)
		t.isBilled = t.isBilled || plan.ForSale || price != nil && *price > 0
	}
	return t, nil
}

// priceOf returns the price of a plan, or for a plan without one the agreed price: at the time, or by now. A plan that
// is not for sale costs nothing.
func priceOf(p metering.Plan, agreed ...*int64) *int64 {
	for _, price := range append([]*int64{p.PriceCents}, agreed...) {
		if price != nil {
			return price
		}
	}
	if p.ForSale {
		return nil
	}
	return new(int64)
}

// invoice returns the invoice of an account for the month.
func (m *month) invoice(
	ctx context.Context, a metering.Account, t terms, used metering.Balance, id string,
) (v Invoice, err error) {
	now := m.now()
	v = Invoice{
		ID: id, Number: invoiceNumber(a.ID, id), Account: a.ID, Name: a.Name, Period: m.period, Plan: t.lastPlan.ID,
		Currency:    cmp.Or(t.currency, t.lastPlan.Currency),
		UsedCredits: used.Used, LimitCredits: t.limit, OverageCredits: used.Overage,
		Overage: []OverageLine{}, State: Draft, Attempts: []Attempt{}, CreatedAt: now,
	}
	if used.Overage > 0 {
		if v.Overage, err = m.overage(ctx, a.ID); err != nil {
			return v, err
		}
	}
	if len(v.Overage) == 1 {
		v.OverageRate = v.Overage[0].Rate
	}
	if err := v.price(t.plans, a.Tax); err != nil {
		return v, err
	}
	if v.PriceCents != nil && (v.AmountCents == 0 || m.Draft < 0) {
		v.makeFinal(now)
	}
	return v, nil
}

// overage sums the use admitted above the allowance, by rate.
func (m *month) overage(ctx context.Context, account metering.AccountID) ([]OverageLine, error) {
	sums := map[int64]int64{}
	filter := metering.EntryFilter{Account: account, Period: &m.period, Overage: true}
	for e, err := range m.Store.Entries(ctx, filter) {
		if err != nil {
			return nil, err
		}
		sums[e.OverageRate] += e.Overage
	}
	lines := []OverageLine{}
	for _, rate := range slices.Sorted(maps.Keys(sums)) {
		lines = append(lines, OverageLine{rate, sums[rate], decimalCents(costMicros(sums[rate], rate))})
	}
	return lines, nil
}

// makeFinal makes a draft with a price final.
func (v *Invoice) makeFinal(at time.Time) {
	v.State, v.FinalizedAt = Open, &at
	if v.AmountCents == 0 {
		v.State, v.PaidAt = Paid, &at
	}
}

// firstDue is when a new or a finalized invoice is due.
func (b Billing) firstDue(v *Invoice, by time.Time) (due time.Time) {
	switch v.State {
	case Draft:
		return v.CreatedAt.Add(b.draft())
	case Open:
		v.NextAttempt = &by
		return by
	}
	return time.Time{}
}

// finalize prices a draft again, by the current state and agreements of the account. It stays a draft if it has no
// price.
func (b Billing) finalize(ctx context.Context, v *Invoice, now time.Time) error {
	a, m, err := b.monthOf(ctx, v.Account, v.Period)
	if err != nil {
		return err
	}
	t, err := m.terms(a)
	if err != nil {
		return err
	}
	v.Name = a.Name
	if err := v.price(t.plans, a.Tax); err != nil {
		return err
	}
	if v.PriceCents != nil {
		v.makeFinal(now)
	}
	return nil
}

// finalizeDue finalizes a draft whose time has come.
func (b Billing) finalizeDue(ctx context.Context, r metering.Record, v *Invoice) (Action, error) {
	now := b.now()
	if err := b.finalize(ctx, v, now); err != nil {
		return "", err
	}
	if v.State == Draft {
		return "", b.setDue(ctx, r, now.Add(defaultDraft))
	}
	n := Note{Action: Finalized, At: now, By: serverActor}
	due := b.firstDue(v, r.Due)
	return Finalized, b.put(ctx, r, *v, due, &n)
}

// Preview returns the invoice of an account for a month that is not over, assuming no further use or change. It is not
// stored.
func (b Billing) Preview(ctx context.Context, account metering.AccountID, p metering.Period) (Invoice, error) {
	v, err := b.makeInvoice(ctx, account, p, p.String())
	v.State, v.FinalizedAt, v.PaidAt = Draft, nil, nil
	return v, err
}

// makeInvoice makes the invoice of one account for a month.
func (b Billing) makeInvoice(
	ctx context.Context, account metering.AccountID, p metering.Period, id string,
) (Invoice, error) {
	a, m, err := b.monthOf(ctx, account, p)
	if err != nil {
		return Invoice{}, err
	}
	t, used, err := m.termsAndBalance(ctx, a)
	if err != nil {
		return Invoice{}, err
	}
	return m.invoice(ctx, a, t, used, id)
}

// Retain returns the first month that a ledger must keep if it may drop everything before want: want itself, or an
// earlier month in which an account was charged credits and whose required invoice is missing.
func (b Billing) Retain(ctx context.Context, want metering.Period) (metering.Period, error) {
	first := want
	for e, err := range b.Store.Entries(ctx, metering.EntryFilter{Limit: 1}) {
		if err != nil {
			return want, err
		}
		first = e.Period.Previous() // charges are in the order of commit, so that the next may be of an earlier month
	}
	for ; first.Before(want); first = first.Next() {
		c, err := b.closing(ctx, first)
		if err != nil {
			return first, err
		}
		for _, a := range c.accounts {
			owes, err := c.owesInvoice(ctx, a)
			if err != nil {
				return first, fmt.Errorf("whether %v is billed to %s: %w", first, a.ID, err)
			}
			if owes {
				return first, nil
			}
		}
	}
	return want, nil
}

// owesInvoice reports whether an account was charged in the month without having got its invoice.
func (c *closing) owesInvoice(ctx context.Context, a metering.Account) (bool, error) {
	t, used, err := c.termsAndBalance(ctx, a)
	if err != nil || used.Charges == 0 {
		return false, err
	}
	isBillable := false // a plan that is free, whatever the use, needs no invoice
	for _, h := range t.plans {
		isBillable = isBillable || h.price == nil || *h.price > 0 || !c.plans[h.plan].HasHardCap()
	}
	if !isBillable {
		return false, nil
	}
	one, err := c.prepare(ctx, a)
	return one.outcome == createdInvoice, err
}
