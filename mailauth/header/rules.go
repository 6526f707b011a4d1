package header

import (
	"cmp"
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
)

// auditRules is the table of all rules that need no network.
var auditRules = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(copyRules, inFactor(factorForm, formRules), inFactor(factorIdentity, identityRules),
		inFactor(factorAuthentication, authenticationRules), inFactor(factorAuthentication, signatureRules),
		inFactor(factorAuthentication, coverageRules),
		inFactor(factorRoute, routeRules), inFactor(factorFilters, filterRules), inFactor(factorList, listRules))
})

// analyzeRules are the live rules and those of the header. Of findings of one severity, the first becomes the
// headline: the origin of the message precedes its route.
var analyzeRules = sync.OnceValue(func() rule.Rules[*analysis] {
	all := slices.Concat(liveRules(), asAnalysisRules(auditRules()))
	leads := kit.Map(bodyRules, func(r rule.Rule[*analysis]) diag.Code { return r.Code })
	leads = append(leads, noFields) // on which the following rules depend
	leads = append(leads, kit.Map(coverageRules, func(r rule.Rule[*evidence]) diag.Code { return r.Code })...)
	rank := func(r rule.Rule[*analysis]) int {
		switch {
		case r.Category == factorDMARC, slices.Contains(leads, r.Code):
			return 0
		case r.Category == factorIdentity, r.Code == "header.from.missing":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b rule.Rule[*analysis]) int { return cmp.Compare(rank(a), rank(b)) })
	return all
})

// superseded are the rules about recorded results that are now checked live; [Live.Recorded] lists differences.
var superseded = []diag.Code{noAuthResults, "header.dmarc.fail", "header.dmarc.forwarded", "header.dmarc.error",
	"header.dmarc.none", "header.spf.fail", "header.spf.outweighed", "header.spf.weak", "header.spf.error",
	"header.dkim.fail", "header.dkim.expired", "header.alignment.none"}

// asAnalysisRules makes rules about a header rules about an analysis.
func asAnalysisRules(rules rule.Rules[*evidence]) rule.Rules[*analysis] {
	lifted := make(rule.Rules[*analysis], 0, len(rules))
	noted := rules[slices.IndexFunc(rules, func(r rule.Rule[*evidence]) bool { return r.Code == noAuthResults })].Fails
	for _, r := range rules {
		needsNotes := slices.Contains(r.DependsOn, noAuthResults)
		l := rule.Rule[*analysis]{
			Code: r.Code, Severity: r.Severity, Weight: r.Weight, Category: r.Category, Title: r.Title,
			Requirement: r.Requirement, Ref: r.Ref, Advice: r.Advice,
			DependsOn:     slices.DeleteFunc(slices.Clone(r.DependsOn), func(c diag.Code) bool { return c == noAuthResults }),
			StateIfFailed: r.StateIfFailed, NoScore: r.NoScore, Fact: r.Fact, Differs: r.Differs,
			Reads: []rule.Source{rule.FromRequest},
			Fails: func(a *analysis) rule.Failures { return r.Fails(a.evidence) },
			When: func(a *analysis) bool {
				live := a.live != nil && slices.Contains(superseded, r.Code)
				return !live && !(needsNotes && noted(a.evidence) != nil) && (r.When == nil || r.When(a.evidence))
			},
		}
		lifted = append(lifted, l)
	}
	return lifted
}

var auditTexts = rule.Texts{
	"excellent": {
		Headline: "The header is consistent and shows no anomalies",
		Sub:      "Nothing in it suggests deception or damage, and the domain in From did not fail authentication.",
	},
	"valid": {
		Headline: "The header is consistent and shows no anomalies",
		Sub:      "Nothing in it suggests deception or damage. The findings list possible improvements.",
	},
	string(noAuthResults): {
		Headline: "The header is consistent, but authentication was not recorded",
		Sub: "Whether the sender is authentic cannot be determined from this header. Use " +
			"mail/header-analyze to check it now.",
	},
}

var analyzeTexts = rule.Texts{
	"valid": {
		Headline: "The message is authentic: DMARC passes for its author",
		Sub: "SPF or DKIM confirms that it was sent for the domain in From. Whether that is the domain that you know, only " +
			"you can tell: compare it letter by letter.",
	},
	"header.live.undecided": {
		Headline: "Whether the message is authentic cannot be known from this alone",
		Sub:      "No fault was found in what was submitted. Submit the whole message with all its fields to evaluate DMARC.",
	},
	"header.live.forwarded": {
		Headline: "The message is authentic and was forwarded",
		Sub:      "DKIM still verifies, so DMARC passes. SPF concerns the forwarder.",
	},
}

var (
	factorAuthentication = rule.Category{Code: "authentication", Label: "Authentication"}
	factorIdentity       = rule.Category{Code: "identity", Label: "Identity of the sender"}
	factorForm           = rule.Category{Code: "form", Label: "Form of the header"}
	factorRoute          = rule.Category{Code: "route", Label: "Route and times"}
	factorFilters        = rule.Category{Code: "filters", Label: "Spam filters"}
	factorList           = rule.Category{Code: "list", Label: "Newsletters and lists"}

	// What was checked live.
	factorDMARC  = rule.Category{Code: "live_dmarc", Label: "DMARC now"}
	factorLive   = rule.Category{Code: "live_authentication", Label: "SPF and DKIM now"}
	factorServer = rule.Category{Code: "live_server", Label: "Sending server"}
)

// Rules on which others depend.
const (
	noFields diag.Code = "header.fields.none"
	// noAuthResults is the rule that fails without recorded results. It matters less with live results, where it is not a
	// finding and only a condition of other rules.
	noAuthResults diag.Code = "header.authres.missing"
)

// inFactor assigns rules to one factor. Rules that depend on no other require that there is a header.
func inFactor(factor rule.Category, rules rule.Rules[*evidence]) rule.Rules[*evidence] {
	rules = rules.With(rule.Rule[*evidence]{DependsOn: []diag.Code{noFields}})
	for i := range rules {
		rules[i].Category = factor
	}
	return rules
}

// failsIf makes the test of a rule from a condition; target is the target of the failure.
func failsIf[E any](target string, is func(E) bool, detail string) func(E) rule.Failures {
	return func(e E) rule.Failures { return rule.FailIf(is(e), "%s", detail).About(target) }
}

// anomalyCodes are the rules whose failure suggests deception or damage.
var anomalyCodes = []diag.Code{"header.fields.none", "header.from.missing", "header.from.duplicate",
	"header.from.multiple", "header.from.invalid", "header.from.display_address", "header.from.display_domain",
	"header.from.brand", "header.from.lookalike", "header.reply_to.freemail", "header.reply_to.elsewhere",
	"header.text.direction",
	"header.fields.duplicate", "header.dkim.field_added", "header.lines.malformed", "header.characters.control",
	"header.date.missing", "header.date.invalid", "header.date.future", "header.date.past", "header.hop.time.backwards",
	"header.hop.helo.receiver", "header.hop.address.impossible", "header.received.loop", "header.authres.contradicted",
	"header.authres.forged", "header.dmarc.fail", "header.spf.fail", "header.arc.order", "header.spam.malicious"}

// liveAnomalies are the corresponding live rules.
var liveAnomalies = []diag.Code{"header.live.dmarc.fail", "header.live.dmarc.fail.unclear",
	"header.live.dmarc.fail.monitored", "header.live.dkim.body", "header.live.dkim.signature",
	"header.live.dkim.appended", "header.live.dkim.body_unsigned", "header.live.dkim.reply_to"}

// fraudCodes are the rules whose failure names a deception that authentication does not exclude.
var fraudCodes = []diag.Code{"header.from.duplicate", "header.from.display_address", "header.from.display_domain",
	"header.from.brand", "header.from.lookalike", "header.text.direction", "header.reply_to.freemail",
	"header.reply_to.elsewhere"}

func filterCodes(findings []diag.Finding, codes ...[]diag.Code) []diag.Finding {
	list := []diag.Finding{}
	for _, f := range findings {
		if slices.Contains(slices.Concat(codes...), f.Code) {
			list = append(list, f)
		}
	}
	return list
}
