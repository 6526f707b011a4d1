package textutil

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxYAMLDepth bounds how deep collections may lie in one another. The parser calls itself for each
// level; nobody reads a document that is deeper.
const maxYAMLDepth = 256

// maxYAMLKey bounds a key without "?", in characters (YAML 1.2.2 section 7.4.2).
const maxYAMLKey = 1024

// A yamlParser reads a stream by recursive descent. It goes forward only, so its time is linear.
type yamlParser struct {
	yamlStream
	yamlArena
	pos     int   // next byte
	line    int   // first byte of the line
	nesting int   // collections around
	odd     []int // where characters are that only quoted scalars may hold
	doc     *yamlDocument
	anchors map[string]*yamlNode
}

// parseYAML reads a stream of documents. The error is a [yamlError], or an [InputError] if the text is
// too deep.
func parseYAML(text string) (*yamlStream, error) {
	p := &yamlParser{yamlStream: yamlStream{text: text}}
	if err := p.checkCharacters(); err != nil {
		return nil, err
	}
	if err := p.stream(); err != nil {
		return nil, err
	}
	if len(p.odd) > 0 {
		return nil, p.oddCharacter(p.odd[0])
	}
	return &p.yamlStream, nil
}

// checkCharacters refuses what no YAML may hold (YAML 1.2.2 section 5.1), and remembers where
// characters are that may stand in quotes only.
func (p *yamlParser) checkCharacters() error {
	for i := 0; i < len(p.text); i++ {
		c := p.text[i]
		if c >= ' ' && c < 0x7F || c == '\n' || c == '\t' {
			continue
		}
		if c < ' ' {
			return &yamlError{i, fmt.Sprintf("the control character U+%04X must be written as an escape in double quotes", c)}
		}
		r, size := utf8.DecodeRuneInString(p.text[i:])
		if r == 0x7F || r >= 0x80 && r < 0xA0 && r != 0x85 || r == '\uFEFF' || r == 0xFFFE || r == 0xFFFF {
			p.odd = append(p.odd, i)
		}
		i += size - 1
	}
	return nil
}

func (p *yamlParser) oddCharacter(offset int) error {
	r, _ := utf8.DecodeRuneInString(p.text[offset:])
	return &yamlError{offset, fmt.Sprintf("the character U+%04X must be in quotes", r)}
}

// fail returns an error at an offset.
func (p *yamlParser) fail(offset int, format string, args ...any) error {
	return &yamlError{offset, fmt.Sprintf(format, args...)}
}

// at returns the byte i places ahead, or 0 behind the end: the text itself has no such byte.
func (p *yamlParser) at(i int) byte {
	if p.pos+i < len(p.text) {
		return p.text[p.pos+i]
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

func (p *yamlParser) skipBlanks() {
	for p.pos < len(p.text) && yamlBlank(p.text[p.pos]) {
		p.pos++
	}
}

// separate skips white space, line breaks and comments (YAML 1.2.2 section 6.7). It reports whether it
// came to another line.
func (p *yamlParser) separate() bool {
	crossed := false
	for {
		p.skipBlanks()
		switch c := p.at(0); {
		case c == '\n':
			p.pos++
			p.line = p.pos
			crossed = true
		case c == '#' && (p.pos == p.line || yamlBlank(p.text[p.pos-1])):
			p.comment()
		default:
			return crossed
		}
	}
}

func (p *yamlParser) comment() {
	start := p.pos
	end := strings.IndexByte(p.text[start:], '\n')
	if end < 0 {
		end = len(p.text) - start
	}
	p.pos += end
	own := strings.Trim(p.text[p.line:start], " \t") == ""
	p.comments = append(p.comments, yamlComment{int32(start), int32(p.pos), own})
}

// indentation returns how many spaces the line begins with, and whether a tab follows them. It
// reports the column -1 unless only white space is before the next byte.
func (p *yamlParser) indentation() (spaces int, tab bool) {
	i := p.line
	for i < p.pos && p.text[i] == ' ' {
		i++
	}
	spaces = i - p.line
	for i < p.pos && yamlBlank(p.text[i]) {
		i++
	}
	if i < p.pos {
		return -1, false
	}
	return spaces, i-p.line > spaces
}

// marker reports whether a document marker, "---" or "...", is next (YAML 1.2.2 section 9.1.2).
func (p *yamlParser) marker() bool {
	return p.pos == p.line && yamlMarker(p.text[p.pos:])
}

func yamlMarker(s string) bool {
	return len(s) >= 3 && (s[:3] == "---" || s[:3] == "...") && (len(s) == 3 || yamlSpace(s[3]))
}

// enter counts a collection that begins. Each needs a leave.
func (p *yamlParser) enter() error {
	if p.nesting == maxYAMLDepth {
		return invalid("text", "is nested more than %d deep at line %d; that is the most", maxYAMLDepth,
			strings.Count(p.text[:p.line], "\n")+1)
	}
	p.nesting++
	p.depth = max(p.depth, p.nesting)
	return nil
}

func (p *yamlParser) leave() { p.nesting-- }

// stream reads all documents (YAML 1.2.2 section 9.2).
func (p *yamlParser) stream() error {
	for {
		p.separate()
		switch {
		case p.pos == len(p.text):
			return nil
		case strings.HasPrefix(p.text[p.pos:], "\uFEFF"):
			p.mark()
			continue
		case p.marker() && p.at(0) == '.':
			if err := p.documentEnd(); err != nil {
				return err
			}
			continue
		}
		if err := p.document(); err != nil {
			return err
		}
	}
}

// mark skips a byte-order mark between documents (YAML 1.2.2 section 5.2).
func (p *yamlParser) mark() {
	for len(p.odd) > 0 && p.odd[0] <= p.pos {
		p.odd = p.odd[1:]
	}
	p.pos += len("\uFEFF")
	p.line = p.pos
}

// documentEnd reads the marker "...", which nothing but a comment may follow.
func (p *yamlParser) documentEnd() error {
	p.pos += 3
	return p.lineEnd("the end of the document")
}

// lineEnd refuses anything but a comment in what is left of the line.
func (p *yamlParser) lineEnd(behind string) error {
	begin := p.pos
	p.skipBlanks()
	c := p.at(0)
	if yamlBreak(c) || c == '#' && p.pos > begin {
		return nil
	}
	switch c {
	case '#':
		return p.fail(p.pos, "a comment must have a space before its #")
	case ':':
		if yamlSpace(p.at(1)) {
			return p.fail(p.pos, "a key with its colon cannot stand here; begin it on a line of its own")
		}
	}
	return p.fail(p.pos, "unexpected text behind %s", behind)
}

// document reads a document with its directives.
func (p *yamlParser) document() error {
	p.doc = &yamlDocument{start: p.pos}
	p.anchors = nil
	for p.pos == p.line && p.at(0) == '%' {
		if err := p.directive(); err != nil {
			return err
		}
		p.separate()
	}
	p.doc.marker = p.pos
	if p.marker() && p.at(0) == '-' {
		p.pos += 3
		p.doc.explicit = true
	} else if len(p.doc.directives) > 0 {
		return p.fail(p.pos, "a line with --- must follow the directives")
	}
	root, err := p.blockNode(-1, false, false)
	if err != nil {
		return err
	}
	p.doc.root = root
	p.doc.end = p.pos
	p.docs = append(p.docs, p.doc)
	p.separate()
	switch {
	case p.pos == len(p.text):
		return nil
	case !p.marker():
		return p.strayText()
	case p.at(0) == '.':
		return p.documentEnd()
	}
	return nil
}

// strayText explains text that belongs to nothing.
func (p *yamlParser) strayText() error {
	spaces, tab := p.indentation()
	switch c := p.at(0); {
	case tab:
		return p.fail(p.line+spaces, "a tab cannot indent; use spaces")
	case spaces > 0:
		return p.fail(p.pos, "the indentation of %d fits no line before", spaces)
	case c == '%':
		return p.fail(p.pos, "a line with ... must stand before the directives of the next document")
	case c == ']' || c == '}':
		return p.fail(p.pos, "nothing is open that %q could close", c)
	}
	return p.fail(p.pos, "the document has ended, but there is more text")
}

// directive reads a directive (YAML 1.2.2 section 6.8).
func (p *yamlParser) directive() error {
	start := p.pos
	end := strings.IndexByte(p.text[start:], '\n')
	if end < 0 {
		end = len(p.text) - start
	}
	line := p.text[start : start+end]
	p.pos += end
	for i := 1; i < len(line); i++ {
		if line[i] == '#' && yamlBlank(line[i-1]) {
			p.pos = start + i
			line = line[:i]
		}
	}
	line = strings.TrimRight(line, " \t")
	p.doc.directives = append(p.doc.directives, line)
	fields := strings.FieldsFunc(line[1:], func(r rune) bool { return r == ' ' || r == '\t' })
	switch {
	case len(fields) == 0 || yamlBlank(line[1]):
		return p.fail(start, "the directive has no name")
	case fields[0] == "YAML":
		return p.version(start, fields[1:])
	case fields[0] == "TAG":
		return p.tagDirective(start, fields[1:])
	}
	return nil // Unknown directives are reserved: a reader ignores them (YAML 1.2.2 section 6.8).
}

// version reads the version of YAML (YAML 1.2.2 section 6.8.1).
func (p *yamlParser) version(start int, params []string) error {
	if p.doc.major != 0 {
		return p.fail(start, "there is a second %%YAML directive")
	}
	if len(params) != 1 {
		return p.fail(start, "the %%YAML directive needs a version and nothing else, such as %%YAML 1.2")
	}
	major, minor, ok := strings.Cut(params[0], ".")
	if !ok || !yamlDigits(major) || !yamlDigits(minor) || len(params[0]) > 9 {
		return p.fail(start, "%.20q is no version of YAML", params[0])
	}
	if major != "1" {
		return p.fail(start, "version %s of YAML is unknown", params[0])
	}
	p.doc.major = 1
	for _, c := range minor {
		p.doc.minor = p.doc.minor*10 + int(c-'0')
	}
	return nil
}

func yamlDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// tagDirective reads the meaning of a tag handle (YAML 1.2.2 section 6.8.2).
func (p *yamlParser) tagDirective(start int, params []string) error {
	if len(params) != 2 {
		return p.fail(start, "the %%TAG directive needs a handle and a prefix")
	}
	handle, prefix := params[0], params[1]
	if !yamlHandle(handle) {
		return p.fail(start, "%.40q is no tag handle", handle)
	}
	if strings.IndexFunc(prefix, notURI) >= 0 || strings.ContainsAny(prefix[:1], ",[]{}") {
		return p.fail(start, "%.40q is no prefix of tags", prefix)
	}
	if _, ok := p.doc.handles[handle]; ok {
		return p.fail(start, "the tag handle %.40s has a meaning already", handle)
	}
	if p.doc.handles == nil {
		p.doc.handles = map[string]string{}
	}
	p.doc.handles[handle] = prefix
	return nil
}
