package header

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/header/filters"
)

var filterRules = diag.Rules[*evidence]{{
	Code: "header.spam.malicious", Severity: diag.Error, Weight: 10,
	Ref:         "RFC 5322 section 3.6.8; documentation of the filter",
	Title:       "Filter classified the message as phishing, spoofing or malware",
	Requirement: "No filter classified the message as phishing, spoofing or malware",
	Advice: "Do not open links or attachments. If the message is genuine, fix its authentication first, which " +
		"filters weigh heavily.",
	When:  filtersSpoke,
	Fails: classified(filters.Phishing, filters.Spoofing, filters.Malware),
}, {
	Code: "header.spam.spam", Severity: diag.Warning, Weight: 8,
	Ref: "RFC 5322 section 3.6.8; documentation of the filter", Title: "Filter classified the message as spam",
	Requirement: "No filter classified the message as spam",
	Advice: "Check in the details of the verdict which tests added to the score. If the message is genuine, fix " +
		"authentication first, then review links and wording.",
	When:  filtersSpoke,
	Fails: classified(filters.Spam),
}}

func filtersSpoke(e *evidence) bool { return len(e.spam) > 0 }

func classified(as ...filters.Judgment) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		return diag.FailEach(e.spam, func(v filters.Verdict) diag.Failures {
			return diag.FailIf(slices.Contains(as, v.Verdict), "%s", v.String()).About(v.Vendor)
		})
	}
}
