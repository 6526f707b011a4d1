// Package ci is not for import: it contains the CI jobs that run diag over the zone files of a repository, see
// README.md.
package ci

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/textutil"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// published is the public zone before the change.
const published = `
example.com. 3600 SOA ns1.example.net. hostmaster.example.com. 1 14400 3600 1209600 3600
example.com. 3600 NS ns1.example.net.
example.com. 3600 TXT "v=spf1 +all"
example.net. 3600 SOA ns1.example.net. hostmaster.example.net. 1 14400 3600 1209600 3600
example.net. 3600 NS ns1.example.net.
ns1.example.net. 3600 A 192.0.2.53
example.org. 3600 SOA ns1.example.net. hostmaster.example.org. 1 14400 3600 1209600 3600
example.org. 3600 NS ns1.example.net.
`

// flags are those with which the program sees a world, of today, through a name server on this machine.
func flags(t *testing.T) []string {
	t.Helper()
	world, err := diagtest.New(diagtest.Config{Zone: published, Time: time.Now(), Running: true})
	require.NoError(t, err)
	t.Cleanup(world.Close)
	for _, zone := range []string{"com", "net", "org"} { // the domains are proven to be unsigned
		world.Sign(zone, diagtest.Signing{})
	}
	require.NoError(t, world.Err())
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m, err := world.Exchange(context.Background(), q)
		if err != nil {
			m = new(dns.Msg).SetRcode(q, dns.RcodeServerFailure)
		}
		_ = w.WriteMsg(m) // a client that has gone away does not wait
	})}
	go server.ActivateAndServe()
	t.Cleanup(func() { server.Shutdown() })
	folder := t.TempDir()
	var anchors strings.Builder
	for _, rr := range world.NewEnv().TrustAnchors {
		anchors.WriteString(rr.String() + "\n")
	}
	const hints = ". NS a.root.\na.root. A 127.0.0.1\n"
	for name, text := range map[string]string{"anchors": anchors.String(), "hints": hints} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return []string{"--resolver", "udp://" + conn.LocalAddr().String(), "--trust-anchor", filepath.Join(folder, "anchors"),
		"--root-hints", filepath.Join(folder, "hints"), "--timeout", "2m",
		"--allow-networks", "192.0.2.0/24,198.51.100.0/24"}
}

func build(t *testing.T) string {
	t.Helper()
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("needs time to build a program; runs without -short, as in .ci/run")
	}
	program := filepath.Join(t.TempDir(), "diag")
	out, err := exec.Command("go", "build", "-o", program, "github.com/diagkit/diagkit/cmd/diag").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// The files for GitHub and GitLab can be read, and name what is there.
func TestFiles(t *testing.T) {
	for file, names := range map[string]string{
		"action/action.yml": "../check-zones", "github.yml": "diagkit/examples/ci/action@",
		"gitlab.yml": "sh check-zones gitlab",
	} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		r, err := textutil.YAMLToJSON(textutil.YAMLToJSONRequest{Text: string(text)})
		require.NoError(t, err)
		require.NotNil(t, r.Result, file)
		assert.Contains(t, string(text), names)
	}
}

// recordID is the id of a suggested MTA-STS record, which is the time.
var recordID = regexp.MustCompile(`\bid=\d{8}T\d{6}\b`)

// The annotations of a repository are those in testdata, but for the time.
func TestCheckZones(t *testing.T) {
	program, world := build(t), flags(t)
	for _, tt := range []struct {
		name, format, only string
		files              []string
		code               int
	}{
		{"good", "github", "mail,dns", []string{"zones/db.example.com"}, 0},
		{"github", "github", "mail", []string{"zones/db.example.com", "zones/example.net.zone", "zones/example.org.zone"}, 2},
		{"gitlab", "gitlab", "mail", []string{"zones/example.net.zone", "zones/example.org.zone"}, 2},
		{"faulty", "github", "mail", []string{"zones/example.net.zone"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"../check-zones", tt.format, "--only", tt.only, "--no-smtp"}, world...)
			cmd := exec.Command("sh", append(append(args, "--"), tt.files...)...)
			cmd.Dir, cmd.Env = "repository", append(os.Environ(), "DIAG="+program)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, _ := cmd.Output()
			assert.Equal(t, tt.code, cmd.ProcessState.ExitCode(), "%s%s", out, &stderr)
			diagtest.Golden(t, "testdata/"+tt.name+".golden", recordID.ReplaceAll(out, []byte("id=20261128T120000")))
		})
	}
}
