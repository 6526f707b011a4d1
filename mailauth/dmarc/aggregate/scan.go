package aggregate

import (
	"bytes"
	"io"
	"strings"
)

const (
	// window is the size of the XML buffer.
	window = 128 << 10
	// maxTag bounds a tag with its attributes. Reports have attributes on the root and on extensions
	// only; what is longer is not a tag.
	maxTag = 16 << 10
	// maxForeignXML bounds how much XML is read in search of an element of a report.
	maxForeignXML = 1 << 20
)

// A scanner splits XML into tags and texts, and passes them to a builder. It never fails: what is not well-formed
// becomes text. It holds a window of the XML, never more, and expands no entity of a document type.
type scanner struct {
	src           io.Reader
	buf           []byte
	pos, end      int   // what is not read yet: buf[pos:end]
	windowOffset  int64 // offset of buf[0]
	lines         int   // line feeds before buf[counted]
	counted       int
	eof           bool
	err           error // why src ended, if not by its end
	charset       string
	reportStart   int64 // offset of about where the report begins
	anotherReport bool  // another report follows

	builder *builder
}

type tag struct {
	prefix, name []byte
	attributes   []byte // as written
	empty        bool
}

// fill drops what was read, and reads until the window is full or the source at its end.
func (s *scanner) fill() {
	s.countLines()
	s.windowOffset += int64(s.pos)
	copy(s.buf, s.buf[s.pos:s.end])
	s.pos, s.end, s.counted = 0, s.end-s.pos, 0
	for idle := 0; s.end < len(s.buf) && !s.eof; {
		n, err := s.src.Read(s.buf[s.end:])
		s.end += n
		if idle++; n > 0 {
			idle = 0
		} else if err == nil && idle == 100 {
			err = io.ErrNoProgress
		}
		if err != nil {
			s.eof = true
			if err != io.EOF {
				s.err = err
			}
		}
	}
}

// rest returns what is not read yet: at least maxTag bytes, but at the end.
func (s *scanner) rest() []byte {
	if s.end-s.pos < maxTag && !s.eof {
		s.fill()
	}
	return s.buf[s.pos:s.end]
}

// place returns the line and the offset of what is read next.
func (s *scanner) place() (line int, offset int64) {
	s.countLines()
	return s.lines + 1, s.windowOffset + int64(s.pos)
}

func (s *scanner) countLines() {
	s.lines += bytes.Count(s.buf[s.counted:s.pos], []byte("\n"))
	s.counted = s.pos
}

// run reads up to the end, or to where another report begins.
func (s *scanner) run(to *builder) {
	s.builder, s.anotherReport, s.charset, s.reportStart = to, false, "", s.windowOffset
	if bytes.HasPrefix(s.rest(), []byte("\ufeff")) {
		s.pos += len("\ufeff")
	}
	for s.builder.err == nil && !s.anotherReport {
		b := s.rest()
		if len(b) == 0 || s.windowOffset-s.reportStart > maxForeignXML && !s.builder.isReport() {
			break
		}
		switch i := bytes.IndexByte(b, '<'); {
		case i != 0:
			if i < 0 {
				i = len(b)
			}
			s.builder.chars(b[:i], true)
			s.pos += i
		case len(b) > 1 && (b[1] == '!' || b[1] == '?'):
			s.declaration(b)
		default:
			s.tag(b)
		}
	}
}

// tag reads a tag. A less-than sign that does not begin a tag is text.
func (s *scanner) tag(b []byte) {
	b = b[:min(len(b), maxTag)]
	t, closing, n := cutTag(b)
	switch {
	case n == 0 && s.eof && bytes.IndexByte(b, '>') < 0 && s.end-s.pos == len(b):
		s.builder.cut = true // the file ends inside the tag
		s.pos = s.end
	case n == 0:
		s.builder.fault(FaultMalformed, s.builder.path(), b[:min(len(b), 40)])
		s.builder.chars(b[:1], false)
		s.pos++
	case closing:
		s.builder.endTag(t.name)
		s.pos += n
	case s.builder.beginsReport(t):
		s.anotherReport = true
	default:
		s.builder.startTag(t)
		s.pos += n
	}
}

// cutTag returns the tag that a text begins with, and its length; 0 without one.
func cutTag(b []byte) (t tag, closing bool, n int) {
	i := 1
	if i < len(b) && b[i] == '/' {
		closing = true
		i++
	}
	start := i
	for i < len(b) && nameByte(b[i]) {
		if b[i] == ':' {
			t.prefix, start = b[start:i], i+1
		}
		i++
	}
	t.name = b[start:i]
	if i == start || i == len(b) || !letter(t.name[0]) {
		return t, closing, 0
	}
	switch b[i] {
	case '>':
		return t, closing, i + 1
	case '/', ' ', '\t', '\r', '\n':
	default:
		return t, closing, 0
	}
	end := tagEnd(b[i:])
	if end < 0 {
		return t, closing, 0
	}
	t.attributes = b[i : i+end]
	if t.attributes[len(t.attributes)-1] == '/' {
		t.empty, t.attributes = true, t.attributes[:len(t.attributes)-1]
	}
	return t, closing, i + end + 1
}

// tagEnd returns where the greater-than sign is that ends a tag, outside of quotation marks; where these do
// not match, the first.
func tagEnd(b []byte) int {
	quote := byte(0)
	for i, c := range b {
		switch {
		case c == '<':
			return bytes.IndexByte(b[:i], '>')
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i
		}
	}
	return bytes.IndexByte(b, '>')
}

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= 0x80
}

func nameByte(c byte) bool {
	return letter(c) || '0' <= c && c <= '9' || c == '-' || c == '.' || c == ':'
}

// declaration reads what begins with <! or <?, and skips all of it except character data.
func (s *scanner) declaration(b []byte) {
	nothing := func([]byte) {}
	switch {
	case bytes.HasPrefix(b, []byte("<!--")):
		s.pos += 4
		s.until("-->", nothing)
	case bytes.HasPrefix(b, []byte("<![CDATA[")):
		s.pos += 9
		s.until("]]>", func(text []byte) { s.builder.chars(text, false) })
	case xmlDeclaration(b) && s.builder.isReport(): // it begins a document (XML 1.0 section 2.8)
		s.anotherReport = true
	case b[1] == '?':
		if i := bytes.Index(b[:min(len(b), maxTag)], []byte("?>")); i > 0 && bytes.HasPrefix(b, []byte("<?xml")) {
			s.charset = attribute(b[5:i], "encoding")
		}
		s.until("?>", nothing)
	case len(b) >= 9 && bytes.EqualFold(b[:9], []byte("<!DOCTYPE")):
		// Its entities are not read, so none can grow.
		i := bytes.IndexAny(b, "[>")
		s.builder.fault(FaultDoctype, "", b[:min(len(b), 40)])
		if i > 0 && b[i] == '[' {
			s.pos += i
			s.until("]", nothing)
		}
		s.until(">", nothing)
	default:
		s.until(">", nothing)
	}
}

func xmlDeclaration(b []byte) bool {
	return len(b) > 5 && bytes.HasPrefix(b, []byte("<?xml")) && bytes.IndexByte([]byte(" \t\r\n"), b[5]) >= 0
}

// until reads up to and with a delimiter, in pieces.
func (s *scanner) until(delimiter string, each func([]byte)) {
	for {
		b := s.rest()
		if i := bytes.Index(b, []byte(delimiter)); i >= 0 {
			each(b[:i])
			s.pos += i + len(delimiter)
			return
		}
		if s.eof {
			each(b)
			s.builder.cut, s.pos = true, s.end
			return
		}
		n := len(b) - len(delimiter) + 1 // the delimiter may lie across the end of the window
		each(b[:n])
		s.pos += n
	}
}

// attribute returns the value of the named attribute; empty if absent.
func attribute(attributes []byte, name string) string {
	for rest := attributes; ; {
		i := bytes.Index(rest, []byte(name))
		if i < 0 {
			return ""
		}
		before := i == 0 || bytes.IndexByte([]byte(" \t\r\n\"'"), rest[i-1]) >= 0
		rest = bytes.TrimLeft(rest[i+len(name):], " \t\r\n")
		if !before || len(rest) == 0 || rest[0] != '=' {
			continue
		}
		rest = bytes.TrimLeft(rest[1:], " \t\r\n")
		if len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
			return ""
		}
		value, _, _ := bytes.Cut(rest[1:], rest[:1])
		return strings.ToValidUTF8(string(value[:min(len(value), maxName)]), "\ufffd")
	}
}
