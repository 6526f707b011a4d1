package markcert

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"encoding/pem"
	"math/big"

	"github.com/diagkit/diagkit/mailauth/bimi/markcert/markcerttest"
)

func block(kind, content string) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(content)}))
}

func decode(text string) string {
	b, _ := pem.Decode([]byte(text))
	return string(b.Bytes)
}

// borrowed gives a certificate the timestamps of another one.
func borrowed(c *template) {
	other, err := authority.Certificate(mark{Domains: []string{"other.example"}})
	if err != nil {
		panic(err)
	}
	for _, ext := range other.Extensions {
		if ext.Id.String() == "1.3.6.1.4.1.11129.2.4.2" {
			c.ExtraExtensions = append(c.ExtraExtensions, ext)
		}
	}
}

// stamped gives a certificate a timestamp from an unknown log.
func stamped(version byte, millis uint64) func(*template) {
	prefixed := func(b []byte) []byte { return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...) }
	sct := binary.BigEndian.AppendUint64(append([]byte{version}, make([]byte, 32)...), millis)
	value, err := asn1.Marshal(prefixed(prefixed(append(sct, 0, 0, 4, 3, 0, 0))))
	if err != nil {
		panic(err)
	}
	return func(c *template) {
		c.ExtraExtensions = append(c.ExtraExtensions,
			pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: value})
	}
}

// stranger is the certificate of an authority that has issued none of the others.
func stranger() string { return markcerttest.PEM(markcerttest.Named("stranger").Intermediate) }

// chained is a certificate below another intermediate of the authority.
func chained(change func(*template)) string {
	return authority.Below("Changed Intermediate", change).Issue(mark{})
}

// selfSigned is a certificate without a trusted issuer.
func selfSigned(hash string) string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	like, err := authority.Certificate(mark{Unlogged: true})
	if err != nil {
		panic(err)
	}
	c := &template{
		SerialNumber: big.NewInt(1), RawSubject: like.RawSubject, NotBefore: like.NotBefore, NotAfter: like.NotAfter,
		DNSNames: like.DNSNames, BasicConstraintsValid: true, UnknownExtKeyUsage: like.UnknownExtKeyUsage, Policies: like.Policies,
		CRLDistributionPoints: like.CRLDistributionPoints, SignatureAlgorithm: x509.SHA256WithRSA,
		ExtraExtensions: []pkix.Extension{*extension(like, oidLogotype)},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	if hash == "SHA-1" { // crypto/x509 no longer creates them
		sha256WithRSA, sha1WithRSA := []byte{0x86, 0xf7, 0x0d, 1, 1, 11}, []byte{0x86, 0xf7, 0x0d, 1, 1, 5}
		der = bytes.ReplaceAll(der, sha256WithRSA, sha1WithRSA)
	}
	return block("CERTIFICATE", string(der))
}

// heavy is an issuer with a key whose signatures are slow to verify.
func heavy() string {
	n := new(big.Int).Lsh(big.NewInt(1), 200_000)
	c, err := authority.Certificate(mark{Key: &rsa.PublicKey{N: n.Sub(n, big.NewInt(1)), E: 65537}, Unlogged: true, Change: func(c *template) {
		c.RawSubject, c.IsCA, c.KeyUsage = authority.Intermediate.RawSubject, true, x509.KeyUsageCertSign
	}})
	if err != nil {
		panic(err)
	}
	return markcerttest.PEM(c)
}

// weakKey is a key that can be broken.
func weakKey() crypto.PublicKey {
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		panic(err)
	}
	return &key.PublicKey
}
