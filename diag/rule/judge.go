package rule

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// clampFraction brings what a rule earned into the bounds from 0 to 1; what is not a number earns nothing.
func clampFraction(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return min(1, max(0, f))
}

// maxFailures bounds the findings of one rule: a reader has understood by then.
const maxFailures = 20

type judgement struct {
	v       Verdict
	cap     int
	state   State
	noScore bool
	graded  *int // the score by the method of others
	groups  []group
	failed  []failedRule
}

// failedRule is a rule with its findings and what orders it among the others.
type failedRule struct {
	info     *Description
	due      time.Time // zero: never
	findings []Finding
	suggest  string
	affected string // the parts that the first finding concerns, if it does not concern all
}

// group is a factor in the making.
type group struct {
	category    Category
	weighted    bool // whether one of its rules counts
	earned, max int
	worst       Severity
	detail      string
}

// group returns the factor that a rule belongs to.
func (j *judgement) group(c Category) *group {
	for i := range j.groups {
		if j.groups[i].category == c {
			return &j.groups[i]
		}
	}
	j.groups = append(j.groups, group{category: c, worst: -1})
	return &j.groups[len(j.groups)-1]
}

// score adds points to the factor of a rule, if it counts at all.
func (j *judgement) score(r *Description, earned float64, applies bool) {
	if r.Weight == 0 || r.State == Unknown {
		return
	}
	g := j.group(r.Category)
	g.weighted = true
	if applies {
		g.earned += int(earned*float64(r.Weight) + 0.5)
		g.max += r.Weight
	}
}

// grade takes the factors and the score of a method of others.
func (j *judgement) grade(points []Points, score int) {
	j.graded, j.noScore = &score, len(points) == 0
	for _, p := range points {
		g := j.group(p.Category)
		g.weighted, g.earned, g.max = true, p.Earned, p.Max
	}
}

func (j *judgement) skip(r *Description) { j.score(r, 0, false) }

// unanswered leaves a rule open: it is unknown whether it is fulfilled.
func (j *judgement) unanswered(r *Description) {
	if r.State == Unknown {
		return
	}
	j.v.open = append(j.v.open, r.Code)
	if r.Severity > Info {
		j.cap = min(j.cap, caps[Warning])
	}
	j.skip(r)
}

// partly leaves a rule open that some parts fulfill: they earn its points, and it is not praised.
func (j *judgement) partly(r *Description) {
	if r.State == Unknown {
		return
	}
	j.v.open = append(j.v.open, r.Code)
	if r.Severity > Info {
		j.cap = min(j.cap, caps[Warning])
	}
	j.score(r, 1, true)
}

func (j *judgement) pass(r *Description) {
	j.v.fulfilled = append(j.v.fulfilled, r.Code)
	if r.State != Unknown {
		j.v.Passed = append(j.v.Passed, Check{r.Code, r.Requirement})
	}
	j.score(r, 1, true)
}

// fail takes the failures of a rule, and whether it failed in every part.
func (j *judgement) fail(r *Description, failures Failures, earned float64, everywhere, noScore bool) {
	j.score(r, earned, true)
	mild := func(f Failure) bool { return f.Warns && r.Severity > Warning }
	grave := func(f Failure) bool { return !mild(f) }
	if list := slices.DeleteFunc(slices.Clone(failures), grave); len(list) > 0 {
		milder := *r
		milder.Severity, milder.State = Warning, Warned
		j.found(&milder, list, everywhere, false)
	}
	if list := slices.DeleteFunc(slices.Clone(failures), mild); len(list) > 0 {
		j.found(r, list, everywhere, noScore)
	}
}

// found takes the failures of a rule that are of its severity.
func (j *judgement) found(r *Description, failures Failures, everywhere, noScore bool) {
	f := failedRule{info: r, affected: failures[0].affected}
	for _, one := range failures[:min(len(failures), maxFailures)] {
		f.findings = append(f.findings, r.finding(&one))
		f.suggest = cmp.Or(f.suggest, one.Suggested)
		if f.due.IsZero() || !one.Due.IsZero() && one.Due.Before(f.due) {
			f.due = one.Due
		}
	}
	j.failed = append(j.failed, f)
	if r.State == Unknown {
		switch {
		case r.Severity == Info:
		case !everywhere: // the other parts have an outcome (CONTRACT 1.7, Scope)
			j.cap = min(j.cap, caps[Warning])
		case stateRank[Unknown] > stateRank[j.state]:
			j.state = Unknown
		}
		return
	}
	if stateRank[r.State] > stateRank[j.state] {
		j.state = r.State
	}
	j.cap = min(j.cap, caps[r.Severity])
	j.noScore = j.noScore || noScore || r.State == Missing && r.Severity == Info
	if r.State == Missing {
		j.cap = 0
	}
	if g := j.group(r.Category); r.Severity > g.worst {
		g.worst, g.detail = r.Severity, failures[0].Detail
	}
}

func (r *Description) finding(one *Failure) Finding {
	f := Finding{
		Code: r.Code, Severity: r.Severity, Title: cmp.Or(one.Title, r.Title), Detail: one.Detail,
		Advice:    cmp.Or(one.Advice, r.Advice),
		Reference: r.Reference, Target: one.Target, Location: one.Location, Due: one.Due,
	}
	if f.Optional = r.Optional; one.Advice != "" {
		f.Optional = one.Optional
	}
	switch n := len(one.Places); n {
	case 0:
	case 1:
		f.Target, f.Location = one.Places[0].Target, one.Places[0].Location
	default:
		f.Target, f.Location, f.Places, f.PlaceCount = "", nil, one.Places[:min(n, maxPlaces)], n
	}
	return f
}

// recommendations are one for each advice that asks for an action, the first of them with the value to publish.
func (f *failedRule) recommendations() (list []Recommendation) {
	seen, suggest := map[string]bool{"": true}, f.suggest
	if f.info.NoAction {
		seen[f.info.Advice] = true
	}
	for _, one := range f.findings {
		if !seen[one.Advice] {
			seen[one.Advice] = true
			list = append(list, Recommendation{f.info.Code, priorityOf(f.info.Severity), one.Title, one.Advice, suggest})
			suggest = ""
		}
	}
	return list
}

// Cap returns the highest score possible when a rule of this severity fails (CONTRACT 1.7): an average must
// not hide a fault. It applies to a single diagnostic and to a score over several.
func (s Severity) Cap() int {
	if c, ok := caps[s]; ok {
		return c
	}
	return 100
}

var caps = map[Severity]int{Info: 100, Warning: 89, Error: 69, Critical: 39}

// stateRank orders the states by precedence: a missing record outranks an invalid one, because nothing else can be
// wrong with it, and a known fault outranks an unknown outcome.
var stateRank = map[State]int{Valid: 0, Warned: 1, Unknown: 2, Bad: 3, Missing: 4}

// byGravity orders failed rules by severity, then by when they break what works today.
func byGravity(a, b failedRule) int {
	return cmp.Or(cmp.Compare(b.info.Severity, a.info.Severity), compareDue(a.due, b.due))
}

func compareDue(a, b time.Time) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	default:
		return a.Compare(b)
	}
}

func (j *judgement) close(texts Texts) Verdict {
	v := &j.v
	v.State, v.Band = j.state, Undetermined
	if j.state != Unknown && !j.noScore {
		j.sum()
	}
	slices.SortStableFunc(j.failed, byGravity)
	for _, f := range j.failed {
		v.Findings = append(v.Findings, f.findings...)
		v.Recommendations = append(v.Recommendations, f.recommendations()...)
	}
	slices.SortStableFunc(j.failed, func(a, b failedRule) int {
		return cmp.Or(cmp.Compare(stateRank[b.info.State], stateRank[a.info.State]), byGravity(a, b))
	})
	text := texts.pick(j.failed, v.State, v.Band, len(v.open) > 0)
	if v.State == Valid {
		text = v.claims(text)
	}
	v.Headline, v.Sub = text.Headline, text.Sub
	return *v
}

func (j *judgement) sum() {
	v, b := &j.v, &j.v.Breakdown
	for _, g := range j.groups {
		if !g.weighted {
			continue
		}
		v.Factors = append(v.Factors, g.factor())
		b.Earned, b.Max = b.Earned+g.earned, b.Max+g.max
		if g.max > 0 {
			b.Categories[g.category.Code] = CategoryScore{g.earned, g.max}
		}
	}
	if b.Max == 0 {
		v.Factors = []Factor{}
		return
	}
	share := 100 * b.Earned / b.Max
	score := share
	if j.graded != nil {
		score = min(share, *j.graded)
	}
	v.Score = new(min(score, j.cap))
	b.Penalty = share - *v.Score
	v.Band = BandOf(*v.Score)
}

func (g *group) factor() Factor {
	f := Factor{Code(g.category.Code), g.category.Label, g.earned, g.max, FactorPass, g.detail}
	switch {
	case g.max == 0:
		f.Status = FactorNotApplicable
	case g.earned == 0:
		f.Status = FactorFail
	case g.earned < g.max || g.worst >= Warning:
		f.Status = FactorPartial
	}
	return f
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

// A Text is the wording of a verdict. Reports without a [Verdict] embed it.
type Text struct {
	Headline string `json:"verdict_headline" maxlen:"70" doc:"the outcome in a plain sentence"`
	Sub      string `json:"verdict_sub" doc:"the consequence and the next step"`
}

// MaxHeadline is the maximum length of a headline in characters (CONTRACT 1.8).
const MaxHeadline = 70

// Texts holds the texts of one diagnostic by outcome. A key is the code of a rule, a state or a band. The
// text of a verdict is that of the gravest failed rule of the verdict's state: the text listed here under its
// code, otherwise its title and advice. If the state is valid, rules of severity info and rules whose
// StateIfFailed is Unknown supply the text only if they have one here, except that the latter always do where
// rules were left open. Otherwise the text is that of the band, or else of the state; if the state is valid,
// never the texts of "warning" and "unknown", which are both a state and a band.
type Texts map[string]Text

func (t Texts) pick(failed []failedRule, state State, band Band, open bool) Text {
	for i := range failed {
		r := &failed[i]
		ignorant := state == Valid && r.info.State == Unknown
		if r.info.State != state && !ignorant {
			continue
		}
		if text, ok := t[string(r.info.Code)]; ok {
			return text
		}
		if state != Valid || ignorant && open {
			return r.text()
		}
	}
	keys := []string{string(state), string(band)}
	if state == Valid && !State(band).known() {
		keys = []string{string(band), string(state)}
	} else if state == Valid {
		keys = []string{string(state)}
	}
	for _, k := range keys {
		if text, ok := t[k]; ok {
			return text
		}
	}
	return Text{}
}

// text is the verdict's text for a rule that has none of its own.
func (f *failedRule) text() Text {
	first := f.findings[0]
	if f.affected == "" || first.Advice == "" {
		return Text{first.Title, cmp.Or(first.Advice, first.Detail)}
	}
	return Text{first.Title, affecting(f.affected) + " " + first.Advice}
}

// Check returns an error if the texts themselves are invalid: a state has none, a headline is too long or
// ends with a full stop, a sub does not end with one, or a key is neither an outcome nor a code.
func (t Texts) Check(rules []Description) error {
	known := map[string]bool{}
	for _, r := range rules {
		known[string(r.Code)] = true
	}
	for _, s := range (State("")).Values() {
		known[s] = true
	}
	for _, b := range (Band("")).Values() {
		known[b] = true
	}
	var faults []string
	for _, key := range slices.Sorted(maps.Keys(t)) {
		text := t[key]
		switch n := len([]rune(text.Headline)); {
		case !known[key]:
			faults = append(faults, fmt.Sprintf("%s is no rule, state or band", key))
		case n == 0 || n > MaxHeadline:
			faults = append(faults, fmt.Sprintf("%s: the headline has %d characters", key, n))
		case strings.HasSuffix(text.Headline, "."):
			faults = append(faults, fmt.Sprintf("%s: the headline ends with a full stop", key))
		case !strings.HasSuffix(text.Sub, "."):
			faults = append(faults, fmt.Sprintf("%s: the sub ends without a full stop", key))
		}
	}
	if _, ok := t[string(Valid)]; !ok {
		faults = append(faults, "the state valid has no text")
	}
	if len(faults) == 0 {
		return nil
	}
	slices.Sort(faults)
	return fmt.Errorf("verdict texts: %s", strings.Join(faults, "; "))
}
