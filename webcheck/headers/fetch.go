package headers

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/webcheck/headers/observatory"
	"github.com/diagkit/diagkit/webcheck/hsts"
	"github.com/diagkit/diagkit/webcheck/internal/csp"
)

// The limits of fetches.
const (
	// MaxPage is the maximum number of bytes of a page that are read.
	MaxPage = 1 << 20
	// Memory is an upper bound of the memory that a check uses, in bytes.
	Memory = 32 << 20
	// timeout is how long the page is waited for, and ProbeTimeout what is asked afterwards; the caller's time is
	// usually up after 15 seconds (CONTRACT 1.9).
	timeout      = 9 * time.Second
	probeTimeout = 4 * time.Second
	// probeBytes of the body are read where only the head matters.
	probeBytes = 1
)

// foreignOrigin is the site that probes of CORS claim to come from: a name that no site can have (RFC 6761).
const foreignOrigin = "https://origin.diagkit.invalid"

// accept is the Accept field that browsers send when a page is opened.
const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// A probes are requests that a foreign site would cause.
type probes struct {
	preflight *fetch.Result // OPTIONS, as before a request with credentials
	foreign   *fetch.Result // GET from a foreign origin
	null      *fetch.Result // GET from the origin null, as of a sandboxed frame
}

// gather fetches the page, with probes, and security.txt, both at once.
func gather(ctx context.Context, env *diag.Env, req Request) (*evidence, error) {
	e := &evidence{req: req, now: env.Now(), follow: req.FollowRedirects == nil || *req.FollowRedirects}
	var failure [2]error
	var g diag.Group
	g.Go(func() { failure[0] = e.fetchPage(ctx, env) })
	g.Go(func() { failure[1] = e.fetchSecurityTxt(ctx, env) })
	g.Wait()
	if err := cmp.Or(failure[:]...); err != nil {
		return nil, err
	}
	return e, nil
}

// fetchPage fetches the page and what http and https lead to, all at once; then, where the page is known, probes of
// CORS.
func (e *evidence) fetchPage(ctx context.Context, env *diag.Env) error {
	req := e.req
	page := fetch.Request{
		Method: req.Method, Header: http.Header{"Accept": {accept}}, MaxBytes: MaxPage,
		Timeout: diag.TimeLeft(ctx, timeout), AllowUntrusted: true,
	}
	chain := page
	chain.MaxRedirects = fetch.DefaultRedirects
	if e.follow {
		page = chain
	}
	var failure [3]error
	var g diag.Group
	get := func(i int, to **fetch.Result, ask fetch.Request, u diag.URL) {
		ask.URL = u
		g.Go(func() { *to, failure[i] = fetch.Do(ctx, env, ask) })
	}
	get(0, &e.page, page, req.URL)
	overHTTP, overHTTPS := variant(req.URL, "http"), variant(req.URL, "https")
	// The same URL need not be fetched twice.
	if !e.follow || overHTTP != req.URL {
		get(1, &e.overHTTP, chain, overHTTP)
	}
	if !e.follow || overHTTPS != req.URL {
		get(2, &e.overHTTPS, chain, overHTTPS)
	}
	g.Wait()
	if err := cmp.Or(failure[:]...); err != nil {
		return err
	}
	if e.overHTTP == nil {
		e.overHTTP = e.page
	}
	if e.overHTTPS == nil {
		e.overHTTPS = e.page
	}
	e.takeCoding()
	if e.page.Err == nil {
		return e.probe(ctx, env)
	}
	return fetch.Unavailable(e.page, e.overHTTP, e.overHTTPS)
}

// takeCoding makes a body that could not be decoded one that was not read: its header is there all the same.
func (e *evidence) takeCoding() {
	if e.page.Err == nil {
		return
	}
	if coding, ok := errors.AsType[*fetch.CodingError](e.page.Err); ok {
		e.coding, e.page.Err = coding, nil
	}
}

// unread reports whether the document was not to be read, or could not be decoded.
func (e *evidence) unread() bool { return e.req.Method == http.MethodHead || e.coding != nil }

func variant(u diag.URL, scheme string) diag.URL {
	if u.Scheme() == scheme {
		return u
	}
	v, err := diag.ParseURL(scheme + "://" + u.Host().String() + strings.TrimPrefix(u.String(), u.Origin()))
	if err != nil { // longer by a letter than a URL may be
		return u
	}
	return v
}

// probe asks for the page as foreign sites would.
func (e *evidence) probe(ctx context.Context, env *diag.Env) error {
	var failure [3]error
	var g diag.Group
	ask := func(i int, to **fetch.Result, method, origin string) {
		req := fetch.Request{
			URL: e.page.URL, Method: method, MaxBytes: probeBytes, AllowUntrusted: true,
			Header: http.Header{"Accept": {accept}, "Origin": {origin}}, Timeout: diag.TimeLeft(ctx, probeTimeout),
		}
		if method == http.MethodOptions {
			req.Header.Set("Access-Control-Request-Method", http.MethodGet)
		}
		g.Go(func() { *to, failure[i] = fetch.Do(ctx, env, req) })
	}
	ask(0, &e.probes.preflight, http.MethodOptions, foreignOrigin)
	ask(1, &e.probes.foreign, e.req.Method, foreignOrigin)
	ask(2, &e.probes.null, e.req.Method, "null")
	g.Wait()
	return cmp.Or(failure[:]...)
}

// evidence is the input of the rules; only gather and digest fill it.
type evidence struct {
	req    Request
	follow bool
	given  bool // the answer is one that was given to Judge, and nothing else is known
	now    time.Time

	page      *fetch.Result
	overHTTP  *fetch.Result // what http:// leads to; page if that was asked for
	overHTTPS *fetch.Result
	probes    probes
	security  *fetch.Result // security.txt; nil if it was not asked for

	coding   *fetch.CodingError // why the document of the page could not be decoded; nil if it could
	final    *fetch.Hop         // that is judged; nil if the chain ended before
	self     *url.URL           // its URL
	head     http.Header        // its header
	document *document          // its HTML; nil if it has none, or was not read

	hsts       []*hsts.Header
	enforced   []csp.Policy // of the header and of meta elements
	reportOnly []csp.Policy
	runs       csp.Runs // under those that are enforced
	commas     []comma
	cookies    []cookie
	features   features
	contacts   *securityTxt // nil if it is not known

	grade  *observatory.Result // nil without a grade
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
	if e.isPage() && !e.unread() {
		e.document = readDocument(e.page.Body, e.final)
	}
	e.hsts = kit.Map(e.values("Strict-Transport-Security"), hsts.Parse)
	e.enforced = csp.ParseList(e.value("Content-Security-Policy"))
	e.reportOnly = csp.ParseList(e.value("Content-Security-Policy-Report-Only"))
	if e.document != nil {
		for _, text := range e.document.policies {
			e.enforced = append(e.enforced, kit.Map(csp.ParseList(text), csp.Policy.InMeta)...)
		}
		e.enforced = e.enforced[:min(len(e.enforced), csp.MaxPolicies)]
	}
	e.runs, e.commas = e.mayRun(e.enforced), e.findCommas()
	e.contacts = e.readSecurityTxt()
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

// isPage reports whether browsers show the answer as a page of HTML. Without a media type they sniff the bytes.
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

func (e *evidence) mediaType() string { return mediaTypeOf(e.final) }

func mediaTypeOf(h *fetch.Hop) string {
	kind, _, err := mime.ParseMediaType(h.Header.Get("Content-Type"))
	if err != nil {
		kind, _, _ = strings.Cut(h.Header.Get("Content-Type"), ";")
	}
	return strings.ToLower(strings.TrimSpace(kind))
}

// redirects reports whether the answer that is judged leads elsewhere, as it does where redirects are not followed.
func (e *evidence) redirects() bool { return e.final.RedirectType != "" }

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
