package redirect

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
)

type rule = diag.Rule[*evidence]

// rules is the table of all that is examined, in the order in which a visitor would meet it.
var rules = sync.OnceValue(func() diag.Rules[*evidence] {
	onTheWay := slices.Concat(
		bodyRules.With(rule{Category: factorReach}), redirectRules.With(rule{Category: factorRedirects}),
		locationRules.With(rule{Category: factorRedirects, When: answered}),
		refreshRules.With(rule{Category: factorRedirects, Reads: []diag.Source{ground.SourceAnswer, sourceBody}}),
		transportRules.With(rule{Category: factorTransport}), destinationRules.With(rule{Category: factorDestination}),
		wayRules.With(rule{Category: factorDestination}))
	// What was met on the way stands, and nothing is praised unless the end is known.
	return slices.Concat(diag.Rules[*evidence]{portRule}, serverRules,
		onTheWay.With(rule{Reads: []diag.Source{ground.SourceAnswer}, Stands: true}))
})

func answered(e *evidence) bool { return len(e.steps) > 0 }

func arrived(e *evidence) bool { return e.end() != nil }

// each fails for every hop for which the test has something to say, and names the hop as its target.
func each(test func(e *evidence, s *step) string) func(*evidence) diag.Failures {
	return func(e *evidence) (all diag.Failures) {
		for i := range e.steps {
			if detail := test(e, &e.steps[i]); detail != "" {
				all = append(all, diag.Failure{Detail: detail, Target: hop(&e.steps[i])})
			}
		}
		return all
	}
}

func hop(s *step) string { return fmt.Sprintf("hop %d", s.hop.Index) }

func text(s fmt.Stringer) string { return diag.Quote(s.String()) }

func (s *step) at() string { return diag.Quote(s.hop.URL) }

func (s *step) target() string { return text(s.hop.Target) }

func (e *evidence) host() string { return e.result.URL.Host().String() }

// led writes how the chain came to its end, in front of what was wrong there.
func (e *evidence) led() string {
	if !e.elsewhere() {
		return ""
	}
	return fmt.Sprintf("%s leads to %s. ", diag.Quote(e.last().hop.URL), text(e.result.URL))
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
	factorReach       = diag.Category{Code: "reachability", Label: "Reachability"}
	factorRedirects   = diag.Category{Code: "redirects", Label: "Redirects"}
	factorTransport   = diag.Category{Code: "encryption", Label: "Encryption"}
	factorDestination = diag.Category{Code: "destination", Label: "Destination"}
)

// The sections that most rules rest on.
const (
	refRedirect = "RFC 9110 section 15.4"
	refLocation = "RFC 9110 section 10.2.2"
	refRefresh  = "HTML Standard, shared declarative refresh steps"
	refURI      = "RFC 9110 section 4.3.4"
)

// texts are the verdicts in words, where a rule does not say them as well.
var texts = diag.Texts{
	string(diag.Valid): {
		Headline: "URL leads to a working page", Sub: "Nothing on the way keeps visitors from reaching it.",
	},
	"url.redirect.stopped": {
		Headline: "URL redirects further than max_redirects allows", Sub: "Raise max_redirects to see where it leads.",
	},
	"url.script": {
		Headline: "URL leads to a page that may redirect with a script",
		Sub:      "Neither this check nor crawlers and link previews run scripts. Redirect with status 301 or 308 instead.",
	},
}

// texts are those of this evidence: an error page is named by its status.
func (e *evidence) texts() diag.Texts {
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

var transportRules = diag.Rules[*evidence]{{
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
	When:   arrived,
	Fails: func(e *evidence) diag.Failures {
		end := e.end()
		return diag.FailIf(end.url.Scheme() == "http", "%s is served without encryption.", end.at()).About(hop(end))
	},
}}
