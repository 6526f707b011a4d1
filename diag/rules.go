package diag

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// A Failure is one place where a requirement was not fulfilled.
type Failure struct {
	Detail    string    // what was seen instead
	Target    string    // the tag, host or hop concerned; may be empty
	Location  *Location // where in the record; may be nil
	Suggested string    // a value to publish as it is; may be empty
}

// Failures are all places where one requirement was not fulfilled; nil means that it was.
type Failures []Failure

// Fail returns one failure with a formatted detail.
func Fail(format string, args ...any) Failures {
	return Failures{{Detail: fmt.Sprintf(format, args...)}}
}

// FailIf returns one failure with a formatted detail if the condition holds, else nil.
func FailIf(condition bool, format string, args ...any) Failures {
	if !condition {
		return nil
	}
	return Fail(format, args...)
}

// FailErr returns one failure with the text of an error, or nil for a nil error.
func FailErr(err error) Failures {
	if err == nil {
		return nil
	}
	return Failures{{Detail: err.Error()}}
}

// A Rule is one requirement on evidence of type E. All that is known about it stands in one literal:
// what it asks, why, how it is tested, how to mend it.
type Rule[E any] struct {
	Code     Code
	Severity Severity
	Weight   int    // points in the score; 0 if the rule only informs
	Category string // for the breakdown of the score, such as "policy"; empty is "general"
	Title    string // the requirement, stated as fulfilled, without a full stop
	Ref      string // where it is written, such as "RFC 8461 section 3.1"
	Advice   string // what to do if it fails; empty if there is nothing to do

	// Means is the state of the verdict if the rule fails. If empty it follows from the severity:
	// invalid for critical and error, warning for warning, valid for info. A rule that means
	// Unknown says that something could not be learned: it never lowers the score.
	Means State

	When  func(E) bool     // if set and false, the rule does not apply
	Fails func(E) Failures // what was seen instead, or nil if fulfilled

	// Partly, if set, returns how much of the weight a failed rule still earns, from 0 to 1.
	Partly func(E) float64
}

func (r Rule[E]) state() State {
	switch {
	case r.Means != "":
		return r.Means
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

// RuleInfo describes a rule for the reference of all codes.
type RuleInfo struct {
	Code      Code     `json:"code"`
	Severity  Severity `json:"severity"`
	Weight    int      `json:"weight"`
	Category  string   `json:"category"`
	Title     string   `json:"title"`
	Reference string   `json:"reference,omitempty"`
	Advice    string   `json:"advice,omitempty"`
	State     State    `json:"state"`
}

// Describe lists what is known about each rule without evidence, in the order of the table.
func (rules Rules[E]) Describe() []RuleInfo {
	infos := make([]RuleInfo, 0, len(rules))
	for _, r := range rules {
		infos = append(infos, RuleInfo{r.Code, r.Severity, r.Weight, r.category(), r.Title, r.Ref, r.Advice, r.state()})
	}
	return infos
}

func (r Rule[E]) category() string { return cmp.Or(r.Category, "general") }

// Check reports what is wrong with the table itself: a code that is malformed or stands twice, a
// title that is missing or ends with a full stop, a rule without a test, a weight below 0, an unknown
// severity or state. Tests of a diagnostic call it.
func (rules Rules[E]) Check() error {
	var faults []error
	seen := map[Code]bool{}
	for i, r := range rules {
		for _, f := range []struct {
			is   bool
			what string
		}{
			{!r.Code.wellFormed(), "the code is not words in lower case joined by dots"},
			{seen[r.Code], "the code stands twice"},
			{r.Title == "" || strings.HasSuffix(r.Title, "."), "the title is missing or ends with a full stop"},
			{r.Fails == nil, "there is no test"},
			{r.Weight < 0, "the weight is below 0"},
			{r.Severity < Info || r.Severity > Critical, "the severity is unknown"},
			{!r.state().known(), "the state is unknown"},
			{r.Means == Unknown && r.Weight > 0, "what means unknown cannot have a weight"},
		} {
			if f.is {
				faults = append(faults, fmt.Errorf("rule %d (%s): %s", i, r.Code, f.what))
			}
		}
		seen[r.Code] = true
	}
	return errors.Join(faults...)
}

// wellFormed reports whether a code has at least two words of lower-case letters, digits and
// underscores.
func (c Code) wellFormed() bool {
	words := strings.Split(string(c), ".")
	for _, w := range words {
		if w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return false
		}
	}
	return len(words) > 1
}

// Judge applies every rule to the evidence. It is pure: the same evidence gives the same verdict.
//
// The score is the points earned of those that apply, in percent, so a rule that does not apply
// earns and costs nothing; then a failed rule of severity critical caps it at 39 and one of severity
// error at 69. If no weight applies, as when no name server answered, the band is unknown. The state
// is that of the gravest failed rule. Texts speak for the outcome, see [Texts].
func (rules Rules[E]) Judge(evidence E, texts Texts) Verdict {
	j := judgement{
		v: Verdict{
			Factors: []Factor{}, Recommendations: []Recommendation{}, Passed: []Check{}, Findings: []Finding{},
			Breakdown: Breakdown{Categories: map[string]CategoryScore{}},
		},
		cap: 100, state: Valid,
	}
	for _, r := range rules {
		if r.When != nil && !r.When(evidence) {
			if r.Weight > 0 {
				j.v.Factors = append(j.v.Factors, Factor{r.Code, r.Title, 0, 0, FactorNotApplicable, ""})
			}
			continue
		}
		failures := r.Fails(evidence)
		earned := 1.0
		if len(failures) > 0 {
			earned = 0
			if r.Partly != nil {
				earned = share(r.Partly(evidence))
			}
			j.fail(RuleInfo{r.Code, r.Severity, r.Weight, r.category(), r.Title, r.Ref, r.Advice, r.state()}, failures)
		} else {
			j.v.Passed = append(j.v.Passed, Check{r.Code, r.Title})
		}
		if r.Weight > 0 && r.Means != Unknown {
			j.score(r.Code, r.Title, r.category(), r.Weight, earned, failures)
		}
	}
	return j.close(texts)
}
