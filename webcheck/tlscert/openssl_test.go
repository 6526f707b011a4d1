//go:build tlstools

// The test against OpenSSL: its authority issues and revokes certificates, its servers present them and its responder
// answers for them; the reports are compared with openssl verify. Run it with
//
//	go test -tags tlstools -run TestAgainstOpenSSLRevocation ./webcheck/tlscert

package tlscert_test

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/pki/revocation"
	"github.com/diagkit/diagkit/webcheck/tlscert"
	"github.com/stretchr/testify/require"
)

const caConfig = `[ca]
default_ca = own
[own]
dir = .
database = index.txt
new_certs_dir = .
serial = serial
crlnumber = crlnumber
certificate = ca.crt
private_key = ca.key
default_md = sha256
default_days = 30
default_crl_days = 7
policy = any
copy_extensions = copy
unique_subject = no
crl_extensions = crl
[any]
commonName = supplied
[crl]
authorityKeyIdentifier = keyid:always
[list]
subjectAltName = DNS:$ENV::NAME
extendedKeyUsage = serverAuth
authorityKeyIdentifier = keyid
crlDistributionPoints = URI:http://crl.example.com:8443/list.crl
[ocsp]
subjectAltName = DNS:$ENV::NAME
extendedKeyUsage = serverAuth
authorityKeyIdentifier = keyid
authorityInfoAccess = OCSP;URI:http://ocsp.example.com:8080/
`

// An opensslCA is an authority in a directory of its own.
type opensslCA struct {
	t   *testing.T
	dir string
}

func (a *opensslCA) run(name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(a.t.Context(), "openssl", args...)
	cmd.Dir, cmd.Env = a.dir, append(os.Environ(), "NAME="+name)
	return cmd.CombinedOutput()
}

func (a *opensslCA) must(name, args string) {
	a.t.Helper()
	out, err := a.run(name, strings.Fields(args)...)
	require.NoError(a.t, err, "%s: %s", args, out)
}

func newOpenSSLCA(t *testing.T) *opensslCA {
	a := &opensslCA{t, t.TempDir()}
	for name, text := range map[string]string{"ca.cnf": caConfig, "index.txt": "", "serial": "1000\n",
		"crlnumber": "01\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o600))
	}
	a.must("", "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -days 365 "+
		"-subj /CN=OpenSSL-CA -addext keyUsage=critical,keyCertSign,cRLSign")
	return a
}

// issue makes a certificate with the extensions of a section.
func (a *opensslCA) issue(name, section string) {
	a.must(name, fmt.Sprintf("req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout %[1]s.key -out "+
		"%[1]s.csr -subj /CN=%[1]s", name))
	a.must(name, fmt.Sprintf("ca -config ca.cnf -batch -notext -extensions %[2]s -in %[1]s.csr -out %[1]s.crt", name,
		section))
}

// start runs a server of OpenSSL until the end of the test.
func (a *opensslCA) start(args string) {
	cmd := exec.CommandContext(a.t.Context(), "openssl", strings.Fields(args)...)
	cmd.Dir = a.dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(a.t, cmd.Start())
	a.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if a.t.Failed() {
			a.t.Logf("openssl %s says: %s", args, &out)
		}
	})
}

func waitFor(t *testing.T, addr string) {
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, 5*time.Second, 20*time.Millisecond, "%s does not listen", addr)
}

func TestAgainstOpenSSLRevocation(t *testing.T) {
	a := newOpenSSLCA(t)
	cases := []struct {
		name, section, reason string // empty: not revoked
		want                  revocation.Status
	}{
		{"good.example.com", "list", "", revocation.Good},
		{"stolen.example.com", "list", "keyCompromise", revocation.Revoked},
		{"held.example.com", "list", "certificateHold", revocation.Revoked},
		{"old.example.com", "list", "superseded", revocation.Revoked},
		{"answered.example.com", "ocsp", "", revocation.Good},
		{"taken.example.com", "ocsp", "cessationOfOperation", revocation.Revoked},
	}
	w := diagtest.NewWorld(t)
	w.SetTime(time.Now())
	w.Zone("crl.example.com. A 127.45.0.99\nocsp.example.com. A 127.45.0.98\n")
	for i, c := range cases {
		a.issue(c.name, c.section)
		if c.reason != "" {
			a.must(c.name, fmt.Sprintf("ca -config ca.cnf -revoke %s.crt -crl_reason %s", c.name, c.reason))
		}
		w.Zone(fmt.Sprintf("%s. A 127.45.0.%d\n", c.name, i+1))
		a.start(fmt.Sprintf("s_server -quiet -accept 127.45.0.%d:%d -cert %[3]s.crt -key %[3]s.key", i+1, nginxPort, c.name))
		waitFor(t, fmt.Sprintf("127.45.0.%d:%d", i+1, nginxPort))
	}
	a.must("", "ca -config ca.cnf -gencrl -out list.pem")
	a.must("", "crl -in list.pem -outform DER -out list.crl")
	listener, err := net.Listen("tcp", "127.45.0.99:8443")
	require.NoError(t, err)
	lists := &http.Server{Handler: http.FileServer(http.Dir(a.dir))}
	var g diag.Group
	g.Go(func() { lists.Serve(listener) })
	t.Cleanup(func() { lists.Close(); g.Wait() })
	a.start("ocsp -index index.txt -port 8080 -rsigner ca.crt -rkey ca.key -CA ca.crt -ndays 1 -ignore_err")
	require.Eventually(t, func() bool { // it stops where a connection ends without a request
		reply, err := http.Get("http://127.45.0.98:8080/")
		if err == nil {
			reply.Body.Close()
		}
		return err == nil
	}, 5*time.Second, 50*time.Millisecond, "the responder does not answer")

	roots := x509.NewCertPool()
	pem, err := os.ReadFile(filepath.Join(a.dir, "ca.crt"))
	require.NoError(t, err)
	require.True(t, roots.AppendCertsFromPEM(pem))
	env := &diag.Env{Resolver: w.Env().Resolver, Roots: roots,
		Guard: diag.Guard{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.45.0.0/24")}}}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, err := a.run(c.name, "verify", "-crl_check", "-CAfile", "ca.crt", "-CRLfile", "list.pem", c.name+".crt")
			require.Equal(t, c.reason == "", err == nil, "%s", out)
			r, err := tlscert.Check(t.Context(), env, tlscert.Request{Host: tlscert.MustHost(c.name), Port: nginxPort,
				CheckVersions: new(false)})
			require.NoError(t, err)
			require.Equal(t, c.want, r.Revocation.Status, "%+v", r.Revocation)
			if c.reason != "" {
				require.Contains(t, r.Headline, "Certificate was revoked on "+time.Now().UTC().Format(time.DateOnly))
				require.Equal(t, revocation.Reason(c.reason), r.Revocation.Checked[0].Reason)
			}
			t.Logf("openssl verify: %s; here: %s", bytes.TrimSpace(out), r.Headline)
		})
	}
}
