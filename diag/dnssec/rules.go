package dnssec

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
)

// rules is the table of all that is examined: first what breaks the chain, of which at most one fails,
// then what ends it without fault, then what could be better.
var rules = slices.Concat(anchorRules, delegationRules, signatureRules, denialRules, answerRules,
	insecureRules, signingRules, hygieneRules)

// failed makes the test of a rule that is not fulfilled if validation failed with its code.
func failed(code diag.Code) func(*Result) diag.Failures {
	return func(r *Result) diag.Failures {
		if r.Failure == nil || r.Failure.Code != code {
			return nil
		}
		return diag.Failures{{Detail: r.Failure.Message + ".", Target: r.Failure.Zone}}
	}
}

// anchorRules are about where the chain begins.
var anchorRules = diag.Rules[*Result]{
	{
		Code: codeAnchorNone, Severity: diag.Info, StateIfFailed: diag.Unknown,
		Requirement: "There is a trust anchor for the name",
		Ref:         "RFC 4033 section 5",
		Advice:      "Configure a trust anchor for the zone, or for one above it such as the root.",
		Fails:       failed(codeAnchorNone),
	},
	{
		Code: codeAnchorMismatch, Severity: diag.Critical,
		Requirement: "The trust anchor is one of the keys of its zone",
		Ref:         "RFC 4035 section 5",
		Advice: "Check that the trust anchors are those that the zone publishes, and that the resolver " +
			"does not forge its answers.",
		Fails: failed(codeAnchorMismatch),
	},
}

// delegationRules are about what the zone above says of a zone, and about the keys of the zone.
var delegationRules = diag.Rules[*Result]{
	{
		Code: codeDSUnavailable, Severity: diag.Error, StateIfFailed: diag.Unknown,
		Requirement: "The servers say whether the zone is signed",
		Ref:         "RFC 4035 section 3.1.4.1",
		Advice:      "Check that the name servers of the zone above answer questions for DS records.",
		Fails:       failed(codeDSUnavailable),
	},
	{
		Code: codeDSMismatch, Severity: diag.Critical,
		Requirement: "The DS record is that of a key of the zone",
		Ref:         "RFC 4035 section 5.2",
		Advice: "Replace the DS records in the zone above by those of the present key signing key, or " +
			"remove them if the zone is not to be signed.",
		Fails: failed(codeDSMismatch),
	},
	{
		Code: codeDSRevoked, Severity: diag.Critical,
		Requirement: "The DS record is not that of a revoked key",
		Ref:         "RFC 5011 section 2.1",
		Advice:      "Replace the DS record by that of a key that is in use.",
		Fails:       failed(codeDSRevoked),
	},
	{
		Code: codeDSWildcard, Severity: diag.Critical,
		Requirement: "The DS record is not that of a wildcard",
		Ref:         "RFC 4592 section 4.6",
		Advice:      "Remove the DS record of the wildcard, and give the delegation one of its own.",
		Fails:       failed(codeDSWildcard),
	},
	{
		Code: codeKeysMissing, Severity: diag.Critical,
		Requirement: "A zone with a DS record has keys",
		Ref:         "RFC 4035 section 5.2",
		Advice:      "Sign the zone, or have the DS records removed from the zone above.",
		Fails:       failed(codeKeysMissing),
	},
	{
		Code: codeKeysUnavailable, Severity: diag.Critical,
		Requirement: "The servers give out the keys of the zone",
		Ref:         "RFC 4035 section 3.1",
		Advice:      "Check that all name servers of the zone answer questions for DNSKEY records, over TCP too.",
		Fails:       failed(codeKeysUnavailable),
	},
	{
		Code: codeKeyUnusable, Severity: diag.Critical,
		Requirement: "The key that signs is one that can be used",
		Ref:         "RFC 4034 section 2.1",
		Advice: "Replace the key: it has to be a zone key with the flags 256 or 257 and protocol 3, well " +
			"formed and of a size that its algorithm allows.",
		Fails: failed(codeKeyUnusable),
	},
	{
		Code: codeDelegation, Severity: diag.Critical,
		Requirement: "It is proven whether there is a DS record",
		Ref:         "RFC 4035 section 5.2",
		Advice: "Sign the zone above anew: its servers must prove by NSEC or NSEC3 records that a name has " +
			"no DS record.",
		Fails: failed(codeDelegation),
	},
}

// signatureRules are about the signatures of the chain.
var signatureRules = diag.Rules[*Result]{
	{
		Code: codeSigMissing, Severity: diag.Critical,
		Requirement: "There is a signature over the records",
		Ref:         "RFC 4035 section 5.3",
		Advice:      "Sign the zone anew, and check that all of its servers have the signed version of it.",
		Fails:       failed(codeSigMissing),
	},
	{
		Code: codeSigExpired, Severity: diag.Critical,
		Requirement: "The signatures have not expired",
		Ref:         "RFC 4035 section 5.3.1",
		Advice: "Sign the zone anew, and find out why that was not done in time; check that all of its " +
			"servers have the new version.",
		Fails: failed(codeSigExpired),
	},
	{
		Code: codeSigEarly, Severity: diag.Critical,
		Requirement: "The validity of the signatures has begun",
		Ref:         "RFC 4035 section 5.3.1",
		Advice:      "Check the clock of the machine that signs, and let signatures begin an hour before they are made.",
		Fails:       failed(codeSigEarly),
	},
	{
		Code: codeSigPeriod, Severity: diag.Critical,
		Requirement: "The signatures end after they begin",
		Ref:         "RFC 4034 section 3.1.5",
		Advice:      "Check the times with which the zone is signed, and sign it anew.",
		Fails:       failed(codeSigPeriod),
	},
	{
		Code: codeSigInvalid, Severity: diag.Critical,
		Requirement: "The signatures fit the records",
		Ref:         "RFC 4035 section 5.3.3",
		Advice:      "Sign the zone anew: records were changed after they were signed, or the key is another one.",
		Fails:       failed(codeSigInvalid),
	},
	{
		Code: codeSigKey, Severity: diag.Critical,
		Requirement: "The key that made the signatures is in the zone",
		Ref:         "RFC 4035 section 5.3.1",
		Advice:      "Publish the key that signs, or sign with one that is published and not revoked.",
		Fails:       failed(codeSigKey),
	},
	{
		Code: codeSigSigner, Severity: diag.Critical,
		Requirement: "The signatures name the zone of the records as their signer",
		Ref:         "RFC 4035 section 5.3.1",
		Advice:      "Sign the zone anew, with its own name as that of the signer.",
		Fails:       failed(codeSigSigner),
	},
	{
		Code: codeSigLabels, Severity: diag.Critical,
		Requirement: "The signatures are for names as long as those of the records",
		Ref:         "RFC 4035 section 5.3.1",
		Advice:      "Sign the zone anew; check that its servers do not answer with wildcards of others.",
		Fails:       failed(codeSigLabels),
	},
	{
		Code: codeSigUnsupported, Severity: diag.Critical,
		Requirement: "The signatures have an algorithm of the DS records",
		Ref:         "RFC 4035 section 2.2",
		Advice:      "Sign all records with the algorithm of the key to which the DS record points.",
		Fails:       failed(codeSigUnsupported),
	},
	{
		Code: codeWork, Severity: diag.Critical,
		Requirement: "Validation takes no more work than it may",
		Ref:         "CVE-2023-50387, CVE-2023-50868",
		Advice: "Remove keys that share a tag, signatures that nobody needs and iterations of NSEC3: " +
			"resolvers give up on such zones.",
		Fails: failed(codeWork),
	},
}

// denialRules are about proofs that something is not there.
var denialRules = diag.Rules[*Result]{
	{
		Code: codeDenialMissing, Severity: diag.Critical,
		Requirement: "What is not there is proven not to be there",
		Ref:         "RFC 4035 section 5.4",
		Advice: "Check that the zone has NSEC or NSEC3 records and that all of its servers give them out " +
			"with signatures.",
		Fails: failed(codeDenialMissing),
	},
	{
		Code: codeDenialIncomplete, Severity: diag.Critical,
		Requirement: "The NSEC or NSEC3 records prove what the answer says",
		Ref:         "RFC 4035 section 5.4, RFC 5155 section 8",
		Advice:      "Sign the zone anew: its chain of NSEC or NSEC3 records has gaps, or a server picks the wrong ones.",
		Fails:       failed(codeDenialIncomplete),
	},
	{
		Code: codeDenialContradict, Severity: diag.Critical,
		Requirement: "The NSEC or NSEC3 records do not contradict the answer",
		Ref:         "RFC 4035 section 5.4",
		Advice: "Check whether all servers have the same version of the zone, and whether somebody filters " +
			"its answers.",
		Fails: failed(codeDenialContradict),
	},
	{
		Code: codeWildcard, Severity: diag.Critical,
		Requirement: "A wildcard is proven to be the closest match",
		Ref:         "RFC 4035 section 5.3.4",
		Advice:      "Check that the servers of the zone add the NSEC or NSEC3 record which denies the name itself.",
		Fails:       failed(codeWildcard),
	},
}

// answerRules are about answers that no signature could mend.
var answerRules = diag.Rules[*Result]{
	{
		Code: codeAnswerUnavailable, Severity: diag.Error, StateIfFailed: diag.Unknown,
		Requirement: "The servers answer for the name",
		Ref:         "RFC 4035 section 4.3",
		Advice:      "Check that the name servers of the zone answer, and that the resolver can reach them.",
		Fails:       failed(codeAnswerUnavailable),
	},
	{
		Code: codeAnswerUnsignable, Severity: diag.Info, StateIfFailed: diag.Unknown,
		Requirement: "The records are of a type that is signed",
		Ref:         "RFC 4035 section 2.2",
		Advice:      "Ask for the records themselves: their signatures are validated with them.",
		Fails:       failed(codeAnswerUnsignable),
	},
	{
		Code: codeAnswerContradict, Severity: diag.Critical,
		Requirement: "The answer does not contradict itself",
		Ref:         "RFC 8020 section 2",
		Advice:      "Check the name servers of the zone: they answer with records and say that there is no such name.",
		Fails:       failed(codeAnswerContradict),
	},
	{
		Code: codeAliasLoop, Severity: diag.Critical,
		Requirement: "The aliases lead to an end",
		Ref:         "RFC 1034 section 3.6.2",
		Advice:      "Point one of the CNAME records to a name that is no alias.",
		Fails:       failed(codeAliasLoop),
	},
	{
		Code: codeAliasLong, Severity: diag.Critical,
		Requirement: "The chain of aliases is short enough for every resolver",
		Ref:         "RFC 1034 section 5.2.2",
		Advice:      "Point the first CNAME record straight to the last name.",
		Fails:       failed(codeAliasLong),
	},
	{
		Code: codeDNAME, Severity: diag.Critical,
		Requirement: "The alias is what the DNAME record makes of the name",
		Ref:         "RFC 6672 section 5.3.1",
		Advice:      "Check the name servers of the zone: they give out an alias that its owner has not signed.",
		Fails:       failed(codeDNAME),
	},
}
