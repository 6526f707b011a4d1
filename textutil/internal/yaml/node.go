package yaml

import (
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a node (YAML 1.2.2 section 3.2.1.1).
type Kind uint8

const (
	Scalar   Kind = 0
	Sequence Kind = 1
	Mapping  Kind = 2
	alias    Kind = 3
)

// Style is how a node is written (YAML 1.2.2 section 3.2.3.1).
type Style uint8

const (
	Plain   Style = 0 // also a node of which nothing is written
	single  Style = 1
	double  Style = 2
	literal Style = 3
	folded  Style = 4
	Block   Style = 5
	flow    Style = 6
	pair    Style = 7 // a mapping of one pair in a flow sequence, without braces
)

// A Node is a node of a document with its place in the text. A mebibyte may have half a million of them, so
// what few nodes have is in properties.
type Node struct {
	first, next *Node       // see First, Next and Target
	props       *properties // nil if it has none
	start, end  int32       // where the content is written; the end is -1 while a collection is read
	indent      int32       // spaces before each line of a block scalar; column of a block collection
	kind        Kind
	style       Style
	absent      bool // the value of a pair without a colon
}

// properties are the anchor and the tag of a node (YAML 1.2.2 section 6.9).
type properties struct {
	start     int32  // where the first is written
	anchor    string // without the "&"; empty if absent
	tag       string // resolved; "!" is the non-specific tag; empty if absent
	tagText   string // as written
	anchorEnd int32
	tagEnd    int32
}

// Kind returns the kind of the node.
func (n *Node) Kind() Kind { return n.kind }

// Style returns how the node is written.
func (n *Node) Style() Style { return n.style }

// First returns the first item of a sequence or the first key of a mapping, or nil. The value of a key is
// [Node.Next] of it.
func (n *Node) First() *Node {
	if n.kind == alias {
		return nil
	}
	return n.first
}

// Next returns the next child of the same collection, or nil.
func (n *Node) Next() *Node { return n.next }

// Target returns the node that an alias refers to, or the node itself.
func (n *Node) Target() *Node {
	if n.kind == alias {
		return n.first
	}
	return n
}

// Anchor returns the name by which aliases call the node, or nothing.
func (n *Node) Anchor() string {
	if n.props == nil {
		return ""
	}
	return n.props.anchor
}

// Tag returns the tag that is written for the node: "!" is the non-specific tag; it is empty if absent.
func (n *Node) Tag() string {
	if n.props == nil {
		return ""
	}
	return n.props.tag
}

// TagSpan returns where the tag of a node that has one is written.
func (n *Node) TagSpan() (start, end int) {
	return int(n.props.tagEnd) - len(n.props.tagText), int(n.props.tagEnd)
}

// Span returns where the content of the node is written, without its properties.
func (n *Node) Span() (start, end int) { return int(n.start), int(n.end) }

func (n *Node) begin() int32 {
	if n.props != nil {
		return min(n.props.start, n.start)
	}
	return n.start
}

// isBlank reports whether nothing is written for the content of the node.
func (n *Node) isBlank() bool { return n.kind == Scalar && n.style == Plain && n.start == n.end }

// Len returns how many items or pairs a collection has.
func (n *Node) Len() int {
	count := 0
	for child := n.First(); child != nil; child = child.next {
		count++
	}
	if n.kind == Mapping {
		count /= 2
	}
	return count
}

// A Document is a document of a stream.
type Document struct {
	Root       *Node
	Start      int      // where the first directive or the content is
	directives []string // as written
	handles    map[string]string
	marker     int  // where "---" is, or the content
	explicit   bool // it begins with "---", behind the directives
	versioned  bool // it has a %YAML directive
	aliases    bool // it has any
}

// A comment reaches from its "#" to the end of the line.
type comment struct {
	start, end int32
	own        bool // nothing else is on its line
}

// A Stream is a text that was read.
type Stream struct {
	Text      string // with line feeds for all line breaks; places are in this text
	Documents []*Document
	Depth     int  // how deeply collections are nested
	Aliases   bool // there are any
	comments  []comment
}

func (s *Stream) raw(n *Node) string { return s.Text[n.start:n.end] }

// A SyntaxError says where and why a text is not YAML.
type SyntaxError struct {
	Offset  int // in the text with line feeds for all line breaks
	Message string
}

func (e *SyntaxError) Error() string { return e.Message }

// A LimitError says why a text is too costly.
type LimitError struct {
	Reason string // a clause whose subject is the text
}

func (e *LimitError) Error() string { return e.Reason }

// Value returns what a scalar says. Escapes of surrogates that have no partner, which are not characters, come
// as the three bytes that UTF-8 forbids.
func (s *Stream) Value(n *Node) string {
	raw := s.raw(n)
	special := "\n"
	switch n.style {
	case literal, folded:
		return s.blockValue(n)
	case single:
		raw, special = raw[1:len(raw)-1], "'\n"
	case double:
		raw, special = raw[1:len(raw)-1], "\\\n"
	}
	return valueOf(raw, special, n.style)
}

// Unquote returns what a string says that is a valid one of JSON with its quotes: the escapes of JSON are escapes of
// YAML too (YAML 1.2.2 section 5.7). Surrogates that have no partner come as from [Stream.Value].
func Unquote(quoted string) string { return valueOf(quoted[1:len(quoted)-1], "\\", double) }

func valueOf(raw, special string, style Style) string {
	if !strings.ContainsAny(raw, special) {
		return raw
	}
	v := unescaper{raw: raw, style: style, out: make([]byte, 0, len(raw))}
	for v.pos < len(raw) {
		v.step()
	}
	return string(v.out)
}

// An unescaper computes the value of a scalar of several lines, or with escapes.
type unescaper struct {
	raw   string
	style Style
	pos   int
	out   []byte
	kept  int // bytes of the output that are no white space before a line break
}

// step goes past a character, an escape or a line break.
func (v *unescaper) step() {
	switch c := v.raw[v.pos]; {
	case c == '\n':
		for len(v.out) > v.kept && isBlank(v.out[len(v.out)-1]) {
			v.out = v.out[:len(v.out)-1]
		}
		v.fold(false)
	case c == '\'' && v.style == single:
		v.out = append(v.out, c)
		v.pos += 2
	case c == '\\' && v.style == double:
		v.escape()
	default:
		v.out = append(v.out, c)
		v.pos++
	}
}

// fold goes past a line break and white space: a break becomes a space, and empty lines become breaks (YAML
// 1.2.2 section 6.5).
func (v *unescaper) fold(escaped bool) {
	breaks := 0
	for ; v.pos < len(v.raw) && (isBlank(v.raw[v.pos]) || v.raw[v.pos] == '\n'); v.pos++ {
		if v.raw[v.pos] == '\n' {
			breaks++
		}
	}
	if breaks == 1 && !escaped {
		v.out = append(v.out, ' ')
	}
	for range breaks - 1 {
		v.out = append(v.out, '\n')
	}
	v.kept = len(v.out)
}

// escape goes past an escape, which is valid.
func (v *unescaper) escape() {
	c := v.raw[v.pos+1]
	digits := escapeDigits[c]
	switch {
	case c == '\n':
		v.pos++
		v.fold(true)
		return
	case digits == 0:
		v.out = append(v.out, simpleEscapes[c]...)
		v.pos += 2
	default:
		r, _ := Hex(v.raw[v.pos+2:], digits)
		v.pos += 2 + digits
		v.character(r)
	}
	v.kept = len(v.out)
}

// character appends what an escape of a number means: two that are a surrogate pair mean one, as in JSON.
func (v *unescaper) character(r uint32) {
	if r>>10 == 0xD800>>10 && strings.HasPrefix(v.raw[v.pos:], `\u`) {
		if low, ok := Hex(v.raw[v.pos+2:], 4); ok && low>>10 == 0xDC00>>10 {
			r = 0x10000 + (r&0x3FF)<<10 + low&0x3FF
			v.pos += 6
		}
	}
	if r>>11 == 0xD800>>11 {
		v.out = append(v.out, 0xE0|byte(r>>12), 0x80|byte(r>>6&0x3F), 0x80|byte(r&0x3F))
		return
	}
	v.out = utf8.AppendRune(v.out, rune(r))
}
