package markcert

import (
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

// The severities follow one principle: critical is what receivers refuse by the draft, so that no logo is shown; error
// is what breaks a requirement on which some of them insist; warning is what authorities or publishers should do
// better.

type rule = diag.Rule[*evidence]

// parseRules are about a text; lookupRules about how it was found and fetched as well.
var (
	parseRules = sync.OnceValue(func() diag.Rules[*evidence] {
		return slices.Concat(textRules, validityRules.With(rule{Category: factorDates, When: marked}),
			chainRules.With(rule{Category: factorChain, When: marked}),
			profileRules.With(rule{Category: factorProfile, When: marked}),
			subjectRules.With(rule{Category: factorSubject, When: marked}), domainRules.With(rule{Category: factorDomain}),
			logoRules.With(rule{Category: factorLogo, When: drawn}), logRules.With(rule{Category: factorLog, When: marked}))
	})
	lookupRules = sync.OnceValue(func() diag.Rules[*evidence] {
		return slices.Concat(recordRules, fetchRules.With(rule{Category: factorFetch}), parseRules())
	})
)

// The factors of the score, in the order of a reader.
var (
	factorFetch   = diag.Category{Code: "fetch", Label: "Web server"}
	factorText    = diag.Category{Code: "text", Label: "PEM text"}
	factorDates   = diag.Category{Code: "validity", Label: "Validity"}
	factorChain   = diag.Category{Code: "chain", Label: "Authority"}
	factorProfile = diag.Category{Code: "profile", Label: "Certificate profile"}
	factorSubject = diag.Category{Code: "subject", Label: "Mark and owner"}
	factorDomain  = diag.Category{Code: "domain", Label: "Domain"}
	factorLogo    = diag.Category{Code: "logo", Label: "Logo"}
	factorLog     = diag.Category{Code: "transparency", Label: "Certificate Transparency"}
)

// What the rules cite.
const (
	draft = "draft-fetch-validation-vmc-wchuang-11 section "
	mcr   = "Mark Certificate Requirements" // sections only where they are the same in all versions
)

func read(e *evidence) bool { return e.read }

func marked(e *evidence) bool { return e.attempted() }

func placed(e *evidence) bool { return e.attempted() && e.place != nil }

func drawn(e *evidence) bool { return e.attempted() && e.mark.Logo() != nil }

var texts = diag.Texts{
	"valid": {Headline: "Mark certificate is valid",
		Sub: "Mailboxes that ask for one can show the logo. Whether it was revoked was not examined."},
}
