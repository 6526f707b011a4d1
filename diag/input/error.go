package input

import (
	"fmt"
	"strings"
)

// An Error reports a request that makes no sense; the fault is the caller's.
type Error struct {
	Field  string // name of the field in the request, as in its JSON: "domain", "ports[2]"
	Reason string // a sentence for the caller, without the field's name
}

func (e *Error) Error() string { return e.Field + ": " + e.Reason }

// InputField returns the field and the reason. Packages that do not import diag report a caller's
// fault by an error with this method.
func (e *Error) InputField() (field, reason string) { return e.Field, e.Reason }

// Invalid returns an Error with a formatted reason.
func Invalid(field, format string, args ...any) error {
	return &Error{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// ExactlyOne checks that of some optional fields exactly one is given: given[i] reports whether the field names[i]
// is. The error is an Error for the first of them.
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
