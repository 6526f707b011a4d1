package resolver_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A panic of an upstream is raised in the goroutine of each caller, and no caller waits forever.
func TestPanicOfAnUpstream(t *testing.T) {
	enter := make(chan struct{})
	cache := &resolver.Cache{Upstream: exchangerFunc(func(context.Context, *dns.Msg) (*dns.Msg, error) {
		<-enter
		panic("a bug in one decoder")
	})}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			defer func() {
				v := recover()
				if err, ok := v.(error); !ok || !strings.HasPrefix(err.Error(), "a bug in one decoder") {
					t.Errorf("recovered %v", v)
				}
			}()
			_, _ = cache.Exchange(t.Context(), question())
		})
	}
	close(enter)
	wg.Wait()
}

// An invalid record in a reply of a caller's upstream panics in the goroutine of the caller, not in the cache's.
func TestBrokenMessageOfAnUpstream(t *testing.T) {
	cache := &resolver.Cache{Upstream: exchangerFunc(func(_ context.Context, q *dns.Msg) (*dns.Msg, error) {
		m := new(dns.Msg).SetReply(q)
		m.Answer = []dns.RR{nil}
		return m, nil
	})}
	for range 2 {
		require.Panics(t, func() { _, _ = cache.Exchange(t.Context(), question()) })
	}
}

// No message and no error is an error, whether the reply would be kept or not.
func TestNoMessageOfAnUpstream(t *testing.T) {
	cache := &resolver.Cache{Upstream: exchangerFunc(func(context.Context, *dns.Msg) (*dns.Msg, error) { return nil, nil })}
	notKept := question()
	notKept.Opcode = dns.OpcodeNotify
	for _, q := range []*dns.Msg{question(), question(), notKept} {
		m, err := cache.Exchange(t.Context(), q)
		require.Nil(t, m)
		require.ErrorIs(t, err, resolver.ErrNoMessage)
	}
}

// A panic of the caller's network reaches the caller: over a stream, and over HTTPS, where a transport dials in a
// goroutine of its own and the panic is an error.
func TestPanicOfTheNetwork(t *testing.T) {
	for _, server := range []string{
		"tcp://192.0.2.53", "tls://dns.example#192.0.2.53,2001:db8::53", "https://dns.example/dns-query#192.0.2.53",
	} {
		t.Run(server, func(t *testing.T) {
			parsed, err := resolver.ParseServer(server)
			require.NoError(t, err)
			c := newClient(t, parsed)
			c.Dial = func(context.Context, string, string) (net.Conn, error) { panic("a bug in one network") }
			var recovered any
			func() {
				defer func() { recovered = recover() }()
				_, err = c.Exchange(t.Context(), question())
			}()
			require.True(t, err != nil || recovered != nil)
		})
	}
}
