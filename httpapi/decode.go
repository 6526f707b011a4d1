package httpapi

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxDepth bounds nested values. No request of the table is deeper than four.
	maxDepth = 32
	// maxViolations bounds the list of faults: an attacker's body must not make a long reply.
	maxViolations = 50
)

// decode reads a JSON body into the struct that target points to, by the tags of its fields. It is stricter than
// encoding/json: names are compared exactly, a repeated or unknown name, null for a required member, invalid UTF-8 and
// trailing data are faults. All faults are collected; only a syntax error ends the reading.
func decode(body []byte, target any) error {
	p := parser{data: body}
	v := reflect.ValueOf(target).Elem()
	p.readDocument(v, objectOf(v.Type()))
	return p.verdict(target)
}

// verdict returns the faults found in reading a request, or those that it finds in itself.
func (p *parser) verdict(target any) error {
	if len(p.violations) > 0 {
		return p.err()
	}
	if check, ok := target.(interface{ Validate() error }); ok {
		return check.Validate()
	}
	return nil
}

func (p *parser) readDocument(v reflect.Value, o *object) {
	if !utf8.Valid(p.data) {
		p.report(reasonMalformed, "the body is not valid UTF-8")
		return
	}
	p.space()
	if p.peek() != '{' {
		p.fail("a JSON object is expected")
		return
	}
	p.readMembers(v, o)
	if !p.broken {
		if p.space(); p.pos < len(p.data) {
			p.fail("there is data after the JSON object")
		}
	}
}

// parser reads one JSON text (RFC 8259).
type parser struct {
	data       []byte
	pos        int
	depth      int
	path       []byte
	broken     bool // a syntax error: nothing after it can be trusted
	violations []Violation
}

func (p *parser) err() error { return &ViolationsError{p.violations} }

// report adds a fault of the value at the present path.
func (p *parser) report(reason, format string, args ...any) {
	if len(p.violations) < maxViolations {
		p.violations = append(p.violations, Violation{string(p.path), reason, fmt.Sprintf(format, args...)})
	}
}

// invalid reports a value that its field does not allow.
func (p *parser) invalid(format string, args ...any) { p.report(reasonInvalid, format, args...) }

// fail ends the reading with a syntax error.
func (p *parser) fail(what string) {
	if p.broken {
		return
	}
	p.broken = true
	line, column := position(p.data, p.pos)
	p.path = nil
	p.violations = slices.Insert(p.violations, 0,
		Violation{"", reasonMalformed, fmt.Sprintf("line %d, column %d: %s", line, column, what)})
	p.pos = len(p.data)
}

func position(data []byte, pos int) (line, column int) {
	before := string(data[:min(pos, len(data))])
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

func (p *parser) space() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end; a NUL in the text is no JSON either.
func (p *parser) peek() byte {
	if p.pos < len(p.data) {
		return p.data[p.pos]
	}
	return 0
}

func (p *parser) literal(word string) bool {
	if len(p.data)-p.pos >= len(word) && string(p.data[p.pos:p.pos+len(word)]) == word {
		p.pos += len(word)
		return true
	}
	p.fail("this is no JSON value")
	return false
}

// enter guards against deep nesting; leave undoes it.
func (p *parser) enter() bool {
	if p.depth++; p.depth > maxDepth {
		p.fail(fmt.Sprintf("values are nested deeper than %d", maxDepth))
		return false
	}
	p.pos++
	p.space()
	return true
}

func (p *parser) leave() { p.depth-- }

// next steps over what separates two members of a list or object, and reports whether there is another one.
func (p *parser) next(end byte) bool {
	p.space()
	switch p.peek() {
	case ',':
		p.pos++
		p.space()
		return true
	case end:
		p.pos++
		return false
	}
	p.fail(fmt.Sprintf("a comma or %q is expected", end))
	return false
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
	if !p.enter() {
		return
	}
	defer p.leave()
	base := len(p.path)
	more := p.peek() != '}'
	if !more {
		p.pos++
	}
	for more && !p.broken {
		name := p.key()
		if p.broken {
			return
		}
		p.member(base, name)
		if f := o.byName[name]; f == nil {
			p.unknown("field", o)
			p.skip()
		} else if slices.Contains(seen, name) {
			p.report(reasonMalformed, "is given twice")
			p.skip()
		} else {
			if p.readField(v, f) || f.required {
				seen = append(seen, name)
			}
		}
		p.path = p.path[:min(base, len(p.path))]
		more = !p.broken && p.next('}')
	}
	if !p.broken {
		p.checkPresence(o, seen, base)
	}
}

func (p *parser) member(base int, name string) {
	p.path = p.path[:base]
	if base > 0 {
		p.path = append(p.path, '.')
	}
	p.path = append(p.path, name...)
	if len(name) > 100 { // as long as any sensible name; the path stands in the reply
		p.path = append(p.path[:base+100], "…"...)
	}
}

// readField reads the value of a field, and reports whether it is given: null says the same as absence.
func (p *parser) readField(v reflect.Value, f *field) bool {
	if p.peek() == 'n' {
		if p.literal("null") && f.required {
			p.report(reasonMissing, "must not be null")
		}
		return false
	}
	f.decode(p, v.FieldByIndex(f.index), &f.limits)
	return true
}

// unknown reports a name that the request does not have, and those that it has.
func (p *parser) unknown(what string, o *object) {
	if len(o.fields) == 0 {
		p.report(reasonUnknown, "is not a %s of this request; it has none", what)
		return
	}
	p.report(reasonUnknown, "is not a %s of this request; the %ss are %s", what, what, strings.Join(o.names(), ", "))
}

func (o *object) names() []string {
	names := make([]string, len(o.fields))
	for i, f := range o.fields {
		names[i] = f.name
	}
	return names
}

func (p *parser) checkPresence(o *object, seen []string, base int) {
	for _, f := range o.fields {
		if f.required && !slices.Contains(seen, f.name) {
			p.member(base, f.name)
			p.report(reasonMissing, "is required")
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
		p.member(base, f.name)
		switch {
		case given == 0:
			p.report(reasonMissing, "exactly one of %s is required", strings.Join(members, ", "))
		case given > 1:
			p.invalid("only one of %s may be given", strings.Join(members, ", "))
		}
	}
	p.path = p.path[:min(base, len(p.path))]
}

func (p *parser) key() string {
	if p.peek() != '"' {
		p.fail("a name in double quotes is expected")
		return ""
	}
	name, ok := p.str()
	if !ok {
		return ""
	}
	if p.space(); p.peek() != ':' {
		p.fail("a colon is expected")
		return ""
	}
	p.pos++
	p.space()
	return name
}

// mismatch reports a value of the wrong type and steps over it.
func (p *parser) mismatch(want string) {
	p.invalid("must be %s", want)
	p.skip()
}

// skip steps over one value of any type.
func (p *parser) skip() {
	switch c := p.peek(); {
	case c == '"':
		p.str()
	case c == '{' || c == '[':
		p.skipMembers(c)
	case c == 't':
		p.literal("true")
	case c == 'f':
		p.literal("false")
	case c == 'n':
		p.literal("null")
	default:
		p.number()
	}
}

func (p *parser) skipMembers(open byte) {
	end := open + 2 // ']' follows '[' and '}' follows '{' at this distance in ASCII
	if !p.enter() {
		return
	}
	defer p.leave()
	if p.peek() == end {
		p.pos++
		return
	}
	for more := true; more && !p.broken; more = !p.broken && p.next(end) {
		if open == '{' {
			p.key()
		}
		if !p.broken {
			p.skip()
		}
	}
}
