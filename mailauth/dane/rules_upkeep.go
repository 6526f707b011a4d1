package dane

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
)

// applied reports whether a host has records that senders use, with nothing else to do first.
func applied(e *evidence) bool {
	return slices.ContainsFunc(e.hosts, func(h host) bool { return h.fault == none || h.fault == unverified })
}

// usableEach fails for such hosts whose usable records a test finds fault with.
func usableEach(e *evidence, test func(h *host, records []Record) diag.Failures) (all diag.Failures) {
	for i := range e.hosts {
		if h := &e.hosts[i]; h.fault == none || h.fault == unverified {
			all = append(all, test(h, h.usable()).About(h.Name)...)
		}
	}
	return all
}

var upkeepRules = diag.Rules[*evidence]{{
	Code: "dane.tlsa.renewal", Severity: diag.Info, Ref: "RFC 7671 section 5.1",
	Title:       "TLSA records break whenever the certificate is renewed",
	Requirement: "TLSA records survive the renewal of the certificate with the same key",
	Advice: "Publish a record 3 1 1 with the SHA-256 of the public key beside it, and let the renewal keep the key: a " +
		"record of the whole certificate (3 0 x) must be replaced before each renewal.",
	When: applied, Fails: func(e *evidence) diag.Failures {
		return usableEach(e, func(h *host, records []Record) diag.Failures {
			lasting := func(r Record) bool { return r.Usage != daneee || r.Selector != cert }
			return diag.FailIf(!slices.ContainsFunc(records, lasting),
				"All TLSA records at %s are for the whole certificate, which changes when it is renewed.", e.recordName(h.base))
		})
	},
}, {
	Code: "dane.tlsa.rollover", Severity: diag.Info, Ref: "RFC 7671 section 8.1",
	Title:       "Only one TLSA record, none for the next key",
	Requirement: "There are TLSA records for the present and the next key",
	Advice: "Publish a second record before the key changes, for the next key (3 1 1) or for the authority that issues " +
		"the certificates (2 1 1), and wait for its TTL before the new key is used.",
	When: applied, Fails: func(e *evidence) diag.Failures {
		return usableEach(e, func(h *host, records []Record) diag.Failures {
			return diag.FailIf(len(records) == 1, "The only TLSA record at %s that senders use is %s.",
				e.recordName(h.base), records[0].brief())
		})
	},
}}
