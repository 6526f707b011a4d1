// Package kit has small helpers for writing checks: [Map] and [Values] for lists and enumerations, [OrZero]
// for optional values, and [Regexp], [Words] and [WordLists] for tables that are built on first use, which
// keeps them out of programs that import a check but do not run it.
package kit

import (
	"regexp"
	"strings"
	"sync"
)

// Values returns the values of an enumeration as strings, for its Values method.
func Values[T ~string](list ...T) []string {
	return Map(list, func(v T) string { return string(v) })
}

// OrZero returns what p points to, or the zero value if p is nil.
func OrZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Map returns the results of f for each item of a list. The result is never nil.
func Map[T, R any](list []T, f func(T) R) []R {
	results := make([]R, len(list))
	for i, item := range list {
		results[i] = f(item)
	}
	return results
}

// Regexp returns a function that compiles expr when first called, and panics if it is invalid. Use it for
// package variables.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Words returns a function that returns the set of words in a text, built when first called.
func Words(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for word := range strings.FieldsSeq(text) {
			set[word] = true
		}
		return set
	})
}

// WordLists is [Words] for a text with several named lists. A list begins with a line that has its name and a
// colon, and ends with an empty line.
func WordLists(text string) func(name string) func() map[string]bool {
	return func(name string) func() map[string]bool {
		return sync.OnceValue(func() map[string]bool {
			_, list, found := strings.Cut("\n"+text, "\n"+name+":\n")
			if !found {
				panic("no list of " + name)
			}
			list, _, _ = strings.Cut(list, "\n\n")
			return Words(list)()
		})
	}
}
