package crawl

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/robots"
)

// The sources of a check.
const (
	fromAnswer rule.Source = reach.SourceAnswer // the status and the header
	fromPage   rule.Source = "page"
	fromRobots rule.Source = "robots.txt"
	fromTarget rule.Source = "canonical URL"
)

// Unanswered implements [rule.Unanswerer]. A page that was not asked for because robots.txt did not come is unknown,
// and so is one in whose place a wall against bots answered.
func (e *evidence) Unanswered() []rule.Source {
	open := e.observation().Unanswered()
	unread := e.wall != "" || len(open) > 0 || e.result != nil && e.result.Err != nil && e.result.Err.Unanswered ||
		e.uncoded() != nil
	if e.robotsTxt.silent() {
		open = append(open, fromRobots)
		if e.result == nil {
			open, unread = append(open, fromAnswer), true
		}
	}
	if unread {
		open = append(open, fromPage)
	}
	if e.target != nil && e.target.silence() != "" {
		open = append(open, fromTarget)
	}
	return open
}

// seen says how far the check came with the host of the page.
func (e *evidence) observation() *reach.Observation {
	r := e.result
	if r == nil {
		r = e.robotsTxt.result
	}
	s := reach.Observe(r, e.now)
	s.Host, s.Port, s.Err, s.Hops = e.url.Host().String(), e.url.Port(), e.connection(), e.hops
	if e.beyond() {
		s.Err = e.failed
	}
	return s
}

// beyond reports whether the way to the page leads to a URL that is longer than what is read here.
func (e *evidence) beyond() bool { return e.failed != nil && e.failed.Limit }

// uncoded returns the content coding that the request did not offer and that is not understood here, or nil.
func (e *evidence) uncoded() *fetch.CodingError {
	if e.result == nil || e.result.Err == nil {
		return nil
	}
	if coding, ok := errors.AsType[*fetch.CodingError](e.result.Err); ok && coding.Unasked {
		return coding
	}
	return nil
}

var host = reach.Server[*evidence]{Observation: (*evidence).observation}

func hostRules() rule.Rules[*evidence] {
	return host.Rules(
		rule.Rule[*evidence]{Fact: reach.Silent, Code: "crawl.host.unknown", Title: "Host could not be examined"},
		rule.Rule[*evidence]{Fact: reach.NoName, Code: "crawl.host.nxdomain"},
		rule.Rule[*evidence]{Fact: reach.NoAddress, Code: "crawl.host.address", NoScore: true},
		rule.Rule[*evidence]{Fact: reach.NotPublic, Code: "crawl.host.blocked", NoScore: true},
		rule.Rule[*evidence]{Fact: reach.Refused, Code: "crawl.host.connection", NoScore: true},
		rule.Rule[*evidence]{Fact: reach.Handshake, Code: "crawl.host.handshake", NoScore: true},
		rule.Rule[*evidence]{Fact: reach.NotHTTP, Code: "crawl.host.protocol", NoScore: true},
		rule.Rule[*evidence]{
			Fact: reach.Expired, Code: "crawl.host.certificate.expired", Weight: 2, Category: factorSecurity,
		},
		rule.Rule[*evidence]{
			Fact: reach.NotYetValid, Code: "crawl.host.certificate.early", Weight: 2, Category: factorSecurity,
		},
		rule.Rule[*evidence]{
			Fact: reach.Untrusted, Code: "crawl.host.certificate.untrusted", Weight: 2, Category: factorSecurity,
		},
		rule.Rule[*evidence]{
			Fact: reach.OtherName, Code: "crawl.host.certificate.name", Weight: 2, Category: factorSecurity,
		},
		rule.Rule[*evidence]{Fact: reach.BadLine, Code: "crawl.header.line"},
		rule.Rule[*evidence]{Fact: reach.LongRedirect, Code: "crawl.redirect.long"},
	)
}

// alive reports whether a web server answered for the host.
func alive(e *evidence) bool { return !e.dead() }

var robotsRules = rule.Rules[*evidence]{{
	Code: "crawl.robots.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 9309 section 2.3.1.4",
	Title: "robots.txt did not arrive in time", Requirement: "robots.txt arrives in time",
	Advice: "Check how long the server takes for robots.txt, and try again: crawlers stay away while they cannot read it.",
	When:   alive,
	Fails: func(e *evidence) rule.Failures {
		if !e.robotsTxt.silent() {
			return nil
		}
		return rule.Fail("Whether crawlers may fetch the page is not known: %s.", reason(e.robotsTxt.result.Err)).
			About("robots.txt")
	},
}, {
	Code: "crawl.robots.unreachable", Severity: diag.Error, Weight: 10, Ref: "RFC 9309 section 2.3.1.4",
	Title:       "robots.txt is unavailable, so crawlers stay away",
	Requirement: "robots.txt is served, or known not to exist",
	Advice:      "Serve robots.txt with status 200, or answer 404 if there is none: while it fails, nothing is crawled.",
	When:        alive,
	Fails: func(e *evidence) rule.Failures {
		switch f := e.robotsTxt; {
		case !f.unreachable(e.agent):
			return nil
		case f.status == http.StatusTooManyRequests:
			return rule.Fail("%s answers with status 429, which Google treats as a server error: "+
				"it assumes that everything is forbidden.", f.url).
				About("robots.txt")
		case f.status >= 500:
			return rule.Fail("%s answers with the server error %d: crawlers must assume that everything is forbidden.", f.url,
				f.status).
				About("robots.txt")
		default:
			return rule.Fail("%s is unreachable (%s): crawlers must assume that everything is forbidden.", f.url,
				phrase.Quote(f.result.Err.Message)).About("robots.txt")
		}
	},
}, {
	Code: "crawl.robots.html", Severity: diag.Warning, Weight: 1, DependsOn: []diag.Code{"crawl.robots.unreachable"},
	Ref:   "RFC 9309 section 2.3",
	Title: "robots.txt is an HTML page", Requirement: "robots.txt is text",
	Advice: "Serve robots.txt as text/plain, or answer 404 if there is none.",
	When:   func(e *evidence) bool { return alive(e) && e.robotsTxt.of(e.agent.dialect).All == robots.ByRules },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.robotsTxt.isHTML(), "%s is an HTML page with status %d, and crawlers find no rules in it.",
			e.robotsTxt.url, e.robotsTxt.status)
	},
}, {
	Code: "crawl.robots.misspelt", Severity: diag.Warning, Weight: 1, DependsOn: []diag.Code{"crawl.robots.html"},
	Ref:         "RFC 9309 section 2.2",
	Title:       "robots.txt has lines that only Google understands",
	Requirement: "All crawlers understand robots.txt alike",
	Advice:      "Write User-agent, Allow, Disallow and Sitemap with a colon, so that all crawlers read the same rules.",
	Fails:       func(e *evidence) rule.Failures { return e.robotsTxt.faults(true) },
}, {
	Code: "crawl.robots.syntax", Severity: diag.Info, DependsOn: []diag.Code{"crawl.robots.html"},
	Ref:   "RFC 9309 section 2.2",
	Title: "robots.txt has lines with mistakes", Requirement: "The lines of robots.txt have no mistakes",
	Advice: "Correct or remove these lines.",
	Fails:  func(e *evidence) rule.Failures { return e.robotsTxt.faults(false) },
}, {
	Code: "crawl.robots.size", Severity: diag.Warning, Weight: 1, DependsOn: []diag.Code{"crawl.robots.html"},
	Ref:   "RFC 9309 section 2.5",
	Title: "robots.txt is longer than 500 KiB", Requirement: "robots.txt has at most 500 KiB",
	Advice: "Shorten robots.txt, for instance with patterns: crawlers ignore everything after 500 KiB.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.robotsTxt.of(e.agent.dialect).Truncated, "%s is longer than %d bytes.", e.robotsTxt.url,
			robots.MaxBytes)
	},
}}.Reading(fromRobots)

// faults lists the lines with mistakes, those that Google understands or the others.
func (f *robotsTxt) faults(google bool) rule.Failures {
	all := rule.FailEach(f.of(robots.Standard).Faults, func(one robots.Fault) rule.Failures {
		return rule.FailIf(one.Google == google, "Line %d of robots.txt %s.", one.Line, one.Text).
			About(fmt.Sprintf("line %d", one.Line))
	})
	return all.Joined()
}

// isHTML reports whether what was served as robots.txt is a web page.
func (f *robotsTxt) isHTML() bool {
	return strings.HasPrefix(http.DetectContentType(f.result.Body), "text/html")
}

// allowRule is a rule that allows the page, and nothing else that is forbidden today; empty if none does. A group that
// only Google understands must be corrected, not extended.
func (r *robot) allowRule() string {
	if !r.visit.file.of(robots.Standard).Names(r.decision.Agent) {
		return ""
	}
	path := strings.TrimPrefix(withoutFragment(r.visit.url), r.visit.url.Origin())
	if strings.ContainsAny(path, "*$#") || len(path) > 500 || len(path)+1 < len(r.decision.Rule.Path) {
		return ""
	}
	return "Allow: " + path + "$"
}

var answerRules = rule.Rules[*evidence]{
	{
		Code: "crawl.redirect.broken", Severity: diag.Error, NoScore: true, Weight: 10,
		Reads: []rule.Source{fromAnswer}, Ref: "RFC 9110 section 15.4",
		Title: "Redirects lead nowhere", Requirement: "Redirects lead to a page",
		Advice: "Correct the redirects so that they end at a page.",
		When:   func(e *evidence) bool { return alive(e) && (e.failed != nil || e.final() != nil) },
		Fails: func(e *evidence) rule.Failures {
			if e.failed == nil || e.final() != nil && e.final().RedirectType == "" {
				return nil
			}
			return rule.Failures{
				{Detail: phrase.Sentence(strings.TrimSuffix(e.failed.Message, ".")), Target: e.hops[len(e.hops)-1].URL},
			}
		},
	},
	{
		Code: "crawl.wall", Severity: diag.Warning, StateIfFailed: diag.Unknown,
		DependsOn: []diag.Code{"crawl.redirect.broken"}, Ref: "RFC 9110 section 15.5.4",
		Title:       "Bot protection answered instead of the page",
		Requirement: "The page itself is served, not a check for bots",
		Advice:      "Let the crawlers that you want pass the bot protection, and verify them by their addresses.",
		When:        func(e *evidence) bool { return e.final() != nil },
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(e.wall != "",
				"%s answered with status %d and a bot check; the page itself could not be examined.",
				phrase.Capitalize(e.wall), e.final().StatusCode)
		},
	},
	status("crawl.status.missing", "crawl.wall", "Page not found", "The page exists", "RFC 9110 section 15.5.5",
		"Restore the page, or redirect its URL to where the content is now.",
		func(code int) bool { return code == http.StatusNotFound || code == http.StatusGone }),
	status("crawl.status.denied", "crawl.status.missing", "Page is not accessible to crawlers",
		"Crawlers have access to the page", "RFC 9110 section 15.5.4",
		"Let crawlers fetch the page, unless it is not meant for the public.",
		func(code int) bool {
			return code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusProxyAuthRequired ||
				code == http.StatusTooManyRequests || code == http.StatusUnavailableForLegalReasons
		}),
	status("crawl.status.server", "crawl.status.denied", "Server error instead of the page",
		"The server answers without an error", "RFC 9110 section 15.6",
		"Find the cause in the log of the server: pages that keep failing are dropped from the index.",
		func(code int) bool { return code >= 500 }),
	status("crawl.status.other", "crawl.status.server", "Response is not a page",
		"The page is served with status 200", "RFC 9110 section 15", "Serve the page with status 200.",
		func(code int) bool {
			return code != http.StatusOK && code != http.StatusNonAuthoritativeInfo && code != http.StatusPartialContent
		}),
	{
		Code: "crawl.body.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown,
		DependsOn: []diag.Code{"crawl.status.other"}, Ref: "RFC 9110 section 15.6.5",
		Title: "Body did not arrive in time", Requirement: "The body arrives in time",
		Advice: "Check how long the server takes for the page, and try again.",
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(e.result.Err != nil && e.result.Err.Unanswered, "After %d bytes, nothing more arrived in time.",
				len(e.result.Body))
		},
	},
	{
		Code: "crawl.body.coding", Severity: diag.Warning, StateIfFailed: diag.Unknown,
		DependsOn: []diag.Code{"crawl.body.unknown"}, Ref: "RFC 9110 section 12.5.3",
		Title:       "Content-Encoding that the request did not offer",
		Requirement: "The body has a coding that the request offered",
		Advice: "Compress only with what the request offers in Accept-Encoding, and send Vary: " +
			"Accept-Encoding so that caches do, too.",
		Fails: func(e *evidence) rule.Failures {
			coding := e.uncoded()
			if coding == nil {
				return nil
			}
			return rule.Fail("The response has Content-Encoding: %s, although the request offered gzip and deflate only. The "+
				"page was not read here, and a crawler that does not know the coding does not read it either.",
				phrase.Quote(coding.Coding))
		},
	},
	{
		Code: "crawl.encoding.unknown", Severity: diag.Warning, DependsOn: []diag.Code{"crawl.body.coding"},
		Ref:   "RFC 9110 section 8.4",
		Title: "Content-Encoding is not a registered coding", Requirement: "Content-Encoding names registered codings",
		Advice: "Remove the Content-Encoding field: it names a compression, and nothing else. A character encoding " +
			"belongs in Content-Type, as in text/html; charset=utf-8.",
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(len(e.result.Coding.Unknown) > 0,
				"The response has Content-Encoding: %s. Browsers ignore a coding that is not registered and show "+
					"the body as it came; a crawler may refuse it.", phrase.Quote(e.result.Encoding))
		},
	},
	{
		Code: "crawl.body.encoding", Severity: diag.Error, NoScore: true, Weight: 10,
		DependsOn: []diag.Code{"crawl.body.coding"}, Ref: "RFC 9110 section 8.4",
		Title:       "Body is not compressed as Content-Encoding says",
		Requirement: "The body is compressed as Content-Encoding says",
		Advice:      "Make Content-Encoding match the compression of the body: visitors see garbage or an error.",
		Fails: func(e *evidence) rule.Failures {
			failed := e.result.Err
			if e.zipped() {
				return rule.Fail("The body is compressed with gzip, and no Content-Encoding says so.")
			}
			return rule.FailIf(failed != nil && failed.Code == fetch.Protocol && e.result.Encoding != "",
				"The response has Content-Encoding: %s, but %s.", phrase.Quote(e.result.Encoding), reason(failed))
		},
	},
	{
		Code: "crawl.body.broken", Severity: diag.Error, NoScore: true, Weight: 10,
		DependsOn: []diag.Code{"crawl.body.encoding"}, Ref: "RFC 9112 section 8",
		Title: "Body is incomplete", Requirement: "The body is complete",
		Advice: "Check the server and the proxies in front of it: the connection ends before the page does.",
		Fails: func(e *evidence) rule.Failures {
			failed := e.result.Err
			return rule.FailIf(failed != nil, "After %d bytes %s.", len(e.result.Body), reason(failed))
		},
	},
	{
		Code: "crawl.type", Severity: diag.Info, NoScore: true, DependsOn: []diag.Code{"crawl.body.broken"},
		Ref:   "RFC 9110 section 8.3",
		Title: "Content is not HTML", Requirement: "The content is HTML",
		Advice: "Serve the content as text/html if it is meant to be a web page.",
		Fails: func(e *evidence) rule.Failures {
			if e.page != nil || len(e.result.Body) == 0 {
				return nil
			}
			return rule.Fail("The content type is %q, not HTML, so there is no title, description or link to examine.",
				e.mediaType)
		},
	},
	{
		Code: "crawl.body.empty", Severity: diag.Error, NoScore: true, Weight: 10,
		DependsOn: []diag.Code{"crawl.type"}, Ref: googleDoc + "Soft 404 errors",
		Title: "Page is empty", Requirement: "The page has content",
		Advice: "Serve the content, or status 404 if there is none.",
		Fails: func(e *evidence) rule.Failures {
			switch {
			case len(e.result.Body) == 0:
				return rule.Fail("The response has status %d and no content.", e.final().StatusCode)
			case e.whole() && e.bare():
				return rule.Fail("The page has no text, image, frame or script.")
			}
			return nil
		},
	},
	{
		Code: "crawl.size.truncated", Severity: diag.Info, DependsOn: []diag.Code{"crawl.body.empty"},
		Ref:   "RFC 9110 section 8.6",
		Title: "Page is longer than what was examined", Requirement: "The page was examined to its end",
		Advice: "Raise max_bytes to examine all of it, or reduce its elements.",
		Fails: func(e *evidence) rule.Failures {
			if e.page != nil && e.page.Cut {
				return rule.Fail("The page has more elements than are examined: " +
					"the rest was not examined and is not reported as missing.")
			}
			return rule.FailIf(e.result.Truncated,
				"The page is longer than the limit of %d bytes: the rest was not examined and is not reported as missing.",
				e.request.MaxBytes)
		},
	},
	{
		Code: "crawl.size.limit", Severity: diag.Warning, Weight: 3, DependsOn: []diag.Code{"crawl.body.empty"},
		Ref:   googleDoc + "Googlebot, file size limits",
		Title: "Page is longer than the crawler reads", Requirement: "The crawler reads the whole page",
		Advice: "Move scripts, styles and inline images out of the HTML, so that the content is within the limit.",
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(e.overLimit(), "The page has %s%d bytes, and the crawler reads only the first %d.",
				map[bool]string{true: "more than "}[e.result.Truncated], len(e.result.Body), e.agent.limit)
		},
	},
}

// bare reports whether there is nothing to see on a page, and nothing that could make it.
func (e *evidence) bare() bool {
	c := e.page.Counts
	return e.words == 0 && c.Images+c.Frames+c.Framesets+c.Scripts+c.SVGs == 0 && len(e.page.Resources) == 0
}

func reason(failed *fetch.Error) string {
	if failed == nil {
		return ""
	}
	return strings.TrimSuffix(failed.Message, ".")
}

func status(code, after diag.Code, title, requirement, ref, advice string, fails func(int) bool) rule.Rule[*evidence] {
	return rule.Rule[*evidence]{
		Code: code, Reads: []rule.Source{fromAnswer}, Severity: diag.Error, Weight: 10, Category: factorAccess, NoScore: true,
		Title:       title,
		Requirement: requirement, Ref: ref, Advice: advice, DependsOn: []diag.Code{after},
		Fails: func(e *evidence) rule.Failures {
			h := e.final()
			return rule.FailIf(fails(h.StatusCode), "The server answered with status %d %s, so the page is not indexed.",
				h.StatusCode, phrase.Quote(h.StatusText)).About(e.url.String())
		},
	}
}
