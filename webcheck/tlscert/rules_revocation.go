package tlscert

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki/revocation"
	"github.com/diagkit/diagkit/diag/rule"
)

// answeredByService reports whether the word of the authority came from a service, and not with the handshake.
func (e *evidence) answeredByService() bool {
	r := e.revocation()
	return certified(e) && known(r.Status) && r.Method != ByStaple
}

// intermediates are the answers about intermediate certificates.
func (e *evidence) intermediates() []RevocationCheck {
	return slices.DeleteFunc(slices.Clone(e.revocations), func(c RevocationCheck) bool {
		return c.Certificate == "" || !known(c.Status)
	})
}

// avoidsRevoked reports whether another path to a trusted authority has no revoked certificate.
func (e *evidence) avoidsRevoked() bool {
	return slices.ContainsFunc(e.paths, func(path []*x509.Certificate) bool {
		return !slices.ContainsFunc(path, func(c *x509.Certificate) bool {
			return slices.ContainsFunc(e.revokedIssuers, func(r *x509.Certificate) bool { return same(r, c) })
		})
	})
}

// revocationRules are about the status of certificates at the authority, besides a stapled response.
var revocationRules = rule.Rules[*evidence]{{
	Code: "tls.revocation.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 5280 section 6.3",
	Title: "Revocation could not be checked", Requirement: "The authority says whether the certificate was revoked",
	Advice: "Try again later, and ask the authority if its services stay silent; the server itself is not at fault.",
	When:   certified,
	Fails: func(e *evidence) rule.Failures {
		r := e.revocation()
		if !e.revocationOpen() {
			return nil
		}
		return failuresOf(r.failing(), "Whether the certificate was revoked is not known: ")
	},
}, {
	Code: "tls.revocation.revoked", Severity: diag.Critical, Weight: 10, Category: factorIssuance,
	Reads: []rule.Source{sourceRevocation}, Ref: "RFC 5280 section 5.3",
	Title: "Certificate was revoked", Requirement: "The authority has not revoked the certificate",
	Advice: "Generate a new key, get a new certificate for it and install it.",
	When:   (*evidence).answeredByService,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.revocations, func(c RevocationCheck) rule.Failures {
			if c.Status != revocation.Revoked || c.Certificate != "" {
				return nil
			}
			return rule.Failures{{
				Title: c.title(), Detail: "The certificate " + c.sinceWhen(), Target: c.URL, Advice: remedies[c.Reason],
			}}
		}).Joined()
	},
}, {
	Code: "tls.revocation.intermediate", Severity: diag.Critical, Weight: 10, Category: factorIssuance,
	Reads: []rule.Source{sourceRevocation}, Ref: "RFC 5280 section 5.3",
	Title: "Intermediate certificate was revoked", Requirement: "No intermediate certificate was revoked",
	Advice: "Install the current intermediate certificates of the authority, or get a certificate from another one.",
	When:   func(e *evidence) bool { return certified(e) && len(e.intermediates()) > 0 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.intermediates(), func(c RevocationCheck) rule.Failures {
			if c.Status != revocation.Revoked {
				return nil
			}
			return rule.Failures{{
				Detail: fmt.Sprintf("The certificate of the authority %s %s", c.Certificate, c.sinceWhen()), Target: c.URL,
				Warns: e.avoidsRevoked(),
			}}
		}).Joined()
	},
}, {
	Code: "tls.revocation.status", Severity: diag.Warning, Weight: 1, Category: factorIssuance,
	Reads: []rule.Source{sourceRevocation}, Ref: "RFC 6960 section 2.2",
	Title: "Authority does not know the certificate", Requirement: "The authority knows the certificate",
	Advice: "Ask the authority: the certificate may be too new, or may never have been issued.",
	When:   (*evidence).answeredByService,
	Fails: func(e *evidence) rule.Failures {
		r := e.revocation()
		return rule.FailIf(r.Status == revocation.Unknown, "The OCSP responder of the authority answers that it does not "+
			"know the certificate (status unknown).")
	},
}, {
	Code: "tls.revocation.service", Severity: diag.Info, Reads: []rule.Source{sourceRevocation}, HoldsWhenUnanswered: true,
	Ref:   "RFC 5280 section 4.2.1.13",
	Title: "Service for revocation gives no usable answer", Requirement: "Every service for revocation gives an answer",
	Advice: "Ask the authority if this persists; the server itself is not at fault.",
	When:   func(e *evidence) bool { return certified(e) && len(e.revocations) > 0 && !e.revocationOpen() },
	Fails: func(e *evidence) rule.Failures {
		r := e.revocation()
		return failuresOf(r.failing(), "")
	},
}, {
	Code: "tls.revocation.missing", Severity: diag.Info, Reads: []rule.Source{sourceRevocation},
	Ref:         "Baseline Requirements section 7.1.2.11.2",
	Title:       "Certificate names no service for revocation",
	Requirement: "The certificate names OCSP or a revocation list, or is short-lived",
	Advice: "Check at the next renewal that the certificate names a revocation list; " +
		"the server itself is not at fault.",
	When: func(e *evidence) bool { return certified(e) && e.tls.Trusted && e.public() },
	Fails: func(e *evidence) rule.Failures {
		c := e.leaf()
		return rule.FailIf(len(c.OCSPServer)+len(c.CRLDistributionPoints) == 0 && !shortLived(c.NotBefore, c.NotAfter),
			"The certificate names neither OCSP nor a revocation list, so no client can learn that it was revoked; only "+
				"certificates of up to 7 days may do without.")
	},
}}

// remedies are the advice for a revoked certificate whose reason says more than that it is revoked.
var remedies = map[revocation.Reason]string{
	"keyCompromise": "Generate a new key on a clean system, get a new certificate for it and install it: " +
		"the old key is known to others.",
	"superseded":           "Install the certificate that replaced this one, and reload the server.",
	"cessationOfOperation": "Get a new certificate if the site is still in use, and install it.",
	"affiliationChanged":   "Get a new certificate in the present name of the organization, and install it.",
	revocation.Hold:        "Ask the authority to lift the hold, or get a new certificate and install it.",
}

// methodNames are the ways of asking, in a sentence.
var methodNames = map[RevocationMethod]string{ByStaple: "stapled OCSP response", ByOCSP: "OCSP responder",
	ByCRL: "revocation list"}

// title summarizes the revocation of the certificate of the server.
func (c *RevocationCheck) title() string {
	by := map[RevocationMethod]string{ByStaple: "stapled OCSP", ByOCSP: "OCSP", ByCRL: "CRL"}[c.Method]
	return fmt.Sprintf("Certificate was revoked on %s (%s)", c.RevokedAt.Format(time.DateOnly),
		strings.Join(slices.DeleteFunc([]string{by, string(c.Reason)}, func(s string) bool { return s == "" }), ", "))
}

// sinceWhen describes a revocation, after the name of what was revoked.
func (c *RevocationCheck) sinceWhen() string {
	why := "the authority names no reason"
	if c.Reason != "" {
		why = "reason " + string(c.Reason)
	}
	if c.Reason == revocation.Hold {
		why += ", a suspension"
	}
	return fmt.Sprintf("was revoked on %s according to the %s of the authority (%s): %s.",
		c.RevokedAt.Format(time.DateOnly), methodNames[c.Method], c.URL, why)
}

// failuresOf reports services without an answer, each by its URL, in one failure.
func failuresOf(list []RevocationCheck, because string) rule.Failures {
	if len(list) == 0 {
		return nil
	}
	var parts []string
	var places []diag.Place
	for _, c := range list {
		whose := ""
		if c.Certificate != "" {
			whose = " of the intermediate certificate " + c.Certificate
		}
		parts = append(parts, fmt.Sprintf("the %s%s at %s: %s", methodNames[c.Method], whose, c.URL, c.Error))
		places = append(places, diag.Place{Target: c.URL})
	}
	return rule.Failures{{Detail: phrase.Capitalize(because + strings.Join(parts, "; ") + "."), Places: places}}
}
