//go:build tlstools

// The test against servers of OpenSSL, each of which can do one thing only. Run it with
//
//	go test -tags tlstools -run TestAgainstOpenSSL ./webcheck/internal/probe

package probe_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/diagkit/diagkit/webcheck/internal/probe"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A setup is a way to start openssl s_server, and what must be found out about it.
type setup struct {
	name     string
	args     []string
	versions []probe.Version
	suites   []string // without TLS_; nil does not look
	group    probe.Group
	dhBits   int
	hidden   bool // crypto/tls cannot connect, whatever is enabled
}

var (
	only10 = []probe.Version{probe.TLS10}
	only11 = []probe.Version{probe.TLS11}
	only12 = []probe.Version{probe.TLS12}
	only13 = []probe.Version{probe.TLS13}
)

var setups = []setup{
	{name: "TLS 1.0", args: []string{"-tls1", "-cipher", "AES128-SHA:@SECLEVEL=0"}, versions: only10,
		suites: []string{"RSA_WITH_AES_128_CBC_SHA"}},
	{name: "TLS 1.1", args: []string{"-tls1_1", "-cipher", "AES256-SHA:@SECLEVEL=0"}, versions: only11,
		suites: []string{"RSA_WITH_AES_256_CBC_SHA"}},
	{name: "RSA key exchange", args: []string{"-tls1_2", "-cipher", "AES128-GCM-SHA256"}, versions: only12,
		suites: []string{"RSA_WITH_AES_128_GCM_SHA256"}},
	{name: "ECDHE with GCM", args: []string{"-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256", "-curves", "P-384"},
		versions: only12, suites: []string{"ECDHE_RSA_WITH_AES_128_GCM_SHA256"}, group: 24},
	{name: "ECDHE with CBC", args: []string{"-tls1_2", "-cipher", "ECDHE-RSA-AES128-SHA256"}, versions: only12,
		suites: []string{"ECDHE_RSA_WITH_AES_128_CBC_SHA256"}},
	{name: "TLS 1.3", args: []string{"-tls1_3"}, versions: only13, group: 29, suites: []string{
		"AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "CHACHA20_POLY1305_SHA256"}},
	{name: "DHE", args: []string{"-tls1_2", "-cipher", "DHE-RSA-AES256-GCM-SHA384"},
		versions: only12, suites: []string{"DHE_RSA_WITH_AES_256_GCM_SHA384"}, dhBits: 2048, hidden: true},
	{name: "NULL", args: []string{"-tls1_2", "-cipher", "NULL-SHA256:@SECLEVEL=0"}, versions: only12,
		suites: []string{"RSA_WITH_NULL_SHA256"}, hidden: true},
	{name: "anonymous", args: []string{"-tls1_2", "-cipher", "AECDH-AES128-SHA:@SECLEVEL=0", "-nocert"},
		versions: only12,
		suites:   []string{"ECDH_anon_WITH_AES_128_CBC_SHA"}, hidden: true},
	{name: "Camellia", args: []string{"-tls1_2", "-cipher", "CAMELLIA256-SHA256:@SECLEVEL=0"}, versions: only12,
		suites: []string{"RSA_WITH_CAMELLIA_256_CBC_SHA256"}, hidden: true},
	{name: "TLS 1.3 with CCM", args: []string{"-tls1_3", "-ciphersuites", "TLS_AES_128_CCM_SHA256"}, versions: only13,
		suites: []string{"AES_128_CCM_SHA256"}, hidden: true},
	{name: "brainpool", args: []string{"-tls1_2", "-cipher", "ECDHE-RSA-AES256-GCM-SHA384", "-curves",
		"brainpoolP256r1"},
		versions: only12, suites: []string{"ECDHE_RSA_WITH_AES_256_GCM_SHA384"}, group: 26, hidden: true},
	{name: "TLS 1.0 to 1.3 with everything", args: []string{"-cipher", "ALL:COMPLEMENTOFALL:@SECLEVEL=0"},
		versions: []probe.Version{probe.TLS10, probe.TLS11, probe.TLS12, probe.TLS13}, group: 29, dhBits: 2048},
	{name: "TLS 1.2 with a PSK", args: []string{"-tls1_2", "-cipher", "PSK-AES128-GCM-SHA256", "-psk", "0102",
		"-nocert"},
		versions: only12, suites: []string{"PSK_WITH_AES_128_GCM_SHA256"}, hidden: true},
	{name: "X448 in TLS 1.3", args: []string{"-tls1_3", "-curves", "X448"}, versions: only13, group: 30, hidden: true},
	{name: "a prime field in TLS 1.3", args: []string{"-tls1_3", "-curves", "ffdhe3072"}, versions: only13, group: 257,
		hidden: true},
}

func TestAgainstOpenSSL(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2",
		"-subj", "/CN=example.com", "-addext", "subjectAltName=DNS:example.com")
	right, reached := 0, 0
	for _, s := range setups {
		t.Run(s.name, func(t *testing.T) {
			addr := start(t, dir, s.args)
			began := time.Now()
			r := probe.Scan(t.Context(), func(ctx context.Context) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", addr)
			}, probe.Config{ServerName: "example.com"})
			took := time.Since(began)
			s.compare(t, r)
			assert.Equal(t, s.hidden, !goConnects(addr), "crypto/tls")
			assert.Less(t, took, 3*time.Second)
			t.Logf("%d suites, %d connections, %v", len(r.Suites), r.Connections, took.Round(time.Millisecond))
			if !t.Failed() {
				right++
			}
			if !s.hidden {
				reached++
			}
		})
	}
	t.Logf("%d/%d servers of OpenSSL; crypto/tls reaches %d", right, len(setups), reached)
}

// compare compares the report with the configuration of the server.
func (s setup) compare(t *testing.T, r *probe.Report) {
	var versions []probe.Version
	for _, v := range r.Versions {
		if v.Supported == probe.Yes {
			versions = append(versions, v.Version)
		}
	}
	assert.Equal(t, s.versions, versions)
	assert.False(t, r.Partial)
	assert.Equal(t, probe.Yes, r.Browser, "%+v", r.Intolerances)
	if s.suites != nil {
		var suites []string
		for _, one := range r.Suites {
			suites = append(suites, one.Name[len("TLS_"):])
		}
		assert.Equal(t, s.suites, suites)
	}
	if s.group != 0 && assert.NotEmpty(t, r.Groups) {
		assert.Equal(t, s.group, r.Groups[0].Group)
	}
	if s.dhBits != 0 {
		assert.True(t, slices.ContainsFunc(r.Suites, func(one probe.SuiteResult) bool { return one.DHBits == s.dhBits }),
			"%+v", r.Suites)
	}
	if !slices.Contains(s.args, "-nocert") && r.Old != nil {
		assert.Len(t, r.Old.Chain, 1)
	}
}

func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("openssl", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// start runs a server until the end of the test.
func start(t *testing.T, dir string, args []string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	all := []string{"s_server", "-accept", addr, "-quiet", "-www"}
	if !slices.Contains(args, "-nocert") {
		all = append(all, "-cert", filepath.Join(dir, "cert.pem"), "-key", filepath.Join(dir, "key.pem"))
	}
	cmd := exec.CommandContext(t.Context(), "openssl", append(all, args...)...)
	cmd.Dir = dir
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, 5*time.Second, 20*time.Millisecond, "openssl does not listen: %s", fmt.Sprint(args))
	return addr
}

// goConnects reports whether crypto/tls reaches the server with all that it has.
func goConnects(addr string) bool {
	config := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, ServerName: "example.com"}
	for _, s := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		config.CipherSuites = append(config.CipherSuites, s.ID)
	}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 3 * time.Second}, "tcp", addr, config)
	if err == nil {
		conn.Close()
	}
	return err == nil
}
