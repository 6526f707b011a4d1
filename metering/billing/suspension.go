package billing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// Suspend refuses new charges of an account from now on; paid results stay readable. An account that is already
// suspended keeps its reason.
func (b Billing) Suspend(ctx context.Context, account metering.AccountID, reason string) (metering.Account, error) {
	return b.setSuspension(ctx, account, Note{Action: AccountSuspended, Reason: reason})
}

// Resume ends the suspension of an account.
func (b Billing) Resume(ctx context.Context, account metering.AccountID, reason string) (metering.Account, error) {
	return b.setSuspension(ctx, account, Note{Action: AccountResumed, Reason: reason})
}

// setSuspension suspends an account, or ends its suspension. The note is written first: a retry after a crash finds it.
func (b Billing) setSuspension(ctx context.Context, id metering.AccountID, n Note) (metering.Account, error) {
	n.At, n.By = b.now(), b.by()
	suspend := n.Action == AccountSuspended
	for range maxTries {
		a, err := b.Store.Account(ctx, id)
		if err != nil || (a.Suspension != nil) == suspend {
			return a, err
		}
		last, err := b.lastSuspensionNote(ctx, id)
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
	if err != nil {
		return n, err
	}
	c.addNote(&n)
	return n, b.Store.PutRecords(ctx, c.pendingRecords()...)
}

// lastSuspensionNote is the newest note of an account that was suspended or resumed.
func (b Billing) lastSuspensionNote(ctx context.Context, account metering.AccountID) (last Note, err error) {
	for n, err := range b.Notes(ctx, account) {
		if err != nil {
			return last, err
		}
		if n.Action == AccountSuspended || n.Action == AccountResumed {
			last = n
		}
	}
	return last, nil
}

// updateSuspension suspends the account of an invoice that has failed, and resumes an account that was suspended for an
// invoice once its last failed invoice is paid.
func (b Billing) updateSuspension(ctx context.Context, r metering.Record, v Invoice) error {
	b.By = serverActor
	if v.State == Failed {
		_, err := b.setSuspension(ctx, v.Account,
			Note{Action: AccountSuspended, Invoice: v.ID, Reason: fmt.Sprintf("invoice %s is not paid", v.ID)})
		if err != nil {
			return err
		}
		return b.setDue(ctx, r, time.Time{})
	}
	last, err := b.lastSuspensionNote(ctx, v.Account)
	failed := false
	for other, e := range b.Invoices(ctx, Filter{Account: v.Account, State: Failed}) {
		failed, err = failed || other.ID != v.ID, errors.Join(err, e)
	}
	if err == nil && last.Action == AccountSuspended && last.Invoice != "" && !failed {
		_, err = b.setSuspension(ctx, v.Account,
			Note{Action: AccountResumed, Invoice: v.ID, Reason: fmt.Sprintf("invoice %s is %s", v.ID, v.State)})
	}
	if err != nil {
		return err
	}
	return b.setDue(ctx, r, time.Time{})
}
