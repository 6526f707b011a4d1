package dmarc

import (
	"cmp"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

var generateRules = rule.Rules[*generation]{{
	Code: "dmarc.generate.reports.missing", Severity: diag.Warning, Ref: "RFC 9989 section 5.1.3",
	Title: "No aggregate reports are requested", Requirement: "Aggregate reports are requested",
	Advice: "Add an address for aggregate reports (rua): only these show which legitimate mail fails " +
		"DMARC.",
	Fails: func(g *generation) rule.Failures {
		switch {
		case len(g.rua) > 0:
			return nil
		case g.enforced():
			return rule.Fail("The record asks for a policy, and no report will show which legitimate mail it hits.")
		default:
			return rule.Fail("Without a policy and without reports the record has no effect.")
		}
	},
}, {
	Code: "dmarc.generate.enforced", Severity: diag.Info, Ref: "RFC 9989 section 7.4",
	Title:       "The policy hits legitimate mail that fails DMARC",
	Requirement: "No mail is treated differently because of the record",
	Advice: "Publish the first record of the rollout, and continue only if the aggregate reports show what its goal " +
		"says. Skip steps only for a domain that sends no mail, or whose reports show no failures already.",
	Fails: func(g *generation) rule.Failures {
		return rule.FailIf(g.enforced(), "Receivers are asked to apply %s to mail that fails DMARC, whether it is forged "+
			"or a service of yours that is not set up yet.", g.strictest())
	},
}, {
	Code: "dmarc.generate.subdomain.weaker", Severity: diag.Warning, Ref: "RFC 9989 section 4.7",
	Title: "Subdomains are less protected than the domain", Requirement: "Subdomains are protected like the domain",
	Advice: "Leave out the policy for subdomains (sp) once their mail passes DMARC: forgers choose the weakest name.",
	When:   func(g *generation) bool { return g.req.SubdomainPolicy != "" },
	Fails: func(g *generation) rule.Failures {
		return rule.FailIf(g.req.SubdomainPolicy.Level() < g.req.Policy.Level(), "The policy for subdomains is %s, that "+
			"for the domain %s.", g.req.SubdomainPolicy, g.req.Policy).About("sp")
	},
}, {
	Code: "dmarc.generate.nonexistent.weaker", Severity: diag.Warning, Ref: "RFC 9989 section 4.7",
	Title:       "Subdomains that do not exist are less protected than others",
	Requirement: "Subdomains that do not exist are protected like others",
	Advice: "Set the policy for subdomains that do not exist (np) to reject, or leave it out: no legitimate mail " +
		"uses such names.",
	When: func(g *generation) bool { return g.req.NonexistentSubdomainPolicy != "" },
	Fails: func(g *generation) rule.Failures {
		others := cmp.Or(g.req.SubdomainPolicy, g.req.Policy)
		return rule.FailIf(g.req.NonexistentSubdomainPolicy.Level() < others.Level(),
			"The policy for subdomains that do not exist is %s, that for others %s.", g.req.NonexistentSubdomainPolicy,
			others).About("np")
	},
}, {
	Code: "dmarc.generate.subdomain.ignored", Severity: diag.Warning, Ref: "RFC 9989 section 4.7",
	Title:       "Policies for subdomains have no effect here",
	Requirement: "Policies for subdomains are in the record of an organizational domain",
	Advice: "Put them into the record of the organizational domain, or set psd to n if this is an organization of its " +
		"own.",
	When: func(g *generation) bool {
		return !g.req.Domain.IsZero() && cmp.Or(g.req.SubdomainPolicy, g.req.NonexistentSubdomainPolicy) != ""
	},
	Fails: func(g *generation) rule.Failures {
		org := policy.PublicSuffixOrganizational(g.req.Domain.String())
		declared := g.req.PSD == policy.NotPSD || g.req.PSD == policy.IsPSD
		return rule.FailIf(org != g.req.Domain.String() && !declared, "The organizational domain of %s is %s by the "+
			"public suffix list, and only its sp and np count.", g.req.Domain, org)
	},
}, {
	Code: "dmarc.generate.external", Severity: diag.Info, Ref: "RFC 9990 section 4",
	Title:       "Report addresses in another organization need its consent",
	Requirement: "All report addresses belong to the organization of the domain",
	Advice: "Have the owner of the address publish the TXT record v=DMARC1 at the name in the detail: until then no " +
		"report is sent there.",
	When: func(g *generation) bool { return !g.req.Domain.IsZero() },
	Fails: func(g *generation) rule.Failures {
		return rule.FailEach(g.external(), func(d string) rule.Failures {
			return rule.FailIf(len(g.consentName(d)) <= maxName, "%s has to publish a TXT record at %s.", d,
				g.consentName(d)).About(d)
		})
	},
}, {
	Code: "dmarc.generate.external.long", Severity: diag.Warning, Ref: "RFC 9990 section 4",
	Title:       "A report address cannot be authorized",
	Requirement: "Every report address in another organization can be authorized",
	Advice:      "Use an address of the domain itself, or one at a domain with a shorter name.",
	When:        func(g *generation) bool { return !g.req.Domain.IsZero() },
	Fails: func(g *generation) rule.Failures {
		return rule.FailEach(g.external(), func(d string) rule.Failures {
			return rule.FailIf(len(g.consentName(d)) > maxName, "The name at which %s would accept reports for %s has more "+
				"than %d characters.", d, g.req.Domain, maxName).About(d)
		})
	},
}, {
	Code: "dmarc.generate.external.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 9990 section 4",
	Title:       "Whether report addresses need consent is not known",
	Requirement: "The domain is given, so that report addresses of others are known",
	Advice:      "Give the domain to learn what the owners of addresses in other organizations have to publish.",
	When:        func(g *generation) bool { return len(g.rua)+len(g.ruf) > 0 },
	Fails: func(g *generation) rule.Failures {
		return rule.FailIf(g.req.Domain.IsZero(), "No domain was given with the report addresses.")
	},
}, {
	Code: "dmarc.generate.testing.idle", Severity: diag.Warning, Ref: "RFC 9989 section 4.7",
	Title: "Nothing to test: the policy is none", Requirement: "There is a policy to test, or nothing is tested",
	Advice: "Leave out t=y, or set the policy to quarantine: t=y has no effect on a policy of none.",
	When:   func(g *generation) bool { return g.req.Testing },
	Fails: func(g *generation) rule.Failures {
		return rule.FailIf(!g.enforced(), "t=y asks receivers to apply the policy one level lower, and it is none "+
			"already.").About("t")
	},
}, {
	Code: "dmarc.generate.testing.legacy", Severity: diag.Info, Ref: "RFC 9989 appendix A.6",
	Title: "Receivers that follow RFC 7489 do not know t=y", Requirement: "The record does not depend on t=y",
	Advice: "Publish the policy one level lower instead of t=y if these receivers should hold back as well.",
	Fails: func(g *generation) rule.Failures {
		return rule.FailIf(g.req.Testing && g.enforced(), "They apply %s in full, while those that follow RFC 9989 apply "+
			"it one level lower.", g.strictest()).About("t")
	},
}, {
	Code: "dmarc.generate.percentage", Severity: diag.Warning, Ref: "RFC 9989 appendix A.6",
	Title: "Receivers that follow RFC 9989 ignore pct", Requirement: "The policy applies to all mail",
	Advice: "Publish the policy one level lower instead of pct until the reports are clean.",
	When:   func(g *generation) bool { return g.enforced() },
	Fails: func(g *generation) rule.Failures {
		return rule.FailIf(g.target.percentage < policy.DefaultPercentage, "They apply %s to all mail that fails DMARC, "+
			"not to %d percent of it.", g.strictest(), g.target.percentage).About("pct")
	},
}, {
	Code: "dmarc.generate.percentage.idle", Severity: diag.Warning, Ref: "RFC 7489 section 6.3",
	Title:       "pct has no effect: the policy is none",
	Requirement: "There is a policy to apply to a share of the mail, or no share is given",
	Advice:      "Leave out pct, or set the policy to quarantine: pct has no effect on a policy of none.",
	When:        func(g *generation) bool { return g.target.percentage < policy.DefaultPercentage },
	Fails: func(g *generation) rule.Failures {
		return rule.FailIf(!g.enforced(), "pct=%d has no effect, because the policy asks for nothing.",
			g.target.percentage).About("pct")
	},
}, {
	Code: "dmarc.generate.psd", Severity: diag.Error, Ref: "RFC 9989 section 4.7",
	Title: "psd=y for a domain that is not a public suffix", Requirement: "psd=y is declared for a public suffix only",
	Advice: "Leave out psd unless unrelated organizations register domains here: with psd=y, subdomains are no longer " +
		"aligned with the domain.",
	When: func(g *generation) bool { return !g.req.Domain.IsZero() && g.req.PSD == policy.IsPSD },
	Fails: func(g *generation) rule.Failures {
		return rule.FailIf(!policy.IsPublicSuffix(g.req.Domain.String()), "The public suffix list does not have %s.",
			g.req.Domain).
			About("psd")
	},
}, {
	Code: "dmarc.generate.psd.missing", Severity: diag.Warning, Ref: "RFC 9989 section 5.2",
	Title: "Record for a public suffix without psd=y", Requirement: "A record for a public suffix declares psd=y",
	Advice: "Set psd to y if you operate this public suffix; otherwise give the domain that you registered below it. " +
		"Without psd=y all domains below count as one organization.",
	When: func(g *generation) bool { return !g.req.Domain.IsZero() },
	Fails: func(g *generation) rule.Failures {
		return rule.FailIf(policy.IsPublicSuffix(g.req.Domain.String()) && g.req.PSD != policy.IsPSD, "%s is a public "+
			"suffix, and its record applies to every domain below it that has none of its own.", g.req.Domain).About("psd")
	},
}}

func (g *generation) enforced() bool { return g.strictest() != policy.None }

func (g *generation) strictest() policy.Policy {
	strictest := g.req.Policy
	for _, p := range []policy.Policy{g.req.SubdomainPolicy, g.req.NonexistentSubdomainPolicy} {
		if p.Level() > strictest.Level() {
			strictest = p
		}
	}
	return strictest
}

// A RolloutStep is a record on the way to the requested one.
type RolloutStep struct {
	Step         int           `json:"step" min:"1" doc:"number of the step"`
	Policy       policy.Policy `json:"policy" doc:"policy for the domain in this step"`
	Record       string        `json:"record" doc:"what to publish"`
	DurationDays int           `json:"duration_days,omitempty" min:"1" doc:"how long at least; absent for the last step, which stays"`
	Goal         string        `json:"goal" doc:"what the reports must show before the next step"`
}

// Minimum duration of the steps, in days. RFC 9989 section 7.4 asks domains with users for a month under p=none and
// another one under p=quarantine before p=reject.
const (
	monitorDays = 30
	sampleDays  = 14
	enforceDays = 30
)

// firstSample is the share of the mail with which a policy begins under RFC 7489, in percent.
const firstSample = 10

// rollout leads from monitoring to the requested record: one level at a time, each tested first. The last step is that
// record.
func (g *generation) rollout() []RolloutStep {
	top := max(g.req.Policy.Level(), g.req.SubdomainPolicy.Level(), g.req.NonexistentSubdomainPolicy.Level())
	var steps []RolloutStep
	add := func(s stage, days int, goal string) {
		steps = append(steps, RolloutStep{len(steps) + 1, s.policies.Domain, g.record(s), days, goal})
	}
	if top > 0 {
		add(g.stageUpTo(0, stage{percentage: 100}), monitorDays, g.monitoring())
		if s := g.trialStage(); g.record(s) != g.record(g.target) {
			add(s, sampleDays, "Continue if the reports show no legitimate mail among what fails DMARC, and nobody misses mail.")
		}
	}
	if full := g.stageUpTo(1, stage{percentage: 100}); top > 1 {
		add(full, enforceDays, "Continue if all legitimate mail passes DMARC for the whole time, by DKIM and not by SPF "+
			"alone, also what is forwarded and what is written to mailing lists.")
	}
	add(g.target, 0, g.arrival(top))
	return steps
}

// stageUpTo lowers the policies of the target to a level, without policies that were not requested.
func (g *generation) stageUpTo(level int, s stage) stage {
	limit := func(p policy.Policy) policy.Policy {
		if p.Level() > level {
			return policy.Policy(p.Values()[level])
		}
		return p
	}
	t := g.target.policies
	s.policies = policy.Policies{
		Domain: limit(t.Domain), Subdomain: limit(t.Subdomain), Nonexistent: limit(t.Nonexistent),
	}
	return s
}

// trialStage returns the stage in which quarantine is tried out.
func (g *generation) trialStage() stage {
	if g.req.Style == StyleRFC7489 {
		return g.stageUpTo(1, stage{percentage: min(firstSample, g.target.percentage)})
	}
	return g.stageUpTo(1, stage{testing: true, percentage: policy.DefaultPercentage})
}

func (g *generation) monitoring() string {
	goal := "Continue if every service that sends for the domain appears in the aggregate reports, and passes DMARC " +
		"by an aligned DKIM signature or an aligned SPF domain."
	if len(g.rua) == 0 {
		return "Add an address for aggregate reports (rua) before: without it you cannot see whether to continue. " + goal
	}
	return goal
}

func (g *generation) arrival(top int) string {
	switch {
	case top == 0 && len(g.rua) == 0:
		return "Add an address for aggregate reports (rua): without reports and without a policy the record has no effect."
	case top == 0:
		return "The reports show who sends mail in the name of the domain. Stay here until all legitimate mail passes DMARC."
	case g.target.testing:
		return "This is the record that was asked for. Remove t=y once the reports stay clean: then the policy is applied " +
			"in full."
	case g.target.percentage < policy.DefaultPercentage:
		return "This is the record that was asked for. Remove pct once the reports stay clean: then the policy is applied " +
			"in full."
	default:
		return "This is the record that was asked for. Keep reading the reports: new services have to be set up before " +
			"they send."
	}
}
