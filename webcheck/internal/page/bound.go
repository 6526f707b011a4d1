package page

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The bounds of a tree.
const (
	// maxTree bounds the tree of a page, in bytes: about a quarter of a million nodes. Pages have tens of thousands.
	maxTree = 32 << 20
	// nodeSize and attrSize are the bytes of a node and an attribute, without their text.
	nodeSize = 112
	attrSize = 48 + 16
	// maxStack is how deep the parser nests elements, and so how many formatting elements it opens again.
	maxStack = 512
	// maxDistinct bounds the formatting tags that are distinguished.
	maxDistinct = 1000
)

// boundTree returns a text of which the parser may make a tree, and whether it is that of the whole page.
//
// The tree of a page is not bounded by its length: formatting elements that are not closed, such as b, are
// opened again in each paragraph (html.spec.whatwg.org section 13.2.4.3), so that 400 of them and a million
// times "<p>x" make 400 million nodes. The parser has no bound for that. Most pages are
// cleared by counting what they can come to at worst. In the others an empty span element with the same attributes
// replaces each formatting element, which is equivalent for a reader of pages, and the nodes are counted.
func boundTree(text []byte) (safe []byte, whole bool) {
	most, at := reopenedSize(text), 0
	if worstSize(text, most) <= maxTree {
		return text, true
	}
	var w writer
	z := html.NewTokenizer(bytes.NewReader(text))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return w.out.Bytes(), true
		}
		raw := z.Raw()
		doubt := w.token(kind, raw)
		// What is text and what is a tag within SVG only the parser knows.
		if doubt && w.size+worstSize(text[at:], most) > maxTree || w.size > maxTree {
			return w.out.Bytes()[:w.before], false
		}
		if doubt {
			return append(w.out.Bytes()[:w.before], text[at:]...), true
		}
		at += len(raw)
	}
}

// A writer writes a page without formatting elements, and counts the nodes that the parser makes from it at worst. Of
// formatting elements it leaves a, of which one at a time is opened again.
type writer struct {
	out           bytes.Buffer
	before        int // what was written before the last token
	size          int // of the tree
	linkSize      int // size of the largest a element
	linkOpen      bool
	mayReopenLink bool     // an a element may be opened again permanently
	openInLink    []string // what is open within the last a element
	foreign       int      // svg and math elements that may be open
	mayHoldHTML   bool     // there may be HTML within them
	verbatim      bool     // the last token begins an element whose text is not HTML, outside of SVG
}

// token writes a token, and reports whether the parser may see tags in it.
func (w *writer) token(kind html.TokenType, raw []byte) (doubt bool) {
	w.before = w.out.Len()
	verbatim := w.verbatim
	w.verbatim = false
	if kind != html.EndTagToken {
		w.node(len(raw))
	}
	switch kind {
	case html.StartTagToken, html.SelfClosingTagToken:
		w.start(raw, kind == html.SelfClosingTagToken)
		return false
	case html.EndTagToken:
		w.end(raw)
		return false
	case html.TextToken:
		doubt = verbatim && bytes.IndexByte(bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("<![CDATA[")), '<') >= 0
	case html.CommentToken:
		doubt = bytes.HasPrefix(raw, []byte("<![CDATA["))
	}
	w.out.Write(raw)
	return doubt && w.foreign > 0
}

// node counts a node with a text of this length, and what is opened again before it.
func (w *writer) node(length int) {
	w.size += nodeSize + length
	if w.linkOpen || w.mayReopenLink {
		w.size += w.linkSize
	}
}

// nameOf returns the name that a tag begins with, in lower case.
func nameOf(tag []byte) (string, atom.Atom) {
	if end := bytes.IndexAny(tag, whitespace+"/>"); end >= 0 {
		tag = tag[:end]
	}
	name := lower(string(tag))
	return name, atom.Lookup([]byte(name))
}

func (w *writer) start(raw []byte, selfClosing bool) {
	name, a := nameOf(raw[1:])
	rest := raw[1+len(name):]
	attrs, _ := attributes(rest)
	w.size += attrs * attrSize
	if formatting[a] {
		fmt.Fprintf(&w.out, "<span%s</span>", rest)
		return
	}
	w.out.Write(raw)
	switch {
	case a == atom.A:
		w.endLink()
		w.linkSize = max(w.linkSize, nodeSize+attrs*attrSize+len(raw))
		w.linkOpen, w.openInLink = true, w.openInLink[:0]
	case void[a] || w.foreign > 0 && selfClosing:
		return
	case name == "svg" || name == "math":
		w.foreign++
	case integrating[name]:
		w.mayHoldHTML = w.mayHoldHTML || w.foreign > 0
	}
	if w.linkOpen && a != atom.A {
		w.openInLink = append(w.openInLink, name)
	}
	w.verbatim = verbatim[name]
}

func (w *writer) end(raw []byte) {
	name, a := nameOf(raw[2:])
	if formatting[a] {
		return
	}
	w.out.Write(raw)
	if a == atom.A {
		w.endLink()
		return
	}
	if a == atom.P || a == atom.Br { // these may make one
		w.node(0)
	}
	if (name == "svg" || name == "math") && w.foreign > 0 && !w.mayHoldHTML {
		w.foreign--
	}
	if n := len(w.openInLink); n > 0 && w.openInLink[n-1] == name {
		w.openInLink = w.openInLink[:n-1]
	}
}

// maxRounds bounds the rounds of the adoption agency. In each it copies the element that ends
// (html.spec.whatwg.org section 13.2.6.4.7).
const maxRounds = 8

// endLink ends the a element that is open. If there is much in it, or what hides it, the parser may keep it.
func (w *writer) endLink() {
	if !w.linkOpen && !w.mayReopenLink {
		return
	}
	if w.linkOpen {
		w.mayReopenLink = w.mayReopenLink || len(w.openInLink) >= maxRounds ||
			slices.ContainsFunc(w.openInLink, func(name string) bool { return scopes[name] })
		w.size += min(len(w.openInLink), maxRounds) * w.linkSize
		w.linkOpen = false
	} else {
		w.size += maxRounds * w.linkSize
	}
}

// Elements by name.
var (
	// scopes are those beyond which an end tag has no effect (html.spec.whatwg.org section 13.2.4.2), and drawings.
	scopes = map[string]bool{"applet": true, "caption": true, "marquee": true, "object": true, "select": true,
		"table": true, "td": true, "template": true, "th": true, "svg": true, "math": true}
	// integrating are those of SVG and MathML in which there may be HTML.
	integrating = map[string]bool{"foreignobject": true, "desc": true, "annotation-xml": true, "mi": true, "mo": true,
		"mn": true, "ms": true, "mtext": true}
	// verbatim are those of HTML whose content is raw text.
	verbatim = map[string]bool{"title": true, "style": true, "script": true, "xmp": true, "iframe": true, "noembed": true,
		"noframes": true, "noscript": true, "textarea": true, "plaintext": true}
)

// worstSize is the size of the tree of a text at worst, when each tag opens this much again.
func worstSize(text []byte, reopened int) int {
	tags, attrs := bytes.Count(text, []byte("<")), 0
	for _, c := range text {
		attrs += int(beforeAttribute[c])
	}
	return (2*tags+1)*(nodeSize+reopened) + attrs*attrSize + len(text)
}

// beforeAttribute is 1 for bytes that may precede an attribute.
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

// reopenedSize returns the most that one tag may open again: the size of three of each formatting tag
// in the text, since no more than three alike are kept, and of an a.
func reopenedSize(text []byte) int {
	seen, size := map[string]bool{}, 0
	link, largest := 0, 0
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
	return min(size, maxStack*largest) + link
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

// lower is ASCII lower case, by which HTML compares.
func lower(s string) string {
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		return c
	}, s)
}

// clip cuts a text to a number of bytes, between characters. What it returns holds no longer text in memory.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit])
}

// appendBounded appends an item of this size to a list if there is room, and reports whether there was.
func appendBounded[T any](r *reader, list *[]T, limit, size int, item T) bool {
	if len(*list) >= limit || r.kept+size > maxKept {
		return false
	}
	r.kept += size
	*list = append(*list, item)
	return true
}

func (f Ref) size() int { return len(f.Raw) + len(f.URL) + 64 }

func (r *reader) ref(raw string) Ref {
	raw = strings.Trim(raw, whitespace)
	if r.splitBase != r.Base {
		r.splitBase = r.Base
		r.base, r.hasBase = split(r.Base)
	}
	url, _ := r.base.resolve(raw, r.hasBase)
	return Ref{Raw: raw, URL: url}
}
