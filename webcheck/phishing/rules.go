package phishing

import (
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
)

// rules is the table of signals. A rule that fails is a signal that was triggered; its weight is how much
// it raises the risk, see [risk]. A rule without a weight says what could not be examined.
// What was found holds, whatever else was not answered.
var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	type urlRule = rule.Rule[*anatomy]
	return slices.Concat(
		slices.Concat(lift(brandRules.With(urlRule{Category: ofHost})), lift(hostRules.With(urlRule{Category: ofHost})),
			lift(urlRules.With(urlRule{Category: ofURL})), lift(pathRules.With(urlRule{Category: ofURL, When: foreign})),
			tlsRules.With(rule.Rule[*evidence]{Category: ofTLS, When: certified}),
			contentRules.With(rule.Rule[*evidence]{Category: ofContent})).Reading(sourcePage),
		registrationRules.With(rule.Rule[*evidence]{Category: ofRegistration, Reads: []rule.Source{sourceRegistration}})).
		With(rule.Rule[*evidence]{HoldsWhenUnanswered: true})
})

// lift makes rules on a URL rules on the URL that was given and the one that it leads to, if that is another site.
func lift(list rule.Rules[*anatomy]) (lifted rule.Rules[*evidence]) {
	for _, r := range list {
		applies := func(a *anatomy) bool { return r.When == nil || r.When(a) }
		lifted = append(lifted, rule.Rule[*evidence]{
			Code: r.Code, Severity: r.Severity, Weight: r.Weight, Category: r.Category,
			Title: r.Title, Requirement: r.Requirement, Ref: r.Ref, Advice: r.Advice,
			When: func(e *evidence) bool { return slices.ContainsFunc(e.places(), applies) },
			Fails: func(e *evidence) (all rule.Failures) {
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
func about(target, format string, args ...any) rule.Failures {
	return rule.Fail(format, args...).About(target)
}

// having makes the test of a rule that fails with a text of the URL that should not be there.
func having(find func(*anatomy) string, format string) func(*anatomy) rule.Failures {
	return func(a *anatomy) rule.Failures {
		found := find(a)
		return rule.FailIf(found != "", format, phrase.Quote(found))
	}
}

// many makes the test of a rule that fails from a number on.
func many(from int, count func(*anatomy) int, format string) func(*anatomy) rule.Failures {
	return func(a *anatomy) rule.Failures {
		n := count(a)
		return rule.FailIf(n >= from, format, n)
	}
}

// first returns the first text of which something holds, or nothing.
func first(list []string, holds func(string) bool) string {
	if i := slices.IndexFunc(list, holds); i >= 0 {
		return list[i]
	}
	return ""
}

// The categories of signals, in the order in which they are examined (CONTRACT 3.4).
var (
	ofURL          = rule.Category{Code: "url", Label: "URL"}
	ofHost         = rule.Category{Code: "host", Label: "Host"}
	ofTLS          = rule.Category{Code: "tls", Label: "TLS"}
	ofContent      = rule.Category{Code: "content", Label: "Content"}
	ofRegistration = rule.Category{Code: "registration", Label: "Registration"}
	ofReputation   = rule.Category{Code: "reputation", Label: "Reputation"}
)

// The ages below which a certificate or a registration is reported, in days.
const (
	freshCertificate = 7   // most phishing sites get one on their first day
	newDomain        = 30  // half of the domains that are registered for phishing are used within a month
	youngDomain      = 180 // and nearly all of them within half a year
)

func certified(e *evidence) bool {
	return e.site != nil && e.site.TLS != nil && e.site.TLS.Leaf() != nil
}

var tlsRules = rule.Rules[*evidence]{{
	Code: "phishing.tls.invalid", Severity: diag.Warning, Weight: 30, Fact: reach.Untrusted,
	Differs: "a signal of phishing among others, whichever of the certificate's faults it is",
	Ref:     "RFC 9110 section 4.3.4",
	Title:   "Certificate is not trusted", Requirement: "The certificate is trusted and for this host",
	Advice: "Do not click through the browser's warning.",
	Fails: func(e *evidence) rule.Failures {
		if err := e.site.TLS.Err(); err != nil {
			return rule.Fail("The certificate of %s proves nothing: %s.", e.last().url.Host(), diag.Reason(err))
		}
		return nil
	},
}, {
	Code: "phishing.tls.new", Severity: diag.Info, Weight: 5,
	Title: "Certificate issued only days ago", Requirement: "The certificate was not issued only days ago",
	Fails: func(e *evidence) rule.Failures {
		from := e.site.TLS.Leaf().NotBefore
		return rule.FailIf(!from.After(e.now) && days(e.now.Sub(from)) < freshCertificate,
			"The certificate was issued on %s. New sites have new certificates, and so have those that renewed theirs.",
			from.Format(time.DateOnly))
	},
}}

var registrationRules = rule.Rules[*evidence]{{
	Code: "phishing.registration.missing", Severity: diag.Info, Weight: 10,
	Title: "Domain is not registered", Requirement: "The domain is registered",
	When: func(e *evidence) bool { return known(e, false) },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.ages, func(a age) rule.Failures {
			if a.report == nil || a.report.Registered == nil || *a.report.Registered {
				return nil
			}
			return about(a.domain.String(), "The registry says that %s is not registered: it never was, or was taken away.",
				a.domain)
		})
	},
}, {
	Code: "phishing.registration.new", Severity: diag.Warning, Weight: 32,
	Title:       "Domain was registered in the last 30 days",
	Requirement: "The domain was not registered in the last 30 days",
	Advice:      "Wait: most phishing sites are taken down within days.",
	When:        func(e *evidence) bool { return known(e, true) },
	Fails:       younger(0, newDomain),
}, {
	Code: "phishing.registration.young", Severity: diag.Info, Weight: 12,
	Title: "Domain is less than half a year old", Requirement: "The domain is older than half a year, or newer than " +
		"30 days",
	When:  func(e *evidence) bool { return known(e, true) },
	Fails: younger(newDomain, youngDomain),
}}

// known reports whether something was learned of a registration; with its age, if that is asked for.
func known(e *evidence, aged bool) bool {
	return slices.ContainsFunc(e.ages, func(a age) bool {
		return a.report != nil && a.report.Registered != nil && (!aged || a.report.AgeDays != nil)
	})
}

func younger(from, below int) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailEach(e.ages, func(a age) rule.Failures {
			n, ok := a.days()
			if !ok || n < from || n >= below {
				return nil
			}
			return about(a.domain.String(), "%s was registered %s ago.", a.domain, phrase.Count(n, "day"))
		})
	}
}

func (a age) days() (int, bool) {
	if a.report == nil || a.report.AgeDays == nil {
		return 0, false
	}
	return *a.report.AgeDays, true
}
