package billing

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/diagkit/diagkit/metering"
)

const (
	// runInterval is the interval at which Run checks what to close and pay.
	runInterval = time.Minute
	// catchUpMonths is how many months back Run searches for invoices; it closes all months from the oldest one on.
	catchUpMonths = 12
)

// Run closes months and has invoices paid until the context ends. It begins with the month before this one, or
// with the oldest of the past year that has invoices: a server may have been away for longer, or a month may not have
// been closed for every account.
func (b Billing) Run(ctx context.Context) {
	b.Log = b.log()
	var closed metering.Period // the last that this run has closed
	pause := time.NewTimer(withJitter(runInterval))
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		if b.Doubt == nil || b.Doubt() == nil {
			closed = b.round(ctx, closed)
		}
		pause.Reset(withJitter(runInterval))
	}
}

// round closes the months that can be closed, and charges the invoices that are due.
func (b Billing) round(ctx context.Context, closed metering.Period) metering.Period {
	closed, closing := b.closeNext(ctx, closed)
	if closing != nil && ctx.Err() == nil {
		b.Log.Error("closing months", "error", closing)
	}
	paid, err := b.processDue(ctx)
	if err != nil && ctx.Err() == nil {
		b.Log.Error("charging invoices", "error", err)
	}
	if paid != (Paying{}) {
		b.Log.Info("charged invoices", "finalized", paid.Finalized, "paid", paid.Paid, "pending", paid.Pending,
			"failed_attempts", paid.Failed)
	}
	if b.Observe != nil && ctx.Err() == nil {
		b.Observe(closing, paid)
	}
	return closed
}

// withJitter spreads nodes that were started together: half to one and a half of a pause.
func withJitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// closeNext closes the months after the given one that can be closed, and returns the last of those closed without a
// gap.
func (b Billing) closeNext(ctx context.Context, closed metering.Period) (metering.Period, error) {
	last := metering.PeriodOf(b.now().Add(-Grace)).Previous()
	if closed == last {
		return closed, nil
	}
	if closed == (metering.Period{}) {
		var err error
		if closed, err = b.lastClosed(ctx, last); err != nil {
			return metering.Period{}, err
		}
	}
	var faults []error
	for p := closed.Next(); !last.Before(p); p = p.Next() {
		result, err := b.Close(ctx, p)
		b.Log.Info("closed a month", "period", p, "created", result.Created, "existed", result.Existed)
		if err != nil {
			faults = append(faults, err)
		} else if len(faults) == 0 {
			closed = p // else the month at fault is tried again, and keeps no later one from its close
		}
	}
	return closed, errors.Join(faults...)
}

// lastClosed returns the month before the first one to close: the one before that of the oldest invoice, or the first
// of the past year, since a close of any later month may have been interrupted, or have failed for an account. Without
// any invoice it is the month before last, so that billing does not start with the past.
func (b Billing) lastClosed(ctx context.Context, last metering.Period) (metering.Period, error) {
	for r, err := range b.Store.Records(ctx, metering.RecordFilter{Kind: InvoiceKind, Limit: 1}) {
		if err != nil {
			return metering.Period{}, err
		}
		v, err := parseInvoice(r)
		if err != nil {
			return metering.Period{}, err
		}
		past := metering.PeriodOf(last.Start().AddDate(0, 1-catchUpMonths, 0))
		if past.Before(v.Period) {
			past = v.Period
		}
		return past.Previous(), nil
	}
	return last.Previous(), nil
}
