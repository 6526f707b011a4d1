package dnssec

import "github.com/diagkit/diagkit/diag"

// headline returns what a result says in words: where the chain does not hold or ends, the reason for
// that; else the gravest finding.
func headline(r *Result, v diag.Verdict) diag.Text {
	if r.Failure != nil {
		code := r.Failure.Code
		if code == codeDSMissing && r.island() {
			code = codeIsland
		}
		if text, ok := texts[string(code)]; ok {
			return text
		}
	}
	return diag.Text{Headline: v.Headline, Sub: v.Sub}
}

// texts are what results say in words.
var texts = diag.Texts{
	"valid": {
		Headline: "Secure: the answer validates up to the trust anchor",
		Sub:      "Every signature on the way is valid. Nothing needs to be done.",
	},
	"warning": {
		Headline: "Secure: the answer validates, but the signing needs attention",
		Sub:      "Resolvers accept the answer today. The first finding says what to change before it breaks.",
	},
	"invalid": {
		Headline: "Bogus: the answer fails DNSSEC validation",
		Sub:      "Validating resolvers answer SERVFAIL. Fix the first finding.",
	},
	"unknown": {
		Headline: "Indeterminate: the answer could not be validated",
		Sub:      "Nothing is known about the signatures. The findings say what was missing.",
	},

	"dnssec.answer.nxdomain": {
		Headline: "Secure: the name is proven not to exist",
		Sub:      "The zone denies it with signed records. Check the spelling, or add the name to the zone.",
	},
	"dnssec.answer.nodata": {
		Headline: "Secure: there are no records of this type, and that is proven",
		Sub:      "The zone denies them with signed records. Other types may exist at the name.",
	},
	"dnssec.names.bogus": {
		Headline: "Partly bogus: other records of the domain fail validation",
		Sub:      "What was asked for validates, but validating resolvers cannot reach the hosts in the findings.",
	},
	"dnssec.signature.urgent": {
		Headline: "Secure, but signatures expire within a day or so",
		Sub:      "When they do, validating resolvers answer SERVFAIL. Sign the zone again now.",
	},
	"dnssec.signature.expires_soon": {
		Headline: "Secure, but the signatures are overdue for renewal",
		Sub:      "The signer seems to have stopped. Check it before the signatures expire.",
	},
	"dnssec.signature.stray": {
		Headline: "Secure, but one of several signatures is invalid",
		Sub:      "Resolvers that pick it may fail. Sign the zone again and remove the invalid signature.",
	},
	"dnssec.algorithm.deprecated": {
		Headline: "Secure, but signed with an algorithm that must not be used",
		Sub:      "More and more resolvers treat such zones as unsigned. Roll over to ECDSAP256SHA256.",
	},
	"dnssec.key.weak": {
		Headline: "Secure, but a key is too short",
		Sub:      "Short RSA keys can be broken. Roll over to ECDSAP256SHA256 or to 2048 bits.",
	},
	string(codeDiffers): {
		Headline: "The zone validates, the resolver's answers do not",
		Sub:      "The domain is not at fault. Check the resolver: it strips DNSSEC, fails, or has stale records.",
	},

	string(codeAnchorNone): {
		Headline: "Indeterminate: no trust anchor covers the name",
		Sub:      "Validation has nowhere to begin. Configure a trust anchor for the root or the zone.",
	},
	string(codeAnchorMismatch): {
		Headline: "Bogus: no trust anchor matches the keys of its zone",
		Sub:      "Nothing below it can be validated. Check the trust anchors, then the resolver.",
	},
	string(codeStripped): {
		Headline: "Indeterminate: this resolver strips DNSSEC records",
		Sub:      "That says nothing about the domain. Check it through another resolver.",
	},
	string(codeAnswerUnavailable): {
		Headline: "Indeterminate: the name could not be looked up",
		Sub:      "The servers did not answer, or with an error. Check the name servers, or try again later.",
	},
	string(codeAnswerUnsignable): {
		Headline: "Indeterminate: records of this type are never signed",
		Sub:      "Ask for the records themselves; their signatures are validated with them.",
	},
	string(codeDSUnavailable): {
		Headline: "Indeterminate: the DS records could not be looked up",
		Sub:      "Whether the zone is signed is not known. Check the name servers of the parent zone.",
	},

	string(codeDSMissing): {
		Headline: "Insecure: the zone is not signed",
		Sub:      "Its answers cannot be validated, and resolve as ever. Sign the zone to protect them.",
	},
	codeIsland: {
		Headline: "Insecure: the zone is signed, but has no DS record",
		Sub:      "Nobody validates its signatures. Publish its DS record at the registrar once they are in order.",
	},
	string(codeDSUnsupported): {
		Headline: "Insecure: the DS records cannot be used by validators",
		Sub:      "The zone counts as unsigned. Sign it with a supported algorithm and publish its DS record.",
	},
	string(codeDenialIterations): {
		Headline: "Insecure: NSEC3 has too many iterations",
		Sub:      "Validators treat the proof as if the zone were unsigned. Set the iterations to 0.",
	},
	string(codeOptOut): {
		Headline: "Insecure: the name lies in an NSEC3 opt-out span",
		Sub:      "The zone does not say whether an unsigned delegation is there. That is usual for large zones.",
	},
	string(codeExempted): {
		Headline: "Insecure: validation is switched off for the zone",
		Sub:      "A negative trust anchor is configured. Remove it once the owner has fixed the zone.",
	},

	string(codeDSMismatch): {
		Headline: "Bogus: no DS record matches a key of the zone",
		Sub:      "Validating resolvers answer SERVFAIL for the whole zone. Replace the DS records at the registrar.",
	},
	string(codeDSRevoked): {
		Headline: "Bogus: the DS record matches a revoked key",
		Sub:      "Validating resolvers answer SERVFAIL for the whole zone. Publish the DS record of a key in use.",
	},
	string(codeDSWildcard): {
		Headline: "Bogus: the DS record comes from a wildcard",
		Sub:      "Validating resolvers answer SERVFAIL. Give the delegation a DS record of its own.",
	},
	string(codeKeysMissing): {
		Headline: "Bogus: there is a DS record, but the zone is not signed",
		Sub:      "Validating resolvers answer SERVFAIL for the whole zone. Remove the DS records or sign the zone.",
	},
	string(codeKeysUnavailable): {
		Headline: "The DNSKEY records could not be looked up",
		Sub:      "Without the keys nothing in the zone validates. Check that its name servers return them, over TCP too.",
	},
	string(codeKeyUnusable): {
		Headline: "Bogus: the signing key cannot be used",
		Sub:      "Validating resolvers answer SERVFAIL. Replace the key and publish the DS record of the new one.",
	},
	string(codeDelegation): {
		Headline: "Bogus: the absence of a DS record is not proven",
		Sub:      "Validating resolvers answer SERVFAIL. The parent zone, or a server of it, is at fault.",
	},
	string(codeSigMissing): {
		Headline: "Bogus: a signature is missing",
		Sub:      "Validating resolvers answer SERVFAIL. Sign the zone again and update all name servers.",
	},
	string(codeSigExpired): {
		Headline: "Bogus: a signature has expired",
		Sub:      "Validating resolvers answer SERVFAIL. Sign the zone again, and find out why the signer stopped.",
	},
	string(codeSigEarly): {
		Headline: "Bogus: a signature is not valid yet",
		Sub:      "Validating resolvers answer SERVFAIL until then. Correct the clock of the signer and sign again.",
	},
	string(codeSigPeriod): {
		Headline: "Bogus: a signature ends before it begins",
		Sub:      "Validating resolvers answer SERVFAIL. Correct the times of the signer and sign again.",
	},
	string(codeSigInvalid): {
		Headline: "Bogus: a signature does not match the records",
		Sub:      "Validating resolvers answer SERVFAIL. Sign the zone again and update all name servers.",
	},
	string(codeSigKey): {
		Headline: "Bogus: a signature is by a key that is not trusted",
		Sub:      "Validating resolvers answer SERVFAIL. Publish the key, or sign with one that is published.",
	},
	string(codeSigSigner): {
		Headline: "Bogus: a signature names another zone as its signer",
		Sub:      "Validating resolvers answer SERVFAIL. Sign the zone again under its own name.",
	},
	string(codeSigLabels): {
		Headline: "Bogus: a signature is for a name of another length",
		Sub:      "Validating resolvers answer SERVFAIL. Sign the zone again.",
	},
	string(codeSigUnsupported): {
		Headline: "Bogus: no signature has a supported algorithm",
		Sub:      "The DS record promises an algorithm that did not sign. Sign with it, or replace the DS record.",
	},
	string(codeWork): {
		Headline: "Not validated: the zone asks for too much work",
		Sub:      "Resolvers give up on such zones. Remove surplus keys, signatures and NSEC3 iterations.",
	},
	string(codeDenialMissing): {
		Headline: "Bogus: the proof of nonexistence is missing",
		Sub:      "Validating resolvers answer SERVFAIL. Check that all name servers return NSEC or NSEC3 records.",
	},
	string(codeDenialIncomplete): {
		Headline: "Bogus: the proof of nonexistence does not hold",
		Sub:      "Validating resolvers answer SERVFAIL. Sign the zone again and update all name servers.",
	},
	string(codeDenialContradict): {
		Headline: "Bogus: the zone's own proof contradicts the answer",
		Sub:      "Name servers have different versions of the zone, or something changes its answers.",
	},
	string(codeWildcard): {
		Headline: "Bogus: the use of a wildcard is not proven",
		Sub:      "Validating resolvers answer SERVFAIL. The name servers must add the record that denies the name.",
	},
	string(codeAnswerContradict): {
		Headline: "Bogus: the answer contradicts itself",
		Sub:      "Its code does not fit its records. Check the software of the name servers.",
	},
	string(codeAliasLoop): {
		Headline: "Bogus: the CNAME records form a loop",
		Sub:      "The name cannot be resolved. Point one of them to a name that is not an alias.",
	},
	string(codeAliasLong): {
		Headline: "Bogus: the CNAME chain is too long",
		Sub:      "Resolvers give up on it. Point the first CNAME record to the last name.",
	},
	string(codeDNAME): {
		Headline: "Bogus: the CNAME does not follow from the DNAME record",
		Sub:      "Validating resolvers answer SERVFAIL. Check the name servers of the zone.",
	},
}
