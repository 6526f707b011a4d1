package compose

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/nameuse"
)

// A WeightedPart is a part and what it counts for.
type WeightedPart struct {
	*Summary
	Weight int
	// Rating replaces the part's own score, as for one of several keys that counts for all; may be nil.
	Rating *int
	// MayBeUnknown reports whether an unknown part does not matter, as DKIM for a domain that sends no mail.
	MayBeUnknown bool
}

// A Composite is a set of parts to summarize.
type Composite struct {
	Domain diag.Domain
	Parts  []WeightedPart // in the order of a reader
	// Own holds the operation's findings apart from those of its parts.
	Own []*Summary
	// Good and Incomplete are the texts if no finding is above info: Good if all is known, Incomplete if something is
	// unknown or was not examined.
	Good, Incomplete diag.Text
	// Now is the time at which steps are put in order.
	Now time.Time
	// Route is the mail route of the domain according to the DNS.
	Route reception.Route
	// Name is the use of the domain, see [Domain.Name].
	Name nameuse.Name
	// Sends reports whether the domain seems to send mail, see [Sends].
	Sends bool
	// Untested reports whether something on which mail depends was not examined, apart from unknown parts.
	Untested bool
	// LeftOut are the parts that were not requested.
	LeftOut []diag.ScopePart
	// Withhold reports whether a value must not be suggested, for a reason that only the operation knows; may be nil.
	Withhold func(value string) bool
}

func (c *Composite) allParts() []*Summary {
	return slices.Concat(c.Own, kit.Map(c.Parts, func(p WeightedPart) *Summary { return p.Summary }))
}

// anyKnown reports whether any part reached a conclusion, apart from DNSSEC, which queries the name servers themselves.
func (c *Composite) anyKnown() bool {
	return slices.ContainsFunc(c.Parts, func(p WeightedPart) bool { return p.Known() && p.kind != DNSSEC })
}

// Partial reports whether any query was not answered. Finding nothing at guessed names counts as an answer.
func (c *Composite) Partial() bool {
	silent := func(p WeightedPart) bool { return !p.MayBeUnknown && (!p.Known() && !p.answered || !p.settled()) }
	return slices.ContainsFunc(c.allParts(), func(p *Summary) bool { return p.partial }) ||
		slices.ContainsFunc(c.Parts, silent)
}

// isIncomplete reports whether something that matters is unknown, for any reason.
func (c *Composite) isIncomplete() bool {
	return c.Untested || c.Partial() || slices.ContainsFunc(c.Parts, func(p WeightedPart) bool {
		return !p.Known() && !p.MayBeUnknown
	})
}

func (s *Summary) isExtra() bool {
	return slices.Contains([]string{BIMI.Code, TLSRPT.Code, Reputation.Code}, s.kind.Code)
}

// settled reports whether no rule that could tell of an error was left open.
func (s *Summary) settled() bool {
	return !slices.ContainsFunc(s.verdict.Open(), func(c diag.Code) bool { return s.rules[c].Severity >= diag.Error })
}

// Ready reports whether mail works: false if a part has an error, nil if that depends on what was not answered or not
// examined.
func (c *Composite) Ready() *bool {
	if slices.ContainsFunc(c.allParts(), (*Summary).Fails) {
		return new(false)
	}
	unsure := func(p WeightedPart) bool { return !p.isExtra() && !p.MayBeUnknown && (!p.Known() || !p.settled()) }
	if c.Untested || slices.ContainsFunc(c.Parts, unsure) {
		return nil
	}
	return new(true)
}

// Verdict returns the verdict of all parts together.
func (c *Composite) Verdict() diag.Verdict {
	list := c.mergedFindings()
	ordered := c.inStepOrder(list)
	v := diag.Verdict{
		State: c.state(list), Band: diag.Undetermined, Factors: []diag.Factor{}, Passed: c.passedChecks(),
		Breakdown:       diag.Breakdown{Categories: map[string]diag.CategoryScore{}},
		Recommendations: c.recommendations(ordered), Findings: []diag.Finding{},
	}
	for _, f := range list {
		reported := f.Finding
		reported.Target = f.part.Target()
		v.Findings = append(v.Findings, reported)
	}
	v.Examine(c.scope())
	c.setScore(&v)
	text := c.headlineText(ordered, &v)
	v.Headline, v.Sub = text.Headline, text.Sub
	return v
}

// scope returns, for each part, whether it was examined.
func (c *Composite) scope() []diag.ScopePart {
	list := kit.Map(c.Parts, func(p WeightedPart) diag.ScopePart {
		part := diag.ScopePart{Part: p.Target(), State: diag.Examined}
		switch {
		case p.MayBeUnknown, p.Known() && p.settled():
		case p.answered:
			part.State, part.Reason = diag.LeftOut, p.Headline
		default:
			part.State, part.Reason = diag.NotAnswered, p.Headline
		}
		return part
	})
	return append(list, c.LeftOut...)
}

// state returns the state of the gravest finding, unless it is unknown whether something on which mail depends works.
func (c *Composite) state(list []finding) diag.State {
	worst, unknown := diag.Info, !c.enoughKnown()
	for _, f := range list {
		switch {
		case f.part.isUnknown(f.Code):
			unknown = unknown || f.Severity >= diag.Error && !f.part.isExtra()
		case f.Severity >= diag.Error:
			return diag.Bad
		default:
			worst = max(worst, f.Severity)
		}
	}
	switch {
	case unknown:
		return diag.Unknown
	case worst == diag.Warning:
		return diag.Warned
	default:
		return diag.Valid
	}
}

// rating is the score by which the part counts; nil if it does not, or if what is open could lower it.
func (p *WeightedPart) rating() *int {
	if !p.settled() {
		return nil
	}
	return cmp.Or(p.Rating, p.Score)
}

var essentialParts = []Kind{SPF, DMARC, MX}

// enoughKnown reports whether the essential parts and at least half of what counts are known: a score of the rest would
// be a guess.
func (c *Composite) enoughKnown() bool {
	known, all := 0, 0
	for _, p := range c.Parts {
		// it has no score, and needs none
		if p.Weight == 0 || p.rating() == nil && (p.MayBeUnknown || p.Known() && p.settled()) {
			continue
		}
		if !p.Known() && slices.Contains(essentialParts, p.kind) {
			return false
		}
		all += p.Weight
		if p.rating() != nil {
			known += p.Weight
		}
	}
	return 2*known >= all && known > 0
}

func (c *Composite) setScore(v *diag.Verdict) {
	if v.State == diag.Unknown || !c.enoughKnown() {
		return
	}
	limit := 100
	if c.isIncomplete() {
		limit = diag.Warning.Cap() // what was not examined is not excellent
	}
	for _, p := range c.Parts {
		if p.Weight == 0 {
			continue
		}
		f := p.factor()
		v.Factors = append(v.Factors, f)
		if f.MaxPoints > 0 {
			v.Breakdown.Categories[string(f.Code)] = diag.CategoryScore{Earned: f.Points, Max: f.MaxPoints}
		}
		v.Breakdown.Earned, v.Breakdown.Max = v.Breakdown.Earned+f.Points, v.Breakdown.Max+f.MaxPoints
	}
	for _, p := range c.allParts() {
		limit = min(limit, p.worstSeverity().Cap())
	}
	score := 100 * v.Breakdown.Earned / v.Breakdown.Max
	v.Score = new(min(score, limit))
	v.Breakdown.Penalty = score - *v.Score
	v.Band = rule.BandOf(*v.Score)
}

// Points returns how much of its weight the part earns; measured is false if it has no score.
func (p *WeightedPart) Points() (points, most int, measured bool) {
	score := p.rating()
	if score == nil {
		return 0, 0, false
	}
	if p.Rating == nil && p.isIneffective() {
		return 0, p.Weight, true
	}
	return (*score*p.Weight + 50) / 100, p.Weight, true
}

func (p *WeightedPart) factor() diag.Factor {
	points, most, _ := p.Points()
	f := diag.Factor{
		Code: diag.Code(p.kind.Code), Label: p.kind.Label, Points: points, MaxPoints: most, Status: diag.FactorPass,
	}
	switch worst := p.worstSeverity(); {
	case most == 0:
		f.Status = diag.FactorNotApplicable
	case points == 0:
		f.Status = diag.FactorFail
	case points < most || worst >= diag.Warning:
		f.Status = diag.FactorPartial
	}
	for _, fault := range p.Findings {
		if !p.isUnknown(fault.Code) && fault.Severity >= diag.Warning {
			f.Detail = fault.Detail
			break
		}
	}
	return f
}

// minPassedWeight is the weight from which a fulfilled rule of a part is listed in the composite: the reports of the
// parts list the others.
const minPassedWeight = 10

func (c *Composite) passedChecks() []diag.Check {
	list := []diag.Check{}
	seen := map[diag.Code]bool{}
	for _, p := range c.Parts {
		for _, c := range p.verdict.Passed {
			if p.rules[c.Code].Weight >= minPassedWeight && !seen[c.Code] {
				seen[c.Code] = true
				list = append(list, c)
			}
		}
	}
	return list
}

// headlineText returns the headline: the first action, or that no action is needed.
func (c *Composite) headlineText(list []finding, v *diag.Verdict) diag.Text {
	switch {
	case c.allGood(list):
		return c.Good
	case len(v.Recommendations) == 0 || list[0].Severity == diag.Info:
		return c.Incomplete
	}
	first := &list[0]
	sub := first.Detail
	if v.Recommendations[0].Code == first.Code {
		sub = v.Recommendations[0].Detail
	}
	return diag.Text{Headline: headlineOf(first), Sub: sub + remainderText(list, first)}
}

func (c *Composite) allGood(list []finding) bool {
	return !c.isIncomplete() && (len(list) == 0 || list[0].Severity == diag.Info)
}

func headlineOf(f *finding) string {
	label := f.part.kind.Label
	short, _, _ := strings.Cut(f.Title, ": ")
	begin, beginWith := "Next step: ", "Next step for "+lowerFirst(label)+": "
	if f.Severity >= diag.Error {
		begin, beginWith = "Fix first: ", "Fix "+lowerFirst(label)+" first: "
	}
	if !strings.Contains(strings.ToLower(f.Title), strings.ToLower(label)) {
		begin = beginWith
	}
	for _, text := range []string{begin + lowerFirst(short), label + ": " + lowerFirst(short)} {
		if len([]rune(text)) <= rule.MaxHeadline {
			return text
		}
	}
	return f.Title
}

// remainderText counts the findings that remain after the first action, which may fix several faults, such as one at
// each of several addresses.
func remainderText(list []finding, first *finding) string {
	var errors, warnings int
	for _, f := range list {
		switch {
		case f.Code == first.Code && f.Advice == first.Advice:
		case f.Severity >= diag.Error:
			errors++
		case f.Severity == diag.Warning:
			warnings++
		}
	}
	if errors+warnings == 0 {
		return ""
	}
	rest := view.TextIf(errors > 0, phrase.Count(errors, "error")) + view.TextIf(errors > 0 && warnings > 0, " and ") +
		view.TextIf(warnings > 0, phrase.Count(warnings, "warning"))
	return " After that, " + rest + " remain" + view.TextIf(errors+warnings == 1, "s") + "."
}
