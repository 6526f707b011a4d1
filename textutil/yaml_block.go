package textutil

import (
	"slices"
	"strings"
)

// freshLine reads the first token of a line outside flow collections.
func (s *yamlScanner) freshLine() error {
	spaces, tab := s.indentation()
	ended := s.filled
	for s.top() > spaces {
		s.columns = s.columns[:len(s.columns)-1]
		ended = true
	}
	if ended && spaces > s.top() || tab && spaces <= s.top() {
		return s.strayText(spaces, tab)
	}
	s.filled, s.props, s.key = false, 0, spaces
	if tab {
		s.key = yamlTabbed
	}
	return s.token()
}

// sameLine reads a token that is not the first of its line.
func (s *yamlScanner) sameLine() error {
	if s.filled {
		return s.unexpected("the value")
	}
	if s.key == yamlNextKey {
		s.key = s.pos - s.line
		if strings.Contains(s.text[s.tokens[len(s.tokens)-1].end:s.pos], "\t") {
			s.key = yamlTabbed
		}
	}
	return s.token()
}

// token reads a token outside flow collections.
func (s *yamlScanner) token() error {
	switch c := s.at(0); c {
	case '-', '?', ':':
		if yamlSpace(s.at(1)) {
			return s.indicator(c)
		}
	case '&', '!':
		return s.property(c, false)
	case '*':
		return s.content(s.alias, false)
	case '"':
		return s.content(s.doubleQuoted, false)
	case '\'':
		return s.content(s.singleQuoted, false)
	case '[', '{':
		return s.content(s.flow, false)
	case '|', '>':
		return s.blockScalar()
	case '#':
		return s.fail(s.pos, "a comment must have a space before its #")
	case ']', '}':
		return s.fail(s.pos, "nothing is open that %q could close", c)
	case '%', '@', '`', ',':
		return s.fail(s.pos, "a plain scalar cannot begin with %q; put it in quotes", c)
	}
	return s.content(s.plainInBlock, true)
}

// indicator reads "-", "?" or ":" before a node of a block collection.
func (s *yamlScanner) indicator(c byte) error {
	kind, what := yamlDash, "a sequence"
	switch c {
	case '?':
		kind, what = yamlQuestion, "a mapping"
	case ':':
		kind, what = yamlColon, "a key with its colon"
	}
	if kind != yamlColon && s.props != 0 {
		return s.misplaced(what)
	}
	if s.key < 0 {
		if kind == yamlDash && s.loneDash() {
			return nil
		}
		return s.misplaced(what)
	}
	values, err := s.push(s.key, s.last())
	if err != nil {
		return err
	}
	if err := s.emit(kind, s.pos, s.pos+1, values); err != nil {
		return err
	}
	s.pos++
	s.key = yamlNextKey
	switch innermost := &s.columns[len(s.columns)-1]; {
	case kind == yamlQuestion:
		if innermost.asked {
			s.values++ // the last key has no value
		}
		innermost.asked = true
	case kind == yamlColon:
		if !innermost.asked || s.props != 0 {
			s.key = yamlNoKey // the key was empty, and no collection can begin on its line
		}
		innermost.asked = false
	}
	s.filled, s.props = false, 0
	return nil
}

// loneDash reads a dash that is alone behind a key and its colon. The grammar does not allow it, for a
// plain scalar needs something behind its dash; but no sequence can begin there, and people write it for
// "nothing".
func (s *yamlScanner) loneDash() bool {
	line, _, _ := strings.Cut(s.text[s.pos+1:], "\n")
	if s.last() != yamlColon || s.key != yamlNoKey || strings.Trim(line, " \t") != "" {
		return false
	}
	s.dashes = append(s.dashes, s.pos)
	s.tokens = append(s.tokens, yamlToken{start: int32(s.pos), end: int32(s.pos + 1), kind: yamlPlainToken})
	s.values++
	s.replace(s.pos, s.pos+1, `"-"`)
	s.pos++
	s.filled = true
	return true
}

// misplaced refuses the beginning of a block collection where none can begin.
func (s *yamlScanner) misplaced(what string) error {
	before := strings.TrimRight(s.text[s.line:s.pos], " \t")
	tab := strings.IndexByte(s.text[s.line+len(before):s.pos], '\t')
	indented := before == "" || strings.HasSuffix(before, "-") || strings.HasSuffix(before, "?")
	if indented && tab >= 0 {
		return s.fail(s.line+len(before)+tab, "a tab cannot indent; use spaces")
	}
	return s.fail(s.pos, "%s cannot stand here; begin it on a line of its own", what)
}

// content reads a node that is no block collection, and the colon behind it if it is a key.
func (s *yamlScanner) content(read func() error, plain bool) error {
	begin, line, before, first := s.pos, s.line, s.last(), len(s.tokens)
	if err := read(); err != nil {
		return err
	}
	s.props = 0
	end := s.pos
	if !s.keyEnds() {
		s.filled = true
		if s.pos = end; plain && s.at(0) == ':' {
			return s.misplaced("a key with its colon")
		}
		return s.checkProperties(first)
	}
	switch {
	case s.key < 0:
		return s.misplaced("a key with its colon")
	case s.line != line:
		return s.fail(begin, "a key cannot have several lines, unless ? stands before it")
	case !shortKey(s.text[begin:end]):
		return s.fail(begin, "a key of more than %d characters needs a ? before it", maxYAMLKey)
	}
	values, err := s.push(s.key, before)
	if err != nil {
		return err
	}
	s.columns[len(s.columns)-1].asked = false
	s.key, s.filled = yamlNoKey, false
	s.pos++
	return s.emit(yamlColon, s.pos-1, s.pos, values)
}

// keyEnds reports whether a colon is next that makes a key of what was before, and skips to it.
func (s *yamlScanner) keyEnds() bool {
	s.skipBlanks()
	return s.at(0) == ':' && yamlSpace(s.at(1))
}

// A blockHeader is the first line of a block scalar (YAML 1.2.2 section 8.1.1).
type blockHeader struct {
	indent int  // indentation indicator, or 0
	chomp  byte // '-' or '+', or 0
}

// blockScalar reads a block scalar (YAML 1.2.2 section 8.1).
func (s *yamlScanner) blockScalar() error {
	begin, n := s.pos, s.top()
	if s.key >= 0 && s.key <= n {
		return s.fail(begin, "a block scalar must be indented by more than %d", n)
	}
	s.filled = true
	kind := yamlLiteralToken
	if s.at(0) == '>' {
		kind = yamlFoldedToken
	}
	mark := len(s.out) + begin + 1 - s.copied // where the library sees what follows the mark
	header, err := s.blockHeader()
	if err != nil {
		return err
	}
	indent := 0
	if header.indent > 0 {
		indent = max(n, 0) + header.indent
	} else if indent, err = s.detectIndent(n); err != nil {
		return err
	}
	if err := s.blockLines(n, indent); err != nil {
		return err
	}
	if err := s.emit(kind, begin, s.pos, 1); err != nil {
		return err
	}
	s.tokens[len(s.tokens)-1].indent = int32(indent)
	if indent == 0 {
		s.indentLines(begin, mark)
	}
	s.mask(begin, s.pos)
	return nil
}

// indentLines makes the library see a space before each line of a block scalar that has none: without, it
// would not know a marker that ends the document. Mark is where it sees the indentation indicator.
func (s *yamlScanner) indentLines(begin, mark int) {
	body := s.pos
	if header := strings.IndexByte(s.text[begin:s.pos], '\n'); header >= 0 {
		body = begin + header + 1
	}
	s.hide(body, body)
	s.out = slices.Insert(s.out, mark, '1')
	for i := body; i < s.pos; {
		line, _, _ := strings.Cut(s.text[i:s.pos], "\n")
		if line != "" {
			s.out = append(s.out, ' ')
			s.mask(i, i+len(line))
		}
		i = min(i+len(line)+1, s.pos)
		s.hide(i, i)
	}
}

// blockHeader reads the first line with its line break.
func (s *yamlScanner) blockHeader() (blockHeader, error) {
	var h blockHeader
	for s.pos++; ; s.pos++ {
		switch c := s.at(0); {
		case (c == '-' || c == '+') && h.chomp == 0:
			h.chomp = c
		case '1' <= c && c <= '9' && h.indent == 0:
			h.indent = int(c - '0')
		default:
			begin := s.pos
			if err := s.lineEnd("the mark of a block scalar"); err != nil {
				return h, err
			}
			if s.skipBlanks(); s.at(0) == '#' && s.pos > begin {
				s.comment()
			}
			if s.at(0) == '\n' {
				s.pos++
				s.line = s.pos
			}
			return h, nil
		}
	}
}

// detectIndent returns the indentation of the first line that is not empty (YAML 1.2.2 section
// 8.1.1.1), without moving. Empty lines before it cannot have more spaces.
func (s *yamlScanner) detectIndent(n int) (int, error) {
	most, line := 0, 0
	for i := s.pos; ; {
		begin := i
		for i < len(s.text) && s.text[i] == ' ' {
			i++
		}
		spaces := i - begin
		if i == len(s.text) {
			return max(most, spaces, n+1), nil
		}
		if s.text[i] != '\n' {
			switch {
			case s.text[i] == '\t' && spaces <= n:
				return 0, s.fail(i, "a tab cannot indent; use spaces")
			case spaces <= n || yamlMarker(s.text[i:]) && spaces == 0:
				return max(most, n+1), nil
			case most > spaces:
				return 0, s.fail(line, "an empty line before the first of a block scalar has more spaces than it")
			}
			return spaces, nil
		}
		if spaces > most {
			most, line = spaces, begin
		}
		i++
	}
}

// blockLines skips the lines of a block scalar.
func (s *yamlScanner) blockLines(n, indent int) error {
	for s.pos < len(s.text) {
		if yamlMarker(s.text[s.pos:]) {
			return nil
		}
		i := s.pos
		for i < len(s.text) && i < s.pos+indent && s.text[i] == ' ' {
			i++
		}
		spaces := i - s.pos
		if i < len(s.text) && s.text[i] != '\n' && spaces < indent {
			if s.text[i] == '\t' {
				return s.fail(i, "a tab cannot indent; use spaces")
			}
			if spaces > n && s.text[i] != '#' {
				return s.fail(i, "a line of the block scalar has fewer spaces than the first")
			}
			return nil
		}
		end := strings.IndexByte(s.text[i:], '\n')
		if end < 0 {
			s.pos = len(s.text)
			return nil
		}
		s.pos = i + end + 1
		s.line = s.pos
	}
	return nil
}
