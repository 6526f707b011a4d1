package textutil

import (
	"strings"
	"unicode/utf8"
)

// yamlKind is the kind of a node (YAML 1.2.2 section 3.2.1.1).
type yamlKind uint8

const (
	yamlScalar   yamlKind = 0
	yamlSequence yamlKind = 1
	yamlMapping  yamlKind = 2
	yamlAlias    yamlKind = 3
)

// yamlStyle is how a node is written (YAML 1.2.2 section 3.2.3.1).
type yamlStyle uint8

const (
	yamlPlain   yamlStyle = 0 // also a node of which nothing is written
	yamlSingle  yamlStyle = 1
	yamlDouble  yamlStyle = 2
	yamlLiteral yamlStyle = 3
	yamlFolded  yamlStyle = 4
	yamlBlock   yamlStyle = 5
	yamlFlow    yamlStyle = 6
	yamlPair    yamlStyle = 7 // a mapping of one pair in a flow sequence, without braces
)

// A yamlNode is a node of a document. It points into the text rather than hold a copy, so that a
// million nodes need no more memory than the text of a few.
type yamlNode struct {
	kind       yamlKind
	style      yamlStyle
	open       bool  // a collection that has not ended yet
	indent     int32 // spaces before each line of a block scalar; column of a block collection
	start, end int32 // where the content is written, without properties
	props      *yamlProps
	first      *yamlNode // first child: an item, or a key that its value follows; of an alias, what it stands for
	next       *yamlNode // next child of the same parent
}

// yamlProps are the properties of a node (YAML 1.2.2 section 6.9).
type yamlProps struct {
	start     int32  // where the first is written
	anchor    string // without the "&"; empty if there is none
	tag       string // resolved; "!" is the non-specific tag; empty if there is none
	tagText   string // as written
	anchorEnd int32
	tagEnd    int32
}

// given reports whether there is any property.
func (p *yamlProps) given() bool { return p.anchor != "" || p.tag != "" }

// begin returns where the node begins, with its properties.
func (n *yamlNode) begin() int32 {
	if n.props != nil {
		return min(n.props.start, n.start)
	}
	return n.start
}

// anchor returns the name by which aliases call the node, or nothing.
func (n *yamlNode) anchor() string {
	if n.props == nil {
		return ""
	}
	return n.props.anchor
}

// tag returns the resolved tag, or nothing.
func (n *yamlNode) tag() string {
	if n.props == nil {
		return ""
	}
	return n.props.tag
}

// children returns the first child; an alias has none.
func (n *yamlNode) children() *yamlNode {
	if n.kind == yamlAlias {
		return nil
	}
	return n.first
}

// entryCount returns how many items or pairs a collection has.
func (n *yamlNode) entryCount() int {
	count := 0
	for child := n.children(); child != nil; child = child.next {
		count++
	}
	if n.kind == yamlMapping {
		count /= 2
	}
	return count
}

// empty reports whether nothing is written for the content of the node.
func (n *yamlNode) empty() bool {
	return n.kind == yamlScalar && n.style == yamlPlain && n.start == n.end
}

// absent reports whether the value of a pair is not there, nor its colon.
func (n *yamlNode) absent(key *yamlNode) bool {
	return n.empty() && n.props == nil && n.start == max(key.end, key.begin())
}

// A yamlDocument is a document of a stream.
type yamlDocument struct {
	root       *yamlNode
	directives []string // as written
	start, end int      // where the document's first directive or content is, and where it ends
	explicit   bool     // it begins with "---", behind the directives
	marker     int      // where that is, or the content
	aliases    bool     // it has any
	major      int      // version of YAML that a directive names, or 0
	minor      int
	handles    map[string]string
}

// A yamlComment is a comment of a stream, from its "#" to the end of the line.
type yamlComment struct {
	start, end int32
	own        bool // nothing else is on its line
}

// A yamlStream is a text that was read.
type yamlStream struct {
	text     string // with line feeds for all line breaks, and without a byte-order mark
	docs     []*yamlDocument
	comments []yamlComment
	depth    int
	closers  []int // offsets of closing brackets that stand as far left as the collection around
	dashes   []int // offsets of values that are a dash
}

// raw returns the content of a node as it is written.
func (s *yamlStream) raw(n *yamlNode) string { return s.text[n.start:n.end] }

// yamlArena gives out nodes in pieces of many, which is faster than one by one, and does not copy.
type yamlArena struct{ free []yamlNode }

func (a *yamlArena) node(kind yamlKind, style yamlStyle, start, end int) *yamlNode {
	if len(a.free) == 0 {
		a.free = make([]yamlNode, min(4096, 64+end))
	}
	n := &a.free[0]
	a.free = a.free[1:]
	n.kind, n.style, n.start, n.end = kind, style, int32(start), int32(end)
	return n
}

// A yamlError is where and why a text is no YAML.
type yamlError struct {
	offset  int
	message string
}

func (e *yamlError) Error() string { return e.message }

// position returns the line and the column of an offset, in characters, both from 1.
func position(text string, offset int) (line, column int) {
	before := text[:offset]
	begin := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[begin:]) + 1
}
