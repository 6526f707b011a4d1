package diag

import (
	"errors"
	"fmt"
	"strings"
)

// A Domain is a valid domain name in the sense of a host or mail domain: letters, digits and hyphens
// in labels of 1 to 63 octets, at most 253 in all, at least one label, not an IP address (RFC 1123
// section 2.1, RFC 5891). Its zero value is no domain. Domains are comparable, and decode from JSON:
// a request with a Domain in it is validated by being decoded.
type Domain struct{ ascii string }

// ParseDomain accepts a name in Unicode or ASCII form, with or without the final dot. A name that
// browsers would read as an IPv4 address, such as "127.1", is none. Symbols such as emoji are
// accepted, as UTS #46 does: such domains exist although IDNA 2008 frowns at them.
func ParseDomain(s string) (Domain, error) {
	ascii, err := canonicalName(s, false)
	if err == nil && endsInNumber(ascii) {
		err = errNumeric
	}
	if err != nil {
		return Domain{}, nameFault("domain", s, "a domain name", err)
	}
	return Domain{ascii}, nil
}

// MustDomain is ParseDomain for constants; it panics on a bad name.
func MustDomain(s string) Domain { return must(ParseDomain(s)) }

// String returns the ASCII form, in lower case, without a final dot.
func (d Domain) String() string { return d.ascii }

// IsZero reports whether d is no domain.
func (d Domain) IsZero() bool { return d.ascii == "" }

// FQDN returns the absolute ASCII form, with the final dot.
func (d Domain) FQDN() string { return d.ascii + "." }

// Name returns the domain as a name.
func (d Domain) Name() Name {
	if d.IsZero() {
		return Name{}
	}
	return Name{d.FQDN()}
}

// Sub returns the absolute name of a label under d, such as "_dmarc.example.com.".
func (d Domain) Sub(label string) string { return label + "." + d.ascii + "." }

// Unicode returns the Unicode form, without a final dot.
func (d Domain) Unicode() string {
	if !hasALabel(d.ascii) {
		return d.ascii
	}
	u, err := profile.ToUnicode(d.ascii)
	if err != nil {
		return d.ascii
	}
	return u
}

// UnicodeIfDifferent returns the Unicode form, or nothing if it is the ASCII form.
func (d Domain) UnicodeIfDifferent() string {
	if u := d.Unicode(); u != d.ascii {
		return u
	}
	return ""
}

// MarshalText implements [encoding.TextMarshaler].
func (d Domain) MarshalText() ([]byte, error) { return []byte(d.ascii), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Domain) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDomain(string(text))
	return err
}

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
