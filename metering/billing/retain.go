package billing

import (
	"context"
	"errors"
	"fmt"

	"github.com/diagkit/diagkit/metering"
)

// Retain is the first month that a ledger must keep where it is to keep what is not before want: want itself, or an
// earlier month that an account was charged credits for, and whose invoice its plan asks for and nobody has made.
func (b Billing) Retain(ctx context.Context, want metering.Period) (metering.Period, error) {
	if b.Plans == nil {
		b.Plans = metering.DefaultPlans()
	}
	first := want
	for e, err := range b.Store.Entries(ctx, metering.EntryFilter{Limit: 1}) {
		if err != nil {
			return want, err
		}
		first = e.Period.Previous() // charges are in the order of commit, so that the next may be of an earlier month
	}
	accounts, err := b.Store.Accounts(ctx)
	if err != nil {
		return want, err
	}
	for ; first.Before(want); first = first.Next() {
		for _, a := range accounts {
			owed, err := b.owed(ctx, a, first)
			if err != nil {
				return first, fmt.Errorf("whether %v is billed to %s: %w", first, a.ID, err)
			}
			if owed {
				return first, nil
			}
		}
	}
	return want, nil
}

// owed reports whether an account was charged in a month without having got its invoice.
func (b Billing) owed(ctx context.Context, a metering.Account, p metering.Period) (bool, error) {
	_, err := b.Store.Record(ctx, a.ID, InvoiceKind, p.String())
	if err == nil || !errors.Is(err, metering.ErrNotFound) {
		return false, err
	}
	balance, err := b.Store.Balance(ctx, a.ID, p)
	if err != nil || balance.Charges == 0 {
		return false, err
	}
	plan, _, err := b.terms(ctx, a, p)
	return price(plan) > 0 || !plan.HardCap(), err // who pays nothing, whatever the use, is owed no invoice
}
