package phishing

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/webcheck/internal/page"
	"golang.org/x/net/html"
)

// The limits of what is kept of a page.
const (
	maxShown    = 100      // texts that present it
	maxShownLen = 300      // bytes of one
	maxControls = 500      // fields
	maxLoaded   = 300      // addresses of what it loads
	maxEncoded  = 64 << 10 // bytes of a document within a script
	maxNear     = 60       // bytes of a text in front of a field that still belongs to it
)

// A spot is a position in which a page names its owner.
type spot string

// The spots.
const (
	inTitle     spot = "title"
	inHeading   spot = "heading"
	inLogo      spot = "logo"
	inSiteName  spot = "site name"
	inCopyright spot = "copyright line"
	inText      spot = "text"
)

// A shownText is a text that presents a page.
type shownText struct {
	spot spot
	text string
	top  bool // before the first field
	file bool // it is the name of a file
}

// A survey holds what a page shows and asks for. It is read from its tokens, so that no nesting hides anything.
type survey struct {
	shown  []shownText
	asks   map[secret]bool
	loaded []string // addresses of images, scripts and style sheets, as written
	typed  int      // fields for anything but a search
	texts  int      // fields for a line of text, by which words of a phrase are asked for one by one
	area   bool     // whether there is a field for several lines

	sentences int
	depth     int
	skip      string // name of the element that is not visible, and how many of that name are open
	skipped   int
	in        []*element
	last      string // the text before the current position
	label     string
	byID      map[string]string // what labels say, by the control that they are for
	waiting   []waiting
	svg       int
}

// An element is one that is open and matters.
type element struct {
	name, href string
	text       strings.Builder
	attributes map[string]string
}

// A waiting control may have a label that comes later.
type waiting struct{ kind, auto, hint, id string }

// surveyPage surveys a document in UTF-8.
func surveyPage(text []byte) *survey {
	s := &survey{asks: map[secret]bool{}, byID: map[string]string{}}
	s.read(text)
	for _, c := range s.waiting {
		for _, kind := range secretsOf(c.kind, c.auto, c.hint+" "+s.byID[c.id]) {
			s.asks[kind] = true
		}
	}
	return s
}

func (s *survey) read(text []byte) {
	z := html.NewTokenizer(bytes.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			for len(s.in) > 0 {
				s.close(s.in[len(s.in)-1].name)
			}
			return
		case html.TextToken:
			s.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			s.open(string(name), page.Attributes(z))
		case html.EndTagToken:
			name, _ := z.TagName()
			s.close(string(name))
		}
	}
}

// hiddenElements are the elements whose text is not shown.
var hiddenElements = kit.Words("style noscript template textarea option iframe")

// textElements are the elements whose text says something together.
var textElements = kit.Words("title h1 h2 h3 label a button script")

func (s *survey) open(name string, a map[string]string) {
	if s.skip != "" {
		if name == s.skip {
			s.skipped++
		}
		if typed()[name] { // a later step of a form
			s.control(name, a)
		}
		return
	}
	if hiddenElement(a) && !void()[name] {
		s.skip, s.skipped = name, 1
		return
	}
	switch name {
	case "svg":
		s.svg++
		s.logo(a["aria-label"], "")
	case "img":
		s.image(a)
	case "meta":
		if p := strings.ToLower(a["property"] + a["name"]); p == "og:site_name" || p == "application-name" {
			s.show(inSiteName, a["content"])
		}
	case "link":
		s.load(a["href"])
	case "script":
		s.load(a["src"])
	case "input", "textarea", "select":
		s.control(name, a)
	default:
		what := strings.ToLower(a["class"] + " " + a["id"])
		if strings.Contains(what, "logo") || strings.Contains(what, "brand") {
			s.logo(a["aria-label"]+" "+a["title"], "")
		}
	}
	heading := a["role"] == "heading"
	if textElements()[name] || hiddenElements()[name] || heading {
		if heading {
			a["heading"] = name
		}
		s.in = append(s.in, &element{name: name, href: a["href"], attributes: a})
		if len(s.in) > maxOpen {
			s.in = s.in[1:]
		}
	}
}

// The texts that may name a brand beside what presents the page: sentences, from so many spaces on, and the first few.
const (
	minSentence  = 3
	maxSentences = 20
)

// maxOpen bounds the elements that are open at once.
const maxOpen = 50

// searches are names of search fields.
var searches = kit.Words("q s query search suche recherche keyword keywords")

// void are the elements without content (html.spec.whatwg.org section 13.1.2).
var void = kit.Words("area base br col embed hr img input link meta source track wbr")

// typed are the elements into which something is typed.
var typed = kit.Words("input textarea select")

// notTyped are the types of inputs that do not take typed text.
var notTyped = kit.Words("hidden submit button checkbox radio search file range color image reset")

func hiddenElement(a map[string]string) bool {
	style := strings.ToLower(strings.ReplaceAll(a["style"], " ", ""))
	_, hidden := a["hidden"]
	return hidden || strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

func (s *survey) within(names ...string) *element {
	for i := len(s.in) - 1; i >= 0; i-- {
		if slices.Contains(names, s.in[i].name) {
			return s.in[i]
		}
	}
	return nil
}

func (s *survey) text(t string) {
	if s.skip != "" {
		return
	}
	for i := range s.in {
		if e := s.in[i]; e.text.Len() < maxEncoded {
			e.text.WriteString(t[:min(len(t), maxEncoded)])
		}
	}
	if n := len(s.in); n > 0 &&
		(hiddenElements()[s.in[n-1].name] || s.in[n-1].name == "script" || s.in[n-1].name == "title") {
		return
	}
	if t = strings.TrimSpace(t); t == "" {
		return
	}
	s.last = t
	if at := strings.Index(t, "©"); at >= 0 || strings.HasPrefix(strings.ToLower(t), "copyright") {
		s.show(inCopyright, copyright(t[max(at, 0):]))
	} else if strings.Count(t, " ") >= minSentence && s.sentences < maxSentences && s.within("a", "button") == nil {
		s.sentences++
		s.show(inText, page.Collapse(t))
	}
}

// nameEnds are the words after a name in such a line.
var nameEnds = []string{"All rights", "Alle Rechte", "Tous droits", "Todos los", "Todos os", "Tutti i", ". ", ", Inc",
	" Inc", " GmbH", " Ltd", " LLC", " AG", ", L.", " S.A", " oder ", " or ", " и ", "|"}

// copyright is the name in a line such as "© 1999-2026 Example, Inc. All rights reserved.".
func copyright(line string) string {
	line = strings.TrimLeft(strings.TrimPrefix(line, "©"), " ")
	if len(line) >= 9 && strings.EqualFold(line[:9], "copyright") {
		line = line[9:]
	}
	line = strings.TrimLeft(line, " ©(c)0123456789-–—,.")
	for _, end := range nameEnds {
		line, _, _ = strings.Cut(line, end)
	}
	return line
}

func (s *survey) close(name string) {
	if s.skip != "" {
		if name == s.skip {
			if s.skipped--; s.skipped <= 0 {
				s.skip = ""
			}
		}
		return
	}
	if name == "svg" {
		s.svg = max(0, s.svg-1)
	}
	for i := len(s.in) - 1; i >= 0; i-- {
		if s.in[i].name != name {
			continue
		}
		text := page.Collapse(s.in[i].text.String())
		e := s.in[i].attributes
		s.in = slices.Delete(s.in, i, i+1)
		switch {
		case name == "script":
			s.decode(text)
		case name == "title" && s.svg > 0:
			s.logo(text, "")
		case name == "title":
			s.show(inTitle, text)
		case name == "h1" || name == "h2" || name == "h3" || e["heading"] == name && name != "":
			s.show(inHeading, text)
		case name == "label":
			s.label = text
			if e["for"] != "" {
				s.byID[e["for"]] = text
			}
		}
		return
	}
}

func (s *survey) show(where spot, text string) {
	if text = page.Collapse(text[:min(len(text), maxShownLen)]); text != "" && len(s.shown) < maxShown {
		s.shown = append(s.shown, shownText{where, text, len(s.waiting) == 0, false})
	}
}

func (s *survey) load(address string) {
	if address != "" && len(s.loaded) < maxLoaded {
		s.loaded = append(s.loaded, address)
	}
}

func (s *survey) image(a map[string]string) {
	s.load(a["src"])
	s.logo(a["alt"]+" "+a["title"], a["src"])
}

// logo records what may present the page as that of a brand: a picture outside of buttons, and of links to
// elsewhere, with the alternative text, or else the name of its file.
func (s *survey) logo(text, file string) {
	if s.within("button", "label") != nil {
		return
	}
	if link := s.within("a"); link != nil && !strings.HasPrefix(link.href, "#") && link.href != "" && link.href != "/" {
		return
	}
	if text = strings.TrimSpace(text); text == "" && file != "" && !strings.HasPrefix(file, "data:") {
		u, err := url.Parse(file)
		if err != nil {
			return
		}
		base := path.Base(u.Path)
		text = strings.NewReplacer("_", " ", "-", " ").Replace(strings.TrimSuffix(base, path.Ext(base)))
		if n := len(s.shown); n < maxShown && text != "" {
			s.shown = append(s.shown, shownText{inLogo, text, len(s.waiting) == 0, true})
		}
		return
	}
	s.show(inLogo, text)
}

// control takes a field.
func (s *survey) control(name string, a map[string]string) {
	kind := strings.ToLower(a["type"])
	switch {
	case name == "input" && notTyped()[kind], hiddenElement(a), len(s.waiting) >= maxControls:
		return
	case searches()[strings.ToLower(a["name"])]:
		return
	case name == "textarea":
		s.area = true
	case kind == "" || kind == "text" || kind == "password":
		s.texts++
	}
	s.typed++
	hint := []string{a["name"], a["id"], a["placeholder"], a["aria-label"], a["title"], s.label}
	if open := s.within("label"); open != nil {
		hint = append(hint, page.Collapse(open.text.String()))
	} else if s.label == "" && len(s.last) <= maxNear {
		hint = append(hint, s.last)
	}
	s.waiting = append(s.waiting, waiting{kind, a["autocomplete"], strings.Join(hint, " | "), a["id"]})
	s.label, s.last = "", ""
}

var encodedDocument = kit.Regexp(
	`(unescape|decodeURIComponent|decodeURI|atob)\s*\(\s*["'` + "`" + `]([A-Za-z0-9%+/=._~!*() -]{40,})`)

// maxDecoded bounds the documents that are read out of the scripts of a page.
const maxDecoded = 5

// decode reads the documents that a script has as an encoded text, which it writes into the page.
func (s *survey) decode(script string) {
	for _, m := range encodedDocument().FindAllStringSubmatch(script, maxDecoded) {
		if s.depth > 0 {
			return
		}
		var text string
		if m[1] == "atob" {
			decoded, err := base64.StdEncoding.DecodeString(m[2])
			if err != nil {
				continue
			}
			text = string(decoded)
		} else if decoded, err := url.PathUnescape(m[2]); err == nil {
			text = decoded
		}
		if strings.Contains(text, "<") {
			s.depth++
			s.read([]byte(text))
			s.depth--
		}
	}
}
