package diag

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
