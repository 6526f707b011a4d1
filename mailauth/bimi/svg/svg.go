package svg

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/phrase"
)

// Validate judges an image that is not compressed (see [Decode]).
func Validate(image []byte) *Document {
	v := &validator{document: &Document{Size: len(image), Faults: []Fault{}, Counts: map[Kind]int{}}}
	v.examine(image)
	v.place()
	return v.document
}

type validator struct {
	document   *Document
	in         scanner
	stack      []openElement
	names      []binding // namespaces in scope
	rootClosed bool      // the root was closed

	ids           map[string]bool
	refs          []localRef
	hasShape      bool // a shape was seen that is drawn
	hasBackground bool // the first of them covers the image
}

type openElement struct {
	name, local    string
	model          *model // nil if it is not of the profile
	names          int    // how many namespaces were in scope before it
	children       int    // elements
	hasForeignBase bool   // it or an ancestor has an xml:base outside the document
	notDrawn       bool   // it or an ancestor is not drawn, such as defs or a gradient
	transformed    bool   // it or one around it has a transform
	fill           string // what fills shapes in it
	text           *strings.Builder
}

type localRef struct {
	id, element, attribute string
	offset                 int
}

// wholeDocument is the offset of faults that concern the document as a whole.
const wholeDocument = -1

func (v *validator) add(k Kind, offset int, element, attribute, format string, args ...any) {
	v.document.Counts[k]++
	if v.document.Counts[k] > maxPerKind {
		return
	}
	v.document.Faults = append(v.document.Faults, Fault{
		Kind: k, Element: clip(element), Attribute: clip(attribute), Message: fmt.Sprintf(format, args...), offset: offset,
	})
}

func (v *validator) examine(image []byte) {
	if len(image) > MaxBytes {
		v.add(Limit, wholeDocument, "", "", "The image has more than %d bytes and was not examined.", MaxBytes)
		return
	}
	if len(image) > MaxLogo {
		v.add(Size, wholeDocument, "", "", "The image has %d bytes uncompressed, more than %d.", len(image), MaxLogo)
	}
	if name := otherFormat(image); name != "" {
		v.add(NotSVG, wholeDocument, "", "", "The file is %s, not an SVG image.", name)
		return
	}
	text, encoding, problem := decodeText(image)
	v.in.text = text
	if problem != "" {
		v.add(Encoding, wholeDocument, "", "", "%s", problem)
		return
	}
	if encoding != "utf-8" {
		v.add(Charset, wholeDocument, "", "", "The encoding of the image is %s, not UTF-8.", strings.ToUpper(encoding))
	}
	if bad := firstBad(text); bad >= 0 {
		v.badCharacter(bad)
		return
	}
	v.in.unknown = func(name string, offset int) {
		v.add(Entity, offset, "", "", "The image uses the entity &%s;, which XML does not define.", clip(name))
	}
	if v.document.Complete = v.read(); v.document.Complete {
		v.finish()
		v.traces()
	}
}

func (v *validator) badCharacter(offset int) {
	c, n := utf8.DecodeRuneInString(v.in.text[offset:])
	if c == utf8.RuneError && n == 1 {
		v.add(Encoding, offset, "", "", "The byte %02X is not valid UTF-8.", v.in.text[offset])
		return
	}
	v.add(Encoding, offset, "", "", "The character U+%04X is not allowed in XML.", c)
}

func (v *validator) read() bool {
	for {
		t, err := v.in.next()
		if err != nil {
			k := Syntax
			if err.limit {
				k = Limit
			}
			v.add(k, err.offset, "", "", "%s", err.message)
			return false
		}
		ok := true
		switch t.kind {
		case startTag:
			ok = v.start(t)
		case endTag:
			ok = v.end(t)
		case charData:
			ok = v.characters(t)
		case instruction:
			v.add(Instruction, t.offset, "", "", "The image has the processing instruction <?%s?>.", clip(t.name))
		case doctype:
			ok = v.doctype(t)
		case endOfText:
			return v.endOfText(t)
		}
		if !ok {
			return false
		}
	}
}

func (v *validator) doctype(t token) bool {
	if len(v.stack) > 0 || v.rootClosed {
		v.add(Syntax, t.offset, "", "", "A document type declaration follows the first tag.")
		return false
	}
	v.add(Doctype, t.offset, "", "", "The image has a document type declaration (<!DOCTYPE).")
	if i := strings.Index(t.text, "<!ENTITY"); i >= 0 {
		v.add(Entity, t.offset+i, "", "", "The document type declaration declares entities.")
	}
	return true
}

func (v *validator) endOfText(t token) bool {
	switch {
	case len(v.stack) > 0:
		v.add(Syntax, t.offset, v.top().name, "", "The image ends before the element %s is closed.", clip(v.top().name))
	case !v.rootClosed:
		v.add(Syntax, wholeDocument, "", "", "The image is empty.")
	default:
		return true
	}
	return false
}

func (v *validator) top() *openElement { return &v.stack[len(v.stack)-1] }

func (v *validator) end(t token) bool {
	if len(v.stack) == 0 || v.top().name != t.name {
		v.add(Syntax, t.offset, t.name, "", "The end tag of %s closes no element that is open there.", clip(t.name))
		return false
	}
	v.pop()
	return true
}

func (v *validator) pop() {
	o := v.top()
	v.names = v.names[:o.names]
	v.stack = v.stack[:len(v.stack)-1]
	v.rootClosed = len(v.stack) == 0
	if o.text == nil {
		return
	}
	text := collapse(o.text.String())
	if o.local == "title" {
		v.document.Title = text
	} else {
		v.document.Desc = cmp.Or(v.document.Desc, text)
	}
}

const maxText = 1000

// characters judges text. Outside of the root there may be white space only.
func (v *validator) characters(t token) bool {
	if len(v.stack) == 0 {
		rest := strings.TrimLeft(v.in.text[t.offset:v.in.pos], white)
		if rest == "" {
			return true
		}
		t.offset = v.in.pos - len(rest)
		if v.rootClosed {
			v.add(Syntax, t.offset, "", "", "Text follows the end of the image.")
		} else {
			v.add(NotSVG, t.offset, "", "", "The file does not begin with a tag.")
		}
		return false
	}
	o := v.top()
	switch {
	case o.text != nil:
		o.text.WriteString(t.text[:min(len(t.text), max(0, maxText-o.text.Len()))])
	case o.model != nil && !o.model.text && strings.Trim(t.text, white) != "":
		v.add(Placement, t.offset, o.name, "", "The element %s contains text (%s), which it must not.", clip(o.name),
			clip(collapse(t.text)))
	}
	return true
}

// traces are the strings that careless software searches documents for, even in comments.
var traces = map[Kind]string{Script: "<script", Doctype: "<!doctype", Entity: "<!entity"}

// traces rejects a document that has such a text where it is harmless, such as in a comment: software that searches
// for it rejects it all the same.
func (v *validator) traces() {
	for k, trace := range traces {
		if v.document.Counts[k] > 0 {
			continue
		}
		if i := indexFold(v.in.text, trace); i >= 0 {
			v.add(k, i, "", "", "A comment or text contains %s, for which receivers search.", trace)
		}
	}
}

// indexFold is strings.Index ignoring the case of ASCII letters; the substring begins with <.
func indexFold(s, sought string) int {
	for i := 0; ; i++ {
		n := strings.IndexByte(s[i:], '<')
		if n < 0 || len(s)-i-n < len(sought) {
			return -1
		}
		if i += n; strings.EqualFold(s[i:i+len(sought)], sought) {
			return i
		}
	}
}

func (v *validator) place() {
	slices.SortStableFunc(v.document.Faults, func(a, b Fault) int { return cmp.Compare(a.offset, b.offset) })
	line, begin, at := 1, 0, 0
	column, counted := 1, 0
	for i := range v.document.Faults {
		f := &v.document.Faults[i]
		if f.offset < 0 {
			continue
		}
		for ; at < f.offset; at++ {
			if c := v.in.text[at]; c == '\n' || c == '\r' && !strings.HasPrefix(v.in.text[at+1:], "\n") {
				line, begin = line+1, at+1
			}
		}
		if counted < begin {
			column, counted = 1, begin
		}
		column += utf8.RuneCountInString(v.in.text[counted:at])
		counted = at
		f.Line, f.Column = line, column
	}
}

func clip(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, phrase.Clip(s, maxClip))
}
