package zonecheck

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {
		Headline: "The domain is delegated and served without a fault",
		Sub:      "All name servers answer, and agree. The findings tell what is worth knowing.",
	},
	"valid": {
		Headline: "The domain is delegated and served without a fault",
		Sub:      "All name servers answer, and agree. The findings tell what is worth knowing.",
	},
	"warning": {
		Headline: "The DNS of the domain works, and could be better",
		Sub:      "Resolvers find what they look for. The findings say what makes it slower or less robust.",
	},
	"invalid": {
		Headline: "The DNS of the domain is broken in part",
		Sub:      "Some resolvers, or some questions, fail. Mend the first finding first.",
	},
	"missing": {
		Headline: "The domain is not delegated",
		Sub:      "Nobody can resolve it. Check the spelling and the registration.",
	},
	"unknown": {
		Headline: "The DNS of the domain could not be examined in full",
		Sub:      "Servers did not answer. What did answer was examined; mend or try again for the rest.",
	},
	"zone.parent.unknown": {
		Headline: "The zone above did not say who serves the domain",
		Sub:      "Nothing can be said about the delegation until it does. Try again in a few minutes.",
	},
	"zone.parent.undelegated": {
		Headline: "The name is part of the zone above and no zone of its own",
		Sub:      "There are no name servers to examine. Audit the domain above it instead.",
	},
	"zone.delegation.cyclic": {
		Headline: "The domain cannot be resolved: its servers wait for each other",
		Sub:      "No resolver gets anywhere. Give one server a name with glue, or one in a domain that works.",
	},
	"zone.delegation.lame": {
		Headline: "The domain cannot be resolved: no server serves the zone",
		Sub:      "Servers answer, and do not have it. Set the zone up there, or name those that have it.",
	},
	"zone.delegation.silent": {
		Headline: "No name server of the domain answers",
		Sub:      "From here the domain cannot be resolved. Check the servers and port 53, then try again.",
	},
	"zone.ns.unreachable": {
		Headline: "A name server of the domain does not answer",
		Sub:      "Resolvers turn to the others and lose time. Check the server and the firewall before it.",
	},
	"zone.glue.none": {
		Headline: "The domain cannot be resolved: its servers have no glue",
		Sub:      "Resolvers have no address to begin with. Let the registrar enter those of the servers.",
	},
	"zone.dnssec.unsigned": {
		Headline: "The domain fails for all who validate: it is no longer signed",
		Sub:      "The zone above still has DS records. Let the registrar remove them, or sign the zone again.",
	},
	"zone.dnssec.ds.mismatch": {
		Headline: "The domain fails for all who validate: no DS record fits",
		Sub:      "Resolvers that check DNSSEC refuse the domain. Let the registrar replace the DS records now.",
	},
	"zone.dnssec.signature.expired": {
		Headline: "Signatures of the domain have expired",
		Sub:      "Resolvers that check DNSSEC refuse what they cover. Sign the zone again now.",
	},
	"zone.dnssec.signature.invalid": {
		Headline: "Signatures of the domain do not fit its records",
		Sub:      "Resolvers that check DNSSEC refuse what they cover. Sign the zone again now.",
	},
	"zone.ns.recursion": {
		Headline: "A name server of the domain is an open resolver",
		Sub:      "Attackers use it against others. Switch recursion off, or allow it to your own networks only.",
	},
}
