package tlscert

import (
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"golang.org/x/crypto/ocsp"
)

// clockSkew is by how much a response may be ahead of the time here; OpenSSL allows as much.
const clockSkew = 5 * time.Minute

var issuanceRules = rule.Rules[*evidence]{{
	Code: "tls.sct.missing", Severity: diag.Error, Weight: 5, Ref: "RFC 9162 section 6.3",
	Title:       "Too few signed certificate timestamps",
	Requirement: "The certificate has the timestamps that browsers ask for",
	Advice:      "Have the certificate reissued with embedded timestamps: browsers refuse it as it is.",
	When:        func(e *evidence) bool { return certified(e) && e.tls.Trusted && e.public() },
	Fails: func(e *evidence) rule.Failures {
		n, want := len(e.scts), e.wantedSCTs()
		return rule.FailIf(n < want,
			"The certificate comes with %s of Certificate Transparency logs; browsers ask for %d.",
			phrase.Count(n, "timestamp"), want)
	},
}, {
	Code: "tls.sct.invalid", Severity: diag.Error, Weight: 2, Ref: "RFC 6962 section 3.2",
	Title:       "Certificate timestamp is not valid",
	Requirement: "The timestamps can be read, and their signatures are valid",
	Advice:      "Have the certificate reissued: browsers do not count the timestamp.",
	When: func(e *evidence) bool {
		return certified(e) && (e.sctFault || slices.ContainsFunc(e.scts, func(s SCT) bool { return s.Verified != nil }))
	},
	Fails: func(e *evidence) (list rule.Failures) {
		if e.sctFault {
			list = rule.Fail("A timestamp in the certificate cannot be read.")
		}
		for _, s := range e.scts {
			if s.Verified != nil && !*s.Verified {
				list = append(list, rule.Failure{Target: s.Log,
					Detail: fmt.Sprintf("The timestamp of the log %s is not signed for this certificate.", phrase.Quote(s.Log))})
			}
		}
		return list
	},
}, {
	Code: "tls.ocsp.impossible", Severity: diag.Error, Weight: 5, Ref: "RFC 7633 section 4.2.2",
	Title:       "Certificate demands OCSP stapling, but names no OCSP service",
	Requirement: "The certificate that demands OCSP stapling names an OCSP service",
	Advice: "Have the certificate reissued without the must-staple extension, and take the option out of the ACME " +
		"client or the CSR: public authorities are ending OCSP.",
	When: func(e *evidence) bool { return certified(e) && e.mustStaple() },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.stapleable(),
			"The certificate has the extension must-staple and no URL of an OCSP responder, so no server can staple a "+
				"response to it; some clients refuse such a connection.")
	},
}, {
	Code: "tls.ocsp.must_staple", Severity: diag.Error, Weight: 5, Ref: "RFC 7633 section 4.2.2",
	DependsOn:   []diag.Code{"tls.ocsp.impossible"},
	Title:       "Certificate requires a stapled OCSP response, but none was sent",
	Requirement: "The server staples the OCSP response that the certificate demands",
	Advice:      "Enable OCSP stapling, and make the server fetch the response before the first connection.",
	When:        func(e *evidence) bool { return certified(e) && e.mustStaple() },
	Fails: func(e *evidence) rule.Failures {
		if len(e.staple) > 0 {
			return nil
		}
		f := rule.Failure{Detail: "The certificate has the extension must-staple, and the handshake had no OCSP response; " +
			"some clients refuse such a connection."}
		if why := e.responderFault(); why != "" {
			f.Detail += " The OCSP responder that the certificate names gave none to this check either: " + why + "."
			f.Advice = "Have the certificate reissued without the must-staple extension: without an answer of its OCSP " +
				"responder no server can staple one."
		}
		return rule.Failures{f}
	},
}, {
	Code: "tls.ocsp.invalid", Severity: diag.Warning, Weight: 2, Ref: "RFC 6960 section 3.2",
	Title:       "Stapled OCSP response is not valid",
	Requirement: "The stapled OCSP response is for the certificate, and signed by its issuer",
	Advice:      "Make the server fetch the response again, and check that it knows the certificate of the issuer.",
	When:        func(e *evidence) bool { return e.response != nil || e.ocspErr != nil },
	Fails: func(e *evidence) rule.Failures {
		if e.ocspErr == nil {
			return nil
		}
		return rule.Fail("The stapled OCSP response cannot be used: %s.", e.ocspErr)
	},
}, {
	Code: "tls.ocsp.revoked", Severity: diag.Critical, Weight: 10, DependsOn: []diag.Code{"tls.ocsp.invalid"},
	Ref:         "RFC 6960 section 2.2",
	Title:       "Certificate was revoked",
	Requirement: "The stapled OCSP response does not say that the certificate was revoked",
	Advice:      "Generate a new key, get a new certificate and install it immediately.",
	Fails: func(e *evidence) rule.Failures {
		c, _ := e.stapledCheck()
		if e.response.Status != ocsp.Revoked {
			return nil
		}
		why := ""
		if c.Reason != "" {
			why = " (reason " + string(c.Reason) + ")"
		}
		return rule.Failures{{Title: c.title(), Advice: remedies[c.Reason],
			Detail: fmt.Sprintf("The stapled OCSP response says that the certificate was revoked on %s%s.",
				e.response.RevokedAt.UTC().Format(time.DateOnly), why)}}
	},
}, {
	Code: "tls.ocsp.outdated", Severity: diag.Warning, Weight: 2, DependsOn: []diag.Code{"tls.ocsp.invalid"},
	Ref:   "RFC 6960 section 3.2",
	Title: "Stapled OCSP response is not current", Requirement: "The stapled OCSP response is current",
	Advice: "Make the server fetch the response again, and check its clock and its access to the OCSP server.",
	Fails: func(e *evidence) rule.Failures {
		from, until := e.response.ThisUpdate, e.response.NextUpdate
		if e.now.Before(from.Add(-clockSkew)) {
			return rule.Fail("The OCSP response is valid only from %s.", from.UTC().Format(time.RFC3339))
		}
		return rule.FailIf(!until.IsZero() && e.now.After(until), "The OCSP response was valid until %s.",
			until.UTC().Format(time.RFC3339))
	},
}, {
	Code: "tls.ocsp.status", Severity: diag.Warning, Weight: 1, DependsOn: []diag.Code{"tls.ocsp.invalid"},
	Ref:   "RFC 6960 section 2.2",
	Title: "Authority does not know the certificate", Requirement: "The authority knows the certificate",
	Advice: "Ask the authority: the certificate may be too new, or may never have been issued.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.response.Status == ocsp.Unknown, "The OCSP response has the status unknown.")
	},
}}

// stapled reports whether there is an OCSP response that can be used.
func stapled(e *evidence) bool { return e.response != nil }

func limited(e *evidence) bool { return e.caa.err == nil && len(e.caa.records) > 0 }

// limited reports whether there are records for a name of the certificate.
func (e *evidence) limited() bool {
	return slices.ContainsFunc(e.renewals(), func(r renewal) bool { return len(r.records) > 0 })
}

// caaRules are about which authorities may issue the next certificate. The present one stays valid whatever they say.
var caaRules = rule.Rules[*evidence]{{
	Code: "tls.caa.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 8659 section 3",
	Title: "CAA records could not be looked up", Requirement: "The name servers answer for CAA records",
	Advice: "Check that every name server answers CAA queries: authorities do not issue when the lookup fails.",
	When:   func(e *evidence) bool { return e.caa.queried && e.connected() },
	Fails: func(e *evidence) rule.Failures {
		if err := e.caaFault(); err != nil {
			return rule.Fail("%s", phrase.Sentence(err.Error()))
		}
		return nil
	},
}, {
	Code: "tls.caa.syntax", Severity: diag.Warning, Weight: 1, Ref: "RFC 8659 section 4.2",
	Title: "CAA record has a syntax error", Requirement: "The CAA records follow the syntax",
	Advice: "Write the domain of the authority, then parameters after a semicolon: " +
		"with a malformed record, no authority may issue.",
	When: limited,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.caa.malformed(), func(record string) rule.Failures {
			return rule.Fail("The CAA record %s of %s cannot be read.", record, e.caa.domain)
		})
	},
}, {
	Code: "tls.caa.critical", Severity: diag.Warning, Weight: 1, Ref: "RFC 8659 section 4.5",
	Title:       "Critical CAA property is unknown and forbids every certificate",
	Requirement: "Authorities understand every critical CAA property",
	Advice:      "Correct the tag of the record, or clear its critical flag.", When: limited,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.caa.unknownCritical(), func(record string) rule.Failures {
			return rule.Fail("No authority understands the CAA record %s of %s, which is marked as critical.", record,
				e.caa.domain)
		})
	},
}, {
	Code: "tls.caa.issuer", Severity: diag.Warning, Weight: 2, DependsOn: []diag.Code{"tls.caa.critical"},
	Ref:         "RFC 8659 section 4.2",
	Title:       "CAA does not allow the issuer of the certificate",
	Requirement: "CAA allows the issuer of the certificate",
	Advice: "Add the authority to the CAA records before the next renewal, which will fail otherwise; if you did not " +
		"order the certificate, find out who did.",
	When:  func(e *evidence) bool { _, known := e.allowed(); return known && e.limited() },
	Fails: (*evidence).unrenewable,
}}
