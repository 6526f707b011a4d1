package headers

import (
	"strings"

	"net/http"

	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/webcheck/headers/observatory"
)

// observatory grades the site as the HTTP Observatory does: by what https:// leads to, or http:// if there is no
// https. It returns nil where that gives no grade, or where the page was not read.
func (e *evidence) observatory() *observatory.Result {
	if e.req.Method == http.MethodHead || e.overHTTP == nil || e.overHTTPS == nil {
		return nil
	}
	s := observatory.Scan{Host: e.req.URL.Host().Name(), HTTP: response(e.overHTTP), HTTPS: response(e.overHTTPS),
		Preloaded: e.preloaded}
	chain := e.overHTTPS
	switch {
	case s.HTTPS != nil:
		s.Secure, s.Page = true, *s.HTTPS
	case s.HTTP != nil:
		chain, s.Page = e.overHTTP, *s.HTTP
	default:
		return nil
	}
	if !observatory.Gradable(s.Page.StatusCode) {
		return nil
	}
	for _, h := range e.overHTTP.Hops {
		s.Redirects = append(s.Redirects, observatory.Step{URL: h.URL, StatusCode: h.StatusCode})
	}
	for _, h := range chain.Hops {
		for _, line := range h.Header.Values("Set-Cookie") {
			s.Cookies = append(s.Cookies, observatory.Cookie{URL: h.URL, Line: line})
		}
	}
	if p := e.probes.preflight; p != nil && p.Final() != nil && p.Final().StatusCode < 300 {
		s.CORS = &observatory.CORS{Origin: foreignOrigin, Header: p.Final().Header}
	}
	r := observatory.Grade(s)
	return &r
}

// preloaded reports whether browsers know a host, by itself or by a domain above it, as one for https only.
func (e *evidence) preloaded(host string) bool {
	if e.preload == nil {
		return false
	}
	entry, ok := e.preload.Lookup(strings.ToLower(strings.TrimSuffix(host, ".")))
	return ok && !entry.Pending
}

// response returns the end of a chain, or nil if it did not reach one. A chain that is too long ends where it is left.
func response(r *fetch.Result) *observatory.Response {
	if r.Final() == nil || r.Err != nil {
		return nil
	}
	untrusted := false
	for _, h := range r.Hops {
		untrusted = untrusted || h.TLS != nil && h.TLS.Err() != nil
	}
	return &observatory.Response{
		StatusCode: r.Final().StatusCode, Header: r.Final().Header, Body: string(r.Body), Untrusted: untrusted,
	}
}
