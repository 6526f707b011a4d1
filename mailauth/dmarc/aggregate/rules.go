package aggregate

import (
	"fmt"
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

type rule = diag.Rule[*evidence]

// rules is the table of all that is examined: what the file is, what it says, and how well it is made. Of findings of
// one severity the first speaks for all: what the mail of the domain needs goes before the faults of a receiver.
var rules = sync.OnceValue(func() diag.Rules[*evidence] {
	return slices.Concat(fileRules.Reading(diag.FromRequest),
		when(isNamed, mailRules, policyRules.With(rule{Category: factorPolicy})).Reading(reverseNames), when(isNamed, scopeRules.With(rule{Category: factorScope, When: enforced})).Reading(diag.FromRequest),
		when(isReport, severalRules, reporterRules, formatRules).Reading(diag.FromRequest))
})

// reverseNames are those of sources that nothing in the reports tells of, where they were asked for.
const reverseNames diag.Source = "names"

// Unanswered says that a name went unanswered that might have told what a source is.
func (e *evidence) Unanswered() []diag.Source {
	if e.unsure {
		return []diag.Source{reverseNames}
	}
	return nil
}

func isReport(e *evidence) bool { return e.report != nil }

func hasMail(e *evidence) bool { return isReport(e) && e.sums.totals.MessageCount > 0 }

// isNamed reports whether it counts a message in the name of the domain.
func isNamed(e *evidence) bool { return hasMail(e) && e.named > 0 }

// when makes rules apply only where there is ground for them.
func when(ground func(*evidence) bool, tables ...diag.Rules[*evidence]) diag.Rules[*evidence] {
	all := slices.Concat(tables...)
	for i := range all {
		own := all[i].When
		all[i].When = func(e *evidence) bool { return ground(e) && (own == nil || own(e)) }
	}
	return all
}

func (e *evidence) domain() string {
	switch {
	case e.report != nil && e.report.Policy.Domain != "":
		return cut(e.report.Policy.Domain)
	case e.sums.align.organization != "":
		return cut(e.sums.align.organization)
	}
	return "the domain"
}

func (e *evidence) reporter() string {
	if name := e.report.Metadata.Organization; name != "" {
		return diag.Quote(name)
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

// listed lists the largest of counts: "a (10), b (5) and 3 more".
func listed(c *counts[string]) string {
	list := c.sorted()
	text := ""
	for i, one := range list[:min(len(list), maxInSentence)] {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s (%s)", diag.Quote(one.what), thousands(one.n))
	}
	if len(list) > maxInSentence {
		text += " and others"
	}
	return text
}

// The factors of the score, in the order of a reader. What the receiver did wrong in its report carries no
// weight: it says nothing about the domain.
var (
	factorAuthentication = diag.Category{Code: "authentication", Label: "Own mail passes"}
	factorCoverage       = diag.Category{Code: "coverage", Label: "DKIM and SPF alignment"}
	factorPolicy         = diag.Category{Code: "policy", Label: "Policy against spoofing"}
	factorScope          = diag.Category{Code: "scope", Label: "Full application"}
)

var texts = diag.Texts{
	"excellent": {Headline: "Mail of the domain passes DMARC, and the policy is enforced",
		Sub: "Nothing of the domain's own mail is lost by it. Check the reports of other receivers, and again when a " +
			"new service sends for you."},
	"valid": {Headline: "Mail of the domain passes DMARC",
		Sub: "The findings say what can be improved. Check the reports of other receivers too."},
	"dmarc.report.policy.none": {Headline: "The policy is p=none: failing mail is only reported",
		Sub: "Mail of the domain passes DMARC, but spoofed mail would be delivered. See whether it is ready to enforce."},
}
