package resolver_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Over TCP means over TCP: a server that would have answered over UDP is not asked there.
func TestOptionTCP(t *testing.T) {
	for name, tt := range map[string]struct {
		udp, tcp handler
		fails    bool
	}{
		"both":     {healthy, healthy, false},
		"TCP only": {nil, healthy, false},
		"UDP only": {healthy, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, tt.udp, tt.tcp)
			c := newClient(t, f.server(resolver.UDP))
			var trace resolver.Trace
			ctx := resolver.WithTrace(t.Context(), &trace)
			ctx = resolver.WithOptions(ctx, resolver.Options{TCP: true, Attempts: 1})
			if tt.fails {
				_, err := c.Exchange(ctx, question())
				require.Error(t, err)
			} else {
				requireAnswer(t, ctx, c)
				assert.Equal(t, 1, f.connections())
			}
			for _, step := range trace.Steps() {
				assert.Equal(t, resolver.TCP, step.Transport)
			}
		})
	}
}

// The number of tries and the wait for each are those of the options.
func TestOptionsOfTries(t *testing.T) {
	f := serve(t, silent, nil)
	c := newClient(t, f.server(resolver.UDP))
	began := time.Now()
	ctx := resolver.WithOptions(t.Context(), resolver.Options{Timeout: 20 * time.Millisecond, Attempts: 3})
	_, err := c.Exchange(ctx, question())
	assert.ErrorIs(t, err, resolver.ErrTimeout)
	assert.Less(t, time.Since(began), 2*time.Second)
	assert.Len(t, f.all(), 3)
}

// Servers of the other version of the Internet Protocol are left out.
func TestOptionIPVersion(t *testing.T) {
	f := serve(t, healthy, healthy)
	six := resolver.Server{Addrs: []netip.Addr{netip.MustParseAddr("2001:db8::53")}}
	c := newClient(t, six, f.server(resolver.UDP))
	requireAnswer(t, resolver.WithOptions(t.Context(), resolver.Options{IPVersion: 4}), c)
	c = newClient(t, f.server(resolver.UDP))
	_, err := c.Exchange(resolver.WithOptions(t.Context(), resolver.Options{IPVersion: 6}), question())
	assert.ErrorIs(t, err, resolver.ErrNoServer)
	assert.Len(t, f.all(), 1)
}

// A query with options is not cached.
func TestOptionsPassTheCache(t *testing.T) {
	f := serve(t, healthy, healthy)
	cache := &resolver.Cache{Upstream: newClient(t, f.server(resolver.UDP))}
	requireAnswer(t, t.Context(), cache)
	requireAnswer(t, t.Context(), cache)
	requireAnswer(t, resolver.WithOptions(t.Context(), resolver.Options{TCP: true}), cache)
	assert.Len(t, f.all(), 2)
	assert.Equal(t, 1, f.connections())
}
