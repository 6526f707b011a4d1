package dnssec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
)

// rules is the table of all that is examined: first what breaks the chain, of which at most one fails,
// then what ends it without fault, then what could be better.
var rules = failing(slices.Concat(resolverRules, delegationRules, signatureRules, denialRules, answerRules,
	insecureRules, signingRules, timeRules, hygieneRules, anchorRules))

// failing gives the rules without a test that of their code.
func failing(rules rule.Rules[*Result]) rule.Rules[*Result] {
	for i := range rules {
		if rules[i].Fails == nil {
			rules[i].Fails = failed(rules[i].Code)
		}
	}
	return rules
}

// failed makes the test of a rule that is not fulfilled if validation failed with its code.
func failed(code diag.Code) func(*Result) rule.Failures {
	return func(r *Result) rule.Failures {
		if r.Failure == nil || r.Failure.Code != code {
			return nil
		}
		f := rule.Failure{Detail: r.Failure.Message + ".", Target: r.Failure.Zone, Advice: r.Failure.advice}
		if strings.HasPrefix(string(code), "dnssec.ds.") {
			f.Suggested = r.publish(r.Failure.Zone)
		}
		return rule.Failures{f}
	}
}

// publish returns the DS records that the parent of a zone should have, or nothing if they are right or not known.
func (r *Result) publish(zone string) string {
	for _, z := range r.Chain {
		if z.Zone == zone {
			return z.publish
		}
	}
	return ""
}

// resolverRules are about the resolver and the trust anchors, which are not the business of the domain.
var resolverRules = rule.Rules[*Result]{{
	Code: codeAnchorNone, Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 4033 section 5",
	Title: "No trust anchor covers the name", Requirement: "A trust anchor covers the name",
	Advice: "Configure a trust anchor for the zone, or for one above it such as the root.",
}, {
	Code: codeAnchorMismatch, Severity: diag.Critical, Ref: "RFC 4035 section 5",
	Title: "No trust anchor matches a key of its zone", Requirement: "A trust anchor matches a key of its zone",
	Advice: "Compare the configured trust anchors with those that the zone publishes. If they are right, the " +
		"resolver returns forged answers.",
}, {
	Code: codeStripped, Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 4035 section 3.2.1",
	Title: "The resolver strips DNSSEC records", Requirement: "The resolver returns DNSSEC records",
	Advice: "Check the domain through another resolver. This one, or a device on the path to it, removes " +
		"keys and signatures, so nothing can be said about the domain.",
}, {
	Code: codeDiffers, Severity: diag.Warning, Ref: "RFC 4035 section 3.2",
	Title:       "Only the resolver's answers fail validation, not the zone's own",
	Requirement: "The resolver's answers validate as those of the name servers do",
	Advice: "Check the resolver: it strips DNSSEC records, fails, or has stale records in its cache. The " +
		"result is that of the authoritative name servers.",
	Fails: func(r *Result) rule.Failures {
		if r.Resolver == nil {
			return nil
		}
		return rule.Failures{{
			Detail: "The name servers of the zone were asked instead of the resolver. Its answers: " +
				r.Resolver.Message + ".",
			Target: r.Resolver.Zone,
		}}
	},
}}

// SignKeys is the advice if the DS record matches a published key but only other keys sign the DNSKEY set. A
// DS record for those keys would fail at the next rollover of the zone signing key.
const SignKeys = "Sign the DNSKEY set with the key signing key that the DS record is for, and leave the DS " +
	"record as it is."

// delegationRules are about the parent zone's records for a zone, and about the keys of the zone.
var delegationRules = rule.Rules[*Result]{{
	Code: codeDSUnavailable, Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 4035 section 3.1.4.1",
	Title: "The DS records could not be looked up", Requirement: "The DS records can be looked up",
	Advice: "Check that the name servers of the parent zone answer queries for DS records.",
}, {
	Code: codeDSMismatch, Severity: diag.Critical, Ref: "RFC 4035 section 5.2",
	Title: "No DS record matches a DNSKEY of the zone", Requirement: "A DS record matches a DNSKEY of the zone",
	Advice: "Replace the DS records at the registrar with those of the current key signing key. If the zone is " +
		"no longer signed, remove them.",
}, {
	Code: codeDSRevoked, Severity: diag.Critical, Ref: "RFC 5011 section 2.1",
	Title: "The DS record matches a revoked key", Requirement: "The DS record does not match a revoked key",
	Advice: "Replace the DS record at the registrar with that of a key in use.",
}, {
	Code: codeDSWildcard, Severity: diag.Critical, Ref: "RFC 4592 section 4.6",
	Title: "The DS record comes from a wildcard", Requirement: "The DS record does not come from a wildcard",
	Advice: "Remove the DS record of the wildcard from the parent zone, and give the delegation its own.",
}, {
	Code: codeKeysMissing, Severity: diag.Critical, Ref: "RFC 4035 section 5.2",
	Title:       "The parent zone has a DS record, but the zone has no DNSKEY",
	Requirement: "A zone with a DS record has a DNSKEY record",
	Advice:      "Remove the DS records at the registrar, or sign the zone with the key that they match.",
}, {
	Code: codeKeysUnavailable, Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 4035 section 3.1",
	Title: "The DNSKEY records could not be looked up", Requirement: "The DNSKEY records can be looked up",
	Advice: "Check that all name servers of the zone answer queries for DNSKEY records, over TCP too.",
}, {
	Code: codeKeysSigner, Severity: diag.Critical, Ref: "RFC 4035 section 5.2",
	Title:       "DNSKEY set not signed with the key in the DS record",
	Requirement: "The DNSKEY set is signed with the key in the DS record",
	Advice:      SignKeys,
}, {
	Code: codeKeyUnusable, Severity: diag.Critical, Ref: "RFC 4034 section 2.1",
	Title: "The signing key cannot be used", Requirement: "The signing key can be used",
	Advice: "Replace the key with a well-formed zone key: flags 256 or 257, protocol 3, and a size that its " +
		"algorithm allows.",
}, {
	Code: codeDelegation, Severity: diag.Critical, Ref: "RFC 4035 section 5.2",
	Title: "The absence of a DS record is not proven", Requirement: "The presence or absence of a DS record is proven",
	Advice: "Ask the operator of the zone that owes the proof to repair it: its name servers must prove with NSEC or " +
		"NSEC3 records that a name has no DS record.",
}}

var signatureRules = rule.Rules[*Result]{{
	Code: codeSigMissing, Severity: diag.Critical, Ref: "RFC 4035 section 5.3",
	Title: "Signature missing", Requirement: "The records are signed",
	Advice: "Sign the zone again, and check that all of its name servers have the signed version.",
}, {
	Code: codeSigExpired, Severity: diag.Critical, Ref: "RFC 4035 section 5.3.1",
	Title: "Signature expired", Requirement: "The signatures have not expired",
	Advice: "Sign the zone again, find out why it was not signed in time, and check that all of its name " +
		"servers have the new version.",
}, {
	Code: codeSigEarly, Severity: diag.Critical, Ref: "RFC 4035 section 5.3.1",
	Title: "Signature not yet valid", Requirement: "The signatures are valid already",
	Advice: "Correct the clock of the signer, and start the validity of signatures an hour in the past.",
}, {
	Code: codeSigPeriod, Severity: diag.Critical, Ref: "RFC 4034 section 3.1.5",
	Title: "Signature ends before it begins", Requirement: "The signatures end after they begin",
	Advice: "Correct the validity period that the signer is configured with, and sign the zone again.",
}, {
	Code: codeSigInvalid, Severity: diag.Critical, Ref: "RFC 4035 section 5.3.3",
	Title: "Signature does not match the records", Requirement: "The signatures match the records",
	Advice: "Sign the zone again: the records, or the key, changed after they were signed.",
}, {
	Code: codeSigKey, Severity: diag.Critical, Ref: "RFC 4035 section 5.3.1",
	Title:       "Signature by a key that is not trusted",
	Requirement: "The key that made the signature is published and trusted",
	Advice:      "Publish the signing key in the DNSKEY records, or sign with a key that is published and not revoked.",
}, {
	Code: codeSigSigner, Severity: diag.Critical, Ref: "RFC 4035 section 5.3.1",
	Title: "Signature by another zone", Requirement: "The signer of the signatures is the zone",
	Advice: "Sign the zone again with its own name as the signer's name.",
}, {
	Code: codeSigLabels, Severity: diag.Critical, Ref: "RFC 4035 section 5.3.1",
	Title: "The signature has a wrong number of labels", Requirement: "The signatures are for names of the same length",
	Advice: "Sign the zone again, and check that its servers expand wildcards correctly.",
}, {
	Code: codeSigUnsupported, Severity: diag.Critical, Ref: "RFC 4035 section 2.2",
	Title:       "Only signatures of an unsupported algorithm",
	Requirement: "The signatures have an algorithm of the DS records",
	Advice:      "Sign all records with the algorithm of the key that the DS record matches.",
}, {
	Code: codeWork, Severity: diag.Critical, Ref: "CVE-2023-50387, CVE-2023-50868",
	Title:       "Validation takes more work than validators accept",
	Requirement: "Validation takes a reasonable amount of work",
	Advice: "Remove keys that share a tag, surplus signatures and NSEC3 iterations: resolvers give up on such " +
		"zones.",
}}

// denialRules are about proofs that something is not there.
var denialRules = rule.Rules[*Result]{{
	Code: codeDenialMissing, Severity: diag.Critical, Ref: "RFC 4035 section 5.4",
	Title: "Proof of nonexistence missing", Requirement: "Nonexistence is proven",
	Advice: "Check that the zone has NSEC or NSEC3 records, and that all of its name servers return them signed.",
}, {
	Code: codeDenialIncomplete, Severity: diag.Critical, Ref: "RFC 4035 section 5.4, RFC 5155 section 8",
	Title: "NSEC or NSEC3 records do not prove the answer", Requirement: "NSEC or NSEC3 records prove the answer",
	Advice: "Sign the zone again: its NSEC or NSEC3 chain has a gap, or a server returns the wrong records of it.",
}, {
	Code: codeDenialContradict, Severity: diag.Critical, Ref: "RFC 4035 section 5.4",
	Title:       "NSEC or NSEC3 records contradict the answer",
	Requirement: "NSEC or NSEC3 records do not contradict the answer",
	Advice:      "Check that all name servers have the same version of the zone, and that nothing filters its answers.",
}, {
	Code: codeWildcard, Severity: diag.Critical, Ref: "RFC 4035 section 5.3.4",
	Title: "The use of a wildcard is not proven", Requirement: "The use of a wildcard is proven",
	Advice: "Check that the name servers add the NSEC or NSEC3 record that denies the name itself.",
}}

var answerRules = rule.Rules[*Result]{{
	Code: codeAnswerUnavailable, Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 4035 section 4.3",
	Title: "The name could not be looked up", Requirement: "The name can be looked up",
	Advice: "Check that the name servers of the zone answer, and that the resolver can reach them.",
}, {
	Code: codeAnswerUnsignable, Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 4035 section 2.2",
	Title: "Records of this type are never signed", Requirement: "Records of this type are signed",
	Advice: "Query the records themselves: their signatures are validated with them.",
}, {
	Code: codeAnswerContradict, Severity: diag.Critical, Ref: "RFC 8020 section 2",
	Title: "The answer contradicts itself", Requirement: "The answer does not contradict itself",
	Advice: "Check the name servers of the zone: they return records together with a code that says there are none.",
}, {
	Code: codeAliasLoop, Severity: diag.Critical, Ref: "RFC 1034 section 3.6.2",
	Title: "CNAME loop", Requirement: "The CNAME chain ends",
	Advice: "Point one of the CNAME records to a name that is not an alias.",
}, {
	Code: codeAliasLong, Severity: diag.Critical, Ref: "RFC 1034 section 5.2.2",
	Title: "CNAME chain too long", Requirement: "The CNAME chain is short enough for every resolver",
	Advice: "Point the first CNAME record straight to the last name.",
}, {
	Code: codeDNAME, Severity: diag.Critical, Ref: "RFC 6672 section 5.3.1",
	Title: "The CNAME does not follow from the DNAME record", Requirement: "The CNAME follows from the DNAME record",
	Advice: "Check the name servers of the zone: they return a CNAME that no signature covers.",
}, {
	Code: "dnssec.names.bogus", Severity: diag.Error, Ref: "RFC 4035 section 4.3",
	Title:       "Other records of the domain fail validation",
	Requirement: "The addresses of the domain and of its www host validate",
	Advice:      "Run dnssec/check on that name and type, and fix what it reports.",
	When:        func(r *Result) bool { return r.extraResults != nil },
	Fails: func(r *Result) rule.Failures {
		var list rule.Failures
		for _, other := range r.extraResults {
			if other.Status == diag.Bogus && r.Status != diag.Bogus {
				what := other.question()
				list = append(list, rule.Failure{
					Detail: fmt.Sprintf("%s is bogus. %s.", what, other.Failure.Message), Target: other.Failure.Zone,
				})
			}
		}
		return list.Together("The addresses of the domain and of its www host are bogus.")
	},
}, {
	Code: "dnssec.answer.nxdomain", Severity: diag.Info, Fact: reach.NoName,
	Differs: "the proof is what is judged, and that of absence is as good as any", Ref: "RFC 8020 section 2",
	Title: "The name does not exist", Requirement: "The name exists",
	Advice: "Check the spelling of the name.", When: answered,
	Fails: func(r *Result) rule.Failures {
		how := "which is proven"
		if r.Status != diag.Secure {
			how = "which is not proven, because " + r.unprovable()
		}
		return rule.FailIf(!r.exists(), "The answer for %s is NXDOMAIN, %s.", r.question(), how)
	},
}}

// headline returns what a result says in words: where the chain does not hold or ends, the reason for
// that, unless something graver was found.
func headline(r *Result, v diag.Verdict) diag.Text {
	for _, f := range v.Findings {
		if r.Failure == nil || f.Code != r.Failure.Code || f.Severity < v.Findings[0].Severity {
			continue
		}
		if text, ok := texts[string(f.Code)]; ok {
			return text
		}
		return diag.Text{Headline: f.Title, Sub: cmp.Or(f.Advice, f.Detail)}
	}
	return diag.Text{Headline: v.Headline, Sub: v.Sub}
}

var texts = rule.Texts{
	"valid": {
		Headline: "Secure: the answer validates up to the trust anchor",
		Sub:      "Every signature in the chain is valid. Nothing needs to be done.",
	},
	"dnssec.answer.nxdomain": {
		Headline: "Secure: the name is proven not to exist",
		Sub:      "The zone denies it with signed records. Check the spelling, or add the name to the zone.",
	},
	string(codeDSUnsupported): {
		Headline: "Insecure: the DS records cannot be used by validators",
		Sub:      "The zone counts as unsigned. Sign it with a supported algorithm and publish its DS record.",
	},
}
