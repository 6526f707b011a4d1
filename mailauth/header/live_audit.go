package header

import (
	"cmp"
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// analyzeRules are those of what was found live, and those of the header. Of findings of one severity, the first speaks
// for all: whom the message comes from goes before how it came.
var analyzeRules = sync.OnceValue(func() diag.Rules[*analysis] {
	all := slices.Concat(liveRules(), lift(auditRules()))
	rank := func(r diag.Rule[*analysis]) int {
		switch {
		case r.Category == liveDMARC:
			return 0
		case r.Category == factorIdentity, r.Code == "header.fields.none", r.Code == "header.from.missing":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b diag.Rule[*analysis]) int { return cmp.Compare(rank(a), rank(b)) })
	return all
})

// unnoted is the rule that nobody noted any results. It matters less where they are found live, so that there it is
// no finding, only what other rules suppose.
const unnoted diag.Code = "header.authres.missing"

// superseded are the rules about what others noted that is now checked live; where the two differ says [Live.Recorded].
var superseded = []diag.Code{unnoted, "header.dmarc.fail", "header.dmarc.forwarded", "header.dmarc.error",
	"header.dmarc.none", "header.spf.fail", "header.spf.outweighed", "header.spf.weak", "header.spf.error",
	"header.dkim.fail", "header.dkim.expired", "header.alignment.none"}

// liveAnomalies are the rules of what was found live whose failure suggests deception or damage.
var liveAnomalies = []diag.Code{"header.live.dmarc.fail", "header.live.dmarc.fail.unclear",
	"header.live.dmarc.fail.monitored", "header.live.dkim.body", "header.live.dkim.signature",
	"header.live.dkim.appended"}

// deceptions picks the findings that suggest deception or damage, in their order.
func deceptions(findings []diag.Finding) []diag.Finding {
	list := []diag.Finding{}
	for _, f := range findings {
		if slices.Contains(liveAnomalies, f.Code) || slices.Contains(anomalyCodes, f.Code) {
			list = append(list, f)
		}
	}
	return list
}

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
		if r.Partly != nil {
			l.Partly = func(a *analysis) float64 { return r.Partly(a.evidence) }
		}
		lifted = append(lifted, l)
	}
	return lifted
}

// align fills in what is aligned by what was found now.
func (a *analysis) align(to *Alignment) {
	l := a.live
	if l == nil || l.could == nil {
		return
	}
	if l.spf != nil && l.spf.Outcome != spf.Temperror {
		to.SPFAligned = new(l.spf.Outcome == spf.Pass && l.aligned(policy.SPF, l.spfDomain()))
	}
	switch {
	case l.signed(dkim.Pass) != nil:
		to.DKIMAligned = new(true)
	case l.signed(dkim.TempError, dkim.Unchecked) == nil && len(l.dkim.Signatures) > 0:
		to.DKIMAligned = new(false)
	}
}
