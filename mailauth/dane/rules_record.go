package dane

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
)

func published(e *evidence) bool { return e.published() }

// eachRecord fails for every record of every host that a test finds fault with; the test returns a clause about it.
func eachRecord(e *evidence, test func(h *host, r Record) string) (all diag.Failures) {
	for i := range e.hosts {
		h := &e.hosts[i]
		for _, r := range h.records {
			if clause := test(h, r); clause != "" {
				all = append(all, diag.Fail("The TLSA record %s at %s %s.", diag.Quote(r.brief()), e.recordName(h.base), clause).
					About(h.Name)...)
			}
		}
	}
	return all
}

func faulty(kind func(Record) bool) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		return eachRecord(e, func(_ *host, r Record) string {
			if !kind(r) {
				return ""
			}
			return r.Fault()
		})
	}
}

var recordRules = diag.Rules[*evidence]{{
	Code: "dane.tlsa.unusable", Severity: diag.Error, Weight: 10, Ref: "RFC 7672 section 2.2",
	Title:       "No TLSA record that senders can use",
	Requirement: "Senders can use a TLSA record of each mail server that has some",
	Advice:      "Publish a TLSA record 3 1 1 with the SHA-256 of the public key of the server, then remove the others.",
	When:        func(e *evidence) bool { return e.grounded() },
	Fails: func(e *evidence) diag.Failures {
		return each(e, func(h *host) diag.Failures {
			return diag.Fail("Senders can use none of the TLSA records at %s: they deliver over TLS, and do not check whose "+
				"server it is.", e.recordName(h.base))
		}, unusable)
	},
}, {
	Code: "dane.tlsa.usage.pkix", Severity: diag.Warning, Weight: 2, Ref: "RFC 7672 section 3.1.3",
	Title:       "TLSA usage 0 or 1, which has no effect for SMTP",
	Requirement: "No TLSA record has the usage PKIX-TA(0) or PKIX-EE(1)",
	Advice: "Replace the record: by usage 3 instead of 1, and by usage 2 instead of 0 if the server sends the " +
		"certificate of that authority. Mail servers treat the usages 0 and 1 as unusable.",
	Fails: func(e *evidence) diag.Failures {
		return eachRecord(e, func(_ *host, r Record) string {
			if r.Usage > pkixee {
				return ""
			}
			return "has the usage " + r.Usage.String() + ", which is unusable for SMTP"
		})
	},
}, {
	Code: "dane.tlsa.usage.unknown", Severity: diag.Warning, Weight: 1, Ref: "RFC 6698 section 2.1.1",
	Title: "TLSA record with an unknown usage", Requirement: "All TLSA records have a defined usage",
	Advice: "Correct the first number of the record, such as to 3 for the certificate of the server itself.",
	Fails:  faulty(func(r Record) bool { return r.Usage > daneee }),
}, {
	Code: "dane.tlsa.selector.unknown", Severity: diag.Warning, Weight: 1, Ref: "RFC 6698 section 2.1.2",
	Title: "TLSA record with an unknown selector", Requirement: "All TLSA records have a defined selector",
	Advice: "Correct the second number of the record: 1 for the public key, 0 for the whole certificate.",
	Fails:  faulty(func(r Record) bool { return r.Usage <= daneee && r.Selector > spki }),
}, {
	Code: "dane.tlsa.matching.unknown", Severity: diag.Warning, Weight: 1, Ref: "RFC 6698 section 2.1.3",
	Title: "TLSA record with an unknown matching type", Requirement: "All TLSA records have a defined matching type",
	Advice: "Correct the third number of the record: 1 for SHA-256.",
	Fails:  faulty(func(r Record) bool { return r.Usage <= daneee && r.Selector <= spki && r.Matching > SHA512 }),
}, {
	Code: "dane.tlsa.data", Severity: diag.Warning, Weight: 2, Ref: "RFC 6698 section 2.1.4",
	Title:       "TLSA record with data of the wrong length or form",
	Requirement: "The data of all TLSA records have the form that the matching type demands",
	Advice: "Publish the data anew: 64 hexadecimal digits for the matching type 1, 128 for 2, the whole certificate or " +
		"key in DER for 0. Often the end was cut off or quotation marks were added.",
	Fails: faulty(func(r Record) bool {
		return r.Usage <= daneee && r.Selector <= spki && r.Matching <= SHA512 && r.Fault() != ""
	}),
}}

// shownDigits is how much of the data stands in a sentence: enough to tell records apart.
const shownDigits = 16

func (r Record) brief() string {
	text := r.String()
	if limit := len(r.numbers()) + 1 + shownDigits; len(text) > limit {
		return text[:limit] + "…"
	}
	return text
}

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
