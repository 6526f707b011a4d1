package dane

import (
	"cmp"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
)

// refused says what follows if a host cannot be authenticated (RFC 7672 section 2.2). Postfix for one applies DANE to
// signed hosts of unsigned MX records as well.
func (e *evidence) refused() string {
	if e.namesDNSSEC == diag.Insecure {
		return " Senders that use DANE for signed hosts of unsigned MX records, such as Postfix by default, do not " +
			"deliver to it."
	}
	return " Senders that use DANE do not deliver to this host."
}

// failUnauthenticated is [failWithReason] for faults with which a host cannot be authenticated.
func failUnauthenticated(demand string, has fault) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures { return failWithReason(demand+e.refused(), has)(e) }
}

func compared(e *evidence) bool {
	return slices.ContainsFunc(e.hosts, func(h host) bool {
		s := h.server()
		return h.applies() && s != nil && len(s.chain) > 0 && h.fault != unusable
	})
}

func reached(e *evidence) bool {
	return slices.ContainsFunc(e.hosts, func(h host) bool {
		return h.applies() && h.fault != unverified && h.fault != unreachable
	})
}

// isConclusive reports whether a rule about one fault of all servers can be judged: one has it, or all
// certificates that a sender would match against TLSA records have been seen, and at least one was.
func isConclusive(something func(*evidence) bool, has fault) func(*evidence) bool {
	return func(e *evidence) bool {
		open := e.hostsWith(unreachable, unverified, tlsaUnknown, addressUnknown, statusUnknown)
		return len(e.hostsWith(has)) > 0 || len(open) == 0 && something(e)
	}
}

func matched(e *evidence) bool { return len(e.hostsWith(none)) > 0 }

var connectionRules = rule.Rules[*evidence]{{
	Code: "dane.certificate.unverified", Severity: diag.Info, NoScore: true, Reads: []rule.Source{fromNames, fromHosts},
	Ref:         "RFC 7672 section 3",
	Title:       "TLSA records not compared with certificates",
	Requirement: "The TLSA records were compared with the certificates",
	Advice:      "Run the check with verify_certificate to know whether senders can deliver.",
	When:        func(e *evidence) bool { return e.sendersApplyDANE() && len(e.hostsWith(tlsaUnknown)) == 0 },
	Fails: failEachHost(func(_ *evidence, h *host) rule.Failures {
		return rule.Fail("No connection to %s was requested, so that its certificate is not known.", h.Name)
	}, unverified),
}, {
	Code: "dane.server.unreachable", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 7672 section 2.2",
	Title:       "Certificate of a mail server could not be fetched",
	Requirement: "The certificates of all mail servers with TLSA records could be fetched",
	Advice:      "Check that the server answers and that no firewall is in between, then try again.",
	When:        func(e *evidence) bool { return e.verify && e.sendersApplyDANE() },
	Fails: failEachHost(func(e *evidence, h *host) rule.Failures {
		return rule.Fail("The certificate of %s is not known: %s.", h.Name, e.reason(h))
	}, unreachable),
}, {
	Code: "dane.server.address", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 7672 section 2.2",
	Title:       "Mail server not examined at one of its addresses",
	Requirement: "The mail servers were examined over IPv4 and IPv6 where they have both",
	Advice:      "Check that the server answers at this address as well.",
	When:        reached, Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.unreached(), func(address string) rule.Failures {
			return rule.Fail("No certificate could be fetched from %s.", address)
		})
	},
}, {
	Code: "dane.starttls.missing", Severity: diag.Error, Weight: 5, Category: factorCertificate, HoldsWhenUnanswered: true,
	Ref:         "RFC 7672 section 2.2",
	Title:       "STARTTLS not offered although TLSA records exist",
	Requirement: "All mail servers with TLSA records offer STARTTLS",
	Advice: "Enable STARTTLS on the server, and check that no firewall removes it; until then remove the TLSA records " +
		"of this host: senders that use DANE never deliver without TLS.",
	When: func(e *evidence) bool { return e.port != portTLS && isConclusive(reached, noStartTLS)(e) },
	Fails: failEachHost(func(e *evidence, h *host) rule.Failures {
		return rule.Fail("%s does not offer STARTTLS.%s", h.Name, e.refused())
	}, noStartTLS),
}, {
	Code: "dane.starttls.failed", Severity: diag.Error, Weight: 5, Category: factorCertificate, HoldsWhenUnanswered: true,
	Ref:         "RFC 7672 section 2.2",
	Title:       "TLS with a mail server fails although TLSA records exist",
	Requirement: "TLS works with all mail servers that have TLSA records",
	Advice: "Check certificate, key and TLS versions in the configuration of the server; its log tells why TLS fails. " +
		"Senders that use DANE never deliver without TLS.",
	When: isConclusive(reached, badStartTLS), Fails: failEachHost(func(e *evidence, h *host) rule.Failures {
		return rule.Fail("TLS with %s fails: %s.%s", h.Name, e.reason(h), e.refused())
	}, badStartTLS),
}}

var certificateRules = rule.Rules[*evidence]{{
	Code: "dane.certificate.mismatch", Severity: diag.Error, Weight: 10, HoldsWhenUnanswered: true,
	Ref:   "RFC 7672 section 2.2",
	Title: "Certificate matches no TLSA record", Requirement: "Every certificate matches a TLSA record",
	Advice: "Verify on the server itself that this is its certificate, then publish a TLSA record for its key beside " +
		"the old ones, and remove those once their TTL has passed. Afterwards let the renewal keep the key, or publish " +
		"the next key before it is used.",
	When: isConclusive(compared, mismatch), Fails: mismatches,
}, {
	Code: "dane.certificate.name", Severity: diag.Error, Weight: 5, HoldsWhenUnanswered: true,
	Ref:         "RFC 7672 section 3.2.3",
	Title:       "Certificate does not match the name of the mail server",
	Requirement: "Certificates that DANE-TA authenticates are for the names of their hosts",
	Advice: "Get a certificate with the name of the mail server, or publish a TLSA record 3 1 1 for its key: with " +
		"usage 3 the name does not matter.",
	When:  isConclusive(matched, wrongName),
	Fails: failUnauthenticated(" With usage 2 (DANE-TA) the name must match.", wrongName),
}, {
	Code: "dane.certificate.dates", Severity: diag.Error, Weight: 5, HoldsWhenUnanswered: true,
	Ref:         "RFC 7671 section 5.2",
	Title:       "Certificate has expired or is not yet valid",
	Requirement: "Certificates that DANE-TA authenticates are within their validity",
	Advice:      "Renew the certificate and automate renewal: with usage 2 (DANE-TA) its dates count.",
	When:        isConclusive(matched, outOfDate),
	Fails:       failUnauthenticated(" With usage 2 (DANE-TA) the dates count.", outOfDate),
}, {
	Code: "dane.certificate.chain", Severity: diag.Error, Weight: 5, HoldsWhenUnanswered: true,
	Ref:         "RFC 7672 section 3.1.2",
	Title:       "Certificate chain does not lead to the TLSA trust anchor",
	Requirement: "Certificates lead to the trust anchor of their TLSA record",
	Advice: "Let the server send all certificates from its own up to the one in the TLSA record, or publish a TLSA " +
		"record 3 1 1 for its own key.",
	When: isConclusive(matched, badChain), Fails: failUnauthenticated("", badChain),
}, endingRule(rule.Rule[*evidence]{
	Code: "dane.certificate.expiring", Severity: diag.Warning, Fact: reach.Expiring,
	Title:       "Certificate that DANE-TA authenticates expires soon",
	Requirement: "Certificates that DANE-TA authenticates do not expire soon",
}), endingRule(rule.Rule[*evidence]{
	Code: "dane.certificate.expires_now", Severity: diag.Error, Fact: reach.ExpiresNow,
	Title:       "Certificate that DANE-TA authenticates is about to expire",
	Requirement: "No certificate that DANE-TA authenticates is about to expire",
})}

// endingRule makes a rule about certificates of usage 2 whose end is as near as the severity of the rule says.
func endingRule(r rule.Rule[*evidence]) rule.Rule[*evidence] {
	r.Ref, r.When, r.HoldsWhenUnanswered = "RFC 7671 section 5.2", matched, true
	r.Advice = "Renew the certificate: once it has expired, senders that use DANE do not deliver."
	r.Fails = failEachHost(func(e *evidence, h *host) rule.Failures {
		leaf := h.server().chain[0]
		if h.byKey() || reach.Ends(leaf.NotBefore, leaf.NotAfter, e.now) != r.Severity {
			return nil
		}
		f := rule.Fail("The certificate of %s expires on %s, and usage 2 (DANE-TA) demands a valid one.", h.Name,
			leaf.NotAfter.UTC().Format(time.DateOnly))
		f[0].Due = leaf.NotAfter.UTC()
		return f
	}, none)
	return r
}

// byKey reports whether a record authenticates the host for which names and dates do not count.
func (h *host) byKey() bool {
	for i, m := range h.server().result.Matches {
		if m.Err == nil && h.records[i].Usage == DANEEE {
			return true
		}
	}
	return false
}

// mismatches fails for the hosts whose certificate does not match the records, with the records that would let senders
// deliver again.
func mismatches(e *evidence) rule.Failures {
	var lines []string
	f := failEachHost(func(e *evidence, h *host) rule.Failures {
		s := h.server()
		f := rule.Fail("%s presents a certificate that %s%s.%s", h.at(s), unmatched(len(h.usable())),
			e.cause(h, s), e.refused())
		if line := e.suggest(h); line != "" {
			lines = append(lines, line)
		} else {
			f[0].Advice = "Compute the SHA-256 of the public key from the certificate file on the server itself, publish it " +
				"as TLSA 3 1 1 beside the old records, and remove those once their TTL has passed. Nothing proves from " +
				"outside that the certificate seen is that of your server."
		}
		return f
	}, mismatch)(e)
	for i, h := range e.hostsWith(mismatch) {
		if issuer := e.missingAuthority(h); issuer != "" {
			f[i].Advice = "Let the server send the certificate of " + issuer + " at the end of its chain, or publish a TLSA " +
				"record 3 1 1 for its own key: usage 2 (DANE-TA) counts only if the server sends the certificate that it names."
		}
	}
	return f.Suggesting(strings.Join(lines, "\n"))
}

// missingAuthority names the public authority that a record of usage 2 designates, if it issued the certificate of
// the host and the server does not send the certificate of it (RFC 7672 section 3.1.2); else it is empty.
func (e *evidence) missingAuthority(h *host) string {
	s := h.server()
	if s == nil || len(s.chain) == 0 {
		return ""
	}
	sent := x509.NewCertPool()
	for _, c := range s.chain[1:] {
		sent.AddCert(c)
	}
	paths, _ := s.chain[0].Verify(x509.VerifyOptions{Roots: e.roots, Intermediates: sent, CurrentTime: e.now})
	for _, path := range paths {
		for _, issuer := range path[1:] {
			names := func(r Record) bool { return r.Usage == DANETA && r.Matches(issuer) }
			if !slices.ContainsFunc(s.chain, issuer.Equal) && slices.ContainsFunc(h.usable(), names) {
				return phrase.Quote(cmp.Or(issuer.Subject.CommonName, issuer.Subject.String()))
			}
		}
	}
	return ""
}

func unmatched(n int) string {
	if n == 1 {
		return "does not match its TLSA record"
	}
	return fmt.Sprintf("matches none of its %d TLSA records", n)
}

// at names a host, and the address at which it was found wrong if it is right at another.
func (h *host) at(s *server) string {
	if slices.ContainsFunc(h.servers, func(other server) bool { return other.fault() == none }) {
		return h.Name + " at " + s.ip.String()
	}
	return h.Name
}

func (e *evidence) cause(h *host, s *server) string {
	for i, m := range s.result.Matches {
		r := h.records[i]
		switch leaf := s.chain[0]; {
		case m.Err != nil && m.Err.Reason == Superseded && m.Found:
			return ": the record with SHA2-256 would, but those with SHA2-512 count instead"
		case r.Usage == DANETA && r.Matches(leaf):
			return ": the record " + r.Numbers() + " is for the certificate of the server itself, which is usage 3"
		case r.Usage == DANEEE && len(s.chain) > 1 && slices.ContainsFunc(s.chain[1:], r.Matches):
			return ": the record " + r.Numbers() + " is for the certificate of an authority, which is usage 2"
		case r.Usage == DANEEE &&
			(Record{Usage: r.Usage, Selector: 1 - r.Selector, Matching: r.Matching, Data: r.Data}).Matches(leaf):
			return ": the record " + r.Numbers() + " has the wrong selector for its data"
		}
	}
	if issuer := e.missingAuthority(h); issuer != "" {
		return ": the record is for the authority " + issuer + ", whose certificate the server does not send"
	}
	digest := func(r Record) bool { return r.Usage == DANETA && r.Matching != Full }
	if len(s.chain) > 1 && slices.ContainsFunc(h.usable(), digest) {
		return ": usage 2 (DANE-TA) counts only if the server sends the certificate that the record is for"
	}
	if len(s.chain) == 1 && slices.ContainsFunc(h.usable(), func(r Record) bool { return r.Usage == DANETA }) &&
		!pki.SelfSigned(s.chain[0]) {
		return ": it sends no issuer certificates, and usage 2 (DANE-TA) needs them"
	}
	return ""
}

// suggest returns the line of a zone file with which senders can authenticate a host in its current state; empty if
// nothing proves that the peer is the server and not an attacker in between: a public authority must vouch for the
// name, at every address.
func (e *evidence) suggest(h *host) string {
	line := ""
	for _, s := range h.servers {
		if len(s.chain) == 0 {
			continue // not reached
		}
		leaf := s.chain[0]
		v := pki.Verifier{Roots: e.roots, Now: e.now, ServerName: h.base}
		if v.Trust(s.chain) != nil || v.Name(leaf) != nil {
			return ""
		}
		own := e.recordName(h.base) + ". IN TLSA " + h.keyRecord(leaf).String()
		if line != "" && line != own {
			return ""
		}
		line = own
	}
	return line
}

// suggestActivation is [evidence.suggest] for records that would come into force by it: every address of the host
// must have been seen.
func (e *evidence) suggestActivation(h *host) string {
	for _, s := range h.servers {
		if len(s.chain) == 0 || s.err != nil {
			return ""
		}
	}
	if len(h.servers) < len(h.Addresses.All()) {
		return ""
	}
	return e.suggest(h)
}

// keyRecord returns the record of the public key of a certificate: with SHA-512 only where existing SHA-512 records
// would make clients ignore one with SHA-256 (RFC 7671 section 9).
func (h *host) keyRecord(leaf *x509.Certificate) Record {
	strong := func(r Record) bool { return r.Usage == DANEEE && r.Selector == SPKI && r.Matching == SHA512 }
	if slices.ContainsFunc(h.usable(), strong) {
		sum := sha512.Sum512(leaf.RawSubjectPublicKeyInfo)
		return Record{Usage: DANEEE, Selector: SPKI, Matching: SHA512, Data: sum[:]}
	}
	sum := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	return Record{Usage: DANEEE, Selector: SPKI, Matching: SHA256, Data: sum[:]}
}
