package headers

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/webcheck/internal/page"
	"golang.org/x/net/html"
)

// The limits of what is kept of a page.
const (
	maxLoads  = 1000
	maxInline = 200 // inline scripts and styles
)

// A document holds what a page loads and runs according to its HTML.
type document struct {
	charset  string
	loads    []load
	scripts  []inline
	styles   []inline
	handlers int      // attributes such as onclick, and javascript: in references
	css      int      // style attributes
	policies []string // of meta elements
	referrer string   // of a meta element
	forms    []*url.URL
	base     string // href of the base element
	cut      bool   // there was more than is kept
}

// A load is something that an element of the page loads.
type load struct {
	directive string // that governs it, such as "img-src"
	url       *url.URL
	raw       string
	nonce     string
	integrity []string
}

// An inline is a script or style in the page itself.
type inline struct{ nonce, text string }

// readDocument reads the HTML of a page. Templates and comments are ignored: they are neither loaded nor run.
func readDocument(body []byte, hop *fetch.Hop) *document {
	decoded := page.Decode(body, hop.Header.Get("Content-Type"))
	d := &document{charset: decoded.Charset, base: hop.URL}
	z := html.NewTokenizer(bytes.NewReader(decoded.Text))
	based, templates := false, 0
	for {
		switch z.Next() {
		case html.ErrorToken:
			return d
		case html.StartTagToken, html.SelfClosingTagToken:
			tag, _ := z.TagName()
			name := string(tag)
			a := page.Attributes(z)
			if name == "template" {
				templates++
			}
			if href, ok := a["href"]; ok && name == "base" && !based {
				based = true
				if u, ok := page.Resolve(d.base, href); ok {
					d.base = u
				}
			}
			if templates == 0 {
				d.element(z, name, a)
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == "template" && templates > 0 {
				templates--
			}
		}
	}
}

func (d *document) element(z *html.Tokenizer, name string, a map[string]string) {
	for key, value := range a {
		if strings.HasPrefix(key, "on") && len(key) > 2 ||
			strings.HasPrefix(strings.ToLower(strings.TrimSpace(value)), "javascript:") {
			d.handlers++
		}
	}
	if _, ok := a["style"]; ok {
		d.css++
	}
	switch name {
	case "script":
		d.script(z, a)
	case "style":
		d.inline(&d.styles, a["nonce"], rawText(z))
	case "meta":
		d.meta(a)
	case "form":
		if action, ok := a["action"]; ok {
			d.form(action)
		}
	case "link":
		d.link(a)
	default:
		for _, l := range loading[name] {
			d.load(l.directive, a[l.attribute], a)
		}
		if name == "img" || name == "source" {
			d.load("img-src", firstOf(a["srcset"]), a)
		}
	}
}

var loading = map[string][]struct{ attribute, directive string }{
	"img": {{"src", "img-src"}}, "image": {{"href", "img-src"}}, "input": {{"src", "img-src"}},
	"video": {{"src", "media-src"}, {"poster", "img-src"}}, "audio": {{"src", "media-src"}},
	"source": {{"src", "media-src"}}, "track": {{"src", "media-src"}}, "iframe": {{"src", "frame-src"}},
	"frame": {{"src", "frame-src"}}, "object": {{"data", "object-src"}}, "embed": {{"src", "object-src"}},
	"body": {{"background", "img-src"}},
}

func firstOf(srcset string) string {
	fields := strings.Fields(srcset)
	if len(fields) == 0 {
		return ""
	}
	return strings.TrimRight(fields[0], ",")
}

func (d *document) script(z *html.Tokenizer, a map[string]string) {
	kind := strings.ToLower(strings.TrimSpace(a["type"]))
	runs := kind == "" || kind == "module" || kind == "importmap" || kind == "speculationrules" ||
		strings.HasSuffix(kind, "javascript") ||
		strings.HasSuffix(kind, "ecmascript")
	src, external := a["src"]
	switch {
	case !runs: // a data block
	case external:
		d.load("script-src", src, a)
	default:
		d.inline(&d.scripts, a["nonce"], rawText(z))
	}
}

// newlines makes line ends one character, as browsers do before they hash.
var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// rawText returns the text of the script or style that was just opened.
func rawText(z *html.Tokenizer) string {
	if z.Next() != html.TextToken {
		return ""
	}
	return newlines.Replace(string(z.Raw()))
}

func (d *document) inline(list *[]inline, nonce, text string) {
	if text == "" {
		return
	}
	if len(*list) == maxInline {
		d.cut = true
		return
	}
	*list = append(*list, inline{nonce, text})
}

func (d *document) meta(a map[string]string) {
	content := a["content"]
	switch {
	case strings.EqualFold(strings.TrimSpace(a["http-equiv"]), "Content-Security-Policy") && content != "":
		if len(d.policies) < maxInline {
			d.policies = append(d.policies, content)
		}
	case strings.EqualFold(strings.TrimSpace(a["name"]), "referrer"):
		d.referrer = content
	}
}

func (d *document) form(action string) {
	if u := d.resolve(action); u != nil && len(d.forms) < maxInline {
		d.forms = append(d.forms, u)
	}
}

func (d *document) link(a map[string]string) {
	for rel := range strings.FieldsSeq(strings.ToLower(a["rel"])) {
		directive := map[string]string{
			"stylesheet": "style-src", "icon": "img-src", "apple-touch-icon": "img-src", "manifest": "manifest-src",
			"modulepreload": "script-src",
		}[rel]
		if rel == "preload" {
			directive = map[string]string{
				"script": "script-src", "style": "style-src", "font": "font-src", "image": "img-src", "fetch": "connect-src",
				"video": "media-src", "audio": "media-src", "track": "media-src",
			}[strings.ToLower(a["as"])]
		}
		if directive != "" {
			d.load(directive, a["href"], a)
			return
		}
	}
}

func (d *document) load(directive, ref string, a map[string]string) {
	u := d.resolve(ref)
	if u == nil {
		return
	}
	if len(d.loads) == maxLoads {
		d.cut = true
		return
	}
	d.loads = append(d.loads, load{directive, u, ref, a["nonce"], strings.Fields(a["integrity"])})
}

// resolve returns where a reference leads, or nil if it is not fetched.
func (d *document) resolve(ref string) *url.URL {
	if strings.TrimSpace(ref) == "" {
		return nil
	}
	text, ok := page.Resolve(d.base, ref)
	if !ok {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "javascript" || u.Scheme == "about" {
		return nil
	}
	return u
}
