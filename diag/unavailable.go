package diag

import (
	"errors"
	"fmt"
)

// ErrUnavailable means that nothing could be measured because a service that the diagnostic itself depends
// on, such as the resolver, did not answer. The domain asked about is not at fault.
var ErrUnavailable = errors.New("nothing could be measured")

// An UnavailableError is an [ErrUnavailable] that names the server that gave no usable answer.
type UnavailableError struct {
	Asked string // the server, as written in a sentence: "the resolver Quad9", "whois.nic.example"
	Err   error  // the cause, for the log
}

// DefaultResolver is the name of an Env's resolver in an UnavailableError.
const DefaultResolver = "the default resolver"

// Unavailable returns an [UnavailableError].
func Unavailable(asked string, err error) error { return &UnavailableError{asked, err} }

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%v: no answer from %s: %v", ErrUnavailable, e.Asked, e.Err)
}

// Is reports whether target is [ErrUnavailable].
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }
