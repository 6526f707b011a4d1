package spf

import (
	"net/netip"
	"strconv"
	"strings"
)

// macros is a macro-string: text and macros in turn (RFC 7208 section 7.1).
type macros []macro

// A macro is a piece of text, or what is to be put in its place.
type macro struct {
	text       string // the text itself, if letter is 0
	quoted     bool   // the text stands for one of %% %_ %-
	letter     byte   // in lower case
	escape     bool   // a capital letter: reserved characters are escaped (section 7.3)
	keep       int    // parts that are kept, from the right; 0 keeps all
	reverse    bool
	delimiters string // at which the value is split; empty means the full stop
}

// maxParts bounds the number of parts in a macro: no name has more than 127 labels, and RFC 7208 section
// 7.1 wants 127 at least.
const maxParts = 128

// letters are those that may stand in the name of a domain; those of explanations may also be c, r, t.
const (
	letters            = "slodiphv"
	explanationLetters = letters + "crt"
)

// parseMacros reads a macro-string, which may hold blanks only in an explanation. On an error it
// returns where it is and what it is.
func parseMacros(s string, explanation bool) (m macros, offset, length int, fault string) {
	begin := 0
	flush := func(end int) {
		if end > begin {
			m = append(m, macro{text: s[begin:end]})
		}
	}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '%':
			flush(i)
			one, n, fault := parseMacro(s[i:], explanation)
			if fault != "" {
				return nil, i, min(max(n, 1), len(s)-i), fault
			}
			m = append(m, one)
			i += n
			begin = i
		case c > 0x20 && c < 0x7f || c == ' ' && explanation:
			i++
		default:
			return nil, i, 1, "the character " + strconv.QuoteToASCII(s[i:i+1]) + " must not stand there"
		}
	}
	flush(len(s))
	return m, 0, 0, ""
}

// parseMacro reads the macro at the beginning of s, and returns its length in bytes.
func parseMacro(s string, explanation bool) (m macro, n int, fault string) {
	if len(s) < 2 {
		return m, 1, "a percent sign stands alone; it is written %%"
	}
	switch s[1] {
	case '%':
		return macro{text: "%", quoted: true}, 2, ""
	case '_':
		return macro{text: " ", quoted: true}, 2, ""
	case '-':
		return macro{text: "%20", quoted: true}, 2, ""
	case '{':
	default:
		return m, 2, "a percent sign is followed by " + strconv.QuoteToASCII(s[1:2]) + ", not by one of { % _ -"
	}
	end := strings.IndexByte(s, '}')
	if end < 0 {
		return m, len(s), "a macro has no closing brace"
	}
	return parseBody(s[2:end], end+1, explanation)
}

// parseBody reads what stands between the braces:
//
//	macro-letter *DIGIT [ "r" ] *delimiter
func parseBody(body string, n int, explanation bool) (m macro, _ int, fault string) {
	if body == "" {
		return m, n, "a macro is empty"
	}
	m.letter, m.escape = lower(body[0]), body[0] < 'a'
	switch known := strings.IndexByte(explanationLetters, m.letter) >= 0; {
	case !known:
		return m, n, "there is no macro " + strconv.QuoteToASCII(body[:1])
	case !explanation && strings.IndexByte(letters, m.letter) < 0:
		return m, n, "the macro " + strconv.Quote(body[:1]) + " is for explanations only"
	}
	rest := body[1:]
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	if digits > 0 {
		if m.keep = parseCount(rest[:digits]); m.keep == 0 { // section 7.1: MUST be nonzero
			return m, n, "the number of parts in a macro is 0"
		}
	}
	rest = rest[digits:]
	if rest != "" && lower(rest[0]) == 'r' {
		m.reverse, rest = true, rest[1:]
	}
	if i := strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune(".-+,/_=", r) }); i >= 0 {
		return m, n, "the macro %{" + strconv.QuoteToASCII(body)[1:len(strconv.QuoteToASCII(body))-1] +
			"} is not a letter, a number, an r and delimiters"
	}
	m.delimiters = rest
	return m, n, ""
}

// parseCount reads digits, of which there may be very many.
func parseCount(digits string) int {
	n := 0
	for _, c := range []byte(digits) {
		n = min(10*n+int(c-'0'), maxParts)
	}
	return n
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// uses reports whether one of the letters is among the macros.
func (m macros) uses(letters string) bool {
	for _, one := range m {
		if one.letter != 0 && strings.IndexByte(letters, one.letter) >= 0 {
			return true
		}
	}
	return false
}

// expand puts the values in place of the macros.
func (m macros) expand(value func(letter byte) string) string {
	if len(m) == 1 && m[0].letter == 0 {
		return m[0].text
	}
	var b strings.Builder
	for _, one := range m {
		if one.letter == 0 {
			b.WriteString(one.text)
			continue
		}
		b.WriteString(one.apply(value(one.letter)))
		if b.Len() > maxExpansion {
			break
		}
	}
	return b.String()
}

// maxExpansion bounds what macros expand to, in bytes: an explanation is given to the sender in a reply
// of SMTP, which is short, and names are shorter still.
const maxExpansion = 64 << 10

// apply splits a value, reverses and cuts it, joins it with dots and escapes it (section 7.3).
func (m *macro) apply(value string) string {
	if m.keep > 0 || m.reverse || m.delimiters != "" {
		delimiters := m.delimiters
		if delimiters == "" {
			delimiters = "."
		}
		parts := split(value, delimiters)
		if m.reverse {
			for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
				parts[i], parts[j] = parts[j], parts[i]
			}
		}
		if m.keep > 0 && m.keep < len(parts) {
			parts = parts[len(parts)-m.keep:]
		}
		value = strings.Join(parts, ".")
	}
	if m.escape {
		return escape(value)
	}
	return value
}

func split(s, delimiters string) []string {
	var parts []string
	begin := 0
	for i := range len(s) {
		if strings.IndexByte(delimiters, s[i]) >= 0 {
			parts, begin = append(parts, s[begin:i]), i+1
		}
	}
	return append(parts, s[begin:])
}

// escape escapes all but the unreserved characters of RFC 3986 section 2.3.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(s) {
		if isAlphanumeric(c) || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return b.String()
}

func isAlphanumeric(c byte) bool { return isDigit(c) || isAlpha(c) }
func isDigit(c byte) bool        { return '0' <= c && c <= '9' }
func isAlpha(c byte) bool        { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// dotted is the value of the macro i: the address as labels (section 7.3).
func dotted(ip netip.Addr) string {
	if ip.Is4() {
		return ip.String()
	}
	const hex = "0123456789abcdef"
	b := make([]byte, 0, 63)
	for _, c := range ip.As16() {
		if len(b) > 0 {
			b = append(b, '.')
		}
		b = append(b, hex[c>>4], '.', hex[c&15])
	}
	return string(b)
}
