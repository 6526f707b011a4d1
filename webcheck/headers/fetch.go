package headers

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
)

// The bounds of what is fetched.
const (
	// MaxPage bounds the part of a page that is read. Elements that load something stand in the first half
	// megabyte, or are added by scripts.
	MaxPage = 1 << 20
	// Memory is what a check takes at worst: three fetches of the longest page with the longest head, and what is
	// made of them.
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

// accept is what browsers send in the Accept field when a page is opened.
const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// A probes are requests that a foreign site would cause.
type probes struct {
	preflight *fetch.Result // OPTIONS, as before a request with credentials
	foreign   *fetch.Result // GET from a foreign origin
	null      *fetch.Result // GET from the origin null, as of a sandboxed frame
}

// gather fetches the page and what http and https lead to, all at once; then, where the page is known, probes of CORS.
func gather(ctx context.Context, env *diag.Env, req Request) (*evidence, error) {
	e := &evidence{req: req, now: env.Now(), follow: req.FollowRedirects == nil || *req.FollowRedirects}
	page := fetch.Request{
		URL: req.URL, Method: req.Method, Header: http.Header{"Accept": {accept}}, MaxBytes: MaxPage,
		Timeout: diag.TimeLeft(ctx, timeout), AllowUntrusted: true,
	}
	chain := page
	chain.MaxRedirects = fetch.DefaultRedirects
	if e.follow {
		page = chain
	}
	var failure [3]error
	var g diag.Group
	g.Go(func() { e.page, failure[0] = fetch.Do(ctx, env, page) })
	overHTTP, overHTTPS := variant(req.URL, "http"), variant(req.URL, "https")
	// The same URL need not be fetched twice.
	if !e.follow || overHTTP != req.URL {
		g.Go(func() { e.overHTTP, failure[1] = doURL(ctx, env, chain, overHTTP) })
	}
	if !e.follow || overHTTPS != req.URL {
		g.Go(func() { e.overHTTPS, failure[2] = doURL(ctx, env, chain, overHTTPS) })
	}
	g.Wait()
	for _, err := range failure {
		if err != nil {
			return nil, err
		}
	}
	if e.overHTTP == nil {
		e.overHTTP = e.page
	}
	if e.overHTTPS == nil {
		e.overHTTPS = e.page
	}
	if e.page.Err == nil {
		return e, e.probe(ctx, env)
	}
	return e, fetch.Unavailable(e.page, e.overHTTP, e.overHTTPS)
}

// doURL fetches another URL in the same way.
func doURL(ctx context.Context, env *diag.Env, req fetch.Request, u diag.URL) (*fetch.Result, error) {
	req.URL = u
	return fetch.Do(ctx, env, req)
}

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
	failure := make([]error, 3)
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
	for _, err := range failure {
		if err != nil {
			return err
		}
	}
	return nil
}
