package redirect

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
)

// turnsAway reports whether a status speaks of who asks rather than of the page: a wall against programs, a
// login, a limit (RFC 9110 sections 15.5.2 and 15.5.4, RFC 6585 section 4).
func turnsAway(h *fetch.Hop) bool {
	return h.StatusCode == http.StatusUnauthorized || h.StatusCode == http.StatusForbidden ||
		h.StatusCode == http.StatusTooManyRequests
}

// destinationRules are about the end of the chain.
var destinationRules = diag.Rules[*evidence]{{
	Code: "url.method", Severity: diag.Warning, Weight: 1, Ref: "RFC 9110 section 9.1",
	Title: "Server does not support HEAD", Requirement: "The server supports the method",
	Advice: "Check with GET. Servers must support HEAD wherever they support GET.", When: arrived,
	Fails: func(e *evidence) diag.Failures {
		code := e.end().hop.StatusCode
		refused := code == http.StatusMethodNotAllowed || code == http.StatusNotImplemented // RFC 9110 sections 15.5.6 and 15.6.2
		return diag.FailIf(e.head && refused, "%s answers a HEAD request with status %d.", e.end().at(), code).About(hop(e.end()))
	},
}, {
	Code: "url.status", Severity: diag.Error, Weight: 5, DependsOn: []diag.Code{"url.method"},
	Ref:   "RFC 9110 section 15",
	Title: "URL leads to an error page", Requirement: "The URL leads to a page that can be served",
	Advice: "Correct the link or the redirect, or restore the page.", When: arrived,
	Fails: func(e *evidence) diag.Failures {
		h := e.end().hop
		if h.StatusCode < http.StatusBadRequest || turnsAway(h) {
			return nil
		}
		f := diag.Fail("%s answers %d %s.", diag.Quote(h.URL), h.StatusCode, diag.Quote(h.StatusText)).About(hop(e.end()))
		if h.StatusCode >= http.StatusInternalServerError {
			f[0].Advice = "Find the cause in the log of the web server, or of the proxy in front of it."
		}
		return f
	},
}, {
	Code: "url.status.refused", Severity: diag.Warning, Weight: 1, Ref: "RFC 9110 section 15.5",
	Title: "Server turns the request away", Requirement: "The server does not turn the request away",
	Advice: "Check in a browser: the server may turn away bots, or visitors who have not signed in.", When: arrived,
	Fails: func(e *evidence) diag.Failures {
		h := e.end().hop
		return diag.FailIf(turnsAway(h), "%s answers %d %s. Visitors may still get the page.", diag.Quote(h.URL),
			h.StatusCode, diag.Quote(h.StatusText)).About(hop(e.end()))
	},
}, {
	Code: "url.status.unusual", Severity: diag.Warning, Weight: 1, DependsOn: []diag.Code{"url.location.missing"},
	Ref:         refRedirect,
	Title:       "URL ends with a status that shows no page",
	Requirement: "The URL does not end with a status between 300 and 399",
	Advice:      "Answer with status 200, or redirect with 301, 302, 303, 307 or 308.",
	When:        func(e *evidence) bool { return arrived(e) && !e.end().redirects() },
	Fails: func(e *evidence) diag.Failures {
		h := e.end().hop
		return diag.FailIf(h.StatusCode >= 300 && h.StatusCode < 400, "%s answers %d %s, which leads nowhere by itself.",
			diag.Quote(h.URL), h.StatusCode, diag.Quote(h.StatusText)).About(hop(e.end()))
	},
}}

// wayRules are about whom a visitor meets on the way.
var wayRules = diag.Rules[*evidence]{{
	Code: "url.host.lookalike", Severity: diag.Warning, Weight: 1, Ref: "UTS #39 section 4",
	Title: "Host name looks like another one", Requirement: "No host on the way looks like another one",
	Advice: "Do not enter passwords there unless you know the site: such names are used for phishing.",
	When:   answered,
	Fails: each(func(e *evidence, s *step) string {
		l, found := lookalike(s.url.Host())
		switch {
		case !found:
			return ""
		case l.ConfusableWith != "":
			return fmt.Sprintf("The label %q of %s is %s in the DNS, and looks like %q.", l.Unicode, s.unicode(), l.ASCII,
				l.ConfusableWith)
		default:
			return fmt.Sprintf("The label %q of %s mixes scripts that no language uses together: %s.", l.Unicode, s.unicode(),
				strings.Join(l.Scripts, ", "))
		}
	}),
}, {
	Code: "url.redirect.open", Severity: diag.Warning, Weight: 1, Category: factorRedirects, Ref: "CWE-601",
	Title:       "Query parameter decides where the redirect leads",
	Requirement: "No query parameter decides where a redirect leads",
	Advice:      "Allow known targets only, or sign the parameter: phishing uses open redirects of trusted sites.",
	When:        answered,
	Fails: each(func(e *evidence, s *step) string {
		if s.forwards == "" {
			return ""
		}
		return fmt.Sprintf("The parameter %q of %s holds the host to which it redirects: it may be an open redirect.",
			diag.Quote(s.forwards), s.at())
	}),
}}
