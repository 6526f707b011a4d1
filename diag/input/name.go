package input

import (
	"cmp"
	"errors"
	"strings"
)

// A Name is any name that can be looked up in the DNS: a [Domain], a name with underscores (RFC 8552) or with
// "*" as its leftmost label (RFC 4592), or the root. Its zero value is not a name.
type Name struct {
	ascii string // absolute
}

// ParseName accepts a name in Unicode or ASCII form, with or without the final dot; "." is the root. ASCII
// labels may have hyphens anywhere, and may begin with "xn--" without being A-labels (RFC 2181 section 11).
// Characters other than letters, digits, hyphens, underscores and the leading asterisk are refused, including
// invisible ones and escapes of master files.
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

// IsZero reports whether n is the zero Name.
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

// UnicodeIfDifferent returns the Unicode form, or the empty string if it equals the ASCII form.
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

// ParseSelector accepts a selector in ASCII or Unicode form (RFC 8616 section 4). It also accepts
// underscores, and hyphens anywhere, because selectors in use have them. The error is an *[Error] for the
// field "selector".
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

// IsZero reports whether s is the zero Selector.
func (s Selector) IsZero() bool { return s.ascii == "" }

// MarshalText implements [encoding.TextMarshaler].
func (s Selector) MarshalText() ([]byte, error) { return []byte(s.ascii), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Selector) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSelector(string(text))
	return err
}

// A Domain is a valid domain name in the sense of a host or mail domain: letters, digits and hyphens in one
// or more labels of 1 to 63 octets, at most 253 octets in all, and not an IP address (RFC 1123 section 2.1,
// RFC 5891). Its zero value is not a domain. Domains are comparable, and decoding one from JSON validates it.
type Domain struct{ ascii string }

// ParseDomain accepts a name in Unicode or ASCII form, with or without the final dot. A name that browsers
// would read as an IPv4 address, such as "127.1", is refused. Symbols such as emoji are accepted, as UTS #46
// does: such domains exist although IDNA 2008 disallows them. Invisible characters are refused, although UTS
// #46 ignores them.
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

// IsZero reports whether d is the zero Domain.
func (d Domain) IsZero() bool { return d.ascii == "" }

// FQDN returns the absolute ASCII form, with the final dot.
func (d Domain) FQDN() string { return d.ascii + "." }

// Name returns the domain as a [Name].
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

// UnicodeIfDifferent returns the Unicode form, or the empty string if it equals the ASCII form.
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
