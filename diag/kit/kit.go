// Package kit has what the standard library lacks for those who write checks: [Map] and [Values] for lists and
// enumerations, [OrZero] for optional values, and tables that are made when they are first used ([Regexp], [Words],
// [WordLists]), so that programs which import a check do not pay for those of others.
package kit

import (
	"regexp"
	"strings"
	"sync"
)

// Values are the words of an enumeration, for its method of that name.
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

// Map applies a function to each item of a list; for an empty list it returns an empty one, not nil.
func Map[T, R any](list []T, f func(T) R) []R {
	results := make([]R, len(list))
	for i, item := range list {
		results[i] = f(item)
	}
	return results
}

// Regexp returns a function that compiles an expression when it is first called, and panics if it is invalid. It is
// for package variables, which are then compiled only in programs that use them.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Words returns a function that makes a set of the words in a text, also when it is first called.
func Words(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for word := range strings.FieldsSeq(text) {
			set[word] = true
		}
		return set
	})
}

// WordLists is [Words] for a text of several lists, by their names. A list begins with a line of its name and a
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
