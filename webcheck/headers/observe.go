package headers

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/headers/observatory"
)

// The sources of a check.
const (
	fromPage      rule.Source = reach.SourceAnswer // without it nothing is judged
	fromHTTP      rule.Source = "http"             // what http:// leads to
	fromHTTPS     rule.Source = "https"
	fromPreflight rule.Source = "preflight"
	fromForeign   rule.Source = "foreign" // the page once more, as a foreign site would ask for it
	fromNull      rule.Source = "null"
	fromSecurity  rule.Source = "security.txt"
)

// Scope lists the parts of the way to the page, and the document, if one of them was left out.
func (e *evidence) Scope() []diag.ScopePart {
	if e.given {
		return e.givenScope()
	}
	if e.coding == nil || !e.coding.Unasked {
		return site.Observation(e).Scope()
	}
	return []diag.ScopePart{{Part: "header", State: diag.Examined},
		{Part: "document", State: diag.LeftOut, Reason: "its content coding is not understood here"}}
}

// Unanswered implements [rule.Unanswerer].
func (e *evidence) Unanswered() []rule.Source {
	if e.given {
		return nil // nothing was asked
	}
	open := site.Observation(e).Unanswered()
	for _, s := range []struct {
		source rule.Source
		answer *fetch.Result
	}{
		{fromHTTP, e.overHTTP}, {fromHTTPS, e.overHTTPS}, {fromPreflight, e.probes.preflight},
		{fromForeign, e.probes.foreign}, {fromNull, e.probes.null},
	} {
		if silent(s.answer) {
			open = append(open, s.source)
		}
	}
	if e.secure() && e.security != nil && silent(e.security) {
		open = append(open, fromSecurity)
	}
	return open
}

// A part is a test of the HTTP Observatory: the factor that it belongs to and the points that it takes at most.
type part struct {
	test   string
	factor rule.Category
	most   int
	reads  rule.Source
}

// parts are all tests, in the order of a reader.
var parts = []part{
	{"strict-transport-security", factorTransport, 20, fromHTTPS},
	{"redirection", factorTransport, 20, fromHTTP},
	{"content-security-policy", factorPolicy, 25, fromPage},
	{"x-frame-options", factorFraming, 20, fromPage},
	{"x-content-type-options", factorTypes, 5, fromPage},
	{"referrer-policy", factorPrivacy, 5, fromPage},
	{"cookies", factorCookies, 40, fromHTTPS},
	{"subresource-integrity", factorScripts, 50, fromPage},
	{"cross-origin-resource-sharing", factorSharing, 50, fromPreflight},
	{"cross-origin-opener-policy", factorIsolation, 5, fromPage},
	{"cross-origin-embedder-policy", factorIsolation, 5, fromPage},
	{"cross-origin-resource-policy", factorIsolation, 5, fromPage},
}

// A loss is a result of a test that takes points: the rules that state the same fault, and what the Observatory asks
// for where none of them found one.
type loss struct {
	rules []diag.Code
	asks  string
}

var untrustedCodes = []diag.Code{"headers.site.certificate.expired", "headers.site.certificate.early",
	"headers.site.certificate.untrusted", "headers.site.certificate.name"}

// losses are all results that take points.
var losses = map[string]loss{
	"csp-not-implemented": {[]diag.Code{"headers.csp.missing", "headers.csp.meta.directive"},
		"Send a Content-Security-Policy with a directive in it."},
	"csp-not-implemented-but-reporting-enabled": {[]diag.Code{"headers.csp.report_only"},
		"Send the policy as Content-Security-Policy, without Report-Only."},
	"csp-header-invalid": {[]diag.Code{"headers.csp.repeated", "headers.csp.scripts.dynamic",
		"headers.csp.scripts.unrestricted", "headers.csp.comma"},
		"Send one policy in one field, without empty or very short parts between commas and without a directive twice."},
	"csp-implemented-with-unsafe-inline": {[]diag.Code{"headers.csp.scripts.inline", "headers.csp.scripts.broad",
		"headers.csp.scripts.unrestricted", "headers.csp.scripts.handlers", "headers.csp.objects"},
		"In script-src, and in default-src where that stands for it, leave out 'unsafe-inline', data: and sources for any " +
			"host such as https:, and restrict object-src: the Observatory counts them even where browsers do not."},
	"csp-implemented-with-insecure-scheme": {[]diag.Code{"headers.csp.insecure"},
		"Leave sources with http: out of the policy: " +
			"the Observatory counts them even where browsers upgrade or ignore them."},
	"csp-implemented-with-insecure-scheme-in-passive-content-only": {[]diag.Code{"headers.csp.insecure"},
		"Leave sources with http: out of img-src, media-src and default-src: " +
			"the Observatory counts them even where browsers upgrade them."},
	"csp-implemented-with-unsafe-eval": {[]diag.Code{"headers.csp.scripts.eval"},
		"Leave 'unsafe-eval' out of script-src, style-src and default-src."},
	"cookies-without-secure-flag": {[]diag.Code{"headers.cookies.secure", "headers.cookies.session.secure",
		"headers.cookies.samesite.none", "headers.cookies.prefix", "headers.https.missing"},
		"Add Secure to every cookie, also to those that are removed."},
	"cookies-without-secure-flag-but-protected-by-hsts": {[]diag.Code{"headers.cookies.secure",
		"headers.cookies.samesite.none", "headers.cookies.prefix", "headers.https.missing"},
		"Add Secure to every cookie, also to those that are removed."},
	"cookies-session-without-secure-flag-but-protected-by-hsts": {[]diag.Code{"headers.cookies.secure",
		"headers.cookies.samesite.none", "headers.cookies.prefix", "headers.https.missing"},
		"Add Secure to every cookie whose name contains login or sess, also to those that are removed."},
	"cookies-session-without-secure-flag": {[]diag.Code{"headers.cookies.session.secure", "headers.cookies.secure",
		"headers.cookies.samesite.none", "headers.cookies.prefix", "headers.https.missing"},
		"Add Secure to every cookie whose name contains login or sess, also to those that are removed."},
	"cookies-session-without-httponly-flag": {[]diag.Code{"headers.cookies.session.httponly"},
		"Add HttpOnly to every cookie whose name contains login or sess, also to those that are removed."},
	"cookies-samesite-flag-invalid": {[]diag.Code{"headers.cookies.samesite.none", "headers.cookies.samesite.invalid"},
		"Set SameSite to Strict, Lax, or None with Secure."},
	"cookies-anticsrf-without-samesite-flag": {[]diag.Code{"headers.cookies.samesite.missing"},
		"Add SameSite to every cookie whose name contains csrf."},
	"cross-origin-resource-sharing-implemented-with-universal-access": {[]diag.Code{"headers.cors.reflected"},
		"Allow no foreign origin to read with credentials."},
	"redirection-off-host-from-http": {[]diag.Code{"headers.redirect.host"},
		"Redirect HTTP to HTTPS on the same host first."},
	"redirection-not-to-https-on-initial-redirection": {
		[]diag.Code{"headers.redirect.insecure", "headers.redirect.missing",
			"headers.https.missing"}, "Let the first redirect of HTTP lead to HTTPS.",
	},
	"redirection-not-to-https": {
		[]diag.Code{"headers.redirect.missing", "headers.redirect.insecure", "headers.https.missing"},
		"Redirect HTTP to HTTPS.",
	},
	"redirection-missing": {[]diag.Code{"headers.redirect.missing", "headers.https.missing"},
		"Redirect HTTP to HTTPS."},
	"redirection-invalid-cert": {untrustedCodes,
		"Give every host that HTTP redirects to a certificate that browsers trust."},
	"referrer-policy-unsafe": {[]diag.Code{"headers.referrer.leaks", "headers.referrer.insecure"},
		"Send a Referrer-Policy that tells other sites no more than the origin, and that over HTTPS only."},
	"referrer-policy-header-invalid": {[]diag.Code{"headers.referrer.invalid"},
		"Send a Referrer-Policy that browsers know."},
	"hsts-implemented-max-age-less-than-six-months": {
		[]diag.Code{"headers.hsts.short", "headers.hsts.zero", "headers.hsts.invalid"},
		"Raise max-age to 15552000 or more.",
	},
	"hsts-not-implemented": {[]diag.Code{"headers.hsts.missing", "headers.https.missing"},
		"Send Strict-Transport-Security on the page itself."},
	"hsts-header-invalid": {[]diag.Code{"headers.hsts.invalid", "headers.hsts.duplicate"},
		"Send Strict-Transport-Security once, with max-age written as max-age=31536000, without quotes and commas."},
	"hsts-not-implemented-no-https": {
		slices.Concat([]diag.Code{"headers.https.missing", "headers.hsts.missing"}, untrustedCodes),
		"Serve the page over HTTPS.",
	},
	"hsts-invalid-cert": {untrustedCodes, "Give the host a certificate that browsers trust."},
	"sri-not-implemented-but-external-scripts-loaded-securely": {[]diag.Code{"headers.scripts.integrity"},
		"Add integrity to the scripts of other sites."},
	"sri-implemented-but-external-scripts-not-loaded-securely": {
		[]diag.Code{"headers.scripts.insecure", "headers.scripts.scheme"},
		"Begin the URLs of scripts of other sites with https.",
	},
	"sri-not-implemented-and-external-scripts-not-loaded-securely": {
		[]diag.Code{"headers.scripts.insecure", "headers.scripts.scheme"},
		"Begin the URLs of scripts of other sites with https, and add integrity.",
	},
	"x-content-type-options-not-implemented": {[]diag.Code{"headers.content_type_options.missing"},
		"Send X-Content-Type-Options: nosniff."},
	"x-content-type-options-header-invalid": {[]diag.Code{"headers.content_type_options.invalid", "headers.duplicate"},
		"Send X-Content-Type-Options: nosniff once."},
	"x-frame-options-not-implemented": {[]diag.Code{"headers.frame_options.missing"},
		"Send X-Frame-Options, or frame-ancestors in Content-Security-Policy."},
	"x-frame-options-header-invalid": {[]diag.Code{"headers.frame_options.invalid", "headers.frame_options.conflict"},
		"Send X-Frame-Options once, with DENY or SAMEORIGIN."},
	"coop-header-invalid": {[]diag.Code{"headers.opener.invalid"}, "Send one value of Cross-Origin-Opener-Policy."},
	"coep-header-invalid": {[]diag.Code{"headers.embedder.invalid"}, "Send one value of Cross-Origin-Embedder-Policy."},
	"corp-header-invalid": {[]diag.Code{"headers.resource.invalid"}, "Send one value of Cross-Origin-Resource-Policy."},
}

// gradePage grades the page as the HTTP Observatory does. There is no grade where the Observatory gives none, where
// the page was not read, and where the answer is not a page.
func (e *evidence) gradePage() {
	if e.unread() || !e.isPage() || !observatory.Gradable(e.final.StatusCode) {
		return
	}
	s := observatory.Scan{
		Host: e.req.URL.Host().Name(), Secure: e.secure(), Page: *response(e.page), HTTP: response(e.overHTTP),
		HTTPS: response(e.overHTTPS), Preloaded: e.preloaded,
	}
	if e.overHTTP != nil {
		s.Redirects = kit.Map(e.overHTTP.Hops, func(h fetch.Hop) string { return h.URL })
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
	if e.given {
		open = e.notInAnswer()
	}
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

// Graded implements [rule.Grader]: the score is that of the HTTP Observatory, at most 100. Tests whose answers are not
// known are left out. What the Observatory adds for headers beyond need makes up for what it took.
func (e *evidence) Graded() (points []rule.Points, score int) {
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
			points = append(points, rule.Points{Category: p.factor})
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
		explains := func(f diag.Finding) bool { return slices.Contains(losses[t.Result].rules, f.Code) }
		return t.Modifier >= 0 || slices.ContainsFunc(findings, explains)
	})
}

// observatoryRules are about what only the Observatory minds.
var observatoryRules = rule.Rules[*evidence]{{
	Code: "headers.observatory", Severity: diag.Info, Ref: "HTTP Observatory, scoring methodology",
	Title:       "HTTP Observatory deducts points for how a field is written",
	Requirement: "The HTTP Observatory reads fields as browsers do",
	Advice: "Write the field in its plainest form: sent once, in one place, without empty, " +
		"repeated or obsolete parts.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.quirks, func(t observatory.Test) rule.Failures {
			f := rule.Fail("The test %s of the HTTP Observatory ends in %s, which costs %d points; browsers see no fault.",
				t.Name, t.Result, -t.Modifier).About(t.Name)
			f[0].Advice = losses[t.Result].asks
			return f
		})
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
	if r == nil || r.Final() == nil || r.Err != nil {
		return nil
	}
	return &observatory.Response{Header: r.Final().Header, Body: string(r.Body), Untrusted: untrusted(r.Hops) != nil}
}
