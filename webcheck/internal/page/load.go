package page

import (
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/kit"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func (r *reader) loads(name string, ref Ref, blockable bool) {
	if ref.Raw != "" {
		appendBounded(r, &r.Resources, maxResources, ref.size()+64, Resource{ref, name, blockable})
	}
}

func (r *reader) loadsFrom(e *element, attr string, blockable bool) {
	if raw := e.value(attr); raw != "" {
		r.loads(e.name, r.ref(raw), blockable)
	}
}

// loadElement records the elements that load something and have no kind of their own.
func (r *reader) loadElement(e *element) {
	switch e.atom {
	case atom.Iframe, atom.Frame:
		r.frame(e)
	case atom.Frameset:
		r.Counts.Framesets++
	case atom.Source, atom.Video, atom.Audio, atom.Track, atom.Embed:
		r.loadsFrom(e, "src", e.atom == atom.Embed || e.atom == atom.Track)
		r.loadsFrom(e, "poster", false)
		r.sources(e.name, e.value("srcset"))
	case atom.Object:
		r.loadsFrom(e, "data", true)
	case atom.Body, atom.Table, atom.Td, atom.Th:
		r.loadsFrom(e, "background", false)
	}
}

func (r *reader) frame(e *element) {
	if e.atom == atom.Iframe {
		r.Counts.Frames++
	}
	src := e.value("src")
	if src == "" {
		return
	}
	ref := r.ref(src)
	r.loads(e.name, ref, true)
	appendBounded(r, &r.Frames, maxFrames, ref.size(), ref)
}

// sources keeps the candidates of a srcset (html.spec.whatwg.org section 4.8.4.2.1). Browsers block those of
// http on a page of https, unlike a src (W3C Mixed Content section 4.1).
func (r *reader) sources(name, srcset string) {
	const most = 50 // candidates
	for range most {
		srcset = strings.TrimLeft(srcset, whitespace+",")
		if srcset == "" {
			return
		}
		url := srcset
		if end := strings.IndexAny(srcset, whitespace); end >= 0 {
			url = srcset[:end]
		}
		srcset = srcset[len(url):]
		if trimmed := strings.TrimRight(url, ","); trimmed != url {
			url = trimmed
		} else if comma := strings.IndexByte(srcset, ','); comma >= 0 { // descriptors
			srcset = srcset[comma+1:]
		} else {
			srcset = ""
		}
		r.loads(name, r.ref(url), true)
	}
}

func (r *reader) startForeign(e *element) {
	if e.name != "image" && e.name != "use" && e.name != "feImage" {
		return
	}
	for _, a := range e.attrs {
		if a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
			r.loads(e.name, r.ref(clip(a.Val, MaxValue)), e.name == "use")
		}
	}
}

func (r *reader) startScript(e *element) {
	kind := essence(e.value("type"))
	var ref Ref
	src, external := e.attr("src")
	if external {
		ref = r.ref(src)
		r.Counts.ExternalScripts++
	}
	if kind == "application/ld+json" {
		r.startJSONLD(e)
		return
	}
	if isScript(kind) {
		r.Counts.Scripts++
		r.loads("script", ref, true)
	}
	r.capture(e, 0, func(*capture) {}) // so that no other capture treats it as text
}

// isScript reports whether a script of this type runs (html.spec.whatwg.org section 4.12.1).
func isScript(mediaType string) bool { return mediaType == "" || scriptTypes()[mediaType] }

var scriptTypes = kit.Words(`module text/javascript application/javascript application/ecmascript
	application/x-ecmascript application/x-javascript text/ecmascript text/javascript1.0 text/javascript1.1
	text/javascript1.2 text/javascript1.3 text/javascript1.4 text/javascript1.5 text/jscript text/livescript
	text/x-ecmascript text/x-javascript`)

// startStyle looks for what a style sheet in the page loads.
func (r *reader) startStyle(e *element) {
	r.capture(e, maxStyle, func(c *capture) { r.styles("style", c.String()) })
}

// maxStyle bounds what is read of a style sheet in the page, in bytes.
const maxStyle = 256 << 10

// styles keeps the references of url() and @import in a style sheet or attribute (CSS Values 4 section 4.5).
func (r *reader) styles(name, css string) {
	const most = 200
	rest := css
	imported := false // by url() behind @import, which browsers block
	for range most {
		i := strings.IndexByte(rest, '(')
		at := strings.Index(rest, "@import")
		switch {
		case i < 0 && at < 0:
			return
		case at >= 0 && (i < 0 || at < i):
			rest = strings.TrimLeft(rest[at+len("@import"):], whitespace)
			imported = len(rest) > 4 && strings.EqualFold(rest[:4], "url(")
			if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
				url, after, _ := strings.Cut(rest[1:], rest[:1])
				rest = after
				r.loads(name, r.ref(clip(url, MaxValue)), true)
			}
		default:
			isURL := i >= 3 && strings.EqualFold(rest[i-3:i], "url")
			rest = rest[i+1:]
			if isURL {
				url, _, _ := strings.Cut(rest, ")")
				url = strings.Trim(url, whitespace+`"'`)
				if !strings.HasPrefix(url, "#") && !hasScheme(url, "data") {
					r.loads(name, r.ref(clip(url, MaxValue)), imported)
				}
			}
			imported = false
		}
	}
}

// A Refresh is an instruction to load a page after a delay.
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

// The limits of reading noscript elements, in bytes.
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
				r.Noscript.Text = clip(strings.TrimSpace(r.Noscript.Text+" "+Collapse(clip(string(z.Text()), 2*maxNoscriptText))),
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
