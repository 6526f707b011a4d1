package resolver

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// An Exchanger sends one query to the DNS, as [Client] and [Cache] do. The caller may modify the reply.
type Exchanger interface {
	Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error)
}

// Defaults of a [Cache]. The name servers behind it keep answers for as long as these allow; a diagnostic must not
// hide for long that the zone was just fixed.
const (
	defaultMaxTTL         = 5 * time.Minute
	defaultMaxNegativeTTL = time.Minute
	defaultMaxEntries     = 32768
	defaultMaxBytes       = 32 << 20
)

const (
	maxShards = 64  // far more than processors, so that two seldom meet
	minShard  = 512 // entries of the smallest shard: what serves one operation alone has few
	// Memory of an entry and of a record beside the bytes of the message, about.
	entryOverhead  = 400
	recordOverhead = 100
)

// A Cache caches replies for as long as their times to live allow, and merges concurrent identical queries
// into one exchange. Its zero value is a cache of the default size for the servers of the system. It may be
// used by several goroutines concurrently. It must not be copied, and must not be changed after first use.
//
// The key of a cached reply is the name, type and class of the query, its bits RD, DO, CD and AD, and whether
// it has EDNS. Queries with EDNS options or with [Options], and messages that are not plain queries, are
// passed on. Truncated replies are not cached, SERVFAIL is for two seconds.
type Cache struct {
	// Upstream answers queries that are not in the cache. If nil, the servers of the system do.
	Upstream Exchanger
	// MaxEntries and MaxBytes limit the number of cached replies and their estimated size. 0 means 32,768
	// replies and 32 MiB.
	MaxEntries int
	MaxBytes   int
	// MaxTTL and MaxNegativeTTL limit how long positive and negative answers are cached. 0 means five minutes
	// and one minute.
	MaxTTL         time.Duration
	MaxNegativeTTL time.Duration
	// MinTTL is the minimum time for which every reply is cached, whatever its kind and its times to live,
	// unless it is truncated. It is meant for a cache that is used for one diagnostic, all parts of which
	// must see the same answers. 0 means no minimum.
	MinTTL time.Duration
	// Clock returns the time. If nil, it is the wall clock.
	Clock func() time.Time

	once     sync.Once
	upstream Exchanger
	seed     maphash.Seed
	shards   []shard
}

// A key identifies a kept reply.
type key struct {
	name   string // lower case
	qtype  uint16
	qclass uint16

	rd, cd, ad, edns, do bool
}

// keyOf returns what the reply to a message is kept by; it is false for those that are not kept.
func keyOf(q *dns.Msg) (key, bool) {
	if len(q.Question) != 1 || q.Opcode != dns.OpcodeQuery || q.Response || q.IsTsig() != nil ||
		len(q.Answer)+len(q.Ns) > 0 {
		return key{}, false
	}
	question := q.Question[0]
	k := key{name: dns.CanonicalName(question.Name), qtype: question.Qtype, qclass: question.Qclass,
		rd: q.RecursionDesired, cd: q.CheckingDisabled, ad: q.AuthenticatedData}
	if opt := q.IsEdns0(); opt != nil {
		if len(opt.Option) > 0 || opt.Version() != 0 {
			return key{}, false
		}
		k.edns, k.do = true, opt.Do()
	}
	return k, true
}

// A shard is a part of the cache with a lock of its own.
type shard struct {
	mu         sync.Mutex
	entries    map[key]*entry
	flights    map[key]*flight
	recent     entry // head of the ring of entries, the most recently used first
	bytes      int
	maxEntries int
	maxBytes   int
}

// An entry is a reply that is kept. It is not changed; callers get copies.
type entry struct {
	key        key
	msg        *dns.Msg
	origin     *Step // the exchange that it came from
	stored     time.Time
	expires    time.Time
	size       int
	prev, next *entry
}

func (c *Cache) setUp() {
	if c.upstream = c.Upstream; c.upstream == nil {
		c.upstream = System()
	}
	entries, bytes := positive(c.MaxEntries, defaultMaxEntries), positive(c.MaxBytes, defaultMaxBytes)
	c.seed = maphash.MakeSeed()
	c.shards = make([]shard, min(maxShards, max(1, entries/minShard)))
	for i := range c.shards {
		s := &c.shards[i]
		s.entries, s.flights = make(map[key]*entry), make(map[key]*flight)
		s.maxEntries, s.maxBytes = entries/len(c.shards), bytes/len(c.shards)
		s.recent.prev, s.recent.next = &s.recent, &s.recent
	}
}

// positive is the first of some figures that is above 0: the caller's, or else a default.
func positive[N ~int | ~int64](figures ...N) N {
	i := slices.IndexFunc(figures, func(n N) bool { return n > 0 })
	return figures[i]
}

func (c *Cache) now() time.Time {
	if c.Clock == nil {
		return time.Now()
	}
	return c.Clock()
}

// Exchange returns the reply to a query: a cached one, with its times to live reduced by its age, or a new
// one. The caller may modify it.
func (c *Cache) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, k, ok := c.place(ctx, q)
	if !ok {
		return Ask(ctx, c.upstream, q)
	}
	now := c.now()
	s.mu.Lock()
	if e := s.fresh(k, now); e != nil {
		s.mu.Unlock()
		m := copyFor(q, e.msg)
		lowerTTLs(m, e.use(ctx, q, now))
		return m, nil
	}
	f, first := s.board(k)
	s.mu.Unlock()
	if first {
		c.launch(ctx, s, f, q)
	}
	return f.wait(ctx, s, q)
}

// place returns what the reply to a question is kept by, and where; it is false for those that are not kept.
func (c *Cache) place(ctx context.Context, q *dns.Msg) (*shard, key, bool) {
	c.once.Do(c.setUp)
	k, ok := keyOf(q)
	if !ok || optionsOf(ctx) != (Options{}) {
		return nil, k, false
	}
	return &c.shards[maphash.Comparable(c.seed, k)%uint64(len(c.shards))], k, true
}

// fresh returns the entry of a key if it may still be used. The shard is locked.
func (s *shard) fresh(k key, now time.Time) *entry {
	e := s.entries[k]
	switch {
	case e == nil:
		return nil
	case !now.Before(e.expires):
		s.drop(e)
		return nil
	}
	e.unlink()
	s.push(e)
	return e
}

// use notes in the trace that the reply is used again, and returns its age in seconds.
func (e *entry) use(ctx context.Context, q *dns.Msg, now time.Time) uint32 {
	if trace := traceOf(ctx); trace != nil {
		step := *e.origin
		step.FromCache, step.Latency, step.Question, step.Rcode = true, 0, q.Question[0], e.msg.Rcode
		trace.add(step)
	}
	return uint32(max(0, now.Sub(e.stored)/time.Second))
}

// copyFor makes a copy of a reply with the identifier of a question and its spelling of the name.
func copyFor(q, reply *dns.Msg) *dns.Msg {
	m := reply.Copy()
	m.Id = q.Id
	asked := q.Question[0]
	if len(m.Question) == 1 && m.Question[0].Name != asked.Name {
		for _, rr := range m.Answer {
			if h := rr.Header(); strings.EqualFold(h.Name, asked.Name) {
				h.Name = asked.Name
			}
		}
	}
	m.Question = []dns.Question{asked}
	return m
}

// store keeps a reply if it may be kept. The shard is locked.
func (c *Cache) store(s *shard, k key, msg *dns.Msg, origin *Step) {
	ttl := c.lifetime(msg, k.qtype)
	size := msg.Len() + entryOverhead + recordOverhead*(len(msg.Answer)+len(msg.Ns)+len(msg.Extra))
	if ttl <= 0 || size > s.maxBytes {
		return
	}
	if old := s.entries[k]; old != nil {
		s.drop(old)
	}
	now := c.now()
	e := &entry{key: k, msg: msg, origin: origin, stored: now, expires: now.Add(ttl), size: size}
	s.entries[k] = e
	s.bytes += size
	s.push(e)
	for len(s.entries) > s.maxEntries || s.bytes > s.maxBytes {
		s.drop(s.recent.prev)
	}
}

func (s *shard) push(e *entry) {
	e.prev, e.next = &s.recent, s.recent.next
	e.prev.next, e.next.prev = e, e
}

func (e *entry) unlink() { e.prev.next, e.next.prev = e.next, e.prev }

func (s *shard) drop(e *entry) {
	e.unlink()
	delete(s.entries, e.key)
	s.bytes -= e.size
}

// Len returns the number of cached replies, including expired ones.
func (c *Cache) Len() int {
	c.once.Do(c.setUp)
	n := 0
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += len(s.entries)
		s.mu.Unlock()
	}
	return n
}

// failureTTL is how long SERVFAIL is kept. RFC 9520 section 3.2 asks for one second at least and five
// minutes at most; two seconds spare a broken server the other checks of one diagnostic, and are
// over when the caller has fixed something and asks again.
const failureTTL = 2 * time.Second

// lifetime returns how long a reply may be kept, or 0. The end of its shortest-lived record is the end of it all.
func (c *Cache) lifetime(m *dns.Msg, qtype uint16) time.Duration {
	if m.Truncated {
		return 0 // what is missing is not known to be missing
	}
	return max(c.MinTTL, c.allowed(m, qtype))
}

// allowed is how long a reply permits caching.
func (c *Cache) allowed(m *dns.Msg, qtype uint16) time.Duration {
	switch m.Rcode {
	case dns.RcodeServerFailure:
		return failureTTL
	case dns.RcodeSuccess, dns.RcodeNameError:
	default:
		return 0 // the server did not process the query
	}
	ttl, found := smallestTTL(m)
	limit := positive(c.MaxTTL, defaultMaxTTL)
	if m.Rcode == dns.RcodeNameError || !answers(m, qtype) {
		negative, ok := negativeTTL(m)
		if !ok {
			return 0 // RFC 2308 section 5: without a SOA record, not to be kept
		}
		ttl, found = min(ttl, negative), true
		limit = positive(c.MaxNegativeTTL, defaultMaxNegativeTTL)
	}
	if !found {
		return 0
	}
	return min(time.Duration(ttl)*time.Second, limit)
}

// answers reports whether there is a record of the type asked for.
func answers(m *dns.Msg, qtype uint16) bool {
	return slices.ContainsFunc(m.Answer, func(rr dns.RR) bool {
		return rr.Header().Rrtype == qtype || qtype == dns.TypeANY
	})
}

// negativeTTL is how long a negative answer may be cached (RFC 2308 section 5).
func negativeTTL(m *dns.Msg) (uint32, bool) {
	for _, rr := range m.Ns {
		if soa, ok := rr.(*dns.SOA); ok {
			return min(validTTL(soa.Hdr.Ttl), validTTL(soa.Minttl)), true
		}
	}
	return 0, false
}

// maxUint31 is the largest time to live there is (RFC 2181 section 8).
const maxUint31 = 1<<31 - 1

func smallestTTL(m *dns.Msg) (ttl uint32, found bool) {
	ttl = maxUint31
	for rr := range timed(m) {
		ttl, found = min(ttl, validTTL(rr.Header().Ttl)), true
	}
	return ttl, found
}

// validTTL takes a time to live with the uppermost bit set for zero (RFC 2181 section 8).
func validTTL(ttl uint32) uint32 {
	if ttl > maxUint31 {
		return 0
	}
	return ttl
}

// lowerTTLs takes seconds off the times to live of a message.
func lowerTTLs(m *dns.Msg, seconds uint32) {
	if seconds == 0 {
		return
	}
	for rr := range timed(m) {
		h := rr.Header()
		h.Ttl = validTTL(h.Ttl)
		h.Ttl -= min(h.Ttl, seconds)
	}
}

// timed visits the records that have a time to live: all but OPT, which keeps something else there
// (RFC 6891 section 6.1.3).
func timed(m *dns.Msg) func(yield func(dns.RR) bool) {
	return func(yield func(dns.RR) bool) {
		for _, section := range [...][]dns.RR{m.Answer, m.Ns, m.Extra} {
			for _, rr := range section {
				if rr.Header().Rrtype != dns.TypeOPT && !yield(rr) {
					return
				}
			}
		}
	}
}
