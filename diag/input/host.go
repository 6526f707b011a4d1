package input

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Host is the host component of a URL: an IP address, or a domain name that may have underscores. Its zero
// value is not a host. Hosts are comparable, and decode from JSON.
type Host struct {
	domain Domain
	ip     IP
}

// The faults of a host, in words that follow on the host.
var (
	errHostEmpty   = errors.New("it is empty")
	errHostEscape  = errors.New("it has a percent sign without two hexadecimal digits")
	errHostBracket = errors.New("the brackets must hold an IPv6 address")
	errHostNumber  = errors.New("it ends in a number, but is not an IPv4 address")
	errLocalhost   = errors.New("it stands for the machine itself") // RFC 6761 section 6.3
)

// ParseHost parses a host as browsers do (url.spec.whatwg.org, "host parsing"): an IPv6 address is in
// brackets, percent-encoding is decoded, Unicode is mapped by IDNA, and a host that ends in a number is an
// IPv4 address in any notation: 127.1, 0x7f.0.0.1 and 2130706433 are all 127.0.0.1. That is the address that
// a browser or the system's resolver would use, and which a guard must check. ParseHost is stricter than
// browsers: apart from underscores, a name must be a valid [Domain]; it must not be localhost; and an IPv6
// address must have no zone.
func ParseHost(s string) (Host, error) {
	h, err := parseHost(s)
	if err != nil {
		return Host{}, Invalid("host", "%.300q is not a host: %v", s, err)
	}
	return h, nil
}

func parseHost(s string) (Host, error) {
	if len(s) > maxNameInput {
		return Host{}, errNameLong
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		if !closed || err != nil || !ip.Is6() || ip.Zone() != "" {
			return Host{}, errHostBracket
		}
		return Host{ip: IP{ip.Unmap()}}, nil
	}
	if s == "" {
		return Host{}, errHostEmpty
	}
	if strings.Contains(s, "%") {
		decoded, err := url.PathUnescape(s)
		if err != nil {
			return Host{}, errHostEscape
		}
		s = decoded
	}
	name, err := canonicalName(s, webLabels)
	switch {
	case err != nil:
		return Host{}, err
	case name[0] == '*':
		return Host{}, badByte('*')
	case endsInNumber(name):
		ip, err := parseIPv4(name)
		return Host{ip: ip}, err
	case IsLocalhost(name):
		return Host{}, errLocalhost
	}
	return Host{domain: Domain{name}}, nil
}

// parseIPv4 reads one to four numbers, each decimal, octal or hexadecimal; the last fills all bytes
// that are left (url.spec.whatwg.org, "IPv4 parser").
func parseIPv4(s string) (IP, error) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return IP{}, errHostNumber
	}
	var address uint64
	for i, part := range parts {
		n, err := parseIPv4Number(part)
		room := 8 // bits
		if i == len(parts)-1 {
			room = 8 * (5 - len(parts))
		}
		if err != nil || n >= 1<<room {
			return IP{}, errHostNumber
		}
		address = address<<room | n
	}
	return IP{netip.AddrFrom4([4]byte{byte(address >> 24), byte(address >> 16), byte(address >> 8),
		byte(address)})}, nil
}

func parseIPv4Number(s string) (uint64, error) {
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		if hex == "" {
			return 0, nil // as the specification has it
		}
		return parseDigits(hex, 16)
	}
	if octal, ok := strings.CutPrefix(s, "0"); ok && octal != "" {
		return parseDigits(octal, 8)
	}
	return parseDigits(s, 10)
}

// parseDigits reads an unsigned number without sign or underscore.
func parseDigits(s string, base int) (uint64, error) {
	if s == "" || !ldh(s) || s[0] == '-' {
		return 0, fmt.Errorf("%.20q is not a number", s)
	}
	return strconv.ParseUint(s, base, 33)
}

// MustHost is ParseHost for constants; it panics on a bad host.
func MustHost(s string) Host { return must(ParseHost(s)) }

// Domain returns the host as a domain, and whether it is one.
func (h Host) Domain() (Domain, bool) { return h.domain, !h.domain.IsZero() }

// IP returns the host as an address, and whether it is one.
func (h Host) IP() (IP, bool) { return h.ip, !h.ip.IsZero() }

// IsZero reports whether h is the zero Host.
func (h Host) IsZero() bool { return h == Host{} }

// Name returns the domain in ASCII form or the address without brackets, the form that Env.DialHost and
// Env.TLSConfig of package diag take.
func (h Host) Name() string {
	if ip, ok := h.IP(); ok {
		return ip.String()
	}
	return h.domain.String()
}

// String returns the host as written in a URL: an IPv6 address in brackets.
func (h Host) String() string {
	if h.ip.Is6() {
		return "[" + h.ip.String() + "]"
	}
	return h.Name()
}

// MarshalText implements [encoding.TextMarshaler].
func (h Host) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. Unlike [ParseHost], it refuses invisible characters,
// which browsers ignore.
func (h *Host) UnmarshalText(text []byte) (err error) {
	s := string(text)
	if *h, err = ParseHost(s); err != nil {
		return err
	}
	if fault := unseen(s); fault != nil {
		*h = Host{}
		return Invalid("host", "%.300q is not a host: %v, give %.300s", s, fault, without(s, stray))
	}
	return nil
}

// An IP is an IPv4 or IPv6 address without a zone. An IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2) is
// parsed as the IPv4 address.
type IP struct{ netip.Addr }

// ParseIP parses an address in the usual text form, such as "192.0.2.1" or "2001:db8::1".
func ParseIP(s string) (IP, error) {
	a, err := netip.ParseAddr(s)
	if err != nil {
		if fault := unseen(s); fault != nil {
			return IP{}, Invalid("ip", "%.100q is not an IP address: %v", s, fault)
		}
		return IP{}, Invalid("ip", "%.100q is not an IP address", s)
	}
	if a.Zone() != "" {
		return IP{}, Invalid("ip", "%.100q has a zone", s)
	}
	return IP{a.Unmap()}, nil
}

// MustIP is ParseIP for constants; it panics on a bad address.
func MustIP(s string) IP { return must(ParseIP(s)) }

// IsZero reports whether ip is the zero IP.
func (ip IP) IsZero() bool { return !ip.IsValid() }

// Version returns 4 or 6.
func (ip IP) Version() int {
	if ip.Is4() {
		return 4
	}
	return 6
}

// Reverse returns the absolute name of the address's PTR records, such as "1.2.0.192.in-addr.arpa." (RFC 1035
// section 3.5, RFC 3596 section 2.5).
func (ip IP) Reverse() string {
	if !ip.IsValid() || ip.Zone() != "" {
		return ""
	}
	if addr := ip.Unmap(); addr.Is4() {
		a := addr.As4()
		return fmt.Sprintf("%d.%d.%d.%d.in-addr.arpa.", a[3], a[2], a[1], a[0])
	}
	digits := []byte(hex.EncodeToString(ip.AsSlice()))
	slices.Reverse(digits)
	return strings.Join(strings.Split(string(digits), ""), ".") + ".ip6.arpa."
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (ip *IP) UnmarshalText(text []byte) (err error) {
	*ip, err = ParseIP(string(text))
	return err
}

// IsLocalhost reports whether a name refers to the machine itself. Such names must not be looked up in the DNS (RFC
// 6761 section 6.3).
func IsLocalhost(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}
