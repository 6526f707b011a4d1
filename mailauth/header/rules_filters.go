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
		DependsOn:   []diag.Code{"header.fields.none"},
		Title:       "Filter took the message for phishing, spoofing or malware",
		Requirement: "No filter took the message for phishing, spoofing or malware",
		Ref:         "RFC 5322 section 3.6.8; documentation of the filter",
		Advice:      "Do not open links or attachments. If the message is genuine, fix its authentication first; filters judge by that.",
		When:        func(e *evidence) bool { return len(e.spam) > 0 },
		Fails: eachVerdict(func(v *SpamVerdict) bool {
			return v.Verdict == Phishing || v.Verdict == Spoofing || v.Verdict == Malware
		}),
	},
	{
		Code: "header.spam.spam", Severity: diag.Warning, Weight: 8, Category: factorFilters,
		DependsOn:   []diag.Code{"header.fields.none"},
		Title:       "Filter took the message for spam",
		Requirement: "No filter took the message for spam",
		Ref:         "RFC 5322 section 3.6.8; documentation of the filter",
		Advice:      "Read in the details which tests counted. If the message is genuine, begin with authentication, then look at links and text.",
		When:        func(e *evidence) bool { return len(e.spam) > 0 },
		Fails:       eachVerdict(func(v *SpamVerdict) bool { return v.Verdict == Spam }),
	},
	{
		Code: "header.spam.suspicious", Severity: diag.Info, Category: factorFilters,
		DependsOn:   []diag.Code{"header.spam.malicious", "header.spam.spam"},
		Title:       "Filter found the message suspicious",
		Requirement: "No filter found the message suspicious",
		Ref:         "RFC 5322 section 3.6.8; documentation of the filter",
		Advice:      "Read in the details which tests counted.",
		When:        func(e *evidence) bool { return len(e.spam) > 0 },
		Fails:       eachVerdict(func(v *SpamVerdict) bool { return v.Verdict == Suspicious }),
	},
	{
		Code: "header.spam.bypassed", Severity: diag.Info, Category: factorFilters,
		DependsOn:   []diag.Code{"header.fields.none"},
		Title:       "Message was not filtered",
		Requirement: "The message was filtered",
		Ref:         "RFC 5322 section 3.6.8; documentation of the filter",
		Advice:      "Check the allow list or rule that let the message through; spam passes the same way.",
		When:        func(e *evidence) bool { return len(e.spam) > 0 },
		Fails:       eachVerdict(func(v *SpamVerdict) bool { return v.Verdict == Allowed }),
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
	Spam: "spam", NotSpam: "not spam", Suspicious: "suspicious", Bulk: "bulk mail", Phishing: "phishing", Spoofing: "spoofing", Malware: "malware",
	Allowed: "allowed without filtering", Unstated: "nothing that outsiders can read",
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
