package header

import (
	"cmp"
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

// auditRules is the table of all that is examined without the network.
var auditRules = sync.OnceValue(func() diag.Rules[*evidence] {
	return slices.Concat(copyRules, about(factorForm, formRules), about(factorIdentity, identityRules),
		about(factorAuthentication, authenticationRules), about(factorAuthentication, signatureRules),
		about(factorRoute, routeRules), about(factorFilters, filterRules), about(factorList, listRules))
})

// analyzeRules are those of what was found live, and those of the header. Of findings of one severity, the first speaks
// for all: whom the message comes from goes before how it came.
var analyzeRules = sync.OnceValue(func() diag.Rules[*analysis] {
	all := slices.Concat(liveRules(), lift(auditRules()))
	rank := func(r diag.Rule[*analysis]) int {
		switch {
		case r.Category == factorDMARC:
			return 0
		case r.Category == factorIdentity, r.Code == noFields, r.Code == "header.from.missing":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b diag.Rule[*analysis]) int { return cmp.Compare(rank(a), rank(b)) })
	return all
})

// superseded are the rules about what others noted that is now checked live; where the two differ says [Live.Recorded].
var superseded = []diag.Code{unnoted, "header.dmarc.fail", "header.dmarc.forwarded", "header.dmarc.error",
	"header.dmarc.none", "header.spf.fail", "header.spf.outweighed", "header.spf.weak", "header.spf.error",
	"header.dkim.fail", "header.dkim.expired", "header.alignment.none"}

// lift makes rules about a header rules about an analysis.
func lift(rules diag.Rules[*evidence]) diag.Rules[*analysis] {
	lifted := make(diag.Rules[*analysis], 0, len(rules))
	noted := rules[slices.IndexFunc(rules, func(r diag.Rule[*evidence]) bool { return r.Code == unnoted })].Fails
	for _, r := range rules {
		needsNotes := slices.Contains(r.DependsOn, unnoted)
		l := diag.Rule[*analysis]{
			Code: r.Code, Severity: r.Severity, Weight: r.Weight, Category: r.Category, Title: r.Title,
			Requirement: r.Requirement, Ref: r.Ref, Advice: r.Advice,
			DependsOn:     slices.DeleteFunc(slices.Clone(r.DependsOn), func(c diag.Code) bool { return c == unnoted }),
			StateIfFailed: r.StateIfFailed, NoScore: r.NoScore, Fact: r.Fact, Differs: r.Differs, Reads: []diag.Source{diag.FromRequest},
			Fails: func(a *analysis) diag.Failures { return r.Fails(a.evidence) },
			When: func(a *analysis) bool {
				live := a.live != nil && slices.Contains(superseded, r.Code)
				return !live && !(needsNotes && noted(a.evidence) != nil) && (r.When == nil || r.When(a.evidence))
			},
		}
		lifted = append(lifted, l)
	}
	return lifted
}

var auditTexts = diag.Texts{
	"excellent": {
		Headline: "The header is consistent and shows no anomalies",
		Sub:      "Nothing in it suggests deception or damage, and the domain in From did not fail authentication.",
	},
	"valid": {
		Headline: "The header is consistent and shows no anomalies",
		Sub:      "Nothing in it suggests deception or damage. The findings list possible improvements.",
	},
	string(unnoted): {
		Headline: "The header is consistent, but authentication was not recorded",
		Sub: "Whether the sender is authentic cannot be determined from this header. Use " +
			"mail/header-analyze to check it now.",
	},
}

var analyzeTexts = diag.Texts{
	"valid": {
		Headline: "The message is authentic: DMARC passes for its author",
		Sub: "SPF or DKIM confirms that it was sent for the domain in From. Whether that is the domain that you know, only " +
			"you can tell: compare it letter by letter.",
	},
	"header.live.undecided": {
		Headline: "Whether the message is authentic cannot be told from this alone",
		Sub:      "No fault was found in what was submitted. Submit the whole message with all its fields to evaluate DMARC.",
	},
	"header.live.forwarded": {
		Headline: "The message is authentic and was forwarded",
		Sub:      "DKIM still verifies, so DMARC passes. SPF concerns the forwarder.",
	},
}
