package spf

import (
	"math/bits"
	"net/netip"
	"slices"
)

// A Set is a set of addresses of both families. Its zero value is empty. Sets are values: methods
// return a new one and leave their operands as they are.
type Set struct {
	v4, v6 []span // in order, with a gap between each two
}

// A span holds the addresses from one to another of the same family, both included.
type span struct{ from, to number }

// A number is an address as a number; that of IPv4 fills the low 32 bits.
type number struct{ high, low uint64 }

func (n number) compare(m number) int {
	switch {
	case n.high != m.high:
		return cmpUint(n.high, m.high)
	default:
		return cmpUint(n.low, m.low)
	}
}

func cmpUint(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// next returns the number after n; after the last it is 0.
func (n number) next() number {
	low, carry := bits.Add64(n.low, 1, 0)
	return number{n.high + carry, low}
}

func (n number) previous() number {
	low, borrow := bits.Sub64(n.low, 1, 0)
	return number{n.high - borrow, low}
}

// or sets the lowest bits.
func (n number) or(count int) number {
	if count >= 64 {
		return number{n.high | (1<<(count-64) - 1), ^uint64(0)}
	}
	return number{n.high, n.low | (1<<count - 1)}
}

func numberOf(a netip.Addr) number {
	if a.Is4() {
		b := a.As4()
		return number{0, uint64(b[0])<<24 | uint64(b[1])<<16 | uint64(b[2])<<8 | uint64(b[3])}
	}
	b := a.As16()
	var n number
	for i := range 8 {
		n.high, n.low = n.high<<8|uint64(b[i]), n.low<<8|uint64(b[8+i])
	}
	return n
}

func (n number) address(v4 bool) netip.Addr {
	if v4 {
		return netip.AddrFrom4([4]byte{byte(n.low >> 24), byte(n.low >> 16), byte(n.low >> 8), byte(n.low)})
	}
	var b [16]byte
	for i := range 8 {
		b[i], b[8+i] = byte(n.high>>(56-8*i)), byte(n.low>>(56-8*i))
	}
	return netip.AddrFrom16(b)
}

// everything is the set of all addresses.
var everything = Set{v4: []span{{to: number{0, 1<<32 - 1}}}, v6: []span{{to: number{^uint64(0), ^uint64(0)}}}}

// SetOf returns the addresses of networks; what is not valid among them is left out. An IPv4 network
// in the form of IPv6 is one of IPv6, for that is how it stands in a record (RFC 7208 section 5).
func SetOf(networks ...netip.Prefix) Set {
	var s Set
	for _, p := range networks {
		if !p.IsValid() {
			continue
		}
		p = p.Masked()
		from := numberOf(p.Addr())
		one := span{from, from.or(p.Addr().BitLen() - p.Bits())}
		if p.Addr().Is4() {
			s.v4 = append(s.v4, one)
		} else {
			s.v6 = append(s.v6, one)
		}
	}
	s.v4, s.v6 = merged(s.v4), merged(s.v6)
	return s
}

// merged sorts spans and joins those that touch. It may change the list.
func merged(list []span) []span {
	slices.SortFunc(list, func(a, b span) int { return a.from.compare(b.from) })
	return joined(list)
}

// joined joins spans in order that touch. It changes the list.
func joined(list []span) []span {
	n := 0
	for _, s := range list {
		if n > 0 && (s.from.compare(list[n-1].to) <= 0 || s.from == list[n-1].to.next()) {
			if s.to.compare(list[n-1].to) > 0 {
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

// union merges two lists in order.
func union(a, b []span) []span {
	list := make([]span, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].from.compare(b[0].from) <= 0 {
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
		for len(holes) > 0 && holes[0].to.compare(s.from) < 0 {
			holes = holes[1:]
		}
		empty := false
		for _, h := range holes {
			if h.from.compare(s.to) > 0 {
				break
			}
			if h.from.compare(s.from) > 0 {
				left = append(left, span{s.from, h.from.previous()})
			}
			if empty = h.to.compare(s.to) >= 0; empty {
				break
			}
			s.from = h.to.next()
		}
		if !empty {
			left = append(left, s)
		}
	}
	return left
}

// Intersect returns the addresses that are in both sets.
func (s Set) Intersect(t Set) Set { return s.Minus(s.Minus(t)) }

// IsEmpty reports whether there is no address in the set.
func (s Set) IsEmpty() bool { return len(s.v4) == 0 && len(s.v6) == 0 }

// Equal reports whether two sets hold the same addresses.
func (s Set) Equal(t Set) bool { return slices.Equal(s.v4, t.v4) && slices.Equal(s.v6, t.v6) }

// Contains reports whether an address is in the set.
func (s Set) Contains(a netip.Addr) bool {
	list, n := s.v6, numberOf(a)
	if a.Is4() {
		list = s.v4
	}
	i, found := slices.BinarySearchFunc(list, n, func(s span, n number) int { return s.from.compare(n) })
	return found || i > 0 && n.compare(list[i-1].to) <= 0
}

// Count4 returns the number of IPv4 addresses, from 0 to 4294967296.
func (s Set) Count4() int64 {
	var n int64
	for _, one := range s.v4 {
		n += int64(one.to.low-one.from.low) + 1
	}
	return n
}

// Prefixes returns the fewest networks that make up the set, IPv4 first, in order.
func (s Set) Prefixes() []netip.Prefix {
	list := []netip.Prefix{}
	for _, one := range s.v4 {
		list = appendPrefixes(list, one, true)
	}
	for _, one := range s.v6 {
		list = appendPrefixes(list, one, false)
	}
	return list
}

// Prefixes4 and Prefixes6 return those of one family.
func (s Set) Prefixes4() []netip.Prefix { return Set{v4: s.v4}.Prefixes() }

// Prefixes6 returns the fewest IPv6 networks that make up those of the set, in order.
func (s Set) Prefixes6() []netip.Prefix { return Set{v6: s.v6}.Prefixes() }

// appendPrefixes cuts a span into networks: each time the largest that begins where the span does.
func appendPrefixes(list []netip.Prefix, s span, v4 bool) []netip.Prefix {
	width := 128
	if v4 {
		width = 32
	}
	for {
		free := min(trailingZeros(s.from), width)
		for s.from.or(free).compare(s.to) > 0 {
			free--
		}
		list = append(list, netip.PrefixFrom(s.from.address(v4), width-free))
		last := s.from.or(free)
		if last == s.to {
			return list
		}
		s.from = last.next()
	}
}

func trailingZeros(n number) int {
	if n.low != 0 {
		return bits.TrailingZeros64(n.low)
	}
	return 64 + bits.TrailingZeros64(n.high)
}
