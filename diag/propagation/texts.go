package propagation

import "github.com/diagkit/diagkit/diag"

// texts are the headlines of a check. The progress in numbers is in the summary.
var texts = diag.Texts{
	"valid": {
		Headline: "All resolvers that answered agree",
		Sub:      "The records have propagated. Nothing needs to be done.",
	},
	"warning": {
		Headline: "Not all resolvers agree yet",
		Sub:      "Some still have other records. The findings say which, and when their caches expire.",
	},
	"invalid": {
		Headline: "The records cannot propagate as they are",
		Sub:      "The cause is in the zone, not in the resolvers. Fix the first finding.",
	},
	"unknown": {
		Headline: "Propagation could not be determined",
		Sub:      "Too few servers answered. Try again in a few minutes.",
	},
	"propagation.authority.unknown": {
		Headline: "No authoritative server answered",
		Sub:      "Resolvers can only repeat what they cached. Fix the zone's name servers or its delegation.",
	},
	"propagation.authority.inconsistent": {
		Headline: "The authoritative servers disagree",
		Sub:      "What a resolver gets depends on which server it asks. Bring all servers to the same version.",
	},
	"propagation.authority.lame": {
		Headline: "A listed name server is lame",
		Sub:      "Resolvers that ask it get no answer and try another. Fix the server or remove its NS record.",
	},
	"propagation.authority.silent": {
		Headline: "A name server did not respond",
		Sub:      "Whether it publishes the same records is not known. Check that it can be reached.",
	},
	"propagation.expected.unpublished": {
		Headline: "The expected records are not published",
		Sub:      "The authoritative servers answer something else, so waiting does not help. Correct the zone.",
	},
	"propagation.resolver.none": {
		Headline: "No resolver gave an answer",
		Sub:      "Propagation is not known. Try again later, or query other resolvers.",
	},
	"propagation.resolver.few": {
		Headline: "Most resolvers did not answer, so propagation is not known",
		Sub:      "The few that answered do not speak for the others. Try again later, or query other resolvers.",
	},
	"propagation.name.nxdomain": {
		Headline: "The name does not exist, as all resolvers that answered say",
		Sub:      "If there should be records, check the spelling and add them to the zone.",
	},
	"propagation.records.nodata": {
		Headline: "No record of this type, as all resolvers that answered say",
		Sub:      "If there should be records of the type, add them to the zone.",
	},
	"propagation.resolver.bogus": {
		Headline: "Resolvers that validate DNSSEC reject the zone",
		Sub:      "For their users the name does not resolve. Run dnssec/check to find the broken link.",
	},
	"propagation.resolver.stale": {
		Headline: "Resolvers still have other records",
		Sub:      "The findings say when their cached answers expire.",
	},
	"propagation.resolver.missing": {
		Headline: "Resolvers do not have the records yet",
		Sub:      "They cached that there are none. The findings say when that expires.",
	},
	"propagation.authority.serial": {
		Headline: "The name servers have different versions of the zone",
		Sub:      "The records asked for are the same on all. Check that the secondaries can transfer the zone.",
	},
}
