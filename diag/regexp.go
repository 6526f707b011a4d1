package diag

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles an expression when it is first called, and panics if that cannot be done. It
// is for package variables: a program that needs none of them compiles none.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
