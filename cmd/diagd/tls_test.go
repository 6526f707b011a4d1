package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writeCertificate writes a new certificate for 127.0.0.1 with its key, dated so that a change shows.
func writeCertificate(t testing.TB, dir string, serial int64) (cert, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeAt(t, cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), serial)
	writeAt(t, key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), serial)
	return cert, key
}

func writeAt(t testing.TB, path string, text []byte, second int64) {
	require.NoError(t, os.WriteFile(path, text, 0o600))
	require.NoError(t, os.Chtimes(path, time.Unix(second, 0), time.Unix(second, 0)))
}

func TestTLS(t *testing.T) {
	cert, key := writeCertificate(t, t.TempDir(), 1)
	s := start(t, "--store=memory:", "--tls-cert", cert, "--tls-key", key)
	require.True(t, strings.HasPrefix(s.url, "https://"), s.url)
	text, err := os.ReadFile(cert)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(text))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	address := s.url + "/public/v1/text/upper"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(upper))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+s.secret)
	req.Header.Set("Content-Type", "application/json")
	r, err := do(&http.Client{Transport: transport}, req)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, r.status, r)
}

// A renewed certificate is served without a restart; one that cannot be loaded is reported, and the
// old one stays.
func TestCertificateRenewal(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		log := newWatched()
		cert, key := writeCertificate(t, dir, 1)
		pair := &keyPair{cert: cert, key: key, log: slog.New(slog.NewTextHandler(log, nil))}
		served := func() int64 {
			c, err := pair.certificate(nil)
			require.NoError(t, err)
			leaf, err := x509.ParseCertificate(c.Certificate[0])
			require.NoError(t, err)
			return leaf.SerialNumber.Int64()
		}
		assert.EqualValues(t, 1, served())
		writeCertificate(t, dir, 2)
		assert.EqualValues(t, 1, served(), "the file is not looked at for each connection")
		time.Sleep(checkEvery) // of the bubble
		assert.EqualValues(t, 2, served())
		assert.Empty(t, log.String())

		writeAt(t, cert, []byte("half a certif"), 3)
		time.Sleep(checkEvery)
		assert.EqualValues(t, 2, served())
		assert.Contains(t, log.String(), "the old one is still served")
		require.NoError(t, os.Remove(cert))
		time.Sleep(checkEvery)
		assert.EqualValues(t, 2, served())
		writeCertificate(t, dir, 4)
		time.Sleep(checkEvery)
		assert.EqualValues(t, 4, served())
		writeCertificate(t, dir, 5)
		pair.reload()
		assert.EqualValues(t, 5, served(), "at once where it is asked for")
	})
}

func TestACME(t *testing.T) {
	f := &serveFlags{acmeDomain: "diag.example", acmeData: t.TempDir()}
	config, err := f.tlsConfig(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	assert.Contains(t, config.NextProtos, "acme-tls/1", "RFC 8737")
	_, err = config.GetCertificate(&tls.ClientHelloInfo{ServerName: "stranger.example"})
	assert.ErrorContains(t, err, "stranger.example", "certificates are got for the domain alone")
}
