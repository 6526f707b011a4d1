package header

import (
	"slices"

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

	// What was checked live.
	factorDMARC  = diag.Category{Code: "live_dmarc", Label: "DMARC now"}
	factorLive   = diag.Category{Code: "live_authentication", Label: "SPF and DKIM now"}
	factorServer = diag.Category{Code: "live_server", Label: "Sending server"}
)

// Rules on which others depend.
const (
	noFields diag.Code = "header.fields.none"
	// unnoted is the rule that nobody noted any results. It matters less where they are found live, so that there it is
	// no finding, only what other rules suppose.
	unnoted diag.Code = "header.authres.missing"
)

// about makes rules those of one factor. Where they depend on no other, they suppose that there is a header at all.
func about(factor diag.Category, rules diag.Rules[*evidence]) diag.Rules[*evidence] {
	rules = rules.With(diag.Rule[*evidence]{DependsOn: []diag.Code{noFields}})
	for i := range rules {
		rules[i].Category = factor
	}
	return rules
}

// failsIf makes the test of a rule of a condition; target is what the failure is about.
func failsIf[E any](target string, is func(E) bool, detail string) func(E) diag.Failures {
	return func(e E) diag.Failures { return diag.FailIf(is(e), "%s", detail).About(target) }
}

// anomalyCodes are the rules whose failure suggests deception or damage.
var anomalyCodes = []diag.Code{"header.fields.none", "header.from.missing", "header.from.duplicate",
	"header.from.multiple", "header.from.invalid", "header.from.display_address", "header.from.display_domain",
	"header.from.brand", "header.from.lookalike", "header.reply_to.freemail", "header.text.direction",
	"header.fields.duplicate", "header.lines.malformed", "header.characters.control", "header.date.missing",
	"header.date.invalid", "header.date.future", "header.date.past", "header.hop.time.backwards",
	"header.hop.helo.receiver", "header.hop.address.impossible", "header.received.loop", "header.authres.contradicted",
	"header.authres.forged", "header.dmarc.fail", "header.spf.fail", "header.arc.order", "header.spam.malicious"}

// liveAnomalies are likewise those of what was found live.
var liveAnomalies = []diag.Code{"header.live.dmarc.fail", "header.live.dmarc.fail.unclear",
	"header.live.dmarc.fail.monitored", "header.live.dkim.body", "header.live.dkim.signature",
	"header.live.dkim.appended"}

// frauds are the rules whose failure names a deception that authentication does not exclude.
var frauds = []diag.Code{"header.from.duplicate", "header.from.display_address", "header.from.display_domain",
	"header.from.brand", "header.from.lookalike", "header.text.direction", "header.reply_to.freemail"}

func pick(findings []diag.Finding, codes ...[]diag.Code) []diag.Finding {
	list := []diag.Finding{}
	for _, f := range findings {
		if slices.Contains(slices.Concat(codes...), f.Code) {
			list = append(list, f)
		}
	}
	return list
}
