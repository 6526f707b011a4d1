package fetch_test

import (
	"context"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

type resolverFunc func(*dns.Msg) (*dns.Msg, error)

func (f resolverFunc) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) { return f(q) }

// A failure of this machine is not a fact about a site, and its addresses are private (CONTRACT 1.5).
func TestOwnFailures(t *testing.T) {
	socket := &net.UDPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 40000}
	op := func(call string, n syscall.Errno) error {
		return &net.OpError{Op: call, Net: "udp", Source: socket, Addr: socket, Err: os.NewSyscallError(call, n)}
	}
	fails := func(n syscall.Errno) resolverFunc {
		return func(*dns.Msg) (*dns.Msg, error) { return nil, op("read", n) }
	}
	answers := func(rcode int, of ...uint16) resolverFunc {
		return func(q *dns.Msg) (*dns.Msg, error) {
			if len(of) > 0 && q.Question[0].Qtype != of[0] {
				return nil, op("read", syscall.EINVAL)
			}
			return new(dns.Msg).SetRcode(q, rcode), nil
		}
	}
	tests := []struct {
		name    string
		dns     resolverFunc
		dial    syscall.Errno
		ours    bool
		message string
	}{
		{"resolver closed", fails(syscall.ECONNREFUSED), 0, true,
			"the address of example.com could not be looked up: connection refused"},
		{"resolver talks rubbish", fails(syscall.EINVAL), 0, true,
			"the address of example.com could not be looked up: the connection failed"},
		{"resolver refuses", answers(dns.RcodeRefused), 0, true,
			"the address of example.com could not be looked up: the resolver answered REFUSED"},
		{"name servers fail", answers(dns.RcodeServerFailure), 0, false,
			"the address of example.com could not be looked up: the resolver answered SERVFAIL"},
		{"one question unanswered", answers(dns.RcodeSuccess, dns.TypeA), 0, false,
			"the address of example.com could not be looked up: the connection failed"},
		{"one question unanswered, no such name", answers(dns.RcodeNameError, dns.TypeA), 0, false, "example.com does not exist"},
		{"no network", nil, syscall.ENETUNREACH, true, "no connection to port 443 of example.com was made"},
		{"no descriptors", nil, syscall.EMFILE, true, "no connection to port 443 of example.com was made"},
		{"host unreachable", nil, syscall.EHOSTUNREACH, false, "no connection to port 443 of example.com was made"},
		{"host refuses", nil, syscall.ECONNREFUSED, false, "port 443 of example.com refuses connections"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.HTTPS("example.com", text("hello"))
			env := &diag.Env{Resolver: w.Env().Resolver, Guard: w.Env().Guard}
			if tt.dns != nil {
				env.Resolver = tt.dns
			}
			env.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, op("dial", tt.dial) }
			r, err := fetch.Do(t.Context(), env, get("https://example.com/"))
			require.NoError(t, err)
			require.Equal(t, tt.message, r.Err.Message)
			err = fetch.Unavailable(r, nil)
			if !tt.ours {
				require.NoError(t, err)
				return
			}
			require.True(t, r.Err.Unanswered)
			require.ErrorIs(t, err, diag.ErrUnavailable)
			learned, err := fetch.Do(t.Context(), w.Env(), get("https://example.com/"))
			require.NoError(t, err)
			require.NoError(t, fetch.Unavailable(r, learned), "something was learned")
		})
	}
}
