package input

import (
	"fmt"
	"strings"
)

// An Error reports an invalid field of a request. The fault is the caller's.
type Error struct {
	Field  string // JSON name of the field in the request: "domain", "ports[2]"
	Reason string // what is wrong, for the caller, without the name of the field
}

func (e *Error) Error() string { return e.Field + ": " + e.Reason }

// InputField returns the field and the reason. Packages that do not import diag can report invalid input with
// any error that has this method.
func (e *Error) InputField() (field, reason string) { return e.Field, e.Reason }

// Invalid returns an *[Error] with a formatted reason.
func Invalid(field, format string, args ...any) error {
	return &Error{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// ExactlyOne checks that exactly one of several optional fields is given: given[i] reports whether the field
// names[i] is. Otherwise it returns an *[Error] for the first of them.
func ExactlyOne(names []string, given ...bool) error {
	count := 0
	for _, g := range given {
		if g {
			count++
		}
	}
	if count == 1 || len(names) == 0 {
		return nil
	}
	return Invalid(names[0], "exactly one of %s must be given", strings.Join(names, ", "))
}

// must is for constants: it panics on what is no good.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
