package phishing

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/phishing/lookalike"
)

// likeness returns the failure of a signal that is a likeness of these techniques and strengths.
func likeness(is func(*lookalike.Match) bool) func(*anatomy) diag.Failures {
	return func(a *anatomy) diag.Failures {
		m := a.match
		if m == nil || !is(m) {
			return nil
		}
		if m.Kind == lookalike.Below {
			return about(m.Target.Name, "%q stands before %s, to which the host belongs. The domain of %s is %s.",
				diag.Quote(m.Part), a.place(), m.Target.Name, m.Target.Main())
		}
		return about(m.Target.Name, "%q %s %q. The domain of %s is %s.",
			diag.Quote(m.Part), m.Kind, m.Label, m.Target.Name, m.Target.Main())
	}
}

func strong(technique lookalike.Technique) func(*lookalike.Match) bool {
	return func(m *lookalike.Match) bool { return m.Technique == technique && m.Strength == lookalike.Strong }
}

const leave = "Do not enter anything there: type the domain of the company yourself."

var brandRules = diag.Rules[*anatomy]{{
	Code: "phishing.lookalike.homoglyph", Severity: diag.Error, Weight: 70, Ref: "UTS #39 section 4",
	Title: "Host imitates that of a known brand", Requirement: "The host does not look like that of a known brand",
	Advice: leave,
	Fails:  likeness(strong(lookalike.Homoglyph)),
}, {
	Code: "phishing.lookalike.typo", Severity: diag.Error, Weight: 50,
	Title: "Host is a misspelled brand", Requirement: "The host is not a misspelled brand",
	Advice: leave,
	Fails:  likeness(strong(lookalike.Typo)),
}, {
	Code: "phishing.lookalike.combo", Severity: diag.Error, Weight: 50,
	Title:       "Host combines a brand with trust words such as \"secure\"",
	Requirement: "The host does not combine a brand with trust words",
	Advice:      leave,
	Fails:       likeness(strong(lookalike.Combo)),
}, {
	Code: "phishing.lookalike.subdomain", Severity: diag.Error, Weight: 55,
	Title:       "Brand below a domain that is not its own",
	Requirement: "The host shows no brand below a domain that is not its own",
	Advice:      leave,
	Fails:       likeness(strong(lookalike.Subdomain)),
}, {
	Code: "phishing.lookalike.fair", Severity: diag.Warning, Weight: 17,
	Title: "Host resembles that of a known brand", Requirement: "The host does not resemble that of a known brand",
	Advice: "Compare the host with the domain of the company, letter by letter.",
	Fails:  likeness(func(m *lookalike.Match) bool { return m.Strength == lookalike.Fair }),
}, {
	Code: "phishing.lookalike.weak", Severity: diag.Info, Weight: 5,
	Title: "Host has some similarity to a known brand", Requirement: "The host has no likeness to a known brand",
	Fails: likeness(func(m *lookalike.Match) bool { return m.Strength == lookalike.Weak }),
}, {
	Code: "phishing.url.brand_domain", Severity: diag.Warning, Weight: 28, Category: ofURL,
	Title:       "Another company's domain in path or query",
	Requirement: "Neither path nor query has another company's domain",
	Advice:      "Look at the host: anyone can write anything after it.", When: foreign,
	Fails: func(a *anatomy) diag.Failures {
		return diag.FailEach(a.names, func(m mention) diag.Failures {
			if !m.domain {
				return nil
			}
			return about(m.target.Name, "The path or query has %q, but the site is %s, which is not that of %s.",
				diag.Quote(m.text), a.place(), m.target.Name)
		})
	},
}, {
	Code: "phishing.url.brand", Severity: diag.Info, Weight: 12, Category: ofURL,
	Title:       "Another company's name in path or query",
	Requirement: "Neither path nor query has another company's name",
	When:        foreign,
	Fails: func(a *anatomy) diag.Failures {
		return diag.FailEach(a.names, func(m mention) diag.Failures {
			if m.domain {
				return nil
			}
			return about(m.target.Name, "The path or query has %q, but the site is %s, which is not that of %s.",
				diag.Quote(m.text), a.place(), m.target.Name)
		})
	},
}}

// place is what says whose site it is: the registrable domain, or the host if there is none.
func (a *anatomy) place() string {
	if a.registered != "" {
		return a.registered
	}
	return a.url.Host().String()
}

// namesDomain reports whether path or query has the domain of another company, which is then what is told.
func (a *anatomy) namesDomain() bool {
	return slices.ContainsFunc(a.names, func(m mention) bool { return m.domain })
}
