package redirect

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
)

// rules is the table of all that is examined, in the order in which a visitor would meet it.
var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	onTheWay := slices.Concat(
		headRules.With(rule.Rule[*evidence]{Category: factorReach, When: answered}),
		codingRules.With(rule.Rule[*evidence]{Category: factorReach, When: arrived}),
		bodyRules.With(rule.Rule[*evidence]{Category: factorReach}),
		redirectRules.With(rule.Rule[*evidence]{Category: factorRedirects}),
		locationRules.With(rule.Rule[*evidence]{Category: factorRedirects, When: answered}),
		refreshRules.With(rule.Rule[*evidence]{
			Category: factorRedirects, Reads: []rule.Source{reach.SourceAnswer, sourceBody},
		}),
		transportRules.With(rule.Rule[*evidence]{Category: factorTransport}),
		destinationRules.With(rule.Rule[*evidence]{Category: factorDestination}),
		hopRules.With(rule.Rule[*evidence]{Category: factorDestination}))
	// What was met on the way holds, and nothing is praised unless the end is known.
	met := rule.Rule[*evidence]{Reads: []rule.Source{reach.SourceAnswer}, HoldsWhenUnanswered: true}
	causes := hostRules.With(rule.Rule[*evidence]{Category: factorRedirects, When: answered}) // of hosts that do not exist
	return slices.Concat(rule.Rules[*evidence]{portRule}, causes.With(met), serverRules, onTheWay.With(met))
})

func answered(e *evidence) bool { return len(e.steps) > 0 }

func arrived(e *evidence) bool { return e.end() != nil }

// each fails for every hop for which the test has something to say, and names the hop as its target.
func each(test func(e *evidence, s *step) string) func(*evidence) rule.Failures {
	return func(e *evidence) (all rule.Failures) {
		for i := range e.steps {
			if detail := test(e, &e.steps[i]); detail != "" {
				all = append(all, rule.Failure{Detail: detail, Target: hop(&e.steps[i])})
			}
		}
		return all
	}
}

func hop(s *step) string { return fmt.Sprintf("hop %d", s.hop.Index) }

func text(s fmt.Stringer) string { return phrase.Quote(s.String()) }

func (s *step) at() string { return phrase.Quote(s.hop.URL) }

func (s *step) target() string { return text(s.hop.Target) }

func (e *evidence) host() string { return e.result.URL.Host().String() }

// pathToEnd describes how the chain reached its end, as an introduction to the fault there.
func (e *evidence) pathToEnd() string {
	if !e.elsewhere() {
		return ""
	}
	return fmt.Sprintf("%s leads to %s. ", phrase.Quote(e.last().hop.URL), text(e.result.URL))
}

// list writes at most five items with commas.
func list(items []string) string {
	const most = 5
	if more := len(items) - most; more > 0 {
		return strings.Join(items[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(items, ", ")
}

// The factors of the score, in the order of a visitor.
var (
	factorReach       = rule.Category{Code: "reachability", Label: "Reachability"}
	factorRedirects   = rule.Category{Code: "redirects", Label: "Redirects"}
	factorTransport   = rule.Category{Code: "encryption", Label: "Encryption"}
	factorDestination = rule.Category{Code: "destination", Label: "Destination"}
)

// The sections that most rules rest on.
const (
	refRedirect = "RFC 9110 section 15.4"
	refLocation = "RFC 9110 section 10.2.2"
	refRefresh  = "HTML Standard, shared declarative refresh steps"
	refURI      = "RFC 9110 section 4.3.4"
)

// texts are the verdicts in words, where a rule does not say them as well.
var texts = rule.Texts{
	string(diag.Valid): {
		Headline: "URL leads to a working page", Sub: "Nothing on the way keeps visitors from reaching it.",
	},
	"url.redirect.stopped": {
		Headline: "URL redirects further than max_redirects allows", Sub: "Raise max_redirects to see where it leads.",
	},
	"url.redirect.long": {
		Headline: "URL redirects to a URL that is longer than what is checked",
		Sub:      "Where it leads is not known. Open the URL in a browser to see.",
	},
	"url.script": {
		Headline: "URL leads to a page that may redirect with a script",
		Sub:      "Neither this check nor crawlers and link previews run scripts. Redirect with status 301 or 308 instead.",
	},
}

// texts are those of this evidence: an error page is named by its status.
func (e *evidence) texts() rule.Texts {
	end := e.end()
	if end == nil || end.hop.StatusCode < http.StatusBadRequest {
		return texts
	}
	t := maps.Clone(texts)
	t["url.status"] = diag.Text{
		Headline: fmt.Sprintf("URL leads to an error page (status %d)", end.hop.StatusCode),
		Sub:      "Visitors do not find what they are looking for. Correct the link or the redirect, or restore the page.",
	}
	return t
}

var transportRules = rule.Rules[*evidence]{{
	Code: "url.redirect.downgrade", Severity: diag.Error, Weight: 4, Ref: "RFC 9110 section 4.2.2",
	Title: "Redirect from https to http", Requirement: "No redirect leads from https to http",
	Advice: "Redirect to https URLs only: what is sent over http can be read and changed on the way.", When: answered,
	Fails: each(func(e *evidence, s *step) string {
		if !s.downgrade() {
			return ""
		}
		return fmt.Sprintf("%s redirects to %s, which is not encrypted.", s.at(), s.target())
	}),
}, {
	Code: "url.final.http", Severity: diag.Warning, Weight: 3, DependsOn: []diag.Code{"url.redirect.downgrade"},
	Ref:   "RFC 9110 section 4.2.2",
	Title: "URL does not lead to https", Requirement: "The URL leads to https",
	Advice: "Serve the site over https, redirect http to it with status 301, and link to the https URL.",
	Fact:   reach.NoRedirect, Differs: "the code is older than the fact, and holds for sites without HTTPS too",
	When: arrived,
	Fails: func(e *evidence) rule.Failures {
		end := e.end()
		switch {
		case end.url.Scheme() != "http":
			return nil
		case !e.alsoSecure():
			return rule.Fail("%s is served without encryption.", end.at()).About(hop(end))
		}
		f := rule.Fail("%s is served without encryption, although %s answers.", end.at(), text(e.secure.URL)).About(hop(end))
		f[0].Advice = reach.Redirect
		return f
	},
}}

// alsoSecure reports whether what the chain ended at is there over HTTPS too, with a certificate that browsers trust.
func (e *evidence) alsoSecure() bool {
	if e.secure == nil || len(e.secure.Hops) == 0 {
		return false
	}
	h := &e.secure.Hops[0]
	return h.TLS.Err() == nil && h.StatusCode < http.StatusBadRequest && h.Target.Scheme() != "http"
}

// seen is how far the chain came. What its own rules say is left out: a target that is not public, and a body.
func (e *evidence) seen() *reach.Observation {
	s := reach.ObservePlain(e.result, e.secure, e.now)
	s.Way += e.pathToEnd()
	if arrived(e) || e.location != nil && !e.tooLong() || e.refusedPort() || e.refusedAddress() && e.elsewhere() {
		s.Err = nil
	}
	return s
}

const sourceBody rule.Source = "body"

// Unanswered lists what is not known: where the chain ends, if a server was silent or it was not to be followed, and
// what the document says.
func (e *evidence) Unanswered() []rule.Source {
	open := e.seen().Unanswered()
	if e.result.Err != nil && (e.result.Err.Unanswered || e.result.Err.Limit) {
		open = append(open, sourceBody)
	}
	if e.stopped() {
		open = append(open, reach.SourceAnswer, sourceBody)
	}
	return open
}

// Scope lists the parts of the way that the verdict speaks of, if one of them was left out: a target that is longer
// than what is read here, and a document in a content coding that is not understood here.
func (e *evidence) Scope() []diag.ScopePart {
	if coding, coded := e.undecoded(); !coded || !coding.Unasked {
		return e.seen().Scope()
	}
	return append(kit.Map(e.steps, func(s step) diag.ScopePart {
		return diag.ScopePart{Part: hop(&s), State: diag.Examined}
	}), diag.ScopePart{Part: "document", State: diag.LeftOut, Reason: "its content coding is not understood here"})
}

// refusedPort reports whether it was the port that must not be reached.
func (e *evidence) refusedPort() bool {
	if !e.failed(fetch.Blocked) {
		return false
	}
	blocked, ok := errors.AsType[*diag.BlockedError](e.result.Err)
	return ok && !blocked.Addr.Addr().IsValid()
}

func (e *evidence) refusedAddress() bool {
	return e.failed(fetch.Blocked) && e.location == nil && !e.refusedPort()
}

var portRule = rule.Rule[*evidence]{
	Code: "url.port.blocked", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 9110 section 4.2",
	Title: "Port is not among those checked", Requirement: "The ports on the way are ones that are checked",
	Advice: "Serve web pages on port 443. Other ports than 80, 443, 8080 and 8443 are not checked.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.refusedPort(), "%sPort %d is not checked: only 80, 443, 8080 and 8443 are.", e.pathToEnd(),
			e.result.URL.Port()).About(e.host())
	},
}

var serverRules = reach.Server[*evidence]{Observation: (*evidence).seen}.Rules(
	rule.Rule[*evidence]{Fact: reach.NotLookedUp, Code: "url.host.unknown"},
	rule.Rule[*evidence]{Fact: reach.Silent, Code: "url.unknown"},
	rule.Rule[*evidence]{Fact: reach.NoName, Code: "url.host.nxdomain", DependsOn: []diag.Code{"url.port.blocked"}},
	rule.Rule[*evidence]{Fact: reach.NoAddress, Code: "url.host.address", Weight: 3, Category: factorReach},
	rule.Rule[*evidence]{Fact: reach.NotPublic, Code: "url.host.blocked", Weight: 2, Category: factorReach},
	rule.Rule[*evidence]{Fact: reach.Refused, Code: "url.connection", Weight: 3, Category: factorReach},
	rule.Rule[*evidence]{Fact: reach.HTTPClosed, Code: "url.http.closed", Severity: diag.Warning, NoScore: true,
		Differs: "the URL that was asked about is at port 80"},
	rule.Rule[*evidence]{Fact: reach.HTTPSilent, Code: "url.http.unknown"},
	rule.Rule[*evidence]{Fact: reach.Handshake, Code: "url.tls.handshake", Weight: 2, Category: factorReach},
	rule.Rule[*evidence]{Fact: reach.Expired, Code: "url.certificate.expired", Weight: 2, Category: factorReach},
	rule.Rule[*evidence]{Fact: reach.NotYetValid, Code: "url.certificate.early", Weight: 2, Category: factorReach},
	rule.Rule[*evidence]{Fact: reach.Untrusted, Code: "url.certificate.untrusted", Weight: 2, Category: factorReach},
	rule.Rule[*evidence]{Fact: reach.OtherName, Code: "url.certificate.name", Weight: 2, Category: factorReach},
	rule.Rule[*evidence]{Fact: reach.NotHTTP, Code: "url.protocol", Weight: 2, Category: factorReach},
	rule.Rule[*evidence]{
		Fact: reach.ExpiresNow, Code: "url.certificate.expires_now", Weight: 1, Category: factorTransport,
	},
	rule.Rule[*evidence]{Fact: reach.Expiring, Code: "url.certificate.expiring", Weight: 1, Category: factorTransport},
	rule.Rule[*evidence]{Fact: reach.OldTLS, Code: "url.tls.version", Weight: 1, Category: factorTransport},
	rule.Rule[*evidence]{Fact: reach.BadLine, Code: "url.header.line", Weight: 1, Category: factorReach},
	rule.Rule[*evidence]{Fact: reach.LongRedirect, Code: "url.redirect.long"},
)

// bodyRules are about what must not be reached behind a redirect, and about the document at the end.
var bodyRules = rule.Rules[*evidence]{{
	Code: "url.redirect.blocked", Severity: diag.Error, Weight: 2, Ref: "RFC 6890 section 2.2",
	Title: "Redirect leads to an address that is not public", Requirement: "Redirects lead to public addresses",
	Advice: "Redirect to a host that visitors can reach. If the target comes from the request, allow known targets only.",
	When:   answered,
	Fails: func(e *evidence) rule.Failures {
		inside := e.refusedAddress() && e.elsewhere() || e.location != nil && e.location.kind == local
		return rule.FailIf(inside, "%s leads to %s, which is not public and was not contacted.", e.lastURL(),
			phrase.Quote(e.lastLocation())).About(e.host())
	},
}, {
	Code: "url.body.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 9112 section 8",
	Title: "Document did not arrive in time", Requirement: "The document at the end arrives in time",
	Advice: "Check how long the web server takes for the document, and try again.", When: arrived,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.result.Err != nil && e.result.Err.Unanswered, "%s", e.clientError())
	},
}, {
	Code: "url.body", Severity: diag.Warning, Reads: []rule.Source{sourceBody}, Ref: "RFC 9112 section 8",
	Title: "Document did not arrive complete", Requirement: "The document at the end arrives as a whole",
	Advice: "Find out from the log of the web server why it did not send the whole document.", When: arrived,
	Fails: func(e *evidence) rule.Failures {
		_, coded := e.undecoded()
		return rule.FailIf(e.result.Err != nil && !e.result.Err.Unanswered && !coded, "%s", e.clientError()).About(e.host())
	},
}}

// clientError returns the client's error at the end, if it did not reach it.
func (e *evidence) clientError() string {
	if e.result.Err == nil {
		return ""
	}
	return phrase.Sentence(e.result.Err.Message)
}

// lastURL writes the URL of the last answer, for rules that apply only if there is one.
func (e *evidence) lastURL() string { return e.last().at() }

// lastLocation is where the last answer leads, as it is written there.
func (e *evidence) lastLocation() string { return withoutSecret(e.last().hop.Location) }

// rejectsClient reports whether a status speaks of who asks rather than of the page: a wall against programs, a
// login, a limit (RFC 9110 sections 15.5.2 and 15.5.4, RFC 6585 section 4).
func rejectsClient(h *fetch.Hop) bool {
	return h.StatusCode == http.StatusUnauthorized || h.StatusCode == http.StatusForbidden ||
		h.StatusCode == http.StatusTooManyRequests
}

var destinationRules = rule.Rules[*evidence]{{
	Code: "url.method", Severity: diag.Warning, Weight: 1, Ref: "RFC 9110 section 9.1",
	Title: "Server does not support HEAD", Requirement: "The server supports the method",
	Advice: "Check with GET. Servers must support HEAD wherever they support GET.", When: arrived,
	Fails: func(e *evidence) rule.Failures {
		code := e.end().hop.StatusCode
		// RFC 9110 sections 15.5.6 and 15.6.2
		refused := code == http.StatusMethodNotAllowed || code == http.StatusNotImplemented
		return rule.FailIf(e.head && refused, "%s answers a HEAD request with status %d.", e.end().at(), code).
			About(hop(e.end()))
	},
}, {
	Code: "url.status", Severity: diag.Error, Weight: 5, DependsOn: []diag.Code{"url.method"},
	Ref:   "RFC 9110 section 15",
	Title: "URL leads to an error page", Requirement: "The URL leads to a page that can be served",
	Advice: "Correct the link or the redirect, or restore the page.", When: arrived,
	Fails: func(e *evidence) rule.Failures {
		h := e.end().hop
		if h.StatusCode < http.StatusBadRequest || rejectsClient(h) {
			return nil
		}
		f := rule.Fail("%s answers %d %s.", phrase.Quote(h.URL), h.StatusCode, phrase.Quote(h.StatusText)).About(hop(e.end()))
		if h.StatusCode >= http.StatusInternalServerError {
			f[0].Advice = "Find the cause in the log of the web server, or of the proxy in front of it."
		}
		return f
	},
}, {
	Code: "url.status.refused", Severity: diag.Warning, Weight: 1, Ref: "RFC 9110 section 15.5",
	Title: "Server turns the request away", Requirement: "The server does not turn the request away",
	Advice: "Check in a browser: the server may turn away bots, or visitors who have not signed in.", When: arrived,
	Fails: func(e *evidence) rule.Failures {
		h := e.end().hop
		return rule.FailIf(rejectsClient(h), "%s answers %d %s. Visitors may still get the page.", phrase.Quote(h.URL),
			h.StatusCode, phrase.Quote(h.StatusText)).About(hop(e.end()))
	},
}, {
	Code: "url.status.unusual", Severity: diag.Warning, Weight: 1, DependsOn: []diag.Code{"url.location.missing"},
	Ref:         refRedirect,
	Title:       "URL ends with a status that shows no page",
	Requirement: "The URL does not end with a status between 300 and 399",
	Advice:      "Answer with status 200, or redirect with 301, 302, 303, 307 or 308.",
	When:        func(e *evidence) bool { return arrived(e) && !e.end().redirects() },
	Fails: func(e *evidence) rule.Failures {
		h := e.end().hop
		return rule.FailIf(h.StatusCode >= 300 && h.StatusCode < 400, "%s answers %d %s, which leads nowhere by itself.",
			phrase.Quote(h.URL), h.StatusCode, phrase.Quote(h.StatusText)).About(hop(e.end()))
	},
}}

var hopRules = rule.Rules[*evidence]{{
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
			phrase.Quote(s.forwards), s.at())
	}),
}}
