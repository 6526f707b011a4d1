package tlscert

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/stretchr/testify/require"
)

// selfSigned opens the host with a certificate that signed itself.
func (s setup) selfSigned(name pkix.Name, names ...string) {
	cert, key := (*ca)(nil).issue(s.t, leaf(func(c *x509.Certificate) { c.Subject, c.DNSNames = name, names }))
	s.site(key, []*x509.Certificate{cert})
}

// stranger is an untrusted authority.
func stranger(t testing.TB, name pkix.Name) *ca {
	cert, key := (*ca)(nil).issue(t, &x509.Certificate{Subject: name, NotBefore: start.AddDate(-1, 0, 0),
		NotAfter: start.AddDate(9, 0, 0), IsCA: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign})
	return &ca{cert, key}
}

// productCases are about certificates that products make by themselves: only the cause is reported, no symptoms.
var productCases = []testCase{
	{name: "Kubernetes ingress", setup: func(s setup) {
		s.selfSigned(pkix.Name{CommonName: "Kubernetes Ingress Controller Fake Certificate",
			Organization: []string{"Acme Co"}},
			"ingress.local")
	}, codes: codes("tls.product.default"), state: diag.Bad},
	{name: "Let's Encrypt staging", setup: func(s setup) {
		by := stranger(s.t, pkix.Name{CommonName: "(STAGING) Riddling Rhubarb R12",
			Organization: []string{"(STAGING) Let's Encrypt"}})
		s.chain(by, nil, by.cert)
	}, codes: codes("tls.product.testing"), state: diag.Bad},
	{name: "Let's Encrypt staging, incomplete", setup: func(s setup) {
		by := stranger(s.t, pkix.Name{CommonName: "(STAGING) Riddling Rhubarb R12",
			Organization: []string{"(STAGING) Let's Encrypt"}})
		s.chain(by, func(c *x509.Certificate) { c.CRLDistributionPoints = []string{} })
	}, codes: codes("tls.product.testing"), state: diag.Bad},
	{name: "Cloudflare Origin CA", setup: func(s setup) {
		by := stranger(s.t, pkix.Name{Organization: []string{"CloudFlare, Inc."},
			OrganizationalUnit: []string{"CloudFlare Origin SSL Certificate Authority"}})
		s.chain(by, func(c *x509.Certificate) { c.NotAfter = start.AddDate(15, 0, 0) }, by.cert)
	}, codes: codes("tls.product.private"), state: diag.Bad},
	{name: "an expired default", setup: func(s setup) {
		cert, key := (*ca)(nil).issue(s.t, leaf(func(c *x509.Certificate) {
			c.Subject = pkix.Name{CommonName: "pfSense-5f099cf870c18"}
			c.NotBefore, c.NotAfter = start.AddDate(-2, 0, 0), start.AddDate(-1, 0, 0)
		}))
		s.site(key, []*x509.Certificate{cert})
	}, codes: codes("tls.product.default"), state: diag.Bad},
	{name: "a proxy", setup: func(s setup) {
		by := stranger(s.t, pkix.Name{CommonName: "Zscaler Intermediate Root CA (zscaler.net)",
			Organization: []string{"Zscaler Inc."}})
		s.chain(by, nil, by.cert)
	}, codes: codes("tls.product.intercepted"), state: diag.Bad},
}

func TestProductHeadline(t *testing.T) {
	a := newAuthorities(t)
	for _, tt := range productCases {
		r := check(t, a, tt.zone, tt.req, tt.setup)
		require.Equal(t, r.Findings[0].Title, r.Headline)
		require.Equal(t, r.Findings[0].Advice, r.Sub)
		require.Equal(t, r.Findings[0].Title, r.Recommendations[0].Title)
		require.Len(t, r.Recommendations, 1, tt.name)
	}
}

// An authority that the environment trusts is not a fault, whatever it is called.
func TestTrustedProduct(t *testing.T) {
	root := stranger(t, pkix.Name{CommonName: "Zscaler Root CA", Organization: []string{"Zscaler Inc."}})
	r := check(t, authorities{root: root, public: root}, "", nil, func(s setup) { s.chain(root, nil) })
	for _, f := range r.Findings {
		require.False(t, strings.HasPrefix(string(f.Code), "tls.product."), "%+v", f)
	}
}

// Each sign leads to its product.
func TestProducts(t *testing.T) {
	text := func(pattern string) string { return strings.ReplaceAll(pattern, "*", "1x") }
	list := func(pattern string) []string {
		if pattern == "" {
			return nil
		}
		return []string{text(pattern)}
	}
	for _, p := range products {
		require.LessOrEqual(t, len([]rune(p.title)), rule.MaxHeadline, p.title)
		require.False(t, strings.HasSuffix(p.title, ".") || strings.HasSuffix(p.cause, "."), p.title)
		require.True(t, strings.HasSuffix(p.advice, "."), p.title)
		for _, s := range p.signs {
			subject := pkix.Name{CommonName: text(s.cn), Organization: list(s.org), OrganizationalUnit: list(s.unit)}
			if s.machine {
				subject.CommonName = "debian"
			}
			if s.email != "" {
				subject.ExtraNames = []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1},
					Value: text(s.email)}}
			}
			var by *ca
			if s.issuer+s.issuerOrg+s.issuerUnit != "" {
				by = stranger(t, pkix.Name{CommonName: text(s.issuer), Organization: list(s.issuerOrg),
					OrganizationalUnit: list(s.issuerUnit)})
			}
			cert, _ := by.issue(t, leaf(func(c *x509.Certificate) {
				c.Subject = subject
				if s.san != "" {
					c.DNSNames = list(s.san)
				}
			}))
			got := recognize([]*x509.Certificate{cert}, true)
			require.NotNil(t, got, "%+v", s)
			require.Equal(t, p.title, got.title, "%+v", s)
		}
	}
}

// Ordinary names are those of no product.
func TestNoProduct(t *testing.T) {
	for _, name := range []pkix.Name{
		{CommonName: "example.com"}, {CommonName: "www.plesk-hosting.example"},
		{CommonName: "intranet", Organization: []string{"Example Ltd"}},
		{Organization: []string{"Example Ltd"}}, {},
	} {
		cert, _ := (*ca)(nil).issue(t, leaf(func(c *x509.Certificate) { c.Subject = name }))
		require.Nil(t, recognize([]*x509.Certificate{cert}, true), "%v", name)
	}
	cert, _ := (*ca)(nil).issue(t, leaf(func(c *x509.Certificate) { c.Subject.CommonName = "server1" }))
	require.Nil(t, recognize([]*x509.Certificate{cert}, false), "made for the name that was asked for")
	require.NotNil(t, recognize([]*x509.Certificate{cert}, true))
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"a", "a", true}, {"a", "ab", false}, {"a*", "ab", true}, {"*b", "ab", true}, {"a*b", "ab", true},
		{"a*c", "abc", true}, {"a*c", "ac", true}, {"a*c", "abd", false}, {"a*b*c", "axbxc", true}, {"a*b*c", "axxc", false},
		{"*", "", true}, {"ab*ba", "aba", false},
	} {
		require.Equal(t, tt.want, glob(tt.pattern, tt.text), "%s %s", tt.pattern, tt.text)
	}
}
