package dmarcbis

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

var afterUsable = []diag.Code{"dmarcbis.record.unknown", "dmarcbis.record.unusable"}

// obsoleteRules are about what RFC 9989 removed.
var obsoleteRules = rule.Rules[*evidence]{{
	Code: "dmarcbis.obsolete.pct", Severity: diag.Warning, Weight: 25, Ref: refPercent,
	Title: "pct is obsolete: RFC 9989 applies the DMARC policy to all mail", Requirement: "No pct holds the policy back",
	Advice: "Remove pct once the aggregate reports show that all legitimate mail passes; until then publish the policy " +
		"one level lower.",
	Fails: func(e *evidence) rule.Failures {
		r := e.record()
		failures := rule.FailIf(sampled(r) && !hasTestingFlag(r),
			"Receivers of RFC 9989 ignore pct=%d in the record of %s and "+
				"apply the policy to all mail.", r.Percentage, e.Tree.PolicyDomain()).About("pct")
		return failures.Suggesting(e.migrated())
	},
}, {
	Code: "dmarcbis.obsolete.tag", Severity: diag.Info, Weight: 3, Ref: refRemoved,
	Title: "Obsolete tag without effect", Requirement: "The record has no obsolete tag without effect",
	Advice: "Remove the tag: receivers of RFC 9989 ignore it.",
	Partly: func(*evidence) float64 { return 1 }, Fails: func(e *evidence) rule.Failures {
		failures := rule.FailEach(e.obsolete, func(o ObsoleteTag) rule.Failures {
			effective := o.Tag == "pct" && sampled(e.record()) && !hasTestingFlag(e.record())
			return rule.FailIf(!effective && !isAddress(o.Tag), "%s=%s: %s", o.Tag, phrase.Quote(o.Value), o.Effect).About(o.Tag)
		})
		return failures.Suggesting(e.harmless())
	},
}, {
	Code: "dmarcbis.obsolete.size", Severity: diag.Info, Weight: 2, Ref: refSyntax,
	Title: "Obsolete size limit of a report address", Requirement: "No report address has a size limit",
	Advice: "Remove the exclamation mark and the size: receivers of RFC 9989 ignore it.",
	Partly: func(*evidence) float64 { return 1 }, Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.obsolete, func(o ObsoleteTag) rule.Failures {
			return rule.FailIf(isAddress(o.Tag), "The address %q of %s has a size limit.", phrase.Quote(o.Value),
				o.Tag).About(o.Tag)
		}).Suggesting(e.harmless())
	},
}}

func isAddress(tag string) bool { return tag == "rua" || tag == "ruf" }

// harmless is the migrated record, if no receiver treats mail differently by it.
func (e *evidence) harmless() string {
	c := e.conversion()
	if c == nil || !c.changed() || c.behavior != Same || changed(c.legacy) != Same {
		return ""
	}
	return c.migrated
}

var suffixRules = rule.Rules[*evidence]{{
	Code: "dmarcbis.psd.missing", Severity: diag.Warning, Weight: 5, Category: factorSuffix, DependsOn: afterRecord,
	Ref:   "RFC 9989 section 5.2",
	Title: "DMARC record of a public suffix without psd=y", Requirement: "The record of a public suffix declares psd=y",
	Advice: "Add psd=y if unrelated organizations register domains here: without it they all count as one " +
		"organization, whose domains may send mail in each other's name.",
	When: hasRecord, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(undeclared(e), "%s is a public suffix by the list, and its record has psd=%s.",
			e.Tree.PolicyDomain(), e.record().PSD).About("psd")
	},
}, {
	Code: "dmarcbis.psd.wrong", Severity: diag.Warning, Weight: 5, Category: factorSuffix,
	Reads: []rule.Source{fromRecord, fromDeclarations}, HoldsWhenUnanswered: true,
	DependsOn: afterRecord, Ref: "RFC 9989 section 4.7",
	Title: "psd=y at a domain that is not a known public suffix", Requirement: "Only public suffixes declare psd=y",
	Advice: "Remove psd=y unless unrelated organizations register domains here: with it, each domain below is an " +
		"organization of its own, and not aligned with this one.",
	When: hasRecord, Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.Walk.Steps, func(s policy.Step) rule.Failures {
			return rule.FailIf(s.PSD() == policy.IsPSD && !policy.IsPublicSuffix(s.Domain),
				"The record of %s declares psd=y, and the list of public suffixes does not have the domain.",
				s.Domain).About(s.Name)
		})
	},
}}

// legacyRules is the code prefix of rules that concern receivers of RFC 7489 alone: a record that fails them is ready
// for RFC 9989 all the same.
const legacyRules = "dmarcbis.legacy."

// legacyRulesTable are about receivers of RFC 7489.
var legacyRulesTable = rule.Rules[*evidence]{{
	Code: "dmarcbis.legacy.policy", Severity: diag.Warning, Weight: 5, Reads: []rule.Source{fromRecord, fromList},
	Ref:   "RFC 7489 section 6.6.3",
	Title: "Receivers of RFC 7489 find another DMARC record", Requirement: "Receivers of RFC 7489 find the same record",
	Advice: "Publish a record at the domain itself: it is the first that receivers of both standards query.",
	Fails: func(e *evidence) rule.Failures {
		walk, list := e.Tree.PolicyDomain(), e.List.PolicyDomain()
		if walk == list {
			return nil
		}
		if list == "" {
			return rule.Fail("Under RFC 9989 the record of %s applies to mail from %s; under RFC 7489 none "+
				"does.", walk,
				e.domain)
		}
		return rule.Fail("Under RFC 9989 the record of %s applies to mail from %s; under RFC 7489 that of %s "+
			"does.", walk,
			e.domain, list)
	},
}, {
	Code: "dmarcbis.legacy.organizational", Severity: diag.Warning, Weight: 5,
	Reads: []rule.Source{fromRecord, fromOrganizational}, Ref: "RFC 9989 appendix C.3",
	Title:       "Tree walk and public suffix list find different organizations",
	Requirement: "Tree walk and public suffix list find the same organizational domain",
	Advice: "Publish a record for each domain that sends mail, and sign with exactly that domain: then neither policy " +
		"nor alignment depends on the organizational domain.",
	Fails: func(e *evidence) rule.Failures {
		agree, _ := e.Agree()
		return rule.FailIf(!agree, "%s", e.disagreement())
	},
}, {
	Code: "dmarcbis.legacy.t", Severity: diag.Warning, Weight: 5, Ref: refPercent,
	Title:       "DMARC policy is in test mode (t=y) under RFC 9989",
	Requirement: "The policy is not tested by t=y, which receivers of RFC 7489 do not know",
	Advice: "Remove t=y once the aggregate reports show that all legitimate mail passes. Until then the suggested " +
		"record asks receivers of both standards for the lower policy.",
	Fails: func(e *evidence) rule.Failures {
		newer, older := e.newer.Applied, e.older.Applied
		weaker := newer.Domain.Level() < older.Domain.Level() || newer.Subdomain.Level() < older.Subdomain.Level()
		if !e.record().Testing || !weaker {
			return nil
		}
		failures := rule.Fail("With t=y receivers of RFC 9989 apply %s; those of RFC 7489 ignore t and apply %s.",
			policies(newer), policies(older)).About("t")
		if c := e.conversion(); c != nil {
			return failures.Suggesting(c.lowered())
		}
		return failures
	},
}, {
	Code: "dmarcbis.legacy.order", Severity: diag.Warning, Weight: 5, Ref: refOrder,
	Title: "p is not the second tag of the DMARC record", Requirement: "p directly follows the version",
	Advice: "Move p directly after the version: receivers that follow RFC 7489 to the letter do not find it " +
		"elsewhere.",
	When: func(e *evidence) bool { return hasRecord(e) && e.record().Policy != "" },
	Fails: func(e *evidence) rule.Failures {
		tags := e.record().List.Tags
		return rule.FailIf(!e.record().PolicyFirst(), "The tag after the version is "+
			"%s.", tags[min(1, len(tags)-1)].Name).
			About("p").Suggesting(e.migrated())
	},
}}

func policies(p policy.Policies) string {
	if p.Domain == p.Subdomain && p.Subdomain == p.Nonexistent {
		return string(p.Domain)
	}
	list := []string{fmt.Sprintf("%s to the domain", p.Domain), fmt.Sprintf("%s to subdomains", p.Subdomain)}
	if p.Subdomain != p.Nonexistent {
		list = append(list, fmt.Sprintf("%s to those that do not exist", p.Nonexistent))
	}
	return strings.Join(list, ", ")
}
