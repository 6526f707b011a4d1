package billing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/diagkit/diagkit/metering"
)

// retryAfter is how long after each failed attempt the next one is made. After the last the invoice has failed,
// and stays so until [Billing.Retry].
var retryAfter = [...]time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour, 72 * time.Hour}

const (
	// chargeTime is how long a biller may take.
	chargeTime = 30 * time.Second
	// chargeLease is for how long an invoice belongs to the node that has begun to charge it. It is longer than
	// chargeTime by what a slow store and the clocks of two nodes may take.
	chargeLease = 5 * time.Minute
	// maxAttempts is how many attempts an invoice remembers.
	maxAttempts = 50
	// maxErrorBytes is how much of an error it remembers.
	maxErrorBytes = 300
	// payers is how many invoices are charged at once, since each may wait for the biller.
	payers = 8
	// payPage is how many invoices are looked up at once. Other nodes take some of them meanwhile.
	payPage = 100
)

// ErrNoBiller means that there is nobody to charge an invoice.
var ErrNoBiller = errors.New("no biller is configured")

// Paying is what a run of Pay has done.
type Paying struct {
	Paid   int `json:"paid_count"`
	Failed int `json:"failed_count"` // attempts
}

// Pay makes an attempt at every invoice that is due. Of several nodes, one charges an invoice. An invoice that could
// not be charged, or whose charge could not be noted, is due again later; the error joins only the faults of the store.
func (b Billing) Pay(ctx context.Context) (Paying, error) {
	var sum Paying
	if b.Biller == nil {
		return sum, ErrNoBiller
	}
	now := b.now() // so that what becomes due meanwhile is left to the next run
	var faults []error
	for {
		var page []metering.Record
		filter := metering.RecordFilter{Kind: InvoiceKind, DueBy: now, Limit: payPage}
		for r, err := range b.Store.Records(ctx, filter) {
			if err != nil {
				return sum, errors.Join(append(faults, err)...)
			}
			page = append(page, r)
		}
		taken, err := b.payAll(ctx, page, &sum)
		faults = append(faults, err)
		if ctx.Err() != nil {
			return sum, errors.Join(append(faults, ctx.Err())...)
		}
		if len(page) < payPage || taken == 0 { // the latter: the store is broken
			return sum, errors.Join(faults...)
		}
	}
}

// payAll makes an attempt at each invoice of a page, and tells how many of them are due no more.
func (b Billing) payAll(ctx context.Context, page []metering.Record, sum *Paying) (taken int, err error) {
	var mu sync.Mutex
	var faults []error
	each(payers, page, func(r metering.Record) {
		var state State
		err := ctx.Err()
		if err == nil {
			state, err = b.pay(ctx, r)
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case ctx.Err() != nil && err != nil:
		case errors.Is(err, metering.ErrVersion): // another node has it
			taken++
		case err != nil:
			if len(faults) < maxFaults {
				faults = append(faults, err)
			}
		case state == Paid:
			taken++
			sum.Paid++
		default:
			taken++
			sum.Failed++
		}
	})
	return taken, errors.Join(faults...)
}

// each calls do for every item of a list, for n of them at once.
func each[T any](n int, list []T, do func(T)) {
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

// pay makes one attempt: it takes the invoice, charges it, and notes what came of it.
func (b Billing) pay(ctx context.Context, r metering.Record) (State, error) {
	v, err := parseInvoice(r)
	if err != nil {
		return "", err
	}
	claim, err := v.record(r.Version, b.now().Add(chargeLease))
	if err != nil {
		return "", err
	}
	if err := b.Store.PutRecords(ctx, claim); err != nil {
		return "", fmt.Errorf("taking invoice %s of %s: %w", v.ID, v.Account, err)
	}
	limited, cancel := context.WithTimeout(ctx, chargeTime)
	payment, err := b.Biller.Charge(limited, v)
	cancel()
	if ctx.Err() != nil && err != nil {
		return "", ctx.Err() // it was we who broke it off: the lease ends by itself
	}
	records, err := v.attempted(r.Version+1, b.now(), payment, err)
	if err != nil {
		return "", err
	}
	// A payment that was made is noted even if the server stops at this moment.
	noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), chargeTime)
	defer cancel()
	if err := b.Store.PutRecords(noting, records...); err != nil {
		return "", fmt.Errorf("noting the attempt at invoice %s of %s: %w", v.ID, v.Account, err)
	}
	return v.State, nil
}

// attempted adds an attempt, and returns the invoice and its event for one PutRecords.
func (v *Invoice) attempted(version int64, at time.Time, p Payment, failure error) ([]metering.Record, error) {
	attempt := Attempt{Number: 1, At: at}
	if n := len(v.Attempts); n > 0 {
		attempt.Number = v.Attempts[n-1].Number + 1
	}
	if attempt.Error = p.failure(); failure != nil {
		attempt.Error = short(failure.Error())
	}
	var due time.Time
	v.NextAttempt = nil
	switch {
	case attempt.Error == "" && p.Status == PaymentPaid:
		v.State, v.Payment, v.PaidAt = Paid, p.Reference, &at
	case attempt.Error == "":
		v.State, v.Payment = Pending, p.Reference
	case v.Failures < len(retryAfter):
		due = at.Add(retryAfter[v.Failures])
		v.NextAttempt = &due
	default:
		v.State = Failed
	}
	if attempt.Error != "" {
		v.Failures++
	}
	declined := failure == nil && p.Status == PaymentDeclined
	if declined {
		v.Declines++
	}
	v.Attempts = append(v.Attempts, attempt)
	v.Attempts = v.Attempts[max(0, len(v.Attempts)-maxAttempts):]
	invoice, err := v.record(version, due)
	if err != nil || attempt.Error == "" {
		return []metering.Record{invoice}, err
	}
	var reason string
	if declined {
		reason = attempt.Error
	}
	event, err := v.event(metering.EventPaymentFailed, fmt.Sprintf("/%d", attempt.Number), reason, at)
	return []metering.Record{invoice, event}, err
}

func short(text string) string {
	if len(text) <= maxErrorBytes {
		return text
	}
	end := maxErrorBytes
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// ErrSettled refuses to retry an invoice that is paid.
var ErrSettled = errors.New("the invoice is paid")

// Retry makes an invoice that is open or has failed due now, and begins its schedule anew. The attempts so far
// stay on it.
func (b Billing) Retry(ctx context.Context, account metering.AccountID, p metering.Period) (Invoice, error) {
	for {
		r, err := b.Store.Record(ctx, account, InvoiceKind, p.String())
		if err != nil {
			return Invoice{}, err
		}
		v, err := parseInvoice(r)
		if err != nil {
			return Invoice{}, err
		}
		if v.State == Paid {
			return v, fmt.Errorf("%s of %s: %w", p, account, ErrSettled)
		}
		now := b.now()
		v.State, v.Failures, v.NextAttempt = Open, 0, &now
		next, err := v.record(r.Version, now)
		if err != nil {
			return Invoice{}, err
		}
		if err := b.Store.PutRecords(ctx, next); !errors.Is(err, metering.ErrVersion) {
			return v, err
		}
	}
}
