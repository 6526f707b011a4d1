package diag

import (
	"net/netip"

	"github.com/miekg/dns"
)

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
func MustIP(s string) IP { return must(ParseIP(s)) }

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

// AddressRecord returns the A or AAAA record that gives a name an address.
func AddressRecord(name string, ip netip.Addr, ttl uint32) dns.RR {
	header := dns.RR_Header{Name: dns.Fqdn(name), Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: ttl}
	if ip.Is4() {
		return &dns.A{Hdr: header, A: ip.AsSlice()}
	}
	header.Rrtype = dns.TypeAAAA
	return &dns.AAAA{Hdr: header, AAAA: ip.AsSlice()}
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (ip *IP) UnmarshalText(text []byte) (err error) {
	*ip, err = ParseIP(string(text))
	return err
}
