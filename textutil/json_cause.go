package textutil

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

func failJSON(offset int, format string, args ...any) error {
	return &jsonError{offset, fmt.Sprintf(format, args...)}
}

// placeName returns an offset as people name it.
func (s *jsonScanner) placeName(offset int) string {
	line, column := yaml.Position(s.text, offset)
	return fmt.Sprintf("line %d, column %d", line, column)
}

// innermost returns the last object or array that is open, and where it opens, as far as that is known.
func (s *jsonScanner) innermost() string {
	last := len(s.open) - 1
	if last >= len(s.opened) {
		return fmt.Sprintf("%q", s.open[last])
	}
	return fmt.Sprintf("%q of %s", s.open[last], s.placeName(int(s.opened[last])))
}

// explainUnclosed explains that the text ends before an object or array does.
func (s *jsonScanner) explainUnclosed() error {
	if len(s.open) == 0 {
		return failJSON(s.pos, "the value is missing; write one, such as {}")
	}
	return failJSON(s.pos, "the text ends, but %s is still open; close it with %q", s.innermost(), s.open[len(s.open)-1]+2)
}

// explainForeign explains syntax that JSON does not have, in place of a value, a name or a comma. It returns nil for
// all else.
func (s *jsonScanner) explainForeign() error {
	rest := s.text[s.pos:]
	r, _ := utf8.DecodeRuneInString(rest)
	if name, remedy := yaml.InvisibleName(r); name != "" {
		return failJSON(s.pos, "%s is not white space in JSON; %s", name, remedy)
	}
	switch {
	case r < ' ' || 0x7F <= r && r < 0xA0:
		return failJSON(s.pos, "the control character U+%04X is not white space in JSON; remove it", r)
	case strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") || r == '#':
		return failJSON(s.pos, "JSON has no comments; remove it")
	case strings.ContainsRune("“”„‟«»‘’‚‛", r):
		return failJSON(s.pos, `%c is a typographic quote; write " instead`, r)
	case strings.HasPrefix(rest, "```"):
		return failJSON(s.pos, "``` belongs to Markdown; remove it")
	case r == '\'' || r == '`':
		return failJSON(s.pos, `strings and names must be in double quotes; write " instead of %c`, r)
	case strings.HasPrefix(rest, "{{") || strings.HasPrefix(rest, "{%") || strings.HasPrefix(rest, "${"):
		return failJSON(s.pos, "this is a placeholder of a template; put it in double quotes, or render the template first")
	}
	return nil
}

// explainValue explains why no value begins here.
func (s *jsonScanner) explainValue() error {
	if s.pos == len(s.text) {
		return s.explainUnclosed()
	}
	if err := s.explainForeign(); err != nil {
		return err
	}
	rest := s.text[s.pos:]
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == ',':
		return failJSON(s.pos, "a value is missing before this comma; write one, or remove the comma")
	case r == '}' || r == ']':
		return s.explainEarlyBracket(r)
	case r == ':':
		return failJSON(s.pos, "a value is missing before %q; a name and a colon belong in an object", r)
	case r == '.' && len(rest) > 1 && '0' <= rest[1] && rest[1] <= '9':
		return failJSON(s.pos, "a digit must come before the point of a number; write 0%.20s", rest[:wordEnd(rest)])
	case r == '+':
		return failJSON(s.pos, "a number has no plus; remove it")
	case strings.HasPrefix(rest, "-Inf"), strings.HasPrefix(rest, "-inf"), strings.HasPrefix(rest, "-NaN"):
		return failJSON(s.pos, "JSON has no %s; numbers are finite, so write null or a string", rest[:wordEnd(rest)])
	case r == '-':
		return failJSON(s.pos, "a digit must follow the minus")
	case r == '(':
		return failJSON(s.pos, "JSON has no parentheses; write a list in [ and ]")
	case r == '<':
		return failJSON(s.pos, "a value cannot begin with '<'; this seems to be HTML or XML, not JSON")
	}
	word := rest[:wordEnd(rest)]
	if word != "" && strings.IndexAny(rest[len(word):], `"'`) == 0 {
		return failJSON(s.pos, "%.40q before a quote is not JSON; remove it", word)
	}
	return s.explainWord(word, r)
}

// explainEarlyBracket explains a bracket in place of a value.
func (s *jsonScanner) explainEarlyBracket(r rune) error {
	if len(s.open) == 0 {
		return failJSON(s.pos, "nothing is open that %q could close; remove it", r)
	}
	if rune(s.open[len(s.open)-1]+2) == r {
		return failJSON(s.pos, "a value is missing before %q; write one, such as null", r)
	}
	return failJSON(s.pos, "%q cannot close %s; close that with %q first", r, s.innermost(), s.open[len(s.open)-1]+2)
}

// explainWord explains a word that is not a value of JSON, or another character, which no word is.
func (s *jsonScanner) explainWord(word string, r rune) error {
	switch strings.ToLower(word) {
	case "":
		return failJSON(s.pos, "a value cannot begin with %q (U+%04X); put text in double quotes", r, r)
	case "true", "false", "null":
		return failJSON(s.pos, "%s is written in lower case; write %s", word, strings.ToLower(word))
	case "none", "nil", "undefined":
		return failJSON(s.pos, "JSON has no %s; write null", word)
	case "nan", "inf", "infinity":
		return failJSON(s.pos, "JSON has no %s; numbers are finite, so write null or a string", word)
	}
	if len(word) > 40 {
		return failJSON(s.pos, "%.40q is not a value; put text in double quotes", word)
	}
	return failJSON(s.pos, `%q is not a value; put text in double quotes: "%[1]s"`, word)
}

func wordEnd(s string) int {
	i := 0
	for i < len(s) && continuesWord(s[i]) {
		i++
	}
	return i
}

// explainName explains why no name of a member begins here.
func (s *jsonScanner) explainName() error {
	if s.pos == len(s.text) {
		return s.explainUnclosed()
	}
	if err := s.explainForeign(); err != nil {
		return err
	}
	rest := s.text[s.pos:]
	r, _ := utf8.DecodeRuneInString(rest)
	word := rest[:wordEnd(rest)]
	switch {
	case r == ',':
		return failJSON(s.pos, "a member is missing before this comma; write one, or remove the comma")
	case word != "" && len(word) <= 40:
		return failJSON(s.pos, `the name %q must be in double quotes; write "%[1]s"`, word)
	case word != "":
		return failJSON(s.pos, "the name %.40q must be in double quotes", word)
	case r == '{' && strings.HasPrefix(s.text[max(0, s.pos-1):], "{{"):
		return failJSON(s.pos-1, "this is a placeholder of a template; put it in double quotes, or render the template first")
	case r == ']':
		return s.explainEarlyBracket(r)
	}
	return failJSON(s.pos, "a name in double quotes was expected, not %q (U+%04X)", r, r)
}

// explainColon explains what is wrong behind the name of a member.
func (s *jsonScanner) explainColon() error {
	if s.pos == len(s.text) {
		return s.explainUnclosed()
	}
	if err := s.explainForeign(); err != nil {
		return err
	}
	switch rest := s.text[s.pos:]; {
	case s.text[s.pos-1] == '"' && continuesWord(rest[0]):
		return failJSON(s.pos, `text follows the closing quote; write \" for a quote in a name, or " before the colon alone`)
	case strings.HasPrefix(rest, "=>"):
		return failJSON(s.pos, "a colon must follow the name; write : instead of =>")
	case rest[0] == '=' || strings.HasPrefix(rest, "："):
		r, _ := utf8.DecodeRuneInString(rest)
		return failJSON(s.pos, "a colon must follow the name; write : instead of %c", r)
	case rest[0] == ',' || rest[0] == '}':
		return failJSON(s.pos, "a colon and a value must follow the name; write both")
	}
	return failJSON(s.pos, "a colon must follow the name; write one here")
}

// explainComma explains what is wrong behind a value in an object or array, which ends at the offset.
func (s *jsonScanner) explainComma(open byte, end int) error {
	if s.pos == len(s.text) {
		return s.explainUnclosed()
	}
	rest := s.text[s.pos:]
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == '}' || r == ']':
		return s.explainEarlyBracket(r)
	case r == ':' && open == '[':
		return failJSON(s.pos, "an array has no names; write { and } around its members instead of [ and ]")
	case r == ':':
		return failJSON(s.pos, "a member has one colon, after its name; remove this one")
	case end == s.pos && s.text[end-1] == '"' && continuesWord(rest[0]):
		return failJSON(s.pos, `text follows the closing quote; write \" for a quote in a string, or a comma before the next`)
	case strings.ContainsRune(`"{[-`, r) || continuesWord(rest[0]):
		return failJSON(end, "a comma is missing here; write one before what follows in %s", s.placeName(s.pos))
	case r == ';' || r == '，' || r == '、':
		return failJSON(s.pos, "entries are separated by commas; write , instead of %c", r)
	}
	if err := s.explainForeign(); err != nil {
		return err
	}
	return failJSON(s.pos, "a comma or %q was expected, not %q (U+%04X)", open+2, r, r)
}

// explainAfterRoot explains text behind the outermost value.
func (s *jsonScanner) explainAfterRoot() error {
	rest := s.text[s.pos:]
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == '}' || r == ']':
		return failJSON(s.pos, "nothing is open that %q could close; remove it", r)
	case r == ';':
		return failJSON(s.pos, "the text must end behind its value; remove the semicolon")
	case r == ':' && s.text[s.root] == '"':
		return failJSON(s.root, "a name and its value must be in an object; write { before and } after them")
	case r == ',':
		return failJSON(s.pos, "the text must end behind its value; remove the comma, or write [ before and ] behind "+
			"all values")
	case strings.ContainsRune(`"{[-`, r) || '0' <= r && r <= '9':
		return failJSON(s.pos, "a second value begins here, and a JSON text has one; put the values in an array, "+
			"[ … , … ], or convert each line by itself if this is JSON Lines")
	}
	if err := s.explainForeign(); err != nil {
		return err
	}
	return failJSON(s.pos, "the text must end behind its value, but there is more; remove it")
}
