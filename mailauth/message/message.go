// Package message splits raw messages into fields (RFC 5322): call [Split], with [Read] for a reader. Nothing is lost
// or changed, so signatures can be verified over the result.
//
// A message is a header, a blank line and a body. The header is a list of fields, each a name, a colon and a
// value; a line that begins with white space continues the field before it ("folding", RFC 5322 section 2.2.3):
//
//	Received: from mail.example.org
//		by mx.example.com; Sun, 1 Nov 2026 09:00:04 +0000
//	From: Alice <alice@example.org>
//
//	Hello.
//
// Pasted and forwarded messages are less tidy: lines that are not fields, mixed line endings, a byte order mark, no
// blank line, bytes outside ASCII. [Split] keeps all of it, with offsets and line numbers. [Repair] restores text
// damaged by copying (quoted, indented, encoded as quoted-printable).
//
// [Comments], [DecodeText] (RFC 2047), [ParseAddresses], [MessageIDs] and [ParseDate] parse values as tolerantly.
//
// [Parts] returns the leaf parts of a MIME message (RFC 2045, RFC 2046). Its body may be a tree: the parameter boundary
// of Content-Type names a line that precedes each part and, with two more hyphens, follows the last:
//
//	Content-Type: multipart/report; boundary="b"
//
//	--b
//	Content-Type: text/plain
//
//	For people.
//	--b
//	Content-Type: application/gzip
//	Content-Transfer-Encoding: base64
//
//	H4sI…
//	--b--
//
// Each part has fields and a body, which may be multipart again. Reports come as such messages, often malformed: the
// last boundary is missing, base64 is truncated, the type is unregistered. All that can be read is read, up to a
// limit of size.
package message

import (
	"bytes"
	"strings"
)

// The bounds of the header that [Split] reads (CONTRACT 1.9). Real ones have up to some 30 KiB in 200 fields.
const (
	MaxHeaderBytes = 256 << 10
	MaxFields      = 10_000 // malformed lines included
)

// A Message is a message in pieces. All slices point into the text that was split.
type Message struct {
	Mark      []byte  // a byte order mark before the header; usually none
	Fields    []Field // in order
	Malformed []Line  // lines of the header that belong to no field, in order
	Excess    []byte  // the text beyond [MaxHeaderBytes] or [MaxFields]; usually nothing
	Separator []byte  // the blank line behind the header; empty if missing
	Body      []byte  // all behind the blank line

	Ends LineEnds // of the header
}

// A Field is a field of the header.
type Field struct {
	Name   string // as sent, without the colon and white space before it
	Raw    []byte // the whole field with name, folding and the last line end
	Offset int    // of Raw in the text
	Line   int    // number of its first line, from 1

	colon int
}

// A Line is one that belongs to no field, with the lines that continue it.
type Line struct {
	Raw    []byte // with the line end
	Offset int    // of Raw in the text
	Line   int    // its number, from 1
}

// LineEnds counts how the lines of a header end.
type LineEnds struct {
	CRLF   int
	LF     int // as on Unix, and in most pasted text
	CRCRLF int // a program inserted CR before an existing CRLF
	CR     int // as on old Macs; only recognized where there is no LF at all
}

// Split takes a message apart. The pieces, in the order of their offsets, are the text again.
func Split(text []byte) *Message {
	m := &Message{}
	s := scanner{text: text, end: '\n'}
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') >= 0 {
		s.end = '\r'
	}
	if bytes.HasPrefix(text, []byte("\xEF\xBB\xBF")) {
		m.Mark, s.at = text[:3], 3
	}
	open := none // the piece that a line beginning with white space continues
	for s.at < len(text) {
		begin := s.at
		line, content := s.next()
		if len(content) == 0 {
			m.Separator, m.Body = line, text[s.at:]
			return m
		}
		if begin-len(m.Mark)+len(line) > MaxHeaderBytes || len(m.Fields)+len(m.Malformed) == MaxFields {
			m.skip(text, begin, &s)
			return m
		}
		m.Ends.count(line)
		folded := content[0] == ' ' || content[0] == '\t'
		switch colon := nameEnd(content); {
		case folded && open == inField:
			f := &m.Fields[len(m.Fields)-1]
			f.Raw = text[f.Offset:s.at]
		case folded && open == inLine:
			l := &m.Malformed[len(m.Malformed)-1]
			l.Raw = text[l.Offset:s.at]
		case !folded && colon > 0 && !isMailbox(m, content):
			name := strings.TrimRight(string(content[:colon]), " \t") // RFC 5322 section 4.5: obsolete, but valid
			m.Fields = append(m.Fields, Field{Name: name, Raw: line, Offset: begin, Line: s.lines, colon: colon})
			open = inField
		default:
			m.Malformed = append(m.Malformed, Line{Raw: line, Offset: begin, Line: s.lines})
			open = inLine
		}
	}
	return m
}

// The kinds of pieces that a line may continue.
const (
	none = iota
	inField
	inLine
)

// isMailbox reports whether the first line of a text is the separator of a mailbox file, which may contain a colon in
// its time: "From alice@example.org Sun Nov  1 09:00:00 2026" (RFC 4155).
func isMailbox(m *Message, content []byte) bool {
	behind, ok := bytes.CutPrefix(bytes.TrimPrefix(content, []byte(">")), []byte("From "))
	return ok && len(m.Fields) == 0 && !bytes.HasPrefix(bytes.TrimLeft(behind, " \t"), []byte(":"))
}

// skip sets the text beyond the limit of the header aside, and finds the body behind it.
func (m *Message) skip(text []byte, begin int, s *scanner) {
	for s.at < len(text) {
		at := s.at
		if line, content := s.next(); len(content) == 0 {
			m.Excess, m.Separator, m.Body = text[begin:at], line, text[s.at:]
			return
		}
	}
	m.Excess = text[begin:]
}

// nameEnd returns the offset of the colon behind a name, or -1. A name is of printable ASCII characters without a
// blank (RFC 5322 section 2.2), and white space may precede the colon (section 4.5).
func nameEnd(content []byte) int {
	colon := bytes.IndexByte(content, ':')
	name := bytes.TrimRight(content[:max(colon, 0)], " \t")
	if bytes.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return -1
	}
	return colon
}

type scanner struct {
	text  []byte
	end   byte // the last byte of a line end
	at    int
	lines int // how many lines were read
}

func (s *scanner) next() (line, content []byte) {
	line = s.text[s.at:]
	if i := bytes.IndexByte(line, s.end); i >= 0 {
		line = line[:i+1]
	}
	s.at += len(line)
	s.lines++
	content = bytes.TrimSuffix(line, []byte{s.end})
	if len(content) < len(line) {
		content = bytes.TrimRight(content, "\r")
	}
	return line, content
}

func (e *LineEnds) count(line []byte) {
	switch {
	case bytes.HasSuffix(line, []byte("\r\r\n")):
		e.CRCRLF++
	case bytes.HasSuffix(line, []byte("\r\n")):
		e.CRLF++
	case bytes.HasSuffix(line, []byte("\n")):
		e.LF++
	case bytes.HasSuffix(line, []byte("\r")):
		e.CR++
	}
}

// Mailbox returns the line that mailbox files have before each message ("From alice@example.org Sun Nov …"), if
// the text begins with one.
func (m *Message) Mailbox() (Line, bool) {
	if len(m.Malformed) > 0 && m.Malformed[0].Line == 1 {
		l := m.Malformed[0]
		return l, bytes.HasPrefix(bytes.TrimPrefix(l.Raw, []byte(">")), []byte("From "))
	}
	return Line{}, false
}

// All returns the fields of a name, whatever its case, in order.
func (m *Message) All(name string) []*Field {
	var list []*Field
	for i := range m.Fields {
		if m.Fields[i].Is(name) {
			list = append(list, &m.Fields[i])
		}
	}
	return list
}

// Values returns the values of all fields of a name, in order.
func (m *Message) Values(name string) []string {
	var list []string
	for _, f := range m.All(name) {
		list = append(list, f.Value())
	}
	return list
}

// First returns the first field of a name, whatever its case, or nil.
func (m *Message) First(name string) *Field {
	for i := range m.Fields {
		if m.Fields[i].Is(name) {
			return &m.Fields[i]
		}
	}
	return nil
}

// Value returns the value of the first field of a name; empty if missing.
func (m *Message) Value(name string) string {
	if f := m.First(name); f != nil {
		return f.Value()
	}
	return ""
}

// Is reports whether the field has this name, whatever its case.
func (f *Field) Is(name string) bool { return strings.EqualFold(f.Name, name) }

// RawValue returns everything behind the colon, with folding and the last line end.
func (f *Field) RawValue() []byte { return f.Raw[f.colon+1:] }

// Value returns the value unfolded, without surrounding white space; bytes outside of ASCII are left as they are.
func (f *Field) Value() string { return Unfold(f.RawValue()) }

// Text returns the value in readable form: unfolded, decoded and valid UTF-8, see [DecodeText].
func (f *Field) Text() string { return DecodeText(f.Value()) }

// LongestLine returns the length of the longest line of the field in bytes, without its end.
func (f *Field) LongestLine() (longest int) {
	for s := (scanner{text: f.Raw, end: '\n'}); s.at < len(f.Raw); {
		_, content := s.next()
		longest = max(longest, len(content))
	}
	return longest
}

// Unfold removes line ends (RFC 5322 section 2.2.3), and the white space around the whole.
func Unfold(raw []byte) string { return strings.Trim(unfolder.Replace(string(raw)), " \t") }

var unfolder = strings.NewReplacer("\r", "", "\n", "")
