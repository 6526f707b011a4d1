//go:build !race

package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// ourAddress is the address of the broken resolver of the drill: no text may contain it.
const ourAddress = "10.66.66.66"

func socketError(err error) error {
	local := net.UDPAddrFromAddrPort(netip.MustParseAddrPort("10.0.0.2:41234"))
	return fmt.Errorf("asking udp://%s:53: %w", ourAddress, &net.OpError{
		Op: "read", Net: "udp", Source: local, Addr: net.UDPAddrFromAddrPort(netip.MustParseAddrPort(ourAddress + ":53")), Err: err,
	})
}

// resolverOutages are the ways in which our own resolver fails. The reply is an error of ours, and free.
var resolverOutages = map[string]brokenResolver{
	"refused": func(context.Context, *dns.Msg) (*dns.Msg, error) {
		return nil, socketError(os.NewSyscallError("read", syscall.ECONNREFUSED))
	},
	"silent": func(ctx context.Context, _ *dns.Msg) (*dns.Msg, error) {
		return nil, socketError(wait(ctx))
	},
	"empty": func(context.Context, *dns.Msg) (*dns.Msg, error) { return nil, nil },
	"garbage": func(context.Context, *dns.Msg) (*dns.Msg, error) {
		return nil, socketError(errors.New("dns: bad rdata"))
	},
}

// TestDrillOutage breaks what the operations depend on: the resolver, and all servers that are contacted over TCP. If
// nothing was learned the reply is 502 or 504, and free; no text contains an address, a socket or a Go error of ours
// (CONTRACT 1.5).
func TestDrillOutage(t *testing.T) {
	own, others := drillCases(t)
	asked, times := 0, map[string]int{}
	cases := slices.DeleteFunc(append(own, others...), func(c drillCase) bool {
		times[c.ep.Name()]++ // some of each operation, and some of all
		return times[c.ep.Name()] > 3 && !diagtest.Sampled(c.name, drillShare(48, 400))
	})
	forEach(t, cases, func(t *testing.T, c drillCase, found *sync.Mutex) {
		c.play(t, func(r *drillRun) {
			n := r.outages()
			found.Lock()
			asked += n
			found.Unlock()
		})
	})
	require.NotZero(t, asked)
	t.Logf("outages: %d", asked)
}

// outages plays all of them, and counts.
func (r *drillRun) outages() (asked int) {
	r.world.Forget()
	full := r.ask()
	for _, leak := range leaks(full.body) {
		r.t.Errorf("the reply holds %s", leak)
	}
	if full.status != 200 || len(r.world.Queries()) == 0 {
		return 0 // bad input, or no query is sent
	}
	for _, way := range sortedKeys(resolverOutages) {
		env := r.world.NewEnv()
		env.Resolver, env.Dial = resolverOutages[way], brokenDial(way)
		r.world.SetTime(r.start)
		reply := r.askIn(env)
		asked++
		if reply.status != 502 && reply.status != 504 && !mayAnswerAlone[r.c.ep.Name()] &&
			!strings.Contains(string(reply.body), `"dnsbl.address.special"`) { // which needs no list
			r.t.Errorf("resolver and network %s: status %d, state %s, %s", way, reply.status, reply.State, reply.Headline)
		}
		for _, fault := range append(leaks(reply.body), r.hosts.lost(reply)...) {
			r.t.Errorf("resolver and network %s: the reply holds %s", way, fault)
		}
	}
	asked += r.panics()
	time.Sleep(2 * time.Minute) // of the bubble: until background connection attempts have failed
	for _, b := range []diagtest.Behaviour{diagtest.Refuses, diagtest.Hangs, diagtest.Closes, diagtest.Resets} {
		for _, q := range r.questions() {
			if q.server.IsValid() {
				r.world.Behave(q.server.String(), b)
			}
		}
		reply := r.ask()
		asked++
		for _, leak := range leaks(reply.body) {
			r.t.Errorf("servers: %s: the reply holds %s", b, leak)
		}
	}
	return asked
}

// panics uses resolvers that panic. The panic reaches the caller, in whichever goroutine it happened, or leaves a
// part unknown; the process continues.
func (r *drillRun) panics() int {
	for _, every := range []int64{1, 3} { // one question of so many
		var questions atomic.Int64
		env := r.world.NewEnv()
		world := env.Resolver
		env.Resolver = brokenResolver(func(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
			if questions.Add(1)%every == 0 {
				panic("a fault of the resolver")
			}
			return world.Exchange(ctx, q)
		})
		r.world.SetTime(r.start)
		diag.Catch(func() { r.askIn(env) })
	}
	return 2
}

// mayAnswerAlone are operations that can assess the request itself while no server is reachable.
var mayAnswerAlone = map[string]bool{
	"mail/header-audit": true, "mail/header-analyze": true, "dmarc/report/analyze": true, "phishing/check": true,
	"spf/hosted/{id}/resolve": true, // by CONTRACT 3.3.3 a failed resolution is a result
	"spf/hosted/{id}":         true, // whose profile is in the store
}

// brokenDial is a network on which nothing can be reached.
func brokenDial(way string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		switch way {
		case "refused":
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}
		case "garbage":
			return nil, io.ErrUnexpectedEOF
		}
		return nil, wait(ctx)
	}
}

// wait takes as long as a system that gives up by itself.
func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Minute):
		return os.ErrDeadlineExceeded
	}
}

// ourAddresses are those of our resolver and of this host.
var ourAddresses = regexp.MustCompile(regexp.QuoteMeta(ourAddress) + `|10\.0\.0\.2`)

// leaks lists what of the inside of the program a reply shows.
func leaks(body []byte) []string {
	found := diagtest.Leaks(string(body))
	if own := ourAddresses.Find(body); own != nil {
		found = append(found, string(own))
	}
	return found
}
