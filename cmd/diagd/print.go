package main

import (
	"github.com/diagkit/diagkit/diag/kit"
	"iter"
	"strings"
	"time"

	"github.com/diagkit/diagkit/cmd/diagd/internal/printing"
	"github.com/spf13/pflag"
)

type table struct{ *printing.Table }

func (t *table) row(cells ...any) { t.Row(cells...) }

// print writes a value as JSON, or for people by a function.
func (a *app) print(value any, human func(*table)) error {
	return printing.Print(a.stdout, a.json, value, func(t *printing.Table) { human(&table{t}) })
}

// rows is a table for people with a line for each item of a list. Names of columns are separated by commas.
func rows[T any](columns string, list []T, cells func(T) []any) func(*table) {
	return func(t *table) {
		t.row(strings.ReplaceAll(columns, ", ", "\t"))
		for _, v := range list {
			t.row(cells(v)...)
		}
	}
}

// printList prints a list that was read, and printOne one of its items as a line of it.
func printList[T any](a *app, list []T, err error, columns string, cells func(T) []any) error {
	return printEach(a, sequence(list, err), columns, cells)
}

// printEach prints a list while it is being read, however long it is.
func printEach[T any](a *app, list iter.Seq2[T, error], columns string, cells func(T) []any) error {
	return printing.Each(a.stdout, a.json, list, strings.ReplaceAll(columns, ", ", "\t"), cells)
}

// mapSequence yields the results of f for the values of a list.
func mapSequence[T, V any](list iter.Seq2[T, error], f func(T) V) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		for v, err := range list {
			if err != nil {
				yield(*new(V), err)
				return
			}
			if !yield(f(v), nil) {
				return
			}
		}
	}
}

func printOne[T any](a *app, v T, err error, columns string, cells func(T) []any) error {
	if err != nil {
		return err
	}
	return a.print(v, rows(columns, []T{v}, cells))
}

// formatTime writes an instant, if there is one.
func formatTime(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// joinWords writes a list of words as flags take it.
func joinWords[T ~string](list []T) string { return strings.Join(kit.Values(list...), ",") }

type pageFlags struct {
	limit  int
	cursor string
}

func (p *pageFlags) add(fs *pflag.FlagSet) {
	fs.IntVar(&p.limit, "limit", 0, "maximum number (default: all)")
	fs.StringVar(&p.cursor, "cursor", "", "only items after this one, named as in the first column")
}

// paginate yields the requested part of a list, which is not read beyond it.
func paginate[T any](p pageFlags, all iter.Seq2[T, error], name func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if p.limit < 0 {
			yield(*new(T), usagef("--limit: must be 0 or more"))
			return
		}
		n, reached := 0, p.cursor == ""
		for v, err := range all {
			if err == nil && !reached {
				reached = name(v) == p.cursor
				continue
			}
			if !yield(v, err) || err != nil {
				return
			}
			if n++; n == p.limit {
				return
			}
		}
		if !reached {
			yield(*new(T), usagef("--cursor: %q is not in the list", p.cursor))
		}
	}
}

// sequence yields a list that was read.
func sequence[T any](list []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		if err != nil {
			yield(zero, err)
			return
		}
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}
