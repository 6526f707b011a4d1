package zonecheck

import (
	"fmt"
	"maps"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

func secured(e *evidence) bool { return e.cut.dsKnown && len(e.cut.ds) > 0 }

// dsComparable reports whether there are DS records that can be compared with keys and their signatures.
func dsComparable(e *evidence) bool {
	return secured(e) && signed(e) && e.sec.ds.usable > 0 && e.sec.judged > 0
}

var keyRules = rule.Rules[*evidence]{{
	Code: "zone.dnssec.unsigned", Severity: diag.Critical, Weight: 10, Ref: "Zonemaster DNSSEC11, RFC 4035 section 5.2",
	Title: "DS records for an unsigned zone", Requirement: "A zone with DS records is signed",
	Advice: "Remove the DS records at the registrar now, or sign the zone: validating resolvers reject the domain.",
	When:   func(e *evidence) bool { return secured(e) && answeredByAtLeast(1, survey.ProbeKeys)(e) },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(
			!signed(e),
			"%s has %s for %s, and the zone has no DNSKEY record.",
			phrase.Capitalize(e.parentName()),
			phrase.Count(len(e.cut.ds), "DS record"),
			e.Domain,
		)
	},
}, {
	Code: "zone.dnssec.ds.mismatch", Severity: diag.Critical, Weight: 10,
	Ref:   "Zonemaster DNSSEC02, RFC 4035 section 5.2",
	Title: "No DS record matches a key of the zone", Requirement: "A DS record matches a key of the zone",
	Advice: "Replace the DS records at the registrar with those of the current keys now: validating resolvers reject " +
		"the domain.",
	When: dsComparable,
	Fails: func(e *evidence) rule.Failures {
		if len(e.sec.ds.matched)+len(e.sec.ds.idle) > 0 {
			return nil
		}
		return e.dsFailures(e.sec.ds.standby, "matches no key of the zone").Suggesting(e.sec.ds.propose)
	},
}, {
	Code: "zone.dnssec.dnskey.signer", Severity: diag.Critical, Weight: 10,
	DependsOn: []diag.Code{"zone.dnssec.ds.mismatch"}, Ref: "Zonemaster DNSSEC02, RFC 4035 section 5.2",
	Title:       "DNSKEY set not signed with the key in the DS record",
	Requirement: "The DNSKEY set is signed with the key in the DS record",
	Advice:      dnssec.SignKeys,
	When: func(e *evidence) bool {
		signs := func(k *dns.DNSKEY) bool { return slices.Contains(e.sec.signers, k.KeyTag()) }
		return slices.ContainsFunc(e.sec.keys, signs)
	},
	Fails: func(e *evidence) rule.Failures {
		if len(e.sec.ds.matched) > 0 {
			return nil
		}
		return rule.Fail("The DNSKEY set of %s is signed with key %d and not with key %d, which the DS record is for.",
			e.Domain, e.sec.signers[0], e.sec.ds.idle[0].KeyTag)
	},
}, {
	Code: "zone.dnssec.ds.standby", Severity: diag.Info, Ref: "Zonemaster DNSSEC02, RFC 6781 section 4.1.2",
	Title: "DS record without a key in use", Requirement: "Every DS record matches a key in use",
	Advice: "Remove the DS record at the registrar unless a key rollover is under way.",
	When:   func(e *evidence) bool { return dsComparable(e) && len(e.sec.ds.matched) > 0 },
	Fails: func(e *evidence) rule.Failures {
		return e.dsFailures(e.sec.ds.standby, "matches no key that signs the DNSKEY records, but others do")
	},
}, {
	Code: "zone.dnssec.ds.digest", Severity: diag.Warning, Weight: 2, Reads: []rule.Source{parentDS},
	Ref:   "Zonemaster DNSSEC01, RFC 9904 section 3, RFC 9905 section 2",
	Title: "DS record with a digest that is not recommended", Requirement: "The DS records have recommended digests",
	Advice: "Enter DS records with SHA-256 (digest type 2) at the registrar, and remove the others.", When: secured,
	Fails: func(e *evidence) rule.Failures {
		var weak []*dns.DS
		for _, ds := range e.cut.ds {
			if ds.DigestType != dns.SHA256 && ds.DigestType != dns.SHA384 {
				weak = append(weak, ds)
			}
		}
		return e.dsFailures(weak, "has a digest type that is not recommended")
	},
}, {
	Code: "zone.dnssec.ds.algorithm", Severity: diag.Error, Weight: 2, Reads: []rule.Source{parentDS},
	Ref:   "Zonemaster DNSSEC02, RFC 4035 section 5.2",
	Title: "No DS record that resolvers can use", Requirement: "Resolvers can use a DS record",
	Advice: "Enter DS records of keys with a current algorithm: until then resolvers treat the zone as unsigned.",
	When:   secured,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(
			!slices.ContainsFunc(e.cut.ds, dnssec.Usable),
			"%s has %s for %s, none of which has an algorithm and digest that resolvers support.",
			phrase.Capitalize(e.parentName()),
			phrase.Count(len(e.cut.ds), "DS record"),
			e.Domain,
		)
	},
}, {
	Code: "zone.dnssec.island", Severity: diag.Warning, Weight: 2, Ref: "Zonemaster DNSSEC07, RFC 4035 section 5.2",
	Title: "Signed zone without DS records", Requirement: "The parent zone has DS records for the signed zone",
	Advice: "Enter the DS records at the registrar: without them, resolvers do not check the signatures.",
	When:   func(e *evidence) bool { return e.cut.dsKnown && signed(e) },
	Fails: func(e *evidence) rule.Failures {
		failures := rule.FailIf(len(e.cut.ds) == 0, "%s is signed, and %s has no DS record for it.", e.Domain,
			e.parentName())
		if len(failures) > 0 && !e.sec.refused() && len(e.Unanswered()) == 0 {
			failures[0].Suggested = e.sec.ds.propose
		}
		return failures
	},
}, {
	Code: "zone.dnssec.algorithm.weak", Severity: diag.Warning, Weight: 2, Reads: []rule.Source{recordsKeys, identity},
	HoldsWhenUnanswered: true, Ref: "Zonemaster DNSSEC05, RFC 9904 section 3, RFC 9905 section 2",
	Title: "Key with an algorithm that is not recommended", Requirement: "The keys have recommended algorithms",
	Advice: "Roll over to ECDSA P-256 (13), Ed25519 (15) or RSA/SHA-256 (8).", When: signed,
	Fails: func(e *evidence) rule.Failures {
		return e.eachKey(func(k *dns.DNSKEY) string {
			switch dnssec.Recommend(k.Algorithm) {
			case dnssec.MustNot, dnssec.Unregistered:
				return fmt.Sprintf("has algorithm %d (%s)", k.Algorithm, resolve.AlgorithmName(k.Algorithm))
			}
			return ""
		})
	},
}, {
	Code: "zone.dnssec.key.size", Severity: diag.Warning, Weight: 2, Reads: []rule.Source{recordsKeys, identity},
	HoldsWhenUnanswered: true, Ref: "Zonemaster DNSSEC14, RFC 6781 section 3.4.2, RFC 3110 section 3",
	Title: "RSA key of an unsuitable size", Requirement: "RSA keys have 2048 to 4096 bits",
	Advice: "Roll over to an RSA key with 2048 bits, or to ECDSA P-256 (13).",
	When: func(e *evidence) bool {
		return slices.ContainsFunc(e.sec.keys, func(k *dns.DNSKEY) bool { return dnssec.RSABits(k) > 0 })
	},
	Fails: func(e *evidence) rule.Failures {
		return e.eachKey(func(k *dns.DNSKEY) string {
			bits := dnssec.RSABits(k)
			return view.TextIf(bits > 0 && (bits < 2048 || bits > 4096), fmt.Sprintf("has %d bits", bits))
		})
	},
}, {
	Code: "zone.dnssec.algorithm.unused", Severity: diag.Warning, Weight: 2,
	Ref:         "Zonemaster DNSSEC12, DNSSEC13, RFC 4035 section 2.2",
	Title:       "Key algorithm that does not sign the zone",
	Requirement: "Every algorithm of the keys and DS records signs the zone",
	Advice:      "Sign the zone with each algorithm, or remove the keys and DS records of the others.",
	When:        func(e *evidence) bool { return signed(e) && len(e.sec.algs) > 0 },
	Fails: func(e *evidence) rule.Failures {
		wanted := maps.Clone(e.sec.keyAlgs)
		for _, ds := range e.sec.ds.matched {
			wanted[ds.Algorithm] = true
		}
		return rule.FailEach(slices.Sorted(maps.Keys(wanted)), func(alg uint8) rule.Failures {
			return rule.FailIf(
				!e.sec.algs[alg],
				"The zone has a key with algorithm %d (%s), but no signature over the SOA record with it.",
				alg,
				resolve.AlgorithmName(alg),
			)
		})
	},
}}

// dsFailures makes a failure for each DS record, of a text that continues a sentence.
func (e *evidence) dsFailures(list []*dns.DS, text string) rule.Failures {
	return rule.FailEach(list, func(ds *dns.DS) rule.Failures {
		return rule.Fail("The DS record with key tag %d, algorithm %d and digest type %d %s.", ds.KeyTag, ds.Algorithm,
			ds.DigestType, text).About(fmt.Sprintf("DS %d %d %d", ds.KeyTag, ds.Algorithm, ds.DigestType))
	})
}

// eachKey makes a failure for each key for which a function returns a text.
func (e *evidence) eachKey(detail func(*dns.DNSKEY) string) rule.Failures {
	return rule.FailEach(e.sec.keys, func(k *dns.DNSKEY) rule.Failures {
		text := detail(k)
		return rule.FailIf(text != "", "The key with tag %d %s.", k.KeyTag(), text)
	})
}

// judged reports whether any set of records, or proof, was examined for its signatures.
func judged(e *evidence) bool { return signed(e) && e.sec.judged > 0 }

// signatureRules are the rules that fail by recorded notices if they have no test of their own.
var signatureRules = noted(rule.Rules[*evidence]{{
	Code: "zone.dnssec.signature.missing", Severity: diag.Error, Weight: 5,
	Ref:   "Zonemaster DNSSEC08, DNSSEC09, RFC 4035 section 2.2",
	Title: "DNSSEC signature missing", Requirement: "All records are signed",
	Advice: "Sign the zone again, and check that all name servers have the new version.",
}, {
	Code: "zone.dnssec.signature.expired", Severity: diag.Critical, Weight: 10,
	Ref:   "Zonemaster DNSSEC04, DNSSEC08, DNSSEC09, RFC 4035 section 5.3.1",
	Title: "DNSSEC signature expired", Requirement: "No signature has expired",
	Advice: "Sign the zone again now, and find out why the signer stopped: validating resolvers reject the records.",
}, {
	Code: "zone.dnssec.signature.future", Severity: diag.Critical, Weight: 5,
	Ref:   "Zonemaster DNSSEC04, RFC 4035 section 5.3.1",
	Title: "DNSSEC signature not valid yet", Requirement: "All signatures are valid already",
	Advice: "Correct the clock of the signer, and sign the zone again.",
}, {
	Code: "zone.dnssec.signature.signer", Severity: diag.Error, Weight: 5, Ref: "RFC 4035 section 5.3.1",
	Title: "DNSSEC signature by another zone", Requirement: "All signatures are by the zone itself",
	Advice: "Sign the zone again with its own keys.",
}, {
	Code: "zone.dnssec.signature.labels", Severity: diag.Error, Weight: 3,
	Ref:         "RFC 4035 section 5.3.1, RFC 4034 section 3.1.3",
	Title:       "DNSSEC signature with a wrong number of labels",
	Requirement: "All signatures have the labels of their names",
	Advice:      "Sign the zone again with other software.",
}, {
	Code: "zone.dnssec.signature.key", Severity: diag.Error, Weight: 5,
	Ref:         "Zonemaster DNSSEC08, DNSSEC09, RFC 4035 section 5.3.1",
	Title:       "DNSSEC signature by a key that the zone does not have",
	Requirement: "The keys of all signatures are in the zone",
	Advice:      "Publish the key, or sign the zone again with the published keys.",
}, {
	Code: "zone.dnssec.signature.invalid", Severity: diag.Critical, Weight: 10,
	Ref:   "Zonemaster DNSSEC08, DNSSEC09, RFC 4035 section 5.3.3",
	Title: "Invalid DNSSEC signature", Requirement: "All signatures are valid",
	Advice: "Sign the zone again: something changed the records or the signatures after signing.",
}, {
	Code: "zone.dnssec.signature.stray", Severity: diag.Error, Weight: 3,
	Ref:   "RFC 4035 section 2.2, RFC 6840 section 5.11",
	Title: "Invalid DNSSEC signature beside a valid one", Requirement: "No signature beside a valid one is invalid",
	Advice: "Sign the zone again and remove the invalid signatures: some resolvers reject records that have one.",
}, {
	Code: "zone.dnssec.signature.urgent", Severity: diag.Error, Weight: 5,
	Ref:   "Zonemaster DNSSEC04, RFC 4035 section 5.3.1",
	Title: "DNSSEC signature expires within hours", Requirement: "No signature is about to expire",
	Advice: "Sign the zone again now, and find out why the signer stopped.",
}, {
	Code: "zone.dnssec.signature.expiring", Severity: diag.Warning, Weight: 3, Fact: reach.SignatureEnds,
	Ref:   "Zonemaster DNSSEC04, RFC 6781 section 4.4.2",
	Title: "DNSSEC signature not renewed in time", Requirement: "Signatures are renewed well before they expire",
	Advice: "Check that the signer runs: it should have renewed these signatures by now.",
}, {
	Code: "zone.dnssec.signature.long", Severity: diag.Warning, Weight: 1,
	Ref:         "Zonemaster DNSSEC04, RFC 6781 section 4.4.2",
	Title:       "DNSSEC signature valid for more than half a year",
	Requirement: "Signatures are valid for half a year at most",
	Advice:      "Shorten the validity of signatures: changed records can be replayed until they expire.",
}, {
	Code: "zone.dnssec.signature.ttl", Severity: diag.Warning, Weight: 1, Ref: "RFC 4035 section 5.3.3",
	Title: "TTL longer than the signed TTL", Requirement: "No TTL is longer than the signed one",
	Advice: "Sign the zone again after changing a TTL: validating resolvers use the shorter one, others do not.",
}, {
	Code: "zone.dnssec.denial", Severity: diag.Error, Weight: 5,
	Ref:   "Zonemaster DNSSEC10, RFC 4035 section 5.4, RFC 5155 section 8",
	Title: "Negative answer without a valid DNSSEC proof", Requirement: "Negative answers are proved",
	Advice: "Sign the zone again, and check that the name servers support NSEC and NSEC3.",
	When:   func(e *evidence) bool { return signed(e) && e.sec.proofs > 0 },
}, {
	Code: "zone.dnssec.nsec3.iterations", Severity: diag.Warning, Weight: 1, Reads: []rule.Source{content},
	Ref:   "Zonemaster DNSSEC03, RFC 9276 section 3.1",
	Title: "NSEC3 with additional iterations", Requirement: "NSEC3 has no additional iterations",
	Advice: "Set the NSEC3 iterations to 0: more of them only burden servers and resolvers.",
	When:   func(e *evidence) bool { return hashed(e) && e.sec.param.Iterations <= dnssec.MaxIterations },
	Fails: func(e *evidence) rule.Failures {
		n := e.sec.param.Iterations
		return rule.FailIf(n > 0, "The NSEC3PARAM record of %s asks for %s.", e.Domain,
			phrase.Count(int(n), "additional iteration"))
	},
}, {
	Code: "zone.dnssec.nsec3.excessive", Severity: diag.Error, Weight: 3, Reads: []rule.Source{content},
	Ref:         "Zonemaster DNSSEC03, RFC 9276 section 3.2",
	Title:       "More NSEC3 iterations than resolvers accept",
	Requirement: "NSEC3 has no more iterations than resolvers accept",
	Advice:      "Set the NSEC3 iterations to 0: resolvers treat the zone as unsigned, or reject its answers.",
	When:        hashed,
	Fails: func(e *evidence) rule.Failures {
		n := e.sec.param.Iterations
		return rule.FailIf(n > dnssec.MaxIterations,
			"The NSEC3PARAM record of %s asks for %d iterations; many resolvers accept %d at most.",
			e.Domain, n, dnssec.MaxIterations)
	},
}}).With(rule.Rule[*evidence]{When: judged})

// hashed reports whether the parameters of NSEC3 are known.
func hashed(e *evidence) bool { return signed(e) && e.sec.param != nil }

// noted gives the rules without a test that of their code.
func noted(rules rule.Rules[*evidence]) rule.Rules[*evidence] {
	for i := range rules {
		if rules[i].Fails == nil {
			rules[i].Fails = func(e *evidence) rule.Failures { return e.sec.failures(rules[i].Code) }
		}
	}
	return rules
}

func (s *zoneSecurity) failures(code diag.Code) (list rule.Failures) {
	for _, n := range s.notices {
		if n.rule == code {
			list = append(list, rule.Failure{Detail: n.text, Target: joined(n.targets), Due: n.due})
		}
	}
	return list
}
