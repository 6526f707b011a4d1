package billing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// Grace is how long after its end a month is closed. It is longer than everything by which a charge may come
// late: the lease of a request (2 minutes), the wait for a disk that hardly answers (some seconds), and the
// difference between the clocks of two nodes (minutes, where nobody sets them).
const Grace = 15 * time.Minute

// A Billing makes invoices and has them paid. It keeps nothing itself. Only Store is required.
type Billing struct {
	Store  metering.Store
	Plans  metering.Plans   // nil means metering.DefaultPlans(); retired plans must stay in it
	Biller Biller           // nil: invoices are made, and nobody is charged
	Clock  func() time.Time // nil means time.Now
	Doubt  func() error     // while it is an error, Run closes and charges nothing; nil: the clock is always believed
	Log    *slog.Logger     // of Run; nil means none
}

// A TooEarlyError refuses to close a month to which requests may still be charged.
type TooEarlyError struct {
	Period metering.Period
	From   time.Time // the first instant at which it can be closed
}

func (e *TooEarlyError) Error() string {
	return fmt.Sprintf("%v can be closed from %s on: until then requests may be charged to it",
		e.Period, e.From.Format(time.RFC3339))
}

// Closed is what a close has done.
type Closed struct {
	Period  metering.Period `json:"period"`
	Created int             `json:"created_count"`         // invoices that it made
	Existed int             `json:"existed_count"`         // invoices that were there
	Without int             `json:"without_invoice_count"` // accounts that get none
}

// ClosesAt is the first instant at which a month can be closed.
func ClosesAt(p metering.Period) time.Time { return p.End().Add(Grace) }

// now is cut to what every store can keep.
func (b Billing) now() time.Time {
	if b.Clock == nil {
		return time.Now().UTC().Truncate(time.Microsecond)
	}
	return b.Clock().UTC().Truncate(time.Microsecond)
}

// Close makes the invoices of a month that do not exist yet, each in one transaction with its events. It may be run as
// often and by as many as wanted. An account for which that fails keeps no other from its invoice; the error tells of
// these, and the next Close makes up for them. It is a *TooEarlyError for a month that is not over.
func (b Billing) Close(ctx context.Context, p metering.Period) (Closed, error) {
	closed := Closed{Period: p}
	if from := ClosesAt(p); b.now().Before(from) {
		return closed, &TooEarlyError{p, from}
	}
	if b.Plans == nil {
		b.Plans = metering.DefaultPlans()
	}
	accounts, err := b.Store.Accounts(ctx)
	if err != nil {
		return closed, fmt.Errorf("closing %v: %w", p, err)
	}
	var mu sync.Mutex
	var faults []error
	failed := 0
	each(closers, accounts, func(a metering.Account) {
		made, err := without, ctx.Err()
		if err == nil {
			made, err = b.invoice(ctx, a, p)
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			if failed++; len(faults) < maxFaults {
				faults = append(faults, fmt.Errorf("closing %v for %s: %w", p, a.ID, err))
			}
		case made == created:
			closed.Created++
		case made == existed:
			closed.Existed++
		default:
			closed.Without++
		}
	})
	if err := ctx.Err(); err != nil {
		return closed, err
	}
	if more := failed - len(faults); more > 0 {
		faults = append(faults, fmt.Errorf("and %d accounts more", more))
	}
	return closed, errors.Join(faults...)
}

const (
	// closers is how many accounts are closed at once: a store writes what comes together in one go.
	closers = 16
	// maxFaults is how many accounts are named of those that could not be closed.
	maxFaults = 10
)

// outcome is what the close did for an account.
type outcome int

const (
	without outcome = iota
	created
	existed
)

// invoice makes the invoice of one account.
func (b Billing) invoice(ctx context.Context, a metering.Account, p metering.Period) (outcome, error) {
	if !a.CreatedAt.Before(p.End()) {
		return without, nil
	}
	switch _, err := b.Store.Record(ctx, a.ID, InvoiceKind, p.String()); {
	case err == nil:
		return existed, nil
	case !errors.Is(err, metering.ErrNotFound):
		return without, err
	}
	plan, optedIn, err := b.terms(ctx, a, p)
	if err != nil {
		return without, err
	}
	balance, err := b.Store.Balance(ctx, a.ID, p)
	if err != nil {
		return without, err
	}
	if balance.Held > 0 {
		return without, fmt.Errorf("%d credits are still held for requests under way", balance.Held)
	}
	if !bills(plan) && balance.Charges == 0 {
		return without, nil
	}
	now := b.now()
	v, err := newInvoice(a, plan, optedIn, balance, now)
	if err != nil {
		return without, err
	}
	records, err := v.records(now)
	if err != nil {
		return without, err
	}
	if err := b.Store.PutRecords(ctx, records...); !errors.Is(err, metering.ErrVersion) {
		return created, err
	}
	// Another closer was first.
	if _, err = b.Store.Record(ctx, a.ID, InvoiceKind, p.String()); errors.Is(err, metering.ErrNotFound) {
		err = errors.New("its events are there, and the invoice is not: somebody has removed it")
	}
	return existed, err
}

// records are the new invoice and its events, which are written together.
func (v Invoice) records(now time.Time) ([]metering.Record, error) {
	var due time.Time
	if v.State == Open {
		due = now
		v.NextAttempt = &now
	}
	invoice, err := v.record(0, due)
	if err != nil {
		return nil, err
	}
	records := []metering.Record{invoice}
	types := []metering.EventType{metering.EventPeriodClosed}
	if v.OverageCredits > 0 {
		types = append(types, metering.EventOverageBilled)
	}
	for _, t := range types {
		event, err := v.event(t, "", "", now)
		if err != nil {
			return nil, err
		}
		records = append(records, event)
	}
	return records, nil
}

// bills reports whether accounts of a plan get an invoice for every month, used or not.
func bills(p metering.Plan) bool { return p.ForSale || p.PriceCents != nil && *p.PriceCents > 0 }

// terms is the largest plan that an account had in a month, and whether it had opted in to overage.
func (b Billing) terms(
	ctx context.Context, a metering.Account, p metering.Period,
) (largest metering.Plan, optedIn bool, err error) {
	list, err := metering.TermsIn(ctx, b.Store, a, p)
	if err != nil {
		return largest, false, err
	}
	for i, t := range list {
		plan, ok := b.Plans[t.Plan]
		if !ok {
			return largest, false, fmt.Errorf("plan %q is not in the price list", t.Plan)
		}
		if i == 0 || cmp.Or(cmp.Compare(plan.Credits, largest.Credits), cmp.Compare(price(plan), price(largest))) > 0 {
			largest = plan
		}
		optedIn = optedIn || t.OverageEnabled
	}
	return largest, optedIn, nil
}

func price(p metering.Plan) int64 {
	if p.PriceCents == nil {
		return 0
	}
	return *p.PriceCents
}

// Filter selects invoices; zero fields select all.
type Filter struct {
	Account metering.AccountID
	Period  *metering.Period
	State   State
}

// Invoices yields the invoices that a filter selects, oldest first.
func (b Billing) Invoices(ctx context.Context, f Filter) iter.Seq2[Invoice, error] {
	return func(yield func(Invoice, error) bool) {
		for r, err := range b.Store.Records(ctx, metering.RecordFilter{Kind: InvoiceKind, Account: f.Account}) {
			var v Invoice
			if err == nil {
				v, err = parseInvoice(r)
			}
			if err != nil {
				yield(Invoice{}, err)
				return
			}
			if f.Period != nil && *f.Period != v.Period || f.State != "" && f.State != v.State {
				continue
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}
