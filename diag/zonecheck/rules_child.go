package zonecheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
	"github.com/miekg/dns"
)

// hasChildDS reports whether the zone has CDS or CDNSKEY records.
func hasChildDS(e *evidence) bool { return len(e.sec.cds)+len(e.sec.cdnskey) > 0 }

// deletesDS reports whether the zone asks for its DS records to be removed (RFC 8078 section 4).
func (e *evidence) deletesDS() bool {
	return slices.ContainsFunc(e.sec.cds, func(ds *dns.DS) bool { return ds.Algorithm == 0 }) ||
		slices.ContainsFunc(e.sec.cdnskey, func(k *dns.DNSKEY) bool { return k.Algorithm == 0 })
}

// childRules are about CDS and CDNSKEY, with which the zone asks for other DS records.
var childRules = diag.Rules[*evidence]{{
	Code: "zone.dnssec.cds.unsigned", Severity: diag.Warning, Weight: 1,
	Ref:   "Zonemaster DNSSEC16, DNSSEC17, RFC 7344 section 4.1",
	Title: "CDS or CDNSKEY records in an unsigned zone", Requirement: "CDS and CDNSKEY records are in a signed zone",
	Advice: "Remove the CDS and CDNSKEY records, or sign the zone.",
	When:   func(e *evidence) bool { return hasChildDS(e) && told(1, survey.ProbeKeys)(e) },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(!signed(e), "%s has CDS or CDNSKEY records and no DNSKEY record.", e.Domain)
	},
}, {
	Code: "zone.dnssec.cds.delete", Severity: diag.Info, Ref: "Zonemaster DNSSEC16, DNSSEC17, RFC 8078 section 4",
	Title:       "Zone asks for its DS records to be removed",
	Requirement: "The zone does not ask for its DS records to be removed",
	Advice:      "Remove these CDS and CDNSKEY records unless DNSSEC is to be switched off.", When: hasChildDS,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.deletesDS(), "%s has CDS or CDNSKEY records with algorithm 0, which ask for removal.", e.Domain)
	},
}, {
	Code: "zone.dnssec.cds.differ", Severity: diag.Warning, Weight: 1, Ref: "Zonemaster DNSSEC15, RFC 7344 section 4",
	Title:       "CDS and CDNSKEY records contradict each other",
	Requirement: "CDS and CDNSKEY records are for the same keys",
	Advice:      "Publish CDS and CDNSKEY records for the same keys.",
	When:        func(e *evidence) bool { return len(e.sec.cds) > 0 && len(e.sec.cdnskey) > 0 && !e.deletesDS() },
	Fails: func(e *evidence) diag.Failures {
		for _, ds := range e.sec.cds {
			matches := func(k *dns.DNSKEY) bool { return dnssec.StandsFor(ds, k) }
			if !slices.ContainsFunc(e.sec.cdnskey, matches) {
				return diag.Fail("There is a CDS record for key %d and no CDNSKEY record.", ds.KeyTag)
			}
		}
		for _, k := range e.sec.cdnskey {
			matches := func(ds *dns.DS) bool { return dnssec.StandsFor(ds, k) }
			if !slices.ContainsFunc(e.sec.cds, matches) {
				return diag.Fail("There is a CDNSKEY record for key %d and no CDS record.", k.KeyTag())
			}
		}
		return nil
	},
}, {
	Code: "zone.dnssec.cds.mismatch", Severity: diag.Error, Weight: 3,
	Ref:         "Zonemaster DNSSEC16, DNSSEC17, RFC 7344 section 4.1",
	Title:       "CDS and CDNSKEY records match no key of the zone",
	Requirement: "A CDS or CDNSKEY record matches a key of the zone",
	Advice:      "Publish CDS and CDNSKEY records of the keys in use: following these breaks the domain.",
	When:        func(e *evidence) bool { return hasChildDS(e) && signed(e) && !e.deletesDS() },
	Fails: func(e *evidence) diag.Failures {
		for _, k := range e.sec.keys {
			same := func(c *dns.DNSKEY) bool { return dataOf(c) == dataOf(k) }
			if slices.ContainsFunc(e.sec.cds, func(ds *dns.DS) bool { return dnssec.StandsFor(ds, k) }) ||
				slices.ContainsFunc(e.sec.cdnskey, same) {
				return nil
			}
		}
		return diag.Fail("None of the CDS and CDNSKEY records of %s matches one of its keys.", e.Domain)
	},
}, {
	Code: "zone.dnssec.cds.signature", Severity: diag.Error, Weight: 2,
	Ref:         "Zonemaster DNSSEC18, RFC 7344 section 4.1",
	Title:       "CDS or CDNSKEY records not signed by a trusted key",
	Requirement: "CDS and CDNSKEY records are signed by a key with a DS record",
	Advice:      "Sign the records with a key that has a DS record: otherwise the parent zone must ignore them.",
	When:        func(e *evidence) bool { return hasChildDS(e) && dsComparable(e) },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(!e.sec.cdsOK,
			"The CDS or CDNSKEY records of %s have no valid signature by a key with a DS record.", e.Domain)
	},
}, {
	Code: "zone.dnssec.cds.pending", Severity: diag.Info, Ref: "Zonemaster DNSSEC16, RFC 7344 section 6",
	Title:       "DS records differ from the CDS records",
	Requirement: "The DS records are those that the CDS records ask for",
	Advice:      "Wait if the parent zone processes CDS records; otherwise update the DS records at the registrar.",
	When:        func(e *evidence) bool { return len(e.sec.cds) > 0 && e.cut.dsKnown },
	Fails: func(e *evidence) diag.Failures {
		wanted, present := dsTexts(e.sec.cds), dsTexts(e.cut.ds)
		if e.deletesDS() {
			wanted = nil
		}
		return diag.FailIf(!slices.Equal(wanted, present), "The CDS records of %s ask for other DS records than %s has.",
			e.Domain, e.parentName())
	},
}}

func dsTexts(list []*dns.DS) []string {
	texts := diag.Map(list, func(ds *dns.DS) string {
		return fmt.Sprint(ds.KeyTag, ds.Algorithm, ds.DigestType, strings.ToLower(ds.Digest))
	})
	slices.Sort(texts)
	return texts
}
