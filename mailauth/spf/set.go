package spf

import (
	"net/netip"
	"slices"

	"go4.org/netipx"
)

// A Set is a set of addresses of both families. Its zero value is empty. Sets are values: methods return a new one
// and do not modify their operands.
type Set struct{ ranges netipx.IPSet }

var everything = SetOf(netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0))

// SetOf returns the addresses of networks, ignoring invalid ones. An IPv4-mapped IPv6 network counts as IPv6, as it
// does in a record (RFC 7208 section 5).
func SetOf(networks ...netip.Prefix) Set {
	return Set{}.combined(func(b *netipx.IPSetBuilder) {
		for _, p := range networks {
			b.AddPrefix(p)
		}
	})
}

func (s Set) combined(change func(*netipx.IPSetBuilder)) Set {
	var b netipx.IPSetBuilder
	b.AddSet(&s.ranges)
	change(&b)
	set, _ := b.IPSet() // the error names the networks that are not valid
	return Set{*set}
}

// Union returns the addresses that are in one of the sets.
func (s Set) Union(t Set) Set {
	return s.combined(func(b *netipx.IPSetBuilder) { b.AddSet(&t.ranges) })
}

// Minus returns the addresses of s that are not in t.
func (s Set) Minus(t Set) Set {
	return s.combined(func(b *netipx.IPSetBuilder) { b.RemoveSet(&t.ranges) })
}

func (s Set) intersect(t Set) Set {
	return s.combined(func(b *netipx.IPSetBuilder) { b.Intersect(&t.ranges) })
}

// IsEmpty reports whether the set has no addresses.
func (s Set) IsEmpty() bool { return s.Equal(Set{}) }

// Equal reports whether two sets hold the same addresses.
func (s Set) Equal(t Set) bool { return s.ranges.Equal(&t.ranges) }

// Contains reports whether an address is in the set.
func (s Set) Contains(a netip.Addr) bool { return s.ranges.Contains(a) }

func (s Set) count4() int64 {
	var n int64
	for _, p := range s.Prefixes4() {
		n += 1 << (32 - p.Bits())
	}
	return n
}

// Prefixes returns the fewest networks that make up the set, IPv4 first, in order.
func (s Set) Prefixes() []netip.Prefix { return s.ranges.Prefixes() }

// Prefixes4 returns the fewest IPv4 networks that make up those of the set, in order.
func (s Set) Prefixes4() []netip.Prefix {
	return slices.DeleteFunc(s.Prefixes(), func(p netip.Prefix) bool { return p.Addr().Is6() })
}

// Prefixes6 returns the fewest IPv6 networks that make up those of the set, in order.
func (s Set) Prefixes6() []netip.Prefix {
	return slices.DeleteFunc(s.Prefixes(), func(p netip.Prefix) bool { return p.Addr().Is4() })
}
