package textutil

import "unicode/utf8"

// A yamlBracket is a flow collection that has not ended.
type yamlBracket struct {
	open    int  // offset of the bracket
	waiting bool // it is the outermost that may still be a key
	asked   bool // the entry begins with "?"
	colon   bool // the entry has a colon
	entry   int  // first token of the entry
	line    int  // where the line of that token begins, or -1 before it
}

// flowSeparate skips white space and comments inside a flow collection. Its lines must be indented by
// more than n (YAML 1.2.2 section 6.9), except that a closing bracket may stand as far left as the
// collection around: the grammar does not allow it, but every reader does, and many people write so.
func (s *yamlScanner) flowSeparate(n int) error {
	if !s.separate() || s.pos == len(s.text) {
		return nil
	}
	if s.marker() {
		return s.fail(s.pos, "a flow collection is not closed before the document ends")
	}
	spaces, tab := s.indentation()
	if spaces > n {
		return nil
	}
	if c := s.at(0); (c == ']' || c == '}') && spaces == n && !tab {
		s.closers = append(s.closers, s.pos)
		return nil
	}
	if tab {
		return s.fail(s.line+spaces, "a tab cannot indent; use spaces")
	}
	return s.fail(s.pos, "a line of a flow collection must be indented by more than %d", n)
}

// flow reads a sequence or mapping in brackets (YAML 1.2.2 section 7.4).
func (s *yamlScanner) flow() error {
	n := s.top()
	filled := false
	err := s.openBracket()
	for err == nil && len(s.open) > 0 {
		if err = s.flowSeparate(n); err == nil && filled {
			err = s.flowBehind()
		}
		if err != nil {
			return err
		}
		bracket := &s.open[len(s.open)-1]
		if bracket.line < 0 {
			bracket.line, bracket.entry = s.line, len(s.tokens)
		}
		switch c := s.at(0); c {
		case '[', '{':
			filled = false
			err = s.openBracket()
		case ']', '}':
			filled = true
			err = s.closeBracket(bracket)
		case ',':
			filled = false
			err = s.comma(bracket)
		case 0:
			return s.fail(bracket.open, "%q is not closed", s.text[bracket.open])
		default:
			filled, err = s.flowToken(n, c)
		}
	}
	return err
}

// flowBehind refuses a node right behind another.
func (s *yamlScanner) flowBehind() error {
	switch c := s.at(0); c {
	case ',', ']', '}', ':', 0:
		return nil
	case '#':
		return s.fail(s.pos, "a comment must have a space before its #")
	}
	return s.fail(s.pos, "a comma or %q was expected", s.text[s.open[len(s.open)-1].open]+2)
}

func (s *yamlScanner) openBracket() error {
	if err := s.checkDepth(len(s.columns) + len(s.open) + 1); err != nil {
		return err
	}
	// The library takes as a possible key what begins where a key can, and then keeps all its tokens.
	possible := s.key >= 0
	if len(s.open) > 0 {
		last := len(s.tokens) - 1
		for s.tokens[last].kind.property() {
			last--
		}
		possible = s.tokens[last].kind == yamlOpen || s.tokens[last].kind == yamlComma
	}
	bracket := yamlBracket{open: s.pos, waiting: possible && s.waiting < 0, line: -1}
	if bracket.waiting {
		s.waiting = len(s.tokens)
	}
	s.open = append(s.open, bracket)
	s.pos++
	s.props = 0
	return s.emit(yamlOpen, s.pos-1, s.pos, 1)
}

func (s *yamlScanner) closeBracket(bracket *yamlBracket) error {
	closer := s.text[bracket.open] + 2 // "]" behind "[", "}" behind "{"
	if s.at(0) != closer {
		return s.fail(s.pos, "a comma or %q was expected", closer)
	}
	err := s.flowMark(yamlClose, s.missing(bracket))
	if bracket.waiting {
		s.waiting = -1
	}
	s.open = s.open[:len(s.open)-1]
	return err
}

// comma ends an entry.
func (s *yamlScanner) comma(bracket *yamlBracket) error {
	if k := s.last(); k == yamlOpen || k == yamlComma {
		return s.fail(s.pos, "something must stand before a comma")
	}
	values := s.missing(bracket)
	bracket.line, bracket.asked, bracket.colon = -1, false, false
	return s.flowMark(yamlComma, values)
}

// missing returns how many nodes an entry has for which there is no token.
func (s *yamlScanner) missing(bracket *yamlBracket) int {
	values := 0
	if last := s.last(); last == yamlColon || last == yamlQuestion {
		values++ // the value, or the key
	}
	mapping := s.text[bracket.open] == '{'
	if mapping && !bracket.colon || !mapping && bracket.asked && !bracket.colon {
		values++ // the value
	}
	if !mapping && (bracket.asked || bracket.colon) {
		values++ // the mapping of the pair
	}
	return values
}

// flowMark notes a mark of one byte.
func (s *yamlScanner) flowMark(kind yamlTokenKind, values int) error {
	s.props = 0
	s.pos++
	return s.emit(kind, s.pos-1, s.pos, values)
}

// flowToken reads any other token inside a flow collection. It reports whether the node that was expected
// is complete.
func (s *yamlScanner) flowToken(n int, c byte) (filled bool, err error) {
	next, first := s.at(1), len(s.tokens)
	bare := yamlSpace(next) || yamlFlowMark(next)
	switch {
	case c == '"':
		err = s.doubleQuoted()
	case c == '\'':
		err = s.singleQuoted()
	case c == '*':
		err = s.alias()
	case c == '&' || c == '!':
		return false, s.property(c, true)
	case c == ':' && (bare || s.last().quoted()):
		return false, s.flowColon()
	case c == ':' && s.last().content():
		return false, s.fail(s.pos, "a colon behind a key needs a space after it")
	case c == '?' && yamlSpace(next):
		s.open[len(s.open)-1].asked = true
		return false, s.flowMark(yamlQuestion, 0)
	case bare && (c == '-' || c == '?'):
		return false, s.fail(s.pos, "%q cannot stand here", c)
	case c == '%' || c == '@' || c == '`':
		return false, s.fail(s.pos, "a plain scalar cannot begin with %q; put it in quotes", c)
	case c == '|' || c == '>':
		return false, s.fail(s.pos, "a block scalar cannot stand in a flow collection or a key")
	case c == '#':
		return false, s.fail(s.pos, "a comment must have a space before its #")
	default:
		err = s.plain(n, true)
	}
	s.props = 0
	if err == nil {
		err = s.checkProperties(first)
	}
	return true, err
}

// quoted reports whether the token ends a node in quotes or brackets.
func (k yamlTokenKind) quoted() bool {
	return k == yamlClose || k == yamlSingleToken || k == yamlDoubleToken
}

// flowColon reads the colon behind a key. Behind a key in quotes or brackets it needs no space (YAML 1.2.2
// section 7.4.2).
func (s *yamlScanner) flowColon() error {
	bracket := &s.open[len(s.open)-1]
	if s.text[bracket.open] == '[' && !bracket.asked && !bracket.colon {
		begin := s.pos
		if bracket.entry < len(s.tokens) {
			begin = int(s.tokens[bracket.entry].start)
		}
		if bracket.line != s.line || !shortKey(s.text[begin:s.pos]) {
			return s.fail(begin, "a key in a sequence has one line of at most %d characters", maxYAMLKey)
		}
	}
	bracket.colon = true
	values := 0
	if !s.last().content() {
		values = 1 // the key
	}
	if err := s.flowMark(yamlColon, values); err != nil {
		return err
	}
	if !yamlSpace(s.at(0)) {
		s.replace(s.pos, s.pos, " ") // the library takes some colons for text
	}
	return nil
}

// shortKey reports whether a key without "?" is short enough.
func shortKey(text string) bool {
	return len(text) <= maxYAMLKey || utf8.RuneCountInString(text) <= maxYAMLKey
}
