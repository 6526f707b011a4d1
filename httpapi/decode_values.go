package httpapi

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (p *parser) readBool(v reflect.Value, _ *limits) {
	if c := p.peek(); c != 't' && c != 'f' {
		p.mismatch("true or false")
		return
	}
	v.SetBool(p.readWord() == "true")
}

func (p *parser) readList(v reflect.Value, l *limits, inner func(*parser, reflect.Value, *limits)) {
	if p.peek() != '[' {
		p.mismatch("a list")
		return
	}
	base, count := len(p.path), 0
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	p.eachMember(func() {
		p.path = strconv.AppendInt(append(p.path, '['), int64(count), 10)
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
		p.path = p.path[:base]
	})
	switch {
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
	p.skip()
	if err := v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(p.data[start:p.pos]); err != nil {
		p.addInputError(err)
	}
}

// readText hands a string to a type that parses itself, such as a domain.
func (p *parser) readText(v reflect.Value, l *limits) {
	if p.peek() != '"' {
		p.mismatch("a string")
		return
	}
	text := p.readLiteralString()
	if !p.checkString(text, l) {
		return
	}
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
		p.addInputError(err)
	}
}

func (p *parser) addInputError(err error) {
	list := inputViolations(err, string(p.path))
	if len(list) == 0 {
		p.invalid("%s", err)
		return
	}
	for _, v := range list {
		p.addViolation(reasonInvalid, "%s", v.Message)
	}
}

func (p *parser) readString(v reflect.Value, l *limits) {
	if p.peek() != '"' {
		p.mismatch("a string")
		return
	}
	if text := p.readLiteralString(); p.checkString(text, l) {
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

// readBytes reads a string of base64 (RFC 4648 section 4).
func (p *parser) readBytes(v reflect.Value, l *limits) {
	if p.peek() != '"' {
		p.mismatch("a string of base64")
		return
	}
	text := p.readLiteralString()
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // which the library passes over
		p.invalid("must be base64 with padding, on one line")
		return
	}
	if p.checkBytes(data, l) {
		v.SetBytes(data)
	}
}

func (p *parser) checkBytes(data []byte, l *limits) bool {
	switch {
	case len(data) == 0 && l.minLen > 0:
		p.invalid("must not be empty")
	case len(data) < l.minLen:
		p.invalid("must have at least %d bytes", l.minLen)
	case l.maxBytes > 0 && len(data) > l.maxBytes:
		p.invalid("must have at most %d bytes, not %d", l.maxBytes, len(data))
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
	return p.readWord(), true
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
