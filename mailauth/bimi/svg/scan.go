package svg

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// white are the characters of white space (XML 1.0 section 2.3).
const white = " \t\r\n"

type tokenKind int

const (
	endOfText tokenKind = iota
	startTag
	endTag
	charData // text, with references resolved; also of a CDATA section
	instruction
	doctype
)

// A token is a piece of a document. Comments and the XML declaration yield none.
type token struct {
	kind   tokenKind
	offset int
	name   string // of tags and processing instructions
	attrs  []attr // of start tags; reused by the next
	empty  bool   // of start tags: an empty-element tag
	text   string // of text; of a doctype all of it
}

// An attr is an attribute as written, its value with references resolved and white space made spaces (XML 1.0 section
// 3.3.3).
type attr struct {
	name, value string
	offset      int
}

// A scanner reads XML 1.0 without a DTD, strictly: what is not well-formed ends it with a syntaxError. It does not
// handle namespaces or match tags, which the consumer of its tokens does.
type scanner struct {
	text  string
	pos   int
	attrs []attr
	// unknown holds the references to entities that XML itself does not define.
	unknown func(name string, offset int)
}

type syntaxError struct {
	offset  int
	message string
	limit   bool // it exceeds a limit, and may be valid XML
}

func (s *scanner) fail(offset int, format string, args ...any) *syntaxError {
	return &syntaxError{offset: offset, message: fmt.Sprintf(format, args...)}
}

func (s *scanner) next() (token, *syntaxError) {
	for s.pos < len(s.text) {
		rest := s.text[s.pos:]
		begin := s.pos
		switch {
		case rest[0] != '<':
			return s.characters()
		case strings.HasPrefix(rest, "<!--"):
			if err := s.comment(); err != nil {
				return token{}, err
			}
		case strings.HasPrefix(rest, "<![CDATA["):
			return s.cdata()
		case strings.HasPrefix(rest, "<!DOCTYPE"):
			return s.doctype()
		case strings.HasPrefix(rest, "<!"):
			return token{}, s.fail(begin, "What begins with <! is neither a comment nor a CDATA section.")
		case strings.HasPrefix(rest, "<?"):
			t, err := s.instruction()
			if err != nil || t.kind == instruction {
				return t, err
			}
		case strings.HasPrefix(rest, "</"):
			return s.endTag()
		default:
			return s.startTag()
		}
	}
	return token{kind: endOfText, offset: len(s.text)}, nil
}

// comment skips a comment (XML 1.0 section 2.5).
func (s *scanner) comment() *syntaxError {
	end := strings.Index(s.text[s.pos+4:], "--")
	if end < 0 {
		return s.fail(s.pos, "A comment has no end.")
	}
	end += s.pos + 6
	if !strings.HasPrefix(s.text[end:], ">") {
		return s.fail(end-2, "A comment contains two hyphens in a row.")
	}
	s.pos = end + 1
	return nil
}

func (s *scanner) cdata() (token, *syntaxError) {
	begin := s.pos
	text, _, ok := strings.Cut(s.text[begin+len("<![CDATA["):], "]]>")
	if !ok {
		return token{}, s.fail(begin, "A CDATA section has no end.")
	}
	s.pos = begin + len("<![CDATA[") + len(text) + len("]]>")
	return token{kind: charData, offset: begin, text: text}, nil
}

func (s *scanner) instruction() (token, *syntaxError) {
	begin := s.pos
	s.pos += 2
	name := s.name()
	body, _, ok := strings.Cut(s.text[s.pos:], "?>")
	switch {
	case name == "":
		return token{}, s.fail(begin, "A processing instruction has no name.")
	case !ok:
		return token{}, s.fail(begin, "A processing instruction has no end.")
	case body != "" && !strings.ContainsAny(body[:1], white):
		return token{}, s.fail(s.pos, "The name of a processing instruction is not followed by a space.")
	}
	s.pos += len(body) + 2
	switch {
	case name == "xml" && begin == 0:
		return token{}, s.declaration(body)
	case strings.EqualFold(name, "xml"):
		return token{}, s.fail(begin, "The XML declaration is not at the very beginning.")
	}
	return token{kind: instruction, offset: begin, name: name}, nil
}

// declaration checks the XML declaration (XML 1.0 section 2.8): version, then encoding, then standalone.
func (s *scanner) declaration(body string) *syntaxError {
	inner := scanner{text: body}
	var names []string
	for {
		spaced := inner.skipWhite()
		if inner.pos == len(body) {
			break
		}
		a, err := inner.attr()
		if err != nil || !spaced {
			return s.fail(0, "The XML declaration is malformed.")
		}
		names = append(names, a.name)
		switch {
		case a.name == "version" && a.value != "1.0":
			return s.fail(0, "The XML declaration has the version %.20q, not 1.0.", a.value)
		case a.name == "standalone" && a.value != "yes" && a.value != "no":
			return s.fail(0, "The XML declaration has standalone=%.20q, not yes or no.", a.value)
		}
	}
	switch strings.Join(names, " ") {
	case "version", "version encoding", "version standalone", "version encoding standalone":
		return nil
	}
	return s.fail(0, "The XML declaration is malformed.")
}

func (s *scanner) doctype() (token, *syntaxError) {
	begin, depth, quote := s.pos, 0, byte(0)
	for i := begin + 2; i < len(s.text); i++ {
		c := s.text[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '<' && strings.HasPrefix(s.text[i:], "<!--"):
			end := strings.Index(s.text[i+4:], "-->")
			if end < 0 {
				return token{}, s.fail(i, "A comment has no end.")
			}
			i += 4 + end + 2
		case c == '"' || c == '\'':
			quote = c
		case c == '[' || c == '<':
			depth++
		case c == ']':
			depth--
		case c == '>' && depth > 0:
			depth--
		case c == '>':
			s.pos = i + 1
			return token{kind: doctype, offset: begin, text: s.text[begin:s.pos]}, nil
		}
	}
	return token{}, s.fail(begin, "The document type declaration has no end.")
}

func (s *scanner) endTag() (token, *syntaxError) {
	begin := s.pos
	s.pos += 2
	name := s.name()
	s.skipWhite()
	if name == "" || !strings.HasPrefix(s.text[s.pos:], ">") {
		return token{}, s.fail(begin, "An end tag is malformed.")
	}
	s.pos++
	return token{kind: endTag, offset: begin, name: name}, nil
}

// startTag reads a start tag with its attributes (XML 1.0 section 3.1).
func (s *scanner) startTag() (token, *syntaxError) {
	t := token{kind: startTag, offset: s.pos}
	s.pos++
	if t.name = s.name(); t.name == "" {
		return token{}, s.fail(t.offset, "A < begins neither a tag nor a comment. In text it is written &lt;.")
	}
	s.attrs = s.attrs[:0]
	seen := map[string]bool{}
	for {
		spaced := s.skipWhite()
		rest := s.text[s.pos:]
		switch {
		case rest == "":
			return token{}, s.fail(t.offset, "The tag of %s has no end.", clip(t.name))
		case rest[0] == '>' || strings.HasPrefix(rest, "/>"):
			t.empty = rest[0] == '/'
			s.pos++
			if t.empty {
				s.pos++
			}
			t.attrs = s.attrs
			return t, nil
		case !spaced:
			return token{}, s.fail(s.pos, "There is no space before what follows in the tag of %s.", clip(t.name))
		}
		if len(s.attrs) == maxAttrs {
			err := s.fail(t.offset, "The element %s has more than %d attributes.", clip(t.name), maxAttrs)
			err.limit = true
			return token{}, err
		}
		a, err := s.attr()
		if err != nil {
			return token{}, err
		}
		if seen[a.name] {
			return token{}, s.fail(a.offset, "The attribute %s appears twice in one tag.", clip(a.name))
		}
		seen[a.name] = true
		s.attrs = append(s.attrs, a)
	}
}

func (s *scanner) attr() (attr, *syntaxError) {
	a := attr{offset: s.pos}
	if a.name = s.name(); a.name == "" {
		return a, s.fail(s.pos, "An attribute has no name, or one that begins with a character that none can begin with.")
	}
	s.skipWhite()
	if !strings.HasPrefix(s.text[s.pos:], "=") {
		return a, s.fail(a.offset, "The attribute %s has no value.", clip(a.name))
	}
	s.pos++
	s.skipWhite()
	if s.pos == len(s.text) || s.text[s.pos] != '"' && s.text[s.pos] != '\'' {
		return a, s.fail(a.offset, "The value of the attribute %s is not quoted.", clip(a.name))
	}
	quote := s.text[s.pos]
	end := strings.IndexByte(s.text[s.pos+1:], quote)
	if end < 0 {
		return a, s.fail(a.offset, "The value of the attribute %s has no end.", clip(a.name))
	}
	raw, begin := s.text[s.pos+1:s.pos+1+end], s.pos+1
	if i := strings.IndexByte(raw, '<'); i >= 0 {
		return a, s.fail(begin+i, "The value of the attribute %s contains a <. It is written &lt; there.", clip(a.name))
	}
	value, err := s.resolve(raw, begin, true)
	a.value = value
	s.pos = begin + end + 1
	return a, err
}

func (s *scanner) characters() (token, *syntaxError) {
	begin := s.pos
	raw, _, _ := strings.Cut(s.text[begin:], "<")
	if i := strings.Index(raw, "]]>"); i >= 0 {
		return token{}, s.fail(begin+i, "Text contains ]]>, which only ends CDATA sections.")
	}
	s.pos += len(raw)
	text, err := s.resolve(raw, begin, false)
	return token{kind: charData, offset: begin, text: text}, err
}

func (s *scanner) skipWhite() bool {
	begin := s.pos
	for s.pos < len(s.text) && strings.IndexByte(white, s.text[s.pos]) >= 0 {
		s.pos++
	}
	return s.pos > begin
}

func (s *scanner) name() string {
	begin := s.pos
	for s.pos < len(s.text) {
		c, n := utf8.DecodeRuneInString(s.text[s.pos:])
		if !isNameChar(c) || s.pos == begin && !isNameStart(c) {
			break
		}
		s.pos += n
	}
	return s.text[begin:s.pos]
}
