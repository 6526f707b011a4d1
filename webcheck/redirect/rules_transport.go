package redirect

import (
	"fmt"

	"github.com/diagkit/diagkit/diag"
)

// transportRules are about encryption on the way.
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
