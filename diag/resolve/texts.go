package resolve

import "github.com/diagkit/diagkit/diag"

// texts are the headlines of a lookup.
var texts = diag.Texts{
	"valid": {
		Headline: "Records found",
		Sub:      "The server answered with the records below.",
	},
	"warning": {
		Headline: "Records found, with warnings",
		Sub:      "The server answered. The findings say what should be better.",
	},
	"invalid": {
		Headline: "The name does not resolve",
		Sub:      "Clients get no usable answer. Fix the first finding.",
	},
	"unknown": {
		Headline: "The answer could not be determined",
		Sub:      "The server did not give an answer to rely on. Try another resolver, or again in a few minutes.",
	},
	"resolve.rcode.servfail": {
		Headline: "The resolver answered SERVFAIL",
		Sub:      "It could not resolve the name. Check the zone's name servers, or try again in a few minutes.",
	},
	"resolve.rcode.refused": {
		Headline: "The server refused the query",
		Sub:      "Nothing was learned about the name. Ask another resolver.",
	},
	"resolve.rcode.other": {
		Headline: "The server could not process the query",
		Sub:      "Nothing was learned about the name. Ask another resolver.",
	},
	"resolve.dnssec.bogus": {
		Headline: "The answer fails DNSSEC validation",
		Sub:      "Resolvers that validate treat the name as unreachable. Run dnssec/check to find the broken link.",
	},
	"resolve.rcode.nxdomain": {
		Headline: "The name does not exist",
		Sub:      "Neither this name nor any name below it has records. Check the spelling or add the records.",
	},
	"resolve.records.nodata": {
		Headline: "The name exists, but has no record of this type",
		Sub:      "That is an answer, not a failure: other types may exist at the name.",
	},
	"resolve.cname.dangling": {
		Headline: "The CNAME points to a name that does not exist",
		Sub:      "Whoever registers the target takes over this name. Remove or correct the CNAME record.",
	},
	"resolve.cname.loop": {
		Headline: "The CNAME records form a loop",
		Sub:      "The name cannot be resolved. Point one of the CNAME records to a name that is not an alias.",
	},
	"resolve.cname.unfollowed": {
		Headline: "The CNAME chain was not followed to its end",
		Sub:      "Whether the last target has records is not known. Resolve it by itself.",
	},
	"resolve.reply.truncated": {
		Headline: "The reply is truncated",
		Sub:      "Records may be missing from it. Allow DNS over TCP to the server and ask again.",
	},
	"resolve.reply.filtered": {
		Headline: "The resolver filters the name",
		Sub:      "What the zone holds is not known from this answer. Ask another resolver or the authoritative servers.",
	},
	"resolve.cname.long": {
		Headline: "The CNAME chain is too long for some resolvers",
		Sub:      "They give up before its end. Point the first CNAME record to the last name of the chain.",
	},
	"resolve.walk.unreachable": {
		Headline: "No authoritative server answered",
		Sub:      "Nothing is known from the zone itself. Check its name servers and the delegation.",
	},
	"resolve.walk.silent": {
		Headline: "A name server on the way did not respond",
		Sub:      "Others answered in its place. Check that it runs and can be reached.",
	},
	"resolve.walk.lame": {
		Headline: "A name server on the way is lame",
		Sub:      "A listed server does not serve the zone, which slows down and sometimes breaks resolution.",
	},
	"resolve.address.private": {
		Headline: "The name resolves to an address that is not public",
		Sub:      "Hosts on the Internet cannot reach it. Publish such addresses in an internal zone only.",
	},
}

// reverseTexts are the headlines of a reverse lookup.
var reverseTexts = diag.Texts{
	"valid": {
		Headline: "Reverse DNS is set up",
		Sub:      "The address has a PTR record. Nothing needs to be done.",
	},
	"warning": {
		Headline: "Reverse DNS is set up, with warnings",
		Sub:      "Receivers of mail may distrust the address. The findings say what to change.",
	},
	"missing": {
		Headline: "The address has no PTR record",
		Sub:      "Many receivers reject mail from such addresses. Ask the provider to set one.",
	},
	"unknown": {
		Headline: "Reverse DNS could not be determined",
		Sub:      "The name servers did not answer. Try again in a few minutes.",
	},
	"reverse.ptr.unanswered": {
		Headline: "The reverse zone does not answer",
		Sub:      "Whether the address has a host name is not known. Its holder has to fix the zone.",
	},
	"reverse.ptr.many": {
		Headline: "The address has too many PTR records",
		Sub:      "Receivers of mail look at the first few only. Keep the one that the host uses in HELO.",
	},
	"reverse.hostname.invalid": {
		Headline: "A PTR record holds an invalid host name",
		Sub:      "Receivers of mail may distrust the address. Correct the name in the reverse zone.",
	},
	"reverse.forward.unanswered": {
		Headline: "A PTR record could not be confirmed",
		Sub:      "The zone of its host name did not answer, so whether that resolves to the address is not known.",
	},
	"reverse.forward.unconfirmed": {
		Headline: "Reverse DNS is not forward-confirmed",
		Sub:      "The host name does not resolve to the address, so receivers of mail ignore it. Make both agree.",
	},
}
