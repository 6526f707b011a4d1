//go:build tlstools

// The test against servers of OpenSSL, nginx and Go: the results for the families are compared with clients of
// OpenSSL that are set up to offer what the families do, and to those of Go and Java. Run it with
//
//	go test -tags tlstools -run TestAgainst ./webcheck/tlscert/clients

package clients_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/webcheck/internal/clients"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// policies are ways to set up a server of OpenSSL.
var policies = []struct{ name, key, args string }{
	{"as it comes", "rsa", ""},
	{"as it comes, with ECDSA", "p256", ""},
	{"TLS 1.2 with RSA key exchange", "rsa", "-tls1_2 -cipher AES128-GCM-SHA256:AES256-SHA"},
	{"TLS 1.3 only", "rsa", "-tls1_3"},
	{"TLS 1.3 with ChaCha20 only", "rsa", "-tls1_3 -ciphersuites TLS_CHACHA20_POLY1305_SHA256"},
	{"TLS 1.2 with ECDSA", "p256", "-tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-SHA"},
	{"a key on P-384", "p384", ""},
	{"a key on P-521", "p521", ""},
	{"an Ed25519 key", "ed25519", ""},
	{"P-384 only", "rsa", "-curves P-384"},
	{"P-521 only", "rsa", "-curves P-521"},
	{"X25519 only", "p256", "-curves X25519"},
	{"X448 only", "rsa", "-curves X448"},
	{"DHE only", "rsa", "-tls1_2 -cipher DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-SHA"},
	{"CBC only", "rsa", "-tls1_2 -cipher ECDHE-RSA-AES128-SHA256"},
	{"TLS 1.0 only", "rsa", "-tls1 -cipher AES128-SHA:@SECLEVEL=0"},
	{"SHA-1 signatures only", "rsa", "-tls1_2 -cipher ECDHE:@SECLEVEL=0 -sigalgs RSA+SHA1"},
}

var keys = map[string][]string{
	"rsa": {"-newkey", "rsa:2048"}, "p256": {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"},
	"p384": {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"},
	"p521": {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-521"}, "ed25519": {"-newkey", "ed25519"},
}

func TestAgainstOpenSSL(t *testing.T) {
	dir := t.TempDir()
	virtual := javas(t, dir)
	right, all := 0, 0
	run := func(name, key string, start func(*testing.T) string) {
		t.Run(name, func(t *testing.T) {
			r, n := compare(t, start(t), virtual, certificate(t, dir, key))
			right, all = right+r, all+n
		})
	}
	for _, p := range policies {
		run(p.name, p.key, func(t *testing.T) string { return startOpenSSL(t, dir, p.key, strings.Fields(p.args)) })
	}
	for name, config := range map[string]*tls.Config{
		"Go as it comes": {}, "Go with TLS 1.2": {MaxVersion: tls.VersionTLS12},
		"Go with post-quantum groups only": {CurvePreferences: []tls.CurveID{tls.X25519MLKEM768}},
	} {
		run(name, "p256", func(t *testing.T) string { return startGo(t, dir, config) })
	}
	t.Logf("%d/%d connections", right, all)
}

// nginxSettings are ways to set up nginx, with certificates of RSA and ECDSA keys.
var nginxSettings = []string{
	"ssl_protocols TLSv1.2 TLSv1.3; ssl_ciphers ECDHE+AESGCM:ECDHE+CHACHA20; ssl_prefer_server_ciphers on;",
	"ssl_protocols TLSv1.2 TLSv1.3; ssl_ciphers HIGH:!aNULL:!MD5;", "ssl_protocols TLSv1.3; ssl_ecdh_curve secp384r1;",
	"ssl_protocols TLSv1 TLSv1.1 TLSv1.2; ssl_ciphers ALL:@SECLEVEL=0; ssl_prefer_server_ciphers on;",
	"ssl_protocols TLSv1.2; ssl_ciphers ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES256-SHA384;",
}

func TestAgainstNginx(t *testing.T) {
	dir := t.TempDir()
	certs := []*x509.Certificate{certificate(t, dir, "rsa"), certificate(t, dir, "p256")}
	virtual := javas(t, dir)
	var servers strings.Builder
	const port = 8444
	for i, settings := range nginxSettings {
		fmt.Fprintf(&servers, "server { listen 127.45.0.%d:%d ssl; ssl_certificate rsa.crt; ssl_certificate_key rsa.key;"+
			"ssl_certificate p256.crt; ssl_certificate_key p256.key; %s }\n", i+1, port, settings)
	}
	config := "daemon off; master_process off; pid nginx.pid; events {} http { access_log off; client_body_temp_path b;" +
		"proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;\n" + servers.String() + "}"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config), 0o600))
	cmd := exec.Command("/usr/sbin/nginx", "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-e", "stderr")
	var output strings.Builder
	cmd.Stderr = &output
	require.NoError(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	listens(t, fmt.Sprintf("127.45.0.1:%d", port))
	right, all := 0, 0
	for i, settings := range nginxSettings {
		t.Run(settings, func(t *testing.T) {
			r, n := compare(t, fmt.Sprintf("127.45.0.%d:%d", i+1, port), virtual, certs...)
			right, all = right+r, all+n
		})
	}
	t.Logf("%d/%d connections", right, all)
}

// compare compares the results for the families with clients, and returns how many of how many were right.
func compare(t *testing.T, addr string, virtual map[string]string, certs ...*x509.Certificate) (right, all int) {
	dial := func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", addr) }
	s := clients.Server{ServerName: "example.com", Web: true}
	for _, c := range certs {
		s.Keys = append(s.Keys, c.PublicKey)
	}
	s.Scan = probe.Scan(t.Context(), dial, probe.Config{ServerName: s.ServerName})
	require.True(t, s.Scan.Any())
	hybrid := !slices.ContainsFunc(s.Scan.Groups, func(g probe.GroupResult) bool { return !g.Group.PostQuantum() })
	outcomes := clients.Examine(t.Context(), s, func(ctx context.Context, h probe.Hello) (*probe.Reply, error) {
		conn, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		return probe.Ask(ctx, conn, h)
	})
	for _, o := range outcomes {
		var version probe.Version
		var suite uint16
		switch java := virtual[o.Family.Name]; {
		case strings.HasPrefix(o.Family.Name, "Go "):
			version, suite = connectGo(addr)
		case java != "":
			version, suite = connectJava(t, java, addr)
		case hybrid && len(s.Scan.Groups) > 0 && slices.Contains(o.Family.Groups, probe.X25519MLKEM768):
			continue // the client of OpenSSL 3.0 cannot play it
		default:
			version, suite = connectOpenSSL(t, o.Family, addr)
		}
		all++
		want := map[bool]probe.Answer{true: probe.Yes, false: probe.No}[version != 0]
		if assert.Equal(t, want, o.Connects, "%s: %s", o.Family.Name, o.Reason) &&
			assert.Equal(t, version, o.Version, o.Family.Name) && assert.Equal(t, suite, o.Suite, o.Family.Name) {
			right++
		}
	}
	return right, all
}

// certificate makes a certificate with a kind of key, once.
func certificate(t *testing.T, dir, key string) *x509.Certificate {
	t.Helper()
	path := filepath.Join(dir, key+".crt")
	if _, err := os.Stat(path); err != nil {
		args := append([]string{"req", "-x509", "-nodes", "-keyout", key + ".key", "-out", key + ".crt", "-days", "2",
			"-subj", "/CN=example.com", "-addext", "subjectAltName=DNS:example.com"}, keys[key]...)
		cmd := exec.Command("openssl", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	block, _ := pem.Decode(data)
	cert, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return cert
}

func startOpenSSL(t *testing.T, dir, key string, args []string) string {
	t.Helper()
	certificate(t, dir, key)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	cmd := exec.CommandContext(t.Context(), "openssl", append([]string{"s_server", "-accept", addr, "-quiet", "-www",
		"-cert", key + ".crt", "-key", key + ".key"}, args...)...)
	cmd.Dir = dir
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	listens(t, addr)
	return addr
}

// listens waits for a server.
func listens(t *testing.T, addr string) {
	t.Helper()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, 5*time.Second, 20*time.Millisecond, "nothing listens at %s", addr)
}

func startGo(t *testing.T, dir string, config *tls.Config) string {
	t.Helper()
	certificate(t, dir, "p256")
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "p256.crt"), filepath.Join(dir, "p256.key"))
	require.NoError(t, err)
	config.Certificates = []tls.Certificate{cert}
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.Copy(io.Discard, conn)
			}()
		}
	}()
	return l.Addr().String()
}

func connectGo(addr string) (probe.Version, uint16) {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 3 * time.Second}, "tcp", addr,
		&tls.Config{InsecureSkipVerify: true, ServerName: "example.com"})
	if err != nil {
		return 0, 0
	}
	defer conn.Close()
	return probe.Version(conn.ConnectionState().Version), conn.ConnectionState().CipherSuite
}

// opensslNames maps the suites that OpenSSL has to its names.
var opensslNames = sync.OnceValue(func() map[uint16]string {
	names := map[uint16]string{}
	out, _ := exec.Command("openssl", "ciphers", "-V", "ALL:COMPLEMENTOFALL:@SECLEVEL=0").Output()
	for line := range strings.Lines(string(out)) {
		var high, low uint16
		var name string
		if n, _ := fmt.Sscanf(strings.TrimSpace(line), "0x%X,0x%X - %s", &high, &low, &name); n == 3 {
			names[high<<8|low] = name
		}
	}
	return names
})

// What OpenSSL calls groups and signature schemes. Others are left out, since no server here has them.
var (
	groupNames = map[probe.Group]string{29: "X25519", 23: "P-256", 24: "P-384", 25: "P-521", 30: "X448",
		256: "ffdhe2048", 257: "ffdhe3072"}
	schemeNames = map[uint16]string{0x0403: "ECDSA+SHA256", 0x0503: "ECDSA+SHA384", 0x0603: "ECDSA+SHA512",
		0x0807: "ed25519", 0x0808: "ed448", 0x0804: "rsa_pss_rsae_sha256", 0x0805: "rsa_pss_rsae_sha384",
		0x0806: "rsa_pss_rsae_sha512", 0x0401: "RSA+SHA256", 0x0501: "RSA+SHA384", 0x0601: "RSA+SHA512",
		0x0303: "ECDSA+SHA224", 0x0301: "RSA+SHA224", 0x0203: "ECDSA+SHA1", 0x0201: "RSA+SHA1"}
)

// known joins the names of what OpenSSL has.
func known[T comparable](list []T, names map[T]string) string {
	var found []string
	for _, one := range list {
		if name := names[one]; name != "" {
			found = append(found, name)
		}
	}
	return strings.Join(found, ":")
}

// connectOpenSSL connects with a client of OpenSSL that offers what the family does.
func connectOpenSSL(t *testing.T, f clients.Family, addr string) (probe.Version, uint16) {
	level := map[string]string{"OpenSSL 3.0": "1", "OpenSSL 3.5": "2"}[f.Name]
	tls12 := slices.DeleteFunc(slices.Clone(f.Suites), func(id uint16) bool { return probe.SuiteOf(id).TLS13() })
	tls13 := slices.DeleteFunc(slices.Clone(f.Suites), func(id uint16) bool { return !probe.SuiteOf(id).TLS13() })
	protocol := func(v probe.Version) string { return strings.ReplaceAll(max(v, probe.TLS10).String(), "TLS ", "TLSv") }
	protocols := [2]string{protocol(f.Versions[len(f.Versions)-1]), protocol(f.Versions[0])}
	for i, p := range protocols {
		protocols[i] = strings.TrimSuffix(p, ".0")
	}
	args := []string{"s_client", "-connect", addr, "-servername", "example.com", "-min_protocol", protocols[0],
		"-max_protocol", protocols[1], "-groups", known(f.Groups, groupNames), "-sigalgs", known(f.Signatures, schemeNames),
		"-cipher", known(tls12, opensslNames()) + ":@SECLEVEL=" + cmp.Or(level, "0")}
	if len(tls13) > 0 {
		args = append(args, "-ciphersuites", known(tls13, opensslNames()))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "openssl", args...)
	cmd.Stdin = strings.NewReader("")
	out, _ := cmd.CombinedOutput()
	_, line, _ := strings.Cut(string(out), "\nNew, ")
	line, _, _ = strings.Cut(line, "\n")
	_, name, _ := strings.Cut(line, "Cipher is ")
	_, version, _ := strings.Cut(string(out), "Protocol  : ")
	version, _, _ = strings.Cut(version, "\n")
	if strings.HasPrefix(line, "TLSv1.3") { // there is no session to describe yet
		version = "TLSv1.3"
	}
	for id, n := range opensslNames() {
		if n == name {
			return versionOf(version), id
		}
	}
	require.Contains(t, []string{"(NONE)", ""}, name, "%s", out)
	return 0, 0
}

func versionOf(name string) probe.Version {
	return map[string]probe.Version{"TLSv1": probe.TLS10, "TLSv1.1": probe.TLS11, "TLSv1.2": probe.TLS12,
		"TLSv1.3": probe.TLS13}[name]
}

// javaSource is a client that trusts everything and says what was agreed on.
const javaSource = `import javax.net.ssl.*;
public class Client {
	public static void main(String[] args) throws Exception {
		SSLContext context = SSLContext.getInstance("TLS");
		context.init(null, new TrustManager[]{new X509ExtendedTrustManager() {
			public java.security.cert.X509Certificate[] getAcceptedIssuers() { return new java.security.cert.X509Certificate[0]; }
			public void checkClientTrusted(java.security.cert.X509Certificate[] c, String s) {}
			public void checkServerTrusted(java.security.cert.X509Certificate[] c, String s) {}
			public void checkClientTrusted(java.security.cert.X509Certificate[] c, String s, java.net.Socket k) {}
			public void checkServerTrusted(java.security.cert.X509Certificate[] c, String s, java.net.Socket k) {}
			public void checkClientTrusted(java.security.cert.X509Certificate[] c, String s, SSLEngine e) {}
			public void checkServerTrusted(java.security.cert.X509Certificate[] c, String s, SSLEngine e) {}
		}}, null);
		SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(args[0], Integer.parseInt(args[1]));
		SSLParameters parameters = socket.getSSLParameters();
		parameters.setServerNames(java.util.List.of(new SNIHostName("example.com")));
		socket.setSSLParameters(parameters);
		socket.startHandshake();
		System.out.println(socket.getSession().getProtocol() + " " + socket.getSession().getCipherSuite());
	}
}
`

// javas finds virtual machines and a compiler, and returns the commands by the name of their family. There may be none.
func javas(t *testing.T, dir string) map[string]string {
	found := map[string]string{}
	compilers, _ := filepath.Glob("/usr/lib/jvm/*/bin/javac")
	if len(compilers) == 0 {
		return found
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Client.java"), []byte(javaSource), 0o600))
	out, err := exec.Command(compilers[0], "--release", "11", "-d", dir, filepath.Join(dir, "Client.java")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	paths, _ := filepath.Glob("/usr/lib/jvm/*/bin/java")
	for _, path := range paths {
		out, _ := exec.Command(path, "-version").CombinedOutput()
		for _, f := range clients.Families() {
			for _, major := range strings.FieldsFunc(f.Name, func(r rune) bool { return r < '0' || r > '9' }) {
				if strings.HasPrefix(f.Name, "Java ") && strings.Contains(string(out), ` version "`+major+".") {
					found[f.Name] = path
				}
			}
		}
	}
	t.Logf("virtual machines: %v", found)
	for name, path := range found {
		found[name] = path + " -cp " + dir + " Client"
	}
	return found
}

func connectJava(t *testing.T, command, addr string) (probe.Version, uint16) {
	host, port, _ := net.SplitHostPort(addr)
	words := append(strings.Fields(command), host, port)
	out, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput()
	if err != nil {
		require.Contains(t, string(out), "SSL", "%s", out)
		return 0, 0
	}
	version, name, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	for _, s := range probe.Suites() {
		if s.Name == name {
			return versionOf(version), s.ID
		}
	}
	t.Errorf("Java agreed on %s", name)
	return 0, 0
}
