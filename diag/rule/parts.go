package rule

import (
	"github.com/diagkit/diagkit/diag/kit"
	"reflect"
	"slices"
)

// Affected names the parts of a subject that a finding applies to; see [Rules.JudgeParts].
type Affected struct {
	Phrase  string   // for a sentence, such as "the RSA certificate at 192.0.2.11"
	Targets []string // for [Finding.Places], such as the address; may be empty
}

func affecting(phrase string) string { return "Affected: " + phrase + "." }

// JudgeParts applies every rule to each part of a subject, such as the certificates at the addresses of a
// host, and joins the outcomes as [Rules.Judge] would for the whole subject (CONTRACT 1.7, Scope). A
// requirement is fulfilled if at least one part fulfills it and none violates it or leaves it open; it earns
// what the worst part earns. Dependencies are evaluated within the same part. A server that did not answer is
// a part too, of evidence that reports itself absent: it yields no findings, but keeps requirements from
// being fulfilled.
//
// The same outcome of several parts gives one finding. It names the affected parts, as returned by name for
// their indices, unless all are affected. Name may be nil if there is a single part; at least one part is
// required. The scope, and the score of a [Grader], are those of the first part.
func (rules Rules[E]) JudgeParts(parts []E, name func(affected []int) Affected, texts Texts) Verdict {
	j := judgement{
		v: Verdict{
			Factors: []Factor{}, Recommendations: []Recommendation{}, Passed: []Check{}, Findings: []Finding{},
			Breakdown: Breakdown{Categories: map[string]CategoryScore{}},
		},
		cap: 100, state: Valid,
	}
	if scoped, ok := any(parts[0]).(scoped); ok {
		j.v.Examine(scoped.Scope())
		if j.v.Incomplete() {
			j.cap = caps[Warning]
		}
	}
	if grader, ok := any(parts[0]).(Grader); ok {
		j.grade(grader.Graded())
	}
	courses := kit.Map(parts, newCourse[E])
	absent := kit.Map(courses, func(c *course[E]) bool { return c.absent })
	for i := range rules {
		r := &rules[i]
		info := r.info()
		outcomes := kit.Map(courses, func(c *course[E]) outcome { return c.run(r, &info) })
		j.join(&info, r.NoScore, outcomes, absent, name)
	}
	return j.close(texts)
}

// absentee is evidence of a part that may not have answered at all, as its scope shows.
type absentee interface{ Absent() bool }

// A course holds the outcomes of the rules so far in one part.
type course[E any] struct {
	evidence E
	absent   bool
	silent   []Source      // that the part did not get an answer from
	passed   map[Code]bool // rules that were fulfilled
	ignorant map[Code]bool // rules about ignorance that failed
	open     []Code        // rules that were left open
}

func newCourse[E any](evidence E) *course[E] {
	c := &course[E]{evidence: evidence, passed: map[Code]bool{}, ignorant: map[Code]bool{}}
	if u, ok := any(evidence).(Unanswerer); ok {
		c.silent = u.Unanswered()
	}
	if a, ok := any(evidence).(absentee); ok {
		c.absent = a.Absent()
	}
	return c
}

// An outcome is the result of a rule for one part.
type outcome struct {
	result   result
	failures Failures
	earned   float64 // of the weight, if it failed
}

type result int

const (
	skipped result = iota // the rule does not apply
	passed
	leftOpen // unknown
	failed
)

// run applies a rule.
func (c *course[E]) run(r *Rule[E], info *Description) outcome {
	unanswered := info.State != Unknown && r.reads(c.silent)
	ready := c.ready(info, r.DependsOn)
	switch {
	case c.absent && info.State == Unknown:
		c.ignorant[r.Code] = true
		return outcome{}
	case c.absent && unanswered:
		return c.leave(info)
	case !ready && c.awaits(r.DependsOn), ready && unanswered && !r.HoldsWhenUnanswered:
		return c.leave(info)
	case !ready, r.When != nil && !r.When(c.evidence):
		return outcome{}
	}
	failures := r.Fails(c.evidence)
	switch {
	case len(failures) == 0 && unanswered:
		return c.leave(info)
	case len(failures) == 0:
		c.passed[r.Code] = true
		return outcome{result: passed}
	}
	if info.State == Unknown {
		c.ignorant[r.Code] = true
	}
	o := outcome{result: failed, failures: failures}
	if r.Partly != nil {
		o.earned = clampFraction(r.Partly(c.evidence))
	}
	return o
}

func (c *course[E]) leave(info *Description) outcome {
	if info.State != Unknown {
		c.open = append(c.open, info.Code)
	}
	return outcome{result: leftOpen}
}

// ready reports whether all rules that a rule depends on ran and were fulfilled. One about ignorance also runs after
// rules that were left open: it says why.
func (c *course[E]) ready(r *Description, codes []Code) bool {
	return !slices.ContainsFunc(codes, func(code Code) bool {
		return !c.passed[code] && !(r.State == Unknown && slices.Contains(c.open, code))
	})
}

// awaits reports whether one of these rules was left open or is ignorance that came true, and no other failed.
func (c *course[E]) awaits(codes []Code) bool {
	waits := func(code Code) bool { return c.ignorant[code] || slices.Contains(c.open, code) }
	return slices.ContainsFunc(codes, waits) &&
		!slices.ContainsFunc(codes, func(code Code) bool { return !c.passed[code] && !waits(code) })
}

// join merges the outcomes of a rule for all parts.
func (j *judgement) join(r *Description, noScore bool, outcomes []outcome, absent []bool, name func([]int) Affected) {
	count, earned, everywhere, concerned := map[result]int{}, 1.0, true, 0
	for i, o := range outcomes {
		count[o.result]++
		if o.result == failed {
			earned = min(earned, o.earned)
		}
		everywhere = everywhere && (absent[i] || o.result == failed)
		if !absent[i] || o.result != skipped {
			concerned++
		}
	}
	switch {
	case count[failed] > 0:
		j.fail(r, together(outcomes, concerned, name), earned, everywhere, noScore && everywhere)
	case count[leftOpen] > 0 && count[passed] > 0:
		j.partly(r)
	case count[leftOpen] > 0:
		j.unanswered(r)
	case count[passed] > 0:
		j.pass(r)
	default:
		j.skip(r)
	}
}

// maxJoined bounds the failures of one part that are compared with those of others: few of them become findings.
const maxJoined = 4 * maxFailures

// together lists the failures of all parts, those that are alike once, with their parts unless these are all that a
// rule is about.
func together(outcomes []outcome, all int, name func([]int) Affected) Failures {
	if len(outcomes) == 1 {
		return outcomes[0].failures
	}
	var list Failures
	var parts [][]int // that a failure of the list concerns
	for part, o := range outcomes {
		for _, f := range o.failures[:min(len(o.failures), maxJoined)] {
			i := slices.IndexFunc(list, func(other Failure) bool { return reflect.DeepEqual(f, other) })
			if i < 0 {
				list, parts = append(list, f), append(parts, []int{part})
			} else if last := len(parts[i]) - 1; parts[i][last] != part {
				parts[i] = append(parts[i], part)
			}
		}
	}
	for i, affected := range parts {
		if len(affected) < all {
			list[i].concern(name(affected))
		}
	}
	return list
}

// concern says that a failure concerns some parts only.
func (f *Failure) concern(a Affected) {
	f.Detail += " " + affecting(a.Phrase)
	f.affected = a.Phrase
	if f.Location == nil && len(f.Places) == 0 {
		f.Places = kit.Map(a.Targets, func(target string) Place { return Place{Target: target} })
	}
}
