package probe_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/diagkit/diagkit/webcheck/internal/probe"
	"github.com/stretchr/testify/require"
)

// certificate signs itself with a key.
func certificate(t *testing.T, key crypto.Signer) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"example.com"}, NotAfter: time.Unix(1<<32, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, OCSPStaple: []byte("staple"),
		SignedCertificateTimestamps: [][]byte{{1}, {2}}}
}

// pipe is a way to connect to a server of crypto/tls.
func pipe(config *tls.Config) probe.Dialer {
	return func(context.Context) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			tls.Server(server, config).Handshake()
		}()
		return client, nil
	}
}

// A server with a certificate for each type of key shows that which the client can verify, in every version and by every
// group.
func TestPresent(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	all := []tls.Certificate{certificate(t, ec), certificate(t, rs), certificate(t, ed)}
	for name, config := range map[string]*tls.Config{
		"as it comes":  {},
		"TLS 1.2":      {MaxVersion: tls.VersionTLS12},
		"TLS 1.3":      {MinVersion: tls.VersionTLS13},
		"P-384":        {CurvePreferences: []tls.CurveID{tls.CurveP384}},
		"P-521":        {CurvePreferences: []tls.CurveID{tls.CurveP521}},
		"post-quantum": {CurvePreferences: []tls.CurveID{tls.X25519MLKEM768}, MinVersion: tls.VersionTLS13},
	} {
		t.Run(name, func(t *testing.T) {
			config.Certificates = all
			group := probe.X25519
			if name == "post-quantum" {
				_, err := probe.Present(t.Context(), pipe(config), probe.Config{}, probe.AnyKey, group)
				require.True(t, probe.Refused(err), "%v", err)
				group = probe.X25519MLKEM768
			}
			for i, key := range probe.KeyTypes() {
				reply, err := probe.Present(t.Context(), pipe(config), probe.Config{ServerName: "example.com"}, key, group)
				require.NoError(t, err)
				require.Equal(t, all[i].Certificate, reply.Chain, key)
				require.Equal(t, []byte("staple"), reply.Staple)
				require.Equal(t, 2, reply.Timestamps)
			}
			reply, err := probe.Present(t.Context(), pipe(config), probe.Config{}, probe.AnyKey, group)
			require.NoError(t, err)
			require.Len(t, reply.Chain, 1)

			one := config.Clone()
			one.Certificates = all[1:2]
			_, err = probe.Present(t.Context(), pipe(one), probe.Config{}, probe.ECDSA, group)
			require.True(t, probe.Refused(err), "%v", err)
		})
	}
	_, err = probe.Present(t.Context(), func(context.Context) (net.Conn, error) {
		return nil, context.DeadlineExceeded
	}, probe.Config{}, probe.RSA, probe.X25519)
	require.False(t, probe.Refused(err))
}
