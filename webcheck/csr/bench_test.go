package csr

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

func request4096(tb testing.TB) string {
	key, err := rsa.GenerateKey(rand.Reader, 4096)
	require.NoError(tb, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{"example.com"}}, key)
	require.NoError(tb, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{"P-256": plan{}.pem(), "RSA-4096": request4096(b)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Parse(b.Context(), nil, Request{CSR: text}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// hostile are requests that cost as much as possible, each within the bounds of a text.
func hostile() map[string]string {
	ones := func(bits uint) *big.Int {
		n := new(big.Int).Lsh(big.NewInt(1), bits)
		return n.Sub(n, big.NewInt(1))
	}
	const algorithm = "1.2.840.113549.1.1.1"
	var names []string
	for range 13000 {
		names = append(names, "a")
	}
	var blocks strings.Builder
	for blocks.Len() < maxBytes-100 {
		blocks.WriteString("-----BEGIN A-----\nMIIB\n")
	}
	inBase64 := func(p plan) string { return base64.StdEncoding.EncodeToString(p.encode()) }
	return map[string]string{
		"modulus of 16384 bits":            inBase64(plan{spki: rsaKey(algorithm, true, ones(16384), big.NewInt(65537))}),
		"modulus of 380,000 bits":          inBase64(plan{spki: rsaKey(algorithm, true, ones(380_000), big.NewInt(65537))}),
		"exponent of 380,000 bits":         inBase64(plan{spki: rsaKey(algorithm, true, ones(2048), ones(380_000))}),
		"modulus and exponent, 16384 bits": inBase64(plan{spki: rsaKey(algorithm, true, ones(16384), ones(16383))}),
		"modulus and exponent, 4096 bits":  inBase64(plan{spki: rsaKey(algorithm, true, ones(4096), ones(4095)), hash: "1.2.840.113549.1.1.11"}),
		"modulus 1":                        inBase64(plan{spki: rsaKey(algorithm, true, big.NewInt(1), big.NewInt(1))}),
		"13,000 names":                     inBase64(plan{names: names}),
		"the largest curve":                inBase64(plan{spki: curveKey(namedCurve("1.3.132.0.39"), append([]byte{4}, sect571r1()...))}),
		"many blocks":                      blocks.String(),
		"dashes":                           strings.Repeat("-", maxBytes),
		"begins":                           strings.Repeat("-----BEGIN ", maxBytes/11),
		"labels":                           strings.Repeat("BEGIN PRIVATE ", maxBytes/14),
		"quoted":                           strings.Repeat("> ", maxBytes/2),
	}
}

func sect571r1() []byte {
	x, _ := new(big.Int).SetString("303001d34b856296c16c0d40d3cd7750a93d1d2955fa80aa5f40fc8db7b2abdbde53950f4c0d293cdd711a35b67fb1499ae60038614f1394abfa3b4c850d927e1e7769c8eec2d19", 16)
	y, _ := new(big.Int).SetString("37bf27342da639b6dccfffeb73d69d78c6c27a6009cbbca1980f8533921e8a684423e43bab08a576291af8f461bb2a8b3531d2f0485c19b16e2f1516e23dd3c1a4827af1b8ac15b", 16)
	return append(x.FillBytes(make([]byte, 72)), y.FillBytes(make([]byte, 72))...)
}

// No request within the bounds takes long: the slowest takes a tenth of a second of an idle machine.
func TestHostileRequests(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			require.LessOrEqual(t, len(text), maxBytes)
			began := diagtest.ProcessorTime()
			_, err := Parse(t.Context(), nil, Request{CSR: text})
			require.NoError(t, err)
			require.Less(t, diagtest.ProcessorTime()-began, 5*time.Second)
			t.Log(diagtest.ProcessorTime() - began)
		})
	}
}
