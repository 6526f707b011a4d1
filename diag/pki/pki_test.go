package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// An issued certificate with its key, so that it may issue others.
type issued struct {
	*x509.Certificate
	key crypto.Signer
}

// issue signs a certificate with an issuer's key, or with its own if there is no issuer.
func issue(t testing.TB, template x509.Certificate, issuer *issued) *issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return issueFor(t, template, issuer, key)
}

func issueFor(t testing.TB, template x509.Certificate, issuer *issued, key crypto.Signer) *issued {
	t.Helper()
	if template.SerialNumber == nil {
		template.SerialNumber = big.NewInt(2026)
	}
	if template.NotBefore.IsZero() {
		template.NotBefore, template.NotAfter = now.AddDate(0, 0, -30), now.AddDate(0, 0, 60)
	}
	parent, signer := &template, key
	if issuer != nil {
		parent, signer = issuer.Certificate, issuer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, key.Public(), signer)
	require.NoError(t, err)
	c, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &issued{c, key}
}

func authority(name string) x509.Certificate {
	return x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: now.AddDate(-5, 0, 0), NotAfter: now.AddDate(5, 0, 0),
	}
}

func server(names ...string) x509.Certificate {
	return x509.Certificate{
		Subject: pkix.Name{CommonName: "mail"}, DNSNames: names,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

func TestDescribe(t *testing.T) {
	ca := issue(t, authority("Example CA"), nil)
	template := server("mail.example.com", "*.example.com")
	template.SerialNumber = big.NewInt(0x0a0b)
	template.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 1), net.ParseIP("2001:db8::1")}
	template.EmailAddresses = []string{"postmaster@example.com"}
	template.OCSPServer = []string{"http://ocsp.example.net"}
	template.IssuingCertificateURL = []string{"http://ca.example.net/ca.der"}
	template.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 31}, {1, 2, 3, 4}}
	template.ExtraExtensions = []pkix.Extension{{
		Id:    asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2},
		Value: []byte{0x04, 0x0a, 0, 8, 0, 2, 'a', 'b', 0, 2, 'c', 'd'},
	}}

	c := Describe(issue(t, template, ca).Certificate, now)
	require.Equal(t, "mail", c.Subject.CommonName)
	require.Equal(t, "CN=Example CA", c.Issuer.Raw)
	require.Equal(t, "0a0b", c.SerialNumber)
	require.Equal(t, 60, c.DaysRemaining)
	require.False(t, c.Expired || c.NotYetValid || c.IsCA || c.SelfSigned)
	require.Equal(t, []string{"mail.example.com", "*.example.com"}, c.SAN.DNS)
	require.Equal(t, "[192.0.2.1 2001:db8::1]", sprint(c.SAN.IP))
	require.Equal(t, []string{"postmaster@example.com"}, c.SAN.Email)
	require.Equal(t, []string{}, c.SAN.URI)
	require.Equal(t, "ECDSA-SHA256", c.SignatureAlgorithm)
	require.Equal(t, []string{"digitalSignature"}, c.KeyUsage)
	require.Equal(t, []string{"serverAuth", "brandIndicatorForMessageIdentification", "1.2.3.4"}, c.ExtKeyUsage)
	require.Equal(t, []string{"http://ocsp.example.net"}, c.OCSPURLs)
	require.Equal(t, []string{"http://ca.example.net/ca.der"}, c.CAIssuerURLs)
	require.Equal(t, 2, c.SCTsCount)
	require.Len(t, c.FingerprintSHA256, 64)

	root := Describe(ca.Certificate, now.AddDate(6, 0, 0))
	require.True(t, root.IsCA && root.SelfSigned && root.Expired)
	require.True(t, Describe(ca.Certificate, now.AddDate(-6, 0, 0)).NotYetValid)
}

// Days are rounded towards zero (CONTRACT 1.7).
func TestDays(t *testing.T) {
	tests := []struct {
		left time.Duration
		want int
	}{
		{25 * time.Hour, 1}, {24 * time.Hour, 1}, {time.Hour, 0}, {0, 0},
		{-time.Hour, 0}, {-24 * time.Hour, -1}, {-24*time.Hour - 7*time.Minute, -1}, {-103 * time.Hour, -4},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, days(tt.left), "%v", tt.left)
	}
}

func TestSCTsMalformed(t *testing.T) {
	for _, value := range []string{"", "\x04\x00", "\x04\x02\x00\x09", "\x05\x00", "\x04\x03\x00\x01\x00"} {
		c := &x509.Certificate{Extensions: []pkix.Extension{{
			Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: []byte(value),
		}}}
		require.Zero(t, countSCTs(c), "%q", value)
	}
}

func FuzzDescribe(f *testing.F) {
	ca := issue(f, authority("Example CA"), nil)
	f.Add(ca.Raw)
	f.Add(issue(f, server("mail.example.com"), ca).Raw)
	f.Fuzz(func(t *testing.T, der []byte) {
		parsed, err := x509.ParseCertificate(der)
		if err != nil {
			return
		}
		c := Describe(parsed, now)
		if c.Expired && c.NotYetValid && c.NotBefore.Before(c.NotAfter) {
			t.Errorf("both expired and not yet valid: %v to %v", c.NotBefore, c.NotAfter)
		}
		if c.PublicKey.Weak != (c.PublicKey.WeakReason != "") || len(c.FingerprintSHA256) != 64 {
			t.Errorf("inconsistent: %+v", c)
		}
		v := Verifier{Roots: x509.NewCertPool(), ServerName: "mail.example.com", Now: now}
		if v.DescribeChain([]*x509.Certificate{parsed}).Err() == nil {
			t.Error("trusted without a single root")
		}
	})
}
