package dmarc

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// policyRules concern the requested policies. The weights give reject 40 points, quarantine 28.
var policyRules = rule.Rules[*evidence]{{
	Code: "dmarc.policy.none", Severity: diag.Warning, Weight: 28, Category: factorPolicy, Ref: "RFC 9989 section 5.1.7",
	Title: "DMARC policy is none: forged mail is delivered", Requirement: "The policy is enforced (quarantine or reject)",
	Advice: "Read the aggregate reports for some weeks, and set up SPF and DKIM for every service of yours that fails, " +
		"subdomains included. When all of them pass, publish p=quarantine.",
	When: usable, Fails: func(e *evidence) rule.Failures {
		if e.requested().Level() > 0 {
			return nil
		}
		f := rule.Fail("%s asks receivers to deliver mail from %s that fails DMARC as if nothing were wrong.",
			e.statement(), e.subject())
		switch {
		case e.reading.Assumed:
			f[0].Advice = "Correct the policy to p=none first, which changes nothing at receivers; raise it once the " +
				"aggregate reports show that all your senders pass."
			return f
		case e.unreported():
			f[0].Advice = "Let the aggregate reports arrive first: nobody receives any now. Raise the policy once they show " +
				"that all your senders pass."
			return f
		}
		if receivesNoMail(e) && !e.inherited() {
			f[0].Advice = "Check that nothing sends mail from the domain, which receives none; then publish p=reject."
		}
		return f
	},
}, {
	Code: "dmarc.policy.reject", Severity: diag.Info, Weight: 12, Category: factorPolicy, Ref: "RFC 9989 section 5.1.7",
	Title: "DMARC policy is not reject", Requirement: "The policy is reject",
	Advice: "Move on to p=reject once p=quarantine has been in force for a while and the reports show no mail of yours " +
		"that fails. Stay with quarantine if people of the domain write to mailing lists.",
	When: func(e *evidence) bool { return usable(e) && e.requested().Level() > 0 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.requested() != policy.Reject, "The policy for mail from %s is %s; reject is the strictest.",
			e.subject(), e.requested())
	},
}}

var applicationRules = rule.Rules[*evidence]{{
	Code: "dmarc.policy.testing", Severity: diag.Warning, Weight: 5, Category: factorApplication,
	Ref:   "RFC 9989 section 4.7",
	Title: "DMARC policy is in test mode (t=y)", Requirement: "The policy is not in test mode (t=y)",
	Advice: "Remove t=y once the reports show that all your senders pass: until then receivers apply the policy one " +
		"level lower.",
	When: usable, Fails: func(e *evidence) rule.Failures {
		if !e.record.Testing {
			return nil
		}
		f := rule.Failures(nil)
		if p := e.requested(); p.Level() == 0 {
			f = rule.Fail("t=y has no effect on p=none.")
		} else {
			f = rule.Fail("With t=y receivers of RFC 9989 apply %s instead of %s; older ones do not know t and apply %s.",
				p.Lowered(), p, p)
		}
		if e.inTrial() {
			f = rule.Fail("With t=y receivers of RFC 9989 apply none instead of quarantine, and with pct=0 those of RFC 7489 " +
				"as well.")
		}
		t, _ := e.record.List.Tag("t")
		return at(f.About("t"), t)
	},
}, {
	Code: "dmarc.policy.sampled", Severity: diag.Warning, Weight: 5, Category: factorApplication,
	Ref:         "RFC 9989 appendix A.6",
	Title:       "DMARC policy is limited by pct, which RFC 9989 removed",
	Requirement: "The policy applies to all mail (no pct below 100)",
	Advice: "Remove pct once the aggregate reports show that all your senders pass; until then publish the policy one " +
		"level lower, as receivers of RFC 9989 ignore pct.",
	When: func(e *evidence) bool { return usable(e) && !e.inTrial() },
	Fails: func(e *evidence) rule.Failures {
		t, _ := e.record.List.Tag("pct")
		if e.record.Percentage < policy.DefaultPercentage && e.requested() == policy.None {
			return at(rule.Fail("pct=%d has no effect on a policy of none.", e.record.Percentage).About("pct"), t)
		}
		return at(rule.FailIf(e.record.Percentage < policy.DefaultPercentage, "With pct=%d receivers of RFC 7489 apply "+
			"%s to %d %% of failing mail and %s to the rest; those of RFC 9989 apply it to all.", e.record.Percentage,
			e.requested(), e.record.Percentage, e.requested().Lowered()).About("pct"), t)
	},
	Partly: func(e *evidence) float64 { return float64(e.record.Percentage) / policy.DefaultPercentage },
}}

func (e *evidence) unreported() bool {
	refused := func(d destination) bool { yes, known := d.consent.Given(); return d.external && known && !yes }
	return len(e.destinations) > 0 && !slices.ContainsFunc(e.destinations, func(d destination) bool { return !refused(d) })
}

// inTrial reports whether the record requests a policy that no receiver applies yet.
func (e *evidence) inTrial() bool {
	return e.record.Testing && e.record.Percentage == 0 && e.requested() == policy.Quarantine
}

func (e *evidence) requested() policy.Policy { return e.applied(e.reading.Requested) }

func (e *evidence) subject() string {
	if e.domain.IsZero() {
		return "the domain"
	}
	return e.domain.String()
}

func (e *evidence) statement() string {
	switch r := e.record; {
	case e.reading.Assumed:
		return "The assumed p=none"
	case e.inherited() && r.SubdomainPolicy != "":
		return tagText("sp", r.SubdomainPolicy) + " of " + e.location
	case e.inherited():
		return tagText("p", r.Policy) + " of " + e.location
	default:
		return tagText("p", r.Policy)
	}
}

// organizational reports whether sp and np of the record have an effect, as far as is known: it is not that of a
// domain below an organizational domain.
func (e *evidence) organizational() bool {
	switch {
	case e.record.PSD != policy.Undeclared:
		return true
	case !e.offline && e.inherited():
		return true
	case !e.offline:
		return e.discovery.Tree.Organizational == e.location
	default:
		return e.location == "" || policy.PublicSuffixOrganizational(e.location) == e.location
	}
}

// enforced reports whether mail of the domain of the record is protected, and subdomains follow the record.
func enforced(e *evidence) bool {
	return usable(e) && !e.reading.Assumed && e.organizational() && e.record.Policy.Level() > 0
}

var subdomainRules = rule.Rules[*evidence]{{
	Code: "dmarc.subdomain.weaker", Severity: diag.Warning, Weight: 10, Category: factorSubdomains,
	Ref:   "RFC 9989 section 4.7",
	Title: "DMARC policy for subdomains (sp) is weaker than p", Requirement: "Subdomains are protected as the domain is",
	Advice: "Check in the reports that mail from subdomains passes; then raise or remove sp, so that subdomains follow " +
		"p. Attackers use the subdomain that nobody protects.",
	When: enforced, Fails: func(e *evidence) rule.Failures {
		p := e.reading.Requested
		t, _ := e.record.List.Tag("sp")
		return at(rule.FailIf(p.Subdomain.Level() < p.Domain.Level(),
			"sp=%s leaves mail that forges a subdomain with less protection than p=%s gives the domain.", p.Subdomain,
			p.Domain).
			About("sp"), t)
	},
	Partly: func(e *evidence) float64 { return float64(e.reading.Requested.Subdomain.Level()) / 2 },
}, {
	Code: "dmarc.subdomain.nonexistent.weaker", Severity: diag.Warning, Weight: 5, Category: factorSubdomains,
	Ref:         "RFC 9989 section 4.7",
	Title:       "DMARC policy for nonexistent subdomains (np) is weaker than sp",
	Requirement: "Nonexistent subdomains are protected as existing ones are",
	Advice:      "Raise np, after checking in the reports that nothing of yours sends from names that are not in the DNS.",
	When:        enforced, Fails: func(e *evidence) rule.Failures {
		p := e.reading.Requested
		t, _ := e.record.List.Tag("np")
		return at(rule.FailIf(p.Nonexistent.Level() < p.Subdomain.Level(),
			"np=%s leaves names that do not exist with less protection than the %s of other subdomains.",
			p.Nonexistent, p.Subdomain).About("np"), t)
	},
}, {
	Code: "dmarc.subdomain.ignored", Severity: diag.Info, Ref: "RFC 9989 section 4.7",
	Title:       "sp or np has no effect below an organizational domain",
	Requirement: "sp and np are in the record of an organizational domain",
	Advice: "Remove the tags, or add psd=n if the domain is to be an organizational domain of its own: subdomains " +
		"follow the record of the organizational domain.",
	When: usable, Fails: func(e *evidence) rule.Failures {
		if e.organizational() {
			return nil
		}
		return rule.FailEach([]string{"sp", "np"}, func(tag string) rule.Failures {
			t, ok := e.record.List.Tag(tag)
			return at(rule.FailIf(ok, "%s is not an organizational domain, so that receivers ignore %s=%s in its record.",
				e.location, tag, phrase.Quote(t.Value)).About(tag), t)
		})
	},
}, {
	Code: "dmarc.psd.suffix", Severity: diag.Warning, Ref: "RFC 9989 section 4.7",
	Title:       "DMARC record has psd=y, but the domain is not a public suffix",
	Requirement: "psd=y is used only at a public suffix",
	Advice: "Remove psd=y unless others register names below the domain: it makes every subdomain an organization of " +
		"its own, and mail from them no longer aligns with the domain.",
	When: func(e *evidence) bool { return tagRules.HasOne(e) && e.location != "" },
	Fails: func(e *evidence) rule.Failures {
		t, _ := e.record.List.Tag("psd")
		registered := policy.PublicSuffixOrganizational(e.location) == e.location && strings.Contains(e.location, ".") &&
			policy.PublicSuffixOrganizational("x."+e.location) == e.location
		below := policy.PublicSuffixOrganizational(e.location) != e.location
		return at(rule.FailIf(e.record.PSD == policy.IsPSD && (registered || below),
			"%s is not on the list of public suffixes.", e.location).About("psd"), t)
	},
}}

var alignmentRules = rule.Rules[*evidence]{{
	Code: "dmarc.alignment.value", Severity: diag.Error, Weight: 5, Category: factorAlignment,
	Ref:   "RFC 9989 section 4.7",
	Title: "Invalid DMARC alignment (adkim or aspf)", Requirement: "adkim and aspf are r or s",
	Advice: "Write r or s, or remove the tag: until then receivers use relaxed alignment. Before you choose s, check " +
		"in the reports that no sender relies on a subdomain.",
	When: usable, Fails: tagRules.Faults(policy.BadAlignment),
}}
