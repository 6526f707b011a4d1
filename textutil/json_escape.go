package textutil

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// appendEscape appends what the escape at i of a valid string means, and returns where it ends (RFC 8259
// section 7). Surrogates that have no partner come as the three bytes that UTF-8 forbids.
func appendEscape(b []byte, raw string, i int) ([]byte, int) {
	if c := raw[i+1]; c != 'u' {
		if at := strings.IndexByte("bfnrt", c); at >= 0 {
			c = "\b\f\n\r\t"[at]
		}
		return append(b, c), i + 2
	}
	value, _ := hexValue(raw[i+2:], 4)
	i += 6
	if value>>10 == 0xD800>>10 && strings.HasPrefix(raw[i:], `\u`) {
		if low, ok := hexValue(raw[i+2:], 4); ok && low>>10 == 0xDC00>>10 {
			return utf8.AppendRune(b, rune(0x10000+(value&0x3FF)<<10+low&0x3FF)), i + 6
		}
	}
	if value>>11 == 0xD800>>11 {
		return append(b, 0xE0|byte(value>>12), 0x80|byte(value>>6&0x3F), 0x80|byte(value&0x3F)), i
	}
	return utf8.AppendRune(b, rune(value)), i
}

// hexValue returns the value of exactly n hexadecimal digits at the beginning of s.
func hexValue(s string, n int) (uint32, bool) {
	if len(s) < n {
		return 0, false
	}
	var v uint32
	for _, c := range []byte(s[:n]) {
		switch {
		case '0' <= c && c <= '9':
			v = v<<4 | uint32(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			v = v<<4 | uint32(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

// appendJSONString appends a string in quotes. What JSON need not escape stays as it is.
func appendJSONString(out []byte, s string) []byte {
	out = append(out, '"')
	done := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c != 0xED {
			continue
		}
		out = append(out, s[done:i]...)
		done = i + 1
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, '\\', 'n')
		case '\t':
			out = append(out, '\\', 't')
		case '\r':
			out = append(out, '\\', 'r')
		case '\b':
			out = append(out, '\\', 'b')
		case '\f':
			out = append(out, '\\', 'f')
		case 0xED:
			if r, ok := loneSurrogate(s[i:]); ok {
				out = fmt.Appendf(out, `\u%04x`, r)
				i += 2
				done = i + 1
			} else {
				done = i
			}
		default:
			out = fmt.Appendf(out, `\u%04x`, c)
		}
	}
	return append(append(out, s[done:]...), '"')
}

// loneSurrogate returns a surrogate that is written as three bytes, which UTF-8 forbids: the values of
// strings hold surrogates without a partner so, for they are no characters.
func loneSurrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 {
		return utf8.RuneError, false
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), true
}
