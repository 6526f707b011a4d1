package billing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// Suspend refuses what an account would be charged from now on; what was paid for stays readable. An account that is
// suspended stays so, for the reason that it has.
func (b Billing) Suspend(ctx context.Context, account metering.AccountID, reason string) (metering.Account, error) {
	return b.stand(ctx, account, Note{Action: AccountHeld, Reason: reason})
}

// Resume lets an account that was suspended go on.
func (b Billing) Resume(ctx context.Context, account metering.AccountID, reason string) (metering.Account, error) {
	return b.stand(ctx, account, Note{Action: AccountUnheld, Reason: reason})
}

// stand suspends an account, or ends that. The note comes first: a second try after a crash finds it.
func (b Billing) stand(ctx context.Context, id metering.AccountID, n Note) (metering.Account, error) {
	n.At, n.By = b.now(), b.by()
	suspend := n.Action == AccountHeld
	for range tries {
		a, err := b.Store.Account(ctx, id)
		if err != nil || (a.Suspension != nil) == suspend {
			return a, err
		}
		last, err := b.lastStanding(ctx, id)
		if err != nil {
			return a, err
		}
		if last.Action != n.Action {
			last, err = b.putNote(ctx, id, n)
		}
		if err == nil {
			a.Suspension = nil
			if suspend {
				a.Suspension = &metering.Suspension{At: last.At, Reason: last.Reason}
			}
			err = b.Store.PutAccount(ctx, a)
		}
		if !errors.Is(err, metering.ErrVersion) {
			a.Version++
			return a, err
		}
	}
	return metering.Account{}, fmt.Errorf("account %s: %w", id, metering.ErrVersion)
}

// putNote adds a note that is not of an invoice.
func (b Billing) putNote(ctx context.Context, account metering.AccountID, n Note) (Note, error) {
	c, err := b.chain(ctx, account)
	if err == nil {
		err = c.note(&n)
	}
	if err != nil {
		return n, err
	}
	records, err := c.all()
	if err == nil {
		err = b.Store.PutRecords(ctx, records...)
	}
	return n, err
}

// lastStanding is the newest note of an account that was suspended or resumed.
func (b Billing) lastStanding(ctx context.Context, account metering.AccountID) (last Note, err error) {
	for n, err := range b.Notes(ctx, account) {
		if err != nil {
			return last, err
		}
		if n.Action == AccountHeld || n.Action == AccountUnheld {
			last = n
		}
	}
	return last, nil
}

// standing suspends the account of an invoice that has failed, and lets one go on that was suspended for an invoice and
// has no other that has failed.
func (b Billing) standing(ctx context.Context, r metering.Record, v Invoice) error {
	b.By = server
	if v.State == Failed {
		_, err := b.stand(ctx, v.Account,
			Note{Action: AccountHeld, Invoice: v.ID, Reason: fmt.Sprintf("invoice %s is not paid", v.ID)})
		if err != nil {
			return err
		}
		return b.later(ctx, r, time.Time{})
	}
	last, err := b.lastStanding(ctx, v.Account)
	failed := false
	for other, e := range b.Invoices(ctx, Filter{Account: v.Account, State: Failed}) {
		failed, err = failed || other.ID != v.ID, errors.Join(err, e)
	}
	if err == nil && last.Action == AccountHeld && last.Invoice != "" && !failed {
		_, err = b.stand(ctx, v.Account,
			Note{Action: AccountUnheld, Invoice: v.ID, Reason: fmt.Sprintf("invoice %s is %s", v.ID, v.State)})
	}
	if err != nil {
		return err
	}
	return b.later(ctx, r, time.Time{})
}
