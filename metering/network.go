package metering

import (
	"encoding/binary"
	"net/netip"
	"sync"
)

// Unauthenticated clients are counted by their networks: an address costs nothing where a customer is given many of
// them. Widths are the lengths of the prefixes by which an address is counted, the smallest network first, and shares
// how many times what the smallest may the others may together. A site is given a /48 or a /56 (RFC 6177), a hoster's
// customer often a /24.
var (
	ipv4Widths    = []int{32, 24}
	ipv6Widths    = []int{64, 56, 48}
	networkShares = []int64{1, 4, 8}
)

// Networks returns the networks by which an address is counted, the smallest first: /32 and /24 of IPv4, also where it
// is mapped, /64, /56 and /48 of IPv6. All invalid addresses are in one network.
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

// A NetworkCount bounds how many of a resource, such as connections, the networks of unauthenticated clients hold at
// once: a single network, however large, leaves room for the others. With exported fields only, it is ready for use;
// it must not be copied.
type NetworkCount struct {
	All  int // how many all may hold together
	Each int // the limit of the smallest network; a larger one may hold 4 or 8 times as many, at most a quarter of All

	mu   sync.Mutex
	held map[uint64]int // by the key of the network
	all  int
}

// Take counts one more for an address. It is false where a network of its holds all that it may, or all do together;
// otherwise release must be called once.
func (c *NetworkCount) Take(ip netip.Addr) (release func(), ok bool) {
	h := c.Open(ip)
	return h.Release, h.Add(1)
}

// Open returns the share of an address in a count, which is empty at first.
func (c *NetworkCount) Open(ip netip.Addr) *NetworkHold {
	return &NetworkHold{count: c, networks: keysOf(ip)}
}

// A NetworkHold is a share of a [NetworkCount] that grows while it is held, such as a message that arrives.
type NetworkHold struct {
	count    *NetworkCount
	networks ipKeys
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
	width := 0
	for _, network := range h.networks {
		if network == 0 {
			continue
		}
		if c.held[network]+n > c.limitOf(width) {
			return false
		}
		width++
	}
	h.add(n)
	return true
}

// Release gives everything back. Doing so again does nothing.
func (h *NetworkHold) Release() {
	c := h.count
	c.mu.Lock()
	defer c.mu.Unlock()
	h.add(-h.n)
}

// limitOf returns the limit of a network of a width.
func (c *NetworkCount) limitOf(width int) int {
	if width == 0 {
		return c.Each
	}
	return max(c.Each, min(c.Each*int(networkShares[width]), c.All/4))
}

func (h *NetworkHold) add(n int) {
	c := h.count
	if c.held == nil {
		c.held = map[uint64]int{}
	}
	h.n += n
	c.all += n
	for _, network := range h.networks {
		switch left := c.held[network] + n; {
		case network == 0:
		case left == 0:
			delete(c.held, network)
		default:
			c.held[network] = left
		}
	}
}

// Held returns how many are held at the moment.
func (c *NetworkCount) Held() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

// ipKeys are the networks of an address as numbers; 0 if absent.
type ipKeys [3]uint64

// The first bytes of keys that are no /64. None of them begins the address of a source: multicast (ff00::/8), and what
// is not in use (fe00::/9, fc00::/8).
const (
	ipv4Key    = 0xffffffff << 32 // and the address
	ipv4Site   = 0xfffffffe << 32 // and 24 bits
	ipv6Site   = 0xfe << 56       // and 48 bits
	ipv6Home   = 0xfc << 56       // and 56 bits
	invalidKey = 0xff << 56
)

// keysOf returns the networks of an address, see [Networks]: a /64 as it is. An IPLimiter has the rate of a /48 for a
// /24.
func keysOf(ip netip.Addr) ipKeys {
	ip = ip.Unmap()
	switch {
	case !ip.IsValid():
		return ipKeys{invalidKey}
	case ip.Is4():
		a := ip.As4()
		n := uint64(binary.BigEndian.Uint32(a[:]))
		return ipKeys{ipv4Key | n, 0, ipv4Site | n>>8}
	}
	a := ip.As16()
	n := binary.BigEndian.Uint64(a[:8])
	if n == 0 { // the networks of :: and ::1
		return ipKeys{invalidKey | 1}
	}
	return ipKeys{n, ipv6Home | n>>8, ipv6Site | n>>16}
}
