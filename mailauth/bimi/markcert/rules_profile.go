package markcert

import (
	"crypto/x509"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
)

// pilotEnd is when certificates with the extension of the pilot of CMCs ceased to be issued.
var pilotEnd = time.Date(2025, time.March, 15, 0, 0, 0, 0, time.UTC)

var profileRules = diag.Rules[*evidence]{{
	Code: "markcert.key.weak", Severity: diag.Error, Weight: 3, Ref: mcr + " section 6.1.5",
	Title: "Weak public key", Requirement: "The key is strong enough",
	Advice: "Have the certificate reissued with an RSA key of at least 2048 bits or a key on the curve P-256 or P-384.",
	Fails: func(e *evidence) diag.Failures {
		k := e.described().PublicKey
		return diag.FailIf(k.Weak, "The key of the certificate is weak: %s.", k.WeakReason)
	},
}, {
	Code: "markcert.usage.signing", Severity: diag.Error, Weight: 1, Ref: mcr,
	Title: "Mark certificate may sign other certificates", Requirement: "The certificate may not sign others",
	Advice: "Have the certificate reissued without the key usages of an authority.",
	Fails: func(e *evidence) diag.Failures {
		c := e.mark.X509
		return diag.FailIf(c.IsCA || c.KeyUsage&(x509.KeyUsageCertSign|x509.KeyUsageCRLSign) != 0,
			"The certificate has the basic constraints or the key usage of an authority.")
	},
}, {
	Code: "markcert.usage.extra", Severity: diag.Warning, Weight: 1, DependsOn: []diag.Code{"cert_not_vmc"}, Ref: mcr,
	Title: "Mark certificate has further purposes", Requirement: "The certificate has no purpose but marks",
	Advice: "Have the certificate reissued with id-kp-BrandIndicatorforMessageIdentification as its only purpose: logs " +
		"refuse others.",
	Fails: func(e *evidence) diag.Failures {
		list := e.described().ExtKeyUsage
		return diag.FailIf(len(list) > 1, "The certificate has these purposes: %s.", join(list))
	},
}, {
	Code: "markcert.policy.missing", Severity: diag.Warning, Weight: 1, DependsOn: []diag.Code{"cert_not_vmc"}, Ref: mcr,
	Title: "Policy of mark certificates missing", Requirement: "The certificate names the policy of mark certificates",
	Advice: "Have the certificate reissued with the policy 1.3.6.1.4.1.53087.1.1: logs refuse certificates without it.",
	Fails: func(e *evidence) diag.Failures {
		for _, p := range e.mark.X509.PolicyIdentifiers {
			if p.Equal(oidPolicy) {
				return nil
			}
		}
		return diag.Fail("The certificate policies do not include 1.3.6.1.4.1.53087.1.1, the Mark Certificate General " +
			"Policy Identifier.")
	},
}, {
	Code: "markcert.revocation.missing", Severity: diag.Error, Weight: 1, DependsOn: []diag.Code{"cert_not_vmc"},
	Ref:   draft + "5.1",
	Title: "No revocation list named", Requirement: "The certificate names a revocation list",
	Advice: "Have the certificate reissued with a CRL distribution point: receivers must be able to check whether it " +
		"was revoked.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(len(e.mark.X509.CRLDistributionPoints) == 0, "The certificate has no CRL distribution point.")
	},
}, {
	Code: "markcert.constraints.forbidden", Severity: diag.Error, Weight: 1, Ref: "RFC 5280 section 4.2.1.10",
	Title: "Name constraints in a mark certificate", Requirement: "The certificate has no name constraints",
	Advice: "Have the certificate reissued without name constraints: they belong in certificates of authorities only.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(extension(e.mark.X509, oidNames) != nil, "The certificate has the extension name constraints "+
			"(2.5.29.30).")
	},
}, {
	Code: "markcert.pilot.late", Severity: diag.Error, Weight: 1, Ref: mcr,
	Title:       "Pilot extension in a certificate issued after the pilot",
	Requirement: "The certificate has no extension of the pilot, which ended on 2025-03-15",
	Advice:      "Have the certificate reissued without the extension 1.3.6.1.4.1.53087.4.1.",
	Fails: func(e *evidence) diag.Failures {
		begin := e.mark.X509.NotBefore
		return diag.FailIf(e.mark.Pilot && !begin.Before(pilotEnd),
			"The certificate, issued on %s, has the pilot identifier, which is forbidden since %s.",
			date(begin), date(pilotEnd))
	},
}}

func (e *evidence) described() pki.Certificate { return pki.Describe(e.mark.X509, e.now) }
