package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxViolations bounds the list of faults: an attacker's body must not make a long reply.
const maxViolations = 50

// decode reads a JSON body into the struct that target points to, by the tags of its fields. It is stricter than
// encoding/json: names are compared exactly, and a repeated or unknown name, null for a required member, invalid
// UTF-8 and trailing data are faults. All faults are collected; a syntax error is reported alone.
func decode(body []byte, target any) error {
	p := parser{data: body}
	v := reflect.ValueOf(target).Elem()
	p.readDocument(v, objectOf(v.Type()))
	return p.finish(target)
}

// finish returns the faults found in reading a request, or those that it finds in itself.
func (p *parser) finish(target any) error {
	if len(p.violations) > 0 {
		return p.err()
	}
	if check, ok := target.(interface{ Validate() error }); ok {
		return check.Validate()
	}
	return nil
}

func (p *parser) readDocument(v reflect.Value, o *object) {
	p.skipSpace()
	switch {
	case !utf8.Valid(p.data):
		p.addViolation(reasonMalformed, "the body is not valid UTF-8")
	case !json.Valid(p.data):
		p.addViolation(reasonMalformed, "%s", syntaxFault(p.data))
	case p.peek() != '{':
		p.addViolation(reasonMalformed, "a JSON object is expected")
	case hasLoneSurrogate(p.data):
		p.addViolation(reasonMalformed, "an escape stands for half a character")
	default:
		p.readMembers(v, o)
	}
}

// syntaxFault returns the position and the reason of a JSON syntax error.
func syntaxFault(data []byte) string {
	err := json.Unmarshal(data, new(json.RawMessage))
	wrong, _ := errors.AsType[*json.SyntaxError](err)
	before := string(data[:max(0, wrong.Offset-1)])
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("line %d, column %d: %s", 1+strings.Count(before, "\n"), column, wrong)
}

// hasLoneSurrogate reports whether an escape in a JSON text is a surrogate without its other half (RFC 8259 section
// 8.2): it is no character, and so the string would not be valid UTF-8.
func hasLoneSurrogate(data []byte) bool {
	unit := func(at int) rune {
		n, _ := strconv.ParseUint(string(data[at:at+4]), 16, 16) // four digits, as the text is valid
		return rune(n)
	}
	for {
		i := bytes.IndexByte(data, '\\')
		switch {
		case i < 0:
			return false
		case data[i+1] != 'u':
			data = data[i+2:]
			continue
		}
		first := unit(i + 2)
		if data = data[i+6:]; !utf16.IsSurrogate(first) {
			continue
		}
		if !bytes.HasPrefix(data, []byte(`\u`)) || utf16.DecodeRune(first, unit(2)) == utf8.RuneError {
			return true
		}
		data = data[6:]
	}
}

// parser reads one value of a text that is known to be JSON (RFC 8259).
type parser struct {
	data       []byte
	pos        int
	path       []byte
	violations []Violation
}

func (p *parser) err() error { return &ViolationsError{p.violations} }

// addViolation adds a fault of the value at the present path.
func (p *parser) addViolation(reason, format string, args ...any) {
	if len(p.violations) < maxViolations {
		p.violations = append(p.violations, Violation{string(p.path), reason, fmt.Sprintf(format, args...)})
	}
}

// invalid reports a value that its field does not allow.
func (p *parser) invalid(format string, args ...any) { p.addViolation(reasonInvalid, format, args...) }

// skipSpace skips blanks, commas and colons, which occur only where the grammar requires them.
func (p *parser) skipSpace() {
	for ; p.pos < len(p.data); p.pos++ {
		switch p.data[p.pos] {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.data) {
		return p.data[p.pos]
	}
	return 0
}

// eachMember steps into a list or an object, and calls a function at each entry or name, which steps over it.
func (p *parser) eachMember(member func()) {
	p.pos++
	for p.skipSpace(); p.peek() != ']' && p.peek() != '}'; p.skipSpace() {
		member()
	}
	p.pos++
}

func (p *parser) readObject(v reflect.Value) {
	if p.peek() != '{' {
		p.mismatch("an object")
		return
	}
	p.readMembers(v, objectOf(v.Type()))
}

func (p *parser) readMembers(v reflect.Value, o *object) {
	seen := make([]string, 0, len(o.fields))
	base := len(p.path)
	p.eachMember(func() {
		name := p.readLiteralString()
		p.skipSpace()
		p.setPath(base, name)
		switch f := o.byName[name]; {
		case f == nil:
			p.unknownName("field", o)
			p.skip()
		case slices.Contains(seen, name):
			p.addViolation(reasonMalformed, "is given twice")
			p.skip()
		case p.readField(v, f) || f.required:
			seen = append(seen, name)
		}
		p.path = p.path[:base]
	})
	p.checkPresence(o, seen, base)
}

func (p *parser) setPath(base int, name string) {
	p.path = p.path[:base]
	if base > 0 {
		p.path = append(p.path, '.')
	}
	p.path = append(p.path, name...)
	if len(name) > 100 { // as long as any sensible name; the path is part of the reply
		p.path = append(p.path[:base+100], "…"...)
	}
}

// readField reads the value of a field, and reports whether it is given: null means absence.
func (p *parser) readField(v reflect.Value, f *field) bool {
	if p.peek() == 'n' {
		if p.skip(); f.required {
			p.addViolation(reasonMissing, "must not be null")
		}
		return false
	}
	f.decode(p, v.FieldByIndex(f.index), &f.limits)
	return true
}

// unknownName reports a name that the request does not have, and those that it has.
func (p *parser) unknownName(kind string, o *object) {
	if len(o.fields) == 0 {
		p.addViolation(reasonUnknown, "is not a %s of this request; it has none", kind)
		return
	}
	p.addViolation(reasonUnknown, "is not a %s of this request; the %ss are %s", kind, kind, strings.Join(o.names(), ", "))
}

func (p *parser) checkPresence(o *object, seen []string, base int) {
	for _, f := range o.fields {
		if f.required && !slices.Contains(seen, f.name) {
			p.setPath(base, f.name)
			p.addViolation(reasonMissing, "is required")
		}
	}
	for _, f := range o.fields { // in the order of the fields, once for each group
		members := o.groups[f.oneof]
		if f.oneof == "" || members[0] != f.name {
			continue
		}
		given := 0
		for _, m := range members {
			if slices.Contains(seen, m) {
				given++
			}
		}
		p.setPath(base, f.name)
		switch {
		case given == 0:
			p.addViolation(reasonMissing, "exactly one of %s is required", strings.Join(members, ", "))
		case given > 1:
			p.invalid("only one of %s may be given", strings.Join(members, ", "))
		}
	}
	p.path = p.path[:base]
}

// mismatch reports a value of the wrong type and steps over it.
func (p *parser) mismatch(want string) {
	p.invalid("must be %s", want)
	p.skip()
}

// skip steps over one value of any type.
func (p *parser) skip() {
	switch p.peek() {
	case '"':
		p.skipString()
	case '{', '[':
		p.eachMember(p.skip)
	default:
		p.readWord()
	}
}

// readWord reads a number, true, false or null.
func (p *parser) readWord() string {
	start := p.pos
	for p.pos < len(p.data) && strings.IndexByte(" \t\r\n,]}", p.data[p.pos]) < 0 {
		p.pos++
	}
	return string(p.data[start:p.pos])
}

// skipString steps over a string, and reports whether it has escapes.
func (p *parser) skipString() (escaped bool) {
	rest := p.data[p.pos+1:]
	if end := bytes.IndexByte(rest, '"'); bytes.IndexByte(rest[:end], '\\') < 0 {
		p.pos += end + 2
		return false
	}
	for p.pos++; p.data[p.pos] != '"'; p.pos++ {
		if p.data[p.pos] == '\\' {
			escaped = true
			p.pos++
		}
	}
	p.pos++
	return escaped
}

func (p *parser) readLiteralString() string {
	start := p.pos
	if !p.skipString() {
		return string(p.data[start+1 : p.pos-1])
	}
	var text string
	if err := json.Unmarshal(p.data[start:p.pos], &text); err != nil { // it is JSON: see readDocument
		panic(err)
	}
	return text
}
