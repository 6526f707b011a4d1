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
	"github.com/diagkit/diagkit/mailauth/nameuse"
	"github.com/diagkit/diagkit/mailauth/reception"
)

// A WeightedPart is a part and what it counts for.
type WeightedPart struct {
	*Summary
	Weight int
	// Rating replaces the part's own score, as for one of several keys that counts for all; may be nil.
	Rating *int
	// NoMatter reports whether an unknown part does not matter, as DKIM for a domain that sends no mail.
	NoMatter bool
}

// A Whole is a set of parts to summarize.
type Whole struct {
	Domain diag.Domain
	Parts  []WeightedPart // in the order of a reader
	// Own holds the operation's findings apart from those of its parts.
	Own []*Summary
	// Good and Open are the texts if no finding is above info: Good if all is known, Open if something is unknown or
	// was not examined.
	Good, Open diag.Text
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

func (w *Whole) parts() []*Summary {
	return slices.Concat(w.Own, kit.Map(w.Parts, func(p WeightedPart) *Summary { return p.Summary }))
}

// known reports whether any part reached a conclusion, apart from DNSSEC, which queries the name servers themselves.
func (w *Whole) known() bool {
	return slices.ContainsFunc(w.Parts, func(p WeightedPart) bool { return p.Known() && p.kind != DNSSEC })
}

// Partial reports whether any query was not answered. Finding nothing at guessed names counts as an answer.
func (w *Whole) Partial() bool {
	silent := func(p WeightedPart) bool { return !p.NoMatter && (!p.Known() && !p.answered || !p.settled()) }
	return slices.ContainsFunc(w.parts(), func(p *Summary) bool { return p.partial }) || slices.ContainsFunc(w.Parts, silent)
}

// open reports whether something that matters is unknown, for any reason.
func (w *Whole) open() bool {
	return w.Untested || w.Partial() || slices.ContainsFunc(w.Parts, func(p WeightedPart) bool { return !p.Known() && !p.NoMatter })
}

func (s *Summary) extra() bool {
	return slices.Contains([]string{BIMI.Code, TLSRPT.Code, Reputation.Code}, s.kind.Code)
}

// settled reports whether no rule that could tell of an error was left open.
func (s *Summary) settled() bool {
	return !slices.ContainsFunc(s.verdict.Open(), func(c diag.Code) bool { return s.rules[c].Severity >= diag.Error })
}

// Ready tells whether mail works: not if a part has an error. Nil: what was not answered or not examined decides.
func (w *Whole) Ready() *bool {
	if slices.ContainsFunc(w.parts(), (*Summary).Fails) {
		return new(false)
	}
	unsure := func(p WeightedPart) bool { return !p.extra() && !p.NoMatter && (!p.Known() || !p.settled()) }
	if w.Untested || slices.ContainsFunc(w.Parts, unsure) {
		return nil
	}
	return new(true)
}

// Sum is the verdict of the whole.
func (w *Whole) Sum() diag.Verdict {
	list := w.merge()
	ordered := w.ordered(list)
	v := diag.Verdict{
		State: w.state(list), Band: diag.Undetermined, Factors: []diag.Factor{}, Passed: w.passed(),
		Breakdown:       diag.Breakdown{Categories: map[string]diag.CategoryScore{}},
		Recommendations: w.actions(ordered), Findings: []diag.Finding{},
	}
	for _, t := range list {
		f := t.Finding
		f.Target = t.part.Target()
		v.Findings = append(v.Findings, f)
	}
	v.Examine(w.scope())
	w.score(&v)
	text := w.text(ordered, &v)
	v.Headline, v.Sub = text.Headline, text.Sub
	return v
}

// scope returns, for each part, whether it was examined.
func (w *Whole) scope() []diag.ScopePart {
	list := kit.Map(w.Parts, func(p WeightedPart) diag.ScopePart {
		one := diag.ScopePart{Part: p.Target(), State: diag.Examined}
		switch {
		case p.NoMatter, p.Known() && p.settled():
		case p.answered:
			one.State, one.Reason = diag.LeftOut, p.Headline
		default:
			one.State, one.Reason = diag.NotAnswered, p.Headline
		}
		return one
	})
	return append(list, w.LeftOut...)
}

// state returns the state of the gravest finding, unless it is unknown whether something on which mail depends works.
func (w *Whole) state(list []told) diag.State {
	worst, unknown := diag.Info, !w.enough()
	for _, t := range list {
		switch {
		case t.part.ignorance(t.Code):
			unknown = unknown || t.Severity >= diag.Error && !t.part.extra()
		case t.Severity >= diag.Error:
			return diag.Bad
		default:
			worst = max(worst, t.Severity)
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

var essential = []Kind{SPF, DMARC, MX}

// enough reports whether the essential parts and at least half of what counts are known: a score of the rest would be a
// guess.
func (w *Whole) enough() bool {
	known, all := 0, 0
	for _, p := range w.Parts {
		if p.Weight == 0 || p.rating() == nil && (p.NoMatter || p.Known() && p.settled()) { // it has no score, and needs none
			continue
		}
		if !p.Known() && slices.Contains(essential, p.kind) {
			return false
		}
		all += p.Weight
		if p.rating() != nil {
			known += p.Weight
		}
	}
	return 2*known >= all && known > 0
}

func (w *Whole) score(v *diag.Verdict) {
	if v.State == diag.Unknown || !w.enough() {
		return
	}
	limit := 100
	if w.open() {
		limit = diag.Warning.Cap() // what was not examined is not excellent
	}
	for _, p := range w.Parts {
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
	for _, p := range w.parts() {
		limit = min(limit, p.worst().Cap())
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
	if p.Rating == nil && p.void() {
		return 0, p.Weight, true
	}
	return (*score*p.Weight + 50) / 100, p.Weight, true
}

func (p *WeightedPart) factor() diag.Factor {
	points, most, _ := p.Points()
	f := diag.Factor{
		Code: diag.Code(p.kind.Code), Label: p.kind.Label, Points: points, MaxPoints: most, Status: diag.FactorPass,
	}
	switch worst := p.worst(); {
	case most == 0:
		f.Status = diag.FactorNotApplicable
	case points == 0:
		f.Status = diag.FactorFail
	case points < most || worst >= diag.Warning:
		f.Status = diag.FactorPartial
	}
	for _, one := range p.Findings {
		if !p.ignorance(one.Code) && one.Severity >= diag.Warning {
			f.Detail = one.Detail
			break
		}
	}
	return f
}

// telling is the weight from which a fulfilled rule of a part is worth telling of the whole: the reports of the parts list
// the others.
const telling = 10

func (w *Whole) passed() []diag.Check {
	list := []diag.Check{}
	seen := map[diag.Code]bool{}
	for _, p := range w.Parts {
		for _, c := range p.verdict.Passed {
			if p.rules[c.Code].Weight >= telling && !seen[c.Code] {
				seen[c.Code] = true
				list = append(list, c)
			}
		}
	}
	return list
}

// text returns the headline: the first action, or that no action is needed.
func (w *Whole) text(list []told, v *diag.Verdict) diag.Text {
	switch {
	case w.done(list):
		return w.Good
	case len(v.Recommendations) == 0 || list[0].Severity == diag.Info:
		return w.Open
	}
	first := &list[0]
	sub := first.Detail
	if v.Recommendations[0].Code == first.Code {
		sub = v.Recommendations[0].Detail
	}
	return diag.Text{Headline: headline(first), Sub: sub + remainder(list, first)}
}

func (w *Whole) done(list []told) bool {
	return !w.open() && (len(list) == 0 || list[0].Severity == diag.Info)
}

func headline(t *told) string {
	label := t.part.kind.Label
	short, _, _ := strings.Cut(t.Title, ": ")
	begin, beginWith := "Next step: ", "Next step for "+lowerFirst(label)+": "
	if t.Severity >= diag.Error {
		begin, beginWith = "Fix first: ", "Fix "+lowerFirst(label)+" first: "
	}
	if !strings.Contains(strings.ToLower(t.Title), strings.ToLower(label)) {
		begin = beginWith
	}
	for _, text := range []string{begin + lowerFirst(short), label + ": " + lowerFirst(short)} {
		if len([]rune(text)) <= rule.MaxHeadline {
			return text
		}
	}
	return t.Title
}

// remainder counts the findings that remain after the first action, which may fix several faults, such as one at each
// of several addresses.
func remainder(list []told, first *told) string {
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
	rest := view.If(errors > 0, phrase.Count(errors, "error")) + view.If(errors > 0 && warnings > 0, " and ") +
		view.If(warnings > 0, phrase.Count(warnings, "warning"))
	return " After that, " + rest + " remain" + view.If(errors+warnings == 1, "s") + "."
}
