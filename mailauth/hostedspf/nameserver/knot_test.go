//go:build dnstools

package nameserver

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

var perSecond = regexp.MustCompile(`Queries per second:\s+([0-9.]+)`)

// TestBesideKnot reports how many questions a second the server answers beside Knot DNS, which serves the same zone on
// the same machine, in three rounds by dnsperf, by day in one. How fast that is depends on the machine, so nothing is
// required of it.
func TestBesideKnot(t *testing.T) {
	const profiles = 1000
	dir := t.TempDir()
	key, err := NewSigningKey(testZone().Name)
	require.NoError(t, err)
	var list []hostedspf.Profile
	var questions strings.Builder
	for n := range profiles {
		list = append(list, newProfile(n, "v=spf1 include:_1.h1.spf.example.net ip4:192.0.2.0/24 ip4:198.51.100.0/25 -all"))
		fmt.Fprintf(&questions, "h%d.spf.example.net TXT\n", n)
	}
	s := serve(t, newStore(t, list...), func(c *Config) { c.Signing, c.Key = []SigningKey{key}, testKey() })
	_, port, err := net.SplitHostPort(s.Addr())
	require.NoError(t, err)
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	file("spf.example.net.zone", zoneFile(t, s))
	asked := file("questions", questions.String())
	free, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	_, theirs, _ := net.SplitHostPort(free.LocalAddr().String())
	free.Close()
	knot := exec.CommandContext(t.Context(), "knotd", "-c", file("knot.conf", fmt.Sprintf(
		"server:\n  listen: 127.0.0.1@%s\n  rundir: %s\ndatabase:\n  storage: %s\nzone:\n  - domain: spf.example.net\n    storage: %s\n",
		theirs, dir, dir, dir)))
	require.NoError(t, knot.Start())
	defer func() { knot.Process.Kill(); knot.Wait() }()
	require.Eventually(t, func() bool {
		m, _, err := new(dns.Client).Exchange(new(dns.Msg).SetQuestion("h1.spf.example.net.", dns.TypeTXT), "127.0.0.1:"+theirs)
		return err == nil && len(m.Answer) == 1
	}, time.Minute, 50*time.Millisecond)

	rate := func(port string, args ...string) float64 {
		out, err := exec.CommandContext(t.Context(), "dnsperf", append(args, "-s", "127.0.0.1", "-p", port, "-d", asked, "-l", "1")...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		found := perSecond.FindSubmatch(out)
		require.NotNil(t, found, "%s", out)
		n, err := strconv.ParseFloat(string(found[1]), 64)
		require.NoError(t, err)
		return n
	}
	rounds := diagtest.Share(3, 3)
	for _, test := range []struct {
		name string
		args []string
	}{{"without EDNS", nil}, {"with signatures", []string{"-D"}}} {
		var shares []float64
		for range rounds {
			ours, knots := rate(port, test.args...), rate(theirs, test.args...)
			shares = append(shares, ours/knots)
			t.Logf("%s: diagkit %.0f answers/s\n%s: Knot %.0f answers/s", test.name, ours, test.name, knots)
		}
		slices.Sort(shares)
		t.Logf("%s: %.2f of Knot, the median of %d rounds", test.name, shares[rounds/2], rounds)
	}
}

// zoneFile is the signed zone as secondaries get it.
func zoneFile(t *testing.T, s *Server) string {
	q := new(dns.Msg).SetAxfr("spf.example.net.")
	s.config.Key.sign(q)
	answers, err := (&dns.Transfer{TsigSecret: s.config.Key.secrets()}).In(q, s.Addr())
	require.NoError(t, err)
	var zone strings.Builder
	for part := range answers {
		require.NoError(t, part.Error)
		for _, rr := range part.RR {
			if rr.Header().Rrtype != dns.TypeSOA || zone.Len() == 0 {
				fmt.Fprintln(&zone, rr)
			}
		}
	}
	return zone.String()
}
