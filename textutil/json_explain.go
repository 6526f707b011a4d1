package textutil

import (
	"strings"
	"unicode/utf8"
)

// unclosed explains that the text ends before an object or array does.
func (s *jsonScanner) unclosed() error {
	if len(s.open) == 0 {
		return failJSON(s.pos, "there is no value")
	}
	last := len(s.open) - 1
	if last >= len(s.opened) {
		return failJSON(s.pos, "the text ends, but %q is still open", s.open[last])
	}
	line, column := position(s.text, int(s.opened[last]))
	return failJSON(s.pos, "the text ends, but %q of line %d, column %d is still open", s.open[last], line, column)
}

// noValue explains why no value begins here.
func (s *jsonScanner) noValue() error {
	if s.pos == len(s.text) {
		return s.unclosed()
	}
	rest := s.text[s.pos:]
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == '\'':
		return failJSON(s.pos, "strings stand in double quotes, not in single ones")
	case strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") || r == '#':
		return failJSON(s.pos, "JSON has no comments")
	case r == '}' || r == ']' || r == ',' || r == ':':
		return failJSON(s.pos, "a value was expected before %q", r)
	case r == '+' || r == '.':
		return failJSON(s.pos, "a number begins with a digit, or with a minus and a digit")
	case r == '-':
		return failJSON(s.pos, "a digit must follow the minus")
	}
	word := rest[:wordEnd(rest)]
	switch strings.ToLower(word) {
	case "":
		return failJSON(s.pos, "a value cannot begin with %q (U+%04X)", r, r)
	case "true", "false", "null":
		return failJSON(s.pos, "%s is written in lower case", strings.ToLower(word))
	case "none", "nil", "undefined":
		return failJSON(s.pos, "JSON has no %s; write null", word)
	case "nan", "inf", "infinity":
		return failJSON(s.pos, "JSON has no %s; numbers are finite", word)
	}
	return failJSON(s.pos, "%.40q is no value; strings stand in double quotes", word)
}

func wordEnd(s string) int {
	i := 0
	for i < len(s) && jsonWord(s[i]) {
		i++
	}
	return i
}

// noName explains why no name of a member begins here.
func (s *jsonScanner) noName() error {
	if s.pos == len(s.text) {
		return s.unclosed()
	}
	rest := s.text[s.pos:]
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == '\'':
		return failJSON(s.pos, "names stand in double quotes, not in single ones")
	case strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") || r == '#':
		return failJSON(s.pos, "JSON has no comments")
	case r == ',':
		return failJSON(s.pos, "a member was expected before the comma")
	case wordEnd(rest) > 0:
		return failJSON(s.pos, "the name %.40q must stand in double quotes", rest[:wordEnd(rest)])
	}
	return failJSON(s.pos, "a name in double quotes was expected, not %q (U+%04X)", r, r)
}

// noComma explains what is wrong behind a value in an object or array.
func (s *jsonScanner) noComma(open byte) error {
	if s.pos == len(s.text) {
		return s.unclosed()
	}
	rest := s.text[s.pos:]
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == '}' || r == ']':
		return failJSON(s.pos, "%q cannot close %q", r, open)
	case r == ':' && open == '[':
		return failJSON(s.pos, "an array has no names; use an object")
	case r == ':':
		return failJSON(s.pos, "a member has one colon, behind its name")
	case strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") || r == '#':
		return failJSON(s.pos, "JSON has no comments")
	case strings.ContainsRune(`"{[-`, r) || jsonWord(rest[0]):
		return failJSON(s.pos, "a comma is missing before this")
	}
	return failJSON(s.pos, "a comma or %q was expected, not %q (U+%04X)", open+2, r, r)
}
