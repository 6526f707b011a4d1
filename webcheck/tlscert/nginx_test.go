//go:build tlstools

// The test against nginx, on loopback addresses, one for each configuration. Run it with
//
//	go test -tags tlstools -run TestAgainstNginx ./webcheck/tlscert
//	go test -tags tlstools -run '^$' -bench Nginx ./webcheck/tlscert

package tlscert_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/tlscert"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A place is a further address of a site.
type place struct {
	cert     diagtest.Cert
	settings string // of TLS, if they are others
}

// A site is one way to set nginx up, at an address of its own.
type site struct {
	host     string
	cert     diagtest.Cert
	settings string         // of TLS
	versions []string       // nil does not look
	codes    []diag.Code    // that must be among the findings; all others must be infos
	second   *diagtest.Cert // with an RSA key, for clients that take no other
	more     []place        // further addresses
	details  []string       // that findings must have
	chain    []tlscert.ChainIssue
}

const modern = "ssl_protocols TLSv1.2 TLSv1.3; ssl_ciphers ECDHE+AESGCM:ECDHE+CHACHA20; ssl_prefer_server_ciphers on;"

var sites = []site{
	{host: "good.example.com", settings: modern, versions: []string{"TLS 1.2", "TLS 1.3"}},
	{host: "default.example.com"},
	{host: "expired.example.com", cert: diagtest.CertExpired, settings: modern, versions: []string{"TLS 1.2", "TLS 1.3"},
		codes: []diag.Code{"tls.certificate.expired"}},
	{host: "incomplete.example.com", cert: diagtest.CertMissingIntermediate, settings: modern,
		versions: []string{"TLS 1.2", "TLS 1.3"}, codes: []diag.Code{"tls.chain.untrusted"},
		chain: []tlscert.ChainIssue{tlscert.Incomplete}},
	{host: "selfsigned.example.com", cert: diagtest.CertSelfSigned, settings: modern, versions: []string{"TLS 1.2",
		"TLS 1.3"},
		codes: []diag.Code{"tls.chain.self_signed"}},
	{host: "name.example.com", cert: diagtest.CertWrongName, settings: modern, versions: []string{"TLS 1.2", "TLS 1.3"},
		codes: []diag.Code{"tls.certificate.name"}},
	{host: "old.example.com", settings: "ssl_protocols TLSv1 TLSv1.1 TLSv1.2; ssl_ciphers ALL:@SECLEVEL=0;",
		versions: []string{"TLS 1.0", "TLS 1.1", "TLS 1.2"}, codes: []diag.Code{"tls.cipher.anonymous",
			"tls.version.obsolete"}},
	{host: "tls13.example.com", settings: "ssl_protocols TLSv1.3;", versions: []string{"TLS 1.3"}},
	{host: "cbc.example.com", settings: "ssl_protocols TLSv1.2; ssl_ciphers ECDHE-ECDSA-AES128-SHA256;",
		versions: []string{"TLS 1.2"},
		codes:    []diag.Code{"tls.cipher.aead"}},
	{host: "two-keys.example.com", settings: modern, second: new(diagtest.CertGood)},
	{host: "second-key.example.com", settings: modern, second: new(diagtest.CertExpired),
		codes: []diag.Code{"tls.certificate.expired"}, details: []string{"Affected: the RSA certificate."}},
	{host: "second-key13.example.com", settings: "ssl_protocols TLSv1.3;", second: new(diagtest.CertExpired),
		codes: []diag.Code{"tls.certificate.expired"}, details: []string{"Affected: the RSA certificate."}},
	{host: "alike.example.com", settings: modern, more: make([]place, 7), versions: []string{"TLS 1.2", "TLS 1.3"}},
	{host: "second-address.example.com", settings: modern, more: []place{{cert: diagtest.CertExpired}},
		codes: []diag.Code{"tls.certificate.expired"}, details: []string{"Affected: 127.44.1."}},
	{host: "second-settings.example.com", settings: modern,
		more:  []place{{settings: "ssl_protocols TLSv1 TLSv1.2 TLSv1.3; ssl_ciphers ECDHE+AESGCM:ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0;"}},
		codes: []diag.Code{"tls.version.obsolete"}, details: []string{"Affected: 127.44.1."}},
}

const nginxPort = 8443

// startNginx runs nginx with all sites until the end of the test, and returns an environment that reaches it.
func startNginx(tb testing.TB) *diag.Env {
	tb.Helper()
	w := diagtest.NewWorld(tb)
	w.SetTime(time.Now())
	dir := tb.TempDir()
	var servers strings.Builder
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(tb, err)
	further := 0
	for i, s := range sites {
		addr := fmt.Sprintf("127.44.0.%d", i+1)
		w.Zone(s.host + ". A " + addr + "\n")
		certificates := certificateFiles(tb, dir, s.host, w.Certificate(diagtest.CertSpec{Names: []string{s.host}, Cert: s.cert}))
		both := certificates
		if s.second != nil {
			both += certificateFiles(tb, dir, "rsa."+s.host, w.Certificate(diagtest.CertSpec{
				Names: []string{s.host}, Cert: *s.second, Key: rsaKey}))
		}
		servers.WriteString(nginxServer(addr, s.host, both, s.settings))
		for _, p := range s.more {
			further++
			addr, name := fmt.Sprintf("127.44.1.%d", further), fmt.Sprintf("%d.%s", further, s.host)
			w.Zone(s.host + ". A " + addr + "\n")
			own := certificates
			if p.cert != s.cert {
				own = certificateFiles(tb, dir, name, w.Certificate(diagtest.CertSpec{Names: []string{s.host}, Cert: p.cert}))
			}
			servers.WriteString(nginxServer(addr, s.host, own, cmp.Or(p.settings, s.settings)))
		}
	}
	config := fmt.Sprintf(`daemon off; pid nginx.pid; error_log stderr error; worker_processes 1;
events { worker_connections 512; }
http { access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f;
uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
%[2]s}
`, dir, servers.String())
	require.NoError(tb, os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config), 0o600))
	var output bytes.Buffer
	cmd := exec.Command("/usr/sbin/nginx", "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-e", "stderr")
	cmd.Stdout, cmd.Stderr = &output, &output
	require.NoError(tb, cmd.Start())
	tb.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt) // a fast shutdown, of the workers too
		cmd.Wait()
		if tb.Failed() {
			tb.Logf("nginx says: %s", &output)
		}
	})
	require.Eventually(tb, func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.44.0.1:%d", nginxPort))
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, 5*time.Second, 20*time.Millisecond, "nginx does not listen")
	env := &diag.Env{
		Resolver: w.Env().Resolver, Roots: w.Roots(),
		Guard: diag.Guard{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.44.0.0/16")}},
	}
	return env
}

func nginxServer(addr, host, certificates, settings string) string {
	return fmt.Sprintf("server { listen %s:%d ssl http2; server_name %s; %s %s location / { return 200 ok; } }\n",
		addr, nginxPort, host, certificates, settings)
}

// certificateFiles writes a certificate, and returns its directives for nginx.
func certificateFiles(tb testing.TB, dir, name string, cert tls.Certificate) string {
	writeCertificate(tb, filepath.Join(dir, name), cert)
	return fmt.Sprintf("ssl_certificate %[1]s.crt; ssl_certificate_key %[1]s.key; ", name)
}

func writeCertificate(tb testing.TB, base string, cert tls.Certificate) {
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	require.NoError(tb, err)
	var chain []byte
	for _, der := range cert.Certificate {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	require.NoError(tb, os.WriteFile(base+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		0o600))
	require.NoError(tb, os.WriteFile(base+".crt", chain, 0o600))
}

func TestAgainstNginx(t *testing.T) {
	env := startNginx(t)
	right := 0
	for _, s := range sites {
		t.Run(s.host, func(t *testing.T) {
			began := time.Now()
			r, err := tlscert.Check(t.Context(), env, tlscert.Request{Host: tlscert.MustHost(s.host), Port: nginxPort})
			require.NoError(t, err)
			took := time.Since(began)
			assert.Less(t, took, 3*time.Second)
			var versions []string
			for _, v := range r.Versions {
				if v.Supported != nil && *v.Supported {
					versions = append(versions, v.Version)
				}
			}
			if s.versions != nil {
				assert.Equal(t, s.versions, versions)
			}
			for _, c := range s.codes {
				assert.Contains(t, diagtest.Codes(r.Verdict), c)
			}
			for _, f := range r.Findings {
				assert.True(t, len(s.codes) > 0 || f.Severity == diag.Info, "%+v", f)
			}
			for _, d := range s.details {
				assert.True(t, slices.ContainsFunc(r.Findings, func(f diag.Finding) bool { return strings.Contains(f.Detail, d) }),
					"%+v", r.Findings)
			}
			if s.chain != nil {
				assert.Equal(t, s.chain, r.ChainIssues)
			}
			assert.False(t, r.Partial)
			assert.True(t, slices.Contains(r.ALPN, "h2"), "%v", r.ALPN)
			t.Logf("%v, %s: %d suites, %v", took.Round(time.Millisecond), r.Headline, len(r.CipherSuites), r.Groups)
			if !t.Failed() {
				right++
			}
		})
	}
	t.Logf("%d/%d set-ups of nginx", right, len(sites))
}

// BenchmarkNginx is a whole check of nginx as it comes, with the scan of all versions and suites; of one address, and of
// eight that are alike; and, for comparison, sslscan on one address.
func BenchmarkNginx(b *testing.B) {
	for _, n := range []struct{ name, host string }{{"one", "good.example.com"}, {"eight", "alike.example.com"}} {
		b.Run(n.name, func(b *testing.B) {
			env := startNginx(b)
			for b.Loop() {
				r, err := tlscert.Check(b.Context(), env, tlscert.Request{Host: tlscert.MustHost(n.host), Port: nginxPort})
				require.NoError(b, err)
				require.False(b, r.Partial)
			}
		})
	}
	b.Run("sslscan", func(b *testing.B) {
		if _, err := exec.LookPath("sslscan"); err != nil {
			b.Skip("there is no sslscan")
		}
		startNginx(b)
		for b.Loop() {
			out, err := exec.Command("sslscan", "--sni-name=good.example.com", fmt.Sprintf("127.44.0.1:%d", nginxPort)).
				CombinedOutput()
			require.NoError(b, err, "%s", out)
		}
	})
}

// BenchmarkNginxHandshake is a check without the scan, comparable with openssl s_client.
func BenchmarkNginxHandshake(b *testing.B) {
	env := startNginx(b)
	for b.Loop() {
		r, err := tlscert.Check(b.Context(), env, tlscert.Request{
			Host: tlscert.MustHost("default.example.com"), Port: nginxPort, CheckVersions: new(false)})
		require.NoError(b, err)
		require.True(b, *r.Trusted)
	}
}

// BenchmarkNginxOpenSSL is one connection of openssl s_client to the same server.
func BenchmarkNginxOpenSSL(b *testing.B) {
	startNginx(b)
	addr := fmt.Sprintf("127.44.0.2:%d", nginxPort)
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
		cmd := exec.CommandContext(ctx, "openssl", "s_client", "-connect", addr, "-servername", "default.example.com",
			"-showcerts")
		cmd.Stdin = strings.NewReader("")
		out, err := cmd.CombinedOutput()
		cancel()
		require.NoError(b, err, "%s", out)
	}
}
