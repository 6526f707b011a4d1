//go:build bulk

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// domains is how many domains the run of TestBulk has.
const domains = 10_000

// TestBulk examines ten thousand domains of a name server on this machine, is killed several times on the way, and
// resumes: each domain has one line, and memory and time are printed. It needs port 53 of 127.0.0.1:
//
//	go test -tags bulk -run TestBulk -v -timeout 30m ./cmd/diag
func TestBulk(t *testing.T) {
	serveBulk(t)
	folder := t.TempDir()
	binary, list, out, hints := folder+"/diag", folder+"/domains.txt", folder+"/out.jsonl", folder+"/root.hints"
	build, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", build)
	var names strings.Builder
	for i := range domains {
		fmt.Fprintf(&names, "d%d.bulk.example\n", i)
	}
	require.NoError(t, os.WriteFile(list, []byte(names.String()), 0o600))
	require.NoError(t, os.WriteFile(hints, []byte(". 3600 NS ns.bulk.\nns.bulk. 3600 A 127.0.0.1\n"), 0o600))
	args := strings.Fields("-f " + list + " --jsonl --resume --output " + out + " --parallel 32 --resolver udp://127.0.0.1" +
		" --root-hints " + hints + " --allow-networks 127.0.0.0/8")
	began, kills, memory := time.Now(), 0, int64(0)
	for done := false; !done; {
		cmd := exec.Command(binary, args...)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		var kill *time.Timer
		if kills < 5 {
			kill = time.AfterFunc(time.Duration(5+rand.IntN(20))*time.Second, func() { cmd.Process.Kill() })
			kills++
		}
		cmd.Wait() // its exit code is the result
		done = cmd.ProcessState.Exited()
		if kill != nil {
			kill.Stop()
		}
		memory = max(memory, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss*1024)
	}
	text, err := os.ReadFile(filepath.Clean(out))
	require.NoError(t, err)
	require.Equal(t, domains, bytes.Count(text, []byte("\n")))
	seen := map[string]bool{}
	for _, name := range readTargets(t, text) {
		require.False(t, seen[name], name)
		seen[name] = true
	}
	require.Len(t, seen, domains)
	took := time.Since(began)
	t.Logf("%d domains in %v: %.0f a minute; %d MiB; killed up to %d times", domains, took.Round(time.Second),
		domains/took.Minutes(), memory>>20, kills)
	require.Less(t, memory, int64(512<<20))
}

// serveBulk answers for the root, for bulk.example and for each domain below it.
func serveBulk(t *testing.T) {
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		m.Authoritative, m.RecursionAvailable = true, true
		name, kind := strings.ToLower(q.Question[0].Name), q.Question[0].Qtype
		apex := apexOf(name)
		add := func(text string) {
			rr, err := dns.NewRR(name + " 300 " + text)
			if err == nil && rr.Header().Rrtype == kind {
				m.Answer = append(m.Answer, rr)
			}
		}
		switch {
		case name == apex:
			add("SOA ns.bulk. host.bulk. 1 3600 900 1209600 300")
			add("NS ns.bulk.")
			if strings.HasSuffix(name, ".bulk.example.") {
				add("A 127.0.0.1")
				add("MX 10 mx." + name)
				add(`TXT "v=spf1 mx -all"`)
			}
		case strings.HasPrefix(name, "_dmarc."):
			add(`TXT "v=DMARC1; p=reject; rua=mailto:d@bulk.example"`)
		case strings.HasPrefix(name, "mx."), name == "ns.bulk.":
			add("A 127.0.0.1")
		default:
			m.Rcode = dns.RcodeNameError
		}
		if len(m.Answer) == 0 {
			rr, _ := dns.NewRR(apex + " 300 SOA ns.bulk. host.bulk. 1 3600 900 1209600 300")
			m.Ns = append(m.Ns, rr)
		}
		w.WriteMsg(m)
	})
	for _, network := range []string{"udp", "tcp"} {
		started := make(chan struct{})
		server := &dns.Server{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 53).String(), Net: network,
			Handler: handler, NotifyStartedFunc: func() { close(started) }}
		go func() { require.NoError(t, server.ListenAndServe()) }()
		<-started
		t.Cleanup(func() { server.Shutdown() })
	}
}

// apexOf is the zone that a name is in.
func apexOf(name string) string {
	labels := dns.SplitDomainName(name)
	switch n := len(labels); {
	case n >= 3 && labels[n-1] == "example" && labels[n-2] == "bulk":
		return strings.Join(labels[n-3:], ".") + "."
	case n == 0:
		return "."
	}
	return name
}
