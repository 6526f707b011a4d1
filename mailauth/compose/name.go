package compose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dane"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/mtasts"
	"github.com/diagkit/diagkit/mailauth/nameuse"
	"github.com/diagkit/diagkit/mailauth/smtpcheck"
)

// Facts are the facts about a name apart from the parts that [AskDomain] starts; nil and zero are unknown.
type Facts struct {
	Route  reception.Route
	SMTP   *Part[smtpcheck.Report]
	MTASTS *Part[mtasts.Report]
	DANE   *Part[dane.Report]
	DNSSEC *Part[dnssec.Report]
}

// Name decides what the domain is and what it is used for, once [Domain.Conclude] has been called.
func (d *Domain) Name(domain diag.Domain, u Facts) nameuse.Name {
	e := nameuse.Evidence{
		Name: domain.String(), Special: isSpecial(domain), Suffix: policy.IsPublicSuffix(domain.String()), Route: u.Route,
	}
	if r := d.SPF.Result; r != nil {
		e.SPF, e.SPFBroken = r.Passes(), r.Broken()
		if d.SPF.Known() {
			e.SPFRecord = nameuse.Know(r.Found)
		}
		if len(r.CNAMEChain) > 0 {
			e.AliasOf = strings.TrimSuffix(r.CNAMEChain[0], ".")
		}
	}
	d.keyEvidence(&e)
	// Without any record the tree walk ends where it began (RFC 9989 section 4.10), which says nothing about the name.
	e.Organization = policy.PublicSuffixOrganizational(domain.String())
	if r := d.DMARC.Result; r != nil {
		if r.Location != "" {
			e.Organization = cmp.Or(r.OrganizationalDomain, e.Organization)
		}
		e.DMARC, e.DMARCFrom, e.DMARCSample = appliedPolicy(r)
	}
	if u.SMTP != nil && u.SMTP.Result != nil {
		e.Service = u.SMTP.Result.Service()
	}
	if u.MTASTS != nil && u.MTASTS.Result != nil {
		if mode, known := u.MTASTS.Result.InForce(); known {
			e.MTASTS = nameuse.Mode(mode)
		}
	}
	if u.DANE != nil && u.DANE.Result != nil && u.DANE.Known() {
		e.DANE = nameuse.Know(u.DANE.Result.Summary.ProtectedCount > 0)
	}
	if u.DNSSEC != nil && u.DNSSEC.Result != nil {
		e.Cut = slices.ContainsFunc(u.DNSSEC.Result.Chain, func(z dnssec.Zone) bool { return z.Zone == domain.String() })
	}
	return nameuse.Of(e)
}

// specialNames are the suffixes of names that cannot be registered in the DNS: RFC 6761, RFC 6762, RFC 7686, RFC 8375,
// RFC 9476, and the choice of ICANN for private use. Those for documentation and tests (RFC 2606) are left out: they
// are looked up on purpose.
var specialNames = []string{"localhost", "local", "invalid", "onion", "alt", "internal", "home.arpa"}

func isSpecial(d diag.Domain) bool {
	return slices.ContainsFunc(specialNames, func(s string) bool {
		return d.String() == s || strings.HasSuffix(d.String(), "."+s)
	})
}

// openKeys are the faults of a key with which strangers can sign.
var openKeys = []diag.Code{"dkim.key.private", "dkim.key.factor"}

func (d *Domain) keyEvidence(e *nameuse.Evidence) {
	none := true
	e.Key = nameuse.No
	for _, k := range d.DKIM {
		switch {
		case k.Works():
			e.Key = nameuse.Yes
		case !k.Known() && !k.answered && e.Key == nameuse.No:
			e.Key = nameuse.Unknown
		}
		none = none && slices.ContainsFunc(k.Findings, func(f diag.Finding) bool { return f.Code == "check.dkim.none" })
		e.KeyOpen = e.KeyOpen || slices.ContainsFunc(k.Findings, func(f diag.Finding) bool {
			return slices.Contains(openKeys, f.Code)
		})
	}
	e.NoKeys = none && len(d.DKIM) > 0
}

// appliedPolicy is the policy that receivers of either standard apply to mail of a name, the mildest if they differ,
// with the domain whose record that is and the share of mail, if that is below 100 percent.
func appliedPolicy(r *dmarc.LookupReport) (p nameuse.Policy, from string, sample int) {
	if len(r.Views) < len(policy.Standard("").Values()) {
		return nameuse.PolicyUnknown, "", 0
	}
	rank := []policy.Policy{policy.None, policy.Quarantine, policy.Reject}
	mildest := r.Views[0]
	for _, v := range r.Views[1:] {
		if slices.Index(rank, v.AppliedPolicy) < slices.Index(rank, mildest.AppliedPolicy) {
			mildest = v
		}
	}
	if !mildest.Usable {
		return nameuse.PolicyNone, "", 0
	}
	if mildest.Percentage < 100 {
		sample = mildest.Percentage
	}
	return nameuse.Policy(mildest.AppliedPolicy), mildest.PolicyDomain, sample
}

// nameKind is that of findings about the name as a whole.
var nameKind = Kind{Code: "name"}

// nameEvidence is the evidence for the rules about a name.
type nameEvidence struct {
	nameuse.Name
	domain diag.Domain
	route  reception.Route
}

// NameRules judges the uses of a name together, in a summary next to those of the parts.
func NameRules(domain diag.Domain, n nameuse.Name, route reception.Route) Summary {
	return Summarize(nameKind, Judge(nameRules, &nameEvidence{Name: n, domain: domain, route: route}, nameTexts))
}

// nullMX is the record by which a name receives no mail (RFC 7505 section 3).
const nullMX = "0 ."

var nameRules = rule.Rules[*nameEvidence]{{
	Code: "name.mail.refused", Severity: diag.Error, Ref: "RFC 9989 section 4.7",
	Title:       "The domain's own mail is refused by its DMARC policy",
	Requirement: "Mail of the domain can pass the DMARC policy in force",
	Advice: "List every host and service that sends mail of the domain in its SPF record, and sign its mail with DKIM: " +
		"while neither authenticates it, receivers refuse it by the domain's own policy.",
	When: func(n *nameEvidence) bool { return n.Receives.Answer == nameuse.Yes && n.Publishable() },
	Fails: func(n *nameEvidence) rule.Failures {
		own := n.OwnMailRefused()
		return rule.FailIf(own.Answer == nameuse.Yes, "%s", own.Because)
	},
}, {
	Code: "name.sender.unreachable", Severity: diag.Warning, Ref: "RFC 7505 section 4.2",
	Title:       "Sending domain receives no mail: receivers may refuse it",
	Requirement: "A domain that sends mail also receives mail",
	Advice: "Publish an MX record that leads to a mail server which takes bounces and replies, or send with a return " +
		"path and a From address in a domain that has one: receivers refuse senders to which no bounce can go.",
	When: func(n *nameEvidence) bool { return n.Sends.Answer == nameuse.Yes && n.Publishable() },
	Fails: func(n *nameEvidence) rule.Failures {
		return rule.FailIf(n.Receives.Answer == nameuse.No, "%s sends mail and receives none. %s Bounces and replies "+
			"cannot be delivered, and receivers refuse such senders (550 5.7.27).", n.domain, n.Receives.Because)
	},
}, {
	Code: "name.null_mx.missing", Severity: diag.Warning, Ref: "RFC 7505 section 3",
	Title:       "Domain without mail has no null MX",
	Requirement: "A name that receives no mail and has an address publishes a null MX",
	Advice: "Publish the null MX: without it, senders take the address of the name for its mail server and retry for " +
		"days before they give up.",
	When: func(n *nameEvidence) bool { return n.Unused() && n.Publishable() },
	Fails: func(n *nameEvidence) rule.Failures {
		if n.route != reception.RouteImplicit {
			return nil
		}
		return rule.Failures{{Detail: n.domain.String() + " receives no mail: " + lowerFirst(n.Receives.Because),
			Suggested: nullMX}}
	},
}, {
	Code: "name.policy.missing", Severity: diag.Warning, Ref: "RFC 9989 section 4.7",
	Title:       "Domain without mail has no DMARC policy",
	Requirement: "A domain without mail asks receivers to reject what claims to come from it",
	Advice:      "Publish p=reject: the domain sends no mail, so that all mail in its name is forged.",
	// Where the records alone show that there is no mail, the part about DMARC says the same.
	When: func(n *nameEvidence) bool {
		return n.Unused() && n.Kind == nameuse.Organization && n.route == reception.RouteImplicit
	},
	Fails: func(n *nameEvidence) rule.Failures {
		return rule.FailIf(n.InForce.DMARC == nameuse.PolicyNone && n.InForce.DMARCFrom == "",
			"%s sends no mail, and no DMARC "+
				"policy asks receivers to reject mail that claims to come from it.", n.domain).Suggesting("v=DMARC1; p=reject;")
	},
}, {
	Code: "name.alias", Severity: diag.Info, Ref: "RFC 1034 section 3.6.2",
	Title: "Name is an alias", Requirement: "Records can be published at the name",
	Fails: func(n *nameEvidence) rule.Failures {
		return rule.FailIf(n.Kind == nameuse.Alias, "%s is an alias of %s. Its records are those of %s, and nothing can be "+
			"published at the alias itself.", n.domain, n.AliasOf, n.AliasOf)
	},
}, {
	Code: "name.policy.inherited", Severity: diag.Info, Ref: "RFC 9989 section 4.10",
	Title: "Policy of the organization protects the name", Requirement: "The name has a policy of its own",
	When: func(n *nameEvidence) bool {
		return n.Kind != nameuse.Organization && n.InForce.DMARC != nameuse.PolicyUnknown
	},
	Fails: func(n *nameEvidence) rule.Failures {
		return rule.FailIf(n.Protected() && n.InForce.DMARCFrom != n.domain.String(),
			"%s inherits the policy p=%s of %s: mail "+
				"forged in its name is refused. It needs no record of its own for that.", n.domain, n.InForce.DMARC,
			n.InForce.DMARCFrom)
	},
}, {
	Code: "name.policy.organization", Severity: diag.Warning, Ref: "RFC 9989 section 4.7",
	Title:       "No policy of the organization protects the name",
	Requirement: "The policy of the organization makes receivers refuse mail forged in the name",
	Advice: "Publish a DMARC policy at the organizational domain, and raise it to quarantine or reject once its reports " +
		"show that all legitimate mail passes: it holds for every name below.",
	When: func(n *nameEvidence) bool {
		return n.Kind != nameuse.Organization && n.WithoutMail() && n.Organization != "" &&
			n.InForce.DMARC != nameuse.PolicyUnknown
	},
	Fails: func(n *nameEvidence) rule.Failures {
		return rule.FailIf(!n.InForce.DMARC.Enforced(), "Receivers deliver mail forged in the name %s: %s has no DMARC "+
			"policy that asks them to refuse it.", n.domain, n.Organization)
	},
}}

var nameTexts = rule.Texts{"valid": {Headline: "Name is used as its records say",
	Sub: "Its records show no fault."}}

// isUnneeded reports whether a finding requests a record that the name need not or cannot have: at an alias, or if the
// name has no mail of its own. The rules about the name cover what those need.
func (c *Composite) isUnneeded(f *finding) bool {
	n := &c.Name
	switch missing := f.part.rules[f.Code].State == diag.Missing; {
	case n.Kind == "":
		return false
	case n.Kind == nameuse.Alias || n.WithoutMail():
		organized := f.Code == "dmarc.record.missing.no_mail" && n.Kind == nameuse.Organization
		return missing && !organized || slices.Contains(keySearches, f.Code)
	case n.Receives.Answer == nameuse.Yes:
		return false
	case slices.Contains(keySearches, f.Code):
		return n.Sends.Answer != nameuse.Yes // there is no sign of mail
	}
	return c.Route == reception.RouteImplicit && f.part.rules[f.Code].State == diag.Missing &&
		slices.Contains([]Kind{MTASTS, DANE, TLSRPT}, f.part.kind) // which protect mail on its way to the name
}

// keySearches are the codes of findings about a search that found no key.
var keySearches = []diag.Code{"check.dkim.selector", "check.dkim.none"}
