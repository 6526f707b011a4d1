package phishing

import (
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

type rule = diag.Rule[*evidence]

// rules is the table of signals. A rule that fails is a signal that was triggered; its weight is how much
// it raises the risk, see [risk]. A rule without a weight says what could not be examined.
// What was found stands, whatever else was not answered.
var rules = sync.OnceValue(func() diag.Rules[*evidence] {
	type urlRule = diag.Rule[*anatomy]
	return slices.Concat(
		slices.Concat(lift(brandRules.With(urlRule{Category: ofHost})), lift(hostRules.With(urlRule{Category: ofHost})),
			lift(urlRules.With(urlRule{Category: ofURL})), lift(pathRules.With(urlRule{Category: ofURL, When: foreign})),
			tlsRules.With(rule{Category: ofTLS, When: certified}), contentRules.With(rule{Category: ofContent})).Reading(sourcePage),
		registrationRules.With(rule{Category: ofRegistration, Reads: []diag.Source{sourceRegistration}}),
		reputationRules.With(rule{Category: ofReputation, Reads: []diag.Source{sourceReputation}})).With(rule{Stands: true})
})

// lift makes rules on a URL rules on the URL that was given and the one that it leads to, if that is another site.
func lift(list diag.Rules[*anatomy]) (lifted diag.Rules[*evidence]) {
	for _, r := range list {
		applies := func(a *anatomy) bool { return r.When == nil || r.When(a) }
		lifted = append(lifted, rule{
			Code: r.Code, Severity: r.Severity, Weight: r.Weight, Category: r.Category,
			Title: r.Title, Requirement: r.Requirement, Ref: r.Ref, Advice: r.Advice,
			When: func(e *evidence) bool { return slices.ContainsFunc(e.places(), applies) },
			Fails: func(e *evidence) (all diag.Failures) {
				for i, a := range e.places() {
					if !applies(a) {
						continue
					}
					for _, f := range r.Fails(a) {
						if i > 0 {
							f.Detail = "The URL leads to " + a.url.Host().String() + ". " + f.Detail
						}
						all = append(all, f)
					}
				}
				return all
			},
		})
	}
	return lifted
}

// about returns the failure of a signal that is about a thing.
func about(target, format string, args ...any) diag.Failures {
	return diag.Fail(format, args...).About(target)
}

// The categories of signals, in the order in which they are examined (CONTRACT 3.4).
var (
	ofURL          = diag.Category{Code: "url", Label: "URL"}
	ofHost         = diag.Category{Code: "host", Label: "Host"}
	ofTLS          = diag.Category{Code: "tls", Label: "TLS"}
	ofContent      = diag.Category{Code: "content", Label: "Content"}
	ofRegistration = diag.Category{Code: "registration", Label: "Registration"}
	ofReputation   = diag.Category{Code: "reputation", Label: "Reputation"}
)
