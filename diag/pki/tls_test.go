package pki

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// handshake returns what a client sees of a server.
func handshake(t *testing.T, config *tls.Config) tls.ConnectionState {
	t.Helper()
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	go tls.Server(there, config).Handshake()
	client := tls.Client(here, &tls.Config{
		ServerName: "mx.example.com", InsecureSkipVerify: true, NextProtos: []string{"h2"}, MaxVersion: tls.VersionTLS12,
	})
	require.NoError(t, client.Handshake())
	return client.ConnectionState()
}

func TestVerifierDescribe(t *testing.T) {
	root := issue(t, authority("Root"), nil)
	leaf := issue(t, server("mx.example.com"), root)
	state := handshake(t, &tls.Config{NextProtos: []string{"h2"}, Certificates: []tls.Certificate{{
		Certificate: [][]byte{leaf.Raw}, PrivateKey: leaf.key, OCSPStaple: []byte("staple"),
	}}})
	v := Verifier{Roots: x509.NewCertPool(), ServerName: "mx.example.com", Now: now}
	v.Roots.AddCert(root.Certificate)

	got := v.Describe(state)
	require.NoError(t, got.Err())
	require.Equal(t, "TLS 1.2", got.Version)
	require.Equal(t, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", got.CipherSuite)
	require.Equal(t, "h2", got.ALPN)
	require.Equal(t, "mx.example.com", got.ServerName)
	require.Equal(t, "staple", string(got.OCSP))
	require.Equal(t, []*x509.Certificate{leaf.Certificate}, got.Peers)
	require.Equal(t, "Root", got.Leaf().Issuer.CommonName)
}

func TestPEM(t *testing.T) {
	c := issue(t, server("mx.example.com"), nil)
	block, rest := pem.Decode([]byte(PEM(c.Certificate)))
	require.Empty(t, rest)
	require.Equal(t, "CERTIFICATE", block.Type)
	require.Equal(t, c.Raw, block.Bytes)
}

func TestVerifierCriticalExtension(t *testing.T) {
	template := server("mx.example.com")
	template.ExtraExtensions = []pkix.Extension{{Id: oid(1, 2, 3, 4), Critical: true, Value: []byte{5, 0}}}
	root := issue(t, authority("Root"), nil)
	v := Verifier{Roots: x509.NewCertPool(), Now: now}
	v.Roots.AddCert(root.Certificate)
	err := v.Trust(list(issue(t, template, root)))
	require.Equal(t, BadChain, reasonOf(err))
	require.ErrorContains(t, err, "critical extension")
}

func TestVerifierPathLength(t *testing.T) {
	short := authority("Root")
	short.MaxPathLenZero = true
	root := issue(t, short, nil)
	middle := issue(t, authority("Middle"), root)
	v := Verifier{Roots: x509.NewCertPool(), Now: now}
	v.Roots.AddCert(root.Certificate)
	err := v.Trust(list(issue(t, server("mx.example.com"), middle), middle))
	require.Equal(t, BadChain, reasonOf(err))
	require.ErrorContains(t, err, "more intermediate certificates")
}

// A key whose signatures would take long to check is not used for that.
func TestHugeKey(t *testing.T) {
	c := *issue(t, server("mx.example.com"), nil).Certificate
	c.PublicKeyAlgorithm = x509.RSA
	c.RawSubjectPublicKeyInfo = make([]byte, maxRSACheckBits)
	begin := diagtest.ProcessorTime()
	v := Verifier{Roots: x509.NewCertPool(), ServerName: "mx.example.com", Now: now}
	got := v.DescribeChain([]*x509.Certificate{&c})
	require.ErrorContains(t, got.Err(), "too large to be checked")
	require.False(t, got.ChainComplete)
	require.Less(t, diagtest.ProcessorTime()-begin, time.Second)
}

func TestSerial(t *testing.T) {
	huge, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 160))
	require.NoError(t, err)
	tests := []struct {
		n    *big.Int
		want string
	}{{nil, "00"}, {new(big.Int), "00"}, {big.NewInt(10), "0a"}, {big.NewInt(-10), "-0a"}}
	for _, tt := range tests {
		require.Equal(t, tt.want, serial(tt.n))
	}
	require.Zero(t, len(serial(huge))%2)
}
