package header

import (
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

// The factors of the score, in the order of a reader.
var (
	factorAuthentication = diag.Category{Code: "authentication", Label: "Authentication"}
	factorIdentity       = diag.Category{Code: "identity", Label: "Identity of the sender"}
	factorForm           = diag.Category{Code: "form", Label: "Form of the header"}
	factorRoute          = diag.Category{Code: "route", Label: "Route and times"}
	factorFilters        = diag.Category{Code: "filters", Label: "Spam filters"}
	factorList           = diag.Category{Code: "list", Label: "Newsletters and lists"}
)

// auditRules is the table of all that is examined without the network.
var auditRules = sync.OnceValue(func() diag.Rules[*evidence] {
	return slices.Concat(formRules, identityRules, authenticationRules, signatureRules, routeRules, filterRules,
		listRules)
})

// anomalyCodes are the rules whose failure suggests deception or damage.
var anomalyCodes = []diag.Code{"header.fields.none", "header.from.missing", "header.from.duplicate",
	"header.from.multiple", "header.from.invalid", "header.from.display_address", "header.from.display_domain",
	"header.from.brand", "header.from.lookalike", "header.reply_to.freemail", "header.text.direction",
	"header.fields.duplicate", "header.lines.malformed", "header.characters.control", "header.date.missing",
	"header.date.invalid", "header.date.future", "header.date.past", "header.hop.time.backwards",
	"header.hop.helo.receiver", "header.hop.address.impossible", "header.received.loop", "header.authres.contradicted",
	"header.authres.forged", "header.dmarc.fail", "header.spf.fail", "header.arc.order", "header.spam.malicious"}

// frauds are the rules whose failure names a deception that authentication does not exclude.
var frauds = []diag.Code{"header.from.duplicate", "header.from.display_address", "header.from.display_domain",
	"header.from.brand", "header.from.lookalike", "header.text.direction", "header.reply_to.freemail"}

// anomaliesOf picks the findings that suggest deception or damage.
func anomaliesOf(findings []diag.Finding) []diag.Finding {
	list := []diag.Finding{}
	for _, f := range findings {
		if slices.Contains(anomalyCodes, f.Code) {
			list = append(list, f)
		}
	}
	return list
}
