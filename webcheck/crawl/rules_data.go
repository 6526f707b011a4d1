package crawl

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/page"
)

// of returns the items of structured data in a format.
func (e *evidence) of(format string) []page.Structured {
	if !e.judged() {
		return nil
	}
	var list []page.Structured
	for _, s := range e.page.Structured {
		if s.Format == format {
			list = append(list, s)
		}
	}
	return list
}

// dataRules are about structured data.
var dataRules = diag.Rules[*evidence]{{
	Code: "crawl.jsonld.invalid", Severity: diag.Warning, Weight: 5, Ref: "RFC 8259 section 2",
	Title: "JSON-LD cannot be read", Requirement: "JSON-LD is valid JSON",
	Advice: "Correct the JSON: search engines skip the whole block.",
	When:   func(e *evidence) bool { return len(e.of("json-ld")) > 0 },
	Fails: func(e *evidence) (all diag.Failures) {
		for i, s := range e.of("json-ld") {
			if s.Valid || !e.whole() && s.Error == "it breaks off before its end" {
				continue
			}
			where := ""
			if s.Line > 0 {
				where = fmt.Sprintf(", at line %d, column %d", s.Line, s.Column)
			}
			if s.Snippet != "" {
				where += fmt.Sprintf(" (%q)", diag.Quote(s.Snippet))
			}
			all = append(all, diag.Failure{Target: "application/ld+json",
				Detail: fmt.Sprintf("Block %d of JSON-LD cannot be read: %s%s.", i+1, s.Error, where)})
		}
		return all
	},
}, {
	Code: "crawl.jsonld.type", Severity: diag.Info, Weight: 1, DependsOn: []diag.Code{"crawl.jsonld.invalid"},
	Ref:   "JSON-LD 1.1 section 3.5",
	Title: "JSON-LD without a type", Requirement: "JSON-LD has a type",
	Advice: "Add @type, such as Organization or Product.",
	Fails: func(e *evidence) (all diag.Failures) {
		for i, s := range e.of("json-ld") {
			all = append(all, diag.FailIf(len(s.Types) == 0, "Block %d of JSON-LD has no @type.", i+1)...)
		}
		return all
	},
}, {
	Code: "crawl.microdata.type", Severity: diag.Info, Weight: 1, Ref: htmlStandard + "5.2.2",
	Title: "Microdata item without a type", Requirement: "Microdata items have a type",
	Advice: "Add itemtype with the URL of a type, such as https://schema.org/Product.",
	When:   func(e *evidence) bool { return len(e.of("microdata")) > 0 },
	Fails: func(e *evidence) diag.Failures {
		n := 0
		for _, s := range e.of("microdata") {
			if !s.Valid {
				n++
			}
		}
		return diag.FailIf(n > 0, "%d of %s of microdata without itemtype.", n, diag.Count(len(e.of("microdata")), "item"))
	},
}}

// securityRules are about how the page and what it loads are transported.
var securityRules = diag.Rules[*evidence]{{
	Code: "crawl.https", Severity: diag.Warning, Weight: 5, Ref: "RFC 9110 section 4.2.2",
	Title: "Page is served without HTTPS", Requirement: "The page is served over HTTPS",
	Advice: "Serve the page over HTTPS, and redirect from HTTP.", When: served,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.url.Scheme() != "https", "%s was served over HTTP, where anyone on the network path can read and change it.", e.url)
	},
}, {
	Code: "crawl.mixed.blocked", Severity: diag.Error, Weight: 5, DependsOn: []diag.Code{"crawl.https"},
	Ref:         "W3C Mixed Content section 4.2",
	Title:       "Browsers block what the page loads over HTTP",
	Requirement: "The page loads no script, style or frame over HTTP",
	Advice:      "Load it over HTTPS, from your own host if the other does not support HTTPS.", When: (*evidence).judged,
	Fails: mixed(true),
}, {
	Code: "crawl.mixed.upgraded", Severity: diag.Warning, Weight: 2, DependsOn: []diag.Code{"crawl.https"},
	Ref:   "W3C Mixed Content section 4.1",
	Title: "Images or media are loaded over HTTP", Requirement: "The page loads images and media over HTTPS",
	Advice: "Use https in these URLs: browsers try HTTPS and show nothing if that fails.", When: (*evidence).judged,
	Fails: mixed(false),
}, {
	Code: "crawl.form.insecure", Severity: diag.Warning, Weight: 2, Ref: "W3C Mixed Content section 7.2",
	Title: "Form is sent over HTTP", Requirement: "Forms are sent over HTTPS",
	Advice: "Use an https URL as the action of the form.",
	When: func(e *evidence) bool {
		return e.judged() && len(e.page.Forms) > 0 && e.url.Scheme() == "https" && !e.upgrades()
	},
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.page.Forms, func(f page.Form) diag.Failures {
			for _, ref := range append([]page.Ref{f.Action}, f.Actions...) {
				if strings.HasPrefix(ref.URL, "http://") && !loopback(ref.URL) {
					return diag.Fail("A form of the page is sent to %s.", diag.Quote(ref.URL)).About(diag.Quote(ref.URL))
				}
			}
			return nil
		}).Together("Several forms of the page are sent over HTTP.")
	},
}, {
	Code: "crawl.form.password", Severity: diag.Error, Weight: 3, Ref: "W3C Secure Contexts section 1.1",
	Title: "Password is asked for without HTTPS", Requirement: "Passwords are asked for over HTTPS only",
	Advice: "Serve the page over HTTPS, and redirect from HTTP.",
	When:   func(e *evidence) bool { return e.judged() && e.page.Counts.Passwords > 0 },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.url.Scheme() != "https", "%s asks for a password and was served over HTTP.", e.url)
	},
}}

// mixed fails for what is loaded over HTTP, and blocked or not.
func mixed(blocked bool) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		all := diag.FailEach(e.mixed, func(m Mixed) diag.Failures {
			return diag.FailIf(m.Blocked == blocked, "The page loads %s over HTTP (%s element).", diag.Quote(m.URL), m.Element).About(diag.Quote(m.URL))
		})
		return all.Together("The page loads %d files over HTTP.", len(all))
	}
}
