package svg

import "strings"

// predefined are the entities of XML itself (XML 1.0 section 4.6).
var predefined = map[string]string{"lt": "<", "gt": ">", "amp": "&", "apos": "'", "quot": `"`}

// resolve replaces references by what they stand for, which is never longer.
func (s *scanner) resolve(raw string, offset int, value bool) (string, *syntaxError) {
	if !strings.ContainsAny(raw, "&\t\r\n") {
		return raw, nil
	}
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\r' && strings.HasPrefix(raw[i+1:], "\n"): // XML 1.0 section 2.11
		case value && (c == '\t' || c == '\r' || c == '\n'):
			b.WriteByte(' ')
		case c != '&':
			b.WriteByte(c)
		default:
			text, n, err := s.reference(raw[i:], offset+i)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
			i += n - 1
		}
	}
	return b.String(), nil
}

// maxReference bounds a reference in bytes; the longest that mean something have 10.
const maxReference = 128

func (s *scanner) reference(raw string, offset int) (string, int, *syntaxError) {
	body, _, ok := strings.Cut(raw[1:min(len(raw), maxReference)], ";")
	if !ok {
		return "", 0, s.fail(offset, "An & begins no reference. In text it is written &amp;.")
	}
	n := len(body) + 2
	if digits, ok := strings.CutPrefix(body, "#"); ok {
		c, ok := charReference(digits)
		if !ok {
			return "", 0, s.fail(offset, "The reference &%s; names no character that XML allows.", clip(body))
		}
		return string(c), n, nil
	}
	if text, ok := predefined[body]; ok {
		return text, n, nil
	}
	if !isName(body) {
		return "", 0, s.fail(offset, "An & begins no reference. In text it is written &amp;.")
	}
	if s.unknown != nil {
		s.unknown(body, offset)
	}
	return "", n, nil
}

// charReference reads the number of a character reference (XML 1.0 section 4.1).
func charReference(digits string) (rune, bool) {
	base := rune(10)
	if rest, ok := strings.CutPrefix(digits, "x"); ok {
		base, digits = 16, rest
	}
	c := rune(0)
	for i := range len(digits) {
		d := rune(strings.IndexByte("0123456789abcdef", lower(digits[i])))
		if d < 0 || d >= base || c > 0x10FFFF {
			return 0, false
		}
		c = c*base + d
	}
	return c, digits != "" && isChar(c)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}
