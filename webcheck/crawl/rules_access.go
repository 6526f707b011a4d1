package crawl

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/webcheck/robots"
)

// unconnected fails if no connection to the host came about for this reason, as a matter of fact.
func unconnected(code fetch.Reason) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		failed := e.connection()
		if failed == nil || failed.Unanswered || failed.Code != code {
			return nil
		}
		return diag.Failures{{Detail: diag.Sentence(strings.TrimSuffix(failed.Message, ".")), Target: e.url.Host().String()}}
	}
}

// hostRules are about the host of the page.
var hostRules = diag.Rules[*evidence]{
	{
		Code: "crawl.host.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Title:       "Host does not answer",
		Requirement: "The host answers",
		Ref:         "RFC 9110 section 9.2",
		Advice:      "Check the name servers and the web server, and try again.",
		Fails: func(e *evidence) diag.Failures {
			if !e.silent() {
				return nil
			}
			return diag.Failures{{Detail: diag.Sentence(strings.TrimSuffix(e.connection().Message, ".")), Target: e.url.Host().String()}}
		},
	},
	{
		Code: "crawl.host.missing", Severity: diag.Error, NoScore: true, DependsOn: []diag.Code{"crawl.host.unknown"},
		Title:       "Host does not exist in the DNS",
		Requirement: "The host has an address in the DNS",
		Ref:         "RFC 9110 section 4.3",
		Advice:      "Check the spelling, or publish an A or AAAA record for the host.",
		Fails:       unconnected(fetch.DNS),
	},
	{
		Code: "crawl.host.unreachable", Severity: diag.Error, NoScore: true, DependsOn: []diag.Code{"crawl.host.missing"},
		Title:       "No connection to the web server",
		Requirement: "The web server accepts connections",
		Ref:         "RFC 9110 section 4.3",
		Advice:      "Let the web server listen on this port, and check the firewall in front of it.",
		Fails:       unconnected(fetch.Connect),
	},
	{
		Code: "crawl.host.tls", Severity: diag.Error, NoScore: true, DependsOn: []diag.Code{"crawl.host.unreachable"},
		Title:       "TLS handshake fails",
		Requirement: "The web server completes a TLS handshake",
		Ref:         "RFC 9110 section 4.3.3",
		Advice:      "Configure TLS 1.2 or 1.3 and a certificate for this host.",
		Fails:       unconnected(fetch.TLS),
	},
	{
		Code: "crawl.host.blocked", Severity: diag.Error, NoScore: true, DependsOn: []diag.Code{"crawl.host.tls"},
		Title:       "URL leads to an address that must not be fetched",
		Requirement: "The URL leads to a public address and a usual port",
		Ref:         "RFC 6890",
		Advice:      "Use a public address and port 80 or 443.",
		Fails:       unconnected(fetch.Blocked),
	},
	{
		Code: "crawl.host.protocol", Severity: diag.Error, NoScore: true, DependsOn: []diag.Code{"crawl.host.blocked"},
		Title:       "Server does not speak HTTP",
		Requirement: "The server answers with HTTP",
		Ref:         "RFC 9112 section 2.2",
		Advice:      "Check what listens on this port.",
		Fails:       unconnected(fetch.Protocol),
	},
}

// alive reports whether a web server answered for the host.
func alive(e *evidence) bool { return !e.dead() }

// robotsRules are about robots.txt.
var robotsRules = diag.Rules[*evidence]{
	{
		Code: "crawl.robots.unreachable", Severity: diag.Error, Weight: 10, Category: factorAccess,
		Title:       "robots.txt is unavailable, so crawlers stay away",
		Requirement: "robots.txt is served, or known not to exist",
		Ref:         "RFC 9309 section 2.3.1.4",
		Advice:      "Serve robots.txt with status 200, or answer 404 if there is none: while it fails, nothing is crawled.",
		When:        alive,
		Fails: func(e *evidence) diag.Failures {
			switch f := e.robotsTxt; {
			case !f.unreachable():
				return nil
			case f.status >= 500:
				return diag.Fail("%s answers with the server error %d: crawlers must assume that everything is forbidden.", f.url, f.status).
					About("robots.txt")
			default:
				return diag.Fail("%s is unreachable (%s): crawlers must assume that everything is forbidden.", f.url,
					diag.Quote(f.result.Err.Message)).About("robots.txt")
			}
		},
	},
	{
		Code: "crawl.robots.disallowed", Severity: diag.Warning, Weight: 10, Category: factorAccess, NoScore: true,
		DependsOn:   []diag.Code{"crawl.robots.unreachable"},
		Title:       "robots.txt forbids crawling the page",
		Requirement: "robots.txt allows crawling the page",
		Ref:         "RFC 9309 section 2.2.2",
		Advice:      "Add the rule to the same group of robots.txt if the page is to be found in search engines.",
		When:        alive,
		Fails: func(e *evidence) diag.Failures {
			if e.decision.Allowed {
				return nil
			}
			detail := fmt.Sprintf("Line %d of %s, %q for %q, forbids %s to fetch %s.", e.decision.Rule.Line, e.robotsTxt.url,
				diag.Quote(e.decision.Rule.String()), e.decision.Agent, e.agent.token, e.url)
			return diag.Failures{{Detail: detail, Target: "robots.txt", Suggested: e.allowRule()}}
		},
	},
	{
		Code: "crawl.robots.html", Severity: diag.Warning, Weight: 1, Category: factorAccess,
		DependsOn:   []diag.Code{"crawl.robots.unreachable"},
		Title:       "robots.txt is an HTML page",
		Requirement: "robots.txt is text",
		Ref:         "RFC 9309 section 2.3",
		Advice:      "Serve robots.txt as text/plain, or answer 404 if there is none.",
		When:        func(e *evidence) bool { return alive(e) && e.robotsTxt.file.All == robots.ByRules },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.robotsTxt.isHTML(), "%s is an HTML page with status %d, in which crawlers find no rules.",
				e.robotsTxt.url, e.robotsTxt.status)
		},
	},
	{
		Code: "crawl.robots.syntax", Severity: diag.Info, DependsOn: []diag.Code{"crawl.robots.html"},
		Title:       "robots.txt has lines that crawlers ignore",
		Requirement: "Crawlers understand every line of robots.txt",
		Ref:         "RFC 9309 section 2.2",
		Advice:      "Correct or remove these lines.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.robotsTxt.file.Faults, func(f robots.Fault) diag.Failures {
				return diag.Fail("Line %d of robots.txt %s.", f.Line, f.Text)
			})
		},
	},
	{
		Code: "crawl.robots.size", Severity: diag.Warning, Weight: 1, Category: factorAccess,
		DependsOn:   []diag.Code{"crawl.robots.html"},
		Title:       "robots.txt is longer than 500 KiB",
		Requirement: "robots.txt has at most 500 KiB",
		Ref:         "RFC 9309 section 2.5",
		Advice:      "Shorten robots.txt, for instance by patterns: crawlers ignore what is beyond 500 KiB.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.robotsTxt.file.Truncated, "%s is longer than %d bytes.", e.robotsTxt.url, robots.MaxBytes)
		},
	},
}

// isHTML reports whether what was served as robots.txt is a web page.
func (f *robotsTxt) isHTML() bool {
	return strings.HasPrefix(http.DetectContentType(f.result.Body), "text/html")
}

// allowRule is a rule that allows the page, and nothing else that is forbidden today; empty if none does.
func (e *evidence) allowRule() string {
	path := strings.TrimPrefix(withoutFragment(e.url), e.url.Origin())
	if strings.ContainsAny(path, "*$#") || len(path) > 500 || len(path)+1 < len(e.decision.Rule.Path) {
		return ""
	}
	return "Allow: " + path + "$"
}

// answerRules are about the answer for the page.
var answerRules = diag.Rules[*evidence]{
	{
		Code: "crawl.redirect.broken", Severity: diag.Error, Weight: 10, Category: factorAccess, NoScore: true,
		Title:       "Redirects lead nowhere",
		Requirement: "Redirects lead to a page",
		Ref:         "RFC 9110 section 15.4",
		Advice:      "Correct the redirects so that they end at a page.",
		When:        func(e *evidence) bool { return alive(e) && (e.failed != nil || e.final() != nil) },
		Fails: func(e *evidence) diag.Failures {
			if e.failed == nil || e.final() != nil && e.final().RedirectType == "" {
				return nil
			}
			return diag.Failures{{Detail: diag.Sentence(strings.TrimSuffix(e.failed.Message, ".")), Target: e.hops[len(e.hops)-1].URL}}
		},
	},
	{
		Code: "crawl.redirect.many", Severity: diag.Info, DependsOn: []diag.Code{"crawl.redirect.broken"},
		Title:       "More than 3 redirects before the page",
		Requirement: "At most 3 redirects lead to the page",
		Ref:         googleDoc + "Redirects and Google Search",
		Advice:      "Redirect to the final URL at once.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.hops) > 4, "%d redirects lead from %s to %s.", len(e.hops)-1, e.request.URL, e.url)
		},
	},
	{
		Code: "crawl.wall", Severity: diag.Warning, StateIfFailed: diag.Unknown, DependsOn: []diag.Code{"crawl.redirect.broken"},
		Title:       "Bot protection answered instead of the page",
		Requirement: "The page itself is served, not a check for bots",
		Ref:         "RFC 9110 section 15.5.4",
		Advice:      "Let crawlers that you want pass the bot protection, and verify them by their addresses.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.wall != "", "%s answered with status %d and a check for bots; what the page itself holds is not known.",
				strings.ToUpper(e.wall[:min(1, len(e.wall))])+e.wall[min(1, len(e.wall)):], e.final().StatusCode)
		},
	},
	status("crawl.status.missing", "Page not found", "The page exists", "RFC 9110 section 15.5.5",
		"Restore the page, or redirect its URL to where the content is now.",
		func(code int) bool { return code == http.StatusNotFound || code == http.StatusGone }),
	status("crawl.status.denied", "Page is not accessible to crawlers", "Crawlers have access to the page",
		"RFC 9110 section 15.5.4", "Let crawlers fetch the page, unless it is meant for few only.",
		func(code int) bool {
			return code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusProxyAuthRequired ||
				code == http.StatusTooManyRequests || code == http.StatusUnavailableForLegalReasons
		}),
	status("crawl.status.server", "Server error instead of the page", "The server answers without an error",
		"RFC 9110 section 15.6", "Look into the log of the server: pages that keep failing are dropped from the index.",
		func(code int) bool { return code >= 500 }),
	status("crawl.status.other", "Answer is no page", "The page is served with status 200", "RFC 9110 section 15",
		"Serve the page with status 200.",
		func(code int) bool {
			return code != http.StatusOK && code != http.StatusNonAuthoritativeInfo && code != http.StatusPartialContent
		}),
	{
		Code: "crawl.body.encoding", Severity: diag.Error, Weight: 10, Category: factorAccess, NoScore: true,
		DependsOn:   []diag.Code{"crawl.status.other"},
		Title:       "Body cannot be decompressed",
		Requirement: "The body is encoded as Content-Encoding says",
		Ref:         "RFC 9110 section 8.4",
		Advice:      "Remove Content-Encoding, or compress the body in that way: browsers show an error instead of the page.",
		Fails: func(e *evidence) diag.Failures {
			failed := e.result.Err
			return diag.FailIf(failed != nil && failed.Code == fetch.Protocol && e.result.Encoding != "",
				"The answer has Content-Encoding: %s, but %s.", diag.Quote(e.result.Encoding), reason(failed))
		},
	},
	{
		Code: "crawl.body.broken", Severity: diag.Error, Weight: 10, Category: factorAccess, NoScore: true,
		DependsOn:   []diag.Code{"crawl.body.encoding"},
		Title:       "Body breaks off",
		Requirement: "The body is complete",
		Ref:         "RFC 9112 section 8",
		Advice:      "Check the server and the proxies in front of it: the connection ends before the page does.",
		Fails: func(e *evidence) diag.Failures {
			failed := e.result.Err
			return diag.FailIf(failed != nil && !failed.Unanswered, "After %d bytes %s.", len(e.result.Body), reason(failed))
		},
	},
	{
		Code: "crawl.body.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown,
		DependsOn:   []diag.Code{"crawl.body.broken"},
		Title:       "Body did not come in time",
		Requirement: "The body comes in time",
		Ref:         "RFC 9110 section 15.6.5",
		Advice:      "Try again, and check how long the server takes for the page.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.result.Err != nil, "After %d bytes nothing more came in time.", len(e.result.Body))
		},
	},
	{
		Code: "crawl.type", Severity: diag.Info, NoScore: true, DependsOn: []diag.Code{"crawl.body.unknown"},
		Title:       "Content is not HTML",
		Requirement: "The content is HTML",
		Ref:         "RFC 9110 section 8.3",
		Advice:      "Leave it if the content is not meant as a web page; else serve it as text/html.",
		Fails: func(e *evidence) diag.Failures {
			if e.page != nil || len(e.result.Body) == 0 {
				return nil
			}
			return diag.Fail("The content type is %q, not HTML, so there is no title, description or link to examine.",
				e.mediaType)
		},
	},
	{
		Code: "crawl.body.empty", Severity: diag.Error, Weight: 10, Category: factorAccess, NoScore: true,
		DependsOn:   []diag.Code{"crawl.type"},
		Title:       "Page is empty",
		Requirement: "The page has content",
		Ref:         googleDoc + "Soft 404 errors",
		Advice:      "Serve the content, or status 404 if there is none.",
		Fails: func(e *evidence) diag.Failures {
			switch {
			case len(e.result.Body) == 0:
				return diag.Fail("The answer has status %d and no content.", e.final().StatusCode)
			case e.whole() && e.bare():
				return diag.Fail("The page has no text, image, frame or script.")
			}
			return nil
		},
	},
	{
		Code: "crawl.size.truncated", Severity: diag.Info, DependsOn: []diag.Code{"crawl.body.empty"},
		Title:       "Page is longer than what was read",
		Requirement: "The page was read to its end",
		Ref:         "RFC 9110 section 8.6",
		Advice:      "Raise max_bytes to have all of it examined.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.result.Truncated, "The page is longer than the limit of %d bytes: what stands beyond was not examined, and is not called missing.",
				e.request.MaxBytes)
		},
	},
	{
		Code: "crawl.size.limit", Severity: diag.Warning, Weight: 3, Category: factorAccess,
		DependsOn:   []diag.Code{"crawl.body.empty"},
		Title:       "Page is longer than the crawler reads",
		Requirement: "The crawler reads the whole page",
		Ref:         googleDoc + "Googlebot, file size limits",
		Advice:      "Move scripts, styles and inline images out of the HTML, so that the content is within the limit.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.overLimit(), "The page has %s%d bytes, and the crawler reads the first %d.",
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

// status makes a rule about the status of the answer.
func status(code diag.Code, title, requirement, ref, advice string, fails func(int) bool) diag.Rule[*evidence] {
	return diag.Rule[*evidence]{
		Code: code, Severity: diag.Error, Weight: 10, Category: factorAccess, NoScore: true, Title: title,
		Requirement: requirement, Ref: ref, Advice: advice, DependsOn: statusBefore[code],
		Fails: func(e *evidence) diag.Failures {
			h := e.final()
			return diag.FailIf(fails(h.StatusCode), "The server answered with status %d %s, so that the page is not indexed.",
				h.StatusCode, diag.Quote(h.StatusText)).About(e.url.String())
		},
	}
}

// statusBefore are the rules that each of those about the status depends on.
var statusBefore = map[diag.Code][]diag.Code{
	"crawl.status.missing": {"crawl.wall"},
	"crawl.status.denied":  {"crawl.status.missing"},
	"crawl.status.server":  {"crawl.status.denied"},
	"crawl.status.other":   {"crawl.status.server"},
}
