package hsts

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
)

// durationRules are about what a header that is in force says.
var durationRules = diag.Rules[*evidence]{{
	Code: "hsts.max_age.zero", Severity: diag.Warning, Weight: 40, Ref: "RFC 6797 section 6.1.1",
	Title: "max-age=0 turns HSTS off", Requirement: "The max-age is above 0",
	Advice: "Keep max-age=0 only to withdraw HSTS. Otherwise start with 300 and " + stageAdvice, When: (*evidence).inForce,
	Fails: func(e *evidence) diag.Failures {
		if e.age() > 0 {
			return nil
		}
		return diag.Failures{{
			Detail:   "The header has max-age=0, which makes browsers forget HSTS for the site.",
			Location: e.header.Location(nameMaxAge), Suggested: e.beginning(),
		}}
	},
}, {
	Code: "hsts.max_age.short", Severity: diag.Warning, Weight: 30, DependsOn: []diag.Code{"hsts.max_age.zero"},
	Ref:   "RFC 6797 section 11.2",
	Title: "max-age is shorter than 180 days", Requirement: "The max-age is at least 180 days",
	Advice: "Raise max-age in stages while nothing breaks: 300, 604800 (a week), 2592000 (a month), " +
		"63072000 (two years).",
	Partly: func(e *evidence) float64 { return float64(e.age()) / weakBelow },
	Fails: func(e *evidence) diag.Failures {
		if e.age() >= weakBelow {
			return nil
		}
		f := diag.Fail("Browsers forget the header after %s: visitors who return later are not protected. Use at least %s.",
			seconds(e.age()), seconds(weakBelow)).Suggesting(e.longer())
		f[0].Location = e.header.Location(nameMaxAge)
		return f
	},
}, {
	Code: "hsts.max_age.below_year", Severity: diag.Info, Weight: 6, DependsOn: []diag.Code{"hsts.max_age.short"},
	Ref:   "hstspreload.org, \"Submission Requirements\"",
	Title: "max-age is shorter than a year", Requirement: "The max-age is at least a year",
	Advice: "Raise max-age to 63072000 (two years) once everything works: the preload list asks for at least 31536000.",
	Partly: func(e *evidence) float64 { return float64(e.age()) / oneYear },
	Fails: func(e *evidence) diag.Failures {
		if e.age() >= oneYear {
			return nil
		}
		f := diag.Fail("The max-age is %s.", seconds(e.age())).Suggesting(e.longer())
		f[0].Location = e.header.Location(nameMaxAge)
		return f
	},
}, {
	Code: "hsts.include_subdomains.missing", Severity: diag.Info, Weight: 8, Category: factorScope,
	DependsOn: []diag.Code{"hsts.max_age.zero"}, Ref: "RFC 6797 section 14.4",
	Title: "Subdomains are not covered", Requirement: "The header covers subdomains",
	Advice: "Add includeSubDomains once every subdomain, including internal ones, speaks HTTPS with a valid certificate: " +
		"browsers will use nothing else for any of them. Begin with a short max-age again.",
	When: func(e *evidence) bool { return !e.listed() || !e.entry.IncludeSubdomains },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(!e.header.IncludeSubdomains,
			"The header covers %s alone. Attackers can set cookies for it from any subdomain that is visited over HTTP.", e.domain)
	},
}}

// longer is the next stage of a header in force.
func (e *evidence) longer() string {
	if e.ownEntry() {
		return e.listedValue()
	}
	return e.nextStage()
}

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
