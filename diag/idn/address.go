package idn

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/diagkit/diagkit/diag/input"
)

// addressOf returns the IP address that a name in ASCII form is, also as read by browsers (url.spec.whatwg.org,
// "host parsing"); empty if it is a name.
func addressOf(ascii string) string {
	text := strings.TrimSuffix(strings.TrimPrefix(ascii, "["), "]")
	if tagged, ok := strings.CutPrefix(text, "ipv6:"); ok && text != ascii { // the form in mail (RFC 5321 section 4.1.3)
		text = tagged
	}
	if ip, err := netip.ParseAddr(text); err == nil {
		return fmt.Sprintf("It is the IPv%d address %s.", input.IP{Addr: ip.Unmap()}.Version(), ip)
	}
	if !endsInNumber(ascii) {
		return ""
	}
	if h, err := input.ParseHost(ascii); err == nil {
		if ip, ok := h.IP(); ok {
			return fmt.Sprintf("Its last label is a number: browsers take the name for the IPv4 address %s.", ip)
		}
	}
	return "Its last label is a number: browsers take the name for an IPv4 address, and refuse it because it is not one."
}

// endsInNumber reports whether the last label is a number, decimal, octal or hexadecimal
// (url.spec.whatwg.org, "ends-in-a-number checker").
func endsInNumber(ascii string) bool {
	last := ascii[strings.LastIndexByte(ascii, '.')+1:]
	if digits, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
