package spf

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// A Set is a set of addresses of both families. Its zero value is empty. Sets are values: methods
// return a new one and leave their operands as they are.
type Set struct {
	v4, v6 []span // in order, with a gap between each two
}

// A span holds the addresses from one to another of the same family, both included.
type span struct{ from, to netip.Addr }

func spanOf(p netip.Prefix) span {
	from := p.Masked().Addr()
	b := from.As16()
	for i := 128 - from.BitLen() + p.Bits(); i < 128; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	to := netip.AddrFrom16(b)
	if from.Is4() {
		to = to.Unmap()
	}
	return span{from, to}
}

var everything = SetOf(netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0))

// SetOf returns the addresses of networks; what is not valid among them is left out. An IPv4 network
// in the form of IPv6 is one of IPv6, for that is how it stands in a record (RFC 7208 section 5).
func SetOf(networks ...netip.Prefix) Set {
	var s Set
	for _, p := range networks {
		switch {
		case !p.IsValid():
		case p.Addr().Is4():
			s.v4 = append(s.v4, spanOf(p))
		default:
			s.v6 = append(s.v6, spanOf(p))
		}
	}
	byFirst := func(a, b span) int { return a.from.Compare(b.from) }
	slices.SortFunc(s.v4, byFirst)
	slices.SortFunc(s.v6, byFirst)
	return Set{joined(s.v4), joined(s.v6)}
}

// joined joins spans in order that touch. It changes the list.
func joined(list []span) []span {
	n := 0
	for _, s := range list {
		if n > 0 && (!list[n-1].to.Less(s.from) || s.from == list[n-1].to.Next()) {
			if list[n-1].to.Less(s.to) {
				list[n-1].to = s.to
			}
			continue
		}
		list[n] = s
		n++
	}
	return list[:n]
}

// Union returns the addresses that are in one of the sets.
func (s Set) Union(t Set) Set { return Set{union(s.v4, t.v4), union(s.v6, t.v6)} }

func union(a, b []span) []span {
	list := make([]span, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if !b[0].from.Less(a[0].from) {
			list, a = append(list, a[0]), a[1:]
		} else {
			list, b = append(list, b[0]), b[1:]
		}
	}
	return joined(append(append(list, a...), b...))
}

// Minus returns the addresses of s that are not in t.
func (s Set) Minus(t Set) Set { return Set{minus(s.v4, t.v4), minus(s.v6, t.v6)} }

func minus(list, holes []span) []span {
	var left []span
	for _, s := range list {
		for len(holes) > 0 && holes[0].to.Less(s.from) {
			holes = holes[1:]
		}
		empty := false
		for _, h := range holes {
			if s.to.Less(h.from) {
				break
			}
			if s.from.Less(h.from) {
				left = append(left, span{s.from, h.from.Prev()})
			}
			if empty = !h.to.Less(s.to); empty {
				break
			}
			s.from = h.to.Next()
		}
		if !empty {
			left = append(left, s)
		}
	}
	return left
}

func (s Set) intersect(t Set) Set { return s.Minus(s.Minus(t)) }

// IsEmpty reports whether there is no address in the set.
func (s Set) IsEmpty() bool { return len(s.v4) == 0 && len(s.v6) == 0 }

// Equal reports whether two sets hold the same addresses.
func (s Set) Equal(t Set) bool { return slices.Equal(s.v4, t.v4) && slices.Equal(s.v6, t.v6) }

// Contains reports whether an address is in the set.
func (s Set) Contains(a netip.Addr) bool {
	list := s.v6
	if a.Is4() {
		list = s.v4
	}
	i, found := slices.BinarySearchFunc(list, a, func(s span, a netip.Addr) int { return s.from.Compare(a) })
	return found || i > 0 && !list[i-1].to.Less(a)
}

func (s Set) count4() int64 {
	var n int64
	for _, one := range s.v4 {
		from, to := one.from.As4(), one.to.As4()
		n += int64(binary.BigEndian.Uint32(to[:])-binary.BigEndian.Uint32(from[:])) + 1
	}
	return n
}

// Prefixes returns the fewest networks that make up the set, IPv4 first, in order.
func (s Set) Prefixes() []netip.Prefix {
	list := []netip.Prefix{}
	for _, one := range slices.Concat(s.v4, s.v6) {
		list = appendPrefixes(list, one)
	}
	return list
}

// Prefixes4 returns the fewest IPv4 networks that make up those of the set, in order.
func (s Set) Prefixes4() []netip.Prefix { return Set{v4: s.v4}.Prefixes() }

// Prefixes6 returns the fewest IPv6 networks that make up those of the set, in order.
func (s Set) Prefixes6() []netip.Prefix { return Set{v6: s.v6}.Prefixes() }

// appendPrefixes cuts a span into networks: each time the largest that begins where the span does.
func appendPrefixes(list []netip.Prefix, s span) []netip.Prefix {
	for {
		p := netip.PrefixFrom(s.from, s.from.BitLen())
		last := s.from
		for p.Bits() > 0 {
			wider := netip.PrefixFrom(s.from, p.Bits()-1)
			all := spanOf(wider)
			if all.from != s.from || s.to.Less(all.to) {
				break
			}
			p, last = wider, all.to
		}
		if list = append(list, p); last == s.to {
			return list
		}
		s.from = last.Next()
	}
}
