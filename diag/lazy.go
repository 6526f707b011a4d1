package diag

import (
	"regexp"
	"strings"
	"sync"
)

// Regexp returns a function that compiles an expression when it is first called, and panics if that cannot be done. It
// is for package variables: a program that needs none of them compiles none.
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
