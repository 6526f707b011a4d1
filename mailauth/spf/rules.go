package spf

import (
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

var rules = sync.OnceValue(func() diag.Rules[*evidence] {
	return slices.Concat(recordRules, publicationRules,
		on("spf.record.version", formRules, syntaxRules, termRules, policyRules, treeRules, limitRules, hostRules,
			networkRules, explanationRules),
		testRules.Reading(diag.FromRequest)).Reading(fromRecord)
})

var verdicts = diag.Texts{
	"valid": {Headline: "SPF is set up correctly",
		Sub: "Receivers can tell which hosts may send mail for the domain. Check the record again when you add a service."},
}

// verdictsAlone are those of a record that was examined alone.
var verdictsAlone = diag.Texts{
	"valid": {Headline: "SPF record is valid as far as its text tells",
		Sub: "What it includes was not looked at. Look up the domain once the record is published."},
}
