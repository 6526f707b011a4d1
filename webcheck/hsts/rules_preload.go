package hsts

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
)

// preloadRules are about the preload list. Not to be on it is no fault.
var preloadRules = diag.Rules[*evidence]{{
	Code: "hsts.preload.premature", Severity: diag.Warning, Weight: 5, Reads: []diag.Source{ground.SourceAnswer},
	DependsOn: []diag.Code{"hsts.max_age.zero"}, Ref: "hstspreload.org, \"Opting In\"",
	Title:       "preload is set, but the header does not meet the requirements",
	Requirement: "The directive preload stands only in a header that meets the requirements",
	Advice: "Remove preload until max-age is at least 31536000 and includeSubDomains is set: anyone may submit a domain that " +
		"sends it, and a removal takes months.",
	When: func(e *evidence) bool { return e.header.Preload && !e.ownEntry() && checkLevel(e.domain.String()).OK() },
	Fails: func(e *evidence) diag.Failures {
		lacks := []string{}
		if e.age() < oneYear {
			lacks = append(lacks, "a max-age of a year")
		}
		if !e.header.IncludeSubdomains {
			lacks = append(lacks, "includeSubDomains")
		}
		if len(lacks) == 0 {
			return nil
		}
		f := diag.Fail("The header asks for preloading, for which it lacks %s.", strings.Join(lacks, " and "))
		f[0].Location = e.header.Location(namePreload)
		if e.age() >= weakBelow {
			f.Suggesting(e.withoutPreload())
		}
		return f
	},
}, {
	Code: "hsts.preload.at_risk", Severity: diag.Warning, Weight: 12, DependsOn: needsTrust,
	Ref:         "hstspreload.org, \"Continued Requirements\"",
	Title:       "Preloaded domain no longer meets the requirements",
	Requirement: "A preloaded domain goes on meeting the requirements",
	Advice:      "Meet the requirements again: otherwise the domain may be removed from the list.",
	When:        func(e *evidence) bool { return e.ownEntry() },
	Fails: func(e *evidence) diag.Failures {
		if !e.atRisk() {
			return nil
		}
		detail := "%s is on the preload list and no longer meets its requirements (%s)."
		if e.removal().OK() {
			detail += " Its header lacks preload, so anyone may request the removal."
		}
		return diag.Fail(detail, e.domain, strings.Join(diag.Values(e.kept.Errors...), ", ")).Suggesting(e.restored())
	},
}}

// restored is the header that meets the requirements again, where it is the header that is at fault.
func (e *evidence) restored() string {
	own := func(i Issue) bool {
		return strings.HasPrefix(string(i), "header.") || strings.HasPrefix(string(i), "response.")
	}
	if !slices.ContainsFunc(e.kept.Errors, own) {
		return ""
	}
	return e.listedValue()
}
