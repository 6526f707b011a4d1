package crawl

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/webcheck/internal/page"
	"github.com/diagkit/diagkit/webcheck/internal/robots"
	"golang.org/x/net/http/httpguts"
)

// The limits of fetches.
const (
	// maxRedirects is how many redirects are followed (CONTRACT 1.9); Google follows ten as well.
	maxRedirects = fetch.DefaultRedirects
	// maxRobotsRedirects is how many are followed for a robots.txt (RFC 9309 section 2.3.1.2).
	maxRobotsRedirects = 5
	// timeout bounds every wait, so that what is known by then can be reported in time (CONTRACT 1.9).
	// RobotsTimeout is the share of one robots.txt.
	timeout       = 13 * time.Second
	robotsTimeout = 6 * time.Second
)

// accept is the Accept field that crawlers send.
const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// A gatherer fetches a page and the files that say whether it may.
type gatherer struct {
	*evidence
	env *diag.Env
	end time.Time

	mu    sync.Mutex
	files map[string]*robotsTxt // by origin
}

// gather fetches robots.txt and the page. A crawler that keeps to robots.txt must know it first; otherwise
// both are fetched at once. Redirects are followed one by one, for each host has a robots.txt of its own.
// What the canonical URL leads to is fetched last, because the page names it.
func gather(ctx context.Context, env *diag.Env, req Request, agent crawler) (*evidence, error) {
	e := &evidence{request: req, agent: agent, now: env.Now(), hops: []fetch.Hop{}, url: req.URL}
	g := &gatherer{evidence: e, env: env.Cached(), files: map[string]*robotsTxt{}}
	g.end = time.Now().Add(diag.TimeLeft(ctx, timeout))
	var failure, robotsFailure error
	if req.respects() {
		failure = g.follow(ctx)
	} else {
		var group diag.Group
		group.Go(func() { _, robotsFailure = g.robots(ctx, req.URL) })
		group.Go(func() { failure = g.follow(ctx) })
		group.Wait()
	}
	if failure == nil {
		failure = robotsFailure
	}
	if failure != nil {
		return nil, failure
	}
	file, err := g.robots(ctx, e.url)
	if err != nil {
		return nil, err
	}
	e.robotsTxt, e.decision = file, file.decide(e.agent, e.url)
	g.keepVisits()
	if err := e.connection().Unavailable(); err != nil && len(e.hops) == 0 {
		return nil, err
	}
	e.digest()
	if err := g.fetchTarget(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// remaining is the time that is left for one request.
func (g *gatherer) remaining(limit time.Duration) time.Duration {
	return max(min(limit, time.Until(g.end)), time.Millisecond)
}

// follow goes from redirect to redirect, as far as it may.
func (g *gatherer) follow(ctx context.Context) error {
	visited := map[string]bool{}
	for {
		visited[withoutFragment(g.url)] = true
		if g.request.respects() {
			file, err := g.robots(ctx, g.url)
			if err != nil {
				return err
			}
			if !file.decide(g.agent, g.url).Allowed {
				g.result = nil
				return nil
			}
		}
		r, err := fetch.Do(ctx, g.env, fetch.Request{
			URL: g.url, UserAgent: g.agent.header, Header: http.Header{"Accept": {accept}},
			MaxBytes: g.request.MaxBytes, Timeout: g.remaining(timeout), AllowUntrusted: true,
		})
		if err != nil {
			return err
		}
		g.result, g.failed = r, r.Err
		h := r.Final()
		if h == nil {
			return nil
		}
		h.Index = len(g.hops) + 1
		g.hops = append(g.hops, *h)
		if h.RedirectType == "" {
			return nil
		}
		next := h.Target
		if g.failed = h.Refused; g.failed != nil {
			return nil
		}
		if visited[withoutFragment(next)] {
			g.failed = &fetch.Error{Code: fetch.TooManyRedirects, Message: "the redirects form a loop"}
			return nil
		}
		if len(g.hops) > maxRedirects {
			g.failed = &fetch.Error{Code: fetch.TooManyRedirects, Message: "there are more than 10 redirects"}
			return nil
		}
		g.url, g.result = next, nil
	}
}

func withoutFragment(u diag.URL) string {
	s, _, _ := strings.Cut(u.String(), "#")
	return s
}

// keepVisits lists the URLs of the chain whose hosts have a robots.txt that is known, up to the last.
func (g *gatherer) keepVisits() {
	for _, h := range g.hops {
		if u, err := diag.ParseURL(h.URL); err == nil && g.files[u.Origin()] != nil {
			g.visits = append(g.visits, visit{u, g.files[u.Origin()]})
		}
	}
	if n := len(g.visits); n == 0 || g.visits[n-1].url != g.url {
		g.visits = append(g.visits, visit{g.url, g.robotsTxt})
	}
}

func (g *gatherer) robots(ctx context.Context, u diag.URL) (*robotsTxt, error) {
	g.mu.Lock()
	file := g.files[u.Origin()]
	g.mu.Unlock()
	if file != nil {
		return file, nil
	}
	file = &robotsTxt{url: u.Origin() + "/robots.txt"}
	at, err := diag.ParseURL(file.url)
	if err != nil {
		return nil, err
	}
	file.result, err = fetch.Do(ctx, g.env, fetch.Request{
		URL: at, UserAgent: g.agent.header, Header: http.Header{"Accept": {"text/plain,*/*;q=0.8"}},
		MaxRedirects: maxRobotsRedirects, MaxBytes: robots.MaxBytes + 1, Timeout: g.remaining(robotsTimeout),
		AllowUntrusted: true,
	})
	if err != nil {
		return nil, err
	}
	file.read()
	g.mu.Lock()
	g.files[u.Origin()] = file
	g.mu.Unlock()
	return file, nil
}

// read says what the answer comes to for crawlers.
func (f *robotsTxt) read() {
	if h := f.result.Final(); h != nil {
		f.status = h.StatusCode
	}
	f.files = map[robots.Dialect]*robots.File{}
	for _, d := range []robots.Dialect{robots.Standard, robots.Google} {
		f.files[d] = f.as(d)
	}
}

// as says what the answer comes to for crawlers of a dialect (RFC 9309 section 2.3.1). Google takes 429 and a file
// that is incomplete for a server error (developers.google.com/crawling/docs/robots-txt/robots-txt-spec).
func (f *robotsTxt) as(d robots.Dialect) *robots.File {
	failed, google := f.result.Err, d == robots.Google
	switch {
	case failed != nil && (failed.Code == fetch.TooManyRedirects || failed.Code == fetch.Loop ||
		failed.Code == fetch.Blocked && len(f.result.Hops) > 0):
		return robots.AllowAll() // section 2.3.1.2: as if there were none
	case f.status == 0, f.status >= 500, failed != nil && (google || len(f.result.Body) == 0),
		google && f.status == http.StatusTooManyRequests:
		return robots.DisallowAll()
	case f.status >= 200 && f.status < 300:
		return robots.ParseAs(f.result.Body, d)
	default:
		return robots.AllowAll()
	}
}

// An Agent is the crawler as which the page is requested: default, googlebot_desktop, googlebot_mobile,
// bingbot or custom.
type Agent string

// The crawlers.
const (
	Default         Agent = "default"           // the product token diagkit
	GoogleDesktop   Agent = "googlebot_desktop" // of Google Search
	GoogleMobile    Agent = "googlebot_mobile"  // of Google Search, by which it indexes
	Bing            Agent = "bingbot"
	Custom          Agent = "custom" // as the request says
	defaultToken          = "diagkit"
	maxUserAgent          = 256
	googleLimit           = 2 << 20
	unpublishedSize       = 15 << 20
)

// Values lists the crawlers.
func (Agent) Values() []string {
	return kit.Values(Default, GoogleDesktop, GoogleMobile, Bing, Custom)
}

// A crawler is how one behaves.
type crawler struct {
	name    string         // product token as its operator writes it
	token   string         // the same in lower case, for robots.txt and directives
	dialect robots.Dialect // in which it reads robots.txt
	header  string         // User-Agent
	limit   int64          // bytes of HTML that it reads
}

// crawlers are those that are known. Google reads 2 MB of HTML for Search, uncompressed, and 15 MB elsewhere
// (developers.google.com/crawling/docs/crawlers-fetchers/google-common-crawlers, February 2026). Microsoft
// publishes no limit.
var crawlers = map[Agent]crawler{
	Default: {name: defaultToken, token: defaultToken, header: fetch.UserAgent, limit: unpublishedSize},
	GoogleDesktop: {
		name: "Googlebot", token: "googlebot", dialect: robots.Google, limit: googleLimit,
		header: "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; " +
			"+http://www.google.com/bot.html) Chrome/142.0.0.0 Safari/537.36",
	},
	GoogleMobile: {
		name: "Googlebot", token: "googlebot", dialect: robots.Google, limit: googleLimit,
		header: "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) " +
			"Chrome/142.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
	},
	Bing: {name: "Bingbot", token: "bingbot", limit: unpublishedSize,
		header: "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; " +
			"+http://www.bing.com/bingbot.htm) Chrome/142.0.0.0 Safari/537.36"},
}

// crawler returns how the crawler of a request behaves, or the caller's fault.
func (r *Request) crawler() (crawler, error) {
	agent, s := r.UserAgent, r.UserAgentString
	if agent == "" {
		agent = Default
	}
	if agent != Custom {
		c, ok := crawlers[agent]
		switch {
		case !ok:
			return c, input.Invalid("user_agent", "must be one of %s", strings.Join(agent.Values(), ", "))
		case s != "":
			return c, input.Invalid("user_agent_string", "is used only with user_agent custom")
		}
		return c, nil
	}
	switch {
	case strings.TrimSpace(s) == "":
		return crawler{}, input.Invalid("user_agent_string", "is missing: user_agent custom needs it")
	case len(s) > maxUserAgent || !httpguts.ValidHeaderFieldValue(s):
		return crawler{}, input.Invalid("user_agent_string", "has a control character, or more than %d bytes", maxUserAgent)
	}
	token := productToken(s)
	return crawler{name: token, token: token, dialect: dialectOf(token), header: s, limit: unpublishedSize}, nil
}

var compatible = kit.Regexp(`(?i)compatible;\s*([a-z_-]+)`)

// productToken finds the name by which robots.txt knows a crawler.
func productToken(userAgent string) string {
	if m := compatible().FindStringSubmatch(userAgent); m != nil {
		return strings.ToLower(m[1])
	}
	return robots.Token(userAgent)
}

// A wall is how a bot protection service shows that its answer replaces the page.
type wall struct {
	name          string
	field, value  string // of the header: the field is there, and holds the value
	marks         string // in the body
	anyStatus     bool   // also with 200 and 202
	withoutHeader bool
}

// walls are those identified by their own header fields or text.
var walls = []wall{
	{name: "Cloudflare", field: "Cf-Mitigated", value: "challenge", anyStatus: true},
	{name: "Cloudflare", marks: "/cdn-cgi/challenge-platform/h/", withoutHeader: true},
	{name: "Cloudflare", marks: "cf-error-details", withoutHeader: true},
	{name: "AWS WAF", field: "X-Amzn-Waf-Action", anyStatus: true},
	{name: "Vercel", field: "X-Vercel-Mitigated", anyStatus: true},
	{name: "DataDome", field: "X-Datadome"},
	{name: "DataDome", marks: "captcha-delivery.com", withoutHeader: true},
	{name: "Imperva", marks: "_Incapsula_Resource", anyStatus: true, withoutHeader: true},
	{name: "HUMAN", marks: "px-captcha", withoutHeader: true},
	{name: "Akamai", marks: "errors.edgesuite.net", withoutHeader: true},
	{name: "Sucuri", field: "X-Sucuri-Block"},
	{name: "DDoS-Guard", field: "Server", value: "ddos-guard"},
	{name: "hCaptcha", marks: "hcaptcha.com/1/api.js", withoutHeader: true},
	{name: "reCAPTCHA", marks: "google.com/recaptcha/api.js", withoutHeader: true},
}

// maxMarks is how far in a body marks are looked for, in bytes: such pages are short.
const maxMarks = 64 << 10

// wallWords are phrases of pages that ask for proof of being human.
var wallWords = []string{"verify you are human", "are you a robot", "just a moment", "checking your browser",
	"unusual traffic", "enable javascript and cookies to continue", "request unsuccessful"}

// wallOf names the service whose wall against bots answered instead of the page; empty if none did.
func wallOf(h *fetch.Hop, body []byte, p *page.Page) string {
	refused := h.StatusCode == http.StatusForbidden || h.StatusCode == http.StatusServiceUnavailable ||
		h.StatusCode == http.StatusTooManyRequests || h.StatusCode == http.StatusMethodNotAllowed
	body = body[:min(len(body), maxMarks)]
	for _, w := range walls {
		if !refused && !(w.anyStatus && (w.field != "" || p == nil || countWords(p.Text) < thinWords)) {
			continue
		}
		if w.withoutHeader && bytes.Contains(body, []byte(w.marks)) {
			return w.name
		}
		if v := h.Header.Get(w.field); w.field != "" && v != "" && strings.Contains(strings.ToLower(v), w.value) {
			return w.name
		}
	}
	if p == nil || !refused {
		return ""
	}
	title, _ := p.Title()
	text := strings.ToLower(title + "\n" + clip(p.Text, 2000) + "\n" + p.Noscript.Text)
	for _, words := range wallWords {
		if strings.Contains(text, words) {
			return "the server"
		}
	}
	return ""
}
