//go:build !race || nightly

package spf

// The race detector makes these tests many times slower, and other tests cover their concurrency.

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// Sets agree with the membership of single addresses, for many random networks.
func TestSetRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	network := func() netip.Prefix {
		if random.IntN(2) == 0 {
			a := netip.AddrFrom4([4]byte{192, 0, 2, byte(random.Uint32())})
			return netip.PrefixFrom(a, 24+random.IntN(9))
		}
		b := netip.MustParseAddr("2001:db8::").As16()
		b[15] = byte(random.Uint32())
		return netip.PrefixFrom(netip.AddrFrom16(b), 120+random.IntN(9))
	}
	contains := func(list []netip.Prefix, a netip.Addr) bool {
		for _, p := range list {
			if p.Contains(a) {
				return true
			}
		}
		return false
	}
	for range 300 {
		var x, y []netip.Prefix
		for range random.IntN(6) {
			x = append(x, network())
		}
		for range random.IntN(6) {
			y = append(y, network())
		}
		sx, sy := SetOf(x...), SetOf(y...)
		for i := range 256 {
			b := netip.MustParseAddr("2001:db8::").As16()
			b[15] = byte(i)
			for _, a := range []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), netip.AddrFrom16(b)} {
				inX, inY := contains(x, a), contains(y, a)
				require.Equal(t, inX, sx.Contains(a))
				require.Equal(t, inX || inY, sx.Union(sy).Contains(a))
				require.Equal(t, inX && !inY, sx.Minus(sy).Contains(a))
				require.Equal(t, inX && inY, sx.intersect(sy).Contains(a))
				require.Equal(t, inX, contains(sx.Prefixes(), a))
			}
		}
	}
}
