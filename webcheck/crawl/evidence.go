package crawl

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/webcheck/internal/csp"
	"github.com/diagkit/diagkit/webcheck/internal/page"
	"github.com/diagkit/diagkit/webcheck/internal/robots"
	"github.com/rivo/uniseg"
)

// evidence is the input of the rules; only gather and digest fill it.
type evidence struct {
	request Request
	agent   crawler
	now     time.Time

	hops   []fetch.Hop
	url    diag.URL      // where the redirects ended
	result *fetch.Result // of the last request for the page; nil if none was made
	failed *fetch.Error  // what ended the chain early; nil if nothing did

	robotsTxt *robotsTxt // of the host where the redirects ended
	decision  robots.Decision
	visits    []visit  // the chain of redirects, as far as the robots.txt of its hosts are known
	robots    []*robot // the crawlers of which the reply speaks

	mediaType  string
	header     []robots.Directive // of X-Robots-Tag
	meta       []robots.Directive // of the page
	effect     robots.Effect
	wall       string     // whose wall against bots answered; empty if none did
	page       *page.Page // nil if it is not known, or no HTML
	words      int
	statements []canonical // of the canonical URL, by the header and the page
	canonicals []string    // the different URLs in those that count
	target     *target     // at the canonical URL; nil if that is this page, or there is not one
	mixed      []Mixed
}

// robotsTxt is the file of one host, and how it was served.
type robotsTxt struct {
	url    string
	result *fetch.Result
	files  map[robots.Dialect]*robots.File // as crawlers read it
	status int                             // 0 if there was no answer
}

// of returns the file as crawlers of a dialect read it.
func (f *robotsTxt) of(d robots.Dialect) *robots.File { return f.files[d] }

// decide says whether a crawler may fetch a URL of the host.
func (f *robotsTxt) decide(c crawler, u diag.URL) robots.Decision {
	return f.of(c.dialect).Match(c.token, strings.TrimPrefix(withoutFragment(u), u.Origin()))
}

// unreachable reports whether a crawler must assume that everything is forbidden (RFC 9309 section
// 2.3.1.4).
func (f *robotsTxt) unreachable(c crawler) bool { return f.of(c.dialect).All == robots.AllDisallowed }

// silent reports whether its content is unknown.
func (f *robotsTxt) silent() bool { return f.result.Err != nil && f.result.Err.Unanswered }

// final returns the last answer for the page, or nil.
func (e *evidence) final() *fetch.Hop {
	if e.result == nil {
		return nil
	}
	return e.result.Final()
}

// succeeded reports whether the server answered with the page.
func (e *evidence) succeeded() bool {
	h := e.final()
	return h != nil && h.StatusCode >= 200 && h.StatusCode < 300
}

// dead reports whether no web server answered for the host: then robots.txt says nothing either.
func (e *evidence) dead() bool { return e.connection() != nil }

// connection returns why the host of the page could not be reached, or nil.
func (e *evidence) connection() *fetch.Error {
	failed := e.failed
	if f := e.robotsTxt; failed == nil && e.result == nil && f != nil && len(f.result.Hops) == 0 && f.result.TLS == nil {
		failed = f.result.Err
	}
	if failed == nil || e.final() != nil {
		return nil
	}
	return failed
}

// judged reports whether there is a page to be judged: HTML that came with success, not a wall's.
func (e *evidence) judged() bool { return e.page != nil && e.succeeded() && e.wall == "" }

// whole reports whether the whole page was read, so that what is not there is missing.
func (e *evidence) whole() bool {
	return e.judged() && e.result.Err == nil && !e.result.Truncated && !e.page.Cut
}

// overLimit reports whether the page is longer than what the crawler reads.
func (e *evidence) overLimit() bool {
	return int64(len(e.result.Body)) > e.agent.limit || e.result.Truncated && int64(len(e.result.Body)) >= e.agent.limit
}

func (r *Request) respects() bool { return r.RespectRobots == nil || *r.RespectRobots }

var htmlTypes = []string{"text/html", "application/xhtml+xml"}

// digest reads what was fetched. It touches nothing.
func (e *evidence) digest() {
	if e.final() != nil {
		e.readAnswer()
	}
	e.learnRobots()
	e.effect = e.requested().effect
}

// readAnswer reads the header and the page.
func (e *evidence) readAnswer() {
	h := e.final()
	e.mediaType = mediaType(h.Header.Get("Content-Type"))
	e.header = headerDirectives(h.Header)
	readable := e.result.Err == nil || len(e.result.Body) > 0 && e.result.Err.Unanswered
	if readable && e.isHTML() && len(e.result.Body) > 0 {
		e.page = page.Read(e.result.Body, page.Options{URL: e.url, ContentType: h.Header.Get("Content-Type")})
		e.readPage()
	}
	e.statements = canonicalsOf(e.url, h.Header, e.page)
	e.canonicals = distinct(e.statements)
	e.wall = wallOf(h, e.result.Body, e.page)
}

// headerDirectives reads the X-Robots-Tag fields.
func headerDirectives(h http.Header) (list []robots.Directive) {
	for _, v := range h.Values("X-Robots-Tag") {
		list = append(list, robots.ParseDirectives("", v)...)
	}
	return list[:min(len(list), maxDirectives)]
}

// metaDirectives reads the meta elements of a page that are for all crawlers, for that of a token, or for those that
// are known; there are none without a page.
func metaDirectives(p *page.Page, token string) (list []robots.Directive) {
	if p == nil {
		return nil
	}
	for _, m := range p.Metas {
		agent := m.Name
		if m.Inert || !m.HasContent || agent == "" || agent != "robots" && agent != token && !otherAgents[agent] {
			continue
		}
		if agent == "robots" {
			agent = ""
		}
		list = append(list, robots.ParseDirectives(agent, m.Content)...)
	}
	return list[:min(len(list), maxDirectives)]
}

// maxDirectives bounds the directives that are kept of the header, and of the page.
const maxDirectives = 200

// isHTML reports whether the answer is HTML: it says so, or says nothing and looks like it.
func (e *evidence) isHTML() bool {
	if e.zipped() {
		return false
	}
	if e.mediaType == "" {
		return strings.HasPrefix(http.DetectContentType(e.result.Body), "text/html")
	}
	return slices.Contains(htmlTypes, e.mediaType)
}

// zipped reports whether the body is compressed without a Content-Encoding that says so.
func (e *evidence) zipped() bool {
	return e.result.Encoding == "" && (e.mediaType == "" || slices.Contains(htmlTypes, e.mediaType)) &&
		bytes.HasPrefix(e.result.Body, []byte("\x1f\x8b"))
}

// title is that of the first title element, which browsers show.
func (e *evidence) title() string {
	if len(e.page.Titles) == 0 {
		return ""
	}
	return e.page.Titles[0]
}

// upgrades reports whether a policy makes browsers ask for everything over https before they look for mixed content
// (Upgrade Insecure Requests section 3).
func (e *evidence) upgrades() bool {
	policies := e.final().Header.Values("Content-Security-Policy")
	for _, m := range e.page.Metas {
		if m.HTTPEquiv == "content-security-policy" && m.InHead && !m.Inert {
			policies = append(policies, m.Content)
		}
	}
	return slices.ContainsFunc(csp.ParseList(strings.Join(policies, ",")), func(p csp.Policy) bool {
		return p.Get("upgrade-insecure-requests") != nil
	})
}

func (e *evidence) readPage() {
	e.meta = metaDirectives(e.page, e.agent.token)
	e.words = countWords(e.page.Text)
	e.findMixed()
}

// otherAgents are crawlers that meta elements name.
var otherAgents = map[string]bool{
	"googlebot": true, "googlebot-news": true, "bingbot": true, "msnbot": true, "slurp": true, "yandex": true,
	"baiduspider": true, "duckduckbot": true, "applebot": true,
}

// maxMixed bounds what is listed of mixed content.
const maxMixed = 100

// findMixed looks for what a page of HTTPS loads over HTTP (W3C Mixed Content section 4).
func (e *evidence) findMixed() {
	if e.url.Scheme() != "https" || e.upgrades() {
		return
	}
	seen := map[Mixed]bool{}
	for _, r := range e.page.Resources {
		m := Mixed{r.URL, r.Element, r.Blockable}
		if strings.HasPrefix(r.URL, "http://") && !loopback(r.URL) && !seen[m] && len(e.mixed) < maxMixed {
			seen[m] = true
			e.mixed = append(e.mixed, m)
		}
	}
}

// loopback reports whether a URL leads to the machine itself, which is trustworthy (W3C Secure Contexts section 3.1).
func loopback(url string) bool {
	rest := strings.TrimPrefix(url, "http://")
	return strings.HasPrefix(rest, "127.") || strings.HasPrefix(rest, "[::1]") || strings.HasPrefix(rest, "localhost/") ||
		strings.HasPrefix(rest, "localhost:")
}

func mediaType(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return clip(strings.ToLower(strings.TrimSpace(strings.ToValidUTF8(kind, "\uFFFD"))), 100)
}

// clip cuts a text to a number of bytes, between characters.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}

// countWords counts the words of a text that have a letter or digit, by the rules of Unicode (UAX 29 section 4).
func countWords(s string) (n int) {
	state := -1
	for s != "" {
		var word string
		word, s, state = uniseg.FirstWordInString(s, state)
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			n++
		}
	}
	return n
}
