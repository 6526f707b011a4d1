package dane

import (
	"crypto/x509"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki/tlsa"
	"github.com/diagkit/diagkit/diag/rule"
)

// sendersApplyDANE reports whether senders that know the names of the hosts hold one of them against TLSA records.
func (e *evidence) sendersApplyDANE() bool {
	return slices.ContainsFunc(e.hosts, func(h host) bool { return h.applies() || h.fault == tlsaUnknown })
}

var dnssecRules = rule.Rules[*evidence]{{
	Code: "dane.dnssec.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"dane.mx.unknown"}, Ref: "RFC 7672 section 2.1.1",
	Title: "DNSSEC status could not be determined", Requirement: "The DNSSEC status of all records is known",
	Advice: "Try again with a resolver that validates DNSSEC or passes its records on; if that does not help, check " +
		"the chain of trust with dnssec/check.",
	When: hasHosts, Fails: func(e *evidence) rule.Failures {
		f := failWithReason("", statusUnknown)(e)
		if e.namesDNSSEC == diag.Indeterminate {
			f = append(f, rule.Fail("The DNSSEC status of the %s of %s could not be determined.", e.source, e.domain)...)
		}
		return f
	},
}, {
	Code: "dane.host.bogus", Severity: diag.Error, Weight: 20, Category: factorDNSSEC, HoldsWhenUnanswered: true,
	Ref:         "RFC 7672 section 2.1.2",
	Title:       "DNSSEC validation fails for a mail server",
	Requirement: "No records of the mail servers fail DNSSEC validation",
	Advice: "Repair the DNSSEC signatures or the DS records of the zone that the host is in; dnssec/check shows where " +
		"the chain breaks.",
	When:  func(e *evidence) bool { return len(e.hosts) > len(e.hostsWith(noAddress, addressUnknown)) },
	Fails: failWithReason(" Senders that validate defer mail to this host.", bogus),
}, {
	Code: "dane.tlsa.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 7672 section 2.1.2",
	Title: "TLSA lookup failed: senders defer mail", Requirement: "The name servers answer for the TLSA records",
	Advice: "Check that every name server of the host answers TLSA queries, and that no firewall drops them: senders " +
		"that validate defer mail to a host of a signed zone while the lookup fails.",
	When: hasHosts, Fails: failWithReason(" Senders that validate defer mail to this host.", tlsaUnknown),
}, {
	Code: "dane.mx.insecure", Severity: diag.Warning, Weight: 5, Category: factorDNSSEC,
	Reads: []rule.Source{fromNames, fromHosts, fromServers}, HoldsWhenUnanswered: true, Ref: "RFC 7672 section 2.2.1",
	Title:       "Records that name the mail servers are not signed",
	Requirement: "The records that name the mail servers are signed",
	Advice: "Sign the zone of the domain with DNSSEC: an attacker who forges its MX records leads senders to other " +
		"servers, whatever TLSA records the real ones have.",
	When: func(e *evidence) bool { return e.published() && e.sendersApplyDANE() && !e.broken() },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.namesDNSSEC == diag.Insecure,
			"The mail servers have signed TLSA records, but the %s of %s are not "+
				"signed with DNSSEC, so that DANE does not protect the domain.", e.source, e.domain)
	},
}, {
	Code: "dane.tlsa.insecure", Severity: diag.Warning, Weight: 5, Category: factorDNSSEC, HoldsWhenUnanswered: true,
	Ref:   "RFC 7672 section 2.2",
	Title: "TLSA records are not signed and have no effect", Requirement: "The TLSA records are signed",
	Advice: "Sign the zone that the host is in with DNSSEC, or move the mail to a host in a signed zone.",
	When:   func(e *evidence) bool { return e.published() && !e.allLatent(unsigned) },
	Fails: func(e *evidence) rule.Failures {
		if e.sendersApplyDANE() {
			return nil
		}
		return failEachHost(func(e *evidence, h *host) rule.Failures {
			if h.hasLatentFault() {
				return nil
			}
			f := rule.Fail("%s. Senders deliver as if there were no DANE.", capital(e.reason(h)))
			if !h.verified() {
				f[0].Advice = "Check first that the TLSA records match the certificate that the server presents: they come into " +
					"force when the zone is signed. Then sign the zone that the host is in with DNSSEC, or remove the records."
			}
			return f
		}, unsigned)(e)
	},
}, {
	Code: "dane.tlsa.dormant", Severity: diag.Warning, Weight: 5, Category: factorDNSSEC, HoldsWhenUnanswered: true,
	Reads: []rule.Source{fromNames, fromHosts, fromServers}, Ref: "RFC 7672 section 2.2",
	Title:       "Unsigned TLSA records that would stop mail once signed",
	Requirement: "TLSA records without effect would not stop mail once they are signed",
	Advice: "Remove the TLSA records, or replace them with 3 1 1 and the SHA-256 of the present key of the server, " +
		"before the zone is signed with DNSSEC or its DS record is published: that brings them into force.",
	When: func(e *evidence) bool {
		hosts := e.hostsWith(unsigned)
		known := !slices.ContainsFunc(hosts, func(h *host) bool { return !h.verified() })
		return slices.ContainsFunc(hosts, (*host).hasLatentFault) || len(hosts) > 0 && known
	},
	Fails: func(e *evidence) rule.Failures {
		var lines []string
		f := failEachHost(func(e *evidence, h *host) rule.Failures {
			if !h.hasLatentFault() {
				return nil
			}
			lines = append(lines, e.suggestActivation(h))
			return rule.Fail("%s. As they are, %s: once they are signed, senders that use DANE would not deliver to %s.",
				capital(e.reason(h)), h.refusal(), h.Name)
		}, unsigned)(e)
		if slices.Contains(lines, "") {
			return f
		}
		return f.Suggesting(strings.Join(lines, "\n"))
	},
}, {
	Code: "dane.host.insecure", Severity: diag.Warning, Weight: 20, Category: factorCoverage, HoldsWhenUnanswered: true,
	Ref:         "RFC 7672 section 2.2",
	Title:       "Mail server in an unsigned zone beside others in signed ones",
	Requirement: "No mail server is in an unsigned zone beside others in signed ones",
	Advice: "Sign the zone that the host is in with DNSSEC, or remove its MX record: an attacker can make senders turn " +
		"to the host that is not protected.",
	When: func(e *evidence) bool { return e.sendersApplyDANE() },
	Fails: failEachHost(func(e *evidence, h *host) rule.Failures {
		if h.hasLatentFault() {
			return nil // dane.tlsa.dormant tells
		}
		return rule.Fail("%s. Senders deliver to this host as if there were no DANE.", capital(e.reason(h)))
	}, unsigned, unasked),
}}

// hasLatentFault reports whether a host has TLSA records that have no effect, and that would keep senders from
// delivering if they had.
func (h *host) hasLatentFault() bool {
	s := h.server()
	if h.fault != unsigned || s == nil {
		return false
	}
	switch s.fault() {
	case noStartTLS:
		return true // also if senders can use none of the records (RFC 7672 section 2.2)
	case badStartTLS, mismatch, wrongName, outOfDate, badChain:
		return len(h.usable()) > 0
	default:
		return false
	}
}

// allLatent reports whether there are hosts with one of the faults, and all of them have a latent fault.
func (e *evidence) allLatent(faults ...fault) bool {
	list := e.hostsWith(faults...)
	return len(list) > 0 && !slices.ContainsFunc(list, func(h *host) bool { return !h.hasLatentFault() })
}

// refusal says why a dormant host would be refused, in a clause.
func (h *host) refusal() string {
	switch s := h.server(); s.fault() {
	case noStartTLS:
		return "the server does not offer STARTTLS"
	case badStartTLS:
		return "TLS with the server fails"
	case mismatch:
		return "they do not match the certificate that the server presents"
	default:
		return s.result.Err().Error()
	}
}

// verified reports whether it was seen at every address that a record authenticates the host.
func (h *host) verified() bool {
	return len(h.servers) > 0 && !slices.ContainsFunc(h.servers, func(s server) bool { return s.fault() != none })
}

func (e *evidence) hostsWithoutRecords() []*host { return e.hostsWith(absent) }

// lookedUp reports whether the TLSA lookup was answered for every host with an address, as far as that matters, and
// for at least one.
func (e *evidence) lookedUp() bool {
	return len(e.hosts) > len(e.hostsWith(noAddress, unasked)) && len(e.hostsWith(addressUnknown, tlsaUnknown, bogus)) == 0
}

// allOutsideDomain reports whether all of these hosts have names outside the domain, as those of a provider do.
func (e *evidence) allOutsideDomain(hosts []*host) bool {
	own := "." + e.domain.String()
	return !slices.ContainsFunc(hosts, func(h *host) bool { return strings.HasSuffix("."+h.base, own) })
}

func (e *evidence) broken() bool {
	return slices.ContainsFunc(e.hosts, func(h host) bool { return h.broken() })
}

// unpublished fails because no mail server has TLSA records, with advice for those who can act: the owner of the zone
// that the domain is in, and the owner of that in which the mail servers are.
func (e *evidence) unpublished() rule.Failures {
	f := rule.Fail("There are no TLSA records at %s.", e.names(e.hostsWithoutRecords()))
	bare := slices.ContainsFunc(e.hostsWithoutRecords(), func(h *host) bool { return h.baseStatus == diag.Insecure })
	switch {
	case e.namesDNSSEC == diag.Insecure:
		f[0].Detail += " They would have no effect, because the domain is not signed with DNSSEC."
		f[0].Advice = "Sign the zone of the domain with DNSSEC first; if its DNS provider cannot, use MTA-STS, which " +
			"needs no DNSSEC. If the mail servers are those of a provider, ask whether it supports DANE."
	case bare && e.allOutsideDomain(e.hostsWithoutRecords()):
		f[0].Detail += " The zone of the mail servers is not signed with DNSSEC."
		f[0].Advice = "Ask the provider of the mail servers whether it supports DANE: TLSA records need a signed zone, " +
			"and only the owner of that zone can sign it and publish them. The domain itself is ready. MTA-STS needs no DNSSEC."
	case bare:
		f[0].Detail += " The zone of the mail servers is not signed with DNSSEC."
		f[0].Advice = "Sign the zone that the mail servers are in with DNSSEC first; TLSA records have no effect without."
	case e.allOutsideDomain(e.hostsWithoutRecords()):
		f[0].Advice = "Ask the provider of the mail servers whether it supports DANE: only the provider knows when their " +
			"keys change, and can publish TLSA records at their names. The domain itself is ready."
	}
	return f
}

// hasMisplacedRecords reports whether a host without TLSA records may be meant by those at the domain itself.
func (e *evidence) hasMisplacedRecords(h *host) bool {
	return !h.tlsa.Exists() && h.tlsa.Err() == nil && len(e.misplaced()) > 0 && !e.allOutsideDomain([]*host{h})
}

// failMisplaced fails because there are TLSA records at the domain only. If they were moved they would come into force,
// so the records to publish follow from the current keys of the mail servers instead.
func (e *evidence) failMisplaced() rule.Failures {
	hosts := e.hostsWithoutRecords()
	f := rule.Fail("There are TLSA records at %s, and senders query %s.", e.recordName(e.domain.String()),
		e.names(hosts))
	if e.allOutsideDomain(hosts) {
		f[0].Advice = "Remove the TLSA records at the domain, and ask the provider of the mail servers whether it " +
			"supports DANE: only the provider can publish TLSA records at their names."
		return f
	}
	var lines []string
	stale := false
	for _, h := range hosts {
		if h.baseStatus == diag.Secure && e.namesDNSSEC == diag.Secure {
			lines = append(lines, e.suggestActivation(h))
		} else {
			lines = append(lines, "")
		}
		for _, s := range h.servers {
			moved := Verify(kit.Map(e.misplaced(), tlsa.RecordOf), Peer{Chain: s.chain, Names: e.references(h), Now: e.now,
				Roots: new(x509.CertPool)})
			stale = stale || len(s.chain) > 0 && !moved.OK()
		}
	}
	if stale {
		f[0].Detail += " They do not match the certificate that the mail server presents now."
		f[0].Advice = "Publish a new TLSA record 3 1 1 with the SHA-256 of the present key of each mail server at its " +
			"name, and remove those at the domain. Do not move these: they do not match, so that senders that use DANE " +
			"would stop delivering."
	}
	if slices.Contains(lines, "") {
		return f
	}
	return f.Suggesting(strings.Join(lines, "\n"))
}

var absenceRules = rule.Rules[*evidence]{{
	Code: "dane.tlsa.location", Severity: diag.Warning, StateIfFailed: diag.Missing, Weight: 5,
	Reads: []rule.Source{fromNames, fromHosts, fromApex}, Ref: "RFC 7672 section 2.2.3",
	Title:       "TLSA records at the domain instead of its mail servers",
	Requirement: "TLSA records are not published at the domain instead of its mail servers",
	Advice: "Publish TLSA records that match the present key of each mail server (3 1 1) at the names of the mail " +
		"servers, and remove those at the domain. Do not move these unless they match: at their new place they come into " +
		"force.",
	When: func(e *evidence) bool { return e.lookedUp() && e.own.Err() == nil },
	Fails: func(e *evidence) rule.Failures {
		if e.published() || len(e.hostsWithoutRecords()) == 0 || len(e.misplaced()) == 0 {
			return nil
		}
		return e.failMisplaced()
	},
}, {
	Code: "dane.tlsa.missing", Severity: diag.Warning, StateIfFailed: diag.Missing, Weight: 10,
	Ref:   "RFC 7672 section 1.3",
	Title: "No TLSA records for the mail servers", Requirement: "The mail servers have TLSA records",
	Advice: "Have each mail server keep its private key when it renews the certificate, publish the SHA-256 of its " +
		"public key as TLSA 3 1 1, and check both after each change. DANE also needs signed zones.",
	When: func(e *evidence) bool { return e.port == portMail && e.lookedUp() && len(e.misplaced()) == 0 },
	Fails: func(e *evidence) rule.Failures {
		if e.published() || len(e.hostsWithoutRecords()) == 0 {
			return nil
		}
		return e.unpublished()
	},
}, {
	Code: "dane.tlsa.unasked", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 7672 section 2.2.2",
	Title:       "Zones of the mail servers are unsigned: DANE is not possible",
	Requirement: "The zones of the mail servers are signed, and senders can ask for TLSA records",
	Advice: "Let the name servers of the host answer TLSA queries, and sign the zone that it is in with DNSSEC: once " +
		"it is signed, a failed TLSA lookup keeps senders from delivering.",
	When: hasHosts, Fails: func(e *evidence) rule.Failures {
		if e.published() {
			return nil
		}
		return rule.FailEach(e.hostsWith(unasked), func(h *host) rule.Failures {
			return rule.Fail("%s. The lookup failed here: %s.", capital(e.reason(h)), diag.Reason(h.tlsa.Err())).About(h.Name)
		})
	},
}, {
	Code: "dane.tlsa.missing.submission", NoAction: true, Severity: diag.Info, StateIfFailed: diag.Missing,
	DependsOn: []diag.Code{"dane.mx.unknown"}, Ref: "RFC 7673 section 3",
	Title: "No TLSA records for submission", Requirement: "The submission servers have TLSA records",
	Advice: "Leave it: few mail clients use DANE. They check the certificate of the server by its name.",
	When:   func(e *evidence) bool { return e.port != portMail && e.lookedUp() && len(e.misplaced()) == 0 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.published() && len(e.hostsWithoutRecords()) > 0,
			"There are no TLSA records at %s.", e.names(e.hostsWithoutRecords()))
	},
}, {
	Code: "dane.host.missing", Severity: diag.Warning, Weight: 20, HoldsWhenUnanswered: true,
	Ref:         "RFC 7672 section 2.2.1",
	Title:       "Mail server without TLSA records beside others with some",
	Requirement: "No mail server lacks TLSA records beside others with some",
	Advice: "Publish TLSA records for this host as well, or remove it: an attacker can keep senders from the protected " +
		"hosts, so that they turn to this one.",
	When: func(e *evidence) bool { return e.published() },
	Fails: failEachHost(func(e *evidence, h *host) rule.Failures {
		f := rule.Fail("%s has no TLSA records at %s, and other mail servers have some.", h.Name, e.recordName(h.base))
		if h.baseStatus == diag.Insecure {
			f[0].Detail += " Its addresses are not signed either."
		}
		return f
	}, absent),
}}

const maxListed = 3

func (e *evidence) names(hosts []*host) string {
	return phrase.Series(kit.Map(hosts, func(h *host) string { return e.recordName(h.base) }), maxListed)
}
