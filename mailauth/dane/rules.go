package dane

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
)

var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(hostRules.Reading(fromNames), dnssecRules.Reading(fromNames, fromHosts),
		absenceRules.With(rule.Rule[*evidence]{Category: factorCoverage, Reads: []rule.Source{fromNames, fromHosts}}),
		recordRules.With(rule.Rule[*evidence]{
			Category: factorRecords, Reads: []rule.Source{fromNames, fromHosts}, HoldsWhenUnanswered: true,
			When: (*evidence).published}),
		slices.Concat(connectionRules, certificateRules.With(rule.Rule[*evidence]{Category: factorCertificate}), upkeepRules).
			Reading(fromNames, fromHosts, fromServers))
})

const (
	fromNames   rule.Source = "names"   // which hosts there are
	fromHosts   rule.Source = "hosts"   // their addresses and TLSA records, and whether these are signed
	fromServers rule.Source = "servers" // the certificates that they show
	fromApex    rule.Source = "domain"  // TLSA records at the domain itself
)

// Unanswered returns the sources that did not answer.
func (e *evidence) Unanswered() []rule.Source {
	_, known := e.mail.Receives()
	if e.port != portMail {
		known = e.srv.Err() == nil
	}
	mute := func(h host) bool {
		return h.fault != bogus && (h.Err() != nil || h.tlsa.Err() != nil || h.fault == statusUnknown)
	}
	return rule.Unanswered(map[rule.Source]bool{
		fromNames: known, fromHosts: e.namesDNSSEC != diag.Indeterminate && !slices.ContainsFunc(e.hosts, mute),
		fromServers: len(e.hostsWith(unreachable, unverified))+len(e.unreached()) == 0, fromApex: e.own.Err() == nil,
	})
}

func failEachHost(fails func(e *evidence, h *host) rule.Failures, faults ...fault) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailEach(e.hostsWith(faults...), func(h *host) rule.Failures { return fails(e, h).About(h.Name) })
	}
}

// failWithReason fails for every host with one of the faults, with the reason as a sentence and what follows from it.
func failWithReason(consequence string, faults ...fault) func(*evidence) rule.Failures {
	return failEachHost(func(e *evidence, h *host) rule.Failures {
		return rule.Fail("%s.%s", capital(e.reason(h)), consequence)
	}, faults...)
}

func capital(s string) string {
	if word, _, _ := strings.Cut(s, " "); slices.Contains([]string{"the", "there", "none", "no"}, word) {
		return phrase.Capitalize(s)
	}
	return s
}

func hasHosts(e *evidence) bool { return len(e.hosts) > 0 }

var hostRules = rule.Rules[*evidence]{{
	Code: "dane.mx.bogus", Severity: diag.Critical, Weight: 5, Category: factorDNSSEC,
	Reads: []rule.Source{fromNames, fromHosts}, HoldsWhenUnanswered: true, Ref: "RFC 7672 section 2.1.2",
	Title: "DNSSEC validation of the MX records fails", Requirement: "The MX records do not fail DNSSEC validation",
	Advice: "Repair the DNSSEC signatures or the DS records of the domain now; dnssec/check shows where the chain " +
		"breaks. Senders that validate cannot find the mail servers.",
	When: func(e *evidence) bool { return e.mail.MX.Err() == nil || e.namesDNSSEC == diag.Bogus },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.namesDNSSEC == diag.Bogus, "The signatures of the %s of %s are not valid.", e.source, e.domain)
	},
}, {
	Code: "dane.mx.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 7672 section 2.1.2",
	Title: "Mail servers could not be looked up", Requirement: "The name servers answer for the mail servers",
	Advice: "Check that every name server of the domain answers MX queries: senders defer mail while the lookup fails.",
	When:   func(e *evidence) bool { return e.namesDNSSEC != diag.Bogus },
	Fails: func(e *evidence) rule.Failures {
		switch {
		case e.port != portMail && e.srv.Err() != nil:
			return rule.Fail("The SRV lookup of %s.%s failed: %s.", e.service(), e.domain, diag.Reason(e.srv.Err()))
		case e.source != fromMX && hasHosts(e), e.mail.Unknown() == "":
			return nil
		}
		return rule.Fail("%s.", capital(e.mail.Unknown()))
	},
}, reach.NoDomain(rule.Rule[*evidence]{
	Code: "dane.domain.nxdomain", DependsOn: []diag.Code{"dane.mx.unknown"}, Ref: "RFC 5321 section 5.1",
	Fails: func(e *evidence) rule.Failures {
		exists, known := e.mail.Exists()
		return rule.FailIf(known && !exists && !hasHosts(e), "The DNS answers NXDOMAIN for %s.", e.domain)
	},
}), {
	Code: "dane.mail.none", NoAction: true, Severity: diag.Info, StateIfFailed: diag.Missing,
	DependsOn: []diag.Code{"dane.mx.bogus", "dane.mx.unknown", "dane.domain.nxdomain"}, Ref: "RFC 7672 section 2.2",
	Title: "No mail servers, so DANE is not needed", Requirement: "The domain has servers that DANE can protect",
	Advice: "Leave it: DANE protects servers only. Publish TLSA records once the domain has some.",
	Fails: func(e *evidence) rule.Failures {
		switch {
		case hasHosts(e):
			return nil
		case e.source == fromSRV:
			return rule.Fail("The SRV record at %s.%s says that there is no such service.", e.service(), e.domain)
		default:
			return rule.Fail("%s receives no mail: it %s.", e.domain, e.mail.Refusal())
		}
	},
}, {
	Code: "dane.host.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 7672 section 2.1.2",
	Title:       "Addresses of a mail server could not be looked up",
	Requirement: "The name servers answer for the addresses of the mail servers",
	Advice:      "Check the name servers of the host: senders defer mail while its addresses cannot be looked up.",
	When:        hasHosts, Fails: failWithReason("", addressUnknown),
}, {
	Code: "dane.host.address", Severity: diag.Warning, Weight: 10, Category: factorCoverage, Fact: reach.NoAddress,
	Differs: "senders turn to the other mail servers", Reads: []rule.Source{fromNames, fromHosts},
	HoldsWhenUnanswered: true,
	Ref:                 "RFC 5321 section 5.1",
	Title:               "Mail server without an address", Requirement: "Every mail server has an address",
	Advice: "Give the host an address, or remove the record that names it.",
	When:   hasHosts, Fails: failWithReason("", noAddress),
}, {
	Code: "dane.host.many", Severity: diag.Info, Ref: "RFC 5321 section 5.1",
	Title: "Too many mail servers to examine", Requirement: "All mail servers were examined",
	Advice: "Reduce the number of mail servers: senders try only a few of them.",
	When:   hasHosts, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.surplus > 0, "%s not examined, beyond the first %d.", wereServers(e.surplus), maxHosts)
	},
}}

func wereServers(n int) string {
	if n == 1 {
		return "1 mail server was"
	}
	return fmt.Sprintf("%d mail servers were", n)
}

var texts = rule.Texts{
	"excellent": {Headline: "DANE protects all mail servers",
		Sub: "Senders that use DANE deliver over authenticated TLS only. Publish the next TLSA record before a key " +
			"changes."},
	"valid": {Headline: "DANE is set up correctly",
		Sub: "Senders that use DANE deliver over authenticated TLS only. Publish the next TLSA record before a key " +
			"changes."},
	"dane.certificate.unverified": {Headline: "TLSA records are published; certificates were not compared",
		Sub: "Whether senders can deliver is not known without a connection to the mail servers."},
}

var (
	factorDNSSEC      = rule.Category{Code: "dnssec", Label: "DNSSEC"}
	factorRecords     = rule.Category{Code: "records", Label: "TLSA records"}
	factorCertificate = rule.Category{Code: "certificate", Label: "Certificates"}
	factorCoverage    = rule.Category{Code: "coverage", Label: "Mail servers covered"}
)

// eachRecord fails for every record of every host for which the test returns a clause. The advice of the rule is to
// correct the record: it is given if senders could use it then.
func eachRecord(test func(Record) string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailEach(e.hosts, func(h host) rule.Failures {
			return rule.FailEach(h.records, func(r Record) rule.Failures {
				clause := test(r)
				if clause == "" {
					return nil
				}
				f := rule.Fail("The TLSA record %s at %s %s.", phrase.Quote(abbreviate(r)), e.recordName(h.base), clause)
				f[0].Advice = h.correction(r)
				return f
			}).About(h.Name)
		})
	}
}

// correction returns the advice for a record that senders cannot use: it comes into force when it is corrected, and
// then the server must match it. It is empty if no certificate was seen, or the record cannot be corrected.
func (h *host) correction(r Record) string {
	s := h.server()
	if s == nil || len(s.chain) == 0 {
		return ""
	}
	for _, meant := range intendedRecords(r) {
		place := s.chain[1:]
		if meant.Usage == DANEEE {
			place = s.chain[:1]
		}
		if slices.ContainsFunc(place, meant.Matches) {
			return "Publish the record as " + meant.Numbers() + ", with the same data: they match the certificate that the " +
				"server presents now. Then remove this one."
		}
	}
	return "Remove the record, or replace it with 3 1 1 and the SHA-256 of the present key of the server. Do not only " +
		"correct its form: its data do not match the certificate that the server presents now, and once senders can use " +
		"the record it counts."
}

// meant are the records that senders can use, and that a record with a wrong number may have been meant as.
func intendedRecords(r Record) (list []Record) {
	usages, selectors, matchings := []Usage{DANEEE, DANETA}, []Selector{SPKI, Cert}, []Matching{SHA256, SHA512, Full}
	if r.Usage == DANEEE || r.Usage == DANETA {
		usages = []Usage{r.Usage}
	}
	if r.Selector <= SPKI {
		selectors = []Selector{r.Selector}
	}
	for _, u := range usages {
		for _, sel := range selectors {
			for _, m := range matchings {
				if one := (Record{Usage: u, Selector: sel, Matching: m, Data: r.Data}); one.Fault() == "" {
					list = append(list, one)
				}
			}
		}
	}
	return list
}

func faulty(kind func(Record) bool) func(*evidence) rule.Failures {
	return eachRecord(func(r Record) string {
		if !kind(r) {
			return ""
		}
		return r.Fault()
	})
}

// replacing suggests a record of the current key for each host with failures, if all these keys are known.
func (e *evidence) replacing(f rule.Failures) rule.Failures {
	var lines []string
	for i := range e.hosts {
		h := &e.hosts[i]
		if !slices.ContainsFunc(f, func(one rule.Failure) bool { return one.Target == h.Name }) {
			continue
		}
		if slices.ContainsFunc(h.records, func(r Record) bool { return r.UsableForSMTP() }) {
			return f // what is in force is not added to
		}
		line := e.suggestActivation(h)
		if line == "" {
			return f
		}
		lines = append(lines, line)
	}
	return f.Suggesting(strings.Join(lines, "\n"))
}

var recordRules = rule.Rules[*evidence]{{
	Code: "dane.tlsa.unusable", Severity: diag.Error, Weight: 10, Ref: "RFC 7672 section 2.2",
	Title:       "No TLSA record that senders can use",
	Requirement: "Senders can use a TLSA record of each mail server that has some",
	Advice:      "Publish a TLSA record 3 1 1 with the SHA-256 of the public key of the server, then remove the others.",
	When:        (*evidence).sendersApplyDANE,
	Fails: func(e *evidence) rule.Failures {
		return e.replacing(failEachHost(func(e *evidence, h *host) rule.Failures {
			return rule.Fail("Senders can use none of the TLSA records at %s: they deliver over TLS, and do not check whose "+
				"server it is.", e.recordName(h.base))
		}, unusable)(e))
	},
}, {
	Code: "dane.tlsa.usage.pkix", Severity: diag.Warning, Weight: 2, Ref: "RFC 7672 section 3.1.3",
	Title:       "TLSA usage 0 or 1, which has no effect for SMTP",
	Requirement: "No TLSA record has the usage PKIX-TA(0) or PKIX-EE(1)",
	Advice: "Replace usage 1 with 3, and usage 0 with 2 if the server sends the certificate of that authority, with " +
		"data that match what the server presents now. Mail servers treat the usages 0 " +
		"and 1 as unusable.",
	Fails: func(e *evidence) rule.Failures {
		return e.replacing(eachRecord(func(r Record) string {
			if r.Usage > PKIXEE {
				return ""
			}
			return "has the usage " + r.Usage.String() + ", which is unusable for SMTP"
		})(e))
	},
}, {
	Code: "dane.tlsa.usage.unknown", Severity: diag.Warning, Weight: 1, Ref: "RFC 6698 section 2.1.1",
	Title: "TLSA record with an unknown usage", Requirement: "All TLSA records have a defined usage",
	Advice: "Correct the first number of the record, such as to 3 for the certificate of the server itself, once its " +
		"data match what the server presents now.",
	Fails: faulty(func(r Record) bool { return r.Usage > DANEEE }),
}, {
	Code: "dane.tlsa.selector.unknown", Severity: diag.Warning, Weight: 1, Ref: "RFC 6698 section 2.1.2",
	Title: "TLSA record with an unknown selector", Requirement: "All TLSA records have a defined selector",
	Advice: "Correct the second number of the record, 1 for the public key, 0 for the whole certificate, once its " +
		"data match what the server presents now.",
	Fails: faulty(func(r Record) bool { return r.Usage <= DANEEE && r.Selector > SPKI }),
}, {
	Code: "dane.tlsa.matching.unknown", Severity: diag.Warning, Weight: 1, Ref: "RFC 6698 section 2.1.3",
	Title: "TLSA record with an unknown matching type", Requirement: "All TLSA records have a defined matching type",
	Advice: "Correct the third number of the record, such as to 1 for SHA-256, once its data match what the server " +
		"presents now.",
	Fails: faulty(func(r Record) bool { return r.Usage <= DANEEE && r.Selector <= SPKI && r.Matching > SHA512 }),
}, {
	Code: "dane.tlsa.data", Severity: diag.Warning, Weight: 2, Ref: "RFC 6698 section 2.1.4",
	Title:       "TLSA record with data of the wrong length or form",
	Requirement: "The data of all TLSA records have the form that the matching type demands",
	Advice: "Publish the data anew, of the present key or certificate of the server: 64 hexadecimal digits for the " +
		"matching type 1, 128 for 2, the whole certificate or key in DER for 0. Often the end was cut off or quotation " +
		"marks were added.",
	Fails: faulty(func(r Record) bool {
		return r.Usage <= DANEEE && r.Selector <= SPKI && r.Matching <= SHA512 && r.Fault() != ""
	}),
}}

// shownDigits is the number of digits of the data that a sentence quotes: enough to distinguish records.
const shownDigits = 16

func abbreviate(r Record) string {
	text := r.String()
	if limit := len(r.Numbers()) + 1 + shownDigits; len(text) > limit {
		return text[:limit] + "…"
	}
	return text
}

// hasEffectiveRecords reports whether a host has records that senders use, with no other action needed first.
func hasEffectiveRecords(e *evidence) bool {
	return len(e.hostsWith(none, unverified)) > 0
}

var upkeepRules = rule.Rules[*evidence]{{
	Code: "dane.tlsa.renewal", Severity: diag.Info, Ref: "RFC 7671 section 5.1",
	Title:       "TLSA records break whenever the certificate is renewed",
	Requirement: "TLSA records survive the renewal of the certificate with the same key",
	Advice: "Publish a record 3 1 1 with the SHA-256 of the public key beside it, and let the renewal keep the key: a " +
		"record of the whole certificate (3 0 x) must be replaced before each renewal.",
	When: hasEffectiveRecords, Fails: failEachHost(func(e *evidence, h *host) rule.Failures {
		lasting := func(r Record) bool { return r.Usage != DANEEE || r.Selector != Cert }
		return rule.FailIf(!slices.ContainsFunc(h.usable(), lasting),
			"All TLSA records at %s are for the whole certificate, which changes when it is renewed.", e.recordName(h.base))
	}, none, unverified),
}, {
	Code: "dane.tlsa.rollover", Severity: diag.Info, Ref: "RFC 7671 section 8.1",
	Title:       "Only one TLSA record, none for the next key",
	Requirement: "There are TLSA records for the present and the next key",
	Advice: "Publish a second record before the key changes, for the next key (3 1 1) or for the authority that issues " +
		"the certificates (2 1 1), and wait for its TTL before the new key is used.",
	When: hasEffectiveRecords, Fails: failEachHost(func(e *evidence, h *host) rule.Failures {
		records := h.usable()
		return rule.FailIf(len(records) == 1, "The only TLSA record at %s that senders use is %s.",
			e.recordName(h.base), abbreviate(records[0]))
	}, none, unverified),
}}
