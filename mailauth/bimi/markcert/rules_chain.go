package markcert

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
)

var weakSignatures = []x509.SignatureAlgorithm{x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1,
	x509.ECDSAWithSHA1}

var chainRules = rule.Rules[*evidence]{{
	Code: "markcert.signature.weak", Severity: diag.Critical, Weight: 3, Ref: mcr,
	Title: "Signature with a broken hash algorithm", Requirement: "All signatures use SHA-256 or better",
	Advice: "Have the authority reissue the certificate: no receiver accepts such a signature.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.unrooted(), func(c *x509.Certificate) rule.Failures {
			return rule.FailIf(slices.Contains(weakSignatures, c.SignatureAlgorithm),
				"The certificate of %s is signed with %s, with which signatures can be forged.", name(c), c.SignatureAlgorithm)
		})
	},
}, {
	Code: "markcert.chain.incomplete", Severity: diag.Critical, Weight: 8,
	DependsOn: []diag.Code{"markcert.signature.weak"}, Ref: draft + "3.3",
	Title: "Intermediate certificate missing", Requirement: "The certificates of all issuers are in the text",
	Advice: "Append the certificate of the issuer to the text: receivers do not fetch it from anywhere else.",
	Fails: func(e *evidence) rule.Failures {
		if e.trust.Recognized || e.trust.Reason != pki.Incomplete {
			return nil
		}
		f := rule.Fail("The chain is broken: %s.", e.trust.Text)
		if urls := topOf(e.mark.X509, e.others).IssuingCertificateURL; len(urls) > 0 {
			f[0].Advice = fmt.Sprintf("Append the certificate of the issuer to the text, as PEM; its authority publishes "+
				"it at %s.", phrase.Quote(urls[0]))
		}
		return f
	},
}, {
	Code: "markcert.chain.invalid", Severity: diag.Critical, Weight: 4,
	DependsOn: []diag.Code{"markcert.signature.weak", "markcert.chain.incomplete"}, Ref: "RFC 5280 section 6.1",
	Title: "Chain of certificates is not valid", Requirement: "The certificates form a valid chain",
	Advice: "Publish the certificates of the issuers that the authority delivered with the mark certificate; if these " +
		"are they, have it reissued.",
	Fails: func(e *evidence) rule.Failures {
		unknown := e.trust.Reason == pki.SelfSignedLeaf || e.trust.Reason == pki.UnknownAuthority // the chain is sound
		return rule.FailIf(!e.trust.Recognized && !unknown, "The certificate cannot be verified: %s.", e.trust.Text)
	},
}, {
	Code: "markcert.chain.untrusted", Severity: diag.Critical, Weight: 10,
	DependsOn: []diag.Code{"markcert.chain.invalid"}, Ref: draft + "5.1",
	Title:       "Not issued by an authority for mark certificates",
	Requirement: "An authority for mark certificates issued the certificate",
	Advice: "Order the certificate from an authority whose mark certificates mailbox providers accept: DigiCert, " +
		"GlobalSign or SSL.com. Authorities for web servers do not count.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.trust.Recognized, "The certificate is not trusted: %s.", e.trust.Text)
	},
}, {
	Code: "markcert.chain.expired", Severity: diag.Critical, Weight: 3,
	DependsOn: []diag.Code{"markcert.chain.untrusted", "cert_expired", "markcert.validity.not_yet"}, Ref: draft + "5.1",
	Title: "Certificate of an issuer is not valid now", Requirement: "The certificates of all issuers are valid now",
	Advice: "Replace the issuer's certificate with its current one, or have the mark certificate reissued.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.trust.Chain[1:], func(c *x509.Certificate) rule.Failures {
			switch {
			case e.trust.Trusted:
				return nil
			case e.now.After(c.NotAfter):
				return rule.Fail("The certificate of %s expired on %s.", name(c), date(c.NotAfter))
			default:
				return rule.FailIf(e.now.Before(c.NotBefore), "The certificate of %s is valid only from %s.",
					name(c), date(c.NotBefore))
			}
		})
	},
}, {
	Code: "markcert.chain.usage", Severity: diag.Error, Weight: 2, DependsOn: []diag.Code{"markcert.chain.untrusted"},
	Ref:   draft + "4.4",
	Title: "Issuer may not issue mark certificates", Requirement: "The issuer has the purpose of mark certificates",
	Advice: "Ask the authority to reissue the certificate from an authority of its own for marks.",
	When:   func(e *evidence) bool { return isMark(e) && len(e.trust.Chain) > 2 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!forMarks(e.trust.Chain[1]),
			"The certificate of %s lacks the purpose id-kp-BrandIndicatorforMessageIdentification.", name(e.trust.Chain[1]))
	},
}, {
	Code: "markcert.chain.distrusted", Severity: diag.Warning, Weight: 2,
	DependsOn: []diag.Code{"markcert.chain.untrusted"}, Ref: draft + "5.1",
	Title:       "Authority is no longer accepted everywhere",
	Requirement: "The authority is accepted by all mailbox providers that are known",
	Advice:      "Order the next certificate from DigiCert, GlobalSign or SSL.com.",
	Fails: func(e *evidence) rule.Failures {
		d, ok := e.roots.refused[fingerprint(e.trust.Root)]
		if !ok {
			return nil
		}
		if !e.mark.X509.NotBefore.After(d.since) {
			return rule.Fail("%s accepts certificates of %s issued until %s only, such as this one: the next one needs "+
				"another authority.", d.by, d.operator, date(d.since))
		}
		return rule.Fail("%s accepts certificates of %s issued until %s only; this one is of %s.",
			d.by, d.operator, date(d.since), date(e.mark.X509.NotBefore))
	},
}}

// unrooted are the certificates whose signatures matter: the mark certificate and the others that are not roots.
func (e *evidence) unrooted() []*x509.Certificate {
	list := []*x509.Certificate{e.mark.X509}
	if e.trust.Recognized {
		return append(list, e.trust.Chain[1:max(1, len(e.trust.Chain)-1)]...)
	}
	root := func(c *x509.Certificate) bool { return string(c.RawIssuer) == string(c.RawSubject) }
	return append(list, slices.DeleteFunc(slices.Clone(e.others), root)...)
}

// When a certificate should be renewed: the authority has to examine the owner and the mark again, which takes weeks.
const (
	day    = 24 * time.Hour
	urgent = 14 * day
	soon   = 30 * day
)

func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

var validityRules = rule.Rules[*evidence]{{
	Code: "cert_expired", Severity: diag.Critical, Weight: 10, Ref: "RFC 5280 section 4.1.2.5",
	Title: "Mark certificate expired", Requirement: "The mark certificate has not expired",
	Advice: "Renew the mark certificate at the authority and publish it at the same URL. Until then mailboxes that ask " +
		"for one show no logo.",
	Fails: func(e *evidence) rule.Failures {
		end := e.mark.X509.NotAfter
		return rule.FailIf(e.now.After(end), "The certificate expired on %s, %s ago.", date(end), age(e.now.Sub(end)))
	},
}, {
	Code: "markcert.validity.not_yet", Severity: diag.Critical, Weight: 5, Ref: "RFC 5280 section 4.1.2.5",
	Title: "Mark certificate is not yet valid", Requirement: "The validity of the mark certificate has begun",
	Advice: "Publish the certificate once it is valid, and leave the former one in place until then.",
	Fails: func(e *evidence) rule.Failures {
		begin := e.mark.X509.NotBefore
		return rule.FailIf(e.now.Before(begin), "The certificate is valid only from %s.", date(begin))
	},
}, {
	Code: "markcert.validity.urgent", Severity: diag.Warning, Weight: 2,
	DependsOn: []diag.Code{"cert_expired", "markcert.validity.not_yet"}, Ref: "RFC 5280 section 4.1.2.5",
	Title: "Mark certificate expires within 14 days", Requirement: "The mark certificate is valid for 14 more days",
	Advice: "Renew the certificate now: the authority examines the owner and the mark again, which may take longer " +
		"than the time that is left.",
	Fails: func(e *evidence) rule.Failures { return expiresWithin(e, urgent) },
}, {
	Code: "markcert.validity.soon", Severity: diag.Info, DependsOn: []diag.Code{"markcert.validity.urgent"},
	Ref:   "RFC 5280 section 4.1.2.5",
	Title: "Mark certificate expires within 30 days", Requirement: "The mark certificate is valid for 30 more days",
	Advice: "Ask the authority for the renewal: it examines the owner and the mark again.",
	Fails:  func(e *evidence) rule.Failures { return expiresWithin(e, soon) },
}}

func expiresWithin(e *evidence, within time.Duration) rule.Failures {
	end := e.mark.X509.NotAfter
	if e.now.Before(e.mark.X509.NotBefore) || e.now.After(end) || end.Sub(e.now) >= within {
		return nil
	}
	f := rule.Fail("The certificate expires on %s, in %s.", date(end), age(end.Sub(e.now)))
	f[0].Due = end
	return f
}

func age(d time.Duration) string {
	switch {
	case d < time.Hour:
		return "less than an hour"
	case d < 2*day:
		return phrase.Count(int(d/time.Hour), "hour")
	}
	return phrase.Count(int(d/day), "day")
}

var logRules = rule.Rules[*evidence]{{
	Code: "markcert.log.missing", Severity: diag.Error, Weight: 4, DependsOn: []diag.Code{"cert_not_vmc"},
	Ref:   draft + "4.6",
	Title: "No proof that the certificate was logged", Requirement: "The certificate holds timestamps of a log",
	Advice: "Have the certificate reissued with signed certificate timestamps (SCTs): receivers ask for one at least.",
	Fails: func(e *evidence) rule.Failures {
		if e.timestampsBroken {
			return rule.Fail("The extension with the signed certificate timestamps cannot be read.")
		}
		return rule.FailIf(len(e.timestamps) == 0, "The certificate holds no signed certificate timestamp (SCT).")
	},
}, {
	Code: "markcert.log.forged", Severity: diag.Error, Weight: 3, DependsOn: []diag.Code{"markcert.log.missing"},
	Ref:   "RFC 6962 section 3.2",
	Title: "Timestamp of a log is not valid", Requirement: "No timestamp is contradicted by the key of its log",
	Advice: "Have the certificate reissued: the log did not sign this certificate.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.timestamps, func(t Timestamp) rule.Failures {
			return rule.FailIf(t.Verified != nil && !*t.Verified,
				"The signature of the timestamp of %s is not valid for this certificate.", t.Log).About(t.Log)
		})
	},
}, {
	Code: "markcert.log.future", Severity: diag.Error, Weight: 1, DependsOn: []diag.Code{"markcert.log.missing"},
	Ref:   "RFC 6962 section 5.2",
	Title: "Timestamp of a log lies in the future", Requirement: "All timestamps lie in the past",
	Advice: "Check the clock of this system; if it is right, have the certificate reissued.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.timestamps, func(t Timestamp) rule.Failures {
			return rule.FailIf(t.LoggedAt.After(e.now), "A timestamp says that the certificate was logged on %s.",
				date(t.LoggedAt))
		})
	},
}, {
	Code: "markcert.log.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"markcert.log.missing", "markcert.log.forged"}, Ref: draft + "5.1",
	Title: "Timestamps could not be verified", Requirement: "A log that is known has signed a timestamp",
	Advice: "Check the timestamps with the key of the log, which its operator publishes.",
	Fails: func(e *evidence) rule.Failures {
		if e.isLogged() {
			return nil
		}
		if slices.ContainsFunc(e.timestamps, func(t Timestamp) bool { return t.Log != "" }) {
			return rule.Fail("The certificate holds %s; to verify them, the certificate of the issuer is needed, which "+
				"is not in the text.", phrase.Count(len(e.timestamps), "timestamp"))
		}
		return rule.Fail("The certificate holds %s, but none of a log whose key is known here.",
			phrase.Count(len(e.timestamps), "timestamp"))
	},
}}
