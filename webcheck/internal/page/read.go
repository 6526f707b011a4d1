package page

import (
	"bytes"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Read reads a page. Every input can be read.
func Read(body []byte, o Options) *Page {
	d := Decode(body, o.ContentType)
	return read(d, o)
}

func read(d Decoded, o Options) *Page {
	p := &Page{Charset: d.Charset, CharsetBy: d.By, Undecoded: d.Undecoded, DeclaredCharset: d.Declared,
		UnknownCharset: d.Unknown, CharsetConflict: d.Conflict, Base: o.URL.String()}
	r := &reader{Page: p, host: hostOf(p.Base)}
	text, whole := boundTree(d.Text)
	p.Cut = !whole
	root, err := html.ParseWithOptions(bytes.NewReader(text), html.ParseOptionEnableScripting(true))
	if err != nil { // the elements are nested too deep
		p.HeadOnly = true
		r.readTokens(text)
	} else {
		r.readTree(root)
	}
	r.finish()
	return p
}

func (r *reader) readTree(root *html.Node) {
	doc := goquery.NewDocumentFromNode(root)
	if base, ok := doc.FindMatcher(baseSelector).Attr("href"); ok {
		r.setBase(base)
	}
	for n := root.FirstChild; n != nil; n = n.NextSibling {
		r.walk(n)
	}
}

// baseSelector finds the first base element with a href, which counts for all references, also for those
// in front of it (html.spec.whatwg.org section 4.2.3).
var baseSelector = goquery.Single("base[href]")

// walk goes through a tree. It is at most 512 deep.
func (r *reader) walk(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		r.text(n.Data)
		return
	case html.ElementNode:
	default:
		return
	}
	tag := element{name: n.Data, atom: n.DataAtom, foreign: n.Namespace != "", attrs: n.Attr}
	if n.DataAtom == atom.Form && n.FirstChild == nil && n.Parent != nil && inTable(n.Parent.DataAtom) {
		tag.detached = true
	}
	r.start(&tag)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		r.walk(c)
	}
	r.end(&tag)
}

func inTable(a atom.Atom) bool {
	return a == atom.Table || a == atom.Tbody || a == atom.Thead || a == atom.Tfoot || a == atom.Tr
}

// readTokens does the same without a tree, for pages of which none can be made.
func (r *reader) readTokens(text []byte) {
	if base := firstBase(text); base != "" {
		r.setBase(base)
	}
	z := html.NewTokenizer(bytes.NewReader(text))
	var open []element // those that end
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			r.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			tag := element{name: t.Data, atom: t.DataAtom, attrs: t.Attr}
			tag.foreign = r.svg > 0
			r.start(&tag)
			if void[t.DataAtom] || tag.foreign && t.Type == html.SelfClosingTagToken {
				r.end(&tag)
			} else if tag.endMatters() && len(open) < maxOpen {
				tag.attrs = nil
				open = append(open, tag)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			for i := len(open) - 1; i >= 0; i-- {
				if open[i].name == string(name) {
					r.end(&open[i])
					open = append(open[:i], open[i+1:]...)
					break
				}
			}
		}
	}
}

// maxOpen bounds the elements that wait for their ends while tokens are read.
const maxOpen = 100

func firstBase(text []byte) string {
	z := html.NewTokenizer(bytes.NewReader(text))
	for name := range StartTags(z) {
		switch name {
		case "body":
			return ""
		case "base":
			if href := Attributes(z)["href"]; href != "" {
				return href
			}
		}
	}
	return ""
}

// void are the elements without content (html.spec.whatwg.org section 13.1.2).
var void = map[atom.Atom]bool{
	atom.Area: true, atom.Base: true, atom.Br: true, atom.Col: true, atom.Embed: true, atom.Hr: true, atom.Img: true,
	atom.Input: true, atom.Link: true, atom.Meta: true, atom.Source: true, atom.Track: true, atom.Wbr: true,
}

func (r *reader) setBase(href string) {
	ref := strings.Trim(href, whitespace)
	url, ok := Resolve(r.Base, ref)
	r.BaseTag = Ref{Raw: clip(ref, MaxValue), URL: url}
	if scheme, _ := cutScheme(url); ok && scheme != "data" && scheme != "javascript" {
		r.Base = url
	}
}

// hostOf returns the host of an absolute URL in its normal form; empty if it has none.
func hostOf(url string) string {
	scheme, rest := cutScheme(url)
	rest, ok := strings.CutPrefix(rest, "//")
	if !ok || defaultPorts[scheme] == "" {
		return ""
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, ']') {
		rest = rest[:i]
	}
	return rest
}

func (r *reader) word(s string) {
	n := r.words.Len()
	if r.pending && n > 0 && r.words.String()[n-1] != '\n' {
		r.TextBytes++
		if n < MaxText {
			r.words.WriteByte(' ')
		}
	}
	r.pending = false
	r.TextBytes += len(s)
	if room := MaxText - r.words.Len(); len(s) > room {
		r.TextCut = true
		s = clip(s, max(room, 0))
	}
	if !r.TextCut || s != "" {
		r.words.WriteString(s)
	}
}

// whitespace is that of HTML (infra.spec.whatwg.org, "ASCII whitespace").
const whitespace = " \t\n\f\r"

// Collapse strips and collapses ASCII white space as HTML does (infra.spec.whatwg.org): a no-break space is a
// character like any other, but for a text of nothing else, in which there is nothing to read.
func Collapse(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(whitespace, r) }), " ")
}

func hasPrefix(s, prefix string) bool { return strings.HasPrefix(s, prefix) && len(s) > len(prefix) }

// tokens splits a set of space-separated tokens, in lower case, at most a few.
func tokens(s string) []string {
	const most = 20
	list := strings.FieldsFunc(clip(lower(s), MaxValue), func(r rune) bool { return strings.ContainsRune(whitespace, r) })
	return list[:min(len(list), most)]
}

// essence is a media type without its parameters, in lower case (mimesniff.spec.whatwg.org).
func essence(mediaType string) string {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	return lower(strings.Trim(mediaType, whitespace))
}

func (r *reader) start(e *element) {
	r.open(e, 1)
	if isInvisible(e) {
		r.hidden++
	} else if r.hidden == 0 && !isInline(e) {
		r.breakLine()
	}
	if r.template > 0 && e.atom != atom.Meta && e.atom != atom.Template {
		return // inert: neither shown nor run nor loaded
	}
	r.attributes(e)
	if e.foreign {
		r.startForeign(e)
		return
	}
	switch e.atom {
	case atom.Html:
		if lang, ok := e.attr("lang"); ok && !r.HasLang {
			r.Lang, r.HasLang = clip(lang, 100), true
		}
	case atom.Title:
		r.startTitle(e)
	case atom.Meta:
		r.meta(e)
	case atom.Link:
		r.link(e)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		r.startHeading(e)
	case atom.A, atom.Area:
		r.startAnchor(e)
	case atom.Img:
		r.image(e)
	case atom.Script:
		r.startScript(e)
	case atom.Style:
		r.startStyle(e)
	case atom.Noscript:
		r.startNoscript(e)
	case atom.Form:
		r.startForm(e)
	case atom.Input, atom.Button, atom.Select, atom.Textarea:
		r.input(e)
	default:
		r.loadElement(e)
	}
}
