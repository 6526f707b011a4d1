package yaml

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxDepth bounds the nesting of collections. Readers and writers recurse for each level; no real document is
// deeper.
const MaxDepth = 256

// maxTags bounds the bytes of the different tags of a text when their handles are written out: a prefix of a
// thousand bytes behind a handle of three would make much of little.
const maxTags = 8 << 20

// MaxKey bounds a key without "?", in characters (YAML 1.2.2 section 7.4.2).
const MaxKey = 1024

const byteOrderMark = "\uFEFF"

// A parser goes through a text once.
type parser struct {
	*Stream
	pos     int // next byte
	line    int // first byte of the line
	head    int // first byte of the line that is not white space, as far as the parser looked; or -1
	odd     int // first character that only quotes may hold and that is behind all quotes so far, or -1
	quoting bool
	begun   int // where the scalar, flow collection or alias begins that was read last
	doc     *Document
	anchors map[string]*Node
	pending []*properties // of the nodes around that have not begun
	tags    map[string]string
	tagged  int // bytes of them
	depth   int
	flows   int // of the collections around, those in brackets
	most    int // nodes that the text may have
	left    int // of them
	free    []Node
}

// Parse reads a text that is valid UTF-8. A text of more nodes than that, which take 40 bytes each, is too
// costly. The error is a [SyntaxError] or a [LimitError].
func Parse(text string, nodes int) (*Stream, error) {
	p := &parser{Stream: &Stream{Text: LineFeeds(text)}, head: -1, odd: -1, left: nodes, most: nodes}
	err := p.try(func() {
		p.checkCharacters()
		p.stream()
	})
	if wrong, ok := err.(*SyntaxError); p.odd >= 0 && (err == nil || ok && p.odd < wrong.Offset && !p.quoting) {
		err = p.try(p.refuseOddCharacter)
	}
	if wrong, ok := err.(*SyntaxError); ok {
		return nil, p.withCause(wrong)
	}
	if err != nil {
		return nil, err
	}
	return p.Stream, nil
}

// A refusal is the value that the parser panics with at the first error, so that no step of it has to pass errors on.
type refusal struct{ error }

// try returns the error with which a step of the parser refuses the text, or nil.
func (p *parser) try(step func()) (err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case refusal:
			err = cause.error
		default:
			panic(cause)
		}
	}()
	step()
	return nil
}

// LineFeeds returns a text with line feeds for all line breaks: a carriage return is one too (YAML 1.2.2 section 5.4).
func LineFeeds(text string) string {
	if strings.IndexByte(text, '\r') < 0 {
		return text
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// checkCharacters refuses characters that YAML forbids (YAML 1.2.2 section 5.1), and looks for those that are
// allowed in quotes only.
func (p *parser) checkCharacters() {
	for i := 0; i < len(p.Text); i++ {
		c := p.Text[i]
		if c >= ' ' && c < utf8.RuneSelf || c == '\n' || c == '\t' {
			continue
		}
		if c < ' ' {
			p.fail(i, "the control character U+%04X must be written as \\x%02[1]X in double quotes, or removed", c)
		}
		r, size := utf8.DecodeRuneInString(p.Text[i:])
		if r == 0xFFFE || r == 0xFFFF {
			p.fail(i, "the character U+%04X must be written as an escape in double quotes", r)
		}
		i += size - 1
	}
	p.findOdd(0)
}

// findOdd looks for the next character that is allowed in quotes only.
func (p *parser) findOdd(from int) {
	p.odd = -1
	for i := from; i < len(p.Text); i++ {
		switch c := p.Text[i]; {
		case c == 0x7F, c == 0xC2 && p.Text[i+1] < 0xA0 && p.Text[i+1] != 0x85, strings.HasPrefix(p.Text[i:], byteOrderMark):
			p.odd = i
			return
		}
	}
}

// refuseOddCharacter refuses a character that is in no quotes.
func (p *parser) refuseOddCharacter() {
	r, _ := utf8.DecodeRuneInString(p.Text[p.odd:])
	if name, remedy := InvisibleName(r); name != "" {
		p.fail(p.odd, "%s must be in quotes; %s", name, remedy)
	}
	p.fail(p.odd, "the character U+%04X must be in quotes", r)
}

func (p *parser) fail(offset int, format string, args ...any) {
	panic(refusal{&SyntaxError{offset, fmt.Sprintf(format, args...)}})
}

func (p *parser) refuseLimit(format string, args ...any) {
	line := strings.Count(p.Text[:p.pos], "\n") + 1
	panic(refusal{&LimitError{fmt.Sprintf(format, args...) + fmt.Sprintf(" at line %d; that is the most", line)}})
}

// node returns a new node that begins at the offset.
func (p *parser) node(kind Kind, style Style, start int, props *properties) *Node {
	if p.left--; p.left < 0 {
		p.refuseLimit("has more than %d values", p.most)
	}
	if len(p.free) == 0 {
		p.free = make([]Node, min(4096, 64+p.most-p.left)) // pieces need not be copied when there are more
	}
	n := &p.free[0]
	p.free = p.free[1:]
	n.kind, n.style, n.start, n.end, n.props = kind, style, int32(start), int32(start), props
	p.define(n)
	return n
}

// collection returns a new node that other nodes will lie in until it is closed.
func (p *parser) collection(kind Kind, style Style, start int, props *properties) *Node {
	if p.depth++; p.depth > MaxDepth {
		p.refuseLimit("is nested more than %d deep", MaxDepth)
	}
	p.Depth = max(p.Depth, p.depth)
	n := p.node(kind, style, start, props)
	n.end = -1
	return n
}

func (p *parser) close(n *Node, end int) *Node {
	p.depth--
	n.end = int32(end)
	return n
}

// emptyNode returns a node of which nothing is written. It is behind its properties, or at the offset.
func (p *parser) emptyNode(props *properties, offset int) *Node {
	if props != nil {
		offset = int(max(props.anchorEnd, props.tagEnd))
	}
	return p.node(Scalar, Plain, offset, props)
}

// emptyValue returns the value of a key that no colon follows.
func (p *parser) emptyValue(key *Node) *Node {
	value := p.emptyNode(nil, int(key.end))
	value.absent = true
	return value
}

// A childList appends children to a collection.
type childList struct {
	next **Node
	last *Node
}

func (t *childList) add(children ...*Node) {
	for _, child := range children {
		*t.next, t.next, t.last = child, &child.next, child
	}
}

// at returns the byte i places ahead, or 0 behind the end: the text itself has no such byte.
func (p *parser) at(i int) byte {
	if p.pos+i < len(p.Text) {
		return p.Text[p.pos+i]
	}
	return 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == 0 }

// isMark reports whether the byte is one of the marks of flow collections.
func isMark(c byte) bool { return c == ',' || c == '[' || c == ']' || c == '{' || c == '}' }

// isIndicator reports whether the byte is next, with white space behind.
func (p *parser) isIndicator(c byte) bool { return p.at(0) == c && isSpace(p.at(1)) }

func (p *parser) skipBlanks() {
	for p.pos < len(p.Text) && isBlank(p.Text[p.pos]) {
		p.pos++
	}
}

// separate skips white space, line breaks and comments (YAML 1.2.2 section 6.7). It reports whether it came to
// another line.
func (p *parser) separate() bool {
	begins := p.pos == p.line
	crossed := false
	for {
		p.skipBlanks()
		switch c := p.at(0); {
		case c == '\n':
			p.pos++
			p.line = p.pos
			begins, crossed = true, true
			continue
		case c == '#' && (p.pos == p.line || isBlank(p.Text[p.pos-1])):
			p.comment()
			continue
		}
		if begins {
			p.head = p.pos
		}
		return crossed
	}
}

// isLineStart reports whether nothing but white space is before on the line.
func (p *parser) isLineStart() bool { return p.pos == p.head }

func (p *parser) comment() {
	start := p.pos
	text, _, _ := strings.Cut(p.Text[start:], "\n")
	p.pos += len(text)
	if len(p.comments) == cap(p.comments) { // growing by less leaves five times as much behind
		p.comments = slices.Grow(p.comments, len(p.comments)+16)
	}
	own := strings.Trim(p.Text[p.line:start], " \t") == ""
	p.comments = append(p.comments, comment{int32(start), int32(p.pos), own})
}

// indentation returns how many spaces the line begins with, and whether a tab follows them.
func (p *parser) indentation() (spaces int, tab bool) {
	i := p.line
	for i < p.pos && p.Text[i] == ' ' {
		i++
	}
	return i - p.line, i < p.pos
}

// isMarker reports whether a line begins with a document marker, "---" or "..." (YAML 1.2.2 section 9.1.2).
func isMarker(s string) bool {
	return len(s) >= 3 && (s[:3] == "---" || s[:3] == "...") && (len(s) == 3 || isSpace(s[3]))
}

func (p *parser) ended() bool {
	return p.pos == len(p.Text) || p.pos == p.line && isMarker(p.Text[p.pos:])
}
