package billing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/diagkit/diagkit/metering"
)

const (
	// NoteKind is the kind of the records that hold notes.
	NoteKind = "invoice_note"
	// headKind is that of the one record of each account that holds the end of their chain.
	headKind = "invoice_head"
	headID   = "head"
)

// Action is the kind of a note.
type Action string

// The actions.
const (
	Created          Action = "created"
	Adopted          Action = "adopted" // the invoice is older than notes are
	Finalized        Action = "finalized"
	Charged          Action = "charged" // an attempt; the state is its outcome
	Settled          Action = "settled" // a report about a payment after its attempt
	Retried          Action = "retried"
	Credited         Action = "credited"
	Voided           Action = "voided"
	MarkedPaid       Action = "paid_by_hand"
	WrittenOff       Action = "written_off" // as uncollectible
	AccountSuspended Action = "account_suspended"
	AccountResumed   Action = "account_resumed"
)

// A Note records a change to an invoice, or to an account that does not pay. Notes are never changed. Each contains
// the hash of the previous note of its account.
type Note struct {
	ID      string             `json:"id"` // consecutive in the account
	Account metering.AccountID `json:"account"`
	Action  Action             `json:"action"`
	Invoice string             `json:"invoice,omitempty"`
	State   State              `json:"state,omitempty"` // of the invoice, afterwards
	At      time.Time          `json:"at"`
	By      string             `json:"by"`
	Reason  string             `json:"reason,omitempty"`
	Number  string             `json:"credit_note_number,omitempty"`
	// Cents is the amount of a credit note, with tax: NetCents and TaxCents together.
	Cents    int64      `json:"credited_cents,omitempty"`
	NetCents int64      `json:"credited_net_cents,omitempty"`
	TaxCents int64      `json:"credited_tax_cents,omitempty"`
	Currency string     `json:"currency,omitempty"` // ISO 4217, of a credit note
	Payment  PaymentRef `json:"payment,omitempty"`
	// Document is the SHA-256 of the invoice as it is stored afterwards; zero where the note is not of an invoice.
	Document metering.Chain `json:"document,omitzero"`
	Before   metering.Chain `json:"before"` // the chain up to the note before it
}

func parseNote(r metering.Record) (n Note, err error) {
	if err = json.Unmarshal(r.Body, &n); err != nil {
		err = fmt.Errorf("note %s of %s: %w", r.ID, r.Account, err)
	}
	return n, err
}

// Notes yields the notes of an account, oldest first; those of all accounts for an empty id.
func (b Billing) Notes(ctx context.Context, account metering.AccountID) iter.Seq2[Note, error] {
	return metering.ParseRecords(b.Store.Records(ctx, metering.RecordFilter{Kind: NoteKind, Account: account}), parseNote)
}

// head is the end of the chain of an account.
type head struct {
	Count  int64           `json:"count"` // of notes
	Chain  metering.Chain  `json:"chain"`
	At     time.Time       `json:"at"` // of the newest note
	Closed metering.Period `json:"closed,omitzero"`
	// Earlier has a bit for each month before Closed that has an invoice, the lowest for the one just before it.
	Earlier uint64 `json:"earlier,omitempty"`
}

// hasInvoice reports whether a month has an invoice, and whether that is certain without reading its record.
func (h head) hasInvoice(p metering.Period) (closed, certain bool) {
	monthsBack := h.Closed.Number() - p.Number()
	switch {
	case monthsBack < 0 || h.Count == 0:
		return false, true
	case monthsBack == 0:
		return true, true
	case monthsBack <= 64:
		return h.Earlier>>(monthsBack-1)&1 == 1, true
	}
	return false, false
}

// addMonth remembers that a month has an invoice.
func (h *head) addMonth(p metering.Period) {
	switch monthsBack := h.Closed.Number() - p.Number(); {
	case h.Closed == (metering.Period{}):
		h.Closed = p
	case monthsBack < 0:
		h.Earlier = h.Earlier<<-monthsBack | 1<<(-monthsBack-1)
		h.Closed = p
	case monthsBack > 0:
		h.Earlier |= 1 << (monthsBack - 1)
	}
}

// A chain is the end of the notes of an account, and what is added to them.
type chain struct {
	account metering.AccountID
	head
	record  metering.Record // of the head as it was read
	records []metering.Record
}

func parseChain(r metering.Record) (*chain, error) {
	c := &chain{account: r.Account, record: r}
	if err := json.Unmarshal(r.Body, &c.head); err != nil {
		return nil, fmt.Errorf("the end of the notes of %s: %w", r.Account, err)
	}
	return c, nil
}

// chain reads the end of the notes of an account. Without one, the chain begins with the existing invoices of the
// account.
func (b Billing) chain(ctx context.Context, account metering.AccountID) (*chain, error) {
	r, err := b.Store.Record(ctx, account, headKind, headID)
	if err == nil {
		return parseChain(r)
	}
	if !errors.Is(err, metering.ErrNotFound) {
		return nil, err
	}
	c := &chain{account: account}
	for r, err := range b.Store.Records(ctx, metering.RecordFilter{Kind: InvoiceKind, Account: account}) {
		if err == nil {
			err = c.adopt(r, b.now())
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// adopt notes an invoice that is older than notes are.
func (c *chain) adopt(r metering.Record, at time.Time) error {
	v, err := parseInvoice(r)
	if err != nil {
		return err
	}
	c.addMonth(v.Period)
	c.addNote(&Note{
		Action: Adopted, Invoice: v.ID, State: v.State, At: at, By: serverActor, Document: sha256.Sum256(r.Body),
	})
	return nil
}

// addNote completes a note and adds it.
func (c *chain) addNote(n *Note) {
	if n.At.Before(c.At) {
		n.At = c.At // of a clock that was ahead: notes are listed in their order
	}
	c.Count++
	n.Account, n.ID, n.Before, c.At = c.account, fmt.Sprintf("%08d", c.Count), c.Chain, n.At
	body := metering.RecordBody(n)
	c.Chain = c.Chain.Next("billing.note.v1", string(body))
	c.records = append(c.records, metering.Record{Account: c.account, Kind: NoteKind, ID: n.ID, At: n.At, Body: body})
}

// addInvoice adds an invoice as it is now to be stored, with its note and events.
func (c *chain) addInvoice(v Invoice, version int64, due time.Time, n *Note) error {
	r := v.record(version, due)
	events, err := v.eventsOf(*n)
	if err != nil {
		return err
	}
	if n.Action == Created {
		c.addMonth(v.Period)
	}
	n.Invoice, n.State, n.Document = v.ID, v.State, sha256.Sum256(r.Body)
	c.records = append(append(c.records, r), events...)
	c.addNote(n)
	return nil
}

// pendingRecords returns the records to write in one transaction, if any. A new end has the time of the first note.
func (c *chain) pendingRecords() []metering.Record {
	if len(c.records) == 0 {
		return nil
	}
	at := c.record.At
	if c.record.Version == 0 {
		at = c.records[slices.IndexFunc(c.records, func(r metering.Record) bool { return r.Kind == NoteKind })].At
	}
	return append(c.records, metering.Record{
		Account: c.account, Kind: headKind, ID: headID, Version: c.record.Version, At: at, Body: metering.RecordBody(c.head),
	})
}

// serverActor is the author of automatic actions.
const serverActor = "server"

// by returns the author of the notes.
func (b Billing) by() string { return cmp.Or(b.By, serverActor) }

// maxTries is how often a change is retried after a version conflict.
const maxTries = 16

// put writes an invoice that was read as r, with its note and events; a new one if r has no version. It is ErrVersion
// where the invoice was changed since.
func (b Billing) put(ctx context.Context, r metering.Record, v Invoice, due time.Time, n *Note) error {
	for range maxTries {
		c, err := b.chain(ctx, v.Account)
		if err != nil {
			return err
		}
		if err := c.addInvoice(v, r.Version, due, n); err != nil {
			return err
		}
		if err = b.Store.PutRecords(ctx, c.pendingRecords()...); !errors.Is(err, metering.ErrVersion) {
			return err
		}
		now, err := b.Store.Record(ctx, r.Account, r.Kind, r.ID)
		if err != nil && (r.Version != 0 || !errors.Is(err, metering.ErrNotFound)) {
			return err
		}
		if now.Version != r.Version {
			return fmt.Errorf("invoice %s of %s: %w", v.ID, v.Account, metering.ErrVersion)
		} // else there was a note of something else
	}
	return errTampered
}

// errTampered cannot occur as long as only this program writes its records.
var errTampered = errors.New("its notes or its events were changed by another hand; diagd audit tells more")

// change edits an invoice, and retries after a version conflict. It is written in one transaction with the note that
// edit completes, and not at all if that has no action. The note is returned as it was written.
func (b Billing) change(
	ctx context.Context, account metering.AccountID, id string,
	edit func(v *Invoice, r metering.Record, n *Note) (due time.Time, err error),
) (v Invoice, n Note, err error) {
	for range maxTries {
		r, err := b.record(ctx, account, id)
		if err != nil {
			return Invoice{}, n, err
		}
		if v, err = parseInvoice(r); err != nil {
			return Invoice{}, n, err
		}
		n = Note{At: b.now(), By: b.by()}
		due, err := edit(&v, r, &n)
		if err != nil || n.Action == "" {
			return v, n, err
		}
		if err = b.put(ctx, r, v, due, &n); !errors.Is(err, metering.ErrVersion) {
			return v, n, err
		}
	}
	return v, n, fmt.Errorf("invoice %s of %s: %w", id, account, metering.ErrVersion)
}
