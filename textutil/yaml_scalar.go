package textutil

import (
	"strings"
	"unicode/utf8"
)

// plainInBlock reads a plain scalar outside flow collections.
func (s *yamlScanner) plainInBlock() error { return s.plain(s.top(), false) }

// plain reads a plain scalar (YAML 1.2.2 section 7.3.3), whose further lines are indented by more than n.
func (s *yamlScanner) plain(n int, flow bool) error {
	begin, end := s.pos, s.pos
	for more := true; more; more = s.plainGoesOn(n, flow) {
		end = s.plainLine(flow)
	}
	s.pos = end
	switch c, k := s.text[begin], s.last(); {
	case flow && c == ':' && k.property():
		s.inQuotes(begin, end)
	case (c == '+' || c == '-' || c == '.' || '0' <= c && c <= '9') && !yamlDigits(s.text[begin:end]):
		// The library would try to make a number or a date of it, by the rules of YAML 1.1. Where it cannot,
		// that leaves more behind than the node itself takes.
		s.replace(begin, begin, yamlMaskedNothing)
		s.masked = true
		s.mask(begin, end)
	default:
		s.mask(begin, end)
	}
	return s.emit(yamlPlainToken, begin, end, 1)
}

// inQuotes makes the library see a plain scalar in quotes. Behind a property it would take a colon at the
// beginning for one behind a key; and what begins with a colon is a string in any case.
func (s *yamlScanner) inQuotes(begin, end int) {
	s.replace(begin, begin, "'")
	for i := begin; i < end; {
		next := strings.IndexByte(s.text[i:end], '\'')
		if next < 0 {
			break
		}
		s.mask(i, i+next)
		s.replace(i+next, i+next+1, "''")
		i += next + 1
	}
	s.mask(s.copied, end)
	s.replace(end, end, "'")
}

// plainLine skips the rest of a line of a plain scalar, and returns where it ends, without white space.
func (s *yamlScanner) plainLine(flow bool) int {
	end := s.pos
	for i := s.pos; ; i++ {
		c := byte(0)
		if i < len(s.text) {
			c = s.text[i]
		}
		switch {
		case c == ' ' || c == '\t':
			continue
		case yamlBreak(c):
			s.pos = i
			return end
		case c == ':':
			next := byte(0)
			if i+1 < len(s.text) {
				next = s.text[i+1]
			}
			if yamlSpace(next) || flow && yamlFlowMark(next) {
				s.pos = i
				return end
			}
		case c == '#' && i > end || flow && yamlFlowMark(c):
			s.pos = i
			return end
		}
		end = i + 1
	}
}

// plainGoesOn goes to the next line with content, if it belongs to the scalar.
func (s *yamlScanner) plainGoesOn(n int, flow bool) bool {
	if s.at(0) != '\n' {
		return false
	}
	line := 0
	i := s.pos
	for ; i < len(s.text) && (yamlBlank(s.text[i]) || s.text[i] == '\n'); i++ {
		if s.text[i] == '\n' {
			line = i + 1
		}
	}
	if i == len(s.text) || s.text[i] == '#' || i == line && yamlMarker(s.text[i:]) {
		return false
	}
	spaces := line
	for s.text[spaces] == ' ' {
		spaces++
	}
	if spaces-line <= n {
		return false
	}
	if c := s.text[i]; c == ':' && (i+1 == len(s.text) || yamlSpace(s.text[i+1])) || flow && yamlFlowMark(c) {
		return false
	}
	if flow && s.text[i] == ':' && yamlFlowMark(s.text[i+1]) {
		return false
	}
	s.line, s.pos = line, i
	return true
}

// quotedLine goes from the end of a line of a quoted scalar to the content of the next, which must be
// indented by more than n (YAML 1.2.2 section 7.3.1).
func (s *yamlScanner) quotedLine(n, open int) error {
	for s.at(0) == '\n' {
		s.pos++
		s.line = s.pos
		if s.marker() {
			return s.fail(open, "the quote is not closed before the document ends")
		}
		s.skipBlanks()
	}
	if spaces, tab := s.indentation(); spaces <= n && s.pos < len(s.text) {
		if tab {
			return s.fail(s.line+spaces, "a tab cannot indent; use spaces")
		}
		return s.fail(s.pos, "a line of a quoted scalar must be indented by more than %d", n)
	}
	return nil
}

// singleQuoted reads a scalar in single quotes (YAML 1.2.2 section 7.3.2).
func (s *yamlScanner) singleQuoted() error {
	begin, n := s.pos, s.top()
	s.quote = begin
	s.pos++
	for {
		i := strings.IndexAny(s.text[s.pos:], "'\n")
		if i < 0 {
			return s.fail(begin, "the single quote is not closed")
		}
		s.pos += i
		switch {
		case s.at(0) == '\n':
			if err := s.quotedLine(n, begin); err != nil {
				return err
			}
		case s.at(1) == '\'':
			s.pos += 2
		default:
			s.mask(begin, s.pos)
			return s.quoteEnds(yamlSingleToken, begin)
		}
	}
}

// quoteEnds notes a scalar in quotes, which may hold characters that cannot stand elsewhere.
func (s *yamlScanner) quoteEnds(kind yamlTokenKind, begin int) error {
	s.pos++
	s.quote = -1
	switch {
	case s.odd < 0:
	case s.odd < begin:
		return s.oddCharacter()
	case s.odd < s.pos:
		s.findOdd(s.pos)
	}
	return s.emit(kind, begin, s.pos, 1)
}

// doubleQuoted reads a scalar in double quotes (YAML 1.2.2 section 7.3.1).
func (s *yamlScanner) doubleQuoted() error {
	begin, n := s.pos, s.top()
	s.quote = begin
	done := begin // what is before it has been masked
	s.pos++
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case '"':
			s.mask(done, s.pos)
			return s.quoteEnds(yamlDoubleToken, begin)
		case '\n':
			if err := s.quotedLine(n, begin); err != nil {
				return err
			}
		case '\\':
			start := s.pos
			with, err := s.escape()
			if err != nil {
				return err
			}
			if with != "" {
				s.mask(done, start)
				s.replace(start, s.pos, with)
				done = s.pos
			}
		default:
			s.pos++
		}
	}
	return s.fail(begin, "the double quote is not closed")
}

// escape reads an escape (YAML 1.2.2 section 5.7). It returns what the library must see in its place, if
// that is not the same: it refuses surrogates, of which JSON makes characters.
func (s *yamlScanner) escape() (with string, err error) {
	digits := 0
	switch c := s.at(1); c {
	case '\n':
		s.pos++ // the line break is for quotedLine
		return "", nil
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		if strings.IndexByte("0abt\tnvfre \"/\\N_LP", c) < 0 {
			return "", s.fail(s.pos, "a backslash begins an escape, and there is none with this character; write \\\\")
		}
		s.pos += 2
		return "", nil
	}
	value, ok := hexValue(s.text[s.pos+2:], digits)
	if !ok {
		return "", s.fail(s.pos, "\\%c needs %d hexadecimal digits", s.at(1), digits)
	}
	if value > utf8.MaxRune {
		return "", s.fail(s.pos, "there is no character %X", value)
	}
	s.pos += 2 + digits
	return s.escaped(value), nil
}

// escaped returns what the library must see in place of an escape that has just been read, if anything.
func (s *yamlScanner) escaped(value uint32) string {
	switch {
	case value>>11 == 0xD800>>11:
		if value>>10 == 0xD800>>10 && strings.HasPrefix(s.text[s.pos:], `\u`) {
			if low, ok := hexValue(s.text[s.pos+2:], 4); ok && low>>10 == 0xDC00>>10 {
				s.pos += 6
				return string(rune(0x10000 + (value&0x3FF)<<10 + low&0x3FF))
			}
		}
		s.masked = true
		return yamlMaskedHalf + hex4(value)
	case value == 0xE000:
		s.masked = true
		return yamlMaskedMask
	}
	return ""
}

// hex4 returns the four digits of a number of 16 bits.
func hex4(value uint32) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[value>>12&15], digits[value>>8&15], digits[value>>4&15], digits[value&15]})
}

// mask makes the library see characters of a scalar in a form that it does not take for something else.
func (s *yamlScanner) mask(start, end int) {
	if !s.special {
		return
	}
	for i := max(start, s.copied); i < end; { // a comment may have been hidden
		r, size := utf8.DecodeRuneInString(s.text[i:end])
		if with := yamlMasks.Replace(s.text[i : i+size]); r >= utf8.RuneSelf && with != s.text[i:i+size] {
			s.replace(i, i+size, with)
		}
		i += size
	}
}
