package redis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
)

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// each runs a test on a real Redis where DIAG_TEST_REDIS names one, and elsewhere, by night too, on one in memory.
func each(t *testing.T, test func(t *testing.T, url string)) {
	url := os.Getenv("DIAG_TEST_REDIS")
	if url == "" || diagtest.Whole() {
		t.Run("in memory", func(t *testing.T) { test(t, "redis://"+miniredis.RunT(t).Addr()) })
	}
	t.Run("real", func(t *testing.T) {
		if url == "" {
			t.Skip("needs Redis; DIAG_TEST_REDIS names it, such as redis://127.0.0.1:6379")
		}
		test(t, url)
	})
}

// names keeps tests apart that use the same Redis.
var names atomic.Uint64

func uniquePrefix() string {
	return fmt.Sprintf("diag:test:%d:%d:%d:", os.Getpid(), rand.Uint64(), names.Add(1))
}

// patient is a time-out for tests that are not about it: the machine may be busy with others.
const patient = 10 * time.Second

func open(t testing.TB, url, prefix string) *Limiter {
	t.Helper()
	l, err := Open(context.Background(), url, Config{Prefix: prefix, Timeout: patient})
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, key := range l.client.Keys(context.Background(), l.prefix+"*").Val() { // some would stay for years
			l.client.Del(context.Background(), key)
		}
		require.NoError(t, l.Close())
	})
	require.NoError(t, l.Health())
	return l
}

func TestConformanceGCRA(t *testing.T) {
	type event struct {
		T         int64 `json:"t"`
		Cost      int   `json:"cost"`
		Allowed   bool  `json:"allowed"`
		Remaining int   `json:"remaining"`
		Retry     int64 `json:"retry_after_ns"`
	}
	type trace struct {
		Limit  int     `json:"limit"`
		Window int64   `json:"window_ns"`
		Burst  int     `json:"burst"`
		Events []event `json:"events"`
	}
	traces := diagtest.Cases[trace](t, diagtest.Vectors(t, "platform/gcra/traces.json"))
	each(t, func(t *testing.T, url string) {
		l, events := open(t, url, uniquePrefix()), 0
		for i, tr := range traces {
			p := metering.Policy{Limit: tr.Limit, Window: time.Duration(tr.Window), Burst: tr.Burst}
			for j, e := range tr.Events {
				d, err := l.take(t.Context(), fmt.Sprint("trace", i), p, e.Cost, time.Unix(0, e.T))
				require.NoError(t, err)
				require.Equal(t, e, event{e.T, e.Cost, d.Allowed, d.Remaining, int64(d.RetryAfter)}, "trace %d event %d", i, j)
				events++
			}
		}
		t.Logf("platform/gcra: %d traces, %d events", len(traces), events)
	})
}

// drawPolicy draws plans that are near to one another, and some that are as far off as can be.
func drawPolicy(t *rapid.T) metering.Policy {
	return metering.Policy{
		Limit:  rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(1, 1<<62)).Draw(t, "limit"),
		Window: time.Duration(rapid.OneOf(rapid.Int64Range(0, 1e9), rapid.Int64Range(1, 1<<62)).Draw(t, "window")),
		Burst:  rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(1, 1<<62)).Draw(t, "burst"),
	}
}

// Whatever is asked of it, in any plan and by clocks that go back and forth, the shared limiter decides as a
// local one does. Buckets are not forgotten meanwhile: the time of Redis passes more slowly than that drawn.
func TestEqualToTheLocalLimiter(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		l := open(t, url, uniquePrefix())
		rapid.Check(t, func(rt *rapid.T) {
			id := fmt.Sprint(names.Add(1))
			plans := []metering.Policy{drawPolicy(rt), drawPolicy(rt)}
			var local metering.Bucket
			now := noon
			for range rapid.IntRange(1, 30).Draw(rt, "requests") {
				p := rapid.SampledFrom(plans).Draw(rt, "plan")
				token, _, span := p.Cells(1)
				step := rapid.SampledFrom([]time.Duration{0, token, span, span + metering.MaxSkew, time.Second}).Draw(rt, "unit")
				step = min(step, 200*365*24*time.Hour/30)
				now = now.Add(time.Duration(rapid.Int64Range(-int64(step)/8, int64(step)).Draw(rt, "step")))
				cost := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 1<<62)).Draw(rt, "cost")
				got, err := l.take(t.Context(), id, p, cost, now)
				if err != nil {
					rt.Fatal(err)
				}
				if want := local.Take(p, cost, now); got != want {
					rt.Fatalf("at %v: shared %+v, local %+v", now.Sub(noon), got, want)
				}
			}
		})
	})
}

func TestServersShareABucket(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		prefix := uniquePrefix()
		servers := []*Limiter{open(t, url, prefix), open(t, url, prefix)}
		p := metering.Policy{Limit: 997}
		var allowed atomic.Int64
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				b := metering.Bucket{ID: "key_shared"}
				for range 25 {
					d, err := servers[i%2].take(context.Background(), b.ID, p, 1, noon)
					if err != nil {
						t.Error(err)
					}
					if d.Allowed {
						allowed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 997, allowed.Load(), "of 1600 requests")
	})
}

// A plan changes while two servers take tokens, one of them with the old plan: the debt is converted back and forth,
// none is lost, and no client gets more than the larger plan allows.
func TestPlanChangesUnderLoad(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		prefix := uniquePrefix()
		servers := []*Limiter{open(t, url, prefix), open(t, url, prefix)}
		plans := []metering.Policy{{Limit: 60}, {Limit: 600}}
		var allowed atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				b := metering.Bucket{ID: "key_changed"}
				for range 100 {
					d, err := servers[i%2].Take(context.Background(), &b, plans[i%2], noon)
					if err != nil {
						t.Error(err)
					}
					if d.Allowed {
						allowed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		require.Zero(t, servers[0].Away()+servers[1].Away())
		require.LessOrEqual(t, allowed.Load(), int64(600))
		require.GreaterOrEqual(t, allowed.Load(), int64(400), "the larger plan's requests, up to the capacity")
	})
}

func TestPlanChange(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		l := open(t, url, uniquePrefix())
		take := func(p metering.Policy, n int) (d metering.Decision) {
			for range n {
				var err error
				d, err = l.take(t.Context(), "key", p, 1, noon)
				require.NoError(t, err)
			}
			return d
		}
		free, agency := metering.Policy{Limit: 10}, metering.Policy{Limit: 600}
		require.False(t, take(free, 11).Allowed)
		require.Equal(t, 600-10-1, take(agency, 1).Remaining, "what was taken stays taken, and no more")
		require.True(t, take(agency, 200).Allowed)
		require.Equal(t, metering.Decision{Limit: 10, Reset: time.Minute, RetryAfter: 6 * time.Second}, take(free, 1))
	})
}

func TestBucketsAreForgotten(t *testing.T) {
	server := miniredis.RunT(t)
	l := open(t, "redis://"+server.Addr(), "")
	server.FlushAll() // the key of the probe
	p := metering.Policy{Limit: 60}
	d, err := l.take(t.Context(), "key_a", p, 1, noon)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	require.Equal(t, []string{"diag:rate:{key_a}"}, server.Keys())
	require.Equal(t, time.Second+metering.MaxSkew, server.TTL("diag:rate:{key_a}"))
	_, err = l.take(t.Context(), "key_b", p, 61, noon)
	require.NoError(t, err)
	require.Len(t, server.Keys(), 1, "a refusal leaves nothing where nothing was")
	server.FastForward(time.Second + metering.MaxSkew)
	require.Empty(t, server.Keys())
}

// A policy that allows nothing sends no request to Redis.
func TestNothingAllowed(t *testing.T) {
	l := open(t, "redis://"+miniredis.RunT(t).Addr(), "")
	d, err := l.Take(t.Context(), &metering.Bucket{ID: "key"}, metering.Policy{}, noon)
	require.NoError(t, err)
	require.Equal(t, metering.Decision{RetryAfter: time.Minute, Reset: time.Minute}, d)
}

// A script that Redis has lost is sent again.
func TestScriptIsSentAgain(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		l := open(t, url, uniquePrefix())
		require.NoError(t, l.client.ScriptFlush(t.Context()).Err())
		_, err := l.take(t.Context(), "key", metering.Policy{Limit: 1}, 1, noon)
		require.NoError(t, err)
	})
}
