package header

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// filterRules are about what spam filters found.
var filterRules = diag.Rules[*evidence]{
	{
		Code: "header.spam.malicious", Severity: diag.Error, Weight: 10, Category: factorFilters,
		DependsOn: []diag.Code{"header.fields.none"}, Ref: "RFC 5322 section 3.6.8; documentation of the filter",
		Title:       "Filter classified the message as phishing, spoofing or malware",
		Requirement: "No filter classified the message as phishing, spoofing or malware",
		Advice: "Do not open links or attachments. If the message is genuine, fix its authentication " +
			"first, which filters weigh heavily.",
		When: func(e *evidence) bool { return len(e.spam) > 0 },
		Fails: eachVerdict(func(v *SpamVerdict) bool {
			return v.Verdict == phishing || v.Verdict == spoofing || v.Verdict == malware
		}),
	},
	{
		Code: "header.spam.spam", Severity: diag.Warning, Weight: 8, Category: factorFilters,
		DependsOn: []diag.Code{"header.fields.none"}, Ref: "RFC 5322 section 3.6.8; documentation of the filter",
		Title: "Filter classified the message as spam", Requirement: "No filter classified the message as spam",
		Advice: "Check in the details of the verdict which tests added to the score. If the message is " +
			"genuine, fix authentication first, then review links and wording.",
		When:  func(e *evidence) bool { return len(e.spam) > 0 },
		Fails: eachVerdict(func(v *SpamVerdict) bool { return v.Verdict == Spam }),
	},
}

// eachVerdict makes a rule about the verdicts that fulfil a condition.
func eachVerdict(is func(*SpamVerdict) bool) func(*evidence) diag.Failures {
	return func(e *evidence) (all diag.Failures) {
		for i := range e.spam {
			if v := &e.spam[i]; is(v) {
				all = append(all, diag.Fail("%s", v.text()).About(v.Vendor)...)
			}
		}
		return all
	}
}

// judgmentWords say what a judgment means.
var judgmentWords = map[Judgment]string{
	Spam: "spam", notSpam: "not spam", suspicious: "suspicious", bulk: "bulk mail", phishing: "phishing", spoofing: "spoofing", malware: "malware",
	allowed: "allowed without filtering", unstated: "nothing that outsiders can read",
}

// text tells a verdict.
func (v *SpamVerdict) text() string {
	text := fmt.Sprintf("%s of %s says: %s", v.Field, v.Vendor, judgmentWords[v.Verdict])
	if v.Score != nil {
		text += fmt.Sprintf(", score %g", *v.Score)
	}
	var details []string
	for _, key := range slices.Sorted(maps.Keys(v.Details)) {
		if len(details) < 5 {
			details = append(details, diag.Quote(key+" "+v.Details[key]))
		}
	}
	if len(details) > 0 {
		text += " (" + strings.Join(details, "; ") + ")"
	}
	return text + "."
}
