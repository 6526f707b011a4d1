package aggregate

import (
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
)

const (
	// clockSkew is how far a report may reach into the future.
	clockSkew = 2 * time.Hour
	// oldAge is when a report says little about the present.
	oldAge = 60 * 24 * time.Hour
)

var reporterRules = diag.Rules[*evidence]{{
	Code: "dmarc.report.records.none", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 9990 section 3.1.1.7",
	Title: "No messages in the report", Requirement: "The report counts messages",
	Advice: "Wait for reports of other receivers or days: this one says nothing about the mail of the domain.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.sums.totals.MessageCount == 0, "The report has %s and counts no message that can be used.",
			diag.Count(int64(e.report.Records), "record"))
	},
}, {
	Code: "dmarc.report.time.order", Severity: diag.Warning, Ref: "RFC 9990 section 3.1.1.4",
	Title: "Report period ends before it begins", Requirement: "The report period begins before it ends",
	Advice: "Tell the receiver. The counts are valid, but the days they cover are not known.",
	When:   hasSpan, Fails: func(e *evidence) diag.Failures {
		m := &e.report.Metadata
		return diag.FailIf(m.End.Before(m.Begin), "The report says that it begins at %s and ends at "+
			"%s.", instant(m.Begin), instant(m.End))
	},
}, {
	Code: "dmarc.report.time.future", Severity: diag.Warning, Ref: "RFC 9990 section 3.1.1.4",
	Title: "Report period lies in the future", Requirement: "The report period lies in the past",
	Advice: "Tell the receiver that its clock is wrong. The counts are valid, but the days they cover are not known.",
	When:   hasSpan, Fails: func(e *evidence) diag.Failures {
		end := e.report.Metadata.End
		return diag.FailIf(end.After(e.began.Add(clockSkew)), "The report ends at %s, which has not come yet.", instant(end))
	},
}, {
	Code: "dmarc.report.time.old", Severity: diag.Info, Ref: "RFC 9990 section 3.1.1.4",
	Title: "Report from more than two months ago", Requirement: "The report is recent",
	Advice: "Analyze a newer report too, before you act: services and records may have changed since.",
	When:   hasSpan, Fails: func(e *evidence) diag.Failures {
		end := e.report.Metadata.End
		return diag.FailIf(e.began.Sub(end) > oldAge, "The report ends at %s, %d days "+
			"ago.", instant(end), int(e.began.Sub(end).Hours()/24))
	},
}, {
	Code: "dmarc.report.errors.reported", Severity: diag.Warning, Ref: "RFC 9990 section 3.1.5",
	Title: "Receiver reports errors", Requirement: "The receiver reports no errors",
	Advice: "Check the DMARC record with dmarc/lookup: such errors are usually about records that are invalid or " +
		"published twice.",
	Fails: func(e *evidence) diag.Failures {
		errors := e.report.Metadata.Errors
		return diag.FailIf(len(errors) > 0, "%s reports %s, the first of them: "+
			"%s.", e.reporter(), diag.Count(int64(len(errors)), "error"),
			diag.Quote(strings.TrimSuffix(strings.Join(errors[:min(1, len(errors))], ""), ".")))
	},
}, {
	Code: "dmarc.report.domain.foreign", Severity: diag.Warning, Ref: "RFC 9990 section 3.1.2",
	Title: "Report contains records of another domain", Requirement: "All records are about the reported domain",
	Advice: "Tell the receiver that it mixed up reports. The messages are counted in the totals; they say nothing " +
		"about your domain, neither good nor bad.",
	When: hasMail, Fails: func(e *evidence) diag.Failures {
		foreign := &e.sums.oddities.foreign
		return diag.FailIf(foreign.total > 0, "%s had a domain in the From field that the policy of %s does not cover: %s.",
			e.messages(foreign.total), e.domain(), listed(foreign))
	},
}, {
	Code: "dmarc.report.evaluation.contradiction", Severity: diag.Warning, Ref: "RFC 9990 section 3.1.1.9",
	Title:       "Evaluation contradicts the results (policy_evaluated, auth_results)",
	Requirement: "The evaluation agrees with the results",
	Advice: "Do not rely on these records: ask the receiver which of the two is right. The totals follow " +
		"policy_evaluated, the classification of sources the results.",
	When: hasMail, Fails: func(e *evidence) diag.Failures {
		k := &e.sums.contradictions
		return diag.FailIf(k.passed+k.failed > 0, "For %s the two do not match: "+
			"%s.", e.messages(k.passed+k.failed), k.example)
	},
}, {
	Code: "dmarc.report.ptr.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 1035 section 3.5",
	Title:       "Reverse DNS of some sources could not be looked up",
	Requirement: "Reverse DNS of the largest sources could be looked up",
	Advice:      "Try again later: names in reverse DNS help to recognize sending services.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.unnamed > 0, "The name servers did not answer for %s.", diag.Count(int64(e.unnamed), "source"))
	},
}}

func hasSpan(e *evidence) bool {
	return !e.report.Metadata.Begin.IsZero() && !e.report.Metadata.End.IsZero()
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
