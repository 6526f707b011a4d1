package lint

import (
	"bytes"
	"crypto/x509"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
)

// Bounds of the search: real chains have one path, cross-signed ones a handful. A chain of ten
// certificates that all sign each other has millions.
const (
	maxPaths      = 20
	maxSignatures = 100 // checked in one search
)

// A search is for paths among the certificates that a server sent.
type search struct {
	sent       []*x509.Certificate
	verifier   pki.Verifier
	signatures int
	found      [][]*x509.Certificate
}

// paths returns the paths from the first certificate to a trusted root, the root last.
func paths(sent []*x509.Certificate, v pki.Verifier) [][]*x509.Certificate {
	s := search{sent: sent, verifier: v}
	if slices.ContainsFunc(sent[:1], pki.Checkable) {
		s.extend(sent[:1:1])
	}
	return s.found
}

// extend looks for what stands above the last certificate of a path: a trusted root, or another that was sent.
func (s *search) extend(path []*x509.Certificate) {
	top := path[len(path)-1]
	for _, root := range s.anchors(top) {
		s.found = append(s.found, append(slices.Clip(path), root...))
	}
	for _, issuer := range s.sent {
		if len(s.found) >= maxPaths {
			return
		}
		again := func(c *x509.Certificate) bool { return c.Equal(issuer) || sameAuthority(c, issuer) }
		if !slices.ContainsFunc(path, again) && s.signed(top, issuer) {
			s.extend(append(slices.Clip(path), issuer))
		}
	}
}

// sameAuthority reports whether two certificates have one subject and one key: a path that comes by such
// a one again only goes round.
func sameAuthority(a, b *x509.Certificate) bool {
	return bytes.Equal(a.RawSubject, b.RawSubject) && bytes.Equal(a.RawSubjectPublicKeyInfo, b.RawSubjectPublicKeyInfo)
}

func (s *search) signed(c, issuer *x509.Certificate) bool {
	if !bytes.Equal(c.RawIssuer, issuer.RawSubject) || !pki.Checkable(issuer) || s.signatures >= maxSignatures {
		return false
	}
	s.signatures++
	return issuer.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}

// anchors returns what is to be added to a path that ends in top: nothing if that is a trusted root itself, or the root
// that signed it. The pool of roots cannot be read, but it can be asked through a verification of top alone. What is to
// be said about top is for the rules, so the copy that is verified has none of what would make crypto/x509 refuse it.
func (s *search) anchors(top *x509.Certificate) [][]*x509.Certificate {
	bare := *top
	bare.UnhandledCriticalExtensions = nil
	bare.DNSNames, bare.EmailAddresses, bare.IPAddresses, bare.URIs = nil, nil, nil, nil
	bare.Extensions = slices.DeleteFunc(slices.Clone(top.Extensions), func(e extension) bool { return e.Id.Equal(oidSAN) })
	bare.NotBefore, bare.NotAfter = time.Time{}, s.verifier.Now.AddDate(1, 0, 0)
	chains, err := bare.Verify(x509.VerifyOptions{
		Roots: s.verifier.Roots, CurrentTime: s.verifier.Now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return nil
	}
	return diag.Map(chains, func(chain []*x509.Certificate) []*x509.Certificate { return chain[1:] })
}

// revocation holds each certificate against the revocation lists of its issuer (RFC 5280 section 6.3.3). A list that
// breaks the rules says nothing, which is a fault of its own: clients that ask for lists refuse the certificate.
func revocation(path []*x509.Certificate, lists []*x509.RevocationList, now time.Time) []Fault {
	var faults []Fault
	for i, c := range path[:len(path)-1] {
		for _, list := range lists {
			if !bytes.Equal(list.RawIssuer, c.RawIssuer) {
				continue
			}
			if why := badList(list, path[i+1], now); why != "" {
				faults = append(faults, Fault{"crl.invalid", why, "RFC 5280 section 6.3.3", c})
			} else if revoked(list, c) {
				faults = append(faults, Fault{"crl.revoked", "The certificate has been revoked", "RFC 5280 section 5.3", c})
			}
		}
	}
	return faults
}

func badList(list *x509.RevocationList, issuer *x509.Certificate, now time.Time) string {
	number := slices.IndexFunc(list.Extensions, func(e extension) bool { return e.Id.Equal(oidCRLNumber) })
	switch {
	case number < 0:
		return "The revocation list has no number" // RFC 5280 section 5.2.3
	case list.Extensions[number].Critical:
		return "The number of the revocation list is marked critical"
	case present(issuer, oidKeyUsage) && issuer.KeyUsage&x509.KeyUsageCRLSign == 0:
		return "The issuer's key usage does not allow it to sign revocation lists"
	case issuer.CheckSignature(list.SignatureAlgorithm, list.RawTBSRevocationList, list.Signature) != nil:
		return "The signature of the revocation list is wrong"
	case !list.NextUpdate.IsZero() && now.After(list.NextUpdate):
		return "The revocation list expired on " + date(list.NextUpdate)
	default:
		return ""
	}
}

func revoked(list *x509.RevocationList, c *x509.Certificate) bool {
	return slices.ContainsFunc(list.RevokedCertificateEntries, func(e x509.RevocationListEntry) bool {
		return e.SerialNumber.Cmp(c.SerialNumber) == 0
	})
}
