package lint_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/webcheck/internal/lint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// A signer is a certificate and its key.
type signer struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

// issue signs a template, or lets it sign itself if there is no issuer.
func issue(t testing.TB, template *x509.Certificate, issuer *signer, key crypto.Signer) signer {
	t.Helper()
	if key == nil {
		key = newKey(t)
	}
	parent, with := template, key
	if issuer != nil {
		parent, with = issuer.cert, issuer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), with)
	require.NoError(t, err)
	c, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return signer{c, key}
}

func authority(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: name}, NotBefore: now.AddDate(-1, 0, 0),
		NotAfter: now.AddDate(5, 0, 0), BasicConstraintsValid: true, IsCA: true, MaxPathLen: -1,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
}

func server() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(8), Subject: pkix.Name{CommonName: "example.com"}, NotBefore: now.AddDate(0, -1, 0),
		NotAfter: now.AddDate(0, 1, 0), DNSNames: []string{"example.com", "*.example.com"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

func extension(critical bool, value []byte, id ...int) pkix.Extension {
	return pkix.Extension{Id: id, Critical: critical, Value: value}
}

// A chain is root, intermediate and leaf before they are signed.
type chain struct {
	root, middle, leaf *x509.Certificate
	leafKey            crypto.Signer
	name               string
	lists              func(middle signer) []*x509.RevocationList
}

func ids(faults []lint.Fault) []string {
	list := []string{}
	for _, f := range faults {
		list = append(list, f.ID)
	}
	return list
}

func (c chain) check(t testing.TB, p lint.Profile) []lint.Fault {
	t.Helper()
	top := issue(t, c.root, nil, nil)
	middle := issue(t, c.middle, &top, nil)
	leaf := issue(t, c.leaf, &middle, c.leafKey)
	roots := x509.NewCertPool()
	roots.AddCert(top.cert)
	var lists []*x509.RevocationList
	if c.lists != nil {
		lists = c.lists(middle)
	}
	v := pki.Verifier{Roots: roots, ServerName: c.name, Now: now.Add(time.Millisecond)}
	_, faults := lint.Server([]*x509.Certificate{leaf.cert, middle.cert}, v, p, lists)
	return faults
}

func revocationList(t *testing.T, template x509.RevocationList) func(signer) []*x509.RevocationList {
	return func(issuer signer) []*x509.RevocationList {
		template.Number, template.ThisUpdate = big.NewInt(1), now.AddDate(0, 0, -1)
		der, err := x509.CreateRevocationList(rand.Reader, &template, issuer.cert, issuer.key)
		require.NoError(t, err)
		list, err := x509.ParseRevocationList(der)
		require.NoError(t, err)
		return []*x509.RevocationList{list}
	}
}

func TestServer(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	odd, err := rsa.GenerateKey(rand.Reader, 2050)
	require.NoError(t, err)
	p224, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	require.NoError(t, err)
	tests := []struct {
		name   string
		change func(*chain)
		want   []string
	}{
		{"good", func(*chain) {}, nil},
		{"by address", func(c *chain) {
			c.leaf.IPAddresses, c.leaf.Subject.CommonName = []net.IP{net.ParseIP("192.0.2.1")}, "192.0.2.1"
			c.name = "192.0.2.1"
		}, nil},
		{"no subject", func(c *chain) { c.leaf.Subject = pkix.Name{} }, nil},
		{"other name", func(c *chain) { c.name = "example.org" }, []string{"name.mismatch"}},
		{"expired", func(c *chain) { c.leaf.NotAfter = now.Add(-time.Second) }, []string{"validity.expired"}},
		{"the very last second", func(c *chain) { c.leaf.NotAfter = now }, nil},
		{"expired intermediate", func(c *chain) { c.middle.NotAfter = now.AddDate(0, 0, -1) },
			[]string{"validity.expired"}},
		{"early", func(c *chain) { c.leaf.NotBefore = now.Add(time.Second) }, []string{"validity.early"}},
		{"expired root", func(c *chain) { c.root.NotAfter = now.AddDate(0, 0, -1) }, []string{lint.Untrusted}},
		{"serial zero", func(c *chain) { c.leaf.SerialNumber = new(big.Int) }, []string{"serial.zero"}},
		{"serial of 20 octets", func(c *chain) { c.leaf.SerialNumber = new(big.Int).Lsh(big.NewInt(1), 158) }, nil},
		{"no authority name", func(c *chain) { c.middle.Subject = pkix.Name{} },
			[]string{"issuer.empty", "subject.empty"}},
		{"unknown critical extension", func(c *chain) {
			c.leaf.ExtraExtensions = append(c.leaf.ExtraExtensions, extension(true, []byte{5, 0}, 1, 2, 3, 4))
		}, []string{"extension.critical"}},
		{"authority by name", func(c *chain) {
			c.leaf.ExtraExtensions = []pkix.Extension{extension(false, []byte{0x30, 6, 0x80, 1, 7, 0x82, 1, 1}, 2, 5, 29, 35)}
		}, []string{"aki.form"}},
		{"root with another authority's key", func(c *chain) {
			c.root.ExtraExtensions = []pkix.Extension{extension(false, []byte{0x30, 3, 0x80, 1, 7}, 2, 5, 29, 35)}
		}, []string{"aki.mismatch"}},
		{"intermediate without critical constraints", func(c *chain) {
			c.middle.ExtraExtensions = []pkix.Extension{extension(false, []byte{0x30, 3, 1, 1, 0xff}, 2, 5, 29, 19)}
		}, []string{"ca.noncritical"}},
		{"intermediate is none", func(c *chain) { c.middle.IsCA, c.middle.KeyUsage = false, x509.KeyUsageDigitalSignature },
			[]string{"aki.missing", "ski.missing", "ca.missing", "ca.usage"}},
		{"intermediate may not sign", func(c *chain) { c.middle.KeyUsage = x509.KeyUsageCRLSign }, []string{"ca.usage"}},
		{"leaf is an authority", func(c *chain) { c.leaf.BasicConstraintsValid, c.leaf.IsCA = true, true },
			[]string{"leaf.ca"}},
		{"leaf may sign", func(c *chain) { c.leaf.KeyUsage = x509.KeyUsageCertSign }, []string{"leaf.usage"}},
		{"no purpose", func(c *chain) { c.leaf.ExtKeyUsage = nil }, []string{"eku.missing"}},
		{"any purpose", func(c *chain) {
			c.leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageAny}
		}, []string{"eku.any"}},
		{"for clients", func(c *chain) { c.leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} },
			[]string{"eku.server"}},
		{"intermediate for clients", func(c *chain) { c.middle.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} },
			[]string{"eku.server"}},
		{"critical purpose", func(c *chain) {
			c.leaf.ExtraExtensions = []pkix.Extension{
				extension(true, []byte{0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 1}, 2, 5, 29, 37)}
		}, []string{"eku.critical"}},
		{"root with a purpose", func(c *chain) { c.root.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} },
			[]string{"eku.root"}},
		{"constraints of a leaf", func(c *chain) { c.leaf.PermittedDNSDomains = []string{"a.b"} },
			[]string{"constraints.leaf"}},
		{"policy constraints", func(c *chain) {
			c.middle.ExtraExtensions = []pkix.Extension{extension(false, []byte{0x30, 3, 0x80, 1, 9}, 2, 5, 29, 36)}
		}, []string{"policy.noncritical"}},
		{"empty information access", func(c *chain) {
			c.leaf.ExtraExtensions = []pkix.Extension{extension(false, []byte{0x30, 0}, 1, 3, 6, 1, 5, 5, 7, 1, 1)}
		}, []string{"aia.form"}},
		{"Ed25519", func(c *chain) { c.leafKey = edwards }, []string{"key.kind"}},
		{"RSA of 1024 bits", func(c *chain) { c.leafKey = short }, []string{"key.short"}},
		{"RSA of 2050 bits", func(c *chain) { c.leafKey = odd }, []string{"key.odd"}},
		{"P-224", func(c *chain) { c.leafKey = p224 }, []string{"key.curve"}},
		{"no names", func(c *chain) { c.leaf.DNSNames, c.name = nil, "" }, []string{"san.missing", "cn.foreign"}},
		{"common name in capitals", func(c *chain) { c.leaf.Subject.CommonName = "EXAMPLE.com" }, []string{"cn.foreign"}},
		{"underscore", func(c *chain) { c.leaf.DNSNames = append(c.leaf.DNSNames, "a_b.example.com") },
			[]string{"san.name"}},
		{"wildcard in the middle", func(c *chain) { c.leaf.DNSNames = append(c.leaf.DNSNames, "a.*.example.com") },
			[]string{"san.name"}},
		{"part of a label", func(c *chain) { c.leaf.DNSNames = append(c.leaf.DNSNames, "a*.example.com") },
			[]string{"san.name"}},
		{"everything", func(c *chain) { c.leaf.DNSNames = append(c.leaf.DNSNames, "*") }, []string{"san.name"}},
		{"address as name", func(c *chain) { c.leaf.DNSNames = append(c.leaf.DNSNames, "192.0.2.1") },
			[]string{"san.name"}},
		{"public suffix", func(c *chain) { c.leaf.DNSNames = append(c.leaf.DNSNames, "*.co.uk") }, []string{"san.suffix"}},
		{"suffix of a company", func(c *chain) { c.leaf.DNSNames = append(c.leaf.DNSNames, "*.s3.amazonaws.com") }, nil},
		{"permitted", func(c *chain) { c.middle.PermittedDNSDomains = []string{"example.com"} }, nil},
		{"not permitted", func(c *chain) { c.middle.PermittedDNSDomains = []string{"www.example.com"} },
			[]string{"constraints.violated"}},
		{"excluded below a wildcard", func(c *chain) { c.root.ExcludedDNSDomains = []string{"www.example.com"} },
			[]string{"constraints.violated"}},
		{"excluded elsewhere", func(c *chain) { c.middle.ExcludedDNSDomains = []string{"a.www.example.com", "ample.com"} },
			nil},
		{"excluded network", func(c *chain) {
			c.leaf.IPAddresses = []net.IP{net.ParseIP("192.0.2.1").To4()}
			c.middle.ExcludedIPRanges = []*net.IPNet{{IP: net.IP{192, 0, 2, 0}, Mask: net.CIDRMask(24, 32)}}
		}, []string{"constraints.violated"}},
		{"network that excludes nothing", func(c *chain) {
			c.leaf.IPAddresses = []net.IP{net.ParseIP("192.0.2.1").To4()}
			c.middle.ExcludedIPRanges = []*net.IPNet{{IP: net.IP{192, 0, 3, 0}, Mask: net.CIDRMask(24, 32)}}
		}, nil},
		{"mailbox", func(c *chain) {
			c.leaf.EmailAddresses = []string{"a@example.com"}
			c.middle.PermittedEmailAddresses = []string{"b@example.com"}
		}, []string{"constraints.violated"}},
		{"mail domain", func(c *chain) {
			c.leaf.EmailAddresses = []string{"a@example.com"}
			c.middle.PermittedEmailAddresses = []string{"example.com"}
		}, nil},
		{"other host of a URI", func(c *chain) {
			c.leaf.URIs = []*url.URL{{Scheme: "https", Host: "www.example.com"}}
			c.middle.PermittedURIDomains = []string{".example.com"}
		}, nil},
		{"foreign host of a URI", func(c *chain) {
			c.leaf.URIs = []*url.URL{{Scheme: "https", Host: "example.com"}}
			c.middle.PermittedURIDomains = []string{".example.com"}
		}, []string{"constraints.violated"}},
		{"excluded subject", func(c *chain) { excludeSubject(t, c, c.leaf.Subject) }, []string{"constraints.violated"}},
		{"subject that is not excluded", func(c *chain) { excludeSubject(t, c, pkix.Name{CommonName: "other"}) }, nil},
		{"constraint with a leading period", func(c *chain) {
			c.middle.ExtraExtensions = []pkix.Extension{extension(true,
				append([]byte{0x30, 11, 0xa1, 9, 0x30, 7, 0x82, 5}, ".a.bc"...), 2, 5, 29, 30)}
		}, []string{"constraints.name"}},
		{"constraint with a leading period that covers the name", func(c *chain) {
			c.leaf.DNSNames = []string{"www.example.com", "*.example.com"}
			c.leaf.Subject.CommonName = "www.example.com"
			c.middle.ExtraExtensions = []pkix.Extension{extension(true,
				append([]byte{0x30, 18, 0xa0, 16, 0x30, 14, 0x82, 12}, ".example.com"...), 2, 5, 29, 30)}
		}, []string{"constraints.name"}},
		{"constraint with a leading period that does not", func(c *chain) {
			c.leaf.DNSNames = []string{"example.com"}
			c.middle.ExtraExtensions = []pkix.Extension{extension(true,
				append([]byte{0x30, 18, 0xa0, 16, 0x30, 14, 0x82, 12}, ".example.com"...), 2, 5, 29, 30)}
			c.name = "example.com"
		}, []string{"constraints.violated", "constraints.name"}},
		{"excluded subject in another spelling", func(c *chain) {
			excludeSubject(t, c, pkix.Name{ExtraNames: []pkix.AttributeTypeAndValue{
				{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: asn1.RawValue{Tag: asn1.TagUTF8String,
					Bytes: []byte(" EXAMPLE.com")}},
			}})
		}, []string{"constraints.violated"}},
		{"kind that nobody knows", func(c *chain) { // registeredID on both sides
			c.middle.ExtraExtensions = []pkix.Extension{
				extension(true, []byte{0x30, 8, 0xa1, 6, 0x30, 4, 0x88, 2, 0x2a, 3}, 2, 5, 29, 30)}
			c.leaf.DNSNames, c.leaf.Subject = nil, pkix.Name{Organization: []string{"Example"}}
			c.leaf.ExtraExtensions = []pkix.Extension{extension(false,
				append([]byte{0x30, 19, 0x88, 2, 0x2a, 3, 0x82, 13}, "*.example.com"...), 2, 5, 29, 17)}
		}, []string{"constraints.violated"}},
		{"path too long", func(c *chain) { c.root.MaxPathLen, c.root.MaxPathLenZero = 0, true }, []string{"path.length"}},
		{"path just long enough", func(c *chain) {
			c.root.MaxPathLen, c.middle.MaxPathLen, c.middle.MaxPathLenZero = 1, 0, true
		}, nil},
		{"not revoked", func(c *chain) {
			c.lists = revocationList(t, x509.RevocationList{NextUpdate: now.AddDate(0, 0, 1)})
		}, nil},
		{"revoked", func(c *chain) {
			c.lists = revocationList(t, x509.RevocationList{
				NextUpdate:                now.AddDate(0, 0, 1),
				RevokedCertificateEntries: []x509.RevocationListEntry{{SerialNumber: big.NewInt(8), RevocationTime: now}},
			})
		}, []string{"crl.revoked"}},
		{"old revocation list", func(c *chain) {
			c.lists = revocationList(t, x509.RevocationList{NextUpdate: now.Add(-time.Hour)})
		}, []string{"crl.invalid"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := chain{root: authority("Root"), middle: authority("Issuer"), leaf: server(), name: "www.example.com"}
			if tt.name == "no names" {
				c.name = ""
			}
			tt.change(&c)
			assert.ElementsMatch(t, tt.want, ids(c.check(t, lint.WebPKI)))
		})
	}
}

// excludeSubject lets the intermediate exclude a name of a subject.
func excludeSubject(t *testing.T, c *chain, name pkix.Name) {
	t.Helper()
	subject, err := asn1.Marshal(name.ToRDNSequence())
	require.NoError(t, err)
	wrap := func(tag byte, der []byte) []byte { return append([]byte{tag, byte(len(der))}, der...) }
	der := wrap(0x30, wrap(0xa1, wrap(0x30, wrap(0xa4, subject))))
	c.middle.ExtraExtensions = []pkix.Extension{extension(true, der, 2, 5, 29, 30)}
}

// What only the Baseline Requirements demand is not demanded of others, who must mark name constraints.
func TestProfiles(t *testing.T) {
	c := chain{root: authority("Root"), middle: authority("Issuer"), leaf: server(), name: "www.example.com"}
	c.leaf.ExtKeyUsage = nil
	c.middle.PermittedDNSDomains = []string{"example.com"}
	assert.Equal(t, []string{"eku.missing"}, ids(c.check(t, lint.WebPKI)))
	assert.Equal(t, []string{"constraints.noncritical"}, ids(c.check(t, lint.RFC5280)))
}

// The best of two paths counts: an expired cross-signed intermediate does not matter to clients that find the other
// path.
func TestBestPath(t *testing.T) {
	first, second := issue(t, authority("First"), nil, nil), issue(t, authority("Second"), nil, nil)
	expired := authority("Issuer")
	expired.NotAfter = now.AddDate(0, 0, -1)
	old := issue(t, expired, &first, nil)
	renewed := issue(t, authority("Issuer"), &second, old.key)
	leaf := issue(t, server(), &old, nil)
	roots := x509.NewCertPool()
	roots.AddCert(first.cert)
	roots.AddCert(second.cert)
	sent := []*x509.Certificate{leaf.cert, old.cert, renewed.cert}
	path, faults := lint.Server(sent, pki.Verifier{Roots: roots, Now: now}, lint.WebPKI, nil)
	assert.Empty(t, faults)
	assert.Equal(t, []*x509.Certificate{leaf.cert, renewed.cert, second.cert}, path)
}

func TestUntrusted(t *testing.T) {
	lone := issue(t, server(), nil, nil)
	for name, sent := range map[string][]*x509.Certificate{"none": nil, "self-signed": {lone.cert}} {
		path, faults := lint.Server(sent, pki.Verifier{Roots: x509.NewCertPool(), Now: now}, lint.WebPKI, nil)
		assert.Nil(t, path, name)
		assert.Equal(t, []string{lint.Untrusted}, ids(faults), name)
	}
}

// Three authorities that all certify each other make many ways round, and none to a root.
func TestCyclesEnd(t *testing.T) {
	keys := []crypto.Signer{newKey(t), newKey(t), newKey(t)}
	names := []string{"A", "B", "C"}
	sent := []*x509.Certificate{}
	for subject := range keys {
		for issuer := range keys {
			parent := authority(names[issuer])
			sent = append(sent, issue(t, authority(names[subject]), &signer{parent, keys[issuer]}, keys[subject]).cert)
		}
	}
	leaf := issue(t, server(), &signer{sent[0], keys[0]}, nil)
	_, faults := lint.Server(append([]*x509.Certificate{leaf.cert}, sent...),
		pki.Verifier{Roots: x509.NewCertPool(), Now: now}, lint.WebPKI, nil)
	assert.Equal(t, []string{lint.Untrusted}, ids(faults))
}

// Whatever can be read as a certificate is judged without a panic, and every fault is complete.
func FuzzServer(f *testing.F) {
	top := issue(f, authority("Root"), nil, nil)
	middle := issue(f, authority("Issuer"), &top, nil)
	leaf := issue(f, server(), &middle, nil)
	f.Add(leaf.cert.Raw, middle.cert.Raw)
	f.Add(top.cert.Raw, top.cert.Raw)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var sent []*x509.Certificate
		roots := x509.NewCertPool()
		for _, der := range [][]byte{first, second} {
			if c, err := x509.ParseCertificate(der); err == nil {
				sent = append(sent, c)
				roots.AddCert(c)
			}
		}
		v := pki.Verifier{Roots: roots, ServerName: "example.com", Now: now}
		path, faults := lint.Server(sent, v, lint.WebPKI, nil)
		require.True(t, path != nil || len(faults) == 1)
		for _, fault := range faults {
			require.NotEmpty(t, fault.ID)
			require.NotEmpty(t, fault.Detail)
			require.NotEmpty(t, fault.Reference)
		}
	})
}

func ExampleServer() {
	var sent []*x509.Certificate // such as tls.ConnectionState.PeerCertificates
	_, faults := lint.Server(sent, pki.Verifier{ServerName: "example.com", Now: now}, lint.WebPKI, nil)
	fmt.Println(faults[0].Detail)
	// Output: There is no certificate
}
