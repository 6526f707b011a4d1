package metering

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"pgregory.net/rapid"
)

func TestConformanceGCRA(t *testing.T) {
	type event struct {
		T         int64 `json:"t"`
		Cost      int   `json:"cost"`
		Allowed   bool  `json:"allowed"`
		Remaining int   `json:"remaining"`
		Retry     int64 `json:"retry_after_ns"`
	}
	type trace struct {
		Limit    int     `json:"limit"`
		Window   int64   `json:"window_ns"`
		Burst    int     `json:"burst"`
		Emission int64   `json:"emission_ns"`
		Events   []event `json:"events"`
	}
	traces := diagtest.Cases[trace](t, diagtest.Vectors(t, "platform/gcra/traces.json"))
	passed, events := 0, 0
	for i, tr := range traces {
		p := Policy{Limit: tr.Limit, Window: time.Duration(tr.Window), Burst: tr.Burst}
		good := p.rate().emission == tr.Emission
		var b Bucket
		for j, e := range tr.Events {
			d := b.Take(p, e.Cost, time.Unix(0, e.T))
			got := event{e.T, e.Cost, d.Allowed, d.Remaining, int64(d.RetryAfter)}
			if got != e {
				t.Errorf("trace %d event %d: got %+v, want %+v", i, j, got, e)
				good = false
			}
			events++
		}
		if good {
			passed++
		}
	}
	t.Logf("platform/gcra: %d/%d traces, %d events", passed, len(traces), events)
	equal(t, len(traces), passed)
}

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func TestBucketDecisions(t *testing.T) {
	var b Bucket
	p := Policy{Limit: 3, Window: 3 * time.Second}
	equal(t, Decision{Allowed: true, Limit: 3, Remaining: 2, Reset: time.Second}, b.Take(p, 1, noon))
	equal(t, Decision{Allowed: true, Limit: 3, Remaining: 1, Reset: 2 * time.Second}, b.Take(p, 1, noon))
	equal(t, Decision{Allowed: true, Limit: 3, Remaining: 0, Reset: 3 * time.Second}, b.Take(p, 1, noon))
	equal(t, Decision{Limit: 3, Reset: 3 * time.Second, RetryAfter: time.Second}, b.Take(p, 1, noon))
	later := noon.Add(1500 * time.Millisecond)
	equal(t, Decision{Allowed: true, Limit: 3, Reset: 2500 * time.Millisecond}, b.Take(p, 1, later))
	equal(t, Decision{Limit: 3, Reset: 2500 * time.Millisecond, RetryAfter: 500 * time.Millisecond}, b.Take(p, 1, later))
	equal(t, Decision{Limit: 3, Reset: 2500 * time.Millisecond, RetryAfter: -1}, b.Take(p, 4, later))
}

func TestPolicyEdges(t *testing.T) {
	for name, c := range map[string]struct {
		policy  Policy
		allowed int // of a burst of ten
	}{
		"no limit allows nothing":       {Policy{}, 0},
		"negative limit allows nothing": {Policy{Limit: -1}, 0},
		"window defaults to a minute":   {Policy{Limit: 4}, 4},
		"burst below the limit":         {Policy{Limit: 600, Burst: 2}, 2},
		"burst above the limit":         {Policy{Limit: 2, Burst: 7}, 7},
		"more than one per nanosecond":  {Policy{Limit: math.MaxInt, Window: time.Second}, 10},
		"longest window":                {Policy{Limit: 1, Window: math.MaxInt64, Burst: math.MaxInt}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var b Bucket
			allowed := 0
			for range 10 {
				d := b.Take(c.policy, 1, noon)
				if d.Allowed {
					allowed++
				} else {
					isTrue(t, d.RetryAfter > 0)
				}
				isTrue(t, d.Remaining >= 0 && d.Reset >= 0, "%+v", d)
			}
			equal(t, c.allowed, allowed)
			isTrue(t, !b.Take(c.policy, math.MaxInt, noon).Allowed, "the cost must not overflow")
		})
	}
}

// A plan change must take effect for the next request (letsencrypt/boulder#8785).
func TestBucketPlanChange(t *testing.T) {
	free, agency := DefaultPlans()["free"].Policy(), DefaultPlans()["agency"].Policy()
	take := func(b *Bucket, p Policy, n int) (d Decision) {
		for range n {
			d = b.Take(p, 1, noon)
		}
		return d
	}
	t.Run("raised: what was taken stays taken and no more", func(t *testing.T) {
		var b Bucket
		isTrue(t, !take(&b, free, 11).Allowed)
		d := take(&b, agency, 1)
		isTrue(t, d.Allowed)
		equal(t, 600-10-1, d.Remaining)
	})
	t.Run("lowered: never longer than the new plan's minute", func(t *testing.T) {
		var b Bucket
		isTrue(t, take(&b, agency, 300).Allowed)
		d := take(&b, free, 1)
		equal(t, Decision{Limit: 10, Reset: time.Minute, RetryAfter: 6 * time.Second}, d)
		isTrue(t, b.Take(free, 1, noon.Add(6*time.Second)).Allowed)
	})
	t.Run("smaller burst at the same speed", func(t *testing.T) {
		var b Bucket
		large, small := Policy{Limit: 60, Burst: 600}, Policy{Limit: 60, Burst: 5}
		isTrue(t, take(&b, large, 600).Allowed)
		equal(t, time.Second, take(&b, small, 1).RetryAfter)
		isTrue(t, b.Take(small, 1, noon.Add(time.Second)).Allowed)
	})
}

func TestBucketClockSetBack(t *testing.T) {
	var b Bucket
	p := Policy{Limit: 60}
	isTrue(t, b.Take(p, 1, noon).Allowed)
	hourBefore := noon.Add(-time.Hour)
	equal(t, time.Second, b.Take(p, 1, hourBefore).RetryAfter, "an hour's debt is cut to a minute's")
	isTrue(t, b.Take(p, 1, hourBefore.Add(time.Second)).Allowed)
}

// Requests read the clock before they take their token, so that the instants of concurrent ones
// arrive out of order; a late one must not set the bucket back and win tokens.
func TestBucketInstantsOutOfOrder(t *testing.T) {
	var b Bucket
	p := Policy{Limit: 600}
	for range 600 {
		isTrue(t, b.Take(p, 1, noon).Allowed)
	}
	for range 1000 {
		isTrue(t, !b.Take(p, 1, noon.Add(-MaxSkew)).Allowed)
		isTrue(t, !b.Take(p, 1, noon).Allowed)
	}
}

func TestBucketIsExactUnderContention(t *testing.T) {
	const goroutines, each = 256, 200
	var limiter LocalLimiter
	var b Bucket
	var allowed, failed atomic.Int64
	p := Policy{Limit: 10007}
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				d, err := limiter.Take(t.Context(), &b, p, noon)
				if err != nil {
					failed.Add(1)
				}
				if d.Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	equal(t, 0, failed.Load())
	equal(t, 10007, allowed.Load())
}

// For any sequence of requests: in any interval no more is allowed than capacity and refill, and the time that a
// refusal states is correct.
func TestBucketProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Policy{
			Limit:  rapid.IntRange(1, 5000).Draw(t, "limit"),
			Window: time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "window")),
			Burst:  rapid.IntRange(0, 50).Draw(t, "burst"),
		}
		r := p.rate()
		var b Bucket
		now, taken := noon, int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.Int64Range(0, 3*r.emission).Draw(t, "pause")))
			cost := rapid.IntRange(1, 5).Draw(t, "cost")
			d := b.Take(p, cost, now)
			if d.Allowed {
				taken += int64(cost)
			} else if d.RetryAfter > 0 {
				var probe Bucket
				probe.tat.Store(b.tat.Load())
				if probe.Take(p, cost, now.Add(d.RetryAfter-1)).Allowed ||
					!probe.Take(p, cost, now.Add(d.RetryAfter)).Allowed {
					t.Fatalf("retry after %v is not the first instant: %+v", d.RetryAfter, d)
				}
			}
			if most := (r.span + int64(now.Sub(noon))) / r.emission; taken > most {
				t.Fatalf("%d tokens were allowed, %d exist", taken, most)
			}
		}
	})
}

func BenchmarkBucketTake(b *testing.B) {
	b.ReportAllocs()
	var bucket Bucket
	p := Policy{Limit: 600_000}
	now := noon
	for b.Loop() {
		now = now.Add(time.Millisecond)
		if !bucket.Take(p, 1, now).Allowed {
			b.Fatal("refused")
		}
	}
}
