package zonecheck

import (
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
)

// inSecurity lists what the examination of the signatures noted.
func inSecurity(fault sigFault) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures { return e.sec.failures(fault) }
}

// signatureRules are about signatures and proofs of absence.
var signatureRules = diag.Rules[*evidence]{
	{
		Code: "zone.dnssec.signature.missing", Severity: diag.Error, Weight: 5, Category: categorySecurity,
		Requirement: "All records are signed",
		Ref:         "Zonemaster DNSSEC08, DNSSEC09, RFC 4035 section 2.2",
		Advice:      "Sign the zone again, and check that all servers have taken it over.",
		When:        signed, Fails: inSecurity(sigMissing),
	},
	{
		Code: "zone.dnssec.signature.expired", Severity: diag.Critical, Weight: 10, Category: categorySecurity,
		Requirement: "No signature has expired",
		Ref:         "Zonemaster DNSSEC04, DNSSEC08, DNSSEC09, RFC 4035 section 5.3.1",
		Advice:      "Sign the zone again now, and find out why the signer stopped.",
		When:        signed, Fails: inSecurity(sigExpired),
	},
	{
		Code: "zone.dnssec.signature.future", Severity: diag.Critical, Weight: 5, Category: categorySecurity,
		Requirement: "All signatures are valid already",
		Ref:         "Zonemaster DNSSEC04, RFC 4035 section 5.3.1",
		Advice:      "Correct the clock of the signer, and sign the zone again.",
		When:        signed, Fails: inSecurity(sigFuture),
	},
	{
		Code: "zone.dnssec.signature.signer", Severity: diag.Error, Weight: 5, Category: categorySecurity,
		Requirement: "All signatures name the zone as the signer",
		Ref:         "RFC 4035 section 5.3.1",
		Advice:      "Sign the zone again with its own keys.",
		When:        signed, Fails: inSecurity(sigSigner),
	},
	{
		Code: "zone.dnssec.signature.labels", Severity: diag.Error, Weight: 3, Category: categorySecurity,
		Requirement: "All signatures are for names with as many labels",
		Ref:         "RFC 4035 section 5.3.1, RFC 4034 section 3.1.3",
		Advice:      "Sign the zone again with other software.",
		When:        signed, Fails: inSecurity(sigLabels),
	},
	{
		Code: "zone.dnssec.signature.key", Severity: diag.Error, Weight: 5, Category: categorySecurity,
		Requirement: "The keys of all signatures are in the zone",
		Ref:         "Zonemaster DNSSEC08, DNSSEC09, RFC 4035 section 5.3.1",
		Advice:      "Publish the key, or sign the zone again with those that are published.",
		When:        signed, Fails: inSecurity(sigKey),
	},
	{
		Code: "zone.dnssec.signature.invalid", Severity: diag.Critical, Weight: 10, Category: categorySecurity,
		Requirement: "All signatures fit the records",
		Ref:         "Zonemaster DNSSEC08, DNSSEC09, RFC 4035 section 5.3.3",
		Advice:      "Sign the zone again: something changed the records or the signatures afterwards.",
		When:        signed, Fails: inSecurity(sigInvalid),
	},
	{
		Code: "zone.dnssec.signature.stray", Severity: diag.Error, Weight: 3, Category: categorySecurity,
		Title:       "An invalid signature stands beside a valid one",
		Requirement: "Each of the signatures over a record set is valid",
		Ref:         "RFC 4035 section 2.2, RFC 6840 section 5.11",
		Advice:      "Sign the zone again and remove the invalid signatures: some resolvers accept no set that has one.",
		When:        signed, Fails: inSecurity(sigStray),
	},
	{
		Code: "zone.dnssec.signature.urgent", Severity: diag.Error, Weight: 5, Category: categorySecurity,
		Title:       "Signatures expire within a day or so",
		Requirement: "No signature expires within a day or so",
		Ref:         "Zonemaster DNSSEC04, RFC 4035 section 5.3.1",
		Advice:      "Sign the zone again now, and find out why the signer stopped.",
		When:        signed, Fails: inSecurity(sigUrgent),
	},
	{
		Code: "zone.dnssec.signature.expiring", Severity: diag.Warning, Weight: 3, Category: categorySecurity,
		Requirement: "Signatures are renewed well before they expire",
		Ref:         "Zonemaster DNSSEC04, RFC 6781 section 4.4.2",
		Advice:      "Check that the signer runs: it should have renewed these signatures by now.",
		When:        signed, Fails: inSecurity(sigSoon),
	},
	{
		Code: "zone.dnssec.signature.long", Severity: diag.Warning, Weight: 1, Category: categorySecurity,
		Requirement: "Signatures are valid for half a year at most",
		Ref:         "Zonemaster DNSSEC04, RFC 6781 section 4.4.2",
		Advice:      "Shorten the life of signatures: records that were changed can be replayed as long as they last.",
		When:        signed, Fails: inSecurity(sigLong),
	},
	{
		Code: "zone.dnssec.signature.ttl", Severity: diag.Warning, Weight: 1, Category: categorySecurity,
		Title:       "The TTL of records is longer than the signed one",
		Requirement: "No TTL is longer than the one that was signed",
		Ref:         "RFC 4035 section 5.3.3",
		Advice:      "Sign the zone again after changing a TTL: validating resolvers use the shorter one, others do not.",
		When:        signed, Fails: inSecurity(sigTTL),
	},
	{
		Code: "zone.dnssec.denial", Severity: diag.Error, Weight: 5, Category: categorySecurity,
		Requirement: "What does not exist is proved not to",
		Ref:         "Zonemaster DNSSEC10, RFC 4035 section 5.4, RFC 5155 section 8",
		Advice:      "Sign the zone again, and check that its servers know NSEC and NSEC3.",
		When:        func(e *evidence) bool { return signed(e) && e.sec.proofs > 0 },
		Fails:       inSecurity(noProof),
	},
	{
		Code: "zone.dnssec.nsec3.iterations", Severity: diag.Warning, Weight: 1, Category: categorySecurity,
		Requirement: "Names are hashed once",
		Ref:         "Zonemaster DNSSEC03, RFC 9276 section 3.1",
		Advice:      "Set the iterations to 0: more only keep servers and resolvers busy.",
		When:        hashed,
		Fails: func(e *evidence) diag.Failures {
			n := e.sec.param.Iterations
			return diag.FailIf(n > 0, "There are %d iterations.", n)
		},
	},
	{
		Code: "zone.dnssec.nsec3.excessive", Severity: diag.Error, Weight: 3, Category: categorySecurity,
		Requirement: "Names are hashed no more often than validators do",
		Ref:         "Zonemaster DNSSEC03, RFC 9276 section 3.2",
		Advice:      "Set the iterations to 0: resolvers take the zone for unsigned, or refuse its answers.",
		When:        hashed,
		Fails: func(e *evidence) diag.Failures {
			n := e.sec.param.Iterations
			return diag.FailIf(n > dnssec.MaxIterations, "There are %d iterations.", n)
		},
	},
	{
		Code: "zone.dnssec.nsec3.salt", Severity: diag.Info, Category: categorySecurity,
		Requirement: "Names are hashed without a salt",
		Ref:         "Zonemaster DNSSEC03, RFC 9276 section 3.1",
		Advice:      "Remove the salt with the next change: it has no use.",
		When:        hashed,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.sec.param.SaltLength > 0, "The salt has %d octets.", e.sec.param.SaltLength)
		},
	},
	{
		Code: "zone.dnssec.nsec3.optout", Severity: diag.Info, Category: categorySecurity,
		Requirement: "All delegations are covered by the proofs of absence",
		Ref:         "Zonemaster DNSSEC03, RFC 9276 section 3.1",
		Advice:      "Switch opt-out off unless the zone has very many delegations.",
		When:        hashed,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.sec.optOut, "NSEC3 records have the flag opt-out.")
		},
	},
}

// hashed reports whether the parameters of NSEC3 are known.
func hashed(e *evidence) bool { return signed(e) && e.sec.param != nil }
