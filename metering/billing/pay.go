package billing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// retryAfter is the delay after each failed attempt. After the last one the invoice has failed, and stays so until
// [Billing.Retry].
var retryAfter = [...]time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour, 72 * time.Hour}

const (
	// chargeTime bounds a call of a biller.
	chargeTime = 30 * time.Second
	// chargeLease is how long an invoice is reserved for the node that charges it. It exceeds chargeTime by the
	// latency of a slow store and the difference between the clocks of two nodes.
	chargeLease = 5 * time.Minute
	// minPollInterval and maxPollInterval bound the interval between polls of a pending payment. It grows with its age.
	minPollInterval = 5 * time.Minute
	maxPollInterval = 6 * time.Hour
	// maxAttempts is how many attempts an invoice keeps.
	maxAttempts = 50
	// maxErrorBytes bounds the error text that it keeps.
	maxErrorBytes = 300
	// payWorkers is how many invoices are charged at once, since each may wait for the biller.
	payWorkers = 8
	// payPageSize is how many invoices are read at once. Other nodes take some of them meanwhile.
	payPageSize = 100
)

// ErrNoBiller means that no biller is configured to charge an invoice.
var ErrNoBiller = errors.New("no biller is configured")

// Paying is the result of a run of Pay.
type Paying struct {
	Finalized int `json:"finalized_count"`
	Paid      int `json:"paid_count"`
	Pending   int `json:"pending_count"`
	Failed    int `json:"failed_count"`    // attempts
	Exhausted int `json:"exhausted_count"` // invoices of which that was the last attempt
}

// Pay finalizes every draft that is due, makes an attempt at every invoice that is due, and polls pending payments.
// Only one of several nodes works on an invoice. One that could not be charged, or whose charge could not be noted, is
// due again later; the error joins only the faults of the store.
func (b Billing) Pay(ctx context.Context) (Paying, error) {
	if b.Biller == nil {
		return Paying{}, ErrNoBiller
	}
	return b.processDue(ctx)
}

// processDue processes everything due; without a biller it only finalizes drafts.
func (b Billing) processDue(ctx context.Context) (sum Paying, err error) {
	now := b.now() // so that invoices due later are left to the next run
	var faults []error
	for {
		var page []metering.Record
		for r, err := range b.Store.Records(ctx, metering.RecordFilter{Kind: InvoiceKind, DueBy: now}) {
			if err != nil {
				return sum, errors.Join(append(faults, err)...)
			}
			if b.Biller == nil {
				if v, err := parseInvoice(r); err == nil && v.State != Draft {
					continue
				}
			}
			if page = append(page, r); len(page) == payPageSize {
				break
			}
		}
		processed, err := b.processPage(ctx, page, &sum)
		faults = append(faults, err)
		if ctx.Err() != nil {
			return sum, errors.Join(append(faults, ctx.Err())...)
		}
		if processed == 0 { // there is nothing, or the store is broken
			return sum, errors.Join(faults...)
		}
	}
}

// processPage works on each invoice of a page, and returns how many of them are no longer due.
func (b Billing) processPage(ctx context.Context, page []metering.Record, sum *Paying) (processed int, err error) {
	var mu sync.Mutex
	var faults []error
	forEach(payWorkers, page, func(r metering.Record) {
		var did Action
		var v Invoice
		err := ctx.Err()
		if err == nil {
			err = metering.Contain(func() (err error) { did, v, err = b.processInvoice(ctx, r); return err })
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case ctx.Err() != nil && err != nil:
			return
		case err != nil && !errors.Is(err, metering.ErrVersion): // another node has it
			if len(faults) < maxFaults {
				faults = append(faults, err)
			}
			return
		}
		processed++
		switch {
		case err != nil || did == "":
		case did == Finalized:
			sum.Finalized++
		case v.State == Paid:
			sum.Paid++
		case v.State == Pending:
			sum.Pending++
		default:
			sum.Failed++
			if v.State == Failed {
				sum.Exhausted++
			}
		}
	})
	return processed, errors.Join(faults...)
}

// forEach calls do for every item of a list, n at a time.
func forEach[T any](n int, list []T, do func(T)) {
	work := make(chan T)
	var wg sync.WaitGroup
	for range min(n, len(list)) {
		wg.Go(func() {
			for item := range work {
				do(item)
			}
		})
	}
	for _, item := range list {
		work <- item
	}
	close(work)
	wg.Wait()
}

// processInvoice does what is due for an invoice, and returns what it did.
func (b Billing) processInvoice(ctx context.Context, r metering.Record) (did Action, v Invoice, err error) {
	if v, err = parseInvoice(r); err != nil {
		return "", v, err
	}
	switch v.State {
	case Draft:
		did, err = b.finalizeDue(ctx, r, &v)
	case Open:
		did, err = b.charge(ctx, r, &v)
	case Pending:
		did, err = b.poll(ctx, r, &v)
	default:
		err = b.updateSuspension(ctx, r, v)
	}
	if err != nil {
		err = fmt.Errorf("invoice %s of %s: %w", v.ID, v.Account, err)
	}
	return did, v, err
}

// setDue moves the time at which a record is due, and nothing else.
func (b Billing) setDue(ctx context.Context, r metering.Record, due time.Time) error {
	r.Due = due
	return b.Store.PutRecords(ctx, r)
}

// charge makes one attempt: it claims the invoice, charges it, and notes the outcome.
func (b Billing) charge(ctx context.Context, r metering.Record, v *Invoice) (Action, error) {
	return b.callBiller(ctx, r, v, b.Biller.Charge, func(p Payment, failure error, at time.Time) (time.Time, Action) {
		v.addAttempt(at)
		return v.applyOutcome(p, failure, at), Charged
	})
}

// addAttempt adds an attempt with an unknown outcome.
func (v *Invoice) addAttempt(at time.Time) *Attempt {
	attempt := Attempt{Number: 1, At: at}
	if last := v.lastAttempt(); last != nil {
		attempt.Number = last.Number + 1
	}
	v.Attempts = append(v.Attempts, attempt)
	v.Attempts = v.Attempts[max(0, len(v.Attempts)-maxAttempts):]
	return v.lastAttempt()
}

// poll polls a pending payment. It stays pending while its outcome is unknown.
func (b Billing) poll(ctx context.Context, r metering.Record, v *Invoice) (Action, error) {
	poller, ok := b.Biller.(Poller)
	if !ok {
		return "", b.setDue(ctx, r, v.pollAt(b.now()))
	}
	return b.callBiller(ctx, r, v, poller.Payment, func(p Payment, failure error, at time.Time) (time.Time, Action) {
		if failure != nil || !p.Status.Known() || p.Status == PaymentPending {
			return v.pollAt(at), ""
		}
		p.Reference = cmp.Or(p.Reference, v.Payment)
		return v.applyOutcome(p, nil, at), Settled
	})
}

// pollAt returns when a payment that is pending at an instant is polled next.
func (v *Invoice) pollAt(at time.Time) time.Time {
	age := time.Duration(0)
	if last := v.lastAttempt(); last != nil {
		age = at.Sub(last.At)
	}
	return at.Add(min(max(age/2, minPollInterval), maxPollInterval))
}

// callBiller claims an invoice, calls the biller, and stores what record makes of the response; where that is no
// action, only when the invoice is due next.
func (b Billing) callBiller(
	ctx context.Context, r metering.Record, v *Invoice, call func(context.Context, Invoice) (Payment, error),
	record func(p Payment, failure error, at time.Time) (due time.Time, did Action),
) (Action, error) {
	if err := b.setDue(ctx, r, b.now().Add(chargeLease)); err != nil {
		return "", err
	}
	r.Version++
	callCtx, cancel := context.WithTimeout(ctx, chargeTime)
	p, err := call(callCtx, *v)
	cancel()
	if ctx.Err() != nil && err != nil {
		return "", ctx.Err() // interrupted by our own context: the lease expires
	}
	if err != nil {
		b.log().Warn("the outcome of a payment is unknown", "account", v.Account, "invoice", v.ID, "error", err)
	}
	now := b.now()
	due, did := record(p, err, now)
	// A payment that was made is noted even if the server stops at this moment.
	recordCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), chargeTime)
	defer cancel()
	if did == "" {
		return "", b.setDue(recordCtx, r, due)
	}
	n := Note{Action: did, At: now, By: serverActor, Payment: v.Payment}
	if last := v.lastAttempt(); last != nil {
		n.Reason = last.Error
	}
	err = b.put(recordCtx, r, *v, due, &n)
	if errors.Is(err, metering.ErrVersion) && v.State == Paid { // a report was faster, which may be of another payment
		paid := Payment{Status: PaymentPaid, Reference: v.Payment}
		report := PaymentReport{Account: v.Account, Invoice: v.ID, Payment: paid}
		_, err = b.Settle(recordCtx, report)
		return "", err
	}
	return did, err
}

// applyOutcome records the outcome of the newest attempt, and returns when the invoice is due next.
func (v *Invoice) applyOutcome(p Payment, failure error, at time.Time) (due time.Time) {
	p.Reference = PaymentRef(truncate(string(p.Reference)))
	last := v.lastAttempt()
	last.Status, last.Error, last.Reference = p.Status, p.failure(), p.Reference
	if failure != nil {
		last.Status, last.Error = "", truncate(metering.Reason(failure, "biller"))
	}
	if !last.Status.Known() {
		last.Status = ""
	}
	v.NextAttempt, v.Payment = nil, ""
	switch last.Status {
	case PaymentPaid:
		return v.markPaid(p.Reference, at)
	case PaymentPending:
		v.State, v.Payment = Pending, p.Reference
		return v.pollAt(at)
	case PaymentDeclined:
		v.Declines++
	}
	v.Failures++
	if v.Failures <= len(retryAfter) {
		due = at.Add(retryAfter[v.Failures-1])
		v.State, v.NextAttempt = Open, &due
		return due
	}
	v.State = Failed
	if last.Status == PaymentDeclined {
		return at // to suspend the account
	}
	return time.Time{}
}

// markPaid marks the invoice as paid, and returns when it is due next.
func (v *Invoice) markPaid(ref PaymentRef, at time.Time) (due time.Time) {
	v.State, v.Payment, v.PaidAt, v.NextAttempt = Paid, ref, &at, nil
	return v.resumeCheckAt(at)
}

// resumeCheckAt returns when to check whether an account that was suspended for the invoice may resume: immediately, if
// all attempts of a schedule have failed.
func (v *Invoice) resumeCheckAt(at time.Time) (due time.Time) {
	if last := v.lastAttempt(); last != nil && last.Number > len(retryAfter) {
		due = at
	}
	return due
}
