// Package rule judges evidence: a table of [Rules] is applied by [Rules.Judge] and gives a [Verdict]. It is what
// writers of checks need; readers of reports find the types of a verdict in package diag under the same names.
//
// A [Rule] is one requirement, and one literal holds all about it: its permanent code, its severity and weight, the
// fault in words and the same stated as fulfilled, where it is written, what to do, and the function that tests it.
// Findings, passed checks, score, factors and recommendations all follow from the table, and so does the reference of
// all codes ([Rules.Describe]).
//
// # What a verdict claims
//
// Judge is pure: the same evidence gives the same verdict. It keeps absence and ignorance apart. Evidence that knows
// which of its sources went unanswered says so as an [Unanswerer]; rules that read one of them are neither passed nor
// failed, and cost no points. A rule does not run unless those that it depends on are fulfilled. A failed rule caps the
// score by its severity: 39 for critical, 69 for error, 89 for warning.
//
// Tests of a table call [Rules.Check], and CoverRules of package diagtest, which fails for a rule that no test has seen
// both fulfilled and violated.
package rule
