package metering

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Pages is for stores that list: it yields at most limit values, all if that is 0, and holds no more than size of them at
// a time. Next reads up to size values behind last, which is nil at first. An error ends the list.
func Pages[T any](limit, size int, next func(last *T, size int) ([]T, error)) iter.Seq2[T, error] {
	return growing(limit, size, size, next)
}

// growing is Pages that double, up to a largest.
func growing[T any](limit, size, largest int, next func(last *T, size int) ([]T, error)) iter.Seq2[T, error] {
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

// recordPage is how many records are read at once, 4 MB of bodies at most, and largestPage how many by those who read on:
// long lists are of small records.
const (
	recordPage  = 64
	largestPage = 1024
)

// RecordPages is Records of a store in a database: list reads the records that an end of a statement selects, from
// WHERE to LIMIT. Its parameters are $1, $2 and so on, in their order, and instants are microseconds since 1970.
func RecordPages(f RecordFilter, list func(end string, args ...any) ([]Record, error)) iter.Seq2[Record, error] {
	return growing(f.Limit, recordPage, largestPage, func(last *Record, size int) ([]Record, error) {
		if f.Kind == "" {
			return nil, errors.New("listing records: the filter names no kind")
		}
		end, args := f.Query(last, size)
		return list(end, args...)
	})
}

// Query is that end of a statement for so many records behind last, or from the first on. It names only the
// conditions that the filter has, and the order is that of an index.
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
	order, turn, behind := "at", "", ">"
	if f.Newest {
		turn, behind = " DESC", "<"
	}
	if !f.DueBy.IsZero() {
		order = "due"
		add(" AND due IS NOT NULL AND due <= $%d", f.DueBy.UnixMicro())
	}
	if !f.Before.IsZero() { // rounded up, so that what is stored to the microsecond compares as the instant does
		add(" AND at < $%d", f.Before.Add(time.Microsecond-time.Nanosecond).UnixMicro())
	}
	if last != nil {
		at := last.At
		if order == "due" {
			at = last.Due
		}
		add(" AND ("+order+", id, account) "+behind+" ($%d, $%d, $%d)", at.UnixMicro(), last.ID, last.Account)
	}
	add(" ORDER BY "+order+turn+", id"+turn+", account"+turn+" LIMIT $%d", size)
	return end, args
}

// Watching is how a store is asked for what [Store] Watch yields.
type Watching struct {
	Last    func(context.Context) (int64, error)                   // the number of the newest change
	After   func(ctx context.Context, seq int64) ([]Change, error) // some of the next changes, which have taken effect
	Changed func() <-chan struct{}                                 // is closed by the next change
	Ready   func(context.Context) error                            // why a watch ends, if it does
	Closing <-chan struct{}
}

// Changes is Watch. Where numbers are missing, changes were forgotten before they were told.
func (w Watching) Changes(ctx context.Context, since int64) iter.Seq2[Change, error] {
	err := w.Ready(ctx)
	if err == nil && since <= 0 {
		since, err = w.Last(ctx)
	}
	return func(yield func(Change, error) bool) {
		for next := since; err == nil; {
			changed := w.Changed() // before looking, so that nothing is missed
			var list []Change
			list, err = w.After(ctx, next)
			if end := w.Ready(ctx); end != nil {
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
