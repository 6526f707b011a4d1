package crawl

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/robots"
)

// unseenNoIndex is the consequence for a noindex in a page that must not be fetched.
const unseenNoIndex = " Crawlers do not see a noindex in a page that they may not fetch."

// forbidden says by what a crawler is kept from the page.
func (e *evidence) forbidden(r *robot) rule.Failures {
	f, matched := r.visit.file, r.decision.Rule
	switch {
	case r.decision.Allowed:
		return nil
	case matched == nil && f.status == http.StatusTooManyRequests:
		return rule.Fail("%s answers with status 429, which Google treats as a server error: "+
			"%s assumes that everything is forbidden.", f.url, r.name).About("robots.txt")
	case matched == nil:
		return rule.Fail("%s is unavailable (%s): %s must assume that everything is forbidden.",
			f.url, phrase.Quote(f.failure()), r.name).About("robots.txt")
	}
	detail := fmt.Sprintf("Line %d of %s, %q for %q, forbids %s to fetch %s.", matched.Line, f.url,
		phrase.Quote(matched.String()), r.decision.Agent, r.name, r.visit.url)
	return rule.Failures{{Detail: detail, Target: "robots.txt", Suggested: r.allowRule()}}
}

// appendDetail adds a sentence to the detail of failures.
func appendDetail(f rule.Failures, sentence string) rule.Failures {
	for i := range f {
		f[i].Detail += sentence
	}
	return f
}

// describeOthers says what the robots.txt decides for the other crawlers.
func (e *evidence) describeOthers() string {
	var may, mayNot []string
	for _, r := range e.robots {
		switch {
		case r.token == e.agent.token:
		case r.decision.Allowed:
			may = append(may, r.name)
		default:
			mayNot = append(mayNot, r.name)
		}
	}
	s := ""
	if len(may) > 0 {
		s += " " + strings.Join(may, " and ") + " may fetch it."
	}
	if len(mayNot) > 0 {
		s += " " + strings.Join(mayNot, " and ") + " may not fetch it either."
	}
	return s
}

// onlyOthers reports whether the crawler that was asked for is kept from the page, and Google's is not.
func (e *evidence) onlyOthers() bool {
	return !e.requested().decision.Allowed && e.google().decision.Allowed
}

// askedMay reports whether the crawler that was asked for may fetch the page: if not, that finding names the others.
func askedMay(e *evidence) bool { return alive(e) && e.requested().decision.Allowed }

var agentRules = rule.Rules[*evidence]{{
	Code: "crawl.robots.disallowed", Severity: diag.Error, NoScore: true, Weight: 10,
	DependsOn: []diag.Code{"crawl.robots.unreachable"}, Ref: "RFC 9309 section 2.2.2",
	Title: "robots.txt forbids crawling the page", Requirement: "robots.txt allows the crawler to fetch the page",
	Advice: "Allow the page in the same group of robots.txt if the page is to be found in search engines.",
	When:   func(e *evidence) bool { return alive(e) && !e.onlyOthers() },
	Fails: func(e *evidence) rule.Failures {
		return appendDetail(e.forbidden(e.requested()), e.describeOthers()+unseenNoIndex)
	},
}, {
	Code: "crawl.robots.others", Severity: diag.Warning, NoScore: true, Weight: 5,
	DependsOn: []diag.Code{"crawl.robots.unreachable"}, Ref: "RFC 9309 section 2.2.1",
	Title:       "robots.txt forbids this crawler, but not Googlebot",
	Requirement: "robots.txt allows this crawler what it allows Googlebot",
	Advice:      "Allow the crawlers that you want; check the page as googlebot_desktop to see what Google may fetch.",
	When:        alive,
	Fails: func(e *evidence) rule.Failures {
		if !e.onlyOthers() {
			return nil
		}
		return appendDetail(e.forbidden(e.requested()), e.describeOthers())
	},
}, {
	Code: "crawl.google.disallowed", Severity: diag.Error, Weight: 10,
	DependsOn: []diag.Code{"crawl.robots.unreachable"},
	Ref:       googleDoc + "How Google interprets the robots.txt specification",
	Title:     "Google may not crawl the page (robots.txt)", Requirement: "Google may crawl the page",
	Advice: "Allow the page in the same group of robots.txt if Google should list the page.", When: askedMay,
	Fails: func(e *evidence) rule.Failures { return appendDetail(e.forbidden(e.google()), unseenNoIndex) },
}, {
	Code: "crawl.bing.disallowed", Severity: diag.Warning, Weight: 5,
	DependsOn: []diag.Code{"crawl.robots.unreachable"}, Ref: "RFC 9309 section 2.2.1",
	Title: "Bing may not crawl the page (robots.txt)", Requirement: "Bing may crawl the page",
	Advice: "Allow the page in the same group of robots.txt if Bing should list the page.", When: askedMay,
	Fails: func(e *evidence) rule.Failures { return appendDetail(e.forbidden(e.bing()), unseenNoIndex) },
}}

// indexed reports whether the crawler that was asked for may index the page: if not, that is said of all.
func indexed(e *evidence) bool { return served(e) && !e.effect.NoIndex }

// noIndexFailures says by what a crawler is kept from indexing the page.
func (e *evidence) noIndexFailures(r *robot) rule.Failures {
	return rule.FailIf(r.effect.NoIndex, "%s may not index %s: that is forbidden by %s.%s", r.name, e.url,
		e.forbiddenBy(r.crawler, noIndex), e.embedded())
}

// embedded says what Google may do with a page that it may not index; empty if nothing.
func (e *evidence) embedded() string {
	if !e.google().effect.IndexEmbedded {
		return ""
	}
	return " Google may index its content in pages that embed it (indexifembedded)."
}

// engineRules are about what the page says to the crawler of one search engine.
var engineRules = rule.Rules[*evidence]{{
	Code: "crawl.google.noindex", Severity: diag.Error, Weight: 10,
	Ref:   googleDoc + "Robots meta tag, data-nosnippet, and X-Robots-Tag",
	Title: "Google may not index the page (noindex)", Requirement: "Google may index the page",
	Advice: "Remove the noindex for googlebot if Google should list the page.", When: indexed,
	DependsOn: []diag.Code{"crawl.google.disallowed"},
	Fails:     func(e *evidence) rule.Failures { return e.noIndexFailures(e.google()) },
}, {
	Code: "crawl.bing.noindex", Severity: diag.Warning, Weight: 5,
	Ref:   "Bing Webmaster Tools, Robots meta tags and attributes",
	Title: "Bing may not index the page (noindex)", Requirement: "Bing may index the page",
	Advice: "Remove the noindex for bingbot if Bing should list the page.", When: indexed,
	DependsOn: []diag.Code{"crawl.bing.disallowed"},
	Fails:     func(e *evidence) rule.Failures { return e.noIndexFailures(e.bing()) },
}, {
	Code: "crawl.index.expires", Severity: diag.Info,
	Ref:         googleDoc + "Robots meta tag, data-nosnippet, and X-Robots-Tag",
	Title:       "Page leaves Google on a date (unavailable_after)",
	Requirement: "Google may index the page without an end date",
	Advice:      "Remove unavailable_after unless the page should leave search results then.", When: served,
	Fails: func(e *evidence) rule.Failures {
		until := e.google().effect.Until
		f := rule.FailIf(!until.IsZero(), "%s leaves the index of Google on %s.", e.url, until.UTC().Format(time.DateOnly))
		for i := range f {
			f[i].Due = until
		}
		return f
	},
}, {
	Code: "crawl.index.snippet", Severity: diag.Info,
	Ref:         googleDoc + "Robots meta tag, data-nosnippet, and X-Robots-Tag",
	Title:       "Search results show no text of the page (nosnippet)",
	Requirement: "Search results may show text of the page",
	Advice:      "Remove nosnippet, or max-snippet:0, unless results should show the title alone.", When: served,
	Fails: func(e *evidence) rule.Failures {
		var names []string
		for _, r := range []*robot{e.google(), e.bing()} {
			if r.effect.NoSnippet && !r.effect.NoIndex {
				names = append(names, r.name)
			}
		}
		return rule.FailIf(len(names) > 0, "%s may not show text of %s in search results.",
			strings.Join(names, " and "), e.url)
	},
}}

// noIndex and noFollow are the actions that directives may forbid.
func noIndex(e robots.Effect) bool  { return e.NoIndex }
func noFollow(e robots.Effect) bool { return e.NoFollow }
