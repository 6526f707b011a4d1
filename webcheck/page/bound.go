package page

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The bounds of a tree.
const (
	// maxTree bounds the tree of a page, in bytes: about a quarter of a million nodes. Pages have tens of thousands.
	maxTree = 32 << 20
	// nodeSize and attrSize are what a node and an attribute take, beside their text.
	nodeSize = 112
	attrSize = 48 + 16
	// maxStack is how deep the parser nests elements, and so how many formatting elements it opens again.
	maxStack = 512
	// maxDistinct bounds the formatting tags that are told apart.
	maxDistinct = 1000
)

// safePrefix returns how much of a page the parser may make a tree of.
//
// The tree of a page is not bounded by its length: formatting elements that are not closed, such as b, are
// opened again in each paragraph (html.spec.whatwg.org section 13.2.4.3), so that 400 of them and a million
// times "<p>x" make 400 million nodes. The parser has no bound for that. Most pages are
// cleared by counting what they can come to at worst; the tokens of the others are gone through.
func safePrefix(text []byte) int {
	most, largest := reopenable(text)
	if worst(text, most) <= maxTree {
		return len(text)
	}
	m := model{most: most, largest: largest}
	return m.run(text)
}

// worst is the size of the tree of a text at worst, when each tag opens this much again.
func worst(text []byte, reopened int) int {
	tags, attrs := bytes.Count(text, []byte("<")), 0
	for _, c := range text {
		attrs += int(beforeAttribute[c])
	}
	return (2*tags+1)*(nodeSize+reopened) + attrs*attrSize + len(text)
}

// beforeAttribute is 1 for what may stand in front of an attribute.
var beforeAttribute = func() (table [256]byte) {
	for c := range table {
		if c <= ' ' || c == '/' || c == '"' || c == '\'' {
			table[c] = 1
		}
	}
	return table
}()

// formatting are the elements that are opened again. Of a there is at most one.
var formatting = map[atom.Atom]bool{
	atom.B: true, atom.Big: true, atom.Code: true, atom.Em: true, atom.Font: true, atom.I: true, atom.S: true,
	atom.Small: true, atom.Strike: true, atom.Strong: true, atom.Tt: true, atom.U: true, atom.Nobr: true,
}

// reopenable is what one tag may open again at worst: the size of three of each formatting tag that stands
// in the text, since no more than three alike are kept, and of an a. It also returns the largest of them.
func reopenable(text []byte) (most, largest int) {
	seen, size := map[string]bool{}, 0
	link := 0
	for rest := text; ; {
		i := bytes.IndexByte(rest, '<')
		if i < 0 {
			break
		}
		rest = rest[i+1:]
		name := rest[:nameLength(rest)]
		a := atom.Lookup(bytes.ToLower(name))
		if a != atom.A && !formatting[a] {
			continue
		}
		attrs, end := attributes(rest[len(name):])
		tag, n := rest[:len(name)+end], nodeSize+attrSize*attrs
		if largest = max(largest, n); a == atom.A {
			link = max(link, n)
			continue
		}
		if len(seen) < maxDistinct && !seen[string(tag)] {
			seen[string(tag)] = true
			size += 3 * n
		}
	}
	if len(seen) == maxDistinct {
		size = maxStack * largest
	}
	return min(size, maxStack*largest) + link, largest
}

// attributes counts the attributes in what follows the name of a tag, and says where the tag ends
// (html.spec.whatwg.org sections 13.2.5.32 to 13.2.5.40).
func attributes(b []byte) (n, end int) {
	i := 0
	skip := func(stop string) {
		for i < len(b) && strings.IndexByte(stop, b[i]) < 0 {
			i++
		}
	}
	space := func() {
		for i < len(b) && (b[i] <= ' ' && strings.IndexByte(whitespace, b[i]) >= 0) {
			i++
		}
	}
	for {
		for space(); i < len(b) && b[i] == '/'; space() {
			i++
		}
		if i == len(b) || b[i] == '>' {
			return n, min(i+1, len(b))
		}
		n++
		i++ // an equals sign may begin a name
		skip(whitespace + "/=>")
		if space(); i == len(b) || b[i] != '=' {
			continue
		}
		i++
		if space(); i < len(b) && (b[i] == '"' || b[i] == '\'') {
			quote := bytes.IndexByte(b[i+1:], b[i])
			if quote < 0 {
				return n, len(b)
			}
			i += quote + 2
		} else {
			skip(whitespace + ">")
		}
	}
}

func nameLength(b []byte) int {
	for i, c := range b[:min(len(b), 10)] {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			return i
		}
	}
	return min(len(b), 10)
}

// A model follows what the parser does with formatting elements, never thinking better of a page than the parser. It
// counts what is open, and what was left open when its parent ended: the parser opens that again.
type model struct {
	most    int // what one tag may open again at worst
	largest int // formatting element
	size    int
	stack   []open
	inStack int // size of the formatting elements in the stack
	first   int // index of the first of them
	left    int // of those that were left open
	links   int // a and nobr elements that are open
	foreign int // svg and math elements that may be open
	lower   []byte
}

type open struct {
	name string
	size int // of a formatting element, else 0
}

// run returns how much of the text makes a tree within the bounds.
func (m *model) run(text []byte) int {
	z := html.NewTokenizer(bytes.NewReader(text))
	at := 0
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return len(text)
		}
		raw := z.Raw()
		doubt := false
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			m.start(raw, kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			m.end(raw)
		case html.TextToken:
			m.size += nodeSize + len(raw) + m.reopened()
			doubt = m.foreign > 0 && m.rawText() && bytes.IndexByte(withoutCDATA(raw), '<') >= 0
		case html.CommentToken:
			m.size += nodeSize + len(raw)
			doubt = m.foreign > 0 && bytes.HasPrefix(raw, []byte("<![CDATA["))
		}
		// What is text and what is a tag within SVG only the parser knows.
		if doubt && m.size+worst(text[at:], m.most) > maxTree || m.size > maxTree {
			return at
		}
		if doubt {
			return len(text)
		}
		at += len(raw)
	}
}

// reopened is what the parser may open again before the next node.
func (m *model) reopened() int { return min(m.left+m.inStack, m.most) }

func (m *model) start(raw []byte, selfClosing bool) {
	name := m.name(raw[1:])
	a, size := atom.Lookup(name), nodeSize
	if rest := raw[1+len(name):]; len(rest) > 1 {
		attrs, _ := attributes(rest)
		size += attrs*attrSize + len(raw)
	}
	m.size += size + m.reopened()
	if void[a] || m.foreign > 0 && selfClosing {
		return
	}
	e := open{name: known(a, name)}
	if formatting[a] || a == atom.A {
		if a == atom.A || a == atom.Nobr { // of these there is one: the one before is ended
			if m.links > 0 {
				m.endFormatting(e.name)
			}
			m.links = 1
		}
		if e.size = size; m.inStack == 0 {
			m.first = len(m.stack)
		}
		m.inStack += e.size
	}
	if e.name == "svg" || e.name == "math" {
		m.foreign++
	}
	m.stack = append(m.stack, e)
}

// name returns the name that a tag begins with, in lower case, until the next call.
func (m *model) name(tag []byte) []byte {
	m.lower = m.lower[:0]
	for _, c := range tag {
		if c == '>' || c == '/' || strings.IndexByte(whitespace, c) >= 0 {
			break
		}
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		m.lower = append(m.lower, c)
	}
	return m.lower
}

// known is the name of an element, without a copy for those of HTML.
func known(a atom.Atom, name []byte) string {
	if a != 0 {
		return a.String()
	}
	return string(name)
}

// maxRounds bounds the rounds of the adoption agency. In each it copies the element that ends, and up to 3
// within it (html.spec.whatwg.org section 13.2.6.4.7).
const maxRounds = 8

// adopt counts what the adoption agency makes at worst, when this many elements are open within the one that
// ends: a round for each block among them, and in it a copy for each formatting element.
func (m *model) adopt(within int) {
	blocks := within
	for _, e := range m.stack[max(0, len(m.stack)-within):] {
		if e.size > 0 {
			blocks--
		}
	}
	inner := min(within-blocks, 3)
	if m.left > 0 {
		inner = 3
	}
	if blocks > 0 || m.foreign > 0 {
		m.size += min(blocks+2, maxRounds) * (1 + inner) * m.largest
	}
}

// end closes an element. Formatting elements that are not on top, when they or their parent end, are left open.
func (m *model) end(raw []byte) {
	tag := m.name(raw[2:])
	n, a := len(m.stack), atom.Lookup(tag)
	if a == atom.P || a == atom.Br { // these may make one
		m.size += nodeSize
	}
	name := known(a, tag)
	if formatting[a] || a == atom.A {
		m.endFormatting(name)
		return
	}
	for i := n - 1; i >= 0 && i >= n-maxStack; i-- {
		if inner := m.stack[i].name; inner != name {
			if scopes[inner] && !(cell[inner] && tabular[name]) {
				return // the parser ignores it, or it does not matter that this one is kept
			}
			continue
		}
		if (name == "svg" || name == "math") && drawn(m.stack[i+1:]) {
			m.foreign--
		}
		for _, e := range m.stack[i:] {
			m.inStack -= e.size
			m.left += e.size
		}
		m.stack = m.stack[:i]
		return
	}
	m.leave()
}

// endFormatting closes a formatting element. If it is not far away, the parser forgets it for certain.
func (m *model) endFormatting(name string) {
	if m.left+m.inStack == 0 {
		return
	}
	within := m.above(name)
	if within > 0 || m.foreign > 0 {
		m.adopt(within)
	}
	if within >= maxRounds/2 || m.foreign > 0 {
		m.leave()
		return
	}
	at := len(m.stack) - 1 - within
	m.inStack -= m.stack[at].size
	m.stack = slices.Delete(m.stack, at, at+1)
	if name == "a" || name == "nobr" {
		m.links = 0
	}
}

// The elements beyond which an end tag has no effect (html.spec.whatwg.org section 13.2.4.2), select among
// them, the ones beyond which those of tables have, and those of tables.
var (
	scopes = map[string]bool{"applet": true, "caption": true, "marquee": true, "object": true, "select": true,
		"table": true, "td": true, "template": true, "th": true}
	cell    = map[string]bool{"caption": true, "td": true, "th": true}
	tabular = map[string]bool{"table": true, "tbody": true, "td": true, "tfoot": true, "th": true, "thead": true,
		"tr": true}
)

// above returns how many elements are open within the last one of a name, and many if there is none in scope.
func (m *model) above(name string) int {
	for i := range min(len(m.stack), maxRounds) {
		switch inner := m.stack[len(m.stack)-1-i].name; {
		case inner == name:
			return i
		case scopes[inner]:
			return maxRounds
		}
	}
	return maxRounds
}

// leave counts all that is open as left open.
func (m *model) leave() {
	if m.inStack == 0 {
		return
	}
	m.left, m.inStack = m.left+m.inStack, 0
	for i := m.first; i < len(m.stack); i++ {
		m.stack[i].size = 0
	}
}

// drawn reports whether these are elements of SVG or MathML in which there is no HTML.
func drawn(list []open) bool {
	for _, e := range list {
		switch e.name {
		case "g", "path", "circle", "rect", "line", "polygon", "polyline", "ellipse", "use", "defs", "symbol", "stop",
			"mask", "image", "mrow", "mfrac":
		default:
			return false
		}
	}
	return true
}

// rawText reports whether the element on top is one whose text is no HTML, outside of SVG.
func (m *model) rawText() bool {
	if len(m.stack) == 0 {
		return false
	}
	switch m.stack[len(m.stack)-1].name {
	case "title", "style", "script", "xmp", "iframe", "noembed", "noframes", "noscript", "textarea", "plaintext":
		return true
	}
	return false
}

func withoutCDATA(raw []byte) []byte {
	s := strings.TrimSpace(string(raw))
	if inner, ok := strings.CutPrefix(s, "<![CDATA["); ok && strings.HasSuffix(inner, "]]>") {
		return []byte(strings.TrimSuffix(inner, "]]>"))
	}
	return raw
}
