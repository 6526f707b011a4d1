package httpapi

import (
	"sync"

	"github.com/diagkit/diagkit/metering"
)

const (
	// maxRepeatable is the size, in bytes, up to which a reply is kept that could be made again.
	maxRepeatable = 64 << 10

	// keptPerRate is how many KiB of replies a key may have kept a day for each request a minute of its
	// plan: 240 MiB for 60 a minute, several times what a customer needs who names every request.
	keptPerRate = 4 << 10
)

// keptReplies bounds what the store keeps for each key. The buckets hold KiB, and only keys that exist
// have one.
type keptReplies struct {
	mu      sync.Mutex
	buckets map[metering.KeyID]*metering.Bucket
}

func (k *keptReplies) bucket(key metering.KeyID) *metering.Bucket {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.buckets == nil {
		k.buckets = map[metering.KeyID]*metering.Bucket{}
	}
	b := k.buckets[key]
	if b == nil {
		b = &metering.Bucket{ID: string(key)}
		k.buckets[key] = b
	}
	return b
}

func keptPolicy(p *metering.Plan) metering.Policy {
	return metering.Policy{Limit: p.PerMinute * keptPerRate, Window: metering.ReplayWindow}
}

// takeKept takes KiB from the bucket of the caller's key.
func (x *exchange) takeKept(kib int) metering.Decision {
	return x.kept.bucket(x.caller.Key.ID).Take(keptPolicy(x.caller.Plan), kib, x.began)
}

// admitKept refuses a request with an idempotency key whose reply could not be kept: to answer it and
// charge its repetition would break what the key promises.
func (x *exchange) admitKept() *failure {
	if x.idem == nil {
		return nil
	}
	d := x.takeKept(1)
	if d.Allowed {
		return nil
	}
	f := rateProblem("key", wholeSeconds(d.RetryAfter.Seconds()))
	f.problem.Message = "Too many replies are kept for the idempotency keys of this API key. Try again in " +
		decimal(f.retryAfter) + " s, or without an Idempotency-Key."
	return f
}

// keep counts a reply that is kept. The first KiB was taken before; a reply may exceed what is left.
func (x *exchange) keep(bytes int) {
	kib := bytes >> 10
	if d := x.takeKept(kib); !d.Allowed {
		x.takeKept(d.Remaining)
	}
}
