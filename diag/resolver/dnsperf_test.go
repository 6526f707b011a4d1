//go:build dnstools

package resolver_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// startKnot serves the zone in a folder, on the first port that is still free.
func startKnot(t *testing.T, dir string, file func(name, text string) string) (at netip.AddrPort, client *resolver.Client) {
	for range 5 {
		free, err := net.ListenPacket("udp", "127.0.0.1:0")
		require.NoError(t, err)
		at = free.LocalAddr().(*net.UDPAddr).AddrPort()
		free.Close()
		knot := exec.CommandContext(t.Context(), "knotd", "-c", file("knot.conf", fmt.Sprintf(
			"server:\n  listen: 127.0.0.1@%d\n  rundir: %s\ndatabase:\n  storage: %s\nzone:\n  - domain: example.com\n    storage: %s\n",
			at.Port(), dir, dir, dir)))
		require.NoError(t, knot.Start())
		t.Cleanup(func() { knot.Process.Kill(); knot.Wait() })
		client = &resolver.Client{Servers: []resolver.Server{{Addrs: []netip.Addr{at.Addr()}, Port: at.Port()}}}
		for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
			m, err := client.Exchange(t.Context(), new(dns.Msg).SetQuestion("h1.example.com.", dns.TypeA))
			if err == nil && len(m.Answer) == 1 {
				return at, client
			}
		}
		client.Close()
		knot.Process.Kill()
		knot.Wait()
	}
	t.Fatal("Knot does not serve")
	return at, nil
}

// TestBesideDnsperf reports how many queries a second the client sends to Knot DNS compared with dnsperf, in three
// rounds with 100 queries in flight, by day in one. Dnsperf uses one port by default, and reads only the header of a
// reply; the client uses 64 ports, and checks and decodes replies. So both are measured the other's way too: the
// client without decoding, and dnsperf with 64 ports. Knot loses queries while it starts; they are counted, as in
// dnsperf. The speed depends on the machine, so the test has no thresholds.
func TestBesideDnsperf(t *testing.T) {
	rounds := diagtest.Share(3, 3)
	const names, inFlight, span = 1000, 100, 2 * time.Second
	dir := t.TempDir()
	var zone, questions strings.Builder
	var messages []*dns.Msg
	fmt.Fprintln(&zone, "example.com. 300 SOA ns.example.com. hostmaster.example.com. 1 14400 3600 1209600 300\nexample.com. 300 NS ns.example.com.\nns.example.com. 300 A 192.0.2.53")
	for n := range names {
		fmt.Fprintf(&zone, "h%d.example.com. 300 A 192.0.2.1\n", n)
		fmt.Fprintf(&questions, "h%d.example.com A\n", n)
		messages = append(messages, new(dns.Msg).SetQuestion(fmt.Sprintf("h%d.example.com.", n), dns.TypeA))
	}
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	file("example.com.zone", zone.String())
	asked := file("questions", questions.String())
	at, client := startKnot(t, dir, file)
	defer client.Close()

	dnsperf := func(ports int) float64 {
		out, err := exec.CommandContext(t.Context(), "dnsperf", "-s", "127.0.0.1", "-p", strconv.Itoa(int(at.Port())), "-d", asked, "-e",
			"-q", strconv.Itoa(inFlight), "-c", strconv.Itoa(ports), "-l", strconv.Itoa(int(span/time.Second))).CombinedOutput()
		require.NoError(t, err, "%s", out)
		found := regexp.MustCompile(`Queries per second:\s+([0-9.]+)`).FindSubmatch(out)
		require.NotNil(t, found, "%s", out)
		n, err := strconv.ParseFloat(string(found[1]), 64)
		require.NoError(t, err)
		return n
	}
	ours := func(ask func(context.Context, *dns.Msg) error) float64 {
		ctx, cancel := context.WithTimeout(t.Context(), span)
		defer cancel()
		var answered, lost atomic.Int64
		var group sync.WaitGroup
		began := time.Now()
		for worker := range inFlight {
			group.Go(func() {
				for n := worker; ; n++ {
					err := ask(ctx, messages[n%names])
					if ctx.Err() != nil {
						return
					}
					switch {
					case errors.Is(err, resolver.ErrTimeout):
						lost.Add(1)
					case err != nil:
						t.Error(err)
						return
					default:
						answered.Add(1)
					}
				}
			})
		}
		group.Wait()
		if n := lost.Load(); n > 0 {
			t.Logf("%d questions lost, of %d answered", n, answered.Load())
		}
		return float64(answered.Load()) / time.Since(began).Seconds()
	}
	decoded := func(ctx context.Context, q *dns.Msg) error {
		m, err := client.Exchange(ctx, q)
		if err == nil && len(m.Answer) != 1 {
			err = fmt.Errorf("not one answer: %v", m)
		}
		return err
	}
	var whole, checked, likewise []float64
	for range rounds {
		ours, raw, theirs, ports := ours(decoded), ours(client.Check), dnsperf(1), dnsperf(64)
		whole, checked, likewise = append(whole, ours/theirs), append(checked, raw/theirs), append(likewise, ours/ports)
		t.Logf("diagkit %.0f answers/s, not decoded %.0f answers/s\ndnsperf, one port %.0f answers/s\ndnsperf, 64 ports %.0f answers/s",
			ours, raw, theirs, ports)
	}
	for _, shares := range [][]float64{whole, checked, likewise} {
		slices.Sort(shares)
	}
	t.Logf("medians of %d rounds: %.2f of dnsperf, %.2f of it without decoding, %.2f of it with 64 ports", len(whole),
		whole[rounds/2], checked[rounds/2], likewise[rounds/2])
}
