package tlscert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
	"github.com/diagkit/diagkit/webcheck/tlscert/tlscerttest"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ocsp"
)

// host is the server of most tests.
const host = "example.com"

// zone gives it an address, and authorities that may issue for it.
const zone = "example.com. A 192.0.2.10\nexample.com. CAA 0 issue \"letsencrypt.org\"\n"

// start is when the tests happen.
var start = time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)

// A ca is an authority with a key, below a root that is trusted.
type ca struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// issue makes a certificate.
func (a *ca) issue(t testing.TB, c *x509.Certificate) (*x509.Certificate, crypto.Signer) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return a.issueFor(t, c, key), key
}

func (a *ca) issueFor(t testing.TB, c *x509.Certificate, key crypto.Signer) *x509.Certificate {
	t.Helper()
	c.BasicConstraintsValid = true
	signer, parent := crypto.Signer(key), c
	if a != nil {
		signer, parent = a.key, a.cert
		if !c.IsCA && len(c.OCSPServer) == 0 && c.CRLDistributionPoints == nil {
			c.CRLDistributionPoints = []string{a.publish(t, nil)}
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return parsed
}

// authority makes a certificate authority, below another one or on its own.
func (a *ca) authority(t testing.TB, organization, name string, from, until time.Time) *ca {
	t.Helper()
	cert, key := a.issue(t, &x509.Certificate{
		Subject: pkix.Name{Organization: []string{organization}, CommonName: name}, NotBefore: from, NotAfter: until,
		IsCA: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	})
	return &ca{cert, key}
}

// A net of authorities: a root, an intermediate that counts as that of a public authority, and one that has expired.
type authorities struct{ root, public, expired *ca }

func newAuthorities(t testing.TB) authorities {
	root := (*ca)(nil).authority(t, "Internet Security Research Group", "ISRG Root X9", start.AddDate(-5, 0, 0),
		start.AddDate(10, 0, 0))
	return authorities{
		root:    root,
		public:  root.authority(t, "Let's Encrypt", "E99", start.AddDate(-1, 0, 0), start.AddDate(2, 0, 0)),
		expired: root.authority(t, "Let's Encrypt", "E98", start.AddDate(-3, 0, 0), start.AddDate(0, 0, -1)),
	}
}

// leaf returns a certificate as a public authority issues it.
func leaf(change func(*x509.Certificate)) *x509.Certificate {
	c := &x509.Certificate{
		DNSNames: []string{host}, NotBefore: start.AddDate(0, 0, -10), NotAfter: start.AddDate(0, 0, 80),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		ExtraExtensions: []pkix.Extension{embedded(2)},
	}
	if change != nil {
		change(c)
	}
	return c
}

// embedded is the extension with some timestamps of unknown logs.
func embedded(n int) pkix.Extension {
	one := append([]byte{0}, make([]byte, 32+8+2)...)
	one = append(one, 4, 3, 0, 1, 0)
	var list []byte
	for range n {
		list = append(append(list, 0, byte(len(one))), one...)
	}
	list = append([]byte{byte(len(list) >> 8), byte(len(list))}, list...)
	return pkix.Extension{Id: []int{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: octets(list)}
}

func octets(b []byte) []byte {
	if len(b) < 128 {
		return append([]byte{4, byte(len(b))}, b...)
	}
	return append([]byte{4, 0x81, byte(len(b))}, b...)
}

// A setup holds the changes of a test to a good world.
type setup struct {
	w *diagtest.World
	a authorities
	t testing.TB
}

// serve opens the host with a certificate of the public authority, and the chain of it.
func (s setup) serve(change func(*x509.Certificate), config ...func(*tls.Config)) {
	cert, key := s.a.public.issue(s.t, leaf(change))
	s.site(key, []*x509.Certificate{cert, s.a.public.cert}, config...)
}

func (s setup) site(key crypto.Signer, chain []*x509.Certificate, config ...func(*tls.Config)) {
	c := &tls.Config{Certificates: []tls.Certificate{{PrivateKey: key}}, Time: s.w.Now}
	for _, one := range chain {
		c.Certificates[0].Certificate = append(c.Certificates[0].Certificate, one.Raw)
	}
	for _, change := range config {
		change(c)
	}
	s.w.Site(diagtest.Site{Host: host, TLS: c})
}

// chain opens the host with a chain made of the leaf.
func (s setup) chain(from *ca, change func(*x509.Certificate), rest ...*x509.Certificate) {
	cert, key := from.issue(s.t, leaf(change))
	s.site(key, append([]*x509.Certificate{cert}, rest...))
}

// fake opens the host with a server that cannot complete a handshake.
func (s setup) fake(server tlscerttest.Server) {
	cert, _ := s.a.public.issue(s.t, leaf(nil))
	if server.Chain == nil {
		server.Chain = [][]byte{cert.Raw, s.a.public.cert.Raw}
	}
	s.w.Serve("192.0.2.10:443", func(conn net.Conn) { server.Serve(conn) })
}

// staple makes an OCSP response.
func (s setup) staple(cert *x509.Certificate, change func(*ocsp.Response)) []byte {
	r := ocsp.Response{
		SerialNumber: cert.SerialNumber, Status: ocsp.Good, ThisUpdate: start.Add(-time.Hour),
		NextUpdate: start.Add(time.Hour),
	}
	if change != nil {
		change(&r)
	}
	der, err := ocsp.CreateResponse(s.a.public.cert, s.a.public.cert, r, s.a.public.key)
	require.NoError(s.t, err)
	return der
}

// delegated opens the host with a response that another certificate signs.
func (s setup) delegated(from *ca, usage x509.ExtKeyUsage) {
	by, key := from.issue(s.t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "Responder"}, NotBefore: start.AddDate(0, -1, 0), NotAfter: start.AddDate(0, 1, 0),
		ExtKeyUsage: []x509.ExtKeyUsage{usage},
	})
	cert, own := s.a.public.issue(s.t, leaf(nil))
	r := ocsp.Response{
		SerialNumber: cert.SerialNumber, Status: ocsp.Good, ThisUpdate: start.Add(-time.Hour), Certificate: by,
	}
	der, err := ocsp.CreateResponse(s.a.public.cert, by, r, key)
	require.NoError(s.t, err)
	s.site(own, []*x509.Certificate{cert, s.a.public.cert}, func(c *tls.Config) { c.Certificates[0].OCSPStaple = der })
}

// stapled opens the host with a stapled response.
func (s setup) stapled(change func(*ocsp.Response), corrupt func([]byte) []byte) {
	cert, key := s.a.public.issue(s.t, leaf(nil))
	s.site(key, []*x509.Certificate{cert, s.a.public.cert}, func(c *tls.Config) {
		c.Certificates[0].OCSPStaple = s.staple(cert, change)
		if corrupt != nil {
			c.Certificates[0].OCSPStaple = corrupt(c.Certificates[0].OCSPStaple)
		}
	})
}

var mustStapleExtension = pkix.Extension{Id: tlsFeature, Value: []byte{0x30, 3, 2, 1, 5}}

// mute12 is a server of TLS 1.2 only that crypto/tls cannot complete a handshake with.
func suites12(ids ...uint16) tlscerttest.Server {
	return tlscerttest.Server{Suites: map[probe.Version][]uint16{probe.TLS12: ids}, Groups: []probe.Group{23},
		DHBits: 2048}
}

// fakeCodes are reported for all fakes with TLS 1.2 only, in addition to their fault.
var fakeCodes = []diag.Code{"tls.handshake.uncommon"}

func codes(list ...diag.Code) []diag.Code { return append([]diag.Code{}, list...) }

func uncommon(list ...diag.Code) []diag.Code {
	return append(append([]diag.Code{}, fakeCodes...), list...)
}
