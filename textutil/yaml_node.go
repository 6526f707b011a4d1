package textutil

import (
	"strings"

	"go.yaml.in/yaml/v4"
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

// A yamlNode is a node of a document with its place in the text: to print a text in another layout,
// one must know how each node is written.
type yamlNode struct {
	tree       *yaml.Node // nil if the text was read as JSON
	kind       yamlKind
	style      yamlStyle
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
	tagText   string // as written; empty if there is none
	anchorEnd int32
	tagEnd    int32
}

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

// raw returns the content of a node as it is written.
func (s *yamlStream) raw(n *yamlNode) string { return s.text[n.start:n.end] }

// yamlArena gives out nodes in pieces of many, which is faster than one by one, and does not copy.
type yamlArena struct{ free []yamlNode }

func (a *yamlArena) node(kind yamlKind, style yamlStyle, start, end int32) *yamlNode {
	if len(a.free) == 0 {
		a.free = make([]yamlNode, min(4096, 64+end))
	}
	n := &a.free[0]
	a.free = a.free[1:]
	n.kind, n.style, n.start, n.end = kind, style, start, end
	return n
}

// A yamlPlacer finds the tokens of each node. The tree and the tokens are in the order of the text.
type yamlPlacer struct {
	*yamlStream
	yamlArena
	next     int // token
	anchored map[*yaml.Node]*yamlNode
}

// place gives each document its tree with places. It reports false if the tokens do not fit the tree.
func (s *yamlStream) place() bool {
	p := yamlPlacer{yamlStream: s, anchored: map[*yaml.Node]*yamlNode{}}
	for _, doc := range s.docs {
		if doc.tree == nil {
			continue // JSON, which is placed
		}
		if !p.take(yamlDocumentToken) {
			return false
		}
		doc.root = p.node(doc.tree, p.behind())
	}
	return p.next == len(p.tokens)
}

// peek returns the kind of the next token.
func (p *yamlPlacer) peek() yamlTokenKind {
	if p.next == len(p.tokens) {
		return yamlDocumentToken
	}
	return p.tokens[p.next].kind
}

// take goes past the next token if it is of the kind.
func (p *yamlPlacer) take(kind yamlTokenKind) bool {
	if p.next == len(p.tokens) || p.tokens[p.next].kind != kind {
		return false
	}
	p.next++
	return true
}

// behind returns where the last token ends.
func (p *yamlPlacer) behind() int32 { return p.tokens[p.next-1].end }

// here returns where the next token begins.
func (p *yamlPlacer) here() int32 {
	if p.next == len(p.tokens) {
		return int32(len(p.text))
	}
	return p.tokens[p.next].start
}

// node places a node. If nothing is written for it, it is at the offset.
func (p *yamlPlacer) node(tree *yaml.Node, offset int32) *yamlNode {
	props := p.properties(tree)
	if props != nil {
		offset = max(props.anchorEnd, props.tagEnd)
	}
	var n *yamlNode
	switch {
	case tree.Kind == yaml.SequenceNode || tree.Kind == yaml.MappingNode:
		n = p.collection(tree)
	case emptyYAML(tree):
		n = p.yamlArena.node(yamlScalar, yamlPlain, offset, offset)
	default:
		n = p.leaf(tree)
	}
	n.tree, n.props = tree, props
	if tree.Anchor != "" {
		p.anchored[tree] = n
	}
	return n
}

// properties takes the anchor and the tag that a node has by its tree.
func (p *yamlPlacer) properties(tree *yaml.Node) *yamlProps {
	anchor, tag := tree.Anchor != "" && tree.Kind != yaml.AliasNode, yamlTag(tree) != ""
	if !anchor && !tag {
		return nil
	}
	props := &yamlProps{start: p.here()}
	for {
		kind, start := p.peek(), p.here()
		switch {
		case anchor && kind == yamlAnchorToken:
			p.next++
			anchor, props.anchor, props.anchorEnd = false, p.text[start+1:p.behind()], p.behind()
		case tag && kind == yamlTagToken:
			p.next++
			tag, props.tagText, props.tagEnd = false, p.text[start:p.behind()], p.behind()
		default:
			return props
		}
	}
}

// leaf places a scalar or an alias.
func (p *yamlPlacer) leaf(tree *yaml.Node) *yamlNode {
	kind, style := yamlScalar, yamlPlain
	if !p.peek().content() || p.peek() == yamlClose {
		return p.yamlArena.node(yamlScalar, yamlPlain, p.here(), p.here())
	}
	token := p.tokens[p.next]
	p.next++
	switch token.kind {
	case yamlAliasToken:
		kind = yamlAlias
	case yamlSingleToken:
		style = yamlSingle
	case yamlDoubleToken:
		style = yamlDouble
	case yamlLiteralToken:
		style = yamlLiteral
	case yamlFoldedToken:
		style = yamlFolded
	}
	n := p.yamlArena.node(kind, style, token.start, token.end)
	n.indent = token.indent
	if kind == yamlAlias {
		n.first = p.anchored[tree.Alias]
	}
	return n
}

// collection places a sequence or a mapping with all that is inside.
func (p *yamlPlacer) collection(tree *yaml.Node) *yamlNode {
	kind, style, start := yamlSequence, yamlBlock, p.here()
	if tree.Kind == yaml.MappingNode {
		kind = yamlMapping
	}
	if tree.Style&yaml.FlowStyle != 0 {
		if style = yamlPair; p.peek() == yamlOpen && !beginsWithKey(tree) {
			style = yamlFlow
			p.next++
		}
	}
	n := p.yamlArena.node(kind, style, start, start)
	if style == yamlBlock {
		n.indent = p.column(start)
	}
	last := &n.first
	add := func(child *yamlNode) {
		*last, last = child, &child.next
		n.end = max(n.end, child.end, child.begin())
	}
	for i := 0; i < len(tree.Content); i++ {
		if kind == yamlSequence {
			p.take(yamlDash)
			add(p.node(tree.Content[i], p.behind()))
		} else {
			p.pair(n, tree.Content[i], tree.Content[i+1], add)
			i++
		}
		if style == yamlFlow {
			p.take(yamlComma)
		}
	}
	if style == yamlFlow && p.take(yamlClose) {
		n.end = p.behind()
	}
	return n
}

// beginsWithKey reports whether a flow mapping has no braces: its first key begins where it does.
func beginsWithKey(tree *yaml.Node) bool {
	return tree.Kind == yaml.MappingNode && len(tree.Content) > 0 && tree.Content[0].Line == tree.Line &&
		tree.Content[0].Column == tree.Column
}

// pair places a key and its value in a mapping.
func (p *yamlPlacer) pair(mapping *yamlNode, key, value *yaml.Node, add func(*yamlNode)) {
	offset := p.here()
	asked := p.take(yamlQuestion)
	if asked {
		offset = p.behind()
	}
	placed := p.node(key, offset)
	add(placed)
	offset = max(placed.end, placed.begin())
	// A colon on a line of its own may belong to a mapping around.
	if !(asked && mapping.style == yamlBlock && p.column(p.here()) != mapping.indent) && p.take(yamlColon) {
		offset = p.behind()
	}
	add(p.node(value, offset))
}

// column returns how many bytes there are before an offset on its line, behind byte-order marks.
func (p *yamlPlacer) column(offset int32) int32 {
	begin := strings.LastIndexByte(p.text[:offset], '\n') + 1
	for strings.HasPrefix(p.text[begin:offset], byteOrderMark) {
		begin += len(byteOrderMark)
	}
	return offset - int32(begin)
}
