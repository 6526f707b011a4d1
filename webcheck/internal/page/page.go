package page

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
)

// The limits of what is kept of a page. Counts include what is beyond them.
const (
	maxTitle      = 2000    // bytes of one title, description or other value
	MaxValue      = 8 << 10 // bytes of one attribute or reference
	maxTitles     = 10      // titles, bases, refreshes
	maxMeta       = 500     // meta elements
	maxLinkTags   = 1000    // link elements
	maxAnchors    = 2000    // links
	maxHeadings   = 500     // headings
	maxImages     = 500     // images
	maxResources  = 2000    // things that the page loads
	maxForms      = 100     // forms
	maxFrames     = 100     // frames
	maxStructured = 100     // items of structured data
	MaxText       = 1 << 20 // bytes of visible text
	maxKept       = 8 << 20 // bytes of all that is kept beside the text
)

// Options say what is known of a page beside its bytes. The zero value knows nothing.
type Options struct {
	URL         diag.URL // of the document: references are resolved against it; zero: only absolute ones are
	ContentType string   // the Content-Type field, for its charset
}

// A Page is the content of an HTML document.
type Page struct {
	Charset   string        // name of the encoding, as in "utf-8" or "windows-1252"
	CharsetBy CharsetSource // how it was determined
	Undecoded bool          // some bytes are none of the encoding

	DeclaredCharset string // by a meta element, as written; also if something else outweighed it
	UnknownCharset  string // label in the header or the page that no encoding has
	CharsetConflict bool   // the declaration names another encoding than the one that counts

	HeadOnly bool // there is no tree: elements are nested too deep, and what is here comes from tokens
	Cut      bool // the end of the page was left out, because a tree of the whole would have been too large

	Lang    string // of the html element
	HasLang bool

	Base     string     // that references are resolved against: the document's, or that of a base element
	BaseTag  Ref        // the first base element with a href; zero without one
	Titles   []string   // of title elements outside SVG, white space collapsed
	Metas    []Meta     // in document order
	LinkTags []LinkTag  // link elements with a rel, in document order
	Headings []Heading  // h1 to h6
	Levels   [6]int     // how many headings there are of each level
	Anchors  []Anchor   // a and area elements with a href
	Links    LinkCounts // of all of them
	Images   []Image
	Counts   Counts

	Resources  []Resource // all that the page loads, scripts and stylesheets among it
	Forms      []Form
	Frames     []Ref // iframe and frame elements with a src
	Structured []Structured

	Text      string // visible text, white space collapsed, a line for each block
	TextBytes int    // of all visible text, also of what is beyond [MaxText]
	TextCut   bool   // Text ends before the end of the page's
	Noscript  Noscript

	kept int
}

// A Ref is a reference as it was written, and where it leads.
type Ref struct {
	Raw string // as in the page, without white space around it
	URL string // absolute; empty if it leads nowhere
}

// A Meta is a meta element. Name, Property and HTTPEquiv are in lower case.
type Meta struct {
	Name, Property, HTTPEquiv string
	Content                   string // white space around it removed
	HasContent                bool
	InHead                    bool // in the head, where some of them must be
	Inert                     bool // in a template, where browsers ignore it
}

// A LinkTag is a link element.
type LinkTag struct {
	Ref
	Rel            []string // in lower case
	Hreflang, Type string
	HasHref        bool
	InHead         bool // in the head: elsewhere search engines ignore a canonical
}

// A Heading is one of h1 to h6.
type Heading struct {
	Level int
	Text  string
}

// An Anchor is an a or area element with a href.
type Anchor struct {
	Ref
	Text   string // of the link, or the alternative text of its image
	Rel    []string
	Kind   LinkKind
	Target string
}

// LinkKind says where a link leads.
type LinkKind string

const (
	internal LinkKind = "internal" // to the same host
	external LinkKind = "external" // to another host, over http or https
	other    LinkKind = "other"    // mailto, tel, javascript, or nowhere
)

// LinkCounts count links.
type LinkCounts struct {
	All, Internal, External, Other int
	NoFollow, UGC, Sponsored       int // by their rel; one link may be all three
}

// Counts count elements.
type Counts struct {
	Images, MissingAlt       int // alt="" marks decoration and is not missing
	Scripts, ExternalScripts int
	Stylesheets              int // linked
	Forms, Passwords         int // passwords are input elements of that type
	Frames                   int // iframe elements
	JSONLDInvalid            int
	Framesets                int
	SVGs                     int
}

// An Image is an img element.
type Image struct {
	Ref
	HasAlt bool
}

// A Resource is something that the page loads by itself.
type Resource struct {
	Ref
	Element string // that loads it, such as "img"
	// Blockable says that browsers block it when it is http on a page of https; others they upgrade or
	// load with a warning (W3C Mixed Content section 4).
	Blockable bool
}

// A Form is a form element.
type Form struct {
	Action      Ref   // where it sends to: the page itself without an action
	Actions     []Ref // of buttons that send it elsewhere
	HasPassword bool
}

// Structured is one block or item of structured data.
type Structured struct {
	Format  string   // json-ld, microdata or rdfa
	Types   []string // such as Product; URLs of schema.org are shortened to their names
	Valid   bool
	Error   string // what is wrong with it, as a clause
	Line    int    // of the error within the block, from 1; 0 if unknown
	Column  int    // in characters, from 1
	Snippet string // the text there
}

// A Noscript is the content of noscript elements, for clients that do not run scripts.
type Noscript struct {
	Text    string   // its beginning
	Refresh *Refresh // the first; nil without one
}

// Title returns the first title that is not empty, and whether there is one.
func (p *Page) Title() (string, bool) {
	for _, t := range p.Titles {
		if t != "" {
			return t, true
		}
	}
	return "", false
}

// Meta returns the content of the first meta element with this name in lower case that has one.
func (p *Page) Meta(name string) (string, bool) {
	for i := range p.Metas {
		if m := &p.Metas[i]; m.Name == name && m.HasContent {
			return m.Content, true
		}
	}
	return "", false
}

// HTTPEquiv returns the contents of all meta elements with this http-equiv in lower case.
func (p *Page) HTTPEquiv(name string) []string {
	var list []string
	for i := range p.Metas {
		if m := &p.Metas[i]; m.HTTPEquiv == name && m.HasContent {
			list = append(list, m.Content)
		}
	}
	return list
}

// Properties returns the contents of the meta elements whose property or name begins with a prefix such
// as "og:", by that property, in document order.
func (p *Page) Properties(prefix string) map[string][]string {
	all := map[string][]string{}
	for i := range p.Metas {
		m := &p.Metas[i]
		key := m.Property
		if !hasPrefix(key, prefix) {
			key = m.Name
		}
		if hasPrefix(key, prefix) && m.HasContent {
			all[key] = append(all[key], m.Content)
		}
	}
	return all
}

// OpenGraph returns what previews are made of (ogp.me).
func (p *Page) OpenGraph() map[string][]string { return p.Properties("og:") }

// Twitter returns what cards of X are made of.
func (p *Page) Twitter() map[string][]string { return p.Properties("twitter:") }

// linksWhere returns the link elements with a href of which something holds.
func (p *Page) linksWhere(holds func(*LinkTag) bool) (list []LinkTag) {
	for i := range p.LinkTags {
		if l := &p.LinkTags[i]; l.HasHref && holds(l) {
			list = append(list, *l)
		}
	}
	return list
}

func (l *LinkTag) hasRel(rel string) bool { return slices.Contains(l.Rel, rel) }

// Rel returns the link elements with this relation in lower case.
func (p *Page) Rel(rel string) []LinkTag {
	return p.linksWhere(func(l *LinkTag) bool { return l.hasRel(rel) })
}

// Canonicals returns all canonical links (RFC 6596).
func (p *Page) Canonicals() []Ref { return refsOf(p.Rel("canonical")) }

// Hreflangs returns the alternates of other languages.
func (p *Page) Hreflangs() []LinkTag {
	return p.linksWhere(func(l *LinkTag) bool { return l.hasRel("alternate") && l.Hreflang != "" })
}

// feedTypes are the media types of feeds (RFC 4287; JSON Feed 1.1).
var feedTypes = []string{"application/rss+xml", "application/atom+xml", "application/feed+json"}

// Feeds returns the feeds that the page names.
func (p *Page) Feeds() []Ref {
	return refsOf(p.linksWhere(func(l *LinkTag) bool {
		return l.hasRel("alternate") &&
			slices.Contains(feedTypes, essence(l.Type))
	}))
}

// Icons returns the icons that the page names: of tabs, home screens and pinned tabs.
func (p *Page) Icons() []Ref {
	return refsOf(p.linksWhere(func(l *LinkTag) bool {
		return l.hasRel("icon") || l.hasRel("apple-touch-icon") ||
			l.hasRel("mask-icon")
	}))
}

func refsOf(tags []LinkTag) (list []Ref) {
	for _, l := range tags {
		list = append(list, l.Ref)
	}
	return list
}

// Memory returns an upper bound of what reading a page of this many bytes takes, beside the page itself: the text
// in UTF-8, its tree, and what is kept.
func Memory(bytes int64) int64 { return 3*bytes + maxTree + 2*maxKept }
