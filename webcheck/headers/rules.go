package headers

import (
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
)

// rules are all that is examined.
var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(fetchRules, slices.Concat(transportRules, hstsRules, policyRules, policyDetailRules, framingRules,
		fieldRules, isolationRules, cookieRules,
		sharingRules.With(rule.Rule[*evidence]{Reads: fromOthers, HoldsWhenUnanswered: true, When: sharing}), hygieneRules,
		securityTxtRules.With(rule.Rule[*evidence]{Reads: []rule.Source{fromSecurity}}), observatoryRules).
		With(rule.Rule[*evidence]{DependsOn: fetched})).
		Reading(fromPage)
})

// fetched are the rules without which there is nothing to judge.
var fetched = []diag.Code{"headers.site.unknown", "headers.site.nxdomain", "headers.site.address",
	"headers.site.blocked", "headers.site.connection", "headers.site.handshake", "headers.site.protocol",
	"headers.redirect.long", "headers.redirect.endless"}

var site = reach.Server[*evidence]{Name: "site", Observation: func(e *evidence) *reach.Observation {
	return reach.ObservePlain(e.page, e.overHTTPS, e.now)
}}

// fetchRules are about whether there is an answer at all, and about the certificates on the way to it.
var fetchRules = slices.Concat(site.Rules(
	rule.Rule[*evidence]{Fact: reach.Silent, Code: "headers.site.unknown", Title: "Site could not be examined"},
	rule.Rule[*evidence]{Fact: reach.NoName, Code: "headers.site.nxdomain"},
	rule.Rule[*evidence]{Fact: reach.NoAddress, Code: "headers.site.address", NoScore: true},
	rule.Rule[*evidence]{Fact: reach.NotPublic, Code: "headers.site.blocked", NoScore: true},
	rule.Rule[*evidence]{Fact: reach.Refused, Code: "headers.site.connection", NoScore: true},
	rule.Rule[*evidence]{Fact: reach.HTTPClosed, Code: "headers.site.http.closed", Severity: diag.Warning, NoScore: true,
		Differs: "the URL that was asked about is at port 80"},
	rule.Rule[*evidence]{Fact: reach.HTTPSilent, Code: "headers.site.http.unknown"},
	rule.Rule[*evidence]{Fact: reach.Handshake, Code: "headers.site.handshake", NoScore: true},
	rule.Rule[*evidence]{Fact: reach.NotHTTP, Code: "headers.site.protocol", NoScore: true,
		When: func(e *evidence) bool { // else there is no answer
			s := site.Observation(e)
			return !e.endless() && !s.Closed && !s.Mute
		}},
	rule.Rule[*evidence]{Fact: reach.Expired, Code: "headers.site.certificate.expired", Category: factorTransport},
	rule.Rule[*evidence]{Fact: reach.NotYetValid, Code: "headers.site.certificate.early", Category: factorTransport},
	rule.Rule[*evidence]{Fact: reach.Untrusted, Code: "headers.site.certificate.untrusted", Category: factorTransport},
	rule.Rule[*evidence]{Fact: reach.OtherName, Code: "headers.site.certificate.name", Category: factorTransport},
	rule.Rule[*evidence]{Fact: reach.BadLine, Code: "headers.header.line"},
	rule.Rule[*evidence]{Fact: reach.LongRedirect, Code: "headers.redirect.long"},
), answerRules)

var answerRules = rule.Rules[*evidence]{{
	Code: "headers.redirect.endless", Severity: diag.Error, NoScore: true,
	DependsOn: []diag.Code{"headers.site.unknown"}, Ref: "RFC 9110 section 15.4",
	Title: "Redirects lead nowhere", Requirement: "The redirects end at a page",
	Advice: "Redirect straight to the final URL.",
	When:   func(e *evidence) bool { return e.page.Err == nil || e.endless() },
	Fails: func(e *evidence) rule.Failures {
		if !e.endless() {
			return nil
		}
		f := rule.Fail("%s", sentence(e.page.Err)).About(e.page.URL.Host().Name())
		if _, cookies := e.page.Looped(); len(cookies) > 0 {
			f[0].Detail += " They set cookies, so a browser that sends them back may get further."
			f[0].Advice = "Serve the page without waiting for a cookie: crawlers, " +
				"link previews and some visitors send none back."
		}
		return f
	},
}, {
	Code: "headers.encoding.invalid", Severity: diag.Warning, DependsOn: fetched, Ref: "RFC 9110 section 8.4",
	Title: "Content-Encoding does not fit the document", Requirement: "Content-Encoding fits the document",
	Advice: "Name in Content-Encoding the compression of the body, of those that the request offers in " +
		"Accept-Encoding; leave it out where the body is not compressed.",
	Fails: func(e *evidence) rule.Failures {
		switch {
		case e.coding != nil && e.coding.Unasked:
			return rule.Fail("The document has the content coding %s, although the request offered gzip and deflate only, "+
				"so it was not read here.", phrase.Quote(e.coding.Coding))
		case e.coding != nil:
			return rule.Fail("The document cannot be decompressed by its Content-Encoding %s: browsers show an error instead "+
				"of the page, and it was not read here.", phrase.Quote(e.coding.Coding))
		}
		unknown := e.page.Coding.Unknown
		return rule.FailIf(len(unknown) > 0,
			"Content-Encoding says %s, which is not a registered content coding. Browsers ignore it "+
				"and show the document as it came; some other clients refuse it.", phrase.Quote(phrase.Series(unknown, 3)))
	},
}, {
	Code: "headers.status.error", Severity: diag.Info, DependsOn: fetched, Ref: "RFC 9110 section 15",
	Title: "The headers are those of an error page", Requirement: "The response is not an error",
	Advice: "Examine a page that exists: servers often send other headers with it.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.final.StatusCode >= 400, "The server answered %d %s: other pages may have other headers.",
			e.final.StatusCode, phrase.Quote(e.final.StatusText))
	},
}}

var transportRules = rule.Rules[*evidence]{{
	Code: "headers.https.missing", Severity: diag.Error, Category: factorTransport, Ref: "RFC 9110 section 4.2.2",
	Title: "Page is served over plain HTTP", Requirement: "The page is served over HTTPS",
	Advice: "Serve the page over HTTPS, and redirect every HTTP request to the same URL with https.",
	When:   func(e *evidence) bool { return !e.redirects() },
	Fails: func(e *evidence) rule.Failures {
		if e.secure() {
			return nil
		}
		also := ""
		if e.goodHTTPS() {
			also = ", although the host answers over HTTPS too"
		}
		return rule.Fail("%s is not encrypted%s: anyone on the network path can read and change it, including its headers.",
			e.final.URL, also).About(e.final.URL)
	},
}, {
	Code: "headers.redirect.missing", Severity: diag.Warning, Category: factorTransport,
	Reads: []rule.Source{fromHTTP}, Ref: "RFC 6797 section 7.2",
	Title: "HTTP is not redirected to HTTPS", Requirement: "HTTP leads to HTTPS, or is closed",
	Fact: reach.NoRedirect, Advice: reach.Redirect,
	When: func(e *evidence) bool { return e.secure() && e.overHTTP != nil && e.plainKnown() },
	Fails: func(e *evidence) rule.Failures {
		end := e.overHTTP.Final()
		if end == nil || e.overHTTP.Err != nil || e.overHTTP.URL.Scheme() == "https" {
			return nil
		}
		return rule.Fail("%s answers with status %d over plain HTTP and does not lead to HTTPS.", end.URL, end.StatusCode).
			About(end.URL)
	},
}, {
	Code: "headers.redirect.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 6797 section 7.2",
	Title: "Port 80 did not answer", Requirement: "Port 80 answers or refuses connections",
	Advice: reach.SilentAdvice,
	When:   func(e *evidence) bool { return e.secure() && e.overHTTP != nil },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(silent(e.overHTTP), "Whether HTTP redirects to HTTPS is not known: %s", sentence(e.overHTTP.Err))
	},
}, {
	Code: "headers.redirect.insecure", Severity: diag.Warning, Category: factorTransport, HoldsWhenUnanswered: true,
	Reads: []rule.Source{fromHTTP}, Ref: "RFC 9110 section 15.4",
	Title: "A redirect leads to plain HTTP", Requirement: "No redirect leads to plain HTTP",
	Advice: reach.Redirect,
	When:   func(e *evidence) bool { return len(e.redirectHops()) > 1 },
	Fails: func(e *evidence) rule.Failures {
		hops := e.redirectHops()
		for _, h := range hops[1:] {
			if !isHTTPS(h.URL) {
				return rule.Fail("The redirects from %s go through %s, which is not encrypted.", hops[0].URL, h.URL).About(h.URL)
			}
		}
		return nil
	},
}, {
	Code: "headers.redirect.host", Severity: diag.Info, Category: factorTransport, HoldsWhenUnanswered: true,
	Reads: []rule.Source{fromHTTP}, Ref: "RFC 6797 section 7.2",
	Title: "HTTP redirects to another host first", Requirement: "HTTP leads to HTTPS on the same host first",
	Advice: reach.Redirect,
	When:   func(e *evidence) bool { return e.overHTTP != nil && len(e.overHTTP.Hops) > 1 },
	Fails: func(e *evidence) rule.Failures {
		first, second := e.overHTTP.Hops[0], e.overHTTP.Hops[1]
		return rule.FailIf(isHTTPS(second.URL) && hostOf(first.URL) != hostOf(second.URL),
			"%s redirects to %s, so browsers never see the Strict-Transport-Security of %s.", first.URL, second.URL,
			hostOf(first.URL)).
			About(first.URL)
	},
}}

// plainKnown reports whether it is known where plain HTTP leads: to the end of its redirects, to HTTPS at least, or
// nowhere, since the port is closed.
func (e *evidence) plainKnown() bool {
	r := e.overHTTP
	return r.Err == nil || silent(r) || r.Err.Code == fetch.Connect || isHTTPS(r.URL.String())
}

// beyond reports whether the page redirects to a URL that is longer than what is read here.
func (e *evidence) beyond() bool { return e.page.Err != nil && e.page.Err.Limit }

// endless reports whether redirects were followed and led nowhere.
func (e *evidence) endless() bool {
	err := e.page.Err
	return err != nil && !err.Limit && (err.Code == fetch.Loop || err.Code == fetch.TooManyRedirects ||
		err.Code == fetch.Blocked && err.Step == fetch.Answering)
}

func sentence(err *fetch.Error) string {
	if err == nil {
		return ""
	}
	return phrase.Sentence(err.Message)
}

// redirectHops are those of the page, or those of http:// if that was not what was asked for.
func (e *evidence) redirectHops() []fetch.Hop {
	if e.overHTTP != nil && e.req.URL.Scheme() == "https" && len(e.page.Hops) < 2 {
		return e.overHTTP.Hops
	}
	return e.page.Hops
}

func silent(r *fetch.Result) bool { return r == nil || r.Err != nil && r.Err.Unanswered }

// The factors of the score, in the order of a reader.
var (
	factorTransport = rule.Category{Code: "transport", Label: "HTTPS"}
	factorPolicy    = rule.Category{Code: "content_policy", Label: "Content-Security-Policy"}
	factorFraming   = rule.Category{Code: "framing", Label: "Embedding by other sites"}
	factorTypes     = rule.Category{Code: "content_types", Label: "Media types"}
	factorPrivacy   = rule.Category{Code: "privacy", Label: "Referrer and permissions"}
	factorCookies   = rule.Category{Code: "cookies", Label: "Cookies"}
	factorScripts   = rule.Category{Code: "scripts", Label: "Scripts of other sites"}
	factorSharing   = rule.Category{Code: "sharing", Label: "Cross-origin access"}
	factorIsolation = rule.Category{Code: "isolation", Label: "Isolation from other sites"}
)

// texts are the verdicts in words, where title and advice of the gravest finding do not.
var texts = rule.Texts{
	"excellent": {
		Headline: "Security headers protect the page's visitors well",
		Sub:      "Browsers enforce what the page asks for. Keep the policies in step with what the page loads.",
	},
	"valid": {
		Headline: "Security headers are set up correctly",
		Sub:      "Browsers enforce what the page asks for. The hints say what could be stricter.",
	},
}
