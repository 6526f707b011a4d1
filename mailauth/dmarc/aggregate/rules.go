package aggregate

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

// rules is the table of all rules: the type of the file, its content, and its format. Of findings of one severity the
// first is the headline: the needs of the domain's mail precede the faults of a receiver.
var rules = sync.OnceValue(func() rule.Rules[*upload] {
	all := forEachDomain(table())
	i := slices.IndexFunc(all, func(r rule.Rule[*upload]) bool { return r.Code == reporterRules[0].Code })
	return slices.Insert(all, i, uploadRules.Reading(rule.FromRequest)...)
})

// table holds the rules for one domain.
var table = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(fileRules.Reading(rule.FromRequest),
		rulesWhen(isNamed, mailRules, policyRules.With(rule.Rule[*evidence]{Category: factorPolicy})).Reading(reverseNames),
		rulesWhen(isNamed, handlingRules).Reading(rule.FromRequest),
		rulesWhen(isNamed, scopeRules.With(rule.Rule[*evidence]{Category: factorScope,
			When: isEnforced})).Reading(rule.FromRequest),
		rulesWhen(hasReport, reporterRules, formatRules).Reading(rule.FromRequest))
})

// reverseNames is the source for reverse DNS names of sources that the reports do not identify, if requested.
const reverseNames rule.Source = "names"

// Unanswered reports an unanswered lookup of a name that might have identified a source.
func (e *evidence) Unanswered() []rule.Source {
	if e.namesMatter {
		return []rule.Source{reverseNames}
	}
	return nil
}

func hasReport(e *evidence) bool { return e.report != nil }

func hasMail(e *evidence) bool { return hasReport(e) && e.sums.totals.MessageCount > 0 }

func isNamed(e *evidence) bool { return hasMail(e) && e.namedMessages > 0 }

func rulesWhen(condition func(*evidence) bool, tables ...rule.Rules[*evidence]) rule.Rules[*evidence] {
	all := slices.Concat(tables...)
	for i := range all {
		own := all[i].When
		all[i].When = func(e *evidence) bool { return condition(e) && (own == nil || own(e)) }
	}
	return all
}

func (e *evidence) domain() string {
	switch {
	case e.report != nil && e.report.Policy.Domain != "":
		return clipDomain(e.report.Policy.Domain)
	case e.sums.alignment.organization != "":
		return clipDomain(e.sums.alignment.organization)
	}
	return "the domain"
}

func (e *evidence) reporter() string {
	if name := e.report.Metadata.Organization; name != "" {
		return phrase.Quote(name)
	}
	return "The receiver"
}

// messages writes a number of messages with their share of all: "120 messages (12 %)".
func (e *evidence) messages(n int64) string {
	return fmt.Sprintf("%s (%s)", countMessages(n), shareText(n, e.sums.totals.MessageCount))
}

func countMessages(n int64) string {
	if n == 1 {
		return "1 message"
	}
	return thousands(n) + " messages"
}

func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// shareText writes a share in percent. Only nothing is 0 %, and only all is 100 %.
func shareText(part, whole int64) string {
	switch share := 100 * float64(part) / float64(max(1, whole)); {
	case part > 0 && share < 0.1:
		return "less than 0.1 %"
	case part < whole && share > 99.9:
		return "more than 99.9 %"
	case share == float64(int64(share)):
		return fmt.Sprintf("%.0f %%", share)
	default:
		return fmt.Sprintf("%.1f %%", share)
	}
}

const maxInSentence = 5

// listKeys lists the largest of counts: "a (10), b (5) and 3 more".
func listKeys(c *counts[string]) string {
	list := c.sorted()
	text := ""
	for i, one := range list[:min(len(list), maxInSentence)] {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s (%s)", phrase.Quote(one.key), thousands(one.n))
	}
	if len(list) > maxInSentence {
		text += " and others"
	}
	return text
}

// The factors of the score, in the order of a reader. Faults of the receiver's report carry no weight: they say
// nothing about the domain.
var (
	factorAuthentication = rule.Category{Code: "authentication", Label: "Own mail passes"}
	factorCoverage       = rule.Category{Code: "coverage", Label: "DKIM and SPF alignment"}
	factorPolicy         = rule.Category{Code: "policy", Label: "Policy against spoofing"}
	factorScope          = rule.Category{Code: "scope", Label: "Full application"}
)

var texts = rule.Texts{
	"excellent": {Headline: "Mail of the domain passes DMARC, and the policy is enforced",
		Sub: "In these reports nothing of the domain's own mail is lost by it. Check the reports of other receivers, and " +
			"again when a new service sends for you."},
	"valid": {Headline: "Mail of the domain passes DMARC",
		Sub: "The findings say what can be improved. Check the reports of other receivers too."},
	"dmarc.report.policy.none": {Headline: "The policy is p=none: failing mail is only reported",
		Sub: "Mail of the domain passes DMARC, but spoofed mail would be delivered. See whether it is ready to enforce."},
}

const (
	// clockSkew bounds how far a report may reach into the future.
	clockSkew = 2 * time.Hour
	// maxAge is the age from which a report says little about the present.
	maxAge = 60 * 24 * time.Hour
)

var reporterRules = rule.Rules[*evidence]{{
	Code: "dmarc.report.records.none", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 9990 section 3.1.1.7",
	Title: "No messages in the report", Requirement: "The report counts messages",
	Advice: "Wait for reports of other receivers or days: this one says nothing about the mail of the domain.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.sums.totals.MessageCount == 0, "The report has %s and counts no message that can be used.",
			phrase.Count(int64(e.report.Records), "record"))
	},
}, {
	Code: "dmarc.report.time.order", Severity: diag.Warning, Ref: "RFC 9990 section 3.1.1.4",
	Title: "Report period ends before it begins", Requirement: "The report period begins before it ends",
	Advice: "Tell the receiver. The counts are valid, but the days they cover are not known.",
	When:   hasSpan, Fails: func(e *evidence) rule.Failures {
		m := &e.report.Metadata
		return rule.FailIf(m.EndAt.Before(m.BeginAt), "The report says that it begins at %s and ends at "+
			"%s.", formatTime(m.BeginAt), formatTime(m.EndAt))
	},
}, {
	Code: "dmarc.report.time.future", Severity: diag.Warning, Ref: "RFC 9990 section 3.1.1.4",
	Title: "Report period lies in the future", Requirement: "The report period lies in the past",
	Advice: "Tell the receiver that its clock is wrong. The counts are valid, but the days they cover are not known.",
	When:   hasSpan, Fails: func(e *evidence) rule.Failures {
		end := e.report.Metadata.EndAt
		return rule.FailIf(end.After(e.began.Add(clockSkew)), "The report ends at %s, which has not come yet.",
			formatTime(end))
	},
}, {
	Code: "dmarc.report.time.old", Severity: diag.Info, Ref: "RFC 9990 section 3.1.1.4",
	Title: "Report from more than two months ago", Requirement: "The report is recent",
	Advice: "Analyze a newer report too, before you act: services and records may have changed since.",
	When:   hasSpan, Fails: func(e *evidence) rule.Failures {
		end := e.report.Metadata.EndAt
		return rule.FailIf(e.began.Sub(end) > maxAge, "The report ends at %s, %d days "+
			"ago.", formatTime(end), int(e.began.Sub(end).Hours()/24))
	},
}, {
	Code: "dmarc.report.errors.reported", Severity: diag.Warning, Ref: "RFC 9990 section 3.1.5",
	Title: "Receiver reports errors", Requirement: "The receiver reports no errors",
	Advice: "Check the DMARC record with dmarc/lookup: such errors are usually about records that are invalid or " +
		"published twice.",
	Fails: func(e *evidence) rule.Failures {
		errors := e.report.Metadata.Errors
		return rule.FailIf(len(errors) > 0, "%s reports %s, the first of them: "+
			"%s.", e.reporter(), phrase.Count(int64(len(errors)), "error"),
			phrase.Quote(strings.TrimSuffix(strings.Join(errors[:min(1, len(errors))], ""), ".")))
	},
}, {
	Code: "dmarc.report.domain.foreign", Severity: diag.Warning, Ref: "RFC 9990 section 3.1.2",
	Title: "Report contains records of another domain", Requirement: "All records are about the reported domain",
	Advice: "Tell the receiver that it mixed up reports. The messages are counted in the totals, but say nothing " +
		"about your domain.",
	When: hasMail, Fails: func(e *evidence) rule.Failures {
		foreign := &e.sums.oddities.foreign
		return rule.FailIf(foreign.total > 0, "%s had a domain in the From field that the policy of %s does not cover: %s.",
			e.messages(foreign.total), e.domain(), listKeys(foreign))
	},
}, {
	Code: "dmarc.report.evaluation.contradiction", Severity: diag.Warning, Ref: "RFC 9990 section 3.1.1.9",
	Title:       "Evaluation contradicts the results (policy_evaluated, auth_results)",
	Requirement: "The evaluation agrees with the results",
	Advice: "Do not rely on these records: ask the receiver which of the two is right. The totals follow " +
		"policy_evaluated, the classification of sources the results.",
	When: hasMail, Fails: func(e *evidence) rule.Failures {
		k := &e.sums.contradictions
		return rule.FailIf(k.passed+k.failed > 0, "For %s the two do not match: "+
			"%s.", e.messages(k.passed+k.failed), k.example)
	},
}, {
	Code: "dmarc.report.results.missing", Severity: diag.Info, Ref: "RFC 9990 section 3.1.1.11",
	Title: "Records without authentication results", Requirement: "The records have authentication results",
	Advice: "Compare the reports of other receivers: here the sources are classified by the evaluation alone.",
	When:   hasMail, Fails: func(e *evidence) rule.Failures {
		n := e.sums.oddities.noResults
		return rule.FailIf(n > 0, "For %s the report does not say what DKIM and SPF found.", e.messages(n))
	},
}, {
	Code: "dmarc.report.ptr.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 1035 section 3.5",
	Title:       "Reverse DNS of some sources could not be looked up",
	Requirement: "Reverse DNS of the largest sources could be looked up",
	Advice:      "Try again later: names in reverse DNS help to recognize sending services.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.unnamedCount > 0, "The name servers did not answer for %s.",
			phrase.Count(int64(e.unnamedCount), "source"))
	},
}}

func hasSpan(e *evidence) bool {
	return !e.report.Metadata.BeginAt.IsZero() && !e.report.Metadata.EndAt.IsZero()
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
