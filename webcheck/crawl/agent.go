package crawl

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/webcheck/page"
	"github.com/diagkit/diagkit/webcheck/robots"
	"golang.org/x/net/http/httpguts"
)

// Agent is a crawler as which the page is asked for.
type Agent string

// The crawlers.
const (
	Default         Agent = "default"           // our own name
	googleDesktop   Agent = "googlebot_desktop" // of Google Search
	googleMobile    Agent = "googlebot_mobile"  // of Google Search, by which it indexes
	bing            Agent = "bingbot"
	custom          Agent = "custom" // as the request says
	defaultToken          = "diagkit"
	maxUserAgent          = 256
	googleLimit           = 2 << 20
	unpublishedSize       = 15 << 20
)

// Values lists the crawlers.
func (Agent) Values() []string {
	return diag.Values(Default, googleDesktop, googleMobile, bing, custom)
}

// A crawler is how one behaves.
type crawler struct {
	token  string // product token, for robots.txt and directives
	header string // User-Agent
	limit  int64  // bytes of HTML that it reads
	own    bool   // directives are for search engines; ours follows those for all
}

// crawlers are those that are known. Google reads 2 MB of HTML for Search, uncompressed, and 15 MB elsewhere
// (developers.google.com/crawling/docs/crawlers-fetchers/google-common-crawlers, February 2026). Microsoft
// publishes no limit.
var crawlers = map[Agent]crawler{
	Default: {token: defaultToken, header: fetch.UserAgent, limit: unpublishedSize, own: true},
	googleDesktop: {token: "googlebot", limit: googleLimit, header: "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; " +
		"compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/142.0.0.0 Safari/537.36"},
	googleMobile: {token: "googlebot", limit: googleLimit, header: "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X " +
		"Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36 (compatible; " +
		"Googlebot/2.1; +http://www.google.com/bot.html)"},
	bing: {token: "bingbot", limit: unpublishedSize, header: "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; " +
		"compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/142.0.0.0 Safari/537.36"},
}

// crawler returns how the crawler of a request behaves, or the caller's fault.
func (r *Request) crawler() (crawler, error) {
	agent, s := r.UserAgent, r.UserAgentString
	if agent == "" {
		agent = Default
	}
	if agent != custom {
		c, ok := crawlers[agent]
		switch {
		case !ok:
			return c, diag.Invalid("user_agent", "must be one of %s", strings.Join(agent.Values(), ", "))
		case s != "":
			return c, diag.Invalid("user_agent_string", "makes sense only beside user_agent custom")
		}
		return c, nil
	}
	switch {
	case strings.TrimSpace(s) == "":
		return crawler{}, diag.Invalid("user_agent_string", "is missing: user_agent custom needs it")
	case len(s) > maxUserAgent || !httpguts.ValidHeaderFieldValue(s):
		return crawler{}, diag.Invalid("user_agent_string", "has a control character, or more than %d bytes", maxUserAgent)
	}
	return crawler{token: productToken(s), header: s, limit: unpublishedSize}, nil
}

var compatible = diag.Regexp(`(?i)compatible;\s*([a-z_-]+)`)

// productToken finds the name by which robots.txt knows a crawler.
func productToken(userAgent string) string {
	if m := compatible().FindStringSubmatch(userAgent); m != nil {
		return strings.ToLower(m[1])
	}
	return robots.Token(userAgent)
}

// A wall is how a service against bots shows that its answer stands in for the page.
type wall struct {
	name          string
	field, value  string // of the header: the field is there, and holds the value
	marks         string // in the body
	anyStatus     bool   // also with 200 and 202
	withoutHeader bool
}

// walls are those that are told apart by what they themselves write.
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

// wallWords are those of pages that ask whether somebody is human.
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
