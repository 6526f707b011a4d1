package httpapi

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// number reads a number (RFC 8259 section 6).
func (p *parser) number() (string, bool) {
	start := p.pos
	digits := func() int {
		n := p.pos
		for '0' <= p.peek() && p.peek() <= '9' {
			p.pos++
		}
		return p.pos - n
	}
	if p.peek() == '-' {
		p.pos++
	}
	first := p.peek()
	if n := digits(); n == 0 || n > 1 && first == '0' {
		p.fail("this is no JSON value")
		return "", false
	}
	if p.peek() == '.' {
		if p.pos++; digits() == 0 {
			p.fail("a digit is expected")
			return "", false
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		if p.pos++; p.peek() == '+' || p.peek() == '-' {
			p.pos++
		}
		if digits() == 0 {
			p.fail("a digit is expected")
			return "", false
		}
	}
	return string(p.data[start:p.pos]), true
}

// str reads a string (RFC 8259 section 7); the next byte is its opening quote.
func (p *parser) str() (string, bool) {
	p.pos++
	rest := p.data[p.pos:]
	for i, c := range rest {
		switch {
		case c == '"':
			p.pos += i + 1
			return string(rest[:i]), true
		case c == '\\':
			return p.escaped(i)
		case c < 0x20:
			p.pos += i
			p.fail("a control character must be escaped")
			return "", false
		}
	}
	p.pos = len(p.data)
	p.fail("the string does not end")
	return "", false
}

// escaped reads the rest of a string whose first n bytes have no escape.
func (p *parser) escaped(n int) (string, bool) {
	out := append(make([]byte, 0, 2*n+32), p.data[p.pos:p.pos+n]...)
	p.pos += n
	for p.pos < len(p.data) {
		switch c := p.data[p.pos]; {
		case c == '"':
			p.pos++
			return string(out), true
		case c < 0x20:
			p.fail("a control character must be escaped")
			return "", false
		case c != '\\':
			end := p.pos + 1
			for end < len(p.data) && p.data[end] >= 0x20 && p.data[end] != '"' && p.data[end] != '\\' {
				end++
			}
			out = append(out, p.data[p.pos:end]...)
			p.pos = end
		default:
			r, ok := p.escape()
			if !ok {
				return "", false
			}
			out = utf8.AppendRune(out, r)
		}
	}
	p.fail("the string does not end")
	return "", false
}

// escapes pairs the short escapes with what they stand for.
var escapes = [2][]byte{[]byte(`"\/bfnrt`), []byte("\"\\/\b\f\n\r\t")}

// escape reads one escape. A lone surrogate is refused: it is no character, and so the text would not be valid UTF-8.
func (p *parser) escape() (rune, bool) {
	p.pos++
	c := p.peek()
	if i := bytes.IndexByte(escapes[0], c); i >= 0 && c != 0 {
		p.pos++
		return rune(escapes[1][i]), true
	}
	r, ok := p.hex()
	if !ok {
		return 0, false
	}
	if !utf16.IsSurrogate(r) {
		return r, true
	}
	if p.peek() == '\\' {
		p.pos++
		if low, ok := p.hex(); ok {
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				return r, true
			}
		}
	}
	p.fail("an escape stands for half a character")
	return 0, false
}

// hex reads the u and four digits of an escape.
func (p *parser) hex() (rune, bool) {
	if p.peek() != 'u' || len(p.data)-p.pos < 5 {
		p.fail("this is no escape of JSON")
		return 0, false
	}
	n, err := strconv.ParseUint(string(p.data[p.pos+1:p.pos+5]), 16, 16)
	if err != nil {
		p.fail("an escape needs four hexadecimal digits")
		return 0, false
	}
	p.pos += 5
	return rune(n), true
}
