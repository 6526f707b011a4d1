package metering

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

const (
	// defaultIPLimit is the limit of requests a minute from one address that has not shown a good key (CONTRACT 5.5).
	defaultIPLimit = 120
	// defaultIPSize is enough for any load one machine can serve: a request occupies a slot for Window/Limit, which is
	// half a second by default, so that a table of n slots holds every address of 2n requests a second.
	defaultIPSize = 1 << 17
	ipWays        = 8 // slots in which an address may be: two cache lines
	ipShards      = 64
)

// An IPLimiter limits requests of an address before authentication. IPv4 counts by address and by /24, IPv6 by /64,
// the usual allocation of a single customer, by /56 and by /48: see [Networks]. A /56 may do four times as much as a
// /64, a /48 and a /24 eight times: without that, the holder of a /48 has 65,536 buckets. It has a fixed number of
// slots of 16 bytes and never allocates after the first call.
//
// It never forgets in favor of the sender: a full bucket needs no slot, and when all slots that an
// address may use hold debts, it takes over the smallest of them together with its debt. So a flood
// from ever new addresses cannot win a single extra token, not even for an address that was evicted.
//
// The zero value is ready for use. Its fields must not be changed after the first call, and it must not be copied.
type IPLimiter struct {
	Limit  int           // requests per window; 0 means 120
	Window time.Duration // 0 means a minute
	Size   int           // slots, rounded up; 0 means 131,072

	once   sync.Once
	seed   maphash.Seed
	rates  [len(ipKeys{})]rate // by the width of the network
	shards []ipShard
}

type ipShard struct {
	mu   sync.Mutex
	sets []ipSet
	_    [32]byte // keeps the locks of two shards on different cache lines
}

type ipSet [ipWays]ipSlot

type ipSlot struct {
	address uint64
	tat     int64 // Unix nanoseconds at which the bucket is full; the slot is free from then on
}

// Take takes one token of the address. An invalid address has a bucket like any other. The returned remainder is that
// of the smallest network, unless a larger one has none left.
func (l *IPLimiter) Take(ip netip.Addr, now time.Time) (first Decision) {
	l.once.Do(l.init)
	t := now.UnixNano()
	keys := keysOf(ip)
	for i, key := range keys {
		if key == 0 {
			continue
		}
		d := l.take(key, &l.rates[i], t)
		if i == 0 {
			first = d
		}
		if d.Allowed {
			continue
		}
		for j := range i {
			l.refund(keys[j], &l.rates[j], t)
		}
		return d
	}
	return first
}

// Refund returns the token of the last Take, once the request has shown a good key.
func (l *IPLimiter) Refund(ip netip.Addr, now time.Time) {
	l.once.Do(l.init)
	t := now.UnixNano()
	for i, key := range keysOf(ip) {
		if key != 0 {
			l.refund(key, &l.rates[i], t)
		}
	}
}

func (l *IPLimiter) take(key uint64, r *rate, t int64) Decision {
	shard, set := l.find(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	slot := set.claim(key, t)
	if slot.tat-t > r.span+int64(MaxSkew) {
		slot.tat = t + r.span // the clock was set back
	}
	next, d := r.take(slot.tat, t, 1)
	slot.tat = next
	return d
}

func (l *IPLimiter) refund(key uint64, r *rate, t int64) {
	shard, set := l.find(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	for i := range set {
		if slot := &set[i]; slot.address == key && slot.tat > t {
			slot.tat = max(t, slot.tat-r.emission)
			return
		}
	}
}

func (l *IPLimiter) init() {
	limit, size := l.Limit, l.Size
	if limit <= 0 {
		limit = defaultIPLimit
	}
	if size <= 0 {
		size = defaultIPSize
	}
	l.seed = maphash.MakeSeed() // outsiders cannot aim at the slots of another address
	for i := range l.rates {
		l.rates[i] = Policy{Limit: limit * int(networkShares[i]), Window: l.Window}.rate()
	}
	shards := min(ipShards, (size+ipWays-1)/ipWays)
	sets := (size + shards*ipWays - 1) / (shards * ipWays)
	l.shards = make([]ipShard, shards)
	all := make([]ipSet, shards*sets)
	for i := range l.shards {
		l.shards[i].sets = all[i*sets : (i+1)*sets : (i+1)*sets]
	}
}

func (l *IPLimiter) find(key uint64) (*ipShard, *ipSet) {
	h := maphash.Comparable(l.seed, key)
	shard := &l.shards[uint32(h)%uint32(len(l.shards))]
	return shard, &shard.sets[(h>>32)%uint64(len(shard.sets))]
}

// claim returns the slot of an address: its own, else a free one, else the one with the smallest
// debt, which stays as it is.
func (s *ipSet) claim(key uint64, now int64) *ipSlot {
	best := &s[0]
	for i := range s {
		slot := &s[i]
		if slot.address == key && slot.tat > now {
			return slot
		}
		if slot.tat < best.tat {
			best = slot
		}
	}
	best.address = key
	return best
}
