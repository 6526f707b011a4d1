package httpapi

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// The certificate of a site has a property if and only if the file has its key.
func TestScenarioCertificates(t *testing.T) {
	type chain = []*x509.Certificate
	inList := func(want string) func(*diagtest.World, chain) bool {
		return func(w *diagtest.World, c chain) bool { return listed509(t, w, c) == want }
	}
	for _, c := range []struct {
		name, site string
		has        func(w *diagtest.World, chain chain) bool
	}{
		{"names", `"names": ["*.example.com"]`, func(_ *diagtest.World, c chain) bool {
			return c[0].DNSNames[0] == "*.example.com"
		}},
		{"subject", `"subject": {"common_name": "Fake", "organization": "Acme Co"}`, func(_ *diagtest.World, c chain) bool {
			return c[0].Subject.String() == "CN=Fake,O=Acme Co" && c[0].Issuer.String() == "CN=Fake,O=Acme Co"
		}},
		{"issuer", `"issuer": {"common_name": "Firewall", "organization": "Acme Co"}`, func(_ *diagtest.World, c chain) bool {
			return c[0].Issuer.String() == "CN=Firewall,O=Acme Co" && c[0].Subject.CommonName == "example.com"
		}},
		{"must_staple", `"must_staple": true`, func(_ *diagtest.World, c chain) bool {
			for _, e := range c[0].Extensions {
				if e.Id.Equal(mustStaple.Id) {
					return true
				}
			}
			return false
		}},
		{"ocsp", `"ocsp": "http://ocsp.example.net"`, func(_ *diagtest.World, c chain) bool {
			return len(c[0].OCSPServer) == 1 && c[0].OCSPServer[0] == "http://ocsp.example.net"
		}},
		{"expired_cross", `"expired_cross": true`, func(w *diagtest.World, c chain) bool {
			root, _ := w.Authorities()
			last := c[len(c)-1]
			return last.Subject.String() == root.Subject.String() && last.NotAfter.Before(w.Now()) && len(c) == 3
		}},
		{"crl", `"crl": {"host": "crl.example.net"}`, inList("not listed")},
		{"revoked", `"crl": {"host": "crl.example.net", "revoked": true}`, inList("listed")},
		{"missing", `"crl": {"host": "crl.example.net", "missing": true}`, inList("404")},
	} {
		t.Run(c.name, func(t *testing.T) {
			for site, want := range map[string]bool{c.site: true, `"certificate": "valid"`: false} {
				text := `{"zone": "example.com. 300 IN A 192.0.2.80\n", "https": {"example.com": {` + site + `}}}`
				inScenario(t, text, func(t *testing.T, w *diagtest.World) {
					require.Equal(t, want, c.has(w, presented(t, w, "192.0.2.80", &tls.Config{}).PeerCertificates))
				})
			}
		})
	}
}

// presented returns the state of a handshake without verification.
func presented(t *testing.T, w *diagtest.World, addr string, config *tls.Config) tls.ConnectionState {
	conn, err := w.Dial(t.Context(), "tcp", addr+":443")
	require.NoError(t, err)
	config.ServerName, config.InsecureSkipVerify = "example.com", true
	client := tls.Client(conn, config)
	defer client.Close()
	require.NoError(t, client.Handshake())
	return client.ConnectionState()
}

// listed509 returns the certificate's entry in the revocation list that it names.
func listed509(t *testing.T, w *diagtest.World, chain []*x509.Certificate) string {
	if len(chain[0].CRLDistributionPoints) == 0 {
		return ""
	}
	client := &http.Client{Transport: &http.Transport{DialContext: w.Env().Dial, DisableKeepAlives: true}}
	addr := w.Host("crl.example.net")[0].String()
	url := strings.Replace(chain[0].CRLDistributionPoints[0], "crl.example.net", addr, 1)
	r, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err)
	reply, err := client.Do(r)
	require.NoError(t, err)
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	if reply.StatusCode != http.StatusOK {
		return "404"
	}
	list, err := x509.ParseRevocationList(body)
	require.NoError(t, err)
	require.NoError(t, list.CheckSignatureFrom(chain[1]))
	for _, entry := range list.RevokedCertificateEntries {
		if entry.SerialNumber.Cmp(chain[0].SerialNumber) == 0 {
			return "listed"
		}
	}
	return "not listed"
}

// Clients that take RSA alone get the second certificate.
func TestScenarioSecondCertificate(t *testing.T) {
	const text = `{"zone": "example.com. 300 IN A 192.0.2.80\n", "https": {"example.com": {
		"second_certificate": {"certificate": "expired"}}}}`
	inScenario(t, text, func(t *testing.T, w *diagtest.World) {
		usual := presented(t, w, "192.0.2.80", &tls.Config{}).PeerCertificates[0]
		require.Equal(t, x509.ECDSA, usual.PublicKeyAlgorithm)
		require.True(t, usual.NotAfter.After(w.Now()))
		other := presented(t, w, "192.0.2.80", &tls.Config{MaxVersion: tls.VersionTLS12,
			CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}}).PeerCertificates[0]
		require.Equal(t, x509.RSA, other.PublicKeyAlgorithm)
		require.True(t, other.NotAfter.Before(w.Now()))
	})
}

// A middlebox in front of a site drops what it cannot process, and forwards the rest.
func TestScenarioFront(t *testing.T) {
	const text = `{"zone": "example.com. 300 IN A 192.0.2.80\n", "https": {"example.com": {
		"newest_version": "TLS 1.2", "front": {"max_octets": 1000}}}}`
	inScenario(t, text, func(t *testing.T, w *diagtest.World) {
		small := []tls.CurveID{tls.X25519}
		require.Equal(t, uint16(tls.VersionTLS12), presented(t, w, "192.0.2.80", &tls.Config{CurvePreferences: small}).Version)
		conn, err := w.Dial(t.Context(), "tcp", "192.0.2.80:443")
		require.NoError(t, err)
		defer conn.Close()
		require.Error(t, tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).Handshake())
	})
}

// Addresses of a host may differ.
func TestScenarioAddresses(t *testing.T) {
	const text = `{"zone": "example.com. 300 IN A 192.0.2.1\nexample.com. 300 IN A 192.0.2.2\n` +
		`example.com. 300 IN A 192.0.2.3\nexample.com. 300 IN A 192.0.2.4\n", "https": {"example.com": {"addresses": {
		"192.0.2.2": {"certificate": "expired"}, "192.0.2.3": {"refused": true}, "192.0.2.4": {"hangs": true}}}}}`
	inScenario(t, text, func(t *testing.T, w *diagtest.World) {
		require.True(t, presented(t, w, "192.0.2.1", &tls.Config{}).PeerCertificates[0].NotAfter.After(w.Now()))
		require.True(t, presented(t, w, "192.0.2.2", &tls.Config{}).PeerCertificates[0].NotAfter.Before(w.Now()))
		_, err := w.Dial(t.Context(), "tcp", "192.0.2.3:443")
		require.ErrorContains(t, err, "refused")
		conn, err := w.Dial(t.Context(), "tcp", "192.0.2.4:443")
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
		require.ErrorContains(t, client.Handshake(), "timeout")
	})
}

// A raw reply is sent as it is, be it HTTP or not.
func TestScenarioRawReply(t *testing.T) {
	const raw = "220 files.example.org ready\r\n"
	encoded := base64.StdEncoding.EncodeToString
	text := `{"zone": "example.com. 300 IN A 192.0.2.80\n",
		"https": {"example.com": {"routes": {"/": {"raw_base64": "` + encoded([]byte(raw)) + `"}}}},
		"http": {"example.com": {"routes": {"/": {"raw_base64": "` + encoded([]byte("plain")) + `"}}}}}`
	inScenario(t, text, func(t *testing.T, w *diagtest.World) {
		secure, err := w.Dial(t.Context(), "tcp", "192.0.2.80:443")
		require.NoError(t, err)
		plain, err := w.Dial(t.Context(), "tcp", "192.0.2.80:80")
		require.NoError(t, err)
		client := tls.Client(secure, &tls.Config{
			ServerName: "example.com", InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
		for conn, want := range map[io.ReadWriteCloser]string{client: raw, plain: "plain"} {
			_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
			require.NoError(t, err)
			got, err := io.ReadAll(conn)
			require.NoError(t, err)
			require.Equal(t, want, string(got))
			conn.Close()
		}
	})
}
