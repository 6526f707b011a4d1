package lint_test

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"slices"
	"testing"

	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/webcheck/internal/lint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A body is the part of a certificate that is signed, to make what crypto/x509 does not make.
type body struct {
	Version    int `asn1:"optional,explicit,default:0,tag:0"`
	Serial     *big.Int
	Algorithm  pkix.AlgorithmIdentifier
	Issuer     asn1.RawValue
	Validity   asn1.RawValue
	Subject    asn1.RawValue
	Key        asn1.RawValue
	Extensions []pkix.Extension `asn1:"omitempty,optional,explicit,tag:3"`
}

func (s signer) sign(t *testing.T, template *x509.Certificate, change func(*body)) *x509.Certificate {
	t.Helper()
	var b body
	_, err := asn1.Unmarshal(issue(t, template, &s, nil).cert.RawTBSCertificate, &b)
	require.NoError(t, err)
	change(&b)
	der, err := asn1.Marshal(b)
	require.NoError(t, err)
	sum := sha256.Sum256(der)
	signature, err := s.key.Sign(rand.Reader, sum[:], crypto.SHA256)
	require.NoError(t, err)
	der, err = asn1.Marshal(struct {
		Body      asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{asn1.RawValue{FullBytes: der}, b.Algorithm, asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}})
	require.NoError(t, err)
	c, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return c
}

// What crypto/x509 reads, but would not make.
func TestUnusual(t *testing.T) {
	root := issue(t, authority("Root"), nil, nil)
	roots := x509.NewCertPool()
	roots.AddCert(root.cert)
	drop := func(id ...int) func(*body) {
		return func(b *body) {
			b.Extensions = slices.DeleteFunc(b.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(id) })
		}
	}
	tests := []struct {
		name   string
		change func(*body)
		want   []string
	}{
		{"nothing", func(*body) {}, nil},
		{"21 octets of serial number", func(b *body) { b.Serial = new(big.Int).Lsh(big.NewInt(1), 160) },
			[]string{"serial.long"}},
		{"no authority key identifier", drop(2, 5, 29, 35), []string{"aki.missing"}},
		{"critical names", func(b *body) { mark(b, true, 2, 5, 29, 17) }, []string{"san.critical"}},
		{"names not critical, no subject", func(b *body) { b.Subject = asn1.RawValue{FullBytes: []byte{0x30, 0}} },
			[]string{"san.noncritical"}},
		{"version 1", func(b *body) { b.Version, b.Extensions = 0, nil },
			[]string{"version.old", "aki.missing", "eku.missing", "san.missing", "cn.foreign"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := root.sign(t, server(), tt.change)
			_, faults := lint.Server([]*x509.Certificate{c}, pki.Verifier{Roots: roots, Now: now}, lint.WebPKI, nil)
			assert.ElementsMatch(t, tt.want, ids(faults))
		})
	}
}

func mark(b *body, critical bool, id ...int) {
	for i := range b.Extensions {
		if b.Extensions[i].Id.Equal(id) {
			b.Extensions[i].Critical = critical
		}
	}
}
