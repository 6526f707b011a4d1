package headers

import (
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/webcheck/headers/csp"
	"github.com/diagkit/diagkit/webcheck/headers/observatory"
	"github.com/diagkit/diagkit/webcheck/hsts"
)

// evidence is all that the rules look at; only gather and digest fill it.
type evidence struct {
	req    Request
	follow bool
	now    time.Time

	page      *fetch.Result
	overHTTP  *fetch.Result // what http:// leads to; page if that was asked for
	overHTTPS *fetch.Result
	probes    probes

	final    *fetch.Hop  // that is judged; nil if the chain ended before
	self     *url.URL    // its URL
	head     http.Header // its header
	document *document   // its HTML; nil if it has none, or was not read

	hsts       []*hsts.Header
	enforced   []csp.Policy // of the header and of meta elements
	reportOnly []csp.Policy
	cookies    []cookie
	features   features

	grade  *observatory.Result // nil if there is none
	tests  []observatory.Test  // those whose answers are known
	quirks []observatory.Test  // those that took points and are not explained by other rules

	preload *hsts.List // that browsers come with; without a version if it is not known
}

// digest reads what was fetched. It touches nothing.
func (e *evidence) digest() {
	e.readCookies()
	e.final = e.page.Final()
	if e.final == nil || e.page.Err != nil {
		e.final = nil
		return
	}
	e.head = e.final.Header
	e.self, _ = url.Parse(e.final.URL)
	if e.self == nil {
		e.self = new(url.URL)
	}
	if e.isPage() && e.req.Method != http.MethodHead {
		e.document = readDocument(e.page.Body, e.final)
	}
	e.hsts = diag.Map(e.values("Strict-Transport-Security"), hsts.Parse)
	e.enforced = csp.ParseList(e.value("Content-Security-Policy"))
	e.reportOnly = csp.ParseList(e.value("Content-Security-Policy-Report-Only"))
	if e.document != nil {
		for _, text := range e.document.policies {
			e.enforced = append(e.enforced, diag.Map(csp.ParseList(text), csp.Policy.InMeta)...)
		}
		e.enforced = e.enforced[:min(len(e.enforced), csp.MaxPolicies)]
	}
	e.features = readFeatures(e.values("Permissions-Policy"))
	e.gradePage()
}

func (e *evidence) values(name string) []string { return e.head.Values(name) }

// value returns the fields of a name as one, joined by commas (RFC 9110 section 5.3).
func (e *evidence) value(name string) string { return text(strings.Join(e.values(name), ", ")) }

// text makes a value of strangers valid UTF-8.
func text(s string) string { return strings.ToValidUTF8(strings.Trim(s, " \t"), "\uFFFD") }

// has reports whether a field was sent.
func (e *evidence) has(name string) bool { return len(e.values(name)) > 0 }

// secure reports whether the page that is judged came over https.
func (e *evidence) secure() bool { return e.self != nil && e.self.Scheme == "https" }

// trusted reports whether it came over https with a certificate that browsers trust.
func (e *evidence) trusted() bool {
	return e.secure() && e.final.TLS != nil && e.final.TLS.Err() == nil
}

// isPage reports whether browsers show the answer as a page of HTML. Without a media type they look at the bytes.
func (e *evidence) isPage() bool {
	if e.redirects() || e.final.StatusCode == http.StatusNoContent || e.final.StatusCode == http.StatusNotModified {
		return false
	}
	switch e.mediaType() {
	case "", "text/html", "application/xhtml+xml":
		return true
	}
	return false
}

func (e *evidence) mediaType() string {
	kind, _, err := mime.ParseMediaType(e.head.Get("Content-Type"))
	if err != nil {
		kind, _, _ = strings.Cut(e.head.Get("Content-Type"), ";")
	}
	return strings.ToLower(strings.TrimSpace(kind))
}

// redirects reports whether the answer that is judged leads elsewhere, as it does where redirects are not followed.
func (e *evidence) redirects() bool { return e.final.RedirectType != "" }

// words splits a list of tokens at commas, in lower case.
func words(s string) []string {
	var list []string
	for w := range strings.SplitSeq(s, ",") {
		if w = strings.ToLower(strings.TrimSpace(w)); w != "" {
			list = append(list, w)
		}
	}
	return list
}

// goodHTTPS reports whether the host answers over https with a certificate that browsers trust.
func (e *evidence) goodHTTPS() bool {
	if e.overHTTPS == nil || len(e.overHTTPS.Hops) == 0 {
		return false
	}
	first := e.overHTTPS.Hops[0]
	return first.TLS != nil && first.TLS.Err() == nil && first.StatusCode < 400
}

// sameOrigin reports whether two URLs are of one origin.
func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host) }
