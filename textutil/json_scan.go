package textutil

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/textutil/yaml"
)

// A jsonScanner checks a text against RFC 8259. It does not call itself, so any depth is safe.
type jsonScanner struct {
	text      string
	base      int // bytes of the original before the text
	pos       int
	root      int // offset of the outermost value
	depth     int
	open      []byte      // the brackets that are open
	opened    []int32     // where they are, as far as the depth is allowed
	names     []yaml.Keys // of the objects among them, as far as the depth is allowed
	duplicate int
	*findings
}

// scan checks the text. The error is a [jsonError].
func (s *jsonScanner) scan() error {
	s.space()
	s.root = s.pos
	for {
		inside, err := s.value()
		for err == nil && !inside {
			if s.space(); len(s.open) == 0 {
				return s.end()
			}
			inside, err = s.next()
		}
		if err != nil {
			return err
		}
	}
}

// end refuses text behind the outermost value.
func (s *jsonScanner) end() error {
	if s.pos == len(s.text) {
		return nil
	}
	if c := s.text[s.pos]; c == '}' || c == ']' {
		return failJSON(s.pos, "nothing is open that %q could close", c)
	}
	return failJSON(s.pos, "the text must end behind its value, but there is more")
}

func (s *jsonScanner) space() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\n', '\t', '\r':
			s.pos++
		default:
			return
		}
	}
}

// at returns the byte i places ahead, or 0 behind the end.
func (s *jsonScanner) at(i int) byte {
	if s.pos+i < len(s.text) {
		return s.text[s.pos+i]
	}
	return 0
}

// value reads a value, or the beginning of an object or array. It reports whether a value inside it is next.
func (s *jsonScanner) value() (inside bool, err error) {
	switch c := s.at(0); {
	case c == '{' || c == '[':
		s.push(c)
		s.pos++
		s.space()
		if s.at(0) == c+2 { // "}" and "]" come two after their partners
			s.pop()
			return false, nil
		}
		if c == '{' {
			err = s.name()
		}
		return true, err
	case c == '"':
		return false, s.str()
	case c == '-' || '0' <= c && c <= '9':
		return false, s.number()
	case c == 't':
		return false, s.literal("true")
	case c == 'f':
		return false, s.literal("false")
	case c == 'n':
		return false, s.literal("null")
	}
	return false, s.noValue()
}

// next reads what follows a value inside an object or array. It reports whether a value is next.
func (s *jsonScanner) next() (inside bool, err error) {
	open := s.open[len(s.open)-1]
	switch c := s.at(0); {
	case c == open+2:
		s.pop()
		return false, nil
	case c != ',':
		return false, s.noComma(open)
	}
	comma := s.pos
	s.pos++
	s.space()
	if s.at(0) == open+2 {
		return false, failJSON(comma, "nothing follows this comma; remove it")
	}
	if open == '{' {
		return true, s.name()
	}
	return true, nil
}

func (s *jsonScanner) push(c byte) {
	s.open = append(s.open, c)
	s.depth = max(s.depth, len(s.open))
	if len(s.open) <= maxJSONDepth {
		s.opened = append(s.opened, int32(s.pos))
		s.names = append(s.names, yaml.Keys{})
	}
}

func (s *jsonScanner) pop() {
	last := len(s.open) - 1
	if last < maxJSONDepth {
		s.opened, s.names = s.opened[:last], s.names[:last]
	}
	s.open = s.open[:last]
	s.pos++
}

func (s *jsonScanner) name() error {
	begin := s.pos
	if s.at(0) != '"' {
		return s.noName()
	}
	if err := s.str(); err != nil {
		return err
	}
	if len(s.open) <= maxJSONDepth {
		s.remember(begin)
	}
	s.space()
	if s.at(0) != ':' {
		if s.pos == len(s.text) {
			return s.unclosed()
		}
		return failJSON(s.pos, "a colon must follow the name")
	}
	s.pos++
	s.space()
	return nil
}

// remember adds the name that was read to those of its object, and finds it if it is there already.
func (s *jsonScanner) remember(begin int) {
	name := yaml.Unquote(s.text[begin:s.pos])
	if s.names[len(s.names)-1].Add(name) {
		return
	}
	if s.duplicate < 0 {
		s.duplicate = begin
	}
	if s.room() {
		s.add(Finding{Code: "text.json.name.duplicate", Severity: Warning,
			Title:     "Name repeated in an object",
			Detail:    fmt.Sprintf("The object has a member %.60q already. Readers take the last or the first.", name),
			Advice:    "Keep one of the members.",
			Reference: "RFC 8259 section 4", Location: s.location(begin)})
	}
}

func (s *jsonScanner) location(begin int) *Location {
	return &Location{Offset: s.base + begin, Length: s.pos - begin}
}

// jsonPlain tells which bytes a string may hold as they are.
var jsonPlain = func() (plain [256]bool) {
	for i := range plain {
		plain[i] = i >= ' ' && i != '"' && i != '\\'
	}
	return plain
}()

// str reads a string (RFC 8259 section 7).
func (s *jsonScanner) str() error {
	begin := s.pos
	i := s.pos + 1
	for {
		for i < len(s.text) && jsonPlain[s.text[i]] {
			i++
		}
		switch {
		case i == len(s.text):
			return failJSON(begin, "the string is not closed")
		case s.text[i] == '"':
			s.pos = i + 1
			return nil
		case s.text[i] != '\\':
			return s.control(begin, i)
		}
		n, err := s.escape(i)
		if err != nil {
			return err
		}
		i += n
	}
}

func (s *jsonScanner) control(begin, i int) error {
	if c := s.text[i]; c != '\n' && c != '\r' {
		return failJSON(i, `a string cannot hold the control character U+%04X; write \u%04x`, c, c)
	}
	if strings.IndexByte(s.text[i:], '"') < 0 {
		return failJSON(begin, "the string is not closed")
	}
	return failJSON(i, `a string cannot hold a line break; close it, or write \n`)
}

func (s *jsonScanner) escape(i int) (int, error) {
	if i+1 == len(s.text) {
		return 0, failJSON(i, "the text ends inside an escape")
	}
	switch s.text[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
	default:
		r, _ := utf8.DecodeRuneInString(s.text[i+1:])
		return 0, failJSON(i, `a backslash with %q is no escape; a backslash itself is \\`, r)
	}
	unit, ok := yaml.Hex(s.text[i+2:], 4)
	if !ok {
		return 0, failJSON(i, `\u needs four hexadecimal digits`)
	}
	if unit>>11 != 0xD800>>11 {
		return 6, nil
	}
	if unit < 0xDC00 && strings.HasPrefix(s.text[i+6:], `\u`) {
		if low, ok := yaml.Hex(s.text[i+8:], 4); ok && low>>10 == 0xDC00>>10 {
			return 12, nil
		}
	}
	if s.room() {
		s.add(Finding{Code: "text.json.string.lone_surrogate", Severity: Warning,
			Title:     "Half of a surrogate pair",
			Detail:    fmt.Sprintf(`\u%04x is half of a pair, and no character. Readers replace or refuse it.`, unit),
			Advice:    "Write both halves, or the character itself.",
			Reference: "RFC 8259 section 8.2", Location: &Location{Offset: s.base + i, Length: 6}})
	}
	return 6, nil
}

func (s *jsonScanner) literal(word string) error {
	if !strings.HasPrefix(s.text[s.pos:], word) || jsonWord(s.at(len(word))) {
		return s.noValue()
	}
	s.pos += len(word)
	return nil
}

// jsonWord reports whether the byte would go on with a word or a number.
func jsonWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '.' || c == '+' || c == '-'
}

// number reads a number (RFC 8259 section 6).
func (s *jsonScanner) number() error {
	begin := s.pos
	if s.text[s.pos] == '-' {
		s.pos++
	}
	whole, fraction, exponent := yaml.NumberParts(s.text[s.pos:])
	s.pos += len(whole) + len(fraction) + len(exponent)
	switch {
	case whole == "":
		s.pos = begin
		return s.noValue()
	case len(whole) > 1 && whole[0] == '0':
		return failJSON(begin, "a number cannot begin with a 0 before other digits")
	case fraction == ".":
		return failJSON(begin, "digits must follow the point of a number")
	case s.pos < len(s.text) && s.text[s.pos]|0x20 == 'e':
		return failJSON(s.pos, "digits must follow the exponent of a number")
	case jsonWord(s.at(0)):
		return failJSON(s.pos, "the number cannot go on with %q", s.text[s.pos])
	}
	if len(whole) > 15 || exponent != "" {
		s.judgeNumber(begin, fraction == "" && exponent == "")
	}
	return nil
}

// judgeNumber finds numbers that readers with doubles cannot hold.
func (s *jsonScanner) judgeNumber(begin int, integer bool) {
	text := s.text[begin:s.pos]
	f, err := strconv.ParseFloat(text, 64)
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	lost := err != nil || f == 0 && strings.Trim(mantissa, "-0.") != ""
	inexact := integer && (f > 1<<53 || f < -1<<53)
	switch {
	case !lost && !inexact || !s.room():
	case lost:
		s.add(Finding{Code: "text.json.number.range", Severity: Warning,
			Title:     "Number beyond a double",
			Detail:    fmt.Sprintf("%.40s is beyond it: readers take it as infinite or zero, or refuse it.", text),
			Reference: "RFC 8259 section 6", Location: s.location(begin)})
	default:
		s.add(Finding{Code: "text.json.number.precision", Severity: info,
			Title:     "Integer not exact in a double",
			Detail:    fmt.Sprintf("Readers with doubles, such as JavaScript, may change the last digits of %.40s.", text),
			Advice:    "Write identifiers as strings.",
			Reference: "RFC 8259 section 6", Location: s.location(begin)})
	}
}
