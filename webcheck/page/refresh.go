package page

import (
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/fetch"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A Refresh is what a refresh asks for: to load a page after a while.
type Refresh struct {
	Raw   string // the content of the element or field
	Delay int    // in seconds
	To    Ref    // where it leads; zero if it loads the same page again
}

// maxDelay bounds a delay; one of more seconds is that many.
const maxDelay = 1 << 30

// ParseRefresh reads the content of a refresh, in a meta element or a Refresh header field
// (html.spec.whatwg.org, "shared declarative refresh steps"), and resolves its target against a base. It
// returns false for what browsers ignore. So it does for a target without a URL, and for javascript.
func ParseRefresh(content, base string) (Refresh, bool) {
	r := Refresh{Raw: content}
	after, target, ok := fetch.ParseRefresh(content)
	if r.Delay = int(min(after/time.Second, maxDelay)); !ok || target == "" {
		return r, ok
	}
	if hasScheme(target, "javascript") { // browsers refuse to run it
		return r, false
	}
	url, ok := Resolve(base, target)
	r.To = Ref{Raw: target, URL: url}
	return r, ok
}

// Refresh returns the first refresh of a meta element that browsers obey, and whether there is one.
// [Noscript] has those of noscript elements.
func (p *Page) Refresh() (Refresh, bool) {
	for i := range p.Metas {
		m := &p.Metas[i]
		if m.HTTPEquiv != "refresh" || !m.HasContent || m.Inert {
			continue
		}
		if r, ok := ParseRefresh(m.Content, p.Base); ok {
			return r, true
		}
	}
	return Refresh{}, false
}

// The bounds of what is read in noscript elements, in bytes.
const (
	maxNoscript     = 64 << 10 // of one
	maxNoscriptText = 500
)

// startNoscript reads the text of a noscript element as the HTML that it is for those who do not run scripts.
func (r *reader) startNoscript(e *element) {
	r.capture(e, maxNoscript, func(c *capture) {
		z := html.NewTokenizer(strings.NewReader(c.String()))
		for {
			switch z.Next() {
			case html.ErrorToken:
				return
			case html.TextToken:
				r.Noscript.Text = clip(strings.TrimSpace(r.Noscript.Text+" "+collapse(clip(string(z.Text()), 2*maxNoscriptText))),
					maxNoscriptText)
			case html.StartTagToken, html.SelfClosingTagToken:
				t := z.Token()
				tag := element{attrs: t.Attr}
				if r.Noscript.Refresh != nil || t.DataAtom != atom.Meta || lower(tag.value("http-equiv")) != "refresh" {
					continue
				}
				if refresh, ok := ParseRefresh(tag.value("content"), r.Base); ok {
					r.Noscript.Refresh = &refresh
				}
			}
		}
	})
}
