package metering

import (
	"net/netip"
	"sync"
)

// Strangers are counted by the networks that they come from: an address costs nothing where a customer is given many of
// them. Widths are the lengths of the prefixes by which an address is counted, the smallest network first, and shares how
// many times what the smallest may the others may together. A site is given a /48 or a /56 (RFC 6177), a hoster's
// customer often a /24.
var (
	ipv4Widths    = []int{32, 24}
	ipv6Widths    = []int{64, 56, 48}
	networkShares = []int64{1, 4, 8}
)

// Networks are the networks by which an address is counted, the smallest first: /32 and /24 of IPv4, also where it is
// mapped, /64, /56 and /48 of IPv6. All addresses that are not valid are in one network.
func Networks(ip netip.Addr) []netip.Prefix {
	ip = ip.Unmap().WithZone("")
	widths := ipv6Widths
	switch {
	case !ip.IsValid():
		return []netip.Prefix{{}}
	case ip.Is4():
		widths = ipv4Widths
	}
	list := make([]netip.Prefix, len(widths))
	for i, bits := range widths {
		list[i], _ = ip.Prefix(bits)
	}
	return list
}

// A NetworkCount bounds how many of something the networks of strangers hold at once, such as connections: so that one
// network, however large, leaves room for the others. The zero value of what has no exported name is ready for use; it
// must not be copied.
type NetworkCount struct {
	All  int // how many all may hold together
	Each int // how many the smallest network may hold; a larger one 4 or 8 times as many, and at most a quarter of All

	mu   sync.Mutex
	held map[netip.Prefix]int
	all  int
}

// Take counts one more for an address. It is false where a network of its holds all that it may, or all do together;
// otherwise release must be called once.
func (c *NetworkCount) Take(ip netip.Addr) (release func(), ok bool) {
	h := c.Open(ip)
	return h.Release, h.Add(1)
}

// Open returns what an address holds of a count, which is nothing yet.
func (c *NetworkCount) Open(ip netip.Addr) *NetworkHold {
	return &NetworkHold{count: c, networks: Networks(ip)}
}

// A NetworkHold is what somebody holds of a [NetworkCount], where that grows while it is held, such as a message that
// arrives.
type NetworkHold struct {
	count    *NetworkCount
	networks []netip.Prefix
	n        int
}

// Add counts so many more, which must not be negative. It is false, and nothing is counted, where a network would hold
// more than it may, or all would together.
func (h *NetworkHold) Add(n int) bool {
	c := h.count
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all+n > c.All {
		return false
	}
	for i, network := range h.networks {
		if c.held[network]+n > c.most(i) {
			return false
		}
	}
	c.add(h.networks, n)
	h.n += n
	return true
}

// Release gives everything back. Doing so again does nothing.
func (h *NetworkHold) Release() {
	c := h.count
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(h.networks, -h.n)
	h.n = 0
}

// most is how many a network of a width may hold.
func (c *NetworkCount) most(width int) int {
	if width == 0 {
		return c.Each
	}
	return max(c.Each, min(c.Each*int(networkShares[width]), c.All/4))
}

func (c *NetworkCount) add(networks []netip.Prefix, n int) {
	if c.held == nil {
		c.held = map[netip.Prefix]int{}
	}
	c.all += n
	for _, network := range networks {
		if c.held[network] += n; c.held[network] == 0 {
			delete(c.held, network)
		}
	}
}

// Held is how many are held at the moment.
func (c *NetworkCount) Held() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}
