package pki_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"

	"github.com/diagkit/diagkit/diag/pki"
)

func ExampleVerifier() {
	// A self-signed certificate.
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mx", Organization: []string{"Example"}},
		DNSNames:  []string{"mx.example.com"},
		NotBefore: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:  time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		fmt.Println(err)
		return
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		fmt.Println(err)
		return
	}

	v := pki.Verifier{
		Roots:      x509.NewCertPool(), // nil means the authorities of the system
		ServerName: "mail.example.com",
		Now:        time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
	}
	report := v.DescribeChain([]*x509.Certificate{leaf})
	fmt.Println(report.Leaf().Subject.Raw, report.Leaf().DaysRemaining)
	fmt.Println(report.Trust)
	fmt.Println(report.Name)
	// Output:
	// CN=mx,O=Example 30
	// the certificate is signed with its own key, not by a certificate authority
	// the certificate is for mx.example.com, not for mail.example.com
}
