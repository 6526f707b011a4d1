package diagtest

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Cert says what is wrong with a certificate.
type Cert string

// The kinds of certificates.
const (
	CertGood                Cert = ""                     // trusted, present, for the right name
	CertExpired             Cert = "expired"              // ended the day before
	CertNotYetValid         Cert = "not yet valid"        // begins the day after
	CertWrongName           Cert = "wrong name"           // for wrong.example
	CertSelfSigned          Cert = "self-signed"          // signed by its own key
	CertUnknownAuthority    Cert = "unknown authority"    // signed by an authority that nobody trusts
	CertMissingIntermediate Cert = "missing intermediate" // served without the certificate that links it to the root
)

// authorities are the certificate authorities of a world: a trusted root, an intermediate below it
// which signs the certificates, and one that nobody trusts.
type authorities struct {
	now func() time.Time

	mu                           sync.Mutex
	serial                       int64
	root, intermediate, stranger *tls.Certificate
}

func newAuthorities(now func() time.Time) *authorities {
	a := &authorities{now: now}
	// The keys are made by the system's random numbers and the templates are ours: this cannot fail.
	a.root, _ = a.issue(authority("diagtest Root CA"), nil, nil)
	a.intermediate, _ = a.issue(authority("diagtest Intermediate CA"), nil, a.root)
	a.stranger, _ = a.issue(authority("diagtest Unknown CA"), nil, nil)
	return a
}

// authority is valid for a century, so that no clock of a test leaves it.
func authority(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name, Organization: []string{"diagtest"}},
		NotBefore: time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:  time.Date(2100, time.January, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage:  x509.KeyUsageCertSign | x509.KeyUsageCRLSign, IsCA: true,
	}
}

func (a *authorities) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.root.Leaf)
	return pool
}

// issue makes a certificate. With no key it makes one, with no issuer the certificate signs itself.
func (a *authorities) issue(template *x509.Certificate, key crypto.Signer, issuer *tls.Certificate) (
	*tls.Certificate, error) {
	if key == nil {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, fmt.Errorf("making a key: %w", err)
		}
		key = k
	}
	a.mu.Lock()
	a.serial++
	serial := a.serial
	a.mu.Unlock()
	if template.SerialNumber == nil {
		template.SerialNumber = big.NewInt(serial)
	}
	template.BasicConstraintsValid = true
	above, signer := template, crypto.PrivateKey(key)
	if issuer != nil {
		above, signer = issuer.Leaf, issuer.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, above, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("issuing a certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("issuing a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// CertSpec describes a certificate to issue.
type CertSpec struct {
	Names []string // host names and IP addresses
	Cert  Cert     // what is wrong with it
	// NotBefore and NotAfter replace the usual: a month ago, and two months ahead.
	NotBefore, NotAfter time.Time

	Key    crypto.Signer           // nil makes a new one on the curve P-256
	Change func(*x509.Certificate) // if set, changes the template as the last step
}

// Certificate issues a certificate of the world, with the chain as a server would present it: the root is left out.
func (w *World) Certificate(spec CertSpec) tls.Certificate {
	cert, err := w.pki.certificate(spec)
	if err != nil {
		w.check(err)
		return tls.Certificate{}
	}
	return *cert
}

func (a *authorities) certificate(spec CertSpec) (*tls.Certificate, error) {
	now := a.now()
	template := &x509.Certificate{
		NotBefore: now.AddDate(0, -1, 0), NotAfter: now.AddDate(0, 2, 0), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	names, issuer := spec.Names, a.intermediate
	switch spec.Cert {
	case CertExpired:
		template.NotBefore, template.NotAfter = now.AddDate(0, -3, 0), now.AddDate(0, 0, -1)
	case CertNotYetValid:
		template.NotBefore, template.NotAfter = now.AddDate(0, 0, 1), now.AddDate(0, 3, 0)
	case CertWrongName:
		names = []string{"wrong.example"}
	case CertSelfSigned:
		issuer = nil
	case CertUnknownAuthority:
		issuer = a.stranger
	}
	template.NotBefore = cmp.Or(spec.NotBefore, template.NotBefore)
	template.NotAfter = cmp.Or(spec.NotAfter, template.NotAfter)
	for i, name := range names {
		if i == 0 {
			template.Subject.CommonName = strings.TrimSuffix(name, ".")
		}
		if ip, err := netip.ParseAddr(name); err == nil {
			template.IPAddresses = append(template.IPAddresses, ip.AsSlice())
			continue
		}
		template.DNSNames = append(template.DNSNames, strings.TrimSuffix(name, "."))
	}
	if spec.Change != nil {
		spec.Change(template)
	}
	cert, err := a.issue(template, spec.Key, issuer)
	if err != nil {
		return nil, err
	}
	if issuer == a.intermediate && spec.Cert != CertMissingIntermediate {
		cert.Certificate = append(cert.Certificate, a.intermediate.Certificate[0])
	}
	return cert, nil
}

// Authorities returns the certificates of the trusted root and of the intermediate below it.
func (w *World) Authorities() (root, intermediate *x509.Certificate) {
	return w.pki.root.Leaf, w.pki.intermediate.Leaf
}

// Roots returns a pool with the trusted root of the world.
func (w *World) Roots() *x509.CertPool { return w.pki.roots() }
