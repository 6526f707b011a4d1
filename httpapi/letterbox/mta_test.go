//go:build mta

// The test with real clients: swaks, and Postfix as a relay. Run it as root with
//
//	bash .ci/mta DIR
//	MTA_ROOT=DIR go test -tags mta -run TestAgainstMTA ./httpapi/letterbox

package letterbox

import (
	"bytes"
	"fmt"
	"net"
	"net/smtp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// relay is the address at which Postfix accepts messages.
const relay = "127.25.9.1:25"

const mainFile = `compatibility_level = 3.6
myhostname = mail.real.example
mydestination =
mynetworks = 127.0.0.0/8
inet_protocols = ipv4
alias_maps =
local_recipient_maps =
maillog_file = /var/log/postfix.log
maillog_file_prefixes = /var/log
disable_dns_lookups = yes
smtpd_peername_lookup = no
smtpd_relay_restrictions = permit_mynetworks, reject
smtp_tls_security_level = encrypt
relayhost = [127.0.0.1]:%s
`

const masterFile = `postlog   unix-dgram n - n - 1 postlogd
rewrite   unix  - - n - - trivial-rewrite
tlsmgr    unix  - - n 1000? 1 tlsmgr
cleanup   unix  n - n - 0 cleanup
anvil     unix  - - n - 1 anvil
qmgr      unix  n - n 300 1 qmgr
bounce    unix  - - n - 0 bounce
defer     unix  - - n - 0 bounce
trace     unix  - - n - 0 bounce
scache    unix  - - n - 1 scache
smtp      unix  - - n - - smtp
relay     unix  - - n - - smtp
127.25.9.1:25 inet n - n - - smtpd
`

// startPostfix runs Postfix in a process namespace that ends with the test.
func startPostfix(t *testing.T, port string) {
	t.Helper()
	root := os.Getenv("MTA_ROOT")
	require.NotEmpty(t, root, "MTA_ROOT names the directory that .ci/mta made")
	require.NoError(t, os.WriteFile(filepath.Join(root, "etc/postfix/main.cf"), fmt.Appendf(nil, mainFile, port), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, "etc/postfix/master.cf"), []byte(masterFile), 0o644))
	cmd := exec.Command("sh", "-c", `chroot "$0" /usr/lib/postfix/sbin/master -d & exec cat`, root)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	cmd.WaitDelay = 5 * time.Second
	life, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		life.Close()
		cmd.Wait()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(root, "var/log/postfix.log"))
			t.Logf("Postfix says: %s %s", &output, log)
		}
	})
	require.Eventually(t, func() bool {
		c, err := net.DialTimeout("tcp", relay, time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	}, time.Minute, 50*time.Millisecond)
}

// A message that swaks sends, and one that Postfix relays, come over TLS with their signature whole.
func TestAgainstMTA(t *testing.T) {
	p := newPost(t)
	p.set("127.0.0.1", 0)
	_, port, err := net.SplitHostPort(p.addr)
	require.NoError(t, err)
	startPostfix(t, port)
	for name, send := range map[string]func(to, text string) error{
		"swaks": func(to, text string) error {
			cmd := exec.Command("swaks", "--server", p.addr, "--tls", "--ehlo", "mail.real.example", "--from", "alice@example.org",
				"--to", to, "--data", "-")
			cmd.Stdin = strings.NewReader(text)
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			return err
		},
		"Postfix": func(to, text string) error {
			return smtp.SendMail(relay, nil, "alice@example.org", []string{to}, []byte(text))
		},
	} {
		path, to := p.address()
		require.NoError(t, send(to, p.signed()), name)
		require.Eventually(t, func() bool { return strings.Contains(p.get("GET", path).Body.String(), `class="view"`) },
			time.Minute, 50*time.Millisecond, name)
		text := pageText(p.get("GET", path).Body.String())
		for _, want := range []string{
			"from address 127.0.0.1", "HELO name mail.real.example", "envelope sender alice@example.org", "TLS TLSv1.3",
			"sent by ▲ 127.0.0.1", "spf ▲ fail for example.org", "dkim pass for example.org", "dmarc pass, p=reject",
		} {
			assert.True(t, strings.Contains(text, want), "%s: %s in %s", name, want, text)
		}
	}
	t.Log("swaks and Postfix 2/2")
}
