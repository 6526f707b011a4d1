package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
)

// TextIf returns text if is is true, otherwise the empty string. With [cmp.Or], it selects the text of the
// first true condition.
func TextIf(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

// Known returns yes or no, depending on *is, or unknown if is is nil.
func Known[S ~string](is *bool, yes, no, unknown S) S {
	switch {
	case is == nil:
		return unknown
	case *is:
		return yes
	}
	return no
}

// Days describes when something ends, in n days or, if that is more than three years, in years.
func Days(n int, end time.Time) string {
	const year = 365
	span := phrase.Count(max(n, -n), "day")
	if n > 3*year {
		span = phrase.Count(n/year, "year")
	}
	return fmt.Sprintf("%s%s (%s)", span, TextIf(n < 0, " ago"), Date(end))
}

// Date formats the day of a time.
func Date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Period formats the period from one day to another, or the day if both are on the same; empty if one of the
// times is zero.
func Period(begin, end time.Time) string {
	first, last := Date(begin), Date(end)
	return TextIf(!begin.IsZero() && !end.IsZero(), first+TextIf(first != last, " to "+last))
}

// Seconds formats a duration of n seconds.
func Seconds[N int | int64 | uint32](n N) string {
	return phrase.Duration(time.Duration(n) * time.Second)
}

// Words returns an identifier as words, with spaces between them.
func Words[S ~string](id S) string { return strings.ReplaceAll(string(id), "_", " ") }

// Join joins the non-empty parts of a brief.
func Join(parts ...string) string { return strings.Join(withoutEmpty(parts), " · ") }

// List joins the non-empty parts of an enumeration.
func List(parts ...string) string { return strings.Join(withoutEmpty(parts), ", ") }

func withoutEmpty(parts []string) []string {
	return slices.DeleteFunc(parts, func(s string) bool { return s == "" })
}

// Each returns the texts of the items of a list, omitting empty ones.
func Each[T any](list []T, text func(T) string) []string {
	return withoutEmpty(kit.Map(list, text))
}

// Unique returns the items of a list without duplicates.
func Unique[T comparable](list []T) (items []T) {
	for _, one := range list {
		if !slices.Contains(items, one) {
			items = append(items, one)
		}
	}
	return items
}

// CountIf returns the number of items for which is returns true.
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
