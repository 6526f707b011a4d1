package diag

import (
	"errors"
	"strings"
)

// A Name is any name that may be asked for in the DNS: a Domain, or one with underscores (RFC 8552),
// with a "*" as its leftmost label (RFC 4592), or the root. Its zero value is no name.
type Name struct{ ascii string } // absolute

// ParseName accepts a name in Unicode or ASCII form, with or without the final dot; "." is the root.
// Octets beyond letters, digits, hyphens, underscores and the leading asterisk, which master files
// write with a backslash, are refused.
func ParseName(s string) (Name, error) {
	if s == "." {
		return Name{"."}, nil
	}
	ascii, err := canonicalName(s, true)
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
func (n Name) String() string {
	if n.ascii == "." {
		return "."
	}
	return strings.TrimSuffix(n.ascii, ".")
}

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
	if ascii == "." {
		return "."
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

// parseSelector accepts a selector in ASCII or Unicode form (RFC 8616 section 4). What real selectors
// look like goes beyond the RFC: they may have underscores, and hyphens anywhere.
func parseSelector(s string) (Selector, error) {
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
		ascii, err := canonicalName(s, true)
		if err != nil {
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
func MustSelector(s string) Selector { return must(parseSelector(s)) }

// String returns the selector in lower case.
func (s Selector) String() string { return s.ascii }

// IsZero reports whether s is no selector.
func (s Selector) IsZero() bool { return s.ascii == "" }

// MarshalText implements [encoding.TextMarshaler].
func (s Selector) MarshalText() ([]byte, error) { return []byte(s.ascii), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Selector) UnmarshalText(text []byte) (err error) {
	*s, err = parseSelector(string(text))
	return err
}
