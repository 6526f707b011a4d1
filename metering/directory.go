package metering

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// unwatchedTrust is how long a record is trusted while changes by other processes are not reported. Revocation must
	// hold on every node within 2 s (CONTRACT 4.3); a read may take the other second.
	unwatchedTrust = time.Second
	// watchSettle is how long a Watch must run before its silence means that nothing changed.
	watchSettle = time.Second
	// watchRetry is the pause before a Watch that ended is taken up again.
	watchRetry  = 500 * time.Millisecond
	cacheShards = 64 // locks, so that many cores do not meet on one
)

// directory caches the keys that exist: the token bucket permanently, and the record until it changes.
type directory struct {
	shards             [cacheShards]cacheShard
	watching           atomic.Bool   // whether Watch would report a change
	changeCount        atomic.Uint64 // changes that Watch reported, and restarts of it
	fallbackGeneration atomic.Uint64 // replaces Generation for a store without it
	origins            origins

	mu        sync.Mutex // guards the publication of records and what follows
	byKey     map[KeyID]*entry
	byAccount map[AccountID][]*entry
}

type cacheShard struct {
	mu      sync.RWMutex
	entries map[[32]byte]*entry
	reads   map[[32]byte]*sharedRead
	_       [24]byte // keeps two locks out of one cache line
}

// entry is the slot of a key. It stays the same when the record is reloaded, and so does the bucket: a reload adds no
// tokens.
type entry struct {
	bucket Bucket
	record atomic.Pointer[record]
}

// record holds a key and its account as read at one moment. It is not changed, but replaced.
type record struct {
	key        Key
	account    Account
	plan       Plan
	policy     Policy
	validFrom  time.Time // the month of the plan
	validUntil time.Time
	allowed    []netip.Prefix // IPv4 also for ::ffff:0:0/96 in the list; empty: any address

	generation  uint64 // of the store, before reading began
	changeCount uint64 // of the directory, before reading began
	readAt      time.Time
	stale       atomic.Bool // Watch reported a change
}

// coversMonth reports whether the plan is that of the month of an instant.
func (r *record) coversMonth(now time.Time) bool {
	return !now.Before(r.validFrom) && now.Before(r.validUntil)
}

// sharedRead is a read under way, on which requests for the same key wait together.
type sharedRead struct {
	generation uint64
	done       chan struct{}
	entry      *entry
	record     *record
	err        error
}

func (d *directory) init() {
	for i := range d.shards {
		d.shards[i].entries = make(map[[32]byte]*entry)
		d.shards[i].reads = make(map[[32]byte]*sharedRead)
	}
	d.byKey = make(map[KeyID]*entry)
	d.byAccount = make(map[AccountID][]*entry)
}

func (d *directory) shard(hash *[32]byte) *cacheShard { return &d.shards[hash[0]%cacheShards] }

// nextFallbackGeneration is the generation of a store without a counter: each request has its own, so that no record
// and no read under way is ever good enough for the next.
func (d *directory) nextFallbackGeneration() uint64 { return d.fallbackGeneration.Add(1) }

// find returns the cached key with a hash. The map is indexed by SHA-256, which an attacker cannot steer towards a
// stored hash; the comparison is in constant time nevertheless.
func (d *directory) find(hash *[32]byte) (*entry, *record) {
	s := d.shard(hash)
	s.mu.RLock()
	e := s.entries[*hash]
	s.mu.RUnlock()
	var stored [32]byte
	var r *record
	if e != nil {
		r = e.record.Load()
		stored = r.key.Hash
	}
	if subtle.ConstantTimeCompare(stored[:], hash[:]) != 1 {
		return nil, nil
	}
	return e, r
}

// fresh reports whether a record is as good as reading it again.
func (g *Gate) fresh(r *record) bool {
	if r.generation != g.generation() || r.stale.Load() {
		return false
	}
	return g.cache.watching.Load() || g.clock().Sub(r.readAt) < unwatchedTrust
}

// load reads a key, once for all requests that ask for it at the same time. It returns no record
// where there is no such key.
func (g *Gate) load(ctx context.Context, hash [32]byte, now time.Time) (*entry, *record, error) {
	s := g.cache.shard(&hash)
	for {
		generation := g.generation()
		s.mu.Lock()
		f := s.reads[hash]
		// A read that began before a change may have seen what was before it.
		if f == nil || f.generation != generation {
			f = &sharedRead{generation: generation, done: make(chan struct{})}
			s.reads[hash] = f
			s.mu.Unlock()
			g.readShared(ctx, s, hash, f, PeriodOf(now))
			return f.entry, f.record, f.err
		}
		s.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		if !errors.Is(f.err, context.Canceled) && !errors.Is(f.err, context.DeadlineExceeded) {
			return f.entry, f.record, f.err
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		// The context that ended was that of the request which read; this one reads itself.
	}
}

// readShared performs a read and wakes those who wait for it, even if the store panics.
func (g *Gate) readShared(ctx context.Context, s *cacheShard, hash [32]byte, f *sharedRead, p Period) {
	f.err = errors.New("reading the key was broken off")
	defer func() {
		s.mu.Lock()
		if s.reads[hash] == f {
			delete(s.reads, hash)
		}
		s.mu.Unlock()
		close(f.done)
	}()
	changeCount, startedAt := g.cache.changeCount.Load(), g.clock()
	r, err := g.read(ctx, hash, p)
	if errors.Is(err, errNoKey) {
		g.cache.forget(s, hash)
		f.err = nil
		return
	}
	if f.err = err; err == nil {
		r.generation, r.changeCount, r.readAt = f.generation, changeCount, startedAt
		f.record = r
		f.entry = g.cache.publish(s, hash, r)
	}
}

// errNoKey means that no key has the hash. An account that is missing is another matter: a fault.
var errNoKey = errors.New("there is no such key")

// read reads a key and its account from the store, with the plan of a month.
func (g *Gate) read(ctx context.Context, hash [32]byte, p Period) (*record, error) {
	key, err := g.store.KeyByHash(ctx, hash)
	if errors.Is(err, ErrNotFound) || err == nil && subtle.ConstantTimeCompare(key.Hash[:], hash[:]) != 1 {
		return nil, errNoKey
	}
	if err != nil {
		return nil, fmt.Errorf("reading a key: %w", err)
	}
	account, err := g.store.Account(ctx, key.Account)
	if err != nil {
		return nil, fmt.Errorf("reading account %s of key %s: %w", key.Account, key.ID, err)
	}
	plan, ok := g.plans.In(p)[account.PlanIn(p)]
	if !ok {
		return nil, fmt.Errorf("account %s has the plan %q, which does not exist", account.ID, account.PlanIn(p))
	}
	return &record{
		key: key, account: account, plan: plan, policy: plan.Policy(), allowed: unmapPrefixes(key.IPAllowlist),
		validFrom: p.Start(), validUntil: p.End(),
	}, nil
}

// publish stores a record unless a newer one is there, and returns its entry. If Watch reported any change while the
// record was being read, the record is trusted for the current request only.
func (d *directory) publish(s *cacheShard, hash [32]byte, r *record) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changeCount.Load() != r.changeCount {
		r.stale.Store(true)
	}
	e := d.byKey[r.key.ID]
	if e == nil {
		e = &entry{bucket: Bucket{ID: string(r.key.ID)}}
		d.byKey[r.key.ID] = e
		d.byAccount[r.key.Account] = append(d.byAccount[r.key.Account], e)
	}
	if old := e.record.Load(); old == nil || old.generation <= r.generation && old.changeCount <= r.changeCount {
		e.record.Store(r)
	}
	s.mu.Lock()
	s.entries[hash] = e
	s.mu.Unlock()
	return e
}

// forget drops the way to a key that is no longer there. Its bucket stays, in case it returns.
func (d *directory) forget(s *cacheShard, hash [32]byte) {
	s.mu.Lock()
	delete(s.entries, hash)
	s.mu.Unlock()
}

// invalidate makes records stale for a change, and all of them for the zero Change. Counting comes
// first: a read that is published after the loop sees that the count has risen since it began.
func (d *directory) invalidate(c Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changeCount.Add(1)
	if c.Key == "" && c.Account == "" {
		for _, e := range d.byKey {
			e.record.Load().stale.Store(true)
		}
		return
	}
	if e := d.byKey[c.Key]; e != nil {
		e.record.Load().stale.Store(true)
	}
	for _, e := range d.byAccount[c.Account] {
		e.record.Load().stale.Store(true)
	}
}

// follow keeps the directory in step with changes by other processes until the context ends.
func (g *Gate) follow(ctx context.Context) {
	for {
		err := Contain(func() error { return g.watch(ctx) })
		if ctx.Err() != nil {
			return
		}
		g.log.Warn("watching keys and accounts ended; every record is now read again within a second", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchRetry):
		}
	}
}

// watch follows one Watch to its end. It begins at 0, because once it has settled everything that
// was read before is dropped: so nothing is missed whatever happened in between.
func (g *Gate) watch(ctx context.Context) (err error) {
	var mu sync.Mutex
	ended := false
	timer := time.AfterFunc(watchSettle, func() {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			g.cache.invalidate(Change{})
			g.cache.watching.Store(true)
		}
	})
	defer func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		ended = true
		g.cache.watching.Store(false)
	}()
	for change, err := range g.store.Watch(ctx, 0) {
		if err != nil {
			return err
		}
		g.cache.invalidate(change)
	}
	return errors.New("the store stopped telling")
}

// refuse returns why a key may not be used from an address at an instant, in the order of CONTRACT 1.1.
func (r *record) refuse(from netip.Addr, now time.Time) Refusal {
	switch r.key.State(now) {
	case KeyRevoked:
		return RevokedKey
	case KeyExpired:
		return ExpiredKey
	case KeyActive, KeyRotating:
	}
	if len(r.allowed) == 0 {
		return ""
	}
	from = from.Unmap().WithZone("")
	for _, p := range r.allowed {
		if p.Contains(from) {
			return ""
		}
	}
	return AddressNotAllowed
}

// unmapPrefixes turns IPv4-mapped prefixes into the IPv4 ones they mean, since clients are compared
// by their unmapped address.
func unmapPrefixes(list []netip.Prefix) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(list))
	for _, p := range list {
		if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		out = append(out, p)
	}
	return out
}
