package tlscert

import (
	"crypto/x509"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
	"github.com/diagkit/diagkit/diag/pki"
)

// top is the last certificate of the path that was served.
func (e *evidence) top() *x509.Certificate { return e.tls.Peers[e.path[len(e.path)-1]] }

// missesKnown reports whether the chain is incomplete as a matter of fact: its issuer says where its certificate is,
// or is a known authority. Otherwise it may as well be an authority that nobody trusts.
func (e *evidence) missesKnown() bool {
	return e.incomplete() && (e.repaired || e.public() || len(e.top().IssuingCertificateURL) > 0)
}

// whyUntrusted is why no rule here has severity and code of the fact that a certificate is not trusted.
const (
	whyUntrusted  = "this check examines the chain, and has a code for each reason why clients do not trust it"
	whyIncomplete = "browsers fetch the missing certificate or know it already, so that only other clients fail"
)

// chainRules are about the way from the certificate to a trusted authority.
var chainRules = diag.Rules[*evidence]{{
	Code: "tls.chain.self_signed", Severity: diag.Critical, Weight: 20, Fact: ground.Untrusted, Differs: whyUntrusted,
	Ref:   "RFC 5280 section 6.1",
	Title: "Certificate is self-signed", Requirement: "The certificate is issued by an authority",
	Advice: "Get a certificate from a public authority; with ACME it is free and automatic.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(!e.tls.Trusted && e.described().SelfSigned,
			"The certificate for %s is signed with its own key, so "+"no authority vouches for it.", subject(e.leaf()))
	},
}, {
	Code: "tls.chain.incomplete", Severity: diag.Error, Weight: 15, Fact: ground.Untrusted, Differs: whyIncomplete,
	DependsOn: []diag.Code{"tls.chain.self_signed"}, Ref: "RFC 8446 section 4.4.2",
	Title: "Certificate chain is incomplete", Requirement: "The server sends the intermediate certificates",
	Advice: "Configure the whole chain with its intermediate certificates, such as fullchain.pem, instead of the certificate " +
		"of the server alone.",
	Fails: func(e *evidence) diag.Failures {
		if !e.missesKnown() {
			return nil
		}
		detail := fmt.Sprintf("The server does not send the intermediate certificate of %s.",
			nameOf(pki.ParseName(e.top().RawIssuer)))
		switch {
		case e.repaired:
			detail += " Browsers that fetch it from the URL in the certificate can complete the chain; other clients fail."
		case e.repairTried && e.repairFault == nil:
			detail += " What the URLs in the certificates lead to does not complete the chain either."
		case e.repairTried:
			detail += " It could not be fetched from the URL in the certificate, either."
		}
		return diag.Fail("%s", detail)
	},
}, {
	Code: "tls.chain.untrusted", Severity: diag.Critical, Weight: 20, Fact: ground.Untrusted, Differs: whyUntrusted,
	DependsOn: []diag.Code{"tls.chain.self_signed"}, Ref: "RFC 5280 section 6.1.1",
	Title:       "Certificate was issued by an untrusted authority",
	Requirement: "The certificate is issued by a trusted authority",
	Advice: "Install the intermediate certificates from the authority if they are missing; if the authority " +
		"is private, use a public one for clients that you do not manage.",
	When: func(e *evidence) bool { return certified(e) && !e.missesKnown() },
	Fails: func(e *evidence) diag.Failures {
		if e.anchored || e.reason() != pki.UnknownAuthority && e.reason() != pki.Incomplete {
			return nil
		}
		also := ""
		if e.incomplete() {
			also = "; the server does not send its certificate, so it may also be a missing intermediate certificate"
		}
		return diag.Fail("The chain ends at the issuer %s, which is not a trusted authority%s.",
			nameOf(pki.ParseName(e.top().RawIssuer)), also)
	},
}, {
	Code: "tls.chain.expired", Severity: diag.Critical, Weight: 15, Fact: ground.Untrusted, Differs: whyUntrusted,
	Ref:   "RFC 5280 section 6.1.3",
	Title: "Intermediate certificate has expired", Requirement: "The intermediate certificates have not expired",
	Advice: "Install the current intermediate certificates of the authority.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.expiredIssuers(), func(c *x509.Certificate) diag.Failures {
			return diag.Fail("The certificate of the authority %s expired on %s.", subject(c),
				c.NotAfter.UTC().Format(time.DateOnly))
		})
	},
}, {
	Code: "tls.chain.invalid", Severity: diag.Critical, Weight: 10, Fact: ground.Untrusted, Differs: whyUntrusted,
	DependsOn: []diag.Code{"tls.chain.expired"}, Ref: "RFC 5280 section 6.1.4",
	Title:       "Certificate chain breaks a rule of its issuers",
	Requirement: "The chain keeps the rules that its issuers set",
	Advice:      "Get a certificate for TLS servers from an authority that may certify its names.",
	Fails: func(e *evidence) diag.Failures {
		switch why := e.reason(); {
		case why == pki.BadChain, why == pki.WrongUsage:
			return diag.Fail("The chain is not valid: %s.", e.tls.TrustError)
		case e.anchored && why == pki.UnknownAuthority && len(e.weaklySigned()) == 0:
			return diag.Fail("The chain is not valid: a certificate is not signed with the key of its issuer.")
		}
		return nil
	},
}, {
	Code: "tls.chain.expiring", Severity: diag.Warning, Weight: 2, Ref: "RFC 5280 section 6.1.3",
	Title:       "Intermediate certificate expires before the certificate of the server",
	Requirement: "The intermediate certificates outlive that of the server",
	Advice:      "Install the current intermediate certificates of the authority before then.",
	When:        func(e *evidence) bool { return certified(e) && len(e.verified) > 1 },
	Fails: func(e *evidence) (list diag.Failures) {
		for _, c := range e.verified[1:] {
			if c.NotAfter.Before(e.leaf().NotAfter) {
				list = append(list, diag.Failure{
					Detail: fmt.Sprintf("The certificate of the authority %s expires on %s, and that of the server on %s.",
						subject(c), c.NotAfter.UTC().Format(time.DateOnly), e.leaf().NotAfter.UTC().Format(time.DateOnly)),
					Due: c.NotAfter,
				})
			}
		}
		return list
	},
}, {
	Code: "tls.chain.order", Severity: diag.Warning, Weight: 2, Ref: "RFC 5246 section 7.4.2",
	Title:       "Certificates are sent in the wrong order",
	Requirement: "Each certificate is followed by that of its issuer",
	Advice:      "Put the certificate of the server first, and each issuer after the certificate that it signed.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.disordered(),
			"The server sends %d certificates, and an issuer comes before what it signed; some "+
				"clients refuse that in TLS 1.2 and earlier.", len(e.served))
	},
}, {
	Code: "tls.chain.extra", Severity: diag.Info, Weight: 1, Ref: "RFC 8446 section 4.4.2",
	Title:       "Server sends certificates that do not belong to the chain",
	Requirement: "The server sends no certificates beside the chain",
	Advice:      "Remove them from the chain file: they only make each handshake longer.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.extra(), func(c *x509.Certificate) diag.Failures {
			return diag.Fail("The certificate for %s belongs to no path from the certificate of the server.", subject(c))
		})
	},
}}
