package diagtest_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
