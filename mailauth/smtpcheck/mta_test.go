//go:build mta

// The test against real mail servers: Postfix, Exim and OpenSMTPD of Debian, on loopback addresses, set up well and
// badly. Run it as root with
//
//	bash .ci/mta DIR
//	MTA_ROOT=DIR go test -tags mta -run TestAgainstMTA ./mailauth/smtpcheck
//
// Each server runs in a process namespace of its own, which always ends with the test.

package smtpcheck_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/netip"
	netsmtp "net/smtp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/smtpcheck"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An mta is a program under test, listening in a network of its own.
type mta struct {
	name    string
	network string // without the last number of its addresses
	command []string
	absent  []host // configurations that the program does not support
}

var mtas = []mta{
	{"Postfix", "127.25.1.", []string{"/usr/lib/postfix/sbin/master", "-d"}, []host{withoutFile}},
	{"Exim", "127.25.2.", []string{"/usr/sbin/exim4", "-bdf"}, []host{screening}},
	{"OpenSMTPD", "127.25.3.", []string{"/usr/sbin/smtpd", "-d"}, []host{earlyAuth, greylisting, screening, withoutFile}},
}

// A host is the last number of an address, which identifies a configuration of the server.
type host int

// The hosts, as in testdata/mta.
const (
	wellRun     host = 1 // also on ports 465 and 587
	unencrypted host = 2
	openRelay   host = 3
	earlyAuth   host = 4
	expired     host = 5
	greylisting host = 6
	screening   host = 7 // a first line of the banner, and the last one later, for clients that do not wait
	withoutFile host = 8 // the file with the certificate is missing
)

// name is the name of all servers.
const name = "mx.example.com"

// start runs a server in the chroot until the test ends. The end of the first process in a process namespace ends all
// others; here that is a cat, which ends when its standard input is closed: at the latest with this process.
func start(t *testing.T, root string, m mta) {
	t.Helper()
	var output bytes.Buffer
	cmd := exec.Command("sh", append([]string{"-c", `chroot "$0" "$@" & exec cat`, root}, m.command...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	cmd.WaitDelay = 5 * time.Second
	life, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start(), m.name)
	t.Cleanup(func() {
		life.Close()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s says: %s", m.name, &output)
		}
	})
	for h := wellRun; h <= withoutFile; h++ {
		if slices.Contains(m.absent, h) {
			continue
		}
		require.Eventually(t, func() bool {
			conn, err := net.DialTimeout("tcp", m.address(h, 25).String(), time.Second)
			if err == nil {
				conn.Close()
			}
			return err == nil
		}, time.Minute, 50*time.Millisecond, "%s does not listen on %s", m.name, m.address(h, 25))
	}
}

func (m mta) address(h host, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(fmt.Sprint(m.network, h)), port)
}

// install puts configuration and certificates where the servers look for them, and returns the chains by file.
func install(t *testing.T, root string, w *diagtest.World) map[string]tls.Certificate {
	t.Helper()
	chains := map[string]tls.Certificate{}
	for file, dir := range map[string]string{
		"main.cf": "etc/postfix", "master.cf": "etc/postfix", "sasl.conf": "etc/postfix/sasl/smtpd.conf",
		"exim4.conf": "etc/exim4", "smtpd.conf": "etc",
	} {
		text, err := os.ReadFile(filepath.Join("testdata/mta", file))
		require.NoError(t, err)
		if filepath.Ext(dir) == "" {
			dir = filepath.Join(dir, file)
		}
		require.NoError(t, os.WriteFile(filepath.Join(root, dir), text, 0o644))
	}
	names := []string{name, "mx1.example.com", "mx2.example.com", "mx3.example.com"}
	for file, kind := range map[string]diagtest.Cert{"good": diagtest.CertGood, "expired": diagtest.CertExpired} {
		cert := w.Certificate(diagtest.CertSpec{Names: names, Cert: kind})
		chains[file] = cert
		key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
		require.NoError(t, err)
		keyText := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
		var chain []byte
		for _, der := range cert.Certificate {
			chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
		}
		base := filepath.Join(root, "etc/ssl", file)
		require.NoError(t, os.WriteFile(base+".key", keyText, 0o600))
		require.NoError(t, os.WriteFile(base+".crt", chain, 0o644))
		require.NoError(t, os.WriteFile(base+".pem", slices.Concat(keyText, chain), 0o644))
	}
	return chains
}

// env returns the real network, with a DNS that leads to these addresses.
func env(t *testing.T, pki *diagtest.World, zone string) *diag.Env {
	w := diagtest.NewWorld(t)
	w.Zone(zone)
	w.Secure("*.")
	return &diag.Env{
		Resolver: w, Roots: pki.Env().Roots, Clock: pki.Now,
		Guard: diag.Guard{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.25.0.0/16")}},
	}
}

// handshakes reports whether the client of the standard library completes a handshake: not every server that offers
// STARTTLS supports it. The OpenSMTPD of Debian 12 does not (github.com/OpenSMTPD/OpenSMTPD/issues/1239).
func handshakes(t *testing.T, m mta) bool {
	conn, err := net.DialTimeout("tcp", m.address(wellRun, 25).String(), time.Second)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	c, err := netsmtp.NewClient(conn, name)
	require.NoError(t, err)
	require.NoError(t, c.Hello("client.example.net"))
	return c.StartTLS(&tls.Config{InsecureSkipVerify: true}) == nil
}

func TestAgainstMTA(t *testing.T) {
	root := os.Getenv("MTA_ROOT")
	require.NotEmpty(t, root, "MTA_ROOT is the directory that .ci/mta lays out")
	pki := diagtest.NewWorld(t)
	chains := install(t, root, pki)
	for _, m := range mtas {
		start(t, root, m)
	}
	t.Run("all at once", func(t *testing.T) { testAtOnce(t, pki) })
	t.Run("DANE", func(t *testing.T) { testDANE(t, pki, chains) })
	for _, m := range mtas {
		t.Run(m.name, func(t *testing.T) {
			encrypts := handshakes(t, m)
			if !encrypts {
				t.Logf("%s offers STARTTLS, and no handshake comes about: so says the standard library, too", m.name)
			}
			for _, tt := range expectations {
				if slices.Contains(m.absent, tt.host) {
					continue
				}
				t.Run(fmt.Sprintf("%s on port %d", tt.name, tt.port), func(t *testing.T) {
					r := check(t, pki, m, tt.host, tt.port)
					if !encrypts && tt.port == 465 {
						require.Contains(t, r.Servers[0].Error, "TLS handshake failed")
						return
					}
					got := factsOf(t, r)
					want, findings := tt.facts, append([]diag.Code{}, tt.findings...)
					if !encrypts && want.offered {
						want.negotiated, want.trusted, want.authAfter = false, false, false
						findings = slices.DeleteFunc(findings, func(c diag.Code) bool { return c == "smtp.certificate.expired" })
						findings = append(findings, "smtp.tls.handshake")
					}
					require.Equal(t, want, got, "%+v\n%s", r.Findings, transcript(r))
					require.Equal(t, findings, relevant(r), "%+v\n%s", r.Findings, transcript(r))
					require.Equal(t, want.negotiated, slices.ContainsFunc(r.Passed, func(c diag.Check) bool {
						return c.Code == "smtp.starttls.commands"
					}), "what comes behind STARTTLS is discarded or refused: %s", transcript(r))
				})
			}
		})
	}
}

// testAtOnce tests all servers as the mail servers of one domain, on all ports.
func testAtOnce(t *testing.T, pki *diagtest.World) {
	zone := "example.com. TXT \"v=spf1 mx -all\"\n"
	broken := 0
	for i, m := range mtas {
		host, addr := fmt.Sprintf("mx%d.example.com", i+1), m.address(wellRun, 25).Addr()
		zone += fmt.Sprintf("example.com. MX %d0 %s.\n%s. A %s\n%s PTR %s.\n", i+1, host, host, addr,
			diag.IP{Addr: addr}.Reverse(), host)
		if !handshakes(t, m) {
			broken++
		}
	}
	begun := time.Now()
	r, err := smtpcheck.Check(t.Context(), env(t, pki, zone), smtpcheck.Request{
		Domain: diag.MustDomain("example.com"), Ports: []int{25, 465, 587},
	})
	require.NoError(t, err)
	require.Less(t, time.Since(begun), 5*time.Second)
	require.Equal(t, smtpcheck.Summary{
		Servers: 9, Reachable: 9 - broken, TLS: 9 - 3*broken, Trusted: 9 - 3*broken,
	}, r.Summary, transcript(r))
	for i, s := range r.Servers {
		require.Equal(t, []any{fmt.Sprintf("mx%d.example.com", i/3+1), []int{25, 465, 587}[i%3]}, []any{s.Host, s.Port})
	}
}

// facts are the contents of a report about one server.
type facts struct {
	offered, negotiated   bool // STARTTLS
	trusted               bool
	authBefore, authAfter bool
	relay                 smtpcheck.RelayStatus
}

var expectations = []struct {
	name string
	host host
	port uint16
	facts
	findings []diag.Code // above info
}{
	{"well run", wellRun, 25, facts{true, true, true, false, false, smtpcheck.RelayClosed}, nil},
	{"without TLS", unencrypted, 25, facts{relay: smtpcheck.RelayClosed}, []diag.Code{"smtp.starttls.missing"}},
	{"open relay", openRelay, 25, facts{true, true, true, false, false, smtpcheck.RelayOpen},
		[]diag.Code{"smtp.relay.open"}},
	{"AUTH before TLS", earlyAuth, 25, facts{true, true, true, true, true, smtpcheck.RelayClosed},
		[]diag.Code{"smtp.auth.plaintext"}},
	{"expired certificate", expired, 25, facts{true, true, false, false, false, smtpcheck.RelayClosed},
		[]diag.Code{"smtp.certificate.expired"}},
	{"greylisting", greylisting, 25, facts{true, true, true, false, false, smtpcheck.RelayInconclusive}, nil},
	{"screening", screening, 25, facts{true, true, true, false, false, smtpcheck.RelayClosed}, nil},
	{"lost certificate", withoutFile, 25, facts{offered: true, relay: smtpcheck.RelayClosed},
		[]diag.Code{"smtp.starttls.refused"}},
	{"submission", wellRun, 587, facts{true, true, true, false, true, smtpcheck.RelayClosed}, nil},
	{"submission over TLS", wellRun, 465, facts{false, false, true, false, true, smtpcheck.RelayClosed}, nil},
}

// check tests one server, as the only mail server of a domain with reverse DNS in order.
func check(t *testing.T, pki *diagtest.World, m mta, h host, port uint16) *smtpcheck.Report {
	t.Helper()
	addr := m.address(h, port).Addr()
	zone := fmt.Sprintf("%s. A %s\n%s PTR %s.\n", name, addr, diag.IP{Addr: addr}.Reverse(), name)
	var target smtpcheck.Host
	require.NoError(t, target.UnmarshalText([]byte(name)))
	r, err := smtpcheck.Check(t.Context(), env(t, pki, zone), smtpcheck.Request{
		Host: target, Ports: []int{int(port)}, HELO: diag.MustDomain("client.example.net"),
	})
	require.NoError(t, err)
	require.Len(t, r.Servers, 1)
	return r
}

// factsOf also checks the properties that are the same on all servers.
func factsOf(t *testing.T, r *smtpcheck.Report) facts {
	t.Helper()
	s := r.Servers[0]
	assert.True(t, s.Reachable)
	assert.True(t, strings.HasPrefix(s.Banner, "220 "+name+" ESMTP"), s.Banner)
	assert.True(t, s.PTR.ForwardConfirmed && s.PTR.MatchesBanner, "%+v", s.PTR)
	for _, line := range s.Transcript {
		assert.False(t, line.Direction == smtpcheck.Client && strings.HasPrefix(line.Line, "DATA"), "a message was sent")
	}
	if s.EHLOOK {
		assert.True(t, s.ESMTP)
		assert.NotNil(t, s.SizeLimit, "all three announce SIZE")
	}
	return facts{
		s.StartTLS.Advertised, s.StartTLS.Negotiated, s.TLS.Trusted && s.TLS.HostnameMatch,
		s.Auth.BeforeTLS, s.Auth.AfterTLS, s.Relay.Status,
	}
}

// relevant lists the codes of the findings above info.
func relevant(r *smtpcheck.Report) []diag.Code {
	list := []diag.Code{}
	for _, f := range r.Findings {
		if f.Severity > diag.Info {
			list = append(list, f.Code)
		}
	}
	return list
}

func transcript(r *smtpcheck.Report) string {
	var b strings.Builder
	for _, s := range r.Servers {
		for _, l := range s.Transcript {
			fmt.Fprintf(&b, "%5d ms %s: %s\n", l.AtMS, l.Direction, l.Line)
		}
		fmt.Fprintln(&b, "error:", s.Error)
	}
	return b.String()
}
