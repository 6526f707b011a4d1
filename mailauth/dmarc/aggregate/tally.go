package aggregate

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
)

// A tally holds the sums of one source: few, since a report may have 200,000 sources.
type tally struct {
	ip   netip.Addr
	text *string // in place of an address; nil with one

	messages, pass, spf, dkim int64
	delivered, affected       int64 // of what failed: with disposition none; quarantined or rejected
	overridden                int64 // messages that the receiver knows to be forwarded

	service       *provider.Service // of most messages
	votes         int64             // its lead in messages
	foreignDomain *string           // first foreign domain that passed
	// of the owner's first signature that passed where SPF did not; of the first broken one
	selectors  [2]int32
	traits     traits
	basisIndex uint8 // what the service is known by, see bases
}

// bases are the possible values of how a service was identified, indexed by tally.by.
var bases = append([]provider.Basis{""}, provider.BasisDKIM, provider.BasisEnvelope, provider.BasisPTR)

func (t *tally) basis() provider.Basis { return bases[t.basisIndex] }

func (t *tally) setService(s *provider.Service, basis provider.Basis) {
	t.service, t.basisIndex = s, uint8(slices.Index(bases, basis))
}

func (t *tally) name() string { return addressText(t.ip, kit.OrZero(t.text)) }

// foreignName returns the foreign domain that mail of the source is authenticated for; empty without one.
func (t *tally) foreignName() string { return kit.OrZero(t.foreignDomain) }

// vote counts messages for the service that they identify, or for no service: the majority is kept (Boyer–Moore
// majority vote), since single messages may identify another one.
func (t *tally) vote(o *observation, n int64) {
	switch {
	case t.service == o.service:
		t.votes += n
	case t.votes >= n:
		t.votes -= n
	default:
		t.votes = n - t.votes
		t.setService(o.service, o.basis)
	}
}

// talliesPerChunk is the number of tallies per allocation.
const talliesPerChunk = 1024

// tallies is a list that does not move what is in it, and never has a second copy of it while it grows.
type tallies struct {
	chunks [][]tally
	count  int
}

func (l *tallies) add(t tally) int32 {
	if l.count%talliesPerChunk == 0 {
		l.chunks = append(l.chunks, make([]tally, 0, min(talliesPerChunk, max(16, l.count))))
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, t)
	l.count++
	return int32(l.count - 1)
}

func (l *tallies) at(i int32) *tally { return &l.chunks[i/talliesPerChunk][i%talliesPerChunk] }

func (l *tallies) all() iter.Seq[*tally] {
	return func(yield func(*tally) bool) {
		for i := range int32(l.count) {
			if !yield(l.at(i)) {
				return
			}
		}
	}
}

// counts are messages by key, with a bounded number of keys. Once that is reached, a key with more messages replaces
// the smallest.
type counts[K comparable] struct {
	list  []count[K]
	total int64
}

type count[K comparable] struct {
	key K
	n   int64
}

// add counts messages; for the zero value of K it does nothing.
func (c *counts[K]) add(what K, n int64) { c.addLimited(maxListed, what, n) }

func (c *counts[K]) addLimited(most int, what K, n int64) {
	var zero K
	if what == zero {
		return
	}
	c.total += n
	least := 0
	for i := range c.list {
		if c.list[i].key == what {
			c.list[i].n += n
			return
		}
		if c.list[i].n < c.list[least].n {
			least = i
		}
	}
	switch {
	case len(c.list) < most:
		c.list = append(c.list, count[K]{what, n})
	case c.list[least].n < n:
		c.list[least] = count[K]{what, n}
	}
}

// sorted lists the counts, the largest first, those of one size as they were met.
func (c *counts[K]) sorted() []count[K] {
	list := slices.Clone(c.list)
	slices.SortStableFunc(list, func(a, b count[K]) int { return cmp.Compare(b.n, a.n) })
	return list
}

func (c *counts[K]) names() []K {
	return kit.Map(c.sorted(), func(one count[K]) K { return one.key })
}
