package billing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// Grace is how long after its end a month is closed. It is longer than everything by which a charge may come late: the
// lease of a request (2 minutes), the wait for a slow disk (some seconds), and the difference between the clocks of
// two nodes (minutes, if they are not synchronized).
const Grace = 15 * time.Minute

// defaultDraft is the default duration of a draft, and the interval at which a draft without a price is checked again.
const defaultDraft = time.Hour

// A Billing makes invoices and has them paid. It has no state. Only Store is required.
type Billing struct {
	Store  metering.Store
	Plans  metering.Prices  // nil means metering.DefaultPlans(); a plan that was held in a month must be in its list
	Biller Biller           // nil: invoices are made, but not charged
	Draft  time.Duration    // how long an invoice is a draft; 0 means an hour, negative means not at all
	By     string           // the author in the notes; "" means the server
	Clock  func() time.Time // nil means time.Now
	Doubt  func() error     // while it is an error, Run closes and charges nothing; nil: the clock is always believed
	Log    *slog.Logger     // of Run, and of errors of billers; nil disables logging
	// Observe is called after each round of Run with the errors of closing, and what was paid. It may be nil.
	Observe func(closing error, paid Paying)
}

func (b Billing) log() *slog.Logger { return cmp.Or(b.Log, slog.New(slog.DiscardHandler)) }

func (b Billing) draft() time.Duration {
	if b.Draft == 0 {
		return defaultDraft
	}
	return max(0, b.Draft)
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

// Closed is the result of a close.
type Closed struct {
	Period         metering.Period `json:"period"`
	Created        int             `json:"created_count"`         // invoices that it made
	Existed        int             `json:"existed_count"`         // invoices that were there
	WithoutInvoice int             `json:"without_invoice_count"` // accounts without an invoice
}

// ClosesAt returns the first instant at which a month can be closed.
func ClosesAt(p metering.Period) time.Time { return p.End().Add(Grace) }

func (b Billing) now() time.Time { return metering.Now(b.Clock) }

// Close makes the missing invoices of a month, each in one transaction with its note and events. It may be run any
// number of times, also concurrently. A failure for one account does not stop the others; the error names the accounts
// that failed, and the next Close makes up for them. It is a *TooEarlyError for a month that is not over.
func (b Billing) Close(ctx context.Context, p metering.Period) (Closed, error) {
	if from := ClosesAt(p); b.now().Before(from) {
		return Closed{Period: p}, &TooEarlyError{p, from}
	}
	c, err := b.closing(ctx, p)
	if err != nil {
		return Closed{Period: p}, fmt.Errorf("closing %v: %w", p, err)
	}
	batches := slices.Collect(slices.Chunk(c.accounts, closeBatchSize))
	forEach(closeWorkers, batches, func(list []metering.Account) { c.close(ctx, list) })
	if err := ctx.Err(); err != nil {
		return c.closed, err
	}
	if more := c.failed - len(c.faults); more > 0 {
		c.faults = append(c.faults, fmt.Errorf("and %d accounts more", more))
	}
	return c.closed, errors.Join(c.faults...)
}

const (
	// closeWorkers is how many batches run at once: a store commits concurrent writes together.
	closeWorkers = 8
	// closeBatchSize is the number of accounts per batch: most have four records.
	closeBatchSize = metering.MaxRecordsPut / 4
	// maxFaults bounds the accounts that are named in the error of a close.
	maxFaults = 10
)

// outcome is the result of a close for one account.
type outcome int

const (
	noInvoice outcome = iota
	createdInvoice
	existingInvoice
)

// closing is a close that is under way.
type closing struct {
	*month
	accounts        []metering.Account
	heads           map[metering.AccountID]metering.Record
	firstHead       time.Time                                // the oldest of them
	unnotedInvoices map[metering.AccountID][]metering.Record // invoices older than all notes; read only without notes

	mu     sync.Mutex
	closed Closed
	failed int
	faults []error
}

// closing reads the data of all accounts that a close needs, each kind in one scan.
func (b Billing) closing(ctx context.Context, p metering.Period) (c *closing, err error) {
	c = &closing{closed: Closed{Period: p}, heads: map[metering.AccountID]metering.Record{}}
	if c.accounts, err = b.Store.Accounts(ctx); err != nil {
		return nil, err
	}
	if c.month, err = b.month(ctx, p, ""); err != nil {
		return nil, err
	}
	for r, err := range b.Store.Records(ctx, metering.RecordFilter{Kind: headKind}) {
		if err != nil {
			return nil, err
		}
		if len(c.heads) == 0 {
			c.firstHead = r.At
		}
		c.heads[r.Account] = r
	}
	if len(c.heads) > 0 {
		return c, nil
	}
	c.unnotedInvoices = map[metering.AccountID][]metering.Record{}
	for r, err := range b.Store.Records(ctx, metering.RecordFilter{Kind: InvoiceKind}) {
		if err != nil {
			return nil, err
		}
		c.unnotedInvoices[r.Account] = append(c.unnotedInvoices[r.Account], r)
	}
	return c, nil
}

// prepared holds the records to write for an account.
type prepared struct {
	account metering.Account
	outcome outcome
	records []metering.Record
}

// close makes the invoices of a batch of accounts.
func (c *closing) close(ctx context.Context, accounts []metering.Account) {
	var batch []prepared
	size := 0
	flush := func() {
		c.put(ctx, batch)
		batch, size = nil, 0
	}
	for _, a := range accounts {
		one := prepared{account: a}
		err := ctx.Err()
		if err == nil {
			err = metering.Contain(func() (err error) { one, err = c.prepare(ctx, a); return err })
		}
		if err != nil || len(one.records) == 0 {
			c.count(one, err)
			continue
		}
		if size+len(one.records) > metering.MaxRecordsPut {
			flush()
		}
		batch, size = append(batch, one), size+len(one.records)
	}
	flush()
}

// put writes a batch in one transaction, or its accounts one by one if another closer was first with some of them, or
// if a store rejects the records of one.
func (c *closing) put(ctx context.Context, batch []prepared) {
	if len(batch) == 0 {
		return
	}
	var all []metering.Record
	for _, one := range batch {
		all = append(all, one.records...)
	}
	err := c.Store.PutRecords(ctx, all...)
	isStoreDown := ctx.Err() != nil || errors.Is(err, metering.ErrUnavailable) || errors.Is(err, metering.ErrClosed)
	for _, one := range batch {
		if err != nil && !isStoreDown {
			c.closeAccount(ctx, one.account)
		} else {
			c.count(one, err)
		}
	}
}

func (c *closing) count(one prepared, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		if c.failed++; len(c.faults) < maxFaults {
			c.faults = append(c.faults, fmt.Errorf("closing %v for %s: %w", c.period, one.account.ID, err))
		}
	case one.outcome == createdInvoice:
		c.closed.Created++
	case one.outcome == existingInvoice:
		c.closed.Existed++
	default:
		c.closed.WithoutInvoice++
	}
}

// prepare builds the records of one account from the data of all.
func (c *closing) prepare(ctx context.Context, a metering.Account) (one prepared, err error) {
	one.account = a
	if !a.CreatedAt.Before(c.period.End()) {
		return one, nil
	}
	end := &chain{account: a.ID}
	head, ok := c.heads[a.ID]
	switch {
	case ok:
		if end, err = parseChain(head); err != nil {
			return one, err
		}
	case c.unnotedInvoices != nil:
		for _, r := range c.unnotedInvoices[a.ID] {
			if err := end.adopt(r, c.now()); err != nil {
				return one, err
			}
		}
	case a.CreatedAt.Before(c.firstHead): // there may be invoices from before
		if end, err = c.chain(ctx, a.ID); err != nil {
			return one, err
		}
	}
	return c.prepareWith(ctx, a, end)
}

// prepareWith is prepare for an account with the given end of its notes.
func (c *closing) prepareWith(ctx context.Context, a metering.Account, end *chain) (one prepared, err error) {
	one.account = a
	closed, certain := end.hasInvoice(c.period)
	if !certain {
		_, err := c.Store.Record(ctx, a.ID, InvoiceKind, c.period.String())
		if closed = err == nil; err != nil && !errors.Is(err, metering.ErrNotFound) {
			return one, err
		}
	}
	if closed {
		one.outcome, one.records = existingInvoice, end.pendingRecords()
		return one, nil
	}
	t, used, err := c.termsAndBalance(ctx, a)
	switch {
	case err != nil:
		return one, err
	case used.Held > 0:
		return one, fmt.Errorf("%d credits are still held for requests under way", used.Held)
	case !t.isBilled && used.Charges == 0:
		return one, nil
	}
	v, err := c.invoice(ctx, a, t, used, c.period.String())
	if err != nil {
		return one, err
	}
	due := c.firstDue(&v, v.CreatedAt)
	if err := end.addInvoice(v, 0, due, &Note{Action: Created, At: v.CreatedAt, By: c.by()}); err != nil {
		return one, err
	}
	one.outcome, one.records = createdInvoice, end.pendingRecords()
	return one, nil
}

// closeAccount makes the invoice of one account while another closer may be running.
func (c *closing) closeAccount(ctx context.Context, a metering.Account) {
	one := prepared{account: a}
	err := metering.ErrVersion
	for n := 0; errors.Is(err, metering.ErrVersion) && n < maxTries; n++ {
		var end *chain
		if end, err = c.chain(ctx, a.ID); err != nil {
			break
		}
		if one, err = c.prepareWith(ctx, a, end); err == nil && len(one.records) > 0 {
			err = c.Store.PutRecords(ctx, one.records...)
		}
	}
	if errors.Is(err, metering.ErrVersion) {
		err = errTampered
	}
	c.count(one, err)
}

// Filter selects invoices; zero fields select all.
type Filter struct {
	Account metering.AccountID
	Period  *metering.Period
	State   State
}

// Invoice returns one invoice, or [metering.ErrNotFound].
func (b Billing) Invoice(ctx context.Context, account metering.AccountID, id string) (Invoice, error) {
	r, err := b.record(ctx, account, id)
	if err != nil {
		return Invoice{}, err
	}
	return parseInvoice(r)
}

// record is that of an invoice, by its id or its number.
func (b Billing) record(ctx context.Context, account metering.AccountID, id string) (metering.Record, error) {
	if named := invoiceID(id); id == invoiceNumber(account, named) {
		id = named
	}
	return b.Store.Record(ctx, account, InvoiceKind, id)
}

// Invoices yields the invoices that a filter selects, oldest first.
func (b Billing) Invoices(ctx context.Context, f Filter) iter.Seq2[Invoice, error] {
	list := metering.ParseRecords(b.Store.Records(ctx, metering.RecordFilter{Kind: InvoiceKind, Account: f.Account}),
		parseInvoice)
	return func(yield func(Invoice, error) bool) {
		for v, err := range list {
			if err == nil && (f.Period != nil && *f.Period != v.Period || f.State != "" && f.State != v.State) {
				continue
			}
			if !yield(v, err) {
				return
			}
		}
	}
}
