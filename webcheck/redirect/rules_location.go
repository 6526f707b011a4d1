package redirect

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
)

// faulty fails with a sentence about the target of the last hop if it has that kind of fault.
func faulty(kind locationKind, format string) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		if e.location == nil || e.location.kind != kind {
			return nil
		}
		return diag.Fail(format, e.lastURL(), diag.Quote(e.lastLocation())).About(hop(e.last()))
	}
}

// redirects are the statuses with which an answer should name a target (RFC 9110 section 15.4).
var redirects = []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
	http.StatusPermanentRedirect}

// locationRules are about what stands in Location, or in a refresh.
var locationRules = diag.Rules[*evidence]{{
	Code: "url.location.missing", Severity: diag.Error, Weight: 3, Ref: refRedirect,
	Title: "Redirect has no Location", Requirement: "Every redirect names its target",
	Advice: "Send a Location header with the redirect, or another status.",
	Fails: func(e *evidence) diag.Failures {
		s := e.last()
		return diag.FailIf(slices.Contains(redirects, s.hop.StatusCode) && !s.redirects(),
			"%s answers %d without a Location header, so browsers show an empty page.", s.at(), s.hop.StatusCode).About(hop(s))
	},
}, {
	Code: "url.location.malformed", Severity: diag.Error, Weight: 3, Ref: refLocation,
	Title: "Target of a redirect is malformed", Requirement: "The targets of redirects are well formed",
	Advice: "Send a valid URL in Location, with everything else percent-encoded.",
	Fails: func(e *evidence) diag.Failures {
		f := faulty(malformed, "%s leads to %q, which clients cannot read or read differently.")(e)
		if f != nil && e.result.Err != nil {
			f[0].Detail = fmt.Sprintf("%s leads to %q. %s", e.lastURL(), diag.Quote(e.lastLocation()),
				diag.Sentence(e.result.Err.Message))
		}
		return f
	},
}, {
	Code: "url.location.credentials", Severity: diag.Error, Weight: 3, Ref: "RFC 9110 section 4.2.4",
	Title:       "Redirect has a user name or password in its target",
	Requirement: "No redirect has a user name or password in its target",
	Advice: "Remove the user name and password from the URL, and change the password: it is in logs and histories. " +
		"Where they only imitate a host name, the redirect deceives visitors.",
	Fails: faulty(credentials, "%s leads to %s, with a user name or password in front of the host. It was not followed."),
}, {
	Code: "url.location.unsafe", Severity: diag.Error, Weight: 3, Ref: "Fetch Standard, HTTP-redirect fetch",
	Title: "Redirect that browsers do not follow", Requirement: "No redirect leads where browsers refuse to go",
	Advice: "Redirect to an https URL. If the target comes from the request, allow known targets only.",
	Fails:  faulty(unsafe, "%s leads to %s, which browsers do not follow."),
}, {
	Code: "url.location.scheme", Severity: diag.Warning, Weight: 1, Ref: refLocation,
	Title: "Redirect leads to something other than a web page", Requirement: "Redirects stay on the web",
	Advice: "Offer a web page for visitors who do not have the app.",
	Fails:  faulty(otherScheme, "%s leads to %s, which needs an app that handles that scheme."),
}, {
	Code: "url.location.multiple", Severity: diag.Warning, Weight: 1, Ref: "RFC 9110 section 5.3",
	Title: "Several Location headers", Requirement: "Every redirect has one Location header",
	Advice: "Send one Location header: clients differ on which of several they follow, and some refuse them all.",
	Fails: each(func(e *evidence, s *step) string {
		all := locations(s.hop)
		if len(all) < 2 || s.hop.RedirectType != fetch.HTTPRedirect {
			return ""
		}
		return fmt.Sprintf("%s has %d different Location headers; the first, %s, was followed.", s.at(), len(all),
			diag.Quote(withoutSecret(s.hop.Location)))
	}),
}}
