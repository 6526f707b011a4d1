package diagtest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/resolver"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRoundTrips(t *testing.T) {
	site := func(w *diagtest.World) {
		w.HTTPS("www.example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "ok")
		}))
	}
	fetch := func(ctx context.Context, env *diag.Env) {
		_, _, err := get(ctx, t, env, "https://www.example.com/")
		require.NoError(t, err)
	}
	tests := []struct {
		name string
		run  func(context.Context, *diag.Env)
		all  int // trips with connections
		dns  int // trips of the DNS alone
	}{
		{"nothing", func(context.Context, *diag.Env) {}, 0, 0},
		{"one after the other", func(ctx context.Context, env *diag.Env) {
			diag.Lookup[*dns.MX](ctx, env, "example.com")
			diag.Lookup[*dns.MX](ctx, env, "example.net")
		}, 2, 2},
		{"at the same time", func(ctx context.Context, env *diag.Env) {
			var wg sync.WaitGroup
			for _, name := range []string{"a.example", "b.example", "c.example"} {
				wg.Go(func() { diag.Lookup[*dns.A](ctx, env, name) })
			}
			wg.Wait()
		}, 1, 1},
		{"name and connection", fetch, 2, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.all, diagtest.RoundTrips(t, site, tt.run))
			assert.Equal(t, tt.dns, diagtest.DNSRoundTrips(t, site, tt.run))
		})
	}
}

func TestLatencyAndDelayAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Latency(20 * time.Millisecond)
		world.Delay("example.com", time.Second)
		begin := world.Now()
		diag.Lookup[*dns.A](t.Context(), world.Env(), "example.com")
		assert.Equal(t, 1020*time.Millisecond, world.Now().Sub(begin))
	})
}

func TestClock(t *testing.T) {
	world := diagtest.NewWorld(t)
	begin := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	assert.Equal(t, begin, world.Env().Now())
	world.Advance(36 * time.Hour)
	assert.Equal(t, begin.Add(36*time.Hour), world.Env().Now())
	world.SetTime(begin.AddDate(1, 0, 0))
	assert.Equal(t, 2027, world.Env().Now().Year())

	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.SetTime(begin)
		time.Sleep(time.Minute) // of the bubble
		assert.Equal(t, begin.Add(time.Minute), world.Now())
	})
}

func TestRoundTripsOverTheWire(t *testing.T) {
	address := netip.MustParseAddr("192.0.2.53")
	tests := []struct {
		server resolver.Server
		all    int // trips with connections
		dns    int // trips of the DNS alone
	}{
		{resolver.Server{Transport: resolver.UDP, Addrs: []netip.Addr{address}}, 1, 1},
		{resolver.Server{Transport: resolver.TCP, Addrs: []netip.Addr{address}}, 2, 1},
		{resolver.Public()[0].Servers(resolver.DoT)[0], 2, 1},
		{resolver.Public()[0].Servers(resolver.DoH)[0], 2, 1},
	}
	for _, tt := range tests {
		t.Run(tt.server.String(), func(t *testing.T) {
			setup := func(w *diagtest.World) { w.Server("ns.example.com", "192.0.2.53", "example.com. A 192.0.2.1") }
			run := func(ctx context.Context, env *diag.Env) {
				m, err := env.Upstream("this", tt.server).Exchange(ctx, dnsmsg.Question("example.com", dns.TypeA, false))
				require.NoError(t, err)
				require.True(t, m.Response)
			}
			assert.Equal(t, tt.all, diagtest.RoundTrips(t, setup, run))
			assert.Equal(t, tt.dns, diagtest.DNSRoundTrips(t, setup, run))
		})
	}
}

func TestWorldIsSharedByGoroutines(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Sign("example.com", diagtest.Signing{})
	env := world.Env()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			host := fmt.Sprintf("www%d.example.com", i)
			world.HTTPS(host, http.NotFoundHandler())
			world.Fault("broken."+host, 0, diagtest.Fault{Rcode: dns.RcodeRefused})
			world.Server("ns."+host, "", "zone"+host+". SOA a b 1 1 1 1 1")
			code, _, err := get(t.Context(), t, env, "https://"+host+"/")
			assert.NoError(t, err)
			assert.Equal(t, 404, code)
			assert.True(t, diag.Lookup[*dns.A](t.Context(), env, host).Authentic)
			assert.Error(t, diag.Lookup[*dns.A](t.Context(), env, "broken."+host).Err())
		})
	}
	wg.Wait()
	assert.Equal(t, 24, world.Asked("", dns.TypeA))
}
