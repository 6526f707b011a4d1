package diag

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnavailable means that nothing of what was asked could be measured, because a service that the diagnostic itself
// depends on, such as the resolver, did not answer. The domain asked about is not to blame.
var ErrUnavailable = errors.New("nothing could be measured")

// An UnavailableError is ErrUnavailable with who did not answer, or not usefully.
type UnavailableError struct {
	Asked string // as a sentence names them: "the resolver Quad9", "whois.nic.example"
	Err   error  // what happened; for the log
}

// DefaultResolver is what an UnavailableError calls the resolver of an Env.
const DefaultResolver = "the default resolver"

// Unavailable returns an UnavailableError.
func Unavailable(asked string, err error) error { return &UnavailableError{asked, err} }

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%v: no answer from %s: %v", ErrUnavailable, e.Asked, e.Err)
}

// Is makes the error an ErrUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// Unwrap returns what happened.
func (e *UnavailableError) Unwrap() error { return e.Err }

// An InputError reports a request that makes no sense; the fault is the caller's.
type InputError struct {
	Field  string // name of the field in the request, as in its JSON: "domain", "ports[2]"
	Reason string // a sentence for the caller, without the field's name
}

func (e *InputError) Error() string { return e.Field + ": " + e.Reason }

// InputField returns the field and the reason. Packages that do not import diag report a caller's
// fault by an error with this method.
func (e *InputError) InputField() (field, reason string) { return e.Field, e.Reason }

// Invalid returns an InputError with a formatted reason.
func Invalid(field, format string, args ...any) error {
	return &InputError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// ExactlyOne checks that of some optional fields exactly one is given: given[i] tells whether the
// field names[i] is. The error is an InputError on the first of them.
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
