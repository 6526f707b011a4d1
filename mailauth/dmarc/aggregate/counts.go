package aggregate

import (
	"cmp"
	"slices"
)

// counts are messages by something, of which a bounded number is told apart. Once there are as many, one that comes
// with more messages takes the place of the smallest.
type counts[K comparable] struct {
	list  []count[K]
	total int64
}

type count[K comparable] struct {
	what K
	n    int64
}

// add counts messages; for the zero value of K it does nothing.
func (c *counts[K]) add(what K, n int64) { c.addUpTo(maxListed, what, n) }

func (c *counts[K]) addUpTo(most int, what K, n int64) {
	var zero K
	if what == zero {
		return
	}
	c.total += n
	least := 0
	for i := range c.list {
		if c.list[i].what == what {
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
