package tlscert

import (
	"bytes"
	"crypto/x509"
	_ "embed"
	"encoding/pem"
	"errors"
	"strings"
	"sync"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// errNoCertificate says that a file holds no certificate.
var errNoCertificate = errors.New("the file holds no certificate")

// parseIssuer reads the file that a certificate names for its issuer: a certificate in DER form, or several in the
// form of PKCS #7 (RFC 5280 section 4.2.2.1). Many authorities publish PEM, which clients read as well.
func parseIssuer(data []byte) (*x509.Certificate, error) {
	if block, _ := pem.Decode(data); block != nil {
		data = block.Bytes
	}
	if c, err := x509.ParseCertificate(data); err == nil {
		return c, nil
	}
	in := cryptobyte.String(data)
	var info, content, signed, certs, one cryptobyte.String
	tag := asn1.Tag(0).Constructed().ContextSpecific()
	var version int
	if !in.ReadASN1(&info, asn1.SEQUENCE) || !info.SkipASN1(asn1.OBJECT_IDENTIFIER) || !info.ReadASN1(&content, tag) ||
		!content.ReadASN1(&signed, asn1.SEQUENCE) || !signed.ReadASN1Integer(&version) || !signed.SkipASN1(asn1.SET) ||
		!signed.SkipASN1(asn1.SEQUENCE) || !signed.ReadASN1(&certs, tag) || !certs.ReadASN1Element(&one, asn1.SEQUENCE) {
		return nil, errNoCertificate // RFC 5652 section 5.1
	}
	c, err := x509.ParseCertificate(one)
	if err != nil {
		return nil, errNoCertificate
	}
	return c, nil
}

//go:embed data/issuers.txt
var issuersText string

// issuers holds the names in CAA records of public authorities, by the organization in their certificates.
var issuers = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(issuersText) {
		organization, domains, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok && !strings.HasPrefix(line, "#") {
			m[canonical(organization)] = strings.Fields(domains)
		}
	}
	return m
})

// canonical makes names of organizations comparable: authorities spell their own with and without points and commas.
func canonical(organization string) string {
	return strings.Join(strings.Fields(strings.NewReplacer(",", " ", ".", " ").Replace(strings.ToLower(organization))),
		" ")
}

// organization is who issued the certificate of the server: of an intermediate that has the name of a customer, it is
// the first known authority above it.
func (e *evidence) organization() (name string, domains []string) {
	if e.tls == nil {
		return "", nil
	}
	chain := e.verified
	if len(chain) == 0 {
		chain = e.needed()
	}
	for _, c := range chain {
		for _, o := range c.Issuer.Organization {
			if name == "" {
				name = o
			}
			if known, ok := issuers()[canonical(o)]; ok {
				return o, known
			}
		}
	}
	if name == "" && len(chain) > 0 {
		name = chain[0].Issuer.CommonName
	}
	return strings.ToValidUTF8(name, "\uFFFD"), nil
}

// public reports whether a known public authority issued the certificate: the rules of browsers for such apply.
func (e *evidence) public() bool {
	_, domains := e.organization()
	return len(domains) > 0
}

// same reports whether two certificates are one.
func same(a, b *x509.Certificate) bool { return bytes.Equal(a.Raw, b.Raw) }
