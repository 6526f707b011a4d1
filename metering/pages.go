package metering

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// Pages is for stores that list: it yields at most limit values, all if that is 0, and holds no more than size of them
// at a time. Next reads up to size values behind last, which is nil at first. An error ends the list.
func Pages[T any](limit, size int, next func(last *T, size int) ([]T, error)) iter.Seq2[T, error] {
	return growingPages(limit, size, size, next)
}

// growingPages is Pages that double, up to a largest.
func growingPages[T any](limit, size, largest int, next func(last *T, size int) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var last *T
		for rest, page := limit, size; ; page = min(2*page, largest) {
			if limit > 0 {
				page = min(page, rest)
			}
			list, err := next(last, page)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, value := range list {
				if !yield(value, nil) {
					return
				}
			}
			rest -= len(list)
			if len(list) < page || limit > 0 && rest == 0 {
				return
			}
			last = &list[len(list)-1]
		}
	}
}

// recordPage is how many records are read per page, 4 MB of bodies at most, and largestPage how many on later pages:
// long lists consist of small records.
const (
	recordPage  = 64
	largestPage = 1024
)

// RecordPages implements Records of a store in a database: list reads the records that the end of a statement selects,
// from WHERE to LIMIT. Its parameters are $1, $2 and so on, in their order, and instants are microseconds since 1970.
func RecordPages(f RecordFilter, list func(end string, args ...any) ([]Record, error)) iter.Seq2[Record, error] {
	return growingPages(f.Limit, recordPage, largestPage, func(last *Record, size int) ([]Record, error) {
		if f.Kind == "" {
			return nil, errors.New("listing records: the filter names no kind")
		}
		end, args := f.Query(last, size)
		return list(end, args...)
	})
}

// Query returns the end of a statement, as in [RecordPages], for up to size records after last, or from the first on
// if that is nil. It names only the conditions that the filter has, and the order is that of an index.
func (f RecordFilter) Query(last *Record, size int) (end string, args []any) {
	add := func(condition string, values ...any) {
		numbers := make([]any, len(values))
		for i, value := range values {
			args = append(args, value)
			numbers[i] = len(args)
		}
		end += fmt.Sprintf(condition, numbers...)
	}
	add("WHERE kind = $%d", f.Kind)
	if f.Account != "" {
		add(" AND account = $%d", f.Account)
	}
	if f.ID != "" {
		add(" AND id = $%d", f.ID)
	}
	order, direction, comparison := "at", "", ">"
	if f.Newest {
		direction, comparison = " DESC", "<"
	}
	if !f.DueBy.IsZero() {
		order = "due"
		add(" AND due IS NOT NULL AND due <= $%d", f.DueBy.UnixMicro())
	}
	if !f.Before.IsZero() { // rounded up, so that stored microseconds compare like the instant
		add(" AND at < $%d", f.Before.Add(time.Microsecond-time.Nanosecond).UnixMicro())
	}
	if last != nil {
		at := last.At
		if order == "due" {
			at = last.Due
		}
		add(" AND ("+order+", id, account) "+comparison+" ($%d, $%d, $%d)", at.UnixMicro(), last.ID, last.Account)
	}
	add(" ORDER BY "+order+direction+", id"+direction+", account"+direction+" LIMIT $%d", size)
	return end, args
}

// keyPage is how many keys are read per page, and largestKeyPage how many on later pages.
const (
	keyPage        = 256
	largestKeyPage = 4096
)

// A KeyDialect holds the parts of a [KeyFilter]'s conditions that differ between databases. Each is a format for the
// number of a parameter.
type KeyDialect struct {
	Contains string // that the text of a column, in lower case, contains the parameter; the column comes first
	In       string // that the column k.id is among those of the parameter, which IDs makes
	IDs      func([]KeyID) any
}

// KeyPages implements Keys of a store in a database: list reads the keys that the end of a statement selects, from
// WHERE to OFFSET, of a table keys with the alias k. Its parameters are as those of [RecordPages].
func KeyPages(f KeyFilter, d KeyDialect, list func(end string, args ...any) ([]Key, error)) iter.Seq2[Key, error] {
	return growingPages(f.Limit, keyPage, largestKeyPage, func(last *Key, size int) ([]Key, error) {
		where, args, err := f.where(d)
		if err != nil {
			return nil, err
		}
		direction, comparison, offset := "", ">", f.Offset
		if f.Newest {
			direction, comparison = " DESC", "<"
		}
		n := len(args)
		if last != nil { // by what the rows hold, and not by their number: that finds the place by the index
			where += fmt.Sprintf(" AND (k.created, k.id) %s ($%d, $%d)", comparison, n+1, n+2)
			args, offset = append(args, last.CreatedAt.UnixMicro(), last.ID), 0
			n += 2
		}
		end := where + fmt.Sprintf(" ORDER BY k.created%[1]s, k.id%[1]s LIMIT $%[2]d OFFSET $%[3]d", direction, n+1, n+2)
		return list(end, append(args, size, offset)...)
	})
}

// keyState is a column of the table keys that is called k: the state of a key as [Key.State] says it, at the instant in
// the parameter with a number.
func keyState(number int) string {
	return fmt.Sprintf(`CASE WHEN k.revoked <= $%[1]d OR k.grace_until <= $%[1]d THEN '%[2]s'
		WHEN k.expires <= $%[1]d THEN '%[3]s' WHEN k.grace_until IS NOT NULL THEN '%[4]s' ELSE '%[5]s' END`,
		number, KeyRevoked, KeyExpired, KeyRotating, KeyActive)
}

// KeyCount helps a store in a database to implement CountKeys: it returns the list of columns, which are state and
// number of keys, and the end of a statement that reads them.
func (f KeyFilter) KeyCount(d KeyDialect) (columns, end string, args []any, err error) {
	where, args, err := f.where(d, f.At.UnixMicro())
	return keyState(1) + ", count(*)", where + " GROUP BY 1", args, err
}

// where are the conditions of the filter, of a table keys that is called k. Their parameters come behind others.
func (f KeyFilter) where(d KeyDialect, args ...any) (where string, _ []any, err error) {
	add := func(condition string, value any) {
		args = append(args, value)
		where += " AND " + fmt.Sprintf(condition, len(args))
	}
	if err := f.Check(); err != nil {
		return "", nil, err
	}
	args = append(args, f.Account)
	where = fmt.Sprintf("WHERE k.account = $%d", len(args))
	if len(f.IDs) > 0 {
		add(d.In, d.IDs(f.IDs))
	}
	if f.Text != "" {
		args = append(args, lowerASCII(f.Text))
		var parts []string
		for _, column := range []string{"k.name", "k.id", "k.display_prefix"} {
			parts = append(parts, fmt.Sprintf(d.Contains, column, len(args)))
		}
		where += " AND (" + strings.Join(parts, " OR ") + ")"
	}
	if len(f.States) > 0 {
		args = append(args, f.At.UnixMicro())
		names := []string{"''"}
		for _, s := range KeyStates() { // our own words alone become part of the statement
			if slices.Contains(f.States, s) {
				names = append(names, "'"+string(s)+"'")
			}
		}
		where += " AND " + keyState(len(args)) + " IN (" + strings.Join(names, ", ") + ")"
	}
	return where, args, nil
}

// commitSlack is by how much the order in which charges are committed, which numbers them, may differ from that in
// which they were completed: they wait for a disk, and servers that share a store have clocks of their own.
const commitSlack = time.Hour

// SeqSince is for stores that search for the charges since an instant, which is not indexed: it returns a Seq after
// which they all are, unless a clock was set back. It bisects the numbers up to the last; at returns the instant of
// the first charge whose Seq is not below a number, or the zero time without one.
func SeqSince(last int64, since time.Time, at func(seq int64) (time.Time, error)) (int64, error) {
	since = since.Add(-commitSlack)
	first := int64(0) // charges not above this were completed before
	for first < last {
		middle := first + (last-first+1)/2
		instant, err := at(middle)
		if err != nil {
			return 0, err
		}
		if !instant.IsZero() && instant.Before(since) {
			first = middle
		} else {
			last = middle - 1
		}
	}
	return first, nil
}

// A ChangeFeed implements Watch of [Keys] by polling a store.
type ChangeFeed struct {
	Last    func(context.Context) (int64, error)                   // the number of the newest change
	After   func(ctx context.Context, seq int64) ([]Change, error) // some of the next changes, which have taken effect
	Changed func() <-chan struct{}                                 // is closed by the next change
	Err     func(context.Context) error                            // why a watch ends, if it does
	Closing <-chan struct{}
}

// Changes implements Watch of [Keys]. Missing numbers mean that changes were pruned before they were reported.
func (w ChangeFeed) Changes(ctx context.Context, since int64) iter.Seq2[Change, error] {
	err := w.Err(ctx)
	if err == nil && since <= 0 {
		since, err = w.Last(ctx)
	}
	return func(yield func(Change, error) bool) {
		for next := since; err == nil; {
			changed := w.Changed() // before polling, so that nothing is missed
			var list []Change
			list, err = w.After(ctx, next)
			if end := w.Err(ctx); end != nil {
				err = end
			}
			if err != nil {
				break
			}
			if len(list) > 0 && list[0].Seq > next+1 && !yield(Change{Seq: list[0].Seq - 1}, nil) {
				return
			}
			for _, c := range list {
				if next = c.Seq; !yield(c, nil) {
					return
				}
			}
			if len(list) > 0 {
				continue
			}
			select {
			case <-changed:
			case <-ctx.Done():
			case <-w.Closing:
			}
		}
		yield(Change{}, err)
	}
}
