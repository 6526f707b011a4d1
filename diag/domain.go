package diag

import (
	"net/netip"
	"strings"

	"github.com/miekg/dns"
	"golang.org/x/net/idna"
)

// A Domain is a valid domain name in the sense of a host or mail domain: letters, digits and hyphens
// in labels of 1 to 63 octets, at most 253 in all, at least one label, not an IP address (RFC 1123
// section 2.1, RFC 5891). Its zero value is no domain. Domains are comparable, and decode from JSON:
// a request with a Domain in it is validated by being decoded.
type Domain struct{ ascii string }

// profile is IDNA 2008, non-transitional, with the mapping of UTS #46 for what users type.
var profile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.CheckHyphens(true), idna.CheckJoiners(true),
	idna.StrictDomainName(true), idna.Transitional(false), idna.VerifyDNSLength(true))

// ParseDomain accepts a name in Unicode or ASCII form, with or without the final dot.
func ParseDomain(s string) (Domain, error) {
	ascii, err := profile.ToASCII(strings.TrimSuffix(s, "."))
	if err != nil || ascii == "" {
		return Domain{}, Invalid("domain", "%.300q is not a domain name", s)
	}
	if _, err := netip.ParseAddr(ascii); err == nil {
		return Domain{}, Invalid("domain", "%q is an IP address, not a domain name", s)
	}
	return Domain{ascii}, nil
}

// MustDomain is ParseDomain for constants; it panics on a bad name.
func MustDomain(s string) Domain {
	d, err := ParseDomain(s)
	if err != nil {
		panic(err)
	}
	return d
}

// String returns the ASCII form, in lower case, without a final dot.
func (d Domain) String() string { return d.ascii }

// IsZero reports whether d is no domain.
func (d Domain) IsZero() bool { return d.ascii == "" }

// FQDN returns the absolute ASCII form, with the final dot.
func (d Domain) FQDN() string { return d.ascii + "." }

// Sub returns the absolute name of a label under d, such as "_dmarc.example.com.".
func (d Domain) Sub(label string) string { return label + "." + d.ascii + "." }

// Unicode returns the Unicode form, without a final dot.
func (d Domain) Unicode() string {
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

// A Name is any name that may be asked for in the DNS: a Domain, or one with underscores (RFC 8552),
// with a "*" as its leftmost label (RFC 4592), or the root. Its zero value is no name.
type Name struct{ ascii string } // absolute

// ParseName accepts a name in Unicode or ASCII form, with or without the final dot; "." is the root.
func ParseName(s string) (Name, error) {
	if s == "." {
		return Name{"."}, nil
	}
	labels := strings.Split(strings.TrimSuffix(s, "."), ".")
	for i, l := range labels {
		if i == 0 && l == "*" && len(labels) > 1 {
			continue
		}
		plain := strings.ReplaceAll(l, "_", "")
		if plain == "" && l != "" && len(l) <= 63 {
			continue
		}
		if plain != l && isASCII(l) && len(l) <= 63 && ldh(plain) {
			labels[i] = strings.ToLower(l)
			continue
		}
		a, err := profile.ToASCII(l)
		if err != nil || a == "" {
			return Name{}, Invalid("qname", "%.300q is not a domain name", s)
		}
		labels[i] = a
	}
	ascii := strings.Join(labels, ".") + "."
	if len(ascii) > 254 {
		return Name{}, Invalid("qname", "%.300q is longer than 253 octets", s)
	}
	return Name{ascii}, nil
}

func ldh(s string) bool {
	for _, c := range []byte(s) {
		if c != '-' && !isDigit(c) && (c|0x20 < 'a' || 'z' < c|0x20) {
			return false
		}
	}
	return true
}

func isASCII(s string) bool {
	for _, c := range []byte(s) {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

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

// Unicode returns the Unicode form, without a final dot except for the root.
func (n Name) Unicode() string { return UnicodeName(n.ascii) }

// UnicodeName returns the Unicode form of a name in ASCII form, label by label, without a final dot;
// a label that is no valid A-label stays as it is.
func UnicodeName(ascii string) string {
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

// ParseSelector accepts a selector.
func ParseSelector(s string) (Selector, error) {
	for l := range strings.SplitSeq(s, ".") {
		if l == "" || len(l) > 63 || !ldh(strings.ReplaceAll(l, "_", "")) {
			return Selector{}, Invalid("selector", "%.300q is not a selector", s)
		}
	}
	if len(s) > 253 {
		return Selector{}, Invalid("selector", "%.300q is longer than 253 octets", s)
	}
	return Selector{strings.ToLower(s)}, nil
}

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

// An IP is an IPv4 or IPv6 address without a zone. An IPv4 address in IPv6 clothes (RFC 4291 section
// 2.5.5.2) is the IPv4 address.
type IP struct{ netip.Addr }

// ParseIP accepts an address in the usual text form.
func ParseIP(s string) (IP, error) {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return IP{}, Invalid("ip", "%.100q is not an IP address", s)
	}
	if a.Zone() != "" {
		return IP{}, Invalid("ip", "%.100q has a zone", s)
	}
	return IP{a.Unmap()}, nil
}

// MustIP is ParseIP for constants; it panics on a bad address.
func MustIP(s string) IP {
	ip, err := ParseIP(s)
	if err != nil {
		panic(err)
	}
	return ip
}

// IsZero reports whether ip is no address.
func (ip IP) IsZero() bool { return !ip.IsValid() }

// Version is 4 or 6.
func (ip IP) Version() int {
	if ip.Is4() {
		return 4
	}
	return 6
}

// Reverse returns the absolute name under which the DNS keeps the address's host names (RFC 1035
// section 3.5, RFC 3596 section 2.5).
func (ip IP) Reverse() string {
	name, err := dns.ReverseAddr(ip.String())
	if err != nil {
		return ""
	}
	return name
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (ip *IP) UnmarshalText(text []byte) (err error) {
	*ip, err = ParseIP(string(text))
	return err
}
