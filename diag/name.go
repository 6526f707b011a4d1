package diag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// A Name is any name that may be asked for in the DNS: a Domain, or one with underscores (RFC 8552),
// with a "*" as its leftmost label (RFC 4592), or the root. Its zero value is no name.
type Name struct{ ascii string } // absolute

// ParseName accepts a name in Unicode or ASCII form, with or without the final dot; "." is the root.
// ASCII labels may have hyphens anywhere, and may begin like A-labels without being one (RFC 2181 section 11).
// Octets other than letters, digits, hyphens, underscores and the leading asterisk, which master files write with a
// backslash, are refused, and so are invisible characters.
func ParseName(s string) (Name, error) {
	if s == "." {
		return Name{"."}, nil
	}
	ascii, err := canonicalName(s, anyLabels)
	if err == nil {
		err = unseen(s)
	}
	if err == nil && endsInNumber(ascii) {
		err = errNumeric
	}
	if err != nil {
		return Name{}, nameFault("qname", s, "a name in the DNS", err)
	}
	return Name{ascii + "."}, nil
}

// MustName is ParseName for constants; it panics on a bad name.
func MustName(s string) Name { return must(ParseName(s)) }

// String returns the ASCII form, in lower case, without a final dot except for the root.
func (n Name) String() string { return cmp.Or(strings.TrimSuffix(n.ascii, "."), n.ascii) }

// IsZero reports whether n is no name.
func (n Name) IsZero() bool { return n.ascii == "" }

// FQDN returns the absolute ASCII form, with the final dot.
func (n Name) FQDN() string { return n.ascii }

// Sub returns the absolute name of a label under n, such as "_spf.example.com.".
func (n Name) Sub(label string) string {
	if n.ascii == "." {
		return label + "."
	}
	return label + "." + n.ascii
}

// UnicodeIfDifferent returns the Unicode form, or nothing if it is the ASCII form.
func (n Name) UnicodeIfDifferent() string {
	if u := n.Unicode(); u != n.String() {
		return u
	}
	return ""
}

// Unicode returns the Unicode form, without a final dot except for the root.
func (n Name) Unicode() string { return unicodeName(n.ascii) }

// unicodeName returns the Unicode form of a name in ASCII form, label by label, without a final dot;
// a label that is no valid A-label stays as it is.
func unicodeName(ascii string) string {
	if !hasALabel(ascii) {
		return cmp.Or(strings.TrimSuffix(ascii, "."), ascii)
	}
	labels := strings.Split(strings.TrimSuffix(ascii, "."), ".")
	for i, l := range labels {
		if u, err := profile.ToUnicode(l); err == nil && strings.HasPrefix(l, "xn--") {
			labels[i] = u
		}
	}
	return strings.Join(labels, ".")
}

// MarshalText implements [encoding.TextMarshaler].
func (n Name) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *Name) UnmarshalText(text []byte) (err error) {
	*n, err = ParseName(string(text))
	return err
}

// A Selector names a key of a domain, as in DKIM and BIMI: labels of 1 to 63 octets joined by dots,
// at most 253 octets (RFC 6376 section 3.1).
type Selector struct{ ascii string }

// ParseSelector accepts a selector in ASCII or Unicode form (RFC 8616 section 4). What real selectors look like goes
// beyond the RFC: they may have underscores, and hyphens anywhere. The error is a *[InputError] of the field "selector".
func ParseSelector(s string) (Selector, error) {
	ascii, err := canonicalSelector(s)
	if err != nil {
		return Selector{}, Invalid("selector", "%.300q is not a selector: %v", s, err)
	}
	return Selector{ascii}, nil
}

func canonicalSelector(s string) (string, error) {
	if len(s) > maxNameInput {
		return "", errNameLong
	}
	if !isASCII(s) {
		ascii, err := canonicalName(s, webLabels)
		if err != nil {
			return "", err
		}
		if err := unseen(s); err != nil {
			return "", err
		}
		s = ascii
	}
	s = strings.ToLower(s)
	for l := range strings.SplitSeq(s, ".") {
		switch {
		case l == "":
			return "", errLabelEmpty
		case len(l) > maxLabel:
			return "", errLabelLong
		case !ldh(strings.ReplaceAll(l, "_", "")):
			return "", errors.New("it may have letters, digits, hyphens and underscores only")
		}
	}
	if len(s) > maxName {
		return "", errNameLong
	}
	return s, nil
}

// MustSelector is ParseSelector for constants; it panics on a bad selector.
func MustSelector(s string) Selector { return must(ParseSelector(s)) }

// String returns the selector in lower case.
func (s Selector) String() string { return s.ascii }

// IsZero reports whether s is no selector.
func (s Selector) IsZero() bool { return s.ascii == "" }

// MarshalText implements [encoding.TextMarshaler].
func (s Selector) MarshalText() ([]byte, error) { return []byte(s.ascii), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Selector) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSelector(string(text))
	return err
}

// A Domain is a valid domain name in the sense of a host or mail domain: letters, digits and hyphens
// in labels of 1 to 63 octets, at most 253 in all, at least one label, not an IP address (RFC 1123
// section 2.1, RFC 5891). Its zero value is no domain. Domains are comparable, and decode from JSON:
// a request with a Domain in it is validated by being decoded.
type Domain struct{ ascii string }

// ParseDomain accepts a name in Unicode or ASCII form, with or without the final dot. A name that browsers would
// read as an IPv4 address, such as "127.1", is refused. Symbols such as emoji are accepted, as UTS #46 does: such
// domains exist although IDNA 2008 disallows them. Invisible characters are refused although UTS #46 ignores them:
// they were pasted by mistake, or to deceive.
func ParseDomain(s string) (Domain, error) {
	ascii, err := canonicalName(s, hostLabels)
	if err == nil {
		err = unseen(s)
	}
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
func (d Domain) Unicode() string { return unicodeName(d.ascii) }

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

// An UnavailableError is ErrUnavailable with the server that gave no usable answer.
type UnavailableError struct {
	Asked string // as a sentence names them: "the resolver Quad9", "whois.nic.example"
	Err   error  // what happened; for the log
}

// DefaultResolver is the name of an Env's resolver in an UnavailableError.
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

// RegistrySuffix returns the suffix of a name in ASCII form below which names are registered with a registry, the name
// itself at most, and whether its top-level domain exists. Suffixes that a company made its own, such as github.io,
// do not count, unless known, which may be nil, returns true.
func RegistrySuffix(name string, known func(suffix string) bool) (suffix string, exists bool) {
	for suffix = name; ; _, suffix, _ = strings.Cut(suffix, ".") {
		suffix, _ = publicsuffix.PublicSuffix(suffix)
		// The flag is reliable only for the suffix itself, not for names below it.
		_, official := publicsuffix.PublicSuffix(suffix)
		if official || !strings.Contains(suffix, ".") || known != nil && known(suffix) {
			return suffix, official
		}
	}
}

// Undotted returns the name that a record probably meant where the final dot is missing, so that a zone file completed
// it with the name of the zone (RFC 1035 section 5.1): mx.example.net for mx.example.net.example.com. It is empty if
// the name does not look like that. Names are absolute or not, in ASCII form; the one returned is not. It is likely to
// be meant if it ends in the zone itself, or is too long to be a host of the zone that is named after a country or a
// thing.
func Undotted(name, zone string) (meant string, likely bool) {
	name, zone = strings.TrimSuffix(strings.ToLower(name), "."), strings.TrimSuffix(strings.ToLower(zone), ".")
	meant, ok := strings.CutSuffix(name, "."+zone)
	if !ok || zone == "" {
		return "", false
	}
	if meant == zone || strings.HasSuffix(meant, "."+zone) {
		return meant, true
	}
	suffix, exists := RegistrySuffix(meant, nil)
	last := meant[strings.LastIndexByte(meant, '.')+1:]
	if suffix == meant || !exists && !slices.Contains(exampleTLDs, last) {
		return "", false
	}
	return meant, strings.Count(meant, ".") > 1 || slices.Contains(plainTLDs, last) || !exists
}

// DotAdvice says what to do about names that lack their final dots; certain means that no others can be meant.
func DotAdvice(meant []string, certain bool) string {
	meant = slices.Compact(slices.Sorted(slices.Values(meant)))
	names := Series(Map(meant, func(name string) string { return fmt.Sprintf("%q", name+".") }), 3)
	if certain {
		return "Write " + names + " with a final dot in the zone file: without it, the name of the zone is appended."
	}
	return "Write " + names + " with a final dot in the zone file if that is meant, and correct the name otherwise: " +
		"without the dot, the name of the zone is appended."
}

// exampleTLDs are reserved for examples (RFC 2606 section 2), and plainTLDs are rarely labels within a zone.
var (
	exampleTLDs = []string{"example", "test"}
	plainTLDs   = []string{"com", "net", "org"}
)

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

// ExactlyOne checks that of some optional fields exactly one is given: given[i] reports whether the field names[i]
// is. The error is an InputError for the first of them.
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
