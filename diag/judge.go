package diag

import (
	"cmp"
	"math"
	"slices"
)

// share brings what a rule earned into the bounds from 0 to 1; what is not a number earns nothing.
func share(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return min(1, max(0, f))
}

// A judgement is a verdict in the making.
type judgement struct {
	v     Verdict
	cap   int
	state State
	worst []ranked // failed rules
}

// ranked is a failed rule, with what orders it among the others.
type ranked struct {
	code     Code
	severity Severity
	state    State
	advice   Recommendation // without a code if there is nothing to advise
}

func (j *judgement) fail(r RuleInfo, failures Failures) {
	suggested := ""
	for _, f := range failures {
		j.v.Findings = append(j.v.Findings, Finding{
			r.Code, r.Severity, r.Title, f.Detail, r.Advice, r.Reference, f.Target, f.Location,
		})
		suggested = cmp.Or(suggested, f.Suggested)
	}
	var advice Recommendation
	if r.Advice != "" {
		advice = Recommendation{r.Code, priorityOf(r.Severity), r.Title, r.Advice, suggested}
	}
	if r.State != Unknown && r.Severity == Critical {
		j.cap = min(j.cap, criticalCap)
	}
	if r.State != Unknown && r.Severity == Error {
		j.cap = min(j.cap, errorCap)
	}
	if stateRank[r.State] > stateRank[j.state] {
		j.state = r.State
	}
	j.worst = append(j.worst, ranked{r.Code, r.Severity, r.State, advice})
}

func priorityOf(s Severity) Priority {
	switch {
	case s >= Error:
		return High
	case s == Warning:
		return Medium
	default:
		return Low
	}
}

// stateRank orders the states by what they say of the whole: that a record is missing says more than
// that it is invalid, since nothing else can be wrong with it, and a known fault more than the
// unknown.
var stateRank = map[State]int{Valid: 0, Warned: 1, Unknown: 2, Bad: 3, Missing: 4}

func (j *judgement) score(code Code, title, category string, weight int, earned float64, failures Failures) {
	points := int(earned*float64(weight) + 0.5)
	factor := Factor{code, title, points, weight, FactorPass, ""}
	if len(failures) > 0 {
		factor.Status, factor.Detail = FactorFail, failures[0].Detail
		if points > 0 {
			factor.Status = FactorPartial
		}
	}
	j.v.Factors = append(j.v.Factors, factor)
	b := &j.v.Breakdown
	b.Earned, b.Max = b.Earned+points, b.Max+weight
	c := b.Categories[category]
	b.Categories[category] = CategoryScore{c.Earned + points, c.Max + weight}
}

func (j *judgement) close(texts Texts) Verdict {
	v := &j.v
	v.State, v.Band = j.state, Undetermined
	if v.Breakdown.Max > 0 {
		score := 100 * v.Breakdown.Earned / v.Breakdown.Max
		v.Score = min(score, j.cap)
		v.Breakdown.Penalty = score - v.Score
		v.Band = BandOf(v.Score)
	}
	slices.SortStableFunc(v.Findings, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	slices.SortStableFunc(j.worst, func(a, b ranked) int { return cmp.Compare(b.severity, a.severity) })
	for _, r := range j.worst {
		if r.advice.Code != "" {
			v.Recommendations = append(v.Recommendations, r.advice)
		}
	}
	slices.SortStableFunc(j.worst, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(stateRank[b.state], stateRank[a.state]), cmp.Compare(b.severity, a.severity))
	})
	text := texts.pick(j.worst, v.State, v.Band)
	v.Headline, v.Sub = text.Headline, text.Sub
	return *v
}
