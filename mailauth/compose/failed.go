package compose

import (
	"context"
	"errors"
	"slices"

	"github.com/diagkit/diagkit/diag"
)

func failed(kind Kind, err error) Summary {
	s := Summarize(kind, &failure{partRules.Judge(err, partTexts)})
	s.Err = err
	return s
}

type failure struct{ diag.Verdict }

func (*failure) Rules() []diag.RuleInfo { return partRules.Describe() }

// Rules describes what a whole may say beside what its parts say.
func Rules() []diag.RuleInfo {
	return slices.Concat(partRules.Describe(), wholeRules.Describe(), keyRules.Describe(), senderRules.Describe())
}

func isTimeout(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

func isUnavailable(err error) bool { return !isTimeout(err) && errors.Is(err, diag.ErrUnavailable) }

var partRules = diag.Rules[error]{{
	Code: "check.part.timeout", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 9520 section 3",
	Title: "No result in time", Requirement: "The part ends in time",
	Advice: "Check that the name servers and mail servers of the domain answer quickly, and try again.",
	Fails: func(err error) diag.Failures {
		return diag.FailIf(isTimeout(err), "The servers that were asked did not answer in time.")
	},
}, {
	Code: "check.part.unavailable", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 9520 section 2",
	Title: "No server answered", Requirement: "The servers of the part answer",
	Advice: "Check that the name servers of the domain answer, and try again.",
	Fails: func(err error) diag.Failures {
		return diag.FailIf(isUnavailable(err), "No server that was asked gave a usable answer.")
	},
}, {
	Code: "check.part.failed", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 9520 section 2",
	Title: "Check ended early", Requirement: "The part comes to an end",
	Advice: "Try again; tell the operator of this service if it happens again: the domain need not be at fault.",
	Fails: func(err error) diag.Failures {
		return diag.FailIf(err != nil && !isTimeout(err) && !isUnavailable(err), "An internal error ended this part of the check.")
	},
}}

var partTexts = diag.Texts{
	"valid":   {Headline: "Checked", Sub: "The part has a result."},
	"unknown": {Headline: "Could not be checked", Sub: "There is no result for this part. Try again."},
	"check.part.timeout": {Headline: "Could not be checked in time",
		Sub: "The servers that were asked did not answer in time. Check them and try again."},
	"check.part.unavailable": {Headline: "Could not be checked: no server answered",
		Sub: "Check that the name servers of the domain answer, and try again."},
	"check.part.failed": {Headline: "Could not be checked: an internal error ended the check",
		Sub: "The domain need not be at fault. Try again."},
}
