package crawl

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/webcheck/page"
)

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
