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
