package textutil

import (
	"strings"
	"unicode/utf8"
)

// maxYAMLDirectives bounds the directives of a document: the library looks through all for each tag.
const maxYAMLDirectives = 100

// next reads a token outside flow collections; fresh if it is the first of its line.
func (s *yamlScanner) next(fresh bool) error {
	switch {
	case s.doc == nil && s.pos == s.line && strings.HasPrefix(s.text[s.pos:], byteOrderMark):
		s.mark()
		return nil
	case s.marker() && s.at(0) == '.':
		return s.documentEnd()
	case s.marker():
		return s.documentStart()
	case (s.doc == nil || s.doc.tokenless()) && s.pos == s.line && s.at(0) == '%':
		return s.directive()
	case s.doc == nil:
		if err := s.begin(s.pos); err != nil {
			return err
		}
	case s.doc.tokenless():
		return s.fail(s.pos, "a line with --- must follow the directives")
	}
	s.spaced()
	if !fresh {
		return s.sameLine()
	}
	return s.freshLine()
}

// mark skips a byte-order mark between documents (YAML 1.2.2 section 5.2).
func (s *yamlScanner) mark() {
	if s.odd == s.pos {
		s.findOdd(s.pos + len(byteOrderMark))
	}
	s.replace(s.pos, s.pos+len(byteOrderMark), "")
	s.pos += len(byteOrderMark)
	s.line = s.pos
}

// tokenless reports whether only directives of the document have been read.
func (d *yamlDocument) tokenless() bool { return d.marker < 0 }

// begin begins a document, whose content or first directive is at the offset.
func (s *yamlScanner) begin(offset int) error {
	s.doc = &yamlDocument{start: offset, marker: offset}
	s.docs = append(s.docs, s.doc)
	s.columns, s.anchors, s.filled, s.props = s.columns[:0], nil, false, 0
	s.key = yamlNoKey
	return s.emit(yamlDocumentToken, offset, offset, 3)
}

// documentStart reads the marker "---".
func (s *yamlScanner) documentStart() error {
	if s.doc == nil || !s.doc.tokenless() {
		if err := s.begin(s.pos); err != nil {
			return err
		}
	}
	s.doc.marker, s.doc.explicit = s.pos, true
	s.pos += 3
	s.tokens[len(s.tokens)-1].end = int32(s.pos)
	return nil
}

// documentEnd reads the marker "...", which nothing but a comment may follow.
func (s *yamlScanner) documentEnd() error {
	if s.doc != nil && s.doc.tokenless() {
		return s.fail(s.pos, "a line with --- must follow the directives")
	}
	s.doc = nil
	s.pos += 3
	return s.lineEnd("the end of the document")
}

// lineEnd refuses anything but a comment in what is left of the line.
func (s *yamlScanner) lineEnd(behind string) error {
	begin := s.pos
	s.skipBlanks()
	c := s.at(0)
	if yamlBreak(c) || c == '#' && s.pos > begin {
		return nil
	}
	return s.unexpected(behind)
}

// unexpected explains text on the line of something that is complete.
func (s *yamlScanner) unexpected(behind string) error {
	switch c := s.at(0); {
	case c == '#':
		return s.fail(s.pos, "a comment must have a space before its #")
	case c == ':' && yamlSpace(s.at(1)):
		return s.misplaced("a key with its colon")
	}
	return s.fail(s.pos, "unexpected text behind %s", behind)
}

// strayText explains text that belongs to nothing.
func (s *yamlScanner) strayText(spaces int, tab bool) error {
	switch c := s.at(0); {
	case tab:
		return s.fail(s.line+spaces, "a tab cannot indent; use spaces")
	case spaces > 0:
		return s.fail(s.pos, "the indentation of %d fits no line before", spaces)
	case c == '%':
		return s.fail(s.pos, "a line with ... must stand before the directives of the next document")
	case c == ']' || c == '}':
		return s.fail(s.pos, "nothing is open that %q could close", c)
	}
	return s.fail(s.pos, "the document has ended, but there is more text")
}

// directive reads a directive (YAML 1.2.2 section 6.8). The library sees those for tags only: it knows no
// version but 1.1, and refuses names that it does not know, which a reader should ignore.
func (s *yamlScanner) directive() error {
	start := s.pos
	if s.doc == nil {
		if err := s.begin(start); err != nil {
			return err
		}
		s.doc.marker = -1
	}
	end := strings.IndexByte(s.text[start:], '\n')
	if end < 0 {
		end = len(s.text) - start
	}
	line := s.text[start : start+end]
	s.pos += end
	for i := 1; i < len(line); i++ {
		if line[i] == '#' && yamlBlank(line[i-1]) {
			s.pos = start + i
			line = line[:i]
		}
	}
	line = strings.TrimRight(line, " \t")
	if s.doc.directives = append(s.doc.directives, line); len(s.doc.directives) > maxYAMLDirectives {
		return s.fail(start, "the document has more than %d directives; that is the most", maxYAMLDirectives)
	}
	fields := strings.FieldsFunc(line[1:], func(r rune) bool { return r == ' ' || r == '\t' })
	switch {
	case len(fields) == 0 || yamlBlank(line[1]):
		return s.fail(start, "the directive has no name")
	case fields[0] == "TAG":
		return s.tagDirective(start, fields[1:])
	}
	s.hide(start, s.pos)
	if fields[0] == "YAML" {
		return s.version(start, fields[1:])
	}
	return nil
}

// version reads the version of YAML (YAML 1.2.2 section 6.8.1).
func (s *yamlScanner) version(start int, params []string) error {
	if s.doc.versioned {
		return s.fail(start, "there is a second %%YAML directive")
	}
	s.doc.versioned = true
	if len(params) != 1 {
		return s.fail(start, "the %%YAML directive needs a version and nothing else, such as %%YAML 1.2")
	}
	major, minor, ok := strings.Cut(params[0], ".")
	if !ok || !yamlDigits(major) || !yamlDigits(minor) || len(params[0]) > 9 {
		return s.fail(start, "%.20q is no version of YAML", params[0])
	}
	if major != "1" {
		return s.fail(start, "version %s of YAML is unknown", params[0])
	}
	return nil
}

func yamlDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// tagDirective reads the meaning of a tag handle (YAML 1.2.2 section 6.8.2).
func (s *yamlScanner) tagDirective(start int, params []string) error {
	if len(params) != 2 {
		return s.fail(start, "the %%TAG directive needs a handle and a prefix")
	}
	handle, prefix := params[0], params[1]
	if !yamlHandle(handle) {
		return s.fail(start, "%.40q is no tag handle", handle)
	}
	if strings.IndexFunc(prefix, notURI) >= 0 || strings.ContainsAny(prefix[:1], ",[]{}") {
		return s.fail(start, "%.40q is no prefix of tags", prefix)
	}
	switch decoded, ok := percentDecoded(prefix); {
	case !ok:
		return s.fail(start, "the prefix %.40s has a %% without two hexadecimal digits", prefix)
	case !utf8.ValidString(decoded):
		return s.fail(start, "the prefix %.40s has an escape that is no character", prefix)
	}
	if _, ok := s.doc.handles[handle]; ok {
		return s.fail(start, "the tag handle %.40s has a meaning already", handle)
	}
	if s.doc.handles == nil {
		s.doc.handles = map[string]string{}
	}
	s.doc.handles[handle] = prefix
	s.replace(start, s.pos, "%TAG "+handle+" "+yamlTagText(prefix))
	return nil
}
