package diagtest

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	mathrand "math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudflare/circl/sign/ed448"
	"github.com/miekg/dns"
)

// Cert is the fault of a certificate.
type Cert string

// The kinds of certificates.
const (
	CertGood                Cert = ""                     // trusted, present, for the right name
	CertExpired             Cert = "expired"              // expired the day before
	CertNotYetValid         Cert = "not yet valid"        // valid from the day after
	CertWrongName           Cert = "wrong name"           // for wrong.example
	CertSelfSigned          Cert = "self-signed"          // signed by its own key
	CertUnknownAuthority    Cert = "unknown authority"    // signed by an untrusted authority
	CertMissingIntermediate Cert = "missing intermediate" // served without the certificate that links it to the root
)

// authorities are the certificate authorities of a world: a trusted root, an intermediate below it which signs the
// certificates, and an untrusted one.
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
	// NotBefore and NotAfter default to a month ago and two months ahead.
	NotBefore, NotAfter time.Time

	Issuer *pkix.Name              // the authority of CertUnknownAuthority; nil means diagtest Unknown CA
	Key    crypto.Signer           // nil makes a new one on the curve P-256
	Change func(*x509.Certificate) // if set, called last to change the template
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
		if issuer = a.stranger; spec.Issuer != nil {
			above := authority("")
			above.Subject = *spec.Issuer
			var err error
			if issuer, err = a.issue(above, nil, nil); err != nil {
				return nil, err
			}
		}
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

// Authorities returns the certificates of the trusted root and of its intermediate.
func (w *World) Authorities() (root, intermediate *x509.Certificate) {
	return w.pki.root.Leaf, w.pki.intermediate.Leaf
}

// CrossCertificate returns a certificate for the name and key of the trusted root that is signed by an
// untrusted authority, as servers send it to link to an older root.
func (w *World) CrossCertificate(notAfter time.Time) *x509.Certificate {
	template := authority("")
	template.Subject, template.NotAfter = w.pki.root.Leaf.Subject, notAfter
	cert, err := w.pki.issue(template, w.pki.root.PrivateKey.(crypto.Signer), w.pki.stranger)
	if err != nil {
		w.check(err)
		return &x509.Certificate{}
	}
	return cert.Leaf
}

// RevocationList returns a list of revoked certificates (RFC 5280 section 5) in DER, signed by the intermediate and
// valid for a week.
func (w *World) RevocationList(revoked ...*x509.Certificate) []byte {
	now := w.Now()
	list := &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: now.AddDate(0, 0, -1), NextUpdate: now.AddDate(0, 0, 6),
	}
	for _, cert := range revoked {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: cert.SerialNumber, RevocationTime: list.ThisUpdate})
	}
	authority := w.pki.intermediate
	der, err := x509.CreateRevocationList(rand.Reader, list, authority.Leaf, authority.PrivateKey.(crypto.Signer))
	w.check(err)
	return der
}

// Roots returns a pool with the trusted root of the world.
func (w *World) Roots() *x509.CertPool { return w.pki.roots() }

type signingKey struct {
	dnskey *dns.DNSKEY
	signer crypto.Signer
}

// Flags of DNSKEY records (RFC 4034 section 2.1.1).
const (
	flagZone = 256
	flagKSK  = 257 // with the bit of a secure entry point
)

// newKey makes the key of a zone for one purpose. It is the same every time.
func newKey(zone, purpose string, flags uint16, how *Signing) *signingKey {
	algorithm := cmp.Or(how.Algorithm, dns.ECDSAP256SHA256)
	seed := sha256.Sum256([]byte("diagtest\x00" + zone + "\x00" + purpose + "\x00" + how.Seed))
	k := &signingKey{dnskey: &dns.DNSKEY{
		Hdr:   dns.RR_Header{Name: zone, Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET, Ttl: 3600},
		Flags: flags, Protocol: 3, Algorithm: algorithm,
	}}
	var public []byte
	switch algorithm {
	case dns.RSASHA256:
		key := rsaKey(seed, cmp.Or(how.Bits, rsaBits))
		k.signer = rsaSigner{key}
		exponent := big.NewInt(int64(key.E)).Bytes() // RFC 3110 section 2
		public = append(append([]byte{byte(len(exponent))}, exponent...), key.N.Bytes()...)
	case dns.ED25519:
		key := ed25519.NewKeyFromSeed(seed[:])
		k.signer = key
		public = key.Public().(ed25519.PublicKey) // RFC 8080 section 3
	case dns.ED448:
		key := ed448.NewKeyFromSeed(append(seed[:], make([]byte, ed448.SeedSize-len(seed))...))
		k.signer = ed448Signer{key}
		public = key.Public().(ed448.PublicKey) // RFC 8080 section 3
	default:
		key := ecdsaKey(seed)
		k.signer = steady{key}
		if point, err := key.PublicKey.Bytes(); err == nil {
			public = point[1:] // RFC 6605 section 4: without the octet that says uncompressed
		}
	}
	k.dnskey.PublicKey = base64.StdEncoding.EncodeToString(public)
	return k
}

var ecdsaKeys sync.Map // of *ecdsa.PrivateKey by seed: zones are made anew with each change

// ecdsaKey takes the first digest of a chain that is a valid scalar.
func ecdsaKey(seed [32]byte) *ecdsa.PrivateKey {
	if key, ok := ecdsaKeys.Load(seed); ok {
		return key.(*ecdsa.PrivateKey)
	}
	for scalar := seed; ; scalar = sha256.Sum256(scalar[:]) {
		if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:]); err == nil {
			ecdsaKeys.Store(seed, key)
			return key
		}
	}
}

// steady signs without random numbers (RFC 6979): the same records have the same signature.
type steady struct{ *ecdsa.PrivateKey }

func (s steady) Sign(_ io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	return s.PrivateKey.Sign(nil, digest, opts)
}

// sign makes a signature. The DNS library lacks Ed448, so sign presents the key as Ed25519, the other algorithm that
// signs unhashed data.
func sign(sig *dns.RRSIG, k *signingKey, rrset []dns.RR) error {
	if algorithm := sig.Algorithm; algorithm == dns.ED448 {
		sig.Algorithm = dns.ED25519
		defer func() { sig.Algorithm = algorithm }()
	}
	return sig.Sign(k.signer, rrset)
}

type ed448Signer struct{ ed448.PrivateKey }

func (s ed448Signer) Sign(_ io.Reader, data []byte, _ crypto.SignerOpts) ([]byte, error) {
	data = slices.Clone(data)
	data[2] = dns.ED448 // the algorithm follows the type covered (RFC 4034 section 3.1)
	return ed448.Sign(s.PrivateKey, data, ""), nil
}

// An rsaSigner signs with keys of any size: crypto/rsa refuses those that are weak.
type rsaSigner struct{ *rsa.PrivateKey }

// sha256Prefix is the DER encoding of the hash algorithm that precedes a digest (RFC 8017 section 9.2).
const sha256Prefix = "\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20"

func (s rsaSigner) Sign(_ io.Reader, digest []byte, _ crypto.SignerOpts) ([]byte, error) {
	size, tail := s.Size(), sha256Prefix+string(digest)
	padding := strings.Repeat("\xff", size-3-len(tail))
	m := new(big.Int).SetBytes([]byte("\x00\x01" + padding + "\x00" + tail))
	return m.Exp(m, s.D, s.N).FillBytes(make([]byte, size)), nil
}

// rsaBits is the size of RSA keys: what is usual for signing zones.
const rsaBits = 2048

// rsaKeys holds the keys that were made, for they take long.
var rsaKeys sync.Map // rsaID to *rsa.PrivateKey

type rsaID struct {
	seed [32]byte
	bits int
}

// rsaKey finds the key by random numbers that follow from the seed.
func rsaKey(seed [32]byte, bits int) *rsa.PrivateKey {
	id := rsaID{seed, bits}
	if k, ok := rsaKeys.Load(id); ok {
		return k.(*rsa.PrivateKey)
	}
	random := mathrand.NewChaCha8(seed)
	for {
		p, q := prime(random, bits/2), prime(random, bits/2)
		e := big.NewInt(65537)
		one := big.NewInt(1)
		phi := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
		d := new(big.Int).ModInverse(e, phi)
		n := new(big.Int).Mul(p, q)
		if d == nil || p.Cmp(q) == 0 || n.BitLen() != bits {
			continue
		}
		k := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: n, E: 65537}, D: d, Primes: []*big.Int{p, q}}
		rsaKeys.Store(id, k)
		return k
	}
}

// prime finds a prime number whose two highest bits are set, so that a product has all its bits.
func prime(random *mathrand.ChaCha8, bits int) *big.Int {
	b := make([]byte, bits/8)
	random.Read(b)
	b[0] |= 0xc0
	b[len(b)-1] |= 1
	p := new(big.Int).SetBytes(b)
	for two := big.NewInt(2); !p.ProbablyPrime(0); {
		p.Add(p, two)
	}
	return p
}

// ds returns the DS record of a key, with the digest type 2 for 0.
func (k *signingKey) ds(digest uint8) *dns.DS {
	return k.dnskey.ToDS(cmp.Or(digest, dns.SHA256))
}
