package bimi

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
)

// wanted reports whether a record asks for a logo, be it one that receivers cannot use, so that DMARC matters.
func wanted(e *evidence) bool {
	if !online(e) || e.record != nil {
		return online(e) && e.active()
	}
	texts := slices.Clone(e.found.Records)
	for _, s := range e.found.Strays {
		texts = append(texts, s.Text)
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		r := record.Parse(text)
		return !r.Declined
	})
}

var dmarcRules = diag.Rules[*evidence]{{
	Code: "bimi.dmarc.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: refDMARC,
	Title: "DMARC policy could not be looked up", Requirement: "The name servers answer for the DMARC record",
	Advice: "Check that every name server of the domain answers TXT queries, then try again.",
	When:   wanted, Fails: func(e *evidence) diag.Failures {
		err := e.standing.unknown
		if err == nil {
			return nil
		}
		return diag.Fail("Whether the DMARC policy is strong enough is not known, because the lookup of the DMARC record failed: %s.",
			diag.Reason(err))
	},
}, dmarcRule(rule{
	Code: "bimi.dmarc.missing", Weight: 8,
	Title: "No DMARC record, so receivers show no logo", Requirement: "The domain has a DMARC record",
	Advice: "Set up DMARC: begin with p=none and reports, and move to quarantine or reject once all your mail passes. " +
		"Receivers show no logo before that.",
}, dmarcMissing), dmarcRule(rule{
	Code: "bimi.dmarc.invalid", Weight: 8,
	Title: "DMARC record cannot be used, so receivers show no logo", Requirement: "Receivers can use the DMARC record",
	Advice: "Correct the DMARC record; the DMARC lookup of the domain says how.",
}, dmarcInvalid), dmarcRule(rule{
	Code: "bimi.dmarc.none", Weight: 8,
	Title: "DMARC policy is none, so receivers show no logo", Requirement: "The DMARC policy is quarantine or reject",
	Advice: checkReports + " that all your mail passes, then move the policy to quarantine and later to reject: " +
		"mail that fails is then no longer delivered as usual.",
}, dmarcNone), dmarcRule(rule{
	Code: "bimi.dmarc.subdomains", Weight: 4,
	Title:       "DMARC policy for subdomains is none: receivers show no logo",
	Requirement: "The DMARC policy for subdomains is not none",
	Advice: checkReports + " that the mail of all subdomains passes, then move sp to quarantine or reject, or " +
		"remove sp so that the policy of the domain applies: receivers show no logo with sp=none.",
}, dmarcSubdomains), dmarcRule(rule{
	Code: "bimi.dmarc.percentage", Weight: 4,
	Title:       "DMARC quarantine applies to a part of the mail only (pct)",
	Requirement: "The DMARC policy quarantine applies to all mail",
	Advice: checkReports + " that all your mail passes, then remove pct: receivers show no logo with quarantine " +
		"and less than pct=100.",
}, dmarcPartial), dmarcRule(rule{
	Code: "bimi.dmarc.testing", Weight: 4,
	Title: "DMARC policy is in test mode (t=y)", Requirement: "The DMARC policy is not in test mode",
	Advice: checkReports + " that all your mail passes, then remove t=y: receivers apply a weaker policy while it " +
		"stands there, and show no logo.",
}, dmarcTesting), dmarcRule(rule{
	Code: "bimi.dmarc.disputed", Severity: diag.Warning, Weight: 2,
	Title:       "Only some receivers apply the DMARC policy",
	Requirement: "Receivers of both DMARC standards read the same DMARC policy",
	Advice: "Publish a DMARC record at the domain itself, with p right after v=DMARC1 and the policy that is in force " +
		"now: then receivers of RFC 7489 and RFC 9989 see the same. The DMARC lookup of the domain says more.",
}, dmarcDisputed), dmarcRule(rule{
	Code: "bimi.dmarc.percentage.reject", Severity: diag.Warning,
	Title:       "DMARC reject applies to a part of the mail only (pct)",
	Requirement: "The DMARC policy reject applies to all mail",
	Advice: checkReports + " that all your mail passes, then remove pct: some receivers show a logo only for a " +
		"policy that applies to all mail.",
}, dmarcRejectPartial)}

// checkReports begins the advice that moves a policy, and askForReports takes its place where no reports come.
const (
	checkReports  = "Check in the DMARC reports"
	askForReports = "Ask for DMARC reports first: the record has no rua. Check in them"
)

// dmarcRule completes a rule about one kind of obstacles. It is an error unless the rule says otherwise.
func dmarcRule(r rule, kind obstacleKind) rule {
	r.Ref, r.Category = refDMARC, factorDMARC
	if r.Severity == diag.Info {
		r.Severity = diag.Error
	}
	r.When = func(e *evidence) bool {
		return wanted(e) && (e.standing.unknown == nil || len(e.standing.of(kind)) > 0)
	}
	r.Fails = func(e *evidence) diag.Failures {
		return diag.FailEach(e.standing.of(kind), func(o obstacle) diag.Failures {
			f := diag.Fail("%s", o.text).About("_dmarc." + o.domain)
			f[0].Advice = o.advice
			if o.silent && strings.HasPrefix(r.Advice, checkReports) {
				f[0].Advice = askForReports + r.Advice[len(checkReports):]
			}
			return f
		})
	}
	return r
}
