package textutil

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/textutil/internal/yaml"
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
			end := s.pos
			if s.space(); len(s.open) == 0 {
				return s.end()
			}
			inside, err = s.next(end)
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
	return s.explainAfterRoot()
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
	return false, s.explainValue()
}

// next reads what follows a value inside an object or array that ends at the offset. It reports whether a value is
// next.
func (s *jsonScanner) next(end int) (inside bool, err error) {
	open := s.open[len(s.open)-1]
	switch c := s.at(0); {
	case c == open+2:
		s.pop()
		return false, nil
	case c != ',':
		return false, s.explainComma(open, end)
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
		return s.explainName()
	}
	if err := s.str(); err != nil {
		return err
	}
	if len(s.open) <= maxJSONDepth {
		s.recordName(begin)
	}
	s.space()
	if s.at(0) != ':' {
		return s.explainColon()
	}
	s.pos++
	s.space()
	return nil
}

// recordName adds the name that was read to those of its object, and finds it if it is there already.
func (s *jsonScanner) recordName(begin int) {
	name := yaml.Unquote(s.text[begin:s.pos])
	if s.names[len(s.names)-1].Add(name) {
		return
	}
	if s.duplicate < 0 {
		s.duplicate = begin
	}
	if s.hasRoom() {
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

// jsonPlain reports which bytes a string may hold as they are.
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
			return s.explainOpenString(begin)
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
	switch c := s.text[i]; {
	case c == '\t':
		return failJSON(i, `a string cannot contain a tab character; write \t`)
	case c != '\n' && c != '\r':
		return failJSON(i, `a string cannot hold the control character U+%04X; write \u%04[1]x`, c)
	case strings.IndexByte(s.text[i:], '"') < 0 || strings.ContainsAny(s.text[begin:i], "“”"):
		return s.explainOpenString(begin)
	}
	return failJSON(i, `the string of %s is not closed on its line; close it with ", or write \n for a line break`,
		s.placeName(begin))
}

// explainOpenString explains a string that nothing closes.
func (s *jsonScanner) explainOpenString(begin int) error {
	line, _, _ := strings.Cut(s.text[begin:], "\n")
	if i := strings.IndexAny(line, "“”"); i >= 0 {
		r, _ := utf8.DecodeRuneInString(line[i:])
		return failJSON(begin+i, `the typographic quote %c does not close the string of %s; write " instead`, r,
			s.placeName(begin))
	}
	return failJSON(begin, `the string that opens here is not closed; write " where it ends`)
}

func (s *jsonScanner) escape(i int) (int, error) {
	if i+1 == len(s.text) {
		return 0, failJSON(i, "the text ends inside an escape; write \\\\ for a backslash, and close the string")
	}
	switch s.text[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
	default:
		r, _ := utf8.DecodeRuneInString(s.text[i+1:])
		if r == '\'' {
			return 0, failJSON(i, `a backslash with '\'' is not an escape; write ' alone`)
		}
		return 0, failJSON(i, `a backslash with %q is not an escape; write \\ for a backslash`, r)
	}
	unit, ok := yaml.Hex(s.text[i+2:], 4)
	if !ok {
		return 0, failJSON(i, `\u needs four hexadecimal digits; write \\u for a backslash and a u`)
	}
	if unit>>11 != 0xD800>>11 {
		return 6, nil
	}
	if unit < 0xDC00 && strings.HasPrefix(s.text[i+6:], `\u`) {
		if low, ok := yaml.Hex(s.text[i+8:], 4); ok && low>>10 == 0xDC00>>10 {
			return 12, nil
		}
	}
	if s.hasRoom() {
		s.add(Finding{Code: "text.json.string.lone_surrogate", Severity: Warning,
			Title:     "Half of a surrogate pair",
			Detail:    fmt.Sprintf(`\u%04x is half of a pair, and no character. Readers replace or refuse it.`, unit),
			Advice:    "Write both halves, or the character itself.",
			Reference: "RFC 8259 section 8.2", Location: &Location{Offset: s.base + i, Length: 6}})
	}
	return 6, nil
}

func (s *jsonScanner) literal(word string) error {
	if !strings.HasPrefix(s.text[s.pos:], word) || continuesWord(s.at(len(word))) {
		return s.explainValue()
	}
	s.pos += len(word)
	return nil
}

// continuesWord reports whether the byte would go on with a word or a number.
func continuesWord(c byte) bool {
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
		return s.explainValue()
	case len(whole) > 1 && whole[0] == '0':
		return failJSON(begin, `a number cannot begin with a 0 before other digits; remove it, or write "%.40s" for text`,
			s.text[begin:s.pos])
	case fraction == ".":
		return failJSON(begin, "digits must follow the point of a number; write %.40s0", s.text[begin:s.pos])
	case s.pos < len(s.text) && s.text[s.pos]|0x20 == 'e':
		return failJSON(s.pos, "digits must follow the exponent of a number; write them, or remove the e")
	case continuesWord(s.at(0)):
		return s.explainNumber(begin)
	}
	if s.pos-begin >= len(maxSafe) || exponent != "" {
		s.addNumber(s.text[begin:s.pos], false, s.location(begin))
	}
	return nil
}

// explainNumber explains a number that continues in a way that JSON does not allow.
func (s *jsonScanner) explainNumber(begin int) error {
	word := s.text[begin:]
	word = word[:wordEnd(word)]
	decimal, err := strconv.ParseInt(word, 0, 64) // a prefix for the base, and underscores, as other languages have them
	if err != nil {
		return failJSON(s.pos, "a number cannot continue with %q; put text in double quotes", s.text[s.pos])
	}
	return failJSON(s.pos, "a number cannot continue with %q; write it in decimal digits, %d", s.text[s.pos], decimal)
}
