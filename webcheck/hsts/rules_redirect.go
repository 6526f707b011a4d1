package hsts

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
)

func served(e *evidence) bool { return first(e.http) != nil }

func redirected(e *evidence) bool { return served(e) && len(leads(e.http)) > 0 }

// toSite reports whether the first redirect leads to the same host over HTTPS.
func toSite(e *evidence) bool {
	if !redirected(e) {
		return false
	}
	to := leads(e.http)[0]
	return to.Scheme == "https" && hostOf(to) == e.domain.String()
}

const redirectAdvice = "Redirect every http:// URL with 301 or 308 to the same host at https:// first, and only from there to another host."

var redirectRules = diag.Rules[*evidence]{{
	Code: "hsts.http.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, DependsOn: []diag.Code{needsHTTPS},
	Ref:         "RFC 6797 section 7.2",
	Title:       "Site did not answer over plain HTTP in time",
	Requirement: "The site answers over plain HTTP in time, or refuses connections",
	Advice:      "Make port 80 answer or refuse connections: while it is silent, old links hang.", When: answered,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(silent(e.http), "http://%s/ did not answer, so where it leads is not known.",
			e.domain)
	},
}, {
	Code: "hsts.redirect.missing", Severity: diag.Warning, Weight: 25, DependsOn: []diag.Code{needsHTTPS},
	Ref:   "RFC 6797 section 7.2",
	Title: "Plain HTTP does not redirect to HTTPS", Requirement: "Plain HTTP redirects",
	Advice: redirectAdvice, When: served,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(!redirected(e), "http://%[1]s/ answers with status %[2]d and does not "+
			"redirect to https://%[1]s/, so a first visit stays unencrypted.",
			e.domain, first(e.http).StatusCode)
	},
}, {
	Code: "hsts.redirect.insecure", Severity: diag.Warning, Weight: 12,
	DependsOn: []diag.Code{"hsts.redirect.missing"}, Ref: "RFC 6797 section 7.2",
	Title: "First redirect stays on plain HTTP", Requirement: "The first redirect from plain HTTP leads to HTTPS",
	Advice: redirectAdvice,
	Fails: func(e *evidence) diag.Failures {
		to := leads(e.http)[0]
		return diag.FailIf(to.Scheme != "https", "http://%[1]s/ redirects to %[2]s first, not to https://%[1]s/.",
			e.domain, diag.Quote(to.String()))
	},
}, {
	Code: "hsts.redirect.host", Severity: diag.Warning, Weight: 8, DependsOn: []diag.Code{"hsts.redirect.insecure"},
	Ref:         "hstspreload.org, \"Submission Requirements\"",
	Title:       "First redirect leads to another host",
	Requirement: "The first redirect from plain HTTP stays on the host",
	Advice:      redirectAdvice,
	Fails: func(e *evidence) diag.Failures {
		if toSite(e) {
			return nil
		}
		return diag.Failures{{
			Detail: fmt.Sprintf("http://%[1]s/ redirects to the host %[2]s first, so browsers never see the HSTS header of %[1]s.",
				e.domain, diag.Quote(hostOf(leads(e.http)[0]))),
			Advice: fmt.Sprintf("Redirect http://%[1]s/ to https://%[1]s/ first, and from there to %[2]s.", e.domain,
				diag.Quote(hostOf(leads(e.http)[0]))),
		}}
	},
}, {
	Code: "hsts.redirect.header", Severity: diag.Warning, Weight: 6, DependsOn: []diag.Code{"hsts.redirect.host"},
	Ref:         "RFC 6797 section 7.2",
	Title:       "Page behind the redirect sends no valid HSTS header",
	Requirement: "The page behind the redirect sends a valid HSTS header",
	Advice:      "Send the header with every HTTPS response, including redirects and error pages.",
	When:        func(e *evidence) bool { return e.inForce() && e.afterRedirect() != nil },
	Fails: func(e *evidence) diag.Failures {
		next := e.afterRedirect()
		fields := fieldsOf(next)
		return diag.FailIf(len(fields) == 0 || !Parse(fields[0]).Valid(),
			"https://%s/ sends a valid header, but %s, to which plain HTTP redirects, does not.", e.domain, diag.Quote(next.URL))
	},
}, {
	Code: "hsts.redirect.downgrade", Severity: diag.Error, Weight: 8, DependsOn: []diag.Code{needsHTTPS},
	Ref:   "RFC 6797 section 7.2",
	Title: "HTTPS redirects back to plain HTTP", Requirement: "No redirect leads from HTTPS to plain HTTP",
	Advice: "Redirect to https:// URLs only.",
	Fails:  func(e *evidence) diag.Failures { return either(e, downgrade) },
}, {
	Code: "hsts.redirect.many", Severity: diag.Warning, Weight: 4, DependsOn: []diag.Code{"hsts.redirect.downgrade"},
	Ref:   "hstspreload.org, \"Submission Requirements\"",
	Title: "Too many redirects", Requirement: "There are at most 3 redirects",
	Advice: "Shorten the chain: from http:// to https:// on the same host, and from there to the page.",
	Fails:  func(e *evidence) diag.Failures { return either(e, long) },
}, {
	Code: "hsts.redirect.broken", Severity: diag.Warning, Weight: 5, DependsOn: needsTrust,
	Ref:         "hstspreload.org, \"Submission Requirements\"",
	Title:       "Redirect leads to a page that cannot be fetched",
	Requirement: "All redirects lead to pages that can be fetched",
	Advice:      "Redirect to a page that answers over HTTPS with a valid certificate.",
	Fails: func(e *evidence) diag.Failures {
		return either(e, dead)
	},
}, {
	Code: "hsts.http.header", Severity: diag.Warning, DependsOn: []diag.Code{needsHTTPS}, Ref: "RFC 6797 section 7.2",
	Title: "HSTS header over plain HTTP has no effect", Requirement: "Plain HTTP does not send the HSTS header",
	Advice: "Send the header over HTTPS only: over plain HTTP browsers ignore it, and it must not be sent.",
	When:   func(e *evidence) bool { return served(e) && present(e) },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(len(fieldsOf(first(e.http))) > 0, "http://%s/ sends a Strict-Transport-Security header.",
			e.domain)
	},
}}

// either fails with what is wrong with the redirects from HTTPS, or else from plain HTTP, which lead on to those.
func either(e *evidence, fails func(*fetch.Result) diag.Failures) diag.Failures {
	if first(e.https) != nil {
		if failures := fails(e.https); len(failures) > 0 {
			return failures
		}
	}
	if first(e.http) == nil {
		return nil
	}
	return fails(e.http)
}

// downgrade fails with the first redirect of a chain that leads from HTTPS to plain HTTP.
func downgrade(r *fetch.Result) diag.Failures {
	for i, to := range leads(r) {
		if from := r.Hops[i].URL; strings.HasPrefix(from, "https:") && to.Scheme != "https" {
			return diag.Fail("%s redirects to %s.",
				diag.Quote(from), diag.Quote(to.String())).About(shorten(from, maxRaw))
		}
	}
	return nil
}

func long(r *fetch.Result) diag.Failures {
	if !tooMany(r) {
		return nil
	}
	if r.Err.Code == fetch.Loop {
		return diag.Fail("The redirects from %s form a loop.", r.Hops[0].URL)
	}
	return diag.Fail("The redirects from %s do not end after the third.", r.Hops[0].URL)
}

// dead fails with why a chain of redirects does not end at a page.
func dead(r *fetch.Result) diag.Failures {
	if h := untrustedHop(r, 1); h != nil {
		return diag.Fail("%s leads to %s, whose certificate browsers do not trust: %s.",
			r.Hops[0].URL, diag.Quote(h.URL), h.TLS.Err())
	}
	if err := brokenOff(r); err != nil && !err.Unanswered {
		return diag.Fail("%s redirects to what cannot be fetched: %s.", r.Hops[len(r.Hops)-1].URL, err.Message)
	}
	return nil
}
