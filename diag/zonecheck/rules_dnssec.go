package zonecheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/miekg/dns"
)

// secured reports whether the zone above has DS records.
func secured(e *evidence) bool { return e.cut.dsKnown && len(e.cut.ds) > 0 }

// keysKnown reports whether a server said which keys there are.
func keysKnown(e *evidence) bool {
	return slices.ContainsFunc(e.serving, func(ad *address) bool {
		return e.records(ad, probeKeys, dns.TypeDNSKEY) != nil
	})
}

// keyRules are about keys, and the DS records that stand for them.
var keyRules = diag.Rules[*evidence]{
	{
		Code: "zone.dnssec.unsigned", Severity: diag.Critical, Weight: 10, Category: categorySecurity,
		Requirement: "A zone with DS records above it is signed",
		Ref:         "Zonemaster DNSSEC11, RFC 4035 section 5.2",
		Advice:      "Let the registrar remove the DS records now, or sign the zone: resolvers that validate refuse it.",
		When:        func(e *evidence) bool { return secured(e) && keysKnown(e) },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!signed(e), "There are %d DS records, and the zone has no keys.", len(e.cut.ds))
		},
	},
	{
		Code: "zone.dnssec.ds.mismatch", Severity: diag.Critical, Weight: 10, Category: categorySecurity,
		Requirement: "A DS record stands for a key that signs the keys",
		Ref:         "Zonemaster DNSSEC02, RFC 4035 section 5.2",
		Advice:      "Let the registrar replace the DS records by those of the present keys.",
		When:        func(e *evidence) bool { return secured(e) && signed(e) && e.sec.ds.usable > 0 },
		Fails: func(e *evidence) diag.Failures {
			if len(e.sec.ds.matched) > 0 {
				return nil
			}
			return e.dsFailures(e.sec.ds.standby, "It stands for no key that signs the keys of the zone.")
		},
	},
	{
		Code: "zone.dnssec.ds.standby", Severity: diag.Info, Category: categorySecurity,
		Requirement: "Every DS record stands for a key in use",
		Ref:         "Zonemaster DNSSEC02, RFC 6781 section 4.1.2",
		Advice:      "Let the registrar remove the DS record unless a change of keys is under way.",
		When:        func(e *evidence) bool { return secured(e) && signed(e) && len(e.sec.ds.matched) > 0 },
		Fails: func(e *evidence) diag.Failures {
			return e.dsFailures(e.sec.ds.standby, "It stands for no key that signs the keys of the zone.")
		},
	},
	{
		Code: "zone.dnssec.ds.digest", Severity: diag.Warning, Weight: 2, Category: categorySecurity,
		Requirement: "The DS records have digests that are recommended",
		Ref:         "Zonemaster DNSSEC01, RFC 9904 section 3, RFC 9905 section 2",
		Advice:      "Let the registrar enter DS records with SHA-256 (digest type 2), and remove the others.",
		When:        secured,
		Fails: func(e *evidence) diag.Failures {
			weak := slices.DeleteFunc(slices.Clone(e.cut.ds), func(ds *dns.DS) bool {
				return ds.DigestType == dns.SHA256 || ds.DigestType == dns.SHA384
			})
			var list diag.Failures
			for _, ds := range weak {
				list = append(list, e.dsFailures([]*dns.DS{ds}, fmt.Sprintf("Its digest has type %d.", ds.DigestType))...)
			}
			return list
		},
	},
	{
		Code: "zone.dnssec.ds.algorithm", Severity: diag.Warning, Weight: 2, Category: categorySecurity,
		Requirement: "Validators know the algorithm of a DS record",
		Ref:         "Zonemaster DNSSEC02, RFC 4035 section 5.2",
		Advice:      "Enter DS records of keys with a current algorithm: until then the zone counts as unsigned.",
		When:        secured,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!slices.ContainsFunc(e.cut.ds, dnssec.Policy{}.Usable), "None of the %d DS records can be used.", len(e.cut.ds))
		},
	},
	{
		Code: "zone.dnssec.island", Severity: diag.Warning, Weight: 2, Category: categorySecurity,
		Requirement: "The zone above has DS records for a signed zone",
		Ref:         "Zonemaster DNSSEC07, RFC 4035 section 5.2",
		Advice:      "Give the registrar the DS records: without them nobody checks the signatures.",
		When:        func(e *evidence) bool { return e.cut.dsKnown && signed(e) },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.cut.ds) == 0, "The zone is signed, and there is no DS record.")
		},
	},
	{
		Code: "zone.dnssec.algorithm.weak", Severity: diag.Warning, Weight: 2, Category: categorySecurity,
		Requirement: "The keys have algorithms that are recommended",
		Ref:         "Zonemaster DNSSEC05, RFC 9904 section 3, RFC 9905 section 2",
		Advice:      "Change to ECDSA P-256 (13), Ed25519 (15) or RSA/SHA-256 (8).",
		When:        signed,
		Fails: func(e *evidence) diag.Failures {
			return e.eachKey(func(k *dns.DNSKEY) string {
				switch dnssec.Recommend(k.Algorithm) {
				case dnssec.MustNot, dnssec.Unregistered:
					return keyText(k) + "."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.dnssec.key.size", Severity: diag.Warning, Weight: 2, Category: categorySecurity,
		Requirement: "RSA keys have 2048 to 4096 bits",
		Ref:         "Zonemaster DNSSEC14, RFC 6781 section 3.4.2, RFC 3110 section 3",
		Advice:      "Make a new key with 2048 bits, or change to ECDSA P-256 (13).",
		When:        signed,
		Fails: func(e *evidence) diag.Failures {
			return e.eachKey(func(k *dns.DNSKEY) string {
				if bits := dnssec.RSABits(k); bits > 0 && (bits < 2048 || bits > 4096) {
					return fmt.Sprintf("The key with tag %d has %d bits.", k.KeyTag(), bits)
				}
				return ""
			})
		},
	},
	{
		Code: "zone.dnssec.algorithm.unused", Severity: diag.Warning, Weight: 2, Category: categorySecurity,
		Requirement: "Every algorithm of the keys and DS records signs the zone",
		Ref:         "Zonemaster DNSSEC12, DNSSEC13, RFC 4035 section 2.2",
		Advice:      "Sign the zone with each algorithm, or remove the keys and DS records of the others.",
		When:        func(e *evidence) bool { return signed(e) && len(e.sec.algs) > 0 },
		Fails: func(e *evidence) diag.Failures {
			wanted := maps.Clone(e.sec.keyAlgs)
			for _, ds := range e.sec.ds.matched {
				wanted[ds.Algorithm] = true
			}
			var list []string
			for _, alg := range slices.Sorted(maps.Keys(wanted)) {
				if !e.sec.algs[alg] {
					list = append(list, fmt.Sprintf("Algorithm %d (%s) does not sign the SOA record.", alg, dnssec.AlgorithmName(alg)))
				}
			}
			return failing(list)
		},
	},
	{
		Code: "zone.dnssec.servers.unsigned", Severity: diag.Error, Weight: 5, Category: categorySecurity,
		Requirement: "All servers have the signed zone",
		Ref:         "Zonemaster DNSSEC06, RFC 4035 section 3.1",
		Advice:      "Let the server take over the signed zone: what it answers is refused by resolvers that validate.",
		When:        signed,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.sec.bare, func(*address) string { return "It answers without keys or signatures." })
		},
	},
	{
		Code: "zone.dnssec.servers.differ", Severity: diag.Error, Weight: 3, Category: categorySecurity,
		Requirement: "All servers have the same keys",
		Ref:         "Zonemaster DNSSEC08, RFC 4035 section 2.1, RFC 8901 section 2.1",
		Advice:      "Bring all servers to the same version of the zone; providers that sign apart must share all keys.",
		When:        signed,
		Fails:       func(e *evidence) diag.Failures { return diag.FailIf(e.sec.differ, "Servers have different keys.") },
	},
}

// dsFailures makes a failure for each DS record.
func (e *evidence) dsFailures(list []*dns.DS, detail string) diag.Failures {
	var failures diag.Failures
	for _, ds := range list {
		failures = append(failures, diag.Failure{
			Detail: detail,
			Target: fmt.Sprintf("DS %d %d %d", ds.KeyTag, ds.Algorithm, ds.DigestType),
		})
	}
	return failures
}

func (e *evidence) eachKey(detail func(*dns.DNSKEY) string) diag.Failures {
	var list []string
	for _, k := range e.sec.keys {
		list = appendText(list, detail(k))
	}
	return failing(list)
}

// wishful reports whether the zone publishes what the zone above is to have.
func wishful(e *evidence) bool { return len(e.sec.cds)+len(e.sec.cdnskey) > 0 }

// wishKnown reports whether it is known if the zone publishes that.
func wishKnown(e *evidence) bool {
	return e.at(e.zone, dns.TypeCDS).ok() || e.at(e.zone, dns.TypeCDNSKEY).ok()
}

// deletes reports whether the zone asks for the DS records to be removed (RFC 8078 section 4).
func (e *evidence) deletes() bool {
	return slices.ContainsFunc(e.sec.cds, func(ds *dns.DS) bool { return ds.Algorithm == 0 }) ||
		slices.ContainsFunc(e.sec.cdnskey, func(k *dns.DNSKEY) bool { return k.Algorithm == 0 })
}

// childRules are about CDS and CDNSKEY, with which the zone asks for other DS records.
var childRules = diag.Rules[*evidence]{
	{
		Code: "zone.dnssec.cds.present", Severity: diag.Info, Category: categorySecurity,
		Requirement: "The DS records are left to the registrar",
		Ref:         "Zonemaster DNSSEC15, RFC 7344 section 4",
		Advice:      "Nothing needs to be done: a zone above that looks for CDS records keeps its DS records up to date.",
		When:        wishKnown,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(wishful(e), "There are %d CDS and %d CDNSKEY records.", len(e.sec.cds), len(e.sec.cdnskey))
		},
	},
	{
		Code: "zone.dnssec.cds.unsigned", Severity: diag.Warning, Weight: 1, Category: categorySecurity,
		Requirement: "CDS and CDNSKEY records are in a signed zone",
		Ref:         "Zonemaster DNSSEC16, DNSSEC17, RFC 7344 section 4.1",
		Advice:      "Remove them, or sign the zone.",
		When:        func(e *evidence) bool { return wishful(e) && keysKnown(e) },
		Fails:       func(e *evidence) diag.Failures { return diag.FailIf(!signed(e), "The zone is not signed.") },
	},
	{
		Code: "zone.dnssec.cds.delete", Severity: diag.Info, Category: categorySecurity,
		Requirement: "The zone does not ask for its DS records to be removed",
		Ref:         "Zonemaster DNSSEC16, DNSSEC17, RFC 8078 section 4",
		Advice:      "Nothing needs to be done if DNSSEC is to be switched off.",
		When:        wishful,
		Fails:       func(e *evidence) diag.Failures { return diag.FailIf(e.deletes(), "It does (algorithm 0).") },
	},
	{
		Code: "zone.dnssec.cds.differ", Severity: diag.Warning, Weight: 1, Category: categorySecurity,
		Requirement: "CDS and CDNSKEY records say the same",
		Ref:         "Zonemaster DNSSEC15, RFC 7344 section 4",
		Advice:      "Publish both for the same keys.",
		When: func(e *evidence) bool {
			return len(e.sec.cds) > 0 && len(e.sec.cdnskey) > 0 && !e.deletes()
		},
		Fails: func(e *evidence) diag.Failures {
			for _, ds := range e.sec.cds {
				stands := func(k *dns.DNSKEY) bool { return dnssec.StandsFor(ds, k) }
				if !slices.ContainsFunc(e.sec.cdnskey, stands) {
					return diag.Fail("For the CDS record of key %d there is no CDNSKEY record.", ds.KeyTag)
				}
			}
			for _, k := range e.sec.cdnskey {
				stands := func(ds *dns.DS) bool { return dnssec.StandsFor(ds, k) }
				if !slices.ContainsFunc(e.sec.cds, stands) {
					return diag.Fail("For the CDNSKEY record of key %d there is no CDS record.", k.KeyTag())
				}
			}
			return nil
		},
	},
	{
		Code: "zone.dnssec.cds.mismatch", Severity: diag.Error, Weight: 3, Category: categorySecurity,
		Requirement: "CDS and CDNSKEY records stand for a key of the zone",
		Ref:         "Zonemaster DNSSEC16, DNSSEC17, RFC 7344 section 4.1",
		Advice:      "Publish them for the keys that sign the keys: else a zone above that follows breaks the domain.",
		When:        func(e *evidence) bool { return wishful(e) && signed(e) && !e.deletes() },
		Fails: func(e *evidence) diag.Failures {
			for _, k := range e.sec.keys {
				same := func(c *dns.DNSKEY) bool { return contentOf(c) == contentOf(k) }
				if slices.ContainsFunc(e.sec.cds, func(ds *dns.DS) bool { return dnssec.StandsFor(ds, k) }) ||
					slices.ContainsFunc(e.sec.cdnskey, same) {
					return nil
				}
			}
			return diag.Fail("None of them stands for a key of the zone.")
		},
	},
	{
		Code: "zone.dnssec.cds.signature", Severity: diag.Error, Weight: 2, Category: categorySecurity,
		Requirement: "CDS and CDNSKEY records are signed by a key that the zone above knows",
		Ref:         "Zonemaster DNSSEC18, RFC 7344 section 4.1",
		Advice:      "Sign them with the key that the DS records stand for: else the zone above must ignore them.",
		When:        func(e *evidence) bool { return wishful(e) && signed(e) && secured(e) },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!e.sec.cdsOK, "There is no such signature over them.")
		},
	},
	{
		Code: "zone.dnssec.cds.pending", Severity: diag.Info, Category: categorySecurity,
		Requirement: "The zone above has done what CDS records ask for",
		Ref:         "Zonemaster DNSSEC16, RFC 7344 section 6",
		Advice:      "Nothing needs to be done if the zone above looks for CDS records; else tell the registrar.",
		When:        func(e *evidence) bool { return len(e.sec.cds) > 0 && e.cut.dsKnown },
		Fails: func(e *evidence) diag.Failures {
			wanted, present := dsTexts(e.sec.cds), dsTexts(e.cut.ds)
			if e.deletes() {
				wanted = nil
			}
			return diag.FailIf(!slices.Equal(wanted, present), "It has other DS records.")
		},
	},
}

func dsTexts(list []*dns.DS) []string {
	var texts []string
	for _, ds := range list {
		texts = append(texts, fmt.Sprint(ds.KeyTag, ds.Algorithm, ds.DigestType, strings.ToLower(ds.Digest)))
	}
	slices.Sort(texts)
	return texts
}
