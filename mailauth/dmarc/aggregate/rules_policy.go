package aggregate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

// policyRules are about what the published policy does to the mail. None suggests a record: a report
// does not hold all of the one that is published.
var policyRules = rule.Rules[*evidence]{{
	Code: "dmarc.report.spoofing.delivered", Severity: diag.Warning, Weight: 10, Ref: "RFC 9989 section 4.7",
	Title:       "Spoofed mail is delivered: the policy is none",
	Requirement: "No spoofed mail is delivered because the policy is none",
	Advice: "Check that none of these addresses is one of your servers or services. Find out whose the other sources " +
		"are that fail, and set up those of your own, before you enforce a policy.",
	When: func(e *evidence) bool { return !isEnforced(e) },
	Fails: func(e *evidence) rule.Failures {
		s := e.classes[Spoofing]
		return rule.FailIf(s.messages > s.affected, "%s used %s without being authenticated as it, from %s: %s. With "+
			"p=none, receivers deliver such mail.",
			e.messages(s.messages-s.affected), e.domain(), phrase.Count(int64(s.sources), "source"), listKeys(&e.spoofers))
	},
}, {
	Code: "dmarc.report.spoofing.spared", Severity: diag.Warning, Weight: 5, Ref: "RFC 9990 section 3.1.6",
	Title: "Spoofed mail was delivered in spite of the policy", Requirement: "The policy was applied to spoofed mail",
	Advice: "Once all legitimate services pass, publish a policy that covers all mail: no weaker sp or np, no pct " +
		"below 100, no t=y. What receivers spare by their own decision cannot be changed.",
	When: func(e *evidence) bool { return isEnforced(e) && e.classes[Spoofing].messages > 0 },
	Fails: func(e *evidence) rule.Failures {
		n := e.classes[Spoofing].delivered
		return rule.FailIf(n > 0, "%s used %s without being authenticated as it and reached the inbox.%s", e.messages(n),
			e.domain(), e.overriddenText())
	},
	Partly: func(e *evidence) float64 {
		s := e.classes[Spoofing]
		return 1 - float64(s.delivered)/float64(max(1, s.messages))
	},
}, {
	Code: "dmarc.report.policy.none", Severity: diag.Info, Weight: 25, Ref: "RFC 9989 section 5.1.7",
	Title: "Policy none: failing mail is only reported", Requirement: "The policy is quarantine or reject",
	Advice: "Set up authentication for what fails and is yours, and find out who sends the rest. Enforce the policy " +
		"only when the reports " +
		"of all receivers have been clean for some weeks.",
	When: func(e *evidence) bool { return slices.Contains(strengths, e.report.Policy.Policy) },
	Fails: func(e *evidence) rule.Failures {
		if e.report.Policy.Policy != "none" {
			return nil
		}
		return e.readiness("p=quarantine or p=reject", "p=quarantine, and p=reject later.")
	},
}, {
	Code: "dmarc.report.policy.quarantine", Severity: diag.Info, Weight: 5, Ref: "RFC 9989 section 5.1.7",
	Title:       "Policy quarantine: failing mail goes to spam folders",
	Requirement: "The policy is reject, where it is enforced",
	Advice: "Set up authentication for what fails and is yours, and find out who sends the rest. Publish p=reject " +
		"only when the reports of " +
		"all receivers have been clean for some weeks.",
	When: isEnforced, Fails: func(e *evidence) rule.Failures {
		if e.report.Policy.Policy != "quarantine" {
			return nil
		}
		return e.readiness("p=reject", "p=reject.")
	},
	Partly: func(*evidence) float64 { return 0.5 },
}}

var scopeRules = rule.Rules[*evidence]{{
	Code: "dmarc.report.policy.subdomains", Severity: diag.Warning, Weight: 10, Ref: "RFC 9989 section 4.7",
	Title: "Weaker policy for subdomains (sp)", Requirement: "Subdomains have the same policy",
	Advice: "Remove sp, or raise it to the value of p, once the mail of all subdomains passes: spoofers choose a " +
		"subdomain otherwise.",
	Fails: func(e *evidence) rule.Failures {
		p := &e.report.Policy
		return rule.FailIf(isWeaker(p.Subdomain, p.Policy), "The policy is p=%s, but sp=%s for subdomains, which are not "+
			"protected as the domain is.%s",
			p.Policy, p.Subdomain, e.overriddenText())
	},
}, {
	Code: "dmarc.report.policy.nonexistent", Severity: diag.Warning, Weight: 5, Ref: "RFC 9989 section 4.7",
	Title: "Weaker policy for names that do not exist (np)", Requirement: "Names that do not exist have the same policy",
	Advice: "Set np=reject, once you know that no service of yours sends from a subdomain that does not exist in the " +
		"DNS.",
	Fails: func(e *evidence) rule.Failures {
		p := &e.report.Policy
		return rule.FailIf(isWeaker(p.Nonexistent, p.Policy), "The policy is p=%s, but np=%s for subdomains that do not "+
			"exist.", p.Policy, p.Nonexistent)
	},
}, {
	Code: "dmarc.report.policy.percentage", Severity: diag.Warning, Weight: 5, Ref: "RFC 9989 section 4.7",
	Title: "Policy applied to only part of the mail (pct)", Requirement: "The policy applies to all mail",
	Advice: "Remove pct once all legitimate services pass. RFC 9989 removed it: some receivers apply the policy to " +
		"everything already.",
	When: func(e *evidence) bool { return isEnforced(e) && e.report.Policy.Percentage != nil },
	Fails: func(e *evidence) rule.Failures {
		p := &e.report.Policy
		return rule.FailIf(*p.Percentage < 100, "With pct=%d, receivers that know this tag apply p=%s to only %[1]d %% "+
			"of the mail that fails.", *p.Percentage, p.Policy)
	},
}, {
	Code: "dmarc.report.policy.testing", Severity: diag.Warning, Weight: 5, Ref: "RFC 9989 section 4.7",
	Title: "Policy in test mode (t=y)", Requirement: "The policy is not in test mode",
	Advice: "Remove t=y once all legitimate services pass.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.report.Policy.Testing == "y", "With t=y, receivers apply a policy one step weaker than "+
			"p=%s.", e.report.Policy.Policy)
	},
}}

var strengths = []string{"none", "quarantine", "reject"}

// isWeaker reports whether a policy for some names is weaker than that for the domain. Absent means the same.
func isWeaker(some, domain string) bool {
	a, b := slices.Index(strengths, some), slices.Index(strengths, domain)
	return a >= 0 && a < b
}

func isEnforced(e *evidence) bool { return isWeaker("none", e.report.Policy.Policy) }

func (e *evidence) readiness(stricter, next string) rule.Failures {
	f := e.enforcement
	parts := []string{}
	for _, part := range []struct {
		n    int64
		what string
	}{
		{f.LegitimateCount, "of legitimate sources"},
		{f.UnlistedCount, "of sources that are probably your own" + e.failingNames()},
		{f.ForwardingCount, "forwarded"}, {f.UnknownCount, "of unknown sources"}, {f.SpoofingCount, "spoofed"},
	} {
		if part.n > 0 {
			parts = append(parts, thousands(part.n)+" "+part.what)
		}
	}
	concerned := "no message"
	if len(parts) > 0 {
		concerned = e.messages(f.AffectedCount) + ": " + strings.Join(parts, ", ")
	}
	if lone := e.loneSource(); lone != "" {
		concerned += fmt.Sprintf(". All mail that looks forged is from %s, which could also be a server of your own that "+
			"is not listed: compare other reports first", lone)
	}
	concerned = fmt.Sprintf(" %s would have concerned %s.%s", stricter, concerned, f.lossText())
	switch {
	case f.ready():
		return rule.Failures{{
			Detail: fmt.Sprintf("According to %s of %d days and %d receivers, the domain is ready to "+
				"enforce.%s", e.reportsText(),
				f.Readiness.Days, len(f.Readiness.Receivers), concerned),
			Advice: "Ask those who run your services whether one writes less often than the reports show. If none does, " +
				"publish " + next + e.listCaution(),
		}}
	case f.Ready == nil:
		return rule.Failures{{
			Detail: fmt.Sprintf("%s too little to tell whether the domain is ready to enforce a stricter policy. %s%s%s",
				phrase.Capitalize(e.reportsText())+" shows", f.Readiness.text(), f.Readiness.notBefore(), concerned),
			Advice: e.collectAdvice(),
		}}
	}
	return rule.Fail("According to %s, the domain is not ready to enforce a stricter "+
		"policy.%s", e.reportsText(), concerned)
}

func (e *evidence) collectAdvice() string {
	until := fmt.Sprintf("until they cover %d days", e.enforcement.Readiness.DaysNeeded)
	if at := e.enforcement.Readiness.NotBefore; !at.IsZero() {
		until = "until " + formatDate(at)
	}
	return fmt.Sprintf("Collect the reports of all receivers %s, and analyze them together: up to %d in one file. "+
		"Enforce no stricter policy before.", until, maxReports)
}

func (e *evidence) reportsText() string {
	if len(e.reports) == 1 {
		return "this report"
	}
	return fmt.Sprintf("the sum of %d reports", len(e.reports))
}

func (f *Enforcement) lossText() string {
	if f.MessageCountAtRisk == 0 {
		return ""
	}
	list := f.BlockingSources
	text := strings.Join(list[:min(len(list), maxInSentence)], ", ")
	if len(list) > maxInSentence {
		text += " and others"
	}
	return fmt.Sprintf(" At risk, because not proven to be forged: %s from %s.", countMessages(f.MessageCountAtRisk), text)
}

// listCaution adds what to mind where forwarded mail fails, which enforcement would lose (RFC 9989 section 7.4).
func (e *evidence) listCaution() string {
	if e.enforcement.ForwardingCount == 0 {
		return ""
	}
	return " Forwarded mail that fails is lost then, such as posts of your users to mailing lists: with such users, " +
		"do not go beyond p=quarantine."
}

func (e *evidence) failingNames() string {
	if len(e.failingServices) == 0 {
		return ""
	}
	some := e.failingServices[:min(len(e.failingServices), maxInSentence)]
	return " (" + strings.Join(kit.Map(some, func(s *sender) string { return s.name }), ", ") + ")"
}

func (e *evidence) overriddenText() string {
	odd := &e.sums.oddities
	if odd.overridden.total == 0 {
		return ""
	}
	text := fmt.Sprintf(" Mail that failed and was delivered named %s in the From field.", listKeys(&odd.overridden))
	reasons := map[OverrideType]string{
		OverrideSampledOut: "pct below 100", OverrideTestMode: "test mode", OverrideLocal: "local policy of the receiver",
	}
	for _, why := range odd.overrideReasons.sorted() {
		if reason := reasons[why.key]; reason != "" {
			return text + fmt.Sprintf(" The receiver gives as reason: %s.", reason)
		}
	}
	return text
}
