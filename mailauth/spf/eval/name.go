package eval

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
)

// The sizes of names in octets (RFC 1035 section 2.3.4), without the final dot.
const (
	maxLabel = 63
	maxName  = 253
)

// NameFault returns why a name, without its final dot, cannot be queried in the DNS; empty if it can.
func NameFault(name string) string {
	if len(name) > maxName {
		return "it is longer than 253 octets"
	}
	for rest, more := name, true; more; {
		var label string
		switch label, rest, more = strings.Cut(rest, "."); {
		case label == "":
			return "it has an empty label"
		case len(label) > maxLabel:
			return "a label is longer than 63 octets"
		}
	}
	return ""
}

// DomainFault returns why a text is not a domain that can have a record (RFC 7208 section 4.3); empty if it is one.
func DomainFault(s string) string {
	switch fault := NameFault(s); {
	case s == "":
		return "it is empty"
	case s[0] == '[':
		return "it is an address"
	case fault != "":
		return fault
	case !isASCII(s):
		return "it has characters beyond ASCII"
	case !strings.Contains(s, "."):
		return "it has one label only"
	default:
		return ""
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] > '~' {
			return false
		}
	}
	return true
}

// topLabel returns the fault of the last label of a name; empty if valid. A valid one consists of letters, digits and
// inner hyphens, and not of digits alone.
func topLabel(s string) string {
	switch {
	case s == "":
		return "its last label is empty"
	case strings.Trim(s, "0123456789") == "":
		return "its last label is a number"
	case s[0] == '-' || s[len(s)-1] == '-':
		return "its last label begins or ends with a hyphen"
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return r != '-' && !isAlphanumeric(byte(r)) }); i >= 0 {
		return "its last label has the character \"" + s[i:i+1] + "\""
	}
	return ""
}

// truncateName shortens an expanded name to the length that the DNS allows by dropping labels from the left (RFC
// 7208 section 7.3), and cuts the final dot.
func truncateName(name string) string {
	name = strings.TrimSuffix(name, ".")
	for len(name) > maxName {
		_, rest, ok := strings.Cut(name, ".")
		if !ok {
			break
		}
		name = rest
	}
	return name
}

// absolute formats a name in lower case like the DNS library: bytes that are special in master files are escaped (RFC
// 1035 section 5.1), so that names in answers compare as equal.
func absolute(name string) string {
	name = strings.ToLower(name)
	for i := range len(name) {
		if c := name[i]; !isAlphanumeric(c) && strings.IndexByte("-_.", c) < 0 {
			return escaped(name) + "."
		}
	}
	return name + "."
}

func escaped(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		switch {
		case strings.IndexByte(" '@;()\"\\", c) >= 0:
			b.Write([]byte{'\\', c})
		case c < ' ' || c > '~':
			b.Write([]byte{'\\', '0' + c/100, '0' + c/10%10, '0' + c%10})
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Unescape returns a name that the DNS library wrote as bytes (RFC 1035 section 5.1), without the final dot.
func Unescape(name string) string {
	name = strings.TrimSuffix(name, ".")
	if strings.IndexByte(name, '\\') < 0 {
		return name
	}
	return dnsmsg.TXT(&dns.TXT{Txt: []string{name}})
}

// Below reports whether a name is another or below it.
func Below(name, ancestor string) bool {
	n := len(name) - len(ancestor)
	return n >= 0 && strings.EqualFold(name[n:], ancestor) && (n == 0 || name[n-1] == '.')
}

// ALabels returns a name without its final dot and with A-labels for U-labels (RFC 8616 section 4). An invalid name
// is returned unchanged.
func ALabels(s string) string {
	if !isASCII(s) {
		if name, err := diag.ParseName(s); err == nil {
			return name.String()
		}
	}
	return strings.TrimSuffix(s, ".")
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func isAlphanumeric(c byte) bool { return '0' <= c && c <= '9' || isAlpha(c) }
func isAlpha(c byte) bool        { return 'a' <= c|0x20 && c|0x20 <= 'z' }
