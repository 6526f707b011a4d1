// Package rule turns evidence into a verdict: [Rules.Judge] applies a table of [Rules] and returns a
// [Verdict]. Use it to write a check; to read reports, use package diag, which has aliases for the types of a
// verdict.
//
// A [Rule] is one requirement, described by one literal: its permanent code, severity and weight, the title
// of its fault, the requirement in words, its reference, the advice, and the function that tests it.
// Findings, passed checks, score, factors and recommendations are derived from the table, as is the reference
// of all codes ([Rules.Describe]).
//
// # What a verdict claims
//
// Judge is pure: the same evidence gives the same verdict. It distinguishes "absent" from "unknown": evidence
// that implements [Unanswerer] lists its sources that did not answer, and rules that read one of them are
// neither passed nor failed, and cost no points. A rule runs only if the rules that it depends on are
// fulfilled. A failed rule caps the score by its severity: 39 for critical, 69 for error, 89 for warning.
//
// Tests of a table call [Rules.Check], and CoverRules of package diagtest, which fails unless tests have seen
// each rule both pass and fail.
package rule
