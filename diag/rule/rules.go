package rule

import (
	"cmp"
	"errors"
	"fmt"
	"github.com/diagkit/diagkit/diag/kit"
	"slices"
	"strings"
	"time"
)

// A Failure is one place where a requirement is not fulfilled.
type Failure struct {
	Title     string    // replaces the title of the rule, where more is known; empty: the rule's
	Detail    string    // what was seen instead
	Target    string    // the tag, host or hop concerned; may be empty
	Location  *Location // part of the record; may be nil
	Suggested string    // a value to publish as it is; may be empty
	Advice    string    // replaces the advice of the rule, where more is known; empty: the rule's
	Due       time.Time // when it breaks if nothing is done; zero if it does not
	Places    []Place   // where, if one cause shows in several places; then Target and Location are not used
	Optional  bool      // whether the advice is optional, as in Rule
	Warns     bool      // lowers the severity to warning, where others make up for the fault

	affected string // the parts concerned, if not all are
}

// Failures are all places where one requirement is not fulfilled; nil means that it is fulfilled.
type Failures []Failure

// Fail returns one failure with a formatted detail.
func Fail(format string, args ...any) Failures {
	return Failures{{Detail: fmt.Sprintf(format, args...)}}
}

// FailIf returns one failure with a formatted detail if condition is true, otherwise nil.
func FailIf(condition bool, format string, args ...any) Failures {
	if !condition {
		return nil
	}
	return Fail(format, args...)
}

// FailEach returns the failures of all items, in order.
func FailEach[T any](items []T, fails func(T) Failures) (all Failures) {
	for _, item := range items {
		all = append(all, fails(item)...)
	}
	return all
}

// Together joins failures with a common cause into one, which has the places of all and a formatted detail. A
// single failure keeps its own detail. Title, suggestion and advice are those of the first that has one; Due
// is the earliest; Warns is set if it is set in all.
func (f Failures) Together(format string, args ...any) Failures {
	if len(f) < 2 {
		return f
	}
	all := Failure{Detail: fmt.Sprintf(format, args...), Warns: true}
	for _, one := range f {
		if len(one.Places) == 0 && (one.Target != "" || one.Location != nil) {
			one.Places = []Place{{one.Target, one.Location}}
		}
		all.Places = append(all.Places, one.Places...)
		all.Warns = all.Warns && one.Warns
		all.Suggested, all.Advice = cmp.Or(all.Suggested, one.Suggested), cmp.Or(all.Advice, one.Advice)
		all.Title = cmp.Or(all.Title, one.Title)
		if all.Due.IsZero() || !one.Due.IsZero() && one.Due.Before(all.Due) {
			all.Due = one.Due
		}
	}
	return Failures{all}
}

// Joined is [Failures.Together] with a detail made of those of the first two failures and the number of
// others.
func (f Failures) Joined() Failures {
	switch n := len(f); {
	case n < 2:
		return f
	case n == 2:
		return f.Together("%s %s", f[0].Detail, f[1].Detail)
	default:
		return f.Together("%s %s And %d more.", f[0].Detail, f[1].Detail, n-2)
	}
}

// About sets the target of the failures and returns them.
func (f Failures) About(target string) Failures {
	for i := range f {
		f[i].Target = target
	}
	return f
}

// Suggesting sets the suggested value of the failures and returns them.
func (f Failures) Suggesting(value string) Failures {
	for i := range f {
		f[i].Suggested = value
	}
	return f
}

// Because returns the failures with the advice of the error that caused them, if it has a method Advice()
// string.
func (f Failures) Because(err error) Failures {
	if known, ok := errors.AsType[interface {
		error
		Advice() string
	}](err); ok {
		for i := range f {
			f[i].Advice = known.Advice()
		}
	}
	return f
}

// A Category is a named group of rules: a factor of the score.
type Category struct {
	Code  string `json:"code"`  // such as "policy"
	Label string `json:"label"` // in words, such as "Policy"
}

// A Source names one thing that was asked of the outside world, such as "record" or "addresses". Each
// diagnostic has names of its own.
type Source string

// FromRequest is the source of rules that read nothing but the request. It always answers.
const FromRequest Source = "request"

// An Unanswerer is evidence that reports which of its sources went unanswered: the servers did not answer, or
// were not asked. A rule that reads one of them is unanswered itself (CONTRACT 1.7, Knowledge): it neither
// passes nor fails, its points are out of the score, and rules that depend on it are unanswered too.
type Unanswerer interface{ Unanswered() []Source }

// Unanswered returns the sources for which known is false, sorted by name, for the Unanswered method of
// evidence.
func Unanswered(known map[Source]bool) (open []Source) {
	for source, is := range known {
		if !is {
			open = append(open, source)
		}
	}
	slices.Sort(open)
	return open
}

// Points are the points that a factor earned, and its maximum.
type Points struct {
	Category    Category
	Earned, Max int
}

// A Grader is evidence that is scored by an external method, such as MDN's HTTP Observatory, and not by the
// weights of the rules; these only explain and cap the score. Graded returns the factors and the score, from
// 0 to 100 and at most the earned share of the factors in percent. Without factors there is no score.
type Grader interface{ Graded() ([]Points, int) }

// A Fact is a statement shared by rules of several diagnostics, such as that a name does not exist. Rules of one
// fact have one severity and one code suffix, unless they state why they differ.
type Fact string

// A Rule is one requirement on evidence of type E: what it requires and why, how to test it, and how to fix a
// failure.
type Rule[E any] struct {
	Code        Code
	Severity    Severity
	Weight      int      // points in the score; 0 if the rule only informs
	Category    Category // the factor of the score that it belongs to; zero is "general"
	Title       string   // the fault, in at most MaxHeadline characters, without a full stop
	Requirement string   // the requirement as fulfilled, without a full stop
	Ref         string   // where it is written, such as "RFC 8461 section 3.1"
	Advice      string   // what to do if it fails; empty if there is nothing to do
	// Optional means that a failure need not be fixed: the advice is left out of the recommendations about a
	// domain as a whole. NoAction means that nothing can or need be done: the advice explains why, and is
	// never a recommendation.
	Optional, NoAction bool
	// DependsOn lists rules that are earlier in the table. The rule runs only if each of them ran and was
	// fulfilled: nothing can be said about a record that is missing.
	DependsOn []Code
	// StateIfFailed is the state of the verdict if the rule fails. If empty, it follows from the severity:
	// invalid for critical and error, warning for warning, valid for info. With Unknown, the rule reports
	// that something could not be learned: it never lowers the score and is never listed as passed. With
	// Missing, the score is 0, or absent if the severity is info, because the record is not required then.
	StateIfFailed State
	// NoScore means that there is no score if the rule fails, as for a name that does not exist.
	NoScore bool
	// Reads names the sources on which the outcome depends. If empty, it depends on all sources of the
	// evidence, and is unanswered as soon as any of them is. It does not apply to rules whose StateIfFailed
	// is Unknown.
	Reads []Source
	// HoldsWhenUnanswered means that a failure is certain even if sources went unanswered, such as one of
	// several hosts that is known to be faulty. An unanswered source then keeps the rule from passing, but
	// not from failing.
	HoldsWhenUnanswered bool

	Fact    Fact   // the shared fact that the rule reports; may be empty
	Differs string // why severity or code differ from those of the fact; empty if they do not

	When  func(E) bool     // whether the rule applies; nil means always
	Fails func(E) Failures // what was seen instead; returns nil if the rule is fulfilled
	// Partly, if set, returns how much of the weight a failed rule still earns, from 0 to 1.
	Partly func(E) float64
}

func (r *Rule[E]) state() State {
	switch {
	case r.StateIfFailed != "":
		return r.StateIfFailed
	case r.Severity >= Error:
		return Bad
	case r.Severity == Warning:
		return Warned
	default:
		return Valid
	}
}

// Rules is the table of all rules of one diagnostic.
type Rules[E any] []Rule[E]

// A Description is what is known about a rule without evidence, for the reference of all codes.
type Description struct {
	Code        Code     `json:"code"`
	Severity    Severity `json:"severity"`
	Weight      int      `json:"weight"`
	Category    Category `json:"category"`
	Title       string   `json:"title"`
	Requirement string   `json:"requirement"`
	Reference   string   `json:"reference,omitempty"`
	Advice      string   `json:"advice,omitempty"`
	State       State    `json:"state"`
	Fact        Fact     `json:"fact,omitempty"`
	Differs     string   `json:"differs,omitempty"`
	Optional    bool     `json:"-"` // see Rule
	NoAction    bool     `json:"-"`
}

// Describe lists what is known about each rule without evidence, in the order of the table.
func (rules Rules[E]) Describe() []Description {
	return kit.Map(rules, func(r Rule[E]) Description { return r.info() })
}

func (r *Rule[E]) info() Description {
	return Description{r.Code, r.Severity, r.Weight, cmp.Or(r.Category, general), r.Title, r.Requirement, r.Ref, r.Advice,
		r.state(), r.Fact, r.Differs, r.Optional || r.NoAction, r.NoAction}
}

// Reading returns the rules with Reads set to the given sources where it is empty.
func (rules Rules[E]) Reading(sources ...Source) Rules[E] {
	list := slices.Clone(rules)
	for i := range list {
		if len(list[i].Reads) == 0 {
			list[i].Reads = sources
		}
	}
	return list
}

// With returns the rules with the fields of common set in those that do not set their own: DependsOn, When,
// Reads, and, in rules with a weight, Category. If HoldsWhenUnanswered is set in common, it is set in all.
func (rules Rules[E]) With(common Rule[E]) Rules[E] {
	list := rules.Reading(common.Reads...)
	for i := range list {
		r := &list[i]
		if r.Weight > 0 {
			r.Category = cmp.Or(r.Category, common.Category)
		}
		if len(r.DependsOn) == 0 {
			r.DependsOn = common.DependsOn
		}
		if r.When == nil {
			r.When = common.When
		}
		r.HoldsWhenUnanswered = r.HoldsWhenUnanswered || common.HoldsWhenUnanswered
	}
	return list
}

func (r *Rule[E]) reads(open []Source) bool {
	return len(open) > 0 && (len(r.Reads) == 0 ||
		slices.ContainsFunc(r.Reads, func(s Source) bool { return slices.Contains(open, s) }))
}

// general is the category of rules without one.
var general = Category{Code: "general", Label: "General"}

// maxTitle bounds a title, in characters (CONTRACT 2).
const maxTitle = 70

// The bounds of how many factors a score has (CONTRACT 2).
const (
	minFactors = 3
	maxFactors = 10
)

// Check returns an error if the table itself is invalid: a code is malformed or duplicate, a title or
// requirement is missing, too long or ends with a full stop, a rule has no test, a weight is below 0, a
// severity or state is unknown, a dependency is not earlier in the table, or too few or too many categories
// have a weight. Tests of a diagnostic call it.
func (rules Rules[E]) Check() error {
	var faults []error
	seen, factors := map[Code]bool{}, map[Category]bool{}
	for i := range rules {
		r := &rules[i]
		for _, f := range []struct {
			is   bool
			what string
		}{
			{!r.Code.wellFormed(), "the code is not words in lower case joined by dots"},
			{seen[r.Code], "the code appears twice"},
			{r.Requirement == "" || strings.HasSuffix(r.Requirement, "."),
				"the requirement is missing or ends with a full stop"},
			{r.Title == "" || len([]rune(r.Title)) > maxTitle || strings.HasSuffix(r.Title, "."), "the title is missing, " +
				"too long or ends with a full stop"},
			{r.Fails == nil, "there is no test"},
			{r.Weight < 0, "the weight is below 0"},
			{r.Severity < Info || r.Severity > Critical, "the severity is unknown"},
			{!r.state().known(), "the state is unknown"},
			{r.StateIfFailed == Unknown && r.Weight > 0, "what means unknown cannot have a weight"},
			{slices.ContainsFunc(r.DependsOn, func(c Code) bool { return !seen[c] }), "it depends on a rule that is " +
				"not earlier in the table"},
		} {
			if f.is {
				faults = append(faults, fmt.Errorf("rule %d (%s): %s", i, r.Code, f.what))
			}
		}
		seen[r.Code] = true
		if r.Weight > 0 {
			factors[cmp.Or(r.Category, general)] = true
		}
	}
	if n := len(factors); n > 0 && (n < minFactors || n > maxFactors) {
		faults = append(faults, fmt.Errorf("the score has %d factors, not %d to %d", n, minFactors, maxFactors))
	}
	return errors.Join(faults...)
}

// wellFormed reports whether a code has at least two words of lower-case letters, digits and
// underscores. Codes of mark certificates, which the contract fixed before, are one with an underscore.
func (c Code) wellFormed() bool {
	words := strings.Split(string(c), ".")
	for _, w := range words {
		if w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return false
		}
	}
	return len(words) > 1 || strings.Contains(words[0], "_")
}

// Judge applies every rule to the evidence. It is pure: the same evidence gives the same verdict.
//
// The score is the percentage of points earned by the rules that apply, capped by the severity of failed
// rules: 39 for critical, 69 for error, 89 for warning. A rule that reads an unanswered source (see
// [Unanswerer]) does not count, but caps the score like a warning if its severity is at least that: what was
// not examined cannot be excellent. There is no score if the state is unknown, if no rule with a weight
// applies, or if a rule with NoScore failed.
//
// The state is that of the gravest failed rule; a failed rule whose StateIfFailed is Unknown and whose
// severity is info does not affect it. [Texts] supply headline and sub.
func (rules Rules[E]) Judge(evidence E, texts Texts) Verdict {
	return rules.JudgeParts([]E{evidence}, nil, texts)
}
