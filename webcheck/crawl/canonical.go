package crawl

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/webcheck/internal/page"
	"github.com/diagkit/diagkit/webcheck/internal/robots"
)

// A CanonicalReport describes the page at the canonical URL, if that is another page. What is not known is
// absent.
type CanonicalReport struct {
	URL        string `json:"url" doc:"the canonical URL"`
	StatusCode int    `json:"status_code,omitempty" doc:"status of its answer"`
	RedirectTo string `json:"redirect_to,omitempty" doc:"where it redirects"`
	Allowed    *bool  `json:"allowed,omitempty" doc:"whether robots.txt lets Google fetch it"`
	Indexable  *bool  `json:"indexable,omitempty" doc:"whether Google may index it"`
	Canonical  string `json:"canonical,omitempty" doc:"URL that it says is its own"`
	Language   string `json:"language,omitempty" doc:"language that it states" example:"en"`
}

// A canonical is a statement of the URL under which to index a page (RFC 6596).
type canonical struct {
	page.Ref
	byField bool // the Link field says it
	body    bool // outside the head, where it is ignored
}

// canonicalsOf lists what the header and the page at a URL say; the page may be nil.
func canonicalsOf(at diag.URL, header http.Header, p *page.Page) (list []canonical) {
	if p != nil {
		for _, l := range p.Rel("canonical") {
			list = append(list, canonical{Ref: l.Ref, body: !l.InHead})
		}
	}
	for _, l := range parseLinks(header.Values("Link")) {
		about, ok := page.Resolve(at.String(), l.anchor)
		ours := l.anchor == "" || ok && trimFragment(about) == withoutFragment(at) // RFC 8288 section 3.2
		if !slices.Contains(l.rel, "canonical") || !ours {
			continue
		}
		target, _ := page.Resolve(at.String(), l.target)
		list = append(list, canonical{Ref: page.Ref{Raw: clip(l.target, input.MaxURL), URL: target}, byField: true})
	}
	return list
}

// distinct lists the different URLs that are named where they count, without fragments.
func distinct(all []canonical) (urls []string) {
	for _, c := range all {
		if u := trimFragment(c.URL); !c.body && u != "" && !slices.Contains(urls, u) {
			urls = append(urls, u)
		}
	}
	return urls
}

func trimFragment(url string) string {
	url, _, _ = strings.Cut(url, "#")
	return url
}

// A target is the page that the canonical URL names, where that is another.
type target struct {
	url      string
	file     *robotsTxt    // of its host; nil if it was not asked for
	result   *fetch.Result // nil if the page was not fetched
	decision robots.Decision
	leftOut  string // why it was not fetched; empty if it was

	wall      string
	effect    robots.Effect // for Google
	canonical string        // its own, if there is one
	language  string
}

// elsewhere is the one canonical URL where it is that of another page, else empty.
func (e *evidence) elsewhere() string {
	if len(e.canonicals) != 1 || !isWeb(e.canonicals[0]) || isURL(e.canonicals[0], e.url) || e.overHTTP() {
		return ""
	}
	return e.canonicals[0]
}

// overHTTP reports whether the canonical URL is that of the page, with http instead of https.
func (e *evidence) overHTTP() bool {
	rest, ok := strings.CutPrefix(e.canonicals[0], "http://")
	return ok && e.url.Scheme() == "https" && isURL("https://"+rest, e.url)
}

// isURL reports whether a text is a URL, apart from its fragment.
func isURL(text string, url diag.URL) bool {
	if text == withoutFragment(url) {
		return true
	}
	u, err := diag.ParseURL(text)
	return err == nil && withoutFragment(u) == withoutFragment(url)
}

// leastTime is how much time must be left to fetch the page at the canonical URL: that it was not waited for is not
// a fault of its server.
const leastTime = time.Second

// maxTarget is how much is read of the page at the canonical URL, in bytes: its head.
const maxTarget = 256 << 10

// fetchTarget fetches the page that the canonical URL names, unless several contradict each other or it is this page.
func (g *gatherer) fetchTarget(ctx context.Context) error {
	url := g.elsewhere()
	if url == "" || !served(g.evidence) {
		return nil
	}
	t := &target{url: url}
	g.target = t
	u, err := diag.ParseURL(url)
	switch {
	case g.remaining(timeout) < leastTime:
		t.leftOut = "time ran out"
		return nil
	case err != nil:
		t.leftOut = "it is not a URL that is fetched here"
		return nil
	case !slices.Contains(diag.WebPorts, u.Port()):
		t.leftOut = fmt.Sprintf("port %d is not reached from here", u.Port())
		return nil
	}
	if t.file, err = g.robots(ctx, u); err != nil {
		return err
	}
	if t.result = t.file.result; t.dead() {
		return nil
	}
	t.result, t.decision = nil, t.file.decide(crawlers[GoogleDesktop], u)
	if g.request.respects() && !t.file.decide(g.agent, u).Allowed {
		t.leftOut = "robots.txt forbids " + g.agent.name
		return nil
	}
	t.result, err = fetch.Do(ctx, g.env, fetch.Request{
		URL: u, UserAgent: g.agent.header, Header: http.Header{"Accept": {accept}}, MaxBytes: maxTarget,
		Timeout: g.remaining(timeout), AllowUntrusted: true,
	})
	if err != nil || t.final() == nil {
		return err
	}
	t.read(g.evidence, u)
	return nil
}

// read takes from the answer what matters of the page.
func (t *target) read(e *evidence, u diag.URL) {
	h := t.final()
	var p *page.Page
	if kind := mediaType(h.Header.Get("Content-Type")); slices.Contains(htmlTypes, kind) {
		p = page.Read(t.result.Body, page.Options{URL: u, ContentType: h.Header.Get("Content-Type")})
		t.language = p.Lang
	}
	t.wall = wallOf(h, t.result.Body, p)
	directives := slices.Concat(headerDirectives(h.Header), metaDirectives(p, ""))
	t.effect = robots.Combine(directives, crawlers[GoogleDesktop].token, e.now)
	if own := distinct(canonicalsOf(u, h.Header, p)); len(own) == 1 && !isURL(own[0], u) {
		t.canonical = own[0]
	}
}

// dead reports whether no web server answered for the host: then robots.txt says nothing either.
func (t *target) dead() bool {
	return t.result != nil && len(t.result.Hops) == 0 && t.result.Err != nil && !t.result.Err.Unanswered
}

func (t *target) final() *fetch.Hop {
	if t.result == nil {
		return nil
	}
	return t.result.Final()
}

// silence says why the page is not known although it was asked for; empty if it is.
func (t *target) silence() string {
	switch {
	case t.file != nil && t.file.silent():
		return "its robots.txt did not arrive: " + reason(t.file.result.Err)
	case t.wall != "":
		return "bot protection answered instead of it"
	case t.result != nil && t.result.Err != nil && t.result.Err.Unanswered:
		return reason(t.result.Err)
	}
	return ""
}

// known reports whether the page was fetched, and answered.
func (t *target) known() bool { return t.result != nil && t.silence() == "" }

// disallowed reports whether Google may not fetch it, as far as is known.
func (t *target) disallowed() bool {
	return t.file != nil && !t.file.silent() && !t.dead() && !t.decision.Allowed
}

// redirect is where it redirects; empty if it does not.
func (t *target) redirect() string {
	h := t.final()
	if h == nil || h.RedirectType == "" {
		return ""
	}
	return clip(h.Location, input.MaxURL)
}

// broken says why there is no page, as a clause; empty if there is one.
func (t *target) broken() string {
	switch h := t.final(); {
	case h == nil:
		return "cannot be reached: " + reason(t.result.Err)
	case h.RedirectType == "" && (h.StatusCode < 200 || h.StatusCode > 299):
		return fmt.Sprintf("answers with status %d %s", h.StatusCode, phrase.Quote(h.StatusText))
	}
	return ""
}

// indexable reports whether Google may index the page. It must be known.
func (t *target) indexable() bool {
	return t.decision.Allowed && t.broken() == "" && t.redirect() == "" && !t.effect.NoIndex
}

// faultless reports whether search engines can index the page instead of one that names it, as far as is known.
func (t *target) faultless() bool { return t.known() && t.indexable() && t.canonical == "" }

// report says what was found; it is zero if there is no such page.
func (t *target) report() CanonicalReport {
	if t == nil {
		return CanonicalReport{}
	}
	r := CanonicalReport{URL: clip(t.url, input.MaxURL)}
	if t.file != nil && !t.file.silent() && !t.dead() {
		r.Allowed = &t.decision.Allowed
	}
	if h := t.final(); h != nil && t.known() {
		r.StatusCode, r.RedirectTo, r.Indexable = h.StatusCode, t.redirect(), new(t.indexable())
		r.Canonical, r.Language = clip(t.canonical, input.MaxURL), t.language
	}
	return r
}

// part says whether it was examined.
func (t *target) part() diag.ScopePart {
	p := diag.ScopePart{Part: "canonical URL", State: diag.Examined}
	if s := t.silence(); s != "" {
		p.State, p.Reason = diag.NotAnswered, s
	} else if t.leftOut != "" && (t.file == nil || t.decision.Allowed) {
		p.State, p.Reason = diag.LeftOut, t.leftOut
	}
	return p
}
