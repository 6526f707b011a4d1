package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
)

// TextIf is the text if so, and empty if not. With cmp.Or it makes the first case that holds an expression.
func TextIf(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

// Known is a text or mark for yes, one for no, and one for what is not known.
func Known[S ~string](is *bool, yes, no, unknown S) S {
	switch {
	case is == nil:
		return unknown
	case *is:
		return yes
	}
	return no
}

// Days says when something ends that ends in so many days; what is further away than three years, in years.
func Days(n int, end time.Time) string {
	const year = 365
	span := phrase.Count(max(n, -n), "day")
	if n > 3*year {
		span = phrase.Count(n/year, "year")
	}
	return fmt.Sprintf("%s%s (%s)", span, TextIf(n < 0, " ago"), Date(end))
}

// Date is the day of a time.
func Date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Period is from one day to another, and a day where they are the same; empty if one of them is not known.
func Period(begin, end time.Time) string {
	first, last := Date(begin), Date(end)
	return TextIf(!begin.IsZero() && !end.IsZero(), first+TextIf(first != last, " to "+last))
}

// Seconds is a span of so many seconds.
func Seconds[N int | int64 | uint32](n N) string {
	return phrase.Duration(time.Duration(n) * time.Second)
}

// Words are those of an identifier.
func Words[S ~string](id S) string { return strings.ReplaceAll(string(id), "_", " ") }

// Join puts the parts of a brief together that are not empty.
func Join(parts ...string) string { return strings.Join(withoutEmpty(parts), " · ") }

// List puts the parts of an enumeration together that are not empty.
func List(parts ...string) string { return strings.Join(withoutEmpty(parts), ", ") }

func withoutEmpty(parts []string) []string {
	return slices.DeleteFunc(parts, func(s string) bool { return s == "" })
}

// Each returns the texts of the items of a list, without empty ones.
func Each[T any](list []T, text func(T) string) []string {
	return withoutEmpty(kit.Map(list, text))
}

// Unique are the items of a list, each once.
func Unique[T comparable](list []T) (items []T) {
	for _, one := range list {
		if !slices.Contains(items, one) {
			items = append(items, one)
		}
	}
	return items
}

// CountIf counts the items of a list that are so.
func CountIf[T any](list []T, is func(T) bool) (n int) {
	for _, one := range list {
		if is(one) {
			n++
		}
	}
	return n
}

// Number formats a number with its unit; empty if nil.
func Number[N int | int64 | uint32](n *N, unit string) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n, unit)
}
