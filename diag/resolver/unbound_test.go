//go:build dnstools

package resolver

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startUnbound starts a resolver that has an answer for every name below example, with its default buffers.
func startUnbound(t *testing.T) Server {
	free, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	at := free.LocalAddr().(*net.UDPAddr).AddrPort()
	free.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "unbound.conf")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `server:
  interface: 127.0.0.1@%d
  directory: %q
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  do-daemonize: no
  local-zone: "example." redirect
  local-data: "example. A 192.0.2.1"
remote-control:
  control-enable: no
`, at.Port(), dir), 0o600))
	unbound := exec.CommandContext(t.Context(), "unbound", "-d", "-c", config)
	require.NoError(t, unbound.Start())
	t.Cleanup(func() { unbound.Process.Kill(); unbound.Wait() })
	s := Server{Addrs: []netip.Addr{at.Addr()}, Port: at.Port()}
	c := &Client{Servers: []Server{s}}
	defer c.Close()
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if m, err := c.Exchange(t.Context(), new(dns.Msg).SetQuestion("h1.example.", dns.TypeA)); err == nil && len(m.Answer) == 1 {
			return s
		}
	}
	t.Fatal("unbound does not answer")
	return s
}

// TestBesideUnbound tests a resolver with default buffers with 4, 16 and 64 concurrent domains: 64 are not slower
// than 4, and nothing remains unanswered. The best of three rounds counts, because other programs use the processor
// too.
func TestBesideUnbound(t *testing.T) {
	s := startUnbound(t)
	best := map[int]time.Duration{}
	for range 3 {
		for _, parallel := range []int{4, 16, 64} {
			c := &Client{Servers: []Server{s}}
			took, failed := examine(t, c, parallel, 200, always)
			c.Close()
			assert.Zero(t, failed, "%d at once", parallel)
			if was, ok := best[parallel]; !ok || took < was {
				best[parallel] = took
			}
		}
	}
	for _, parallel := range slices.Sorted(maps.Keys(best)) {
		t.Logf("%2d at once: %v for 24,000 questions", parallel, best[parallel])
	}
	// Without a window for each server it took many times as long; a busy machine takes up to half as long again.
	assert.LessOrEqual(t, best[64], 2*best[4])
}
