package metering

import (
	"context"
	"fmt"
	"iter"
	"time"
)

const (
	// MaxRecordID bounds kind and id of a record, in bytes.
	MaxRecordID = 128

	// MaxRecordBytes bounds the body of a record.
	MaxRecordBytes = 64 << 10

	// MaxRecordsPut bounds how many records one PutRecords may write.
	MaxRecordsPut = 256
)

// A Record is a small document that a store keeps beside accounts, keys and the ledger: an invoice, a
// notification channel, an event, a delivery. What Body says is the business of the package whose kind
// it is; the store knows only what it needs to find a record, and to have one writer win.
type Record struct {
	Account AccountID
	Kind    string // "invoice", "channel", …: 1 to MaxRecordID bytes
	ID      string // unique within account and kind: 1 to MaxRecordID bytes
	Version int64  // 0 for a record that was never stored

	// Due is when a worker is to look at the record next; zero means never. Workers of several nodes share
	// the work by a change of Due: of two that have read one version, one is told ErrVersion.
	Due time.Time

	At   time.Time // when it came to be, to the microsecond; lists are in this order
	Body []byte    // at most MaxRecordBytes; nil asks PutRecords to remove the record
}

// Records holds documents of all kinds.
type Records interface {
	// Record returns a record, or ErrNotFound.
	Record(ctx context.Context, account AccountID, kind, id string) (Record, error)

	// Records yields the records that the filter selects.
	Records(ctx context.Context, f RecordFilter) iter.Seq2[Record, error]

	// PutRecords creates (Version 0), replaces (same Version) and removes (same Version, no Body) records,
	// all or none, in one durable transaction. It returns ErrVersion where another writer was first, which
	// includes a record with Version 0 that exists already, and ErrNotFound where the account does not exist.
	// A stored Version is one more than the one given.
	PutRecords(ctx context.Context, records ...Record) error
}

// RecordFilter selects records of one kind; other zero fields select all.
type RecordFilter struct {
	Kind    string    // required
	Account AccountID // "": of all accounts
	DueBy   time.Time // only records with a Due not after this; these come by Due, all others by At, then ID
	Before  time.Time // only records with an At before this
	Limit   int       // at most so many; 0 means all
}

// Check reports what no store may keep.
func (r Record) Check() error {
	switch {
	case r.Account == "":
		return fmt.Errorf("record %s/%s: it names no account", r.Kind, r.ID)
	case r.Kind == "" || len(r.Kind) > MaxRecordID || r.ID == "" || len(r.ID) > MaxRecordID:
		return fmt.Errorf("record %s/%s: kind and id must have 1 to %d bytes", r.Kind, r.ID, MaxRecordID)
	case len(r.Body) > MaxRecordBytes:
		return fmt.Errorf("record %s/%s: %d bytes are more than %d", r.Kind, r.ID, len(r.Body), MaxRecordBytes)
	case r.Body == nil && r.Version == 0:
		return fmt.Errorf("record %s/%s: what was never stored cannot be removed", r.Kind, r.ID)
	default:
		return nil
	}
}

// Retention says how much of the past a store keeps.
type Retention struct {
	// Ledger is the first month whose charges and balances are kept; those of earlier months go, together,
	// so that an audit holds. The zero Period keeps all.
	Ledger Period

	// Changes is how many of the newest changes of keys and accounts are kept; 0 keeps all. A watcher that
	// is further behind is told of the oldest that is left, and reads everything anew.
	Changes int64
}

// Pruned is what a [Pruner] has removed, in rows.
type Pruned struct{ Charges, Balances, Changes int64 }

// Pruner is an optional ability of a [Store]: to forget the past. It works in small transactions, so that
// nobody waits long for it, and ends with the context's error when that ends first; what was removed until
// then stays removed, and a month is never left with charges and no balance that they add up to.
type Pruner interface {
	Prune(ctx context.Context, keep Retention) (Pruned, error)
}
