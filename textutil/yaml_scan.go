package textutil

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A yamlScanner goes through a text once, before the library reads it. It notes where each token is,
// and refuses what the library accepts against the grammar (indentation of lines inside brackets and
// quotes, and of block scalars; tabs; directives) and what would cost too much. Whether tokens make a
// document is for the library to say: about anything else that is wrong the scanner need not care.
type yamlScanner struct {
	yamlStream
	yamlRewriter
	pos     int  // next byte
	line    int  // first byte of the line
	odd     int  // first character that only quotes may hold and that is behind all quotes so far, or -1
	quote   int  // where the quote begins that has not ended, or -1
	special bool // the text has characters to mask
	doc     *yamlDocument
	columns []yamlColumn  // of the block collections around
	open    []yamlBracket // the flow collections around
	key     int           // column at which the first key of a mapping may begin, or one of those below
	filled  bool          // the node that was expected is complete
	props   yamlTokenBits
	anchors map[string]int // numbers of anchors that get another name for the library
	tags    int            // bytes of tags, written out
	values  int
	most    int // values
	waiting int // first token of a flow collection that may be a key, or -1
	waited  int // tokens of the longest of them
}

const (
	yamlNoKey   = -1 // no block collection can begin here: a key with its colon, or "---", is before
	yamlNextKey = -2 // one can begin at the next token
	yamlTabbed  = -3 // none can begin here, because of a tab
)

// yamlTokenBits is a set of kinds of tokens.
type yamlTokenBits uint16

// A yamlColumn is a block collection that has not ended.
type yamlColumn struct {
	column int
	asked  bool // a "?" stands before its last key, and no ":" before the value yet
}

// scanYAML goes through a text. The error is a [yamlError], or an [InputError] if the text has more than
// so many values or is too deep.
func scanYAML(text string, most int) (*yamlScanner, error) {
	s := &yamlScanner{yamlStream: yamlStream{text: text}, key: yamlNoKey, most: most, waiting: -1, odd: -1, quote: -1}
	s.special = maskable(text)
	s.masked = s.special
	s.out = make([]byte, 0, len(text)+len(text)/8)
	s.tokens = make([]yamlToken, 0, min(len(text)/3, 2*most)+8)
	err := s.checkCharacters()
	for err == nil {
		begins := s.pos == s.line
		crossed := s.separate()
		if s.pos == len(text) {
			break
		}
		err = s.next(begins || crossed)
	}
	if err == nil && s.doc != nil && s.doc.tokenless() {
		err = s.fail(s.pos, "a line with --- must follow the directives")
	}
	if wrong, ok := err.(*yamlError); s.odd >= 0 && (err == nil || ok && s.odd < wrong.offset && s.quote < 0) {
		err = s.oddCharacter()
	}
	return s, err
}

// checkCharacters refuses what no YAML may hold (YAML 1.2.2 section 5.1), and looks for characters that
// may stand in quotes only.
func (s *yamlScanner) checkCharacters() error {
	for i := 0; i < len(s.text); i++ {
		c := s.text[i]
		if c >= ' ' && c < utf8.RuneSelf || c == '\n' || c == '\t' {
			continue
		}
		if c < ' ' {
			return s.fail(i, "the control character U+%04X must be written as an escape in double quotes", c)
		}
		r, size := utf8.DecodeRuneInString(s.text[i:])
		if r == 0xFFFE || r == 0xFFFF {
			return s.fail(i, "the character U+%04X must be written as an escape in double quotes", r)
		}
		i += size - 1
	}
	s.findOdd(0)
	return nil
}

// findOdd looks for the next character that may stand in quotes only.
func (s *yamlScanner) findOdd(from int) {
	s.odd = -1
	for i := from; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == 0x7F, c == 0xC2 && s.text[i+1] < 0xA0 && s.text[i+1] != 0x85, strings.HasPrefix(s.text[i:], "\uFEFF"):
			s.odd = i
			return
		}
	}
}

// oddCharacter refuses a character that is in no quotes.
func (s *yamlScanner) oddCharacter() error {
	r, _ := utf8.DecodeRuneInString(s.text[s.odd:])
	return s.fail(s.odd, "the character U+%04X must be in quotes", r)
}

// fail returns an error at an offset.
func (s *yamlScanner) fail(offset int, format string, args ...any) error {
	return failYAML(offset, format, args...)
}

func failYAML(offset int, format string, args ...any) error {
	return &yamlError{offset, fmt.Sprintf(format, args...)}
}

// at returns the byte i places ahead, or 0 behind the end: the text itself has no such byte.
func (s *yamlScanner) at(i int) byte {
	if s.pos+i < len(s.text) {
		return s.text[s.pos+i]
	}
	return 0
}

func yamlBlank(c byte) bool { return c == ' ' || c == '\t' }
func yamlBreak(c byte) bool { return c == '\n' || c == 0 }
func yamlSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == 0 }

// yamlFlowMark reports whether the byte is one of the marks of flow collections.
func yamlFlowMark(c byte) bool {
	return c == ',' || c == '[' || c == ']' || c == '{' || c == '}'
}

func (s *yamlScanner) skipBlanks() {
	for s.pos < len(s.text) && yamlBlank(s.text[s.pos]) {
		s.pos++
	}
}

// separate skips white space, line breaks and comments (YAML 1.2.2 section 6.7). It reports whether it
// came to another line.
func (s *yamlScanner) separate() bool {
	crossed := false
	for {
		s.skipBlanks()
		switch c := s.at(0); {
		case c == '\n':
			s.pos++
			s.line = s.pos
			crossed = true
		case c == '#' && (s.pos == s.line || yamlBlank(s.text[s.pos-1])):
			s.comment()
		default:
			return crossed
		}
	}
}

// comment notes a comment. The library does not see it: it would take much time and memory to find the
// node that it belongs to, and lose some.
func (s *yamlScanner) comment() {
	start := s.pos
	end := strings.IndexByte(s.text[start:], '\n')
	if end < 0 {
		end = len(s.text) - start
	}
	s.pos += end
	own := strings.Trim(s.text[s.line:start], " \t") == ""
	s.comments = append(doubled(s.comments), yamlComment{int32(start), int32(s.pos), own})
	if k := s.last(); own && (k == yamlLiteralToken || k == yamlFoldedToken) {
		start++ // an empty line might belong to the block scalar
	}
	s.hide(start, s.pos)
}

// indentation returns how many spaces the line begins with, and whether a tab follows them.
func (s *yamlScanner) indentation() (spaces int, tab bool) {
	i := s.line
	for i < s.pos && s.text[i] == ' ' {
		i++
	}
	return i - s.line, i < s.pos
}

// spaced makes the library see spaces in place of tabs before the next token. It does not take them
// everywhere; and where they would indent, the scanner itself refuses what follows.
func (s *yamlScanner) spaced() {
	begin := s.pos
	for begin > s.line && yamlBlank(s.text[begin-1]) {
		begin--
	}
	if begin < s.copied || strings.IndexByte(s.text[begin:s.pos], '\t') < 0 {
		return
	}
	s.out = append(s.out, s.text[s.copied:begin]...)
	for range s.pos - begin {
		s.out = append(s.out, ' ')
	}
	s.copied = s.pos
}

// yamlMarker reports whether a line begins with a document marker, "---" or "..." (YAML 1.2.2 section
// 9.1.2).
func yamlMarker(s string) bool {
	return len(s) >= 3 && (s[:3] == "---" || s[:3] == "...") && (len(s) == 3 || yamlSpace(s[3]))
}

// marker reports whether a document marker is next.
func (s *yamlScanner) marker() bool {
	return s.pos == s.line && yamlMarker(s.text[s.pos:])
}

// doubled returns the list with room for one more. Where there is none it makes room for as many again: a
// list that grows by less leaves five times as much behind.
func doubled[T any](list []T) []T {
	if len(list) == cap(list) {
		return slices.Grow(list, len(list)+16)
	}
	return list
}

// emit notes a token, of which the library makes so many values.
func (s *yamlScanner) emit(kind yamlTokenKind, start, end, values int) error {
	s.tokens = append(doubled(s.tokens), yamlToken{start: int32(start), end: int32(end), kind: kind})
	s.values += values
	if s.waiting >= 0 {
		s.waited = max(s.waited, len(s.tokens)-s.waiting)
	}
	// The library keeps all tokens of what may still become a key, each worth two values. Comments are worth
	// half of one, and other edits a quarter.
	if s.values+2*s.waited+len(s.comments)/2+len(s.edits)/4 > s.most {
		return invalid("text", "has more than %d values at line %d, counted by the memory that they need; that is "+
			"the most (inside brackets that do not follow a key each counts five)", s.most,
			strings.Count(s.text[:start], "\n")+1)
	}
	return nil
}

// last returns the kind of the last token.
func (s *yamlScanner) last() yamlTokenKind {
	if len(s.tokens) == 0 {
		return yamlDocumentToken
	}
	return s.tokens[len(s.tokens)-1].kind
}

// top returns the column of the innermost block collection, or -1.
func (s *yamlScanner) top() int {
	if len(s.columns) == 0 {
		return -1
	}
	return s.columns[len(s.columns)-1].column
}

// push begins a block collection, unless there is one at the column. It returns how many values that
// makes: the collection, or a node before this one of which nothing is written.
func (s *yamlScanner) push(column int, before yamlTokenKind) (values int, err error) {
	if column > s.top() {
		s.columns = append(s.columns, yamlColumn{column: column})
		return 1, s.checkDepth(len(s.columns))
	}
	if before <= yamlColon {
		return 1, nil
	}
	return 0, nil
}

// checkDepth refuses a text that is too deep.
func (s *yamlScanner) checkDepth(depth int) error {
	if depth > maxYAMLDepth {
		return s.tooDeep(s.pos)
	}
	return nil
}

func (s *yamlStream) tooDeep(offset int) error {
	return invalid("text", "is nested more than %d deep at line %d; that is the most", maxYAMLDepth,
		strings.Count(s.text[:offset], "\n")+1)
}
