package yaml

import (
	"strings"
	"unicode/utf8"
)

// Value returns what a scalar says. Escapes of surrogates that have no partner, which are no characters, come
// as the three bytes that UTF-8 forbids.
func (s *Stream) Value(n *Node) string {
	raw := s.raw(n)
	special := "\n"
	switch n.style {
	case literal, folded:
		return s.blockValue(n)
	case single:
		raw, special = raw[1:len(raw)-1], "'\n"
	case double:
		raw, special = raw[1:len(raw)-1], "\\\n"
	}
	if !strings.ContainsAny(raw, special) {
		return raw
	}
	v := valuer{raw: raw, style: n.style, out: make([]byte, 0, len(raw))}
	for v.pos < len(raw) {
		v.step()
	}
	return string(v.out)
}

// A valuer works out what a scalar of several lines, or with escapes, says.
type valuer struct {
	raw   string
	style Style
	pos   int
	out   []byte
	kept  int // bytes of the output that are no white space before a line break
}

// step goes past a character, an escape or a line break.
func (v *valuer) step() {
	switch c := v.raw[v.pos]; {
	case c == '\n':
		for len(v.out) > v.kept && isBlank(v.out[len(v.out)-1]) {
			v.out = v.out[:len(v.out)-1]
		}
		v.fold(false)
	case c == '\'' && v.style == single:
		v.out = append(v.out, c)
		v.pos += 2
	case c == '\\' && v.style == double:
		v.escape()
	default:
		v.out = append(v.out, c)
		v.pos++
	}
}

// fold goes past a line break and white space: a break becomes a space, and empty lines become breaks (YAML
// 1.2.2 section 6.5).
func (v *valuer) fold(escaped bool) {
	breaks := 0
	for ; v.pos < len(v.raw) && (isBlank(v.raw[v.pos]) || v.raw[v.pos] == '\n'); v.pos++ {
		if v.raw[v.pos] == '\n' {
			breaks++
		}
	}
	if breaks == 1 && !escaped {
		v.out = append(v.out, ' ')
	}
	for range breaks - 1 {
		v.out = append(v.out, '\n')
	}
	v.kept = len(v.out)
}

// escape goes past an escape, which is valid.
func (v *valuer) escape() {
	c := v.raw[v.pos+1]
	digits := escapeDigits(c)
	switch {
	case c == '\n':
		v.pos++
		v.fold(true)
		return
	case digits == 0:
		v.out = append(v.out, simpleEscape(c)...)
		v.pos += 2
	default:
		r, _ := hex(v.raw[v.pos+2:], digits)
		v.pos += 2 + digits
		v.character(r)
	}
	v.kept = len(v.out)
}

// character appends what an escape of a number means: two that are a surrogate pair mean one, as in JSON.
func (v *valuer) character(r uint32) {
	if r>>10 == 0xD800>>10 && strings.HasPrefix(v.raw[v.pos:], `\u`) {
		if low, ok := hex(v.raw[v.pos+2:], 4); ok && low>>10 == 0xDC00>>10 {
			r = 0x10000 + (r&0x3FF)<<10 + low&0x3FF
			v.pos += 6
		}
	}
	if r>>11 == 0xD800>>11 {
		v.out = append(v.out, 0xE0|byte(r>>12), 0x80|byte(r>>6&0x3F), 0x80|byte(r&0x3F))
		return
	}
	v.out = utf8.AppendRune(v.out, rune(r))
}
