package zonecheck

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words: of each fault its title and its advice, unless it has words
// of its own here.
var texts = withFaults(rules, diag.Texts{
	"valid": {
		Headline: "The domain is delegated and served without a fault",
		Sub:      "All name servers that were asked answer, and agree. The findings tell what is worth knowing.",
	},
	"warning": {
		Headline: "The DNS of the domain works, with room for improvement",
		Sub:      "Resolvers find what they look for. The findings say what makes the domain slower or less robust.",
	},
	"invalid": {
		Headline: "The DNS of the domain is broken in part",
		Sub:      "Some resolvers or some queries fail. Fix the first finding first.",
	},
	"missing": {
		Headline: "There is no zone to examine",
		Sub:      "Check the spelling, and whether the domain is delegated.",
	},
	"unknown": {
		Headline: "The DNS of the domain could not be examined in full",
		Sub:      "Some servers did not answer, so there is no score. The findings say what is missing.",
	},
	"zone.parent.unknown": {
		Headline: "The parent zone did not say who serves the domain",
		Sub:      "Without the delegation there is no score. Repeat the audit in a few minutes, or with another resolver.",
	},
	"zone.parent.missing": {
		Headline: "The domain does not exist",
		Sub:      "Check the spelling. If it is right, register the domain, renew it, or ask the registrar.",
	},
	"zone.parent.undelegated": {
		Headline: "The name is part of its parent zone, not a zone of its own",
		Sub:      "It has no name servers to examine. Audit the parent zone instead.",
	},
	"zone.delegation.cyclic": {
		Headline: "The domain cannot be resolved: its delegation depends on itself",
		Sub:      "No resolver finds a name server. Give one a name with glue, or a name in a domain that works.",
	},
	"zone.delegation.lame": {
		Headline: "The domain cannot be resolved: no name server serves the zone",
		Sub: "The name servers answer and do not have the zone. Configure it there, or delegate the domain to the servers " +
			"that have it.",
	},
	"zone.delegation.unreachable": {
		Headline: "The domain cannot be resolved: no name server can be reached",
		Sub:      "Start the name servers and open port 53 for UDP and TCP.",
	},
	"zone.delegation.silent": {
		Headline: "None of the name servers answered",
		Sub:      "They may be down, or out of reach from here only. Repeat the audit from another network.",
	},
	"zone.ns.unreachable": {
		Headline: "A name server of the domain does not answer",
		Sub:      "Resolvers ask the others and lose time. Check the server and the firewall in front of it.",
	},
	"zone.glue.none": {
		Headline: "The domain cannot be resolved: its name servers have no glue",
		Sub:      "Resolvers have no address to begin with. Register the addresses of the name servers at the registrar.",
	},
	"zone.ns.recursion": {
		Headline: "A name server of the domain is an open resolver",
		Sub:      "Attackers use it against others. Disable recursion, or allow it to your own networks only.",
	},
	"zone.dnssec.unsigned": {
		Headline: "Validating resolvers reject the domain: it is no longer signed",
		Sub:      "The parent zone still has DS records. Remove them at the registrar, or sign the zone again.",
	},
	"zone.dnssec.ds.mismatch": {
		Headline: "Validating resolvers reject the domain: no DS record matches",
		Sub:      "Replace the DS records at the registrar with those of the present keys now.",
	},
	"zone.dnssec.signature.expired": {
		Headline: "Signatures of the domain have expired",
		Sub:      "Validating resolvers reject what they cover. Sign the zone again now.",
	},
	"zone.dnssec.signature.invalid": {
		Headline: "Signatures of the domain are invalid",
		Sub:      "Validating resolvers reject what they cover. Sign the zone again now.",
	},
})

// withFaults adds the title and the advice of each rule whose failure is more than worth knowing.
func withFaults(rules diag.Rules[*evidence], texts diag.Texts) diag.Texts {
	for _, r := range rules {
		if _, ok := texts[string(r.Code)]; !ok && r.Severity > diag.Info {
			texts[string(r.Code)] = diag.Text{Headline: r.Title, Sub: r.Advice}
		}
	}
	return texts
}
