package headers

import (
	"net/http"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/ground"
	"github.com/diagkit/diagkit/webcheck/headers/observatory"
)

// The sources of a check.
const (
	fromPage      diag.Source = ground.SourceAnswer // without it nothing is judged
	fromHTTP      diag.Source = "http"              // what http:// leads to
	fromHTTPS     diag.Source = "https"
	fromPreflight diag.Source = "preflight"
	fromForeign   diag.Source = "foreign" // the page once more, as a foreign site would ask for it
	fromNull      diag.Source = "null"
)

// Unanswered implements [diag.Asked].
func (e *evidence) Unanswered() []diag.Source {
	open := site.Seen(e).Unanswered()
	for _, s := range []struct {
		source diag.Source
		answer *fetch.Result
	}{
		{fromHTTP, e.overHTTP}, {fromHTTPS, e.overHTTPS}, {fromPreflight, e.probes.preflight},
		{fromForeign, e.probes.foreign}, {fromNull, e.probes.null},
	} {
		if silent(s.answer) {
			open = append(open, s.source)
		}
	}
	return open
}

// A part is a test of the HTTP Observatory: the factor that it belongs to, the points that it takes at most, and the
// rules that say why it takes any.
type part struct {
	test   string
	factor diag.Category
	most   int
	reads  diag.Source
	rules  []diag.Code
}

// parts are all tests, in the order of a reader.
var parts = []part{
	{"strict-transport-security", factorTransport, 20, fromHTTPS, []diag.Code{"headers.hsts.missing",
		"headers.hsts.invalid", "headers.hsts.zero", "headers.hsts.short", "headers.hsts.duplicate",
		"headers.https.missing", "headers.site.certificate.expired", "headers.site.certificate.early",
		"headers.site.certificate.untrusted", "headers.site.certificate.name"}},
	{"redirection", factorTransport, 20, fromHTTP, []diag.Code{"headers.redirect.missing", "headers.redirect.insecure",
		"headers.redirect.host", "headers.https.missing", "headers.site.certificate.expired",
		"headers.site.certificate.early", "headers.site.certificate.untrusted", "headers.site.certificate.name"}},
	{"content-security-policy", factorPolicy, 25, fromPage, []diag.Code{"headers.csp.missing",
		"headers.csp.report_only", "headers.csp.scripts.unrestricted", "headers.csp.scripts.inline",
		"headers.csp.scripts.broad", "headers.csp.scripts.eval", "headers.csp.scripts.dynamic", "headers.csp.objects",
		"headers.csp.insecure", "headers.csp.repeated", "headers.csp.meta.directive"}},
	{"x-frame-options", factorFraming, 20, fromPage, []diag.Code{"headers.frame_options.missing",
		"headers.frame_options.invalid", "headers.frame_options.conflict"}},
	{"x-content-type-options", factorTypes, 5, fromPage, []diag.Code{"headers.content_type_options.missing",
		"headers.content_type_options.invalid", "headers.duplicate"}},
	{"referrer-policy", factorPrivacy, 5, fromPage, []diag.Code{"headers.referrer.invalid", "headers.referrer.leaks",
		"headers.referrer.insecure"}},
	{"cookies", factorCookies, 40, fromHTTPS, []diag.Code{"headers.cookies.samesite.none",
		"headers.cookies.session.secure", "headers.cookies.session.httponly", "headers.cookies.secure",
		"headers.cookies.samesite.invalid", "headers.cookies.samesite.missing", "headers.https.missing"}},
	{"subresource-integrity", factorScripts, 50, fromPage, []diag.Code{"headers.scripts.insecure",
		"headers.scripts.scheme", "headers.scripts.integrity"}},
	{"cross-origin-resource-sharing", factorSharing, 50, fromPreflight, []diag.Code{"headers.cors.reflected"}},
	{"cross-origin-opener-policy", factorIsolation, 5, fromPage, []diag.Code{"headers.opener.invalid"}},
	{"cross-origin-embedder-policy", factorIsolation, 5, fromPage, []diag.Code{"headers.embedder.invalid"}},
	{"cross-origin-resource-policy", factorIsolation, 5, fromPage, []diag.Code{"headers.resource.invalid"}},
}

// gradePage grades the page as the HTTP Observatory does. Where that gives no grade, where the page was not read, and
// where the answer is no page there is none.
func (e *evidence) gradePage() {
	if e.req.Method == http.MethodHead || !e.isPage() || !observatory.Gradable(e.final.StatusCode) {
		return
	}
	s := observatory.Scan{
		Host: e.req.URL.Host().Name(), Secure: e.secure(), Page: *response(e.page), HTTP: response(e.overHTTP),
		HTTPS: response(e.overHTTPS), Preloaded: e.preloaded,
		Redirects: diag.Map(e.overHTTP.Hops, func(h fetch.Hop) string { return h.URL }),
	}
	if s.Secure {
		s.HTTPS = &s.Page
	}
	for _, h := range e.page.Hops {
		for _, line := range h.Header.Values("Set-Cookie") {
			s.Cookies = append(s.Cookies, observatory.Cookie{URL: h.URL, Line: line})
		}
	}
	if p := e.probes.preflight; p != nil && p.Final() != nil && p.Final().StatusCode < 300 {
		s.CORS = &observatory.CORS{Origin: foreignOrigin, Header: p.Final().Header}
	}
	grade := observatory.Grade(s)
	open := e.Unanswered()
	for _, t := range grade.Tests {
		i := slices.IndexFunc(parts, func(p part) bool { return p.test == t.Name })
		reads := parts[i].reads
		if !slices.Contains(open, reads) || reads == fromHTTPS && s.Secure {
			e.tests = append(e.tests, t)
		}
	}
	if len(e.tests) == len(grade.Tests) { // else it is not the Observatory's
		e.grade = &grade
	}
}

// Graded implements [diag.Graded]: the score is that of the HTTP Observatory, at most 100. Tests whose answers are not
// known are left out. What the Observatory adds for headers beyond need makes up for what it took.
func (e *evidence) Graded() (points []diag.Points, score int) {
	if len(e.tests) == 0 {
		return nil, 0
	}
	lost := 0
	for _, p := range parts {
		i := slices.IndexFunc(e.tests, func(t observatory.Test) bool { return t.Name == p.test })
		if i < 0 {
			continue
		}
		if n := len(points); n == 0 || points[n-1].Category != p.factor {
			points = append(points, diag.Points{Category: p.factor})
		}
		takes := -min(0, e.tests[i].Modifier)
		last := &points[len(points)-1]
		last.Max, last.Earned = last.Max+p.most, last.Earned+p.most-takes
		lost += takes
	}
	score = min(100, observatory.Score(e.tests))
	for i := range points {
		p := &points[i]
		made := min(p.Max-p.Earned, max(0, score-max(0, 100-lost)))
		p.Earned, lost = p.Earned+made, lost-made
	}
	return points, score
}

// unexplained returns the tests that took points although no finding says why: the Observatory reads some fields in a
// way of its own.
func (e *evidence) unexplained(findings []diag.Finding) []observatory.Test {
	return slices.DeleteFunc(slices.Clone(e.tests), func(t observatory.Test) bool {
		i := slices.IndexFunc(parts, func(p part) bool { return p.test == t.Name })
		explains := func(f diag.Finding) bool { return slices.Contains(parts[i].rules, f.Code) }
		return t.Modifier >= 0 || slices.ContainsFunc(findings, explains)
	})
}

// observatoryRules are about what only the Observatory minds.
var observatoryRules = diag.Rules[*evidence]{{
	Code: "headers.observatory", Severity: diag.Info, Ref: "HTTP Observatory, scoring methodology",
	Title:       "HTTP Observatory deducts points for how a field is written",
	Requirement: "The HTTP Observatory reads fields as browsers do",
	Advice:      "Write the field in its plainest form: sent once, in one place, without empty, repeated or obsolete parts.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.quirks, func(t observatory.Test) diag.Failures {
			return diag.Fail("The test %s of the HTTP Observatory ends in %s, which costs %d points; browsers see no fault.",
				t.Name, t.Result, -t.Modifier).About(t.Name)
		}).Together("%d tests of the HTTP Observatory take points; browsers see no such faults.", len(e.quirks))
	},
}}

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
	return &observatory.Response{Header: r.Final().Header, Body: string(r.Body), Untrusted: untrusted(r.Hops) != nil}
}
