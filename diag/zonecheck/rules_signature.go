package zonecheck

import (
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/ground"
)

// judged reports whether any set of records, or proof, was examined for its signatures.
func judged(e *evidence) bool { return signed(e) && e.sec.judged > 0 }

// noted lists what the examination of the signatures noted.
func noted(fault sigFault) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures { return e.sec.failures(fault) }
}

// signatureRules are about signatures and proofs of absence.
var signatureRules = diag.Rules[*evidence]{{
	Code: "zone.dnssec.signature.missing", Severity: diag.Error, Weight: 5,
	Ref:   "Zonemaster DNSSEC08, DNSSEC09, RFC 4035 section 2.2",
	Title: "DNSSEC signature missing", Requirement: "All records are signed",
	Advice: "Sign the zone again, and check that all name servers have the new version.", Fails: noted(sigMissing),
}, {
	Code: "zone.dnssec.signature.expired", Severity: diag.Critical, Weight: 10,
	Ref:   "Zonemaster DNSSEC04, DNSSEC08, DNSSEC09, RFC 4035 section 5.3.1",
	Title: "DNSSEC signature expired", Requirement: "No signature has expired",
	Advice: "Sign the zone again now, and find out why the signer stopped: validating resolvers reject the records.",
	Fails:  noted(sigExpired),
}, {
	Code: "zone.dnssec.signature.future", Severity: diag.Critical, Weight: 5,
	Ref:   "Zonemaster DNSSEC04, RFC 4035 section 5.3.1",
	Title: "DNSSEC signature not valid yet", Requirement: "All signatures are valid already",
	Advice: "Correct the clock of the signer, and sign the zone again.", Fails: noted(sigFuture),
}, {
	Code: "zone.dnssec.signature.signer", Severity: diag.Error, Weight: 5, Ref: "RFC 4035 section 5.3.1",
	Title: "DNSSEC signature by another zone", Requirement: "All signatures are by the zone itself",
	Advice: "Sign the zone again with its own keys.", Fails: noted(sigSigner),
}, {
	Code: "zone.dnssec.signature.labels", Severity: diag.Error, Weight: 3,
	Ref:         "RFC 4035 section 5.3.1, RFC 4034 section 3.1.3",
	Title:       "DNSSEC signature with a wrong number of labels",
	Requirement: "All signatures have the labels of their names",
	Advice:      "Sign the zone again with other software.", Fails: noted(sigLabels),
}, {
	Code: "zone.dnssec.signature.key", Severity: diag.Error, Weight: 5,
	Ref:         "Zonemaster DNSSEC08, DNSSEC09, RFC 4035 section 5.3.1",
	Title:       "DNSSEC signature by a key that the zone does not have",
	Requirement: "The keys of all signatures are in the zone",
	Advice:      "Publish the key, or sign the zone again with the published keys.", Fails: noted(sigKey),
}, {
	Code: "zone.dnssec.signature.invalid", Severity: diag.Critical, Weight: 10,
	Ref:   "Zonemaster DNSSEC08, DNSSEC09, RFC 4035 section 5.3.3",
	Title: "Invalid DNSSEC signature", Requirement: "All signatures are valid",
	Advice: "Sign the zone again: something changed the records or the signatures after signing.",
	Fails:  noted(sigInvalid),
}, {
	Code: "zone.dnssec.signature.stray", Severity: diag.Error, Weight: 3,
	Ref:   "RFC 4035 section 2.2, RFC 6840 section 5.11",
	Title: "Invalid DNSSEC signature beside a valid one", Requirement: "No signature beside a valid one is invalid",
	Advice: "Sign the zone again and remove the invalid signatures: some resolvers reject records that have one.",
	Fails:  noted(sigStray),
}, {
	Code: "zone.dnssec.signature.urgent", Severity: diag.Error, Weight: 5,
	Ref:   "Zonemaster DNSSEC04, RFC 4035 section 5.3.1",
	Title: "DNSSEC signature expires within hours", Requirement: "No signature is about to expire",
	Advice: "Sign the zone again now, and find out why the signer stopped.", Fails: noted(sigUrgent),
}, {
	Code: "zone.dnssec.signature.expiring", Severity: diag.Warning, Weight: 3, Fact: ground.SignatureEnds,
	Ref:   "Zonemaster DNSSEC04, RFC 6781 section 4.4.2",
	Title: "DNSSEC signature not renewed in time", Requirement: "Signatures are renewed well before they expire",
	Advice: "Check that the signer runs: it should have renewed these signatures by now.", Fails: noted(sigSoon),
}, {
	Code: "zone.dnssec.signature.long", Severity: diag.Warning, Weight: 1,
	Ref:         "Zonemaster DNSSEC04, RFC 6781 section 4.4.2",
	Title:       "DNSSEC signature valid for more than half a year",
	Requirement: "Signatures are valid for half a year at most",
	Advice:      "Shorten the validity of signatures: changed records can be replayed until they expire.",
	Fails:       noted(sigLong),
}, {
	Code: "zone.dnssec.signature.ttl", Severity: diag.Warning, Weight: 1, Ref: "RFC 4035 section 5.3.3",
	Title: "TTL longer than the signed TTL", Requirement: "No TTL is longer than the signed one",
	Advice: "Sign the zone again after changing a TTL: validating resolvers use the shorter one, others do not.",
	Fails:  noted(sigTTL),
}, {
	Code: "zone.dnssec.denial", Severity: diag.Error, Weight: 5,
	Ref:   "Zonemaster DNSSEC10, RFC 4035 section 5.4, RFC 5155 section 8",
	Title: "Negative answer without a valid DNSSEC proof", Requirement: "Negative answers are proved",
	Advice: "Sign the zone again, and check that the name servers support NSEC and NSEC3.",
	When:   func(e *evidence) bool { return signed(e) && e.sec.proofs > 0 }, Fails: noted(noProof),
}, {
	Code: "zone.dnssec.nsec3.iterations", Severity: diag.Warning, Weight: 1, Reads: []diag.Source{content},
	Ref:   "Zonemaster DNSSEC03, RFC 9276 section 3.1",
	Title: "NSEC3 with additional iterations", Requirement: "NSEC3 has no additional iterations",
	Advice: "Set the NSEC3 iterations to 0: more of them only burden servers and resolvers.",
	When:   func(e *evidence) bool { return hashed(e) && e.sec.param.Iterations <= dnssec.MaxIterations },
	Fails: func(e *evidence) diag.Failures {
		n := e.sec.param.Iterations
		return diag.FailIf(n > 0, "The NSEC3PARAM record of %s asks for %s.", e.Domain,
			diag.Count(int(n), "additional iteration"))
	},
}, {
	Code: "zone.dnssec.nsec3.excessive", Severity: diag.Error, Weight: 3, Reads: []diag.Source{content},
	Ref:         "Zonemaster DNSSEC03, RFC 9276 section 3.2",
	Title:       "More NSEC3 iterations than resolvers accept",
	Requirement: "NSEC3 has no more iterations than resolvers accept",
	Advice:      "Set the NSEC3 iterations to 0: resolvers treat the zone as unsigned, or reject its answers.", When: hashed,
	Fails: func(e *evidence) diag.Failures {
		n := e.sec.param.Iterations
		return diag.FailIf(n > dnssec.MaxIterations,
			"The NSEC3PARAM record of %s asks for %d iterations; many resolvers accept %d at most.",
			e.Domain, n, dnssec.MaxIterations)
	},
}}.With(diag.Rule[*evidence]{When: judged})

// hashed reports whether the parameters of NSEC3 are known.
func hashed(e *evidence) bool { return signed(e) && e.sec.param != nil }

// failures lists the faults of one kind.
func (c *checker) failures(fault sigFault) diag.Failures {
	var list diag.Failures
	for _, n := range c.notices {
		if n.fault == fault {
			list = append(list, diag.Failure{Detail: n.text, Target: joined(n.targets), Due: n.due})
		}
	}
	return list
}
