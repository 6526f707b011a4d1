package tlscert

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

func certified(e *evidence) bool { return e.tls != nil }

var certificateRules = rule.Rules[*evidence]{{
	Code: "tls.certificate.missing", Severity: diag.Critical, Weight: 10,
	DependsOn: []diag.Code{"tls.host.handshake"}, Ref: "RFC 9325 section 4.1",
	Title: "Server sends no certificate", Requirement: "The server sends a certificate",
	Advice: "Configure a certificate, and disable anonymous cipher suites: anyone can impersonate the server.",
	When:   func(e *evidence) bool { return certified(e) || e.anonymous() },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!certified(e), "%s accepts anonymous cipher suites only, with which it shows no certificate.",
			phrase.Capitalize(e.server()))
	},
}, {
	Code: "tls.certificate.unread", Severity: diag.Error, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"tls.host.handshake"}, Ref: "RFC 8446 section 4.4.2",
	Title: "Certificate could not be read", Requirement: "The certificate can be read",
	Advice: "Enable a common cipher suite and group: the certificate is sent encrypted in a " +
		"way that this client does not support.",
	When: func(e *evidence) bool { return certified(e) || scanned(e) && !e.anonymous() && e.broken == nil },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!certified(e),
			"%s sends its certificate encrypted by a key exchange or cipher that this client does not support.",
			phrase.Capitalize(e.server()))
	},
}, {
	Code: "tls.certificate.malformed", Severity: diag.Error, Weight: 5, DependsOn: []diag.Code{"tls.host.handshake"},
	Ref:   "RFC 5280 section 4.1",
	Title: "Certificate is malformed or of an unknown kind", Requirement: "The certificates follow the X.509 format",
	Advice: "Have the certificate reissued by a public authority, with an RSA key or an ECDSA key on P-256.",
	When:   func(e *evidence) bool { return len(e.served) > 0 || e.broken != nil },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.broken != nil, "A certificate of the chain that %s sends cannot be read.", e.server())
	},
}, {
	Code: "tls.certificate.name", Severity: diag.Critical, Weight: 20, Fact: reach.OtherName,
	Ref:   "RFC 9525 section 6.3",
	Title: "Certificate does not match the name", Requirement: "The certificate covers the name",
	Advice: "Get a certificate with the name as a subject alternative name, or configure the server to choose the right " +
		"certificate by the name that clients ask for (SNI).",
	When:  func(e *evidence) bool { return certified(e) && unrecognized(e) },
	Fails: mismatch,
}, {
	Code: "tls.certificate.validity", Severity: diag.Warning, Weight: 2, Ref: "Baseline Requirements section 6.3.2",
	Title:       "Validity period of the certificate is longer than browsers accept",
	Requirement: "The validity period is within the limit of browsers",
	Advice:      "Have the certificate reissued with a shorter validity, and automate renewal.",
	When:        func(e *evidence) bool { return certified(e) && !e.described().SelfSigned && unrecognized(e) },
	Fails: func(e *evidence) rule.Failures {
		limit, whose := e.longest()
		return rule.FailIf(life(e.leaf()) > limit, "The certificate is valid for %d days; %s allows %d.",
			int((life(e.leaf())+day-1)/day), whose, int(limit/day))
	},
}}

// validityRules are about the time; the rules about products say what matters of certificates that were never meant for
// clients.
var validityRules = installing(server.Rules(
	rule.Rule[*evidence]{
		Fact: reach.Expired, Code: "tls.certificate.expired", Weight: 20, Category: factorCertificate, When: unrecognized,
	},
	rule.Rule[*evidence]{Fact: reach.NotYetValid, Code: "tls.certificate.early", Weight: 20, Category: factorCertificate,
		When: unrecognized},
	rule.Rule[*evidence]{
		Fact: reach.ExpiresNow, Code: "tls.certificate.expires_now", Weight: 3, Category: factorCertificate,
	},
	rule.Rule[*evidence]{Fact: reach.Expiring, Code: "tls.certificate.expiring", Weight: 3, Category: factorCertificate},
))

// anonymous reports whether the server accepts suites without a certificate only.
func (e *evidence) anonymous() bool {
	return e.scan != nil && len(e.scan.Suites) > 0 && len(e.served) == 0 &&
		!slices.ContainsFunc(e.scan.Suites, func(s probe.SuiteResult) bool { return !s.Anonymous() })
}

// life is the validity of a certificate, both ends included (RFC 5280 section 4.1.2.5).
func life(c *x509.Certificate) time.Duration { return c.NotAfter.Sub(c.NotBefore) + time.Second }

// limits are the longest validity that browsers accept of public authorities, by the day of issue (Baseline
// Requirements section 6.3.2, ballot SC-081).
var limits = []struct {
	from time.Time
	days int
}{
	{time.Date(2029, time.March, 15, 0, 0, 0, 0, time.UTC), 47},
	{time.Date(2027, time.March, 15, 0, 0, 0, 0, time.UTC), 100},
	{time.Date(2026, time.March, 15, 0, 0, 0, 0, time.UTC), 200},
	{time.Date(2020, time.September, 1, 0, 0, 0, 0, time.UTC), 398},
}

// privateLimit is the longest validity that Apple accepts of any authority (support.apple.com/103769).
const privateLimit = 825 * day

// longest is the limit for the certificate, and who sets it.
func (e *evidence) longest() (time.Duration, string) {
	if e.public() {
		for _, l := range limits {
			if !e.leaf().NotBefore.Before(l.from) {
				return time.Duration(l.days) * day, "the CA/Browser Forum"
			}
		}
	}
	return privateLimit, "Apple"
}

// maxShownNames bounds the names of a certificate in a sentence.
const maxShownNames = 5

func mismatch(e *evidence) rule.Failures {
	if e.tls.HostnameMatch {
		return nil
	}
	names := append(kit.Map(e.leaf().DNSNames, phrase.Quote), kit.Map(e.leaf().IPAddresses, net.IP.String)...)
	what := "the name"
	if _, isIP := e.req.Host.IP(); isIP && e.req.ServerName.IsZero() {
		what = "the address"
	}
	f := rule.Failure{Target: e.name}
	switch n := len(names); {
	case e.addressAsName():
		f.Detail = fmt.Sprintf("The certificate has the address %s as a DNS name. Clients compare addresses with entries "+
			"of the type IP address only, and refuse the certificate.", e.name)
		f.Advice = "Have the certificate reissued with the address as a subject alternative name of the " +
			"type IP address (iPAddress), such as IP:" + e.name + " in OpenSSL."
	case n == 0 && e.leaf().Subject.CommonName != "":
		f.Detail = fmt.Sprintf("The certificate does not match %s %s: it lists no names, "+
			"and clients ignore its common name %s.",
			what, e.name, phrase.Quote(e.leaf().Subject.CommonName))
	case n == 0:
		f.Detail = fmt.Sprintf("The certificate does not match %s %s: it lists no names at all.", what, e.name)
	case n > maxShownNames:
		f.Detail = fmt.Sprintf("The certificate does not match %s %s: it is for %s and %d more names.", what, e.name,
			strings.Join(names[:maxShownNames], ", "), n-maxShownNames)
	default:
		f.Detail = fmt.Sprintf("The certificate does not match %s %s: it is for %s.", what, e.name, strings.Join(names,
			", "))
	}
	for _, n := range e.leaf().DNSNames {
		if n == "www."+e.name || "www."+n == e.name {
			f.Advice = "Get a certificate for both names, with and without www., and install it on both."
		}
	}
	return rule.Failures{f}
}

// addressAsName reports whether the certificate covers an address by a name of another type, which counts for nothing
// (RFC 9525 section 6.5).
func (e *evidence) addressAsName() bool {
	addr, err := netip.ParseAddr(e.name)
	return err == nil && slices.ContainsFunc(e.leaf().DNSNames, func(n string) bool {
		named, err := netip.ParseAddr(strings.Trim(n, "[]"))
		return err == nil && named.Unmap() == addr.Unmap()
	})
}

var keyRules = rule.Rules[*evidence]{{
	Code: "tls.key.weak", Severity: diag.Error, Weight: 10, Ref: "Baseline Requirements section 6.1.5",
	Title: "Certificate has a weak key", Requirement: "The keys of the certificates are strong",
	Advice: "Generate a new key, ECDSA on P-256 or RSA with 2048 bits or more, and get a certificate for it.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.needed(), func(c *x509.Certificate) rule.Failures {
			key := pki.DescribeKey(c.PublicKey, c.RawSubjectPublicKeyInfo)
			return rule.FailIf(key.Weak, "The key of the certificate for %s is weak: %s.", subject(c), key.WeakReason)
		})
	},
}, {
	Code: "tls.key.signature", Severity: diag.Error, Weight: 10, Ref: "Baseline Requirements section 7.1.3.2",
	Title:       "Certificate is signed with a broken hash",
	Requirement: "The certificates are signed with SHA-256 or better",
	Advice:      "Have the certificates reissued: browsers refuse signatures with SHA-1 and MD5.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.weaklySigned(), func(c *x509.Certificate) rule.Failures {
			return rule.Fail("The certificate for %s is signed with %s.", subject(c), c.SignatureAlgorithm)
		})
	},
}}
