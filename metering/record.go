package metering

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
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

// A Record is a small document that a store keeps in addition to accounts, keys and the ledger: an invoice, a
// notification channel, an event, a delivery. Body is opaque to the store and belongs to the package that defines the
// kind; the other fields are those by which a store finds a record, and detects conflicting writers.
type Record struct {
	Account AccountID
	Kind    string // "invoice", "channel", …: 1 to MaxRecordID printable ASCII characters
	ID      string // unique within account and kind: 1 to MaxRecordID printable ASCII characters
	Version int64  // 0 for a record that was never stored
	// Due is when a worker processes the record next; zero means never. Workers of several nodes share the work by
	// changing Due: of two that have read the same version, one gets ErrVersion.
	Due time.Time

	At   time.Time // creation time, to the microsecond; lists are in this order
	Body []byte    // any bytes, at most MaxRecordBytes; nil asks PutRecords to remove the record
}

// RecordBody returns v as JSON: texts, numbers and times of this age, which cannot fail.
func RecordBody(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return body
}

// Records stores documents of all kinds.
type Records interface {
	// Record returns a record, or ErrNotFound.
	Record(ctx context.Context, account AccountID, kind, id string) (Record, error)

	// Records yields the records that the filter selects. The loop over them may call the store; records
	// that change meanwhile may be left out or come twice.
	Records(ctx context.Context, f RecordFilter) iter.Seq2[Record, error]

	// PutRecords creates (Version 0), replaces (same Version) and removes (same Version, no Body) records, all or
	// none, in one durable transaction. It returns ErrVersion on a conflict with another writer, which includes a
	// record with Version 0 that exists already and one that is named twice, and ErrNotFound if the account does not
	// exist. A stored Version is one more than the one given; after a removal it restarts.
	PutRecords(ctx context.Context, records ...Record) error
}

// RecordFilter selects records of one kind; other zero fields select all.
type RecordFilter struct {
	Kind    string    // required
	Account AccountID // "": all accounts
	ID      string    // only the record with this id, or those of all accounts that have one
	DueBy   time.Time // only records with a Due not after this; these come by Due, all others by At, then by ID
	Newest  bool      // the other way round: the newest first
	Before  time.Time // only records with an At before this
	Limit   int       // at most so many; 0 means all
}

// CheckRecords reports records that no store may keep: too many records at once, one twice, names or bodies that are
// too long.
func CheckRecords(records []Record) error {
	if len(records) > MaxRecordsPut {
		return fmt.Errorf("%d records are more than %d", len(records), MaxRecordsPut)
	}
	seen := make(map[[3]string]bool, len(records))
	for i := range records {
		r := &records[i]
		if err := r.check(); err != nil {
			return fmt.Errorf("record %q/%q: %w", r.Kind, r.ID, err)
		}
		name := [3]string{string(r.Account), r.Kind, r.ID}
		if seen[name] {
			return r.Refused(ErrVersion)
		}
		seen[name] = true
	}
	return nil
}

// Refused returns an error that names a record which a store did not write or find.
func (r *Record) Refused(err error) error {
	return fmt.Errorf("%s %s of %s: %w", r.Kind, r.ID, r.Account, err)
}

func (r *Record) check() error {
	switch {
	case r.Account == "":
		return errors.New("it names no account")
	case !isPlainName(r.Kind) || !isPlainName(r.ID):
		return fmt.Errorf("kind and id must be 1 to %d printable ASCII characters", MaxRecordID)
	case r.Version < 0:
		return fmt.Errorf("version %d is negative", r.Version)
	case len(r.Body) > MaxRecordBytes:
		return fmt.Errorf("%d bytes are more than %d", len(r.Body), MaxRecordBytes)
	case r.Body == nil && r.Version == 0:
		return errors.New("what was never stored cannot be removed")
	default:
		return nil
	}
}

// isPlainName reports whether every database keeps and sorts a name alike.
func isPlainName(name string) bool {
	return name != "" && len(name) <= MaxRecordID &&
		!strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' })
}

// ParseRecords reads records one by one, up to the first error.
func ParseRecords[T any](records iter.Seq2[Record, error], parse func(Record) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for r, err := range records {
			var v T
			if err == nil {
				v, err = parse(r)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// Collect returns the elements of a list, or its first error.
func Collect[T any](list iter.Seq2[T, error]) ([]T, error) {
	all := []T{}
	for v, err := range list {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}
