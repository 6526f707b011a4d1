package metering

import (
	"context"
	"math/bits"
	"sync/atomic"
	"time"
)

// A Policy is the size and the speed of a token bucket: Limit tokens per Window, refilled continuously.
type Policy struct {
	Limit  int           // tokens per window; 0 or less allows nothing
	Window time.Duration // 0 means a minute
	Burst  int           // capacity; 0 means Limit
}

// A Decision is the result of a limiter for one request.
type Decision struct {
	Allowed    bool
	Limit      int           // capacity of the bucket, in tokens
	Remaining  int           // whole tokens left
	Reset      time.Duration // until the bucket is full
	RetryAfter time.Duration // until the request could be allowed; 0 if it was, negative if it never can
}

// A Bucket is the state of one token bucket. It lives in the cached record of a key, so that no
// table of limiters grows beside it. The zero Bucket is full. It must not be copied after use.
type Bucket struct {
	ID string // names the bucket to limiters that keep the state elsewhere: the key's id

	tat      atomic.Int64 // theoretical arrival time: when the bucket is full again, in Unix nanoseconds
	emission atomic.Int64 // nanoseconds per token that tat was counted with; 0: none yet
}

// A Limiter takes one token per request. [LocalLimiter] keeps the state in the bucket itself; one
// that is shared by several nodes keeps it under Bucket.ID. An error means that the limiter does not
// know; the request must then not be allowed.
type Limiter interface {
	Take(ctx context.Context, b *Bucket, p Policy, now time.Time) (Decision, error)
}

// LocalLimiter is the Limiter of a single node. It needs no configuration and no extra memory.
type LocalLimiter struct{}

// Take takes one token from the bucket. It never fails and never waits.
func (LocalLimiter) Take(_ context.Context, b *Bucket, p Policy, now time.Time) (Decision, error) {
	return b.Take(p, 1, now), nil
}

// MaxSkew is the maximum difference between the clock readings of concurrent requests: a request that was delayed
// between reading the clock and taking its token must not set the bucket back by that time. Only a debt that exceeds
// the capacity by more comes from a smaller plan or a clock that was set back.
const MaxSkew = 5 * time.Second

// Take takes cost tokens, all or none, by the generic cell rate algorithm in integer nanoseconds: the state is the one
// instant at which the bucket would be full. It is lock-free, and exact under any number of concurrent callers. A
// change of policy takes effect immediately: tokens that were taken stay taken, and the debt is converted to the new
// speed and cut to the new capacity. A cost above the capacity is never allowed; its RetryAfter is -1.
func (b *Bucket) Take(p Policy, cost int, now time.Time) Decision {
	r := p.rate()
	if r.emission == 0 {
		return Decision{RetryAfter: r.window, Reset: r.window}
	}
	t := now.UnixNano()
	if b.emission.Load() != r.emission {
		b.convertRate(r, t)
	}
	for {
		tat := b.tat.Load()
		if tat-t > r.span+int64(MaxSkew) {
			b.tat.CompareAndSwap(tat, t+r.span)
			continue
		}
		next, d := r.take(tat, t, int64(cost))
		if next == tat || b.tat.CompareAndSwap(tat, next) {
			return d
		}
	}
}

// convertRate converts the debt of the bucket to another speed. One of the concurrent callers does it.
func (b *Bucket) convertRate(r rate, now int64) {
	old := b.emission.Load()
	if old == r.emission || !b.emission.CompareAndSwap(old, r.emission) || old == 0 {
		return
	}
	for {
		tat := b.tat.Load()
		if tat <= now || b.tat.CompareAndSwap(tat, now+r.convert(tat-now, old)) {
			return
		}
	}
}

// Cells returns the policy in the terms of the algorithm, for a limiter that keeps its buckets elsewhere: the time in
// which one token is refilled, which is 0 if nothing is ever allowed; the time for as many tokens as a request costs;
// and the time for a full bucket.
func (p Policy) Cells(cost int) (token, price, span time.Duration) {
	r := p.rate()
	return time.Duration(r.emission), time.Duration(r.price(int64(cost))), time.Duration(r.span)
}

// Decide returns the decision about a request when the bucket will be full after a time of debt. The request is
// allowed exactly if its price does not exceed what the debt leaves of the span.
func (p Policy) Decide(debt time.Duration, cost int) Decision {
	r := p.rate()
	if r.emission == 0 {
		return Decision{RetryAfter: r.window, Reset: r.window}
	}
	_, d := r.take(int64(debt), 0, int64(cost))
	return d
}

// Convert turns a debt that was counted with another policy's token into one of this policy, cut to its span.
func (p Policy) Convert(debt, token time.Duration) time.Duration {
	return time.Duration(p.rate().convert(int64(debt), int64(token)))
}

// rate is a policy in integers: nanoseconds per token, and for a full bucket.
type rate struct {
	emission int64 // nanoseconds per token; 0 when nothing is ever allowed
	span     int64 // nanoseconds in which an empty bucket fills
	window   time.Duration
}

// maxSpan keeps every sum of an instant and a span within an int64: instants reach 2^61 ns in the
// year 2043, and two spans are added to them.
const maxSpan = 1 << 60

func (p Policy) rate() rate {
	r := rate{window: p.Window}
	if r.window <= 0 {
		r.window = time.Minute
	}
	if p.Limit <= 0 {
		return r
	}
	burst := int64(p.Burst)
	if burst <= 0 {
		burst = int64(p.Limit)
	}
	r.emission = min(max(1, int64(r.window)/int64(p.Limit)), maxSpan)
	r.span = r.emission * min(burst, maxSpan/r.emission)
	return r
}

// take is the algorithm without state: it returns the new tat and the decision.
func (r rate) take(tat, now, cost int64) (next int64, d Decision) {
	debt := max(0, tat-now)
	d = Decision{Limit: int(r.span / r.emission), Reset: time.Duration(debt)}
	price := r.price(cost)
	switch missing := debt + price - r.span; {
	case missing <= 0:
		d.Allowed = true
		d.Reset += time.Duration(price)
		d.Remaining = int(-missing / r.emission)
		return max(tat, now) + price, d
	case price > r.span:
		d.RetryAfter = -1
	default:
		d.RetryAfter = time.Duration(missing)
	}
	d.Remaining = int(max(0, r.span-debt) / r.emission)
	return tat, d
}

// price is the time in which so many tokens are refilled.
func (r rate) price(cost int64) int64 {
	if r.emission > 0 && cost > maxSpan/r.emission {
		return maxSpan
	}
	return max(0, cost) * r.emission
}

// convert turns a debt that was counted with another speed into one of this rate, cut to its span.
func (r rate) convert(debt, emission int64) int64 {
	high, low := bits.Mul64(uint64(debt), uint64(r.emission))
	if high >= uint64(emission) {
		return r.span // the quotient exceeds 64 bits
	}
	quotient, _ := bits.Div64(high, low, uint64(emission))
	return int64(min(quotient, uint64(r.span)))
}
