package redirect

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

// longChain is how many redirects are borne: https, the canonical host and one more.
const longChain = 3

func (e *evidence) looped() ([]step, []string) {
	hops, cookies := e.result.Looped()
	return e.steps[len(e.steps)-len(hops):], cookies
}

// flexible reports whether a loop is between http and https of one host.
func flexible(loop []step) bool {
	schemes := map[string]bool{}
	for i := range loop {
		if loop[i].url.Host() != loop[0].url.Host() {
			return false
		}
		schemes[loop[i].url.Scheme()] = true
	}
	return len(schemes) == 2
}

func describeLoop(loop []step) string {
	last := &loop[len(loop)-1]
	if len(loop) == 1 {
		return last.at() + " leads to itself."
	}
	return fmt.Sprintf("%s leads back to %s, so %s follow one another without end.", last.at(), last.target(),
		phrase.Count(len(loop), "redirect"))
}

var redirectRules = rule.Rules[*evidence]{{
	Code: "url.redirect.loop", Severity: diag.Critical, Weight: 3, Ref: refRedirect,
	Title: "Redirects form a loop", Requirement: "The redirects come to an end",
	Advice: "Remove one of the redirects of the loop.", When: answered,
	Fails: func(e *evidence) rule.Failures {
		loop, cookies := e.looped()
		if len(loop) == 0 || len(cookies) > 0 {
			return nil
		}
		f := rule.Fail("%s", describeLoop(loop)).About(hop(&loop[0]))
		if flexible(loop) {
			f[0].Advice = "Stop redirecting from https to http. If a proxy or CDN in front of the web server speaks http to " +
				"it, let the proxy use https there, or make the web server heed X-Forwarded-Proto."
		}
		return f
	},
}, {
	Code: "url.redirect.loop.cookie", Severity: diag.Error, Weight: 2, Ref: "RFC 6265 section 7.2",
	Title:       "Redirects form a loop for clients without cookies",
	Requirement: "The redirects come to an end without cookies",
	Advice:      "Serve the page without waiting for a cookie: crawlers, link previews and some visitors send none back.",
	When:        answered,
	Fails: func(e *evidence) rule.Failures {
		loop, names := e.looped()
		if len(names) == 0 {
			return nil
		}
		return rule.Fail("%s It sets %s (%s), so a browser that sends cookies back may get further.", describeLoop(loop),
			phrase.Count(len(names), "cookie"), phrase.Quote(list(names))).About(hop(&loop[0]))
	},
}, {
	Code: "url.redirect.limit", Severity: diag.Error, Weight: 2, Ref: refRedirect,
	Title: "Too many redirects", Requirement: "There are no more redirects than are followed",
	Advice: "Redirect straight to the final URL. Search engines give up after 10 redirects, browsers after 20.",
	When:   answered,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.truncated() && e.limit >= fetch.DefaultRedirects,
			"There are more than %d redirects; the next one leads to %s.", e.limit, e.last().target()).About(hop(e.last()))
	},
}, {
	Code: "url.redirect.stopped", Severity: diag.Info, Ref: refRedirect,
	Title: "More redirects than max_redirects allows", Requirement: "All redirects were followed",
	Advice: "Raise max_redirects to see where the URL leads.", When: answered,
	Fails: func(e *evidence) rule.Failures {
		if !e.stopped() {
			return nil
		}
		return rule.Fail("%s leads to %s, which was not requested: at most %s was allowed.", e.lastURL(),
			phrase.Quote(e.lastLocation()), phrase.Count(e.limit, "redirect")).About(hop(e.last()))
	},
}, {
	Code: "url.redirect.chain", Severity: diag.Warning, Weight: 1,
	DependsOn: []diag.Code{"url.redirect.loop", "url.redirect.loop.cookie", "url.redirect.limit"}, Ref: refRedirect,
	Title: "Chain of more than 3 redirects", Requirement: "There are at most 3 redirects",
	Advice: "Redirect straight to the final URL, and link to it: each redirect costs visitors a round trip or more.",
	Fails: func(e *evidence) rule.Failures {
		n := e.followed()
		return rule.FailIf(n > longChain, "%d redirects lead from %s to %s.", n, text(e.start), text(e.result.URL))
	},
}, {
	Code: "url.redirect.temporary", Severity: diag.Info, Ref: "RFC 9110 section 15.4.2",
	Title: "Redirect to https is temporary", Requirement: "Redirects to https are permanent",
	Advice: "Use status 301 or 308, so that browsers and search engines remember the https URL.", When: answered,
	Fails: each(func(e *evidence, s *step) string {
		if !s.upgrade() || s.crosses() || s.permanent() || s.hop.RedirectType != fetch.HTTPRedirect {
			return ""
		}
		return fmt.Sprintf("%s redirects to https with status %d, which is temporary.", s.at(), s.hop.StatusCode)
	}),
}}

var refreshRules = rule.Rules[*evidence]{{
	Code: "url.refresh", Severity: diag.Info, Ref: refRefresh,
	Title: "Refresh redirects instead of a status code", Requirement: "The server redirects, not a document",
	Advice: "Redirect with status 301 or 308: many clients ignore a refresh.", When: answered,
	Fails: each(func(e *evidence, s *step) string {
		if s.hop.RedirectType == fetch.HTTPRedirect || !s.redirects() {
			return ""
		}
		return fmt.Sprintf("%s leads to %s by %s.", s.at(), phrase.Quote(s.hop.Location), means(s.hop.RedirectType))
	}),
}, {
	Code: "url.refresh.delay", Severity: diag.Warning, Weight: 1,
	Ref:   "WCAG 2.2 success criterion 2.2.1, failure F40",
	Title: "Redirect after a delay", Requirement: "No redirect waits",
	Advice: "Redirect immediately, with status 301 or 308: a page that disappears by itself confuses readers.",
	When:   answered,
	Fails: each(func(e *evidence, s *step) string {
		if s.hop.After == 0 {
			return ""
		}
		return fmt.Sprintf("%s leads elsewhere after %s.", s.at(), phrase.Count(int64(s.hop.After.Seconds()), "second"))
	}),
}, {
	Code: "url.refresh.later", Severity: diag.Info, Ref: "WCAG 2.2 success criterion 2.2.1, failure F41",
	Title: "Page refreshes by itself", Requirement: "The page stays as it is",
	Advice: "Update the page with a script, or let readers decide when to reload it.", When: arrived,
	Fails: func(e *evidence) rule.Failures {
		if e.later == nil {
			return nil
		}
		after := phrase.Count(int64(e.later.After.Seconds()), "second")
		if e.later.Target == "" {
			return rule.Fail("%s reloads after %s, by %s.", e.end().at(), after, means(e.later.Type)).
				About(hop(e.end()))
		}
		return rule.Fail("%s leads to %s after %s, by %s, which was not followed.", e.end().at(),
			phrase.Quote(e.later.Target), after, means(e.later.Type)).About(hop(e.end()))
	},
}, {
	Code: "url.refresh.unsafe", Severity: diag.Warning, Weight: 1, Ref: refRefresh,
	Title: "Page refresh that browsers ignore", Requirement: "No page refresh leads where browsers refuse to go",
	Advice: "Remove the refresh, or let it lead to an https URL.",
	When:   func(e *evidence) bool { return arrived(e) && !e.head },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.ignored != "", "%s is meant to lead to %s by a meta refresh, which browsers ignore.",
			e.end().at(),
			phrase.Quote(e.ignored)).About(hop(e.end()))
	},
}, {
	Code: "url.script", Severity: diag.Info, Ref: "HTML Standard, the Location interface",
	Title: "Page may redirect by a script", Requirement: "No script of the page seems to redirect",
	Advice: "Redirect with status 301 or 308: crawlers and link previews run no scripts.", When: arrived,
	Fails: func(e *evidence) rule.Failures {
		s := e.end()
		return rule.FailIf(s.script != "", "A script of %s names %s as the next location. It was not run.", s.at(),
			phrase.Quote(s.script)).About(hop(s))
	},
}}

// means names the ways in which a document redirects.
func means(t fetch.RedirectType) string {
	if t == fetch.HeaderRefresh {
		return "a Refresh header"
	}
	return "a meta refresh"
}

// faulty fails with a sentence about the target of the last hop if it has that kind of fault.
func faulty(kind locationKind, format string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		if e.location == nil || e.location.kind != kind {
			return nil
		}
		return rule.Fail(format, e.lastURL(), phrase.Quote(e.lastLocation())).About(hop(e.last()))
	}
}

// redirects are the statuses with which an answer should name a target (RFC 9110 section 15.4).
var redirects = []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
	http.StatusPermanentRedirect}

var locationRules = rule.Rules[*evidence]{{
	Code: "url.location.missing", Severity: diag.Error, Weight: 3, Ref: refRedirect,
	Title: "Redirect has no Location", Requirement: "Every redirect names its target",
	Advice: "Send a Location header with the redirect, or another status.",
	Fails: func(e *evidence) rule.Failures {
		s := e.last()
		lacks := "without a Location header"
		if line := s.lostLocation(); line != "" {
			lacks = fmt.Sprintf("with the header line %q, which is not read as a Location", phrase.Quote(line))
		} else if len(s.hop.Header.Values("Location")) > 0 {
			lacks = "with an empty Location header"
		}
		return rule.FailIf(slices.Contains(redirects, s.hop.StatusCode) && !s.redirects(),
			"%s answers %d %s, so browsers show an empty page.", s.at(), s.hop.StatusCode, lacks).About(hop(s))
	},
}, {
	Code: "url.location.backslash", Severity: diag.Warning, Weight: 1, Ref: refLocation,
	Title: "Location has a backslash", Requirement: "No Location has a backslash",
	Advice: "Write slashes. If the target comes from the request, allow known targets only: a backslash is a way " +
		"around checks for URLs of other sites.",
	Fails: each(func(_ *evidence, s *step) string {
		if !s.hop.Oddities.Backslash || s.hop.Target.IsZero() {
			return ""
		}
		return fmt.Sprintf("%s leads to %q. Browsers take the backslash for a slash and open %s, while other clients take "+
			"it for a part of the path or refuse it.", s.at(), phrase.Quote(withoutSecret(s.hop.Location)), s.target())
	}),
}, {
	Code: "url.location.malformed", Severity: diag.Error, Weight: 3, Ref: refLocation,
	Title: "Target of a redirect is malformed", Requirement: "The targets of redirects are well formed",
	Advice: "Send a valid URL in Location, with everything else percent-encoded.",
	Fails: func(e *evidence) rule.Failures {
		f := faulty(malformed, "%s leads to %q, which clients cannot read or read differently.")(e)
		if f != nil && e.result.Err != nil {
			f[0].Detail = fmt.Sprintf("%s leads to %q. %s", e.lastURL(), phrase.Quote(e.lastLocation()),
				phrase.Sentence(e.result.Err.Message))
		}
		return f
	},
}, {
	Code: "url.location.raw", Severity: diag.Info, Ref: "RFC 3986 section 2.1",
	Title:       "Location has characters that must be percent-encoded",
	Requirement: "The targets of redirects are percent-encoded",
	Advice: "Percent-encode what is not part of a URL's syntax (a space is %20), and write a host in ASCII (xn--): " +
		"browsers do it themselves, while other clients refuse such a Location or cut it off.",
	Fails: each(func(e *evidence, s *step) string {
		if s.hop.RedirectType != fetch.HTTPRedirect || s.hop.Target.IsZero() {
			return ""
		}
		raw := rawIn(s.located())
		if raw == "" {
			return ""
		}
		return fmt.Sprintf("%s has %s in its Location, %q. Browsers encode it and open %s.", s.at(), raw,
			phrase.Quote(withoutSecret(s.hop.Location)), s.target())
	}),
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
	Code: "url.location.multiple", Severity: diag.Error, Weight: 2, Ref: "RFC 9110 section 5.3",
	Title: "Several Location headers", Requirement: "Every redirect has one Location header",
	Advice: "Send one Location header: browsers show an error page for several, " +
		"and other clients follow one or the other.",
	Fails: each(func(e *evidence, s *step) string {
		all := locations(s.hop)
		if len(all) < 2 || s.hop.RedirectType != fetch.HTTPRedirect {
			return ""
		}
		return fmt.Sprintf("%s has %d different Location headers. Chrome and Firefox refuse such a response; the first, "+
			"%s, was followed here.", s.at(), len(all),
			phrase.Quote(withoutSecret(s.hop.Location)))
	}),
}}

// hostRules are about targets that lead to an unintended host.
var hostRules = rule.Rules[*evidence]{{
	Code: "url.location.host", Severity: diag.Error, Weight: 3, Ref: "RFC 9110 section 4.2.2",
	Title:       "Redirect has no valid host in its target",
	Requirement: "Every redirect to another site names its host behind two slashes",
	Advice:      "Send a complete URL, such as https://www.example.com/login, or a path that begins with one slash.",
	Fails:       each(hostless),
}}

// schemeless reports whether a Location is a URL without its scheme, or without the colon behind it: a path that begins
// with the host itself, or one below or above it, is unintended.
func (s *step) schemeless() bool {
	if s.hop.RedirectType != fetch.HTTPRedirect {
		return false
	}
	first, rest, _ := strings.Cut(strings.ToLower(s.located()), "/")
	if (first == "http" || first == "https") && strings.HasPrefix(rest, "/") {
		return true
	}
	host, named := s.url.Host().Domain()
	first, _, _ = strings.Cut(first, "?")
	return named && (first == host.String() || first == "www."+host.String() || "www."+first == host.String())
}

// lostLocation returns the line of the header that was meant as a Location and is not one, or nothing.
func (s *step) lostLocation() string {
	for _, f := range s.hop.Faults {
		if !f.Read && strings.HasPrefix(strings.ToLower(strings.TrimLeft(f.Line, " \t")), "location") {
			return f.Line
		}
	}
	return ""
}

// hostless says that the target of a redirect lacks a host where one belongs, and how clients interpret it.
func hostless(_ *evidence, s *step) string {
	to := s.hop.Target
	if to.IsZero() || s.hop.RedirectType == "" {
		return ""
	}
	shown := phrase.Quote(withoutSecret(s.hop.Location))
	switch host := to.Host().Name(); {
	case s.schemeless():
		return fmt.Sprintf("%s leads to %q, which lacks https:// in front, so clients take it for a path and open %s.",
			s.at(), shown,
			s.target())
	case s.hop.Oddities.Slashes:
		return fmt.Sprintf("%s leads to %q, where two slashes and a host belong. Browsers open %s; other clients must "+
			"refuse a URL without a host, or go elsewhere.", s.at(), shown, s.target())
	case (host == "http" || host == "https") && to.Host() != s.url.Host():
		return fmt.Sprintf("%s leads to %q, where the scheme appears twice: clients look up a host named %s.", s.at(), shown,
			host)
	}
	return ""
}
