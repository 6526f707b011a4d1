package propagation

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The way to the authoritative servers is the longest: root, com, example.com, its NS records, and the
// question itself. The resolvers take one round trip beside.
func TestRoundTrips(t *testing.T) {
	l := &lab{}
	trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
		w.Zone(zone)
		w.ServeZones()
	}, func(ctx context.Context, env *diag.Env) {
		r, err := l.Check(ctx, env, Request{Name: diag.MustName("www.example.com"), Resolvers: []string{"google", "quad9"}})
		require.NoError(t, err)
		assert.Equal(t, "match match", statuses(r))
		assert.Equal(t, int64(100), r.Resolvers[0].LatencyMS)
		assert.Len(t, r.Authoritative.Servers, 2)
		assert.Equal(t, uint32(7), *r.Authoritative.Servers[0].Serial)
	})
	assert.Equal(t, 5, trips)
}

func TestTransports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(zone)
		world.ServeZones()
		c := Checker{Vantages: []Vantage{
			{ID: "udp", Name: "udp", Transport: resolver.UDP, Addresses: []string{"8.8.8.8:53"}},
			{ID: "tcp", Name: "tcp", Transport: resolver.TCP, Addresses: []string{"1.1.1.1"}},
			{ID: "dot", Name: "dot", Transport: resolver.DoT, Addresses: []string{"9.9.9.9"}, TLSName: "dns.quad9.net"},
			{ID: "doh", Name: "doh", Transport: resolver.DoH, Addresses: []string{"8.8.4.4"}, TLSName: "dns.google"},
			{ID: "bad", Name: "bad", Transport: resolver.DoT, Addresses: []string{"9.9.9.9"}, TLSName: "dns.example"},
			{ID: "nobody", Name: "nobody", Transport: resolver.TCP, Addresses: []string{"192.0.2.200"}},
			{ID: "none", Name: "none", Transport: "carrier pigeon"},
		}}
		env := world.NewEnv()
		r, err := c.Check(t.Context(), env, request("www.example.com"))
		require.NoError(t, err)
		assert.Equal(t, "match match match match error error error", statuses(r))
		for _, s := range r.Resolvers[:4] {
			assert.Equal(t, s.ID, string(s.Transport))
		}
		connections := len(world.Connections())
		_, err = c.Check(t.Context(), env,
			Request{Name: diag.MustName("www.example.com"), Resolvers: []string{"tcp", "dot", "doh"}})
		require.NoError(t, err)
		for _, c := range world.Connections()[connections:] {
			assert.Equal(t, "udp", c.Network, "connections over TCP and TLS are used again: %s", c.Addr)
		}
	})
}

func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 3)
		for n := range 3 {
			l.at(n + 1).Configure(diagtest.ServerConfig{Silent: true})
		}
		l.ServeZones()
		for _, name := range []string{"ns1.example.com", "ns2.example.com"} {
			l.Server(name, "").Configure(diagtest.ServerConfig{Silent: true})
		}
		began := time.Now()
		_, err := l.Check(t.Context(), l.Env(), request("www.example.com"))
		assert.ErrorIs(t, err, diag.ErrUnavailable)
		assert.LessOrEqual(t, time.Since(began), timeout)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = l.Check(ctx, l.Env(), request("www.example.com"))
		assert.ErrorIs(t, err, diag.ErrUnavailable, "a report is due before the caller's time is up")
		cancel()
		_, err = l.Check(ctx, l.Env(), request("www.example.com"))
		assert.ErrorIs(t, err, context.Canceled)
	})
}

func TestInput(t *testing.T) {
	name := diag.MustName("www.example.com")
	many := make([]string, 51)
	tests := []struct {
		name  string
		req   Request
		field string
	}{
		{"no name", Request{}, "qname"},
		{"ANY", Request{Name: name, Type: 255}, "qtype"},
		{"unknown resolver", Request{Name: name, Resolvers: []string{"google", "isp"}}, "resolvers[1]"},
		{"the same resolver twice", Request{Name: name, Resolvers: []string{"google", "google"}}, "resolvers[1]"},
		{"too many resolvers", Request{Name: name, Resolvers: many}, "resolvers"},
		{"too much expected", Request{Name: name, Expected: many}, "expected"},
		{"no address", Request{Name: name, Expected: []string{"192.0.2.1", "x"}}, "expected[1]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Check(t.Context(), nil, tt.req)
			input, ok := errors.AsType[*diag.InputError](err)
			require.True(t, ok, "%v", err)
			assert.Equal(t, tt.field, input.Field)
		})
	}
}
