package metering

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Pages is for stores that list: it yields at most limit values, all if that is 0, and holds no more than size of them at
// a time. Next reads up to size values behind last, which is nil at first. An error ends the list.
func Pages[T any](limit, size int, next func(last *T, size int) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var last *T
		for rest := limit; ; {
			page := size
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

// recordPage is how many records are read at once: 4 MB of bodies at most.
const recordPage = 64

// RecordPages is Records of a store that reads in pages: next reads up to size records that f selects, behind last.
func RecordPages(ctx context.Context, f RecordFilter,
	next func(ctx context.Context, f RecordFilter, last *Record, size int) ([]Record, error),
) iter.Seq2[Record, error] {
	return Pages(f.Limit, recordPage, func(last *Record, size int) ([]Record, error) {
		if f.Kind == "" {
			return nil, errors.New("listing records: the filter names no kind")
		}
		list, err := next(ctx, f, last, size)
		if err != nil {
			return nil, fmt.Errorf("listing records: %w", err)
		}
		return list, nil
	})
}
