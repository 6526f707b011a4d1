package httpapi

import (
	"bytes"
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

func (p *parser) readBool(v reflect.Value, _ *limits) {
	switch p.peek() {
	case 't':
		v.SetBool(p.literal("true"))
	case 'f':
		p.literal("false")
		v.SetBool(false)
	default:
		p.mismatch("true or false")
	}
}

func (p *parser) readList(v reflect.Value, l *limits, inner func(*parser, reflect.Value, *limits)) {
	if p.peek() != '[' {
		p.mismatch("a list")
		return
	}
	if !p.enter() {
		return
	}
	defer p.leave()
	base, count := len(p.path), 0
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	more := p.peek() != ']'
	if !more {
		p.pos++
	}
	for more && !p.broken {
		p.path = strconv.AppendInt(append(p.path[:base], '['), int64(count), 10)
		p.path = append(p.path, ']')
		if count++; l.maxItems > 0 && count > l.maxItems {
			p.skip()
		} else {
			item := reflect.New(v.Type().Elem()).Elem()
			if p.peek() == 'n' {
				p.mismatch("present, not null")
			} else {
				inner(p, item, l)
			}
			p.checkUnique(v, item, l)
			v.Set(reflect.Append(v, item))
		}
		p.path = p.path[:min(base, len(p.path))]
		more = !p.broken && p.next(']')
	}
	switch {
	case p.broken:
	case count < l.minItems:
		p.invalid("must have at least %d entries", l.minItems)
	case l.maxItems > 0 && count > l.maxItems:
		p.invalid("must have at most %d entries, not %d", l.maxItems, count)
	}
}

func (p *parser) checkUnique(list, item reflect.Value, l *limits) {
	if !l.unique || !item.Comparable() {
		return
	}
	for i := range list.Len() {
		if list.Index(i).Equal(item) {
			p.invalid("is in the list twice")
			return
		}
	}
}

// readRaw hands the JSON text to a type with a form of its own.
func (p *parser) readRaw(v reflect.Value, _ *limits) {
	start := p.pos
	if p.skip(); p.broken {
		return
	}
	if err := v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(p.data[start:p.pos]); err != nil {
		p.input(err)
	}
}

// readText hands a string to a type that parses itself, such as a domain.
func (p *parser) readText(v reflect.Value, l *limits) {
	if p.peek() != '"' {
		p.mismatch("a string")
		return
	}
	text, ok := p.str()
	if !ok || !p.checkString(text, l) {
		return
	}
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
		p.input(err)
	}
}

func (p *parser) input(err error) {
	list := inputViolations(err, string(p.path))
	if len(list) == 0 {
		p.invalid("%s", err)
		return
	}
	for _, v := range list {
		p.report(reasonInvalid, "%s", v.Message)
	}
}

func (p *parser) readString(v reflect.Value, l *limits) {
	if p.peek() != '"' {
		p.mismatch("a string")
		return
	}
	if text, ok := p.str(); ok && p.checkString(text, l) {
		v.SetString(text)
	}
}

func (p *parser) checkString(s string, l *limits) bool {
	switch {
	case l.maxBytes > 0 && len(s) > l.maxBytes:
		p.invalid("must have at most %d bytes, not %d", l.maxBytes, len(s))
	case l.maxLen > 0 && len(s) > l.maxLen && utf8.RuneCountInString(s) > l.maxLen:
		p.invalid("must have at most %d characters", l.maxLen)
	case l.minLen > 0 && (len(s) < l.minLen || utf8.RuneCountInString(s) < l.minLen):
		if l.minLen == 1 {
			p.invalid("must not be empty")
			break
		}
		p.invalid("must have at least %d characters", l.minLen)
	case len(l.enum) > 0 && !slices.Contains(l.enum, s):
		p.invalid("must be one of %s", strings.Join(l.enum, ", "))
	case l.pattern != nil && !l.pattern.MatchString(s):
		p.invalid("must match %s", l.pattern)
	default:
		return true
	}
	return false
}

func (p *parser) readInt(v reflect.Value, l *limits) {
	text, ok := p.numberText("a whole number")
	if !ok {
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		// 5.0 and 5e0 are whole numbers too (JSON Schema, "integer").
		f, ferr := strconv.ParseFloat(text, 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			p.invalid("must be a whole number")
			return
		}
		n = int64(f)
	}
	if !p.checkNumber(float64(n), l) {
		return
	}
	switch {
	case len(l.enum) > 0 && !slices.Contains(l.enum, strconv.FormatInt(n, 10)):
		p.invalid("must be one of %s", strings.Join(l.enum, ", "))
	case v.CanInt() && !v.OverflowInt(n):
		v.SetInt(n)
	case v.CanUint() && n >= 0 && !v.OverflowUint(uint64(n)):
		v.SetUint(uint64(n))
	default:
		p.invalid("is out of range")
	}
}

func (p *parser) readFloat(v reflect.Value, l *limits) {
	text, ok := p.numberText("a number")
	if !ok {
		return
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.invalid("is out of range")
		return
	}
	if p.checkNumber(f, l) {
		v.SetFloat(f)
	}
}

func (p *parser) numberText(want string) (string, bool) {
	if c := p.peek(); c != '-' && (c < '0' || '9' < c) {
		p.mismatch(want)
		return "", false
	}
	return p.number()
}

func (p *parser) checkNumber(f float64, l *limits) bool {
	switch {
	case l.min != nil && f < *l.min:
		p.invalid("must be at least %v", *l.min)
	case l.max != nil && f > *l.max:
		p.invalid("must be at most %v", *l.max)
	default:
		return true
	}
	return false
}

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
