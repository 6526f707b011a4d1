package nameserver

import (
	"hash/maphash"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

const (
	// DefaultRate is how many answers a second about one name a network of clients gets by datagram. A resolver asks
	// for each name once in its lifetime: the busiest stay far below.
	DefaultRate = 100
	// setRate is how many times as many it gets about a set of addresses, in which each sender is a name of its own.
	setRate = 10
	// buckets is how many networks and names are told apart. Those that meet in one share its rate; whose that is
	// cannot be guessed, since the hash is seeded. 512 KiB in all.
	buckets = 1 << 16
	// Who controls one address controls its neighbours: an allocation of the usual size counts as one.
	network4 = 24
	network6 = 56
	// slip lets one of so many answers beyond the rate out as an empty one that asks the client to come
	// by TCP, so that somebody whose address is being forged still gets through.
	slip = 2
)

// A limiter bounds the answers about each name to each network (GCRA with a burst of one second).
type limiter struct {
	seed  maphash.Seed
	began time.Time
	every time.Duration // between two answers; 0 is no limit
	next  [buckets]atomic.Int64
	over  atomic.Uint32
}

// newLimiter needs the time, since its own begins then.
func newLimiter(perSecond int, now time.Time) *limiter {
	l := &limiter{seed: maphash.MakeSeed(), began: now}
	if perSecond == 0 {
		perSecond = DefaultRate
	}
	if perSecond > 0 {
		l.every = time.Second / time.Duration(perSecond)
	}
	return l
}

type ruling int

const (
	send      ruling = iota
	truncated        // send it empty
	drop             // send nothing
)

// counted is the name for which an answer counts, and how many of them are as one: names that exist by themselves,
// the others together, or nobody could bound what is made up.
func (s *snapshot) counted(q *dns.Msg) (name string, share int) {
	if len(q.Question) != 1 {
		return "", 1
	}
	name = dns.CanonicalName(q.Question[0].Name)
	if _, exists := s.nodes[name]; exists {
		return name, 1
	}
	if client, _, ok := s.setOf(name); ok {
		return name[len(client)+1:], setRate
	}
	return s.apex, 1
}

// rule decides about one answer to an address, of which so many count as one.
func (l *limiter) rule(to netip.Addr, name string, share int, now time.Time) ruling {
	if l.every == 0 {
		return send
	}
	bits := network6
	if to = to.Unmap(); to.Is4() {
		bits = network4
	}
	network, _ := to.Prefix(bits) // the number of bits is right; what has no address shares one bucket
	key := struct {
		network netip.Prefix
		name    string
	}{network, name}
	if l.take(&l.next[maphash.Comparable(l.seed, key)%buckets], l.every/time.Duration(share), int64(now.Sub(l.began))) {
		return send
	}
	if l.over.Add(1)%slip == 0 {
		return truncated
	}
	return drop
}

// take takes one answer out of a bucket, unless it is empty. The bucket holds the time at which it will be full again.
func (l *limiter) take(next *atomic.Int64, every time.Duration, now int64) bool {
	for {
		full := next.Load()
		after := max(full, now) + int64(every)
		if after-now > int64(time.Second) {
			return false
		}
		if next.CompareAndSwap(full, after) {
			return true
		}
	}
}
