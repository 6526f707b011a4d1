package lint_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/webcheck/internal/lint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The keys that authorities have.
var (
	rsaKey = sync.OnceValue(func() crypto.Signer { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	p384   = func() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) }
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// rootOf and below make authorities as public ones are.
func rootOf(organization, name string) *x509.Certificate {
	c := authority(name)
	c.Subject = pkix.Name{Country: []string{"US"}, Organization: []string{organization}, CommonName: name}
	c.NotBefore, c.NotAfter = now.AddDate(-11, 0, 0), now.AddDate(9, 0, 0)
	return c
}

func below(organization, name string, change func(*x509.Certificate)) *x509.Certificate {
	c := rootOf(organization, name)
	c.NotBefore, c.NotAfter = now.AddDate(-2, 0, 0), now.AddDate(1, 0, 0)
	c.MaxPathLen, c.MaxPathLenZero = 0, true
	c.KeyUsage |= x509.KeyUsageDigitalSignature
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	c.IssuingCertificateURL, c.CRLDistributionPoints = []string{"http://x1.i.example/"}, []string{"http://x1.c.example/"}
	c.PolicyIdentifiers = []asn1.ObjectIdentifier{{2, 23, 140, 1, 2, 1}}
	if change != nil {
		change(c)
	}
	return c
}

// cross is the certificate of a root that another one signed.
func cross(root *x509.Certificate, change func(*x509.Certificate)) *x509.Certificate {
	c := *root
	c.SerialNumber, c.KeyUsage = big.NewInt(9), x509.KeyUsageCertSign|x509.KeyUsageCRLSign
	c.NotBefore, c.NotAfter = now.AddDate(-6, 0, 0), now.AddDate(4, 0, 0)
	if change != nil {
		change(&c)
	}
	return &c
}

// subscriber is the certificate of a server.
func subscriber(change func(*x509.Certificate)) *x509.Certificate {
	c := server()
	c.IssuingCertificateURL, c.OCSPServer = []string{"http://r11.i.example/"}, []string{"http://r11.o.example"}
	c.PolicyIdentifiers = []asn1.ObjectIdentifier{{2, 23, 140, 1, 2, 1}}
	c.ExtraExtensions = []pkix.Extension{extension(false, []byte{4, 2, 0, 0}, 1, 3, 6, 1, 4, 1, 11129, 2, 4, 2)}
	if change != nil {
		change(c)
	}
	return c
}

// shortLived is how authorities issue today: no subject, and so critical names; no key identifier, no OCSP.
func shortLived(c *x509.Certificate) {
	c.Subject, c.OCSPServer, c.SubjectKeyId = pkix.Name{}, nil, nil
	c.NotBefore, c.NotAfter = now.AddDate(0, 0, -1), now.AddDate(0, 0, 5)
	c.CRLDistributionPoints = []string{"http://e7.c.example/81.crl"}
}

func named(names ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.Subject.CommonName, c.DNSNames = names[0], names }
}

// Certificates as the large public authorities issue them break no rule.
func TestPublicAuthorities(t *testing.T) {
	isrg, isrg2 := rootOf("Internet Security Research Group", "ISRG Root X1"), rootOf("Internet Security Research Group",
		"ISRG Root X2")
	old := func(name string) *x509.Certificate { // before the Baseline Requirements
		c := rootOf("Old Trust Co.", name)
		c.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
		return c
	}
	organization := func(policy int, more ...pkix.AttributeTypeAndValue) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			c.Subject = pkix.Name{
				Country: []string{"DE"}, Province: []string{"Hessen"}, Locality: []string{"Frankfurt am Main"},
				Organization: []string{"Beispiel & Söhne GmbH"}, CommonName: "example.com", ExtraNames: more,
			}
			c.DNSNames = []string{"example.com", "www.example.com"}
			c.PolicyIdentifiers = []asn1.ObjectIdentifier{{2, 23, 140, 1, 2, policy}}
		}
	}
	tests := []struct {
		name    string
		root    *x509.Certificate
		rootKey crypto.Signer
		cross   *x509.Certificate // of the root, signed by another root; served if there is one
		store   bool              // the other root is trusted too
		middle  *x509.Certificate
		middleK crypto.Signer
		leaf    *x509.Certificate
		leafKey crypto.Signer
		want    string // name to connect to; example.com if empty
	}{
		{name: "Let's Encrypt R11", root: isrg, rootKey: rsaKey(), middle: below("Let's Encrypt", "R11", nil),
			middleK: rsaKey(),
			leaf:    subscriber(nil), leafKey: rsaKey()},
		{name: "Let's Encrypt over DST Root X3", root: isrg, cross: cross(isrg, func(c *x509.Certificate) {
			c.NotAfter = now.AddDate(-1, 0, 0)
		}), middle: below("Let's Encrypt", "R3", nil), leaf: subscriber(nil)},
		{name: "Let's Encrypt E7, short-lived", root: isrg2, rootKey: p384(), cross: cross(isrg2, nil), store: true,
			middle: below("Let's Encrypt", "E7", nil), middleK: p384(), leaf: subscriber(shortLived)},
		{name: "Let's Encrypt, an address", root: isrg, middle: below("Let's Encrypt", "E7", nil), middleK: p384(),
			leaf: subscriber(func(c *x509.Certificate) {
				shortLived(c)
				c.DNSNames, c.IPAddresses = nil, []net.IP{net.ParseIP("2001:db8::1"), net.IP{192, 0, 2, 1}}
			}), want: "192.0.2.1"},
		{name: "Let's Encrypt, serverAuth only", root: isrg, middle: below("Let's Encrypt", "YE1",
			func(c *x509.Certificate) {
				c.ExtKeyUsage = c.ExtKeyUsage[:1]
			}), leaf: subscriber(func(c *x509.Certificate) { shortLived(c); c.NotAfter = now.AddDate(0, 0, 44) })},
		{name: "Google", root: rootOf("Google Trust Services LLC", "GTS Root R4"), rootKey: p384(),
			cross: cross(rootOf("Google Trust Services LLC", "GTS Root R4"), func(c *x509.Certificate) {
				c.PolicyIdentifiers = []asn1.ObjectIdentifier{{2, 23, 140, 1, 2, 1}, {1, 3, 6, 1, 4, 1, 11129, 2, 5, 3, 2}}
			}), store: true, middle: below("Google Trust Services", "WE2", nil),
			leaf: subscriber(named("*.google.com", "*.google.com", "*.appengine.google.com", "google.com", "*.google.co.uk",
				"g.co",
				"*.xn--ngstr-lra8j.com", "*.gvt1-cn.com", "youtu.be")), want: "www.google.com"},
		{name: "Cloudflare", root: rootOf("Google Trust Services LLC", "GTS Root R4"),
			middle: below("Google Trust Services", "WE1", nil),
			leaf:   subscriber(named("example.com", "example.com", "*.example.com"))},
		{name: "Amazon", root: rootOf("Amazon", "Amazon Root CA 1"), rootKey: rsaKey(), store: true,
			cross:  cross(rootOf("Amazon", "Amazon Root CA 1"), nil),
			middle: below("Amazon", "Amazon RSA 2048 M02", nil), middleK: rsaKey(),
			leaf: subscriber(func(c *x509.Certificate) {
				named("*.example.com", "*.example.com", "example.com")(c)
				c.CRLDistributionPoints = []string{"http://crl.r2m02.amazontrust.example/r2m02.crl"}
				c.KeyUsage |= x509.KeyUsageKeyEncipherment
			}), leafKey: rsaKey()},
		{name: "DigiCert, organization", root: rootOf("DigiCert Inc", "DigiCert Global Root G2"), rootKey: rsaKey(),
			middle:  below("DigiCert Inc", "DigiCert Global G2 TLS RSA SHA256 2020 CA1", nil),
			middleK: rsaKey(), leaf: subscriber(organization(2)), leafKey: rsaKey()},
		{name: "Sectigo, extended validation", root: rootOf("Sectigo Limited",
			"Sectigo Public Server Authentication Root R46"),
			cross: cross(rootOf("Sectigo Limited", "Sectigo Public Server Authentication Root R46"),
				func(c *x509.Certificate) {
					c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
					c.KeyUsage |= x509.KeyUsageDigitalSignature
				}), store: true, middle: below("Sectigo Limited", "Sectigo Public Server Authentication CA EV R36", nil),
			leaf: subscriber(organization(1, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 15},
				Value: "Private Organization"},
				pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 5}, Value: "HRB 12345"},
				pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 311, 60, 2, 1, 3}, Value: "DE"}))},
		{name: "an intermediate for any use", root: rootOf("Certum", "Certum Trusted Network CA 2"),
			middle: below("Certum", "Certum DV CA", func(c *x509.Certificate) {
				c.ExtKeyUsage, c.OCSPServer = nil, []string{"http://o.example"}
			}),
			leaf: subscriber(nil)},
		{name: "an intermediate from before the rules of its key identifiers", root: isrg, middle: below("Old", "Old CA",
			func(c *x509.Certificate) {
				c.ExtraExtensions = []pkix.Extension{extension(false, []byte{0x30, 7, 0x80, 2, 1, 2, 0x82, 1, 7}, 2, 5, 29, 35)}
			}), leaf: subscriber(nil)},
		{name: "a platform's own suffix", root: isrg, middle: below("Microsoft Corporation", "Microsoft TLS RSA Root G2",
			nil),
			leaf: subscriber(named("*.azurewebsites.net", "*.azurewebsites.net", "*.scm.azurewebsites.net", "*.github.io")),
			want: "app.azurewebsites.net"},
		{name: "a customer's authority under name constraints", root: isrg, middle: below("Example", "Example CA",
			func(c *x509.Certificate) {
				c.PermittedDNSDomains = []string{"example.com"}
				c.ExcludedIPRanges = []*net.IPNet{{IP: make(net.IP, 4), Mask: make(net.IPMask, 4)}, {IP: make(net.IP, 16),
					Mask: make(net.IPMask, 16)}}
			}), leaf: subscriber(nil)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := issue(t, tt.root, nil, tt.rootKey)
			middle := issue(t, tt.middle, &root, tt.middleK)
			leaf := issue(t, tt.leaf, &middle, tt.leafKey)
			roots := x509.NewCertPool()
			roots.AddCert(root.cert)
			sent := []*x509.Certificate{leaf.cert, middle.cert}
			if tt.cross != nil {
				other := issue(t, old("Old Root"), nil, nil)
				sent = append(sent, issue(t, tt.cross, &other, root.key).cert)
				if tt.store {
					roots.AddCert(other.cert)
				}
			}
			v := pki.Verifier{Roots: roots, ServerName: tt.want, Now: now.Add(time.Millisecond)}
			if tt.want == "" {
				v.ServerName = "example.com"
			}
			for _, served := range [][]*x509.Certificate{sent, append(sent, root.cert), sent[:2]} {
				path, faults := lint.Server(served, v, lint.WebPKI, nil)
				require.NotNil(t, path)
				assert.Empty(t, faults)
			}
			// As it is for clients that know the older root alone.
			if tt.store {
				v.Roots = x509.NewCertPool()
				v.Roots.AddCert(must(x509.ParseCertificate(lastIssuer(t, roots, sent))))
				_, faults := lint.Server(sent, v, lint.WebPKI, nil)
				assert.Empty(t, faults)
			}
		})
	}
}

// lastIssuer finds the trusted root above the last certificate.
func lastIssuer(t *testing.T, roots *x509.CertPool, sent []*x509.Certificate) []byte {
	t.Helper()
	chains, err := sent[len(sent)-1].Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	require.NoError(t, err)
	for _, c := range chains {
		if len(c) == 2 {
			return c[1].Raw
		}
	}
	t.Fatal("no root")
	return nil
}
