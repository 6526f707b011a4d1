package diag

import "github.com/diagkit/diagkit/diag/rule"

// The types of verdicts are those of package rule, which makes them and needs no network and no TLS; here they have
// the names that readers of reports use.
type (
	// A Verdict is the outcome of the rules for the evidence. Reports embed it.
	Verdict = rule.Verdict

	// A Finding is a requirement that was not fulfilled.
	Finding = rule.Finding

	// A Check is a requirement that was fulfilled.
	Check = rule.Check

	// A Recommendation is something to do.
	Recommendation = rule.Recommendation

	// A Code names a rule for machines, such as "mtasts.policy.max_age.short". Codes are permanent.
	Code = rule.Code

	// Severity says how much a finding matters.
	Severity = rule.Severity

	// State summarizes the outcome of a diagnostic in a word.
	State = rule.State

	// Band summarizes a score in a word.
	Band = rule.Band

	// Priority ranks recommendations.
	Priority = rule.Priority

	// A Location is the part of a record's text to which a finding applies, in bytes.
	Location = rule.Location

	// A Place is one of several places to which a finding applies.
	Place = rule.Place

	// A Factor is the share of one named group of rules in the score.
	Factor = rule.Factor

	// FactorStatus says what a group of rules contributed to the score.
	FactorStatus = rule.FactorStatus

	// Breakdown shows how a score was computed.
	Breakdown = rule.Breakdown

	// CategoryScore is the score of one factor.
	CategoryScore = rule.CategoryScore

	// A ScopePart is one of several parts of a subject, such as an address of a host, and whether it was
	// examined.
	ScopePart = rule.ScopePart

	// ScopeState says whether one of several parts of a subject was examined.
	ScopeState = rule.ScopeState

	// A Text is a headline and the sentence below it.
	Text = rule.Text
)

// The severities, from the mildest.
const (
	Info     Severity = rule.Info     // worth knowing; nothing to do
	Warning  Severity = rule.Warning  // works today, and should be better
	Error    Severity = rule.Error    // broken in part
	Critical Severity = rule.Critical // does not work at all
)

// The states. Unknown means that the servers did not answer; it is never scored as Missing.
const (
	Valid   State = rule.Valid
	Warned  State = rule.Warned
	Bad     State = rule.Bad
	Missing State = rule.Missing
	Unknown State = rule.Unknown
)

// The bands of scores.
const (
	Excellent    Band = rule.Excellent    // 90 and more
	Good         Band = rule.Good         // 70 to 89
	Fair         Band = rule.Fair         // 40 to 69
	Poor         Band = rule.Poor         // below 40
	Undetermined Band = rule.Undetermined // no weight applied
)

// The priorities: high fixes an error or worse, medium a warning, low the rest.
const (
	High   Priority = rule.High
	Medium Priority = rule.Medium
	Low    Priority = rule.Low
)

// The statuses of a score factor.
const (
	FactorPass          FactorStatus = rule.FactorPass
	FactorPartial       FactorStatus = rule.FactorPartial
	FactorFail          FactorStatus = rule.FactorFail
	FactorNotApplicable FactorStatus = rule.FactorNotApplicable
)

// The states of a part of the subject (CONTRACT 1.7, Scope).
const (
	Examined    ScopeState = rule.Examined
	LeftOut     ScopeState = rule.LeftOut     // not asked for, out of our reach, or beyond a bound of ours
	NotAnswered ScopeState = rule.NotAnswered // asked, and not answered
)
