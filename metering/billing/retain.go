package billing

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/metering"
)

// Retain is the first month that a ledger must keep where it is to keep what is not before want: want itself, or an
// earlier month that an account was charged credits for, and whose invoice its plan asks for and nobody has made.
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
			owed, err := c.owes(ctx, a)
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

// owes reports whether an account was charged in the month without having got its invoice.
func (c *closing) owes(ctx context.Context, a metering.Account) (bool, error) {
	t, used, err := c.used(ctx, a)
	if err != nil || used.Charges == 0 {
		return false, err
	}
	owed := false // who pays nothing, whatever the use, is owed no invoice
	for _, h := range t.held {
		owed = owed || h.price == nil || *h.price > 0 || !c.plans[h.plan].HardCap()
	}
	if !owed {
		return false, nil
	}
	one, err := c.prepare(ctx, a)
	return one.outcome == created, err
}
