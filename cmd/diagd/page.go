package main

import (
	"iter"
	"slices"

	"github.com/spf13/pflag"
)

// pageFlags are those of a list that may be long.
type pageFlags struct {
	limit  int
	cursor string
}

func (p *pageFlags) add(fs *pflag.FlagSet) {
	fs.IntVar(&p.limit, "limit", 0, "at most so many (default: all)")
	fs.StringVar(&p.cursor, "cursor", "", "only what comes behind this one, as the first column names it")
}

// page is the part of a list that is asked for.
func page[T any](p pageFlags, list []T, name func(T) string) ([]T, error) {
	if p.limit < 0 {
		return nil, usagef("--limit: must be 0 or more")
	}
	if p.cursor != "" {
		i := slices.IndexFunc(list, func(v T) bool { return name(v) == p.cursor })
		if i < 0 {
			return nil, usagef("--cursor: there is no %q in the list", p.cursor)
		}
		list = list[i+1:]
	}
	if p.limit > 0 {
		list = list[:min(p.limit, len(list))]
	}
	return list, nil
}

// pageOf is page of a list that is read one by one, and no further than it is asked for.
func pageOf[T any](p pageFlags, all iter.Seq2[T, error], name func(T) string) ([]T, error) {
	if p.limit < 0 {
		return nil, usagef("--limit: must be 0 or more")
	}
	var list []T
	behind := p.cursor == ""
	for v, err := range all {
		switch {
		case err != nil:
			return nil, err
		case !behind:
			behind = name(v) == p.cursor
			continue
		}
		if list = append(list, v); len(list) == p.limit {
			break
		}
	}
	if !behind {
		return nil, usagef("--cursor: there is no %q in the list", p.cursor)
	}
	return list, nil
}
