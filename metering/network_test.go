package metering

import (
	"fmt"
	"net/netip"
	"testing"
)

func TestNetworks(t *testing.T) {
	for ip, want := range map[string]string{
		"192.0.2.7":                  "[192.0.2.7/32 192.0.2.0/24]",
		"::ffff:192.0.2.7":           "[192.0.2.7/32 192.0.2.0/24]",
		"2001:db8:1:2345:6::7":       "[2001:db8:1:2345::/64 2001:db8:1:2300::/56 2001:db8:1::/48]",
		"fe80::1%eth0":               "[fe80::/64 fe80::/56 fe80::/48]",
		"2001:db8:ffff:ffff:ffff::1": "[2001:db8:ffff:ffff::/64 2001:db8:ffff:ff00::/56 2001:db8:ffff::/48]",
	} {
		equal(t, want, fmt.Sprint(Networks(netip.MustParseAddr(ip))))
	}
	equal(t, 1, len(Networks(netip.Addr{})))
}

// Two addresses are in one network or not: of the smallest, the next and the largest. IPv4 has no next.
func TestKeysOf(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want [3]bool
	}{
		{"192.0.2.7", "192.0.2.7", [3]bool{true, true, true}},
		{"192.0.2.7", "::ffff:192.0.2.7", [3]bool{true, true, true}},
		{"192.0.2.7", "192.0.2.8", [3]bool{false, true, true}},
		{"192.0.2.7", "192.0.3.7", [3]bool{false, true, false}},
		{"192.0.2.7", "2001:db8::c000:207", [3]bool{}},
		{"fe80::1", "fe80::1%eth0", [3]bool{true, true, true}},
		{"2001:db8:1:2345:6::7", "2001:db8:1:2345::", [3]bool{true, true, true}},
		{"2001:db8:1:2345::7", "2001:db8:1:23ff::7", [3]bool{false, true, true}},
		{"2001:db8:1:2345::7", "2001:db8:1:2445::7", [3]bool{false, false, true}},
		{"2001:db8:1:2345::7", "2001:db8:2:2345::7", [3]bool{}},
	} {
		a, b := keysOf(netip.MustParseAddr(tt.a)), keysOf(netip.MustParseAddr(tt.b))
		equal(t, tt.want, [3]bool{a[0] == b[0], a[1] == b[1], a[2] == b[2]}, tt.a, tt.b)
	}
	equal(t, ipKeys{invalidKey}, keysOf(netip.Addr{}))
}

// No network holds so much that others find no room, and a released share can be taken again.
func TestNetworkCount(t *testing.T) {
	for name, c := range map[string]struct {
		address func(n int) netip.Addr
		want    int
	}{
		"one address":        {func(int) netip.Addr { return netip.MustParseAddr("192.0.2.1") }, 4},
		"a /24":              {func(n int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}) }, 16},
		"a /64":              {func(n int) netip.Addr { return netip.AddrFrom16([16]byte{0x20, 1, 15: byte(n)}) }, 4},
		"a /56":              {func(n int) netip.Addr { return netip.AddrFrom16([16]byte{0x20, 1, 7: byte(n)}) }, 16},
		"a /48":              {func(n int) netip.Addr { return netip.AddrFrom16([16]byte{0x20, 1, 6: byte(n)}) }, 16},
		"many /48s":          {func(n int) netip.Addr { return netip.AddrFrom16([16]byte{0x20, 1, 4: byte(n)}) }, 64},
		"many IPv4 networks": {func(n int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, byte(n), 1}) }, 64},
		"invalid":            {func(int) netip.Addr { return netip.Addr{} }, 4},
	} {
		t.Run(name, func(t *testing.T) {
			count := NetworkCount{All: 64, Each: 4}
			var held []func()
			for n := range 255 {
				if release, ok := count.Take(c.address(n)); ok {
					held = append(held, release)
				}
			}
			equal(t, c.want, len(held))
			equal(t, c.want, count.Held())
			held[0]()
			held[0]() // does nothing
			equal(t, c.want-1, count.Held())
			_, ok := count.Take(c.address(0))
			isTrue(t, ok)
			for _, release := range held[1:] {
				release()
			}
			equal(t, 1, count.Held())
		})
	}
}

// What an address holds grows within the bound of its networks, and is given back once.
func TestNetworkHold(t *testing.T) {
	count := NetworkCount{All: 100, Each: 20}
	count.Open(netip.MustParseAddr("192.0.2.1")).Release() // of nothing
	one := count.Open(netip.MustParseAddr("192.0.2.1"))
	isTrue(t, one.Add(15))
	isTrue(t, !one.Add(6))
	isTrue(t, one.Add(5))
	neighbour := count.Open(netip.MustParseAddr("192.0.2.2"))
	isTrue(t, !neighbour.Add(6)) // the /24 has a quarter of all
	isTrue(t, neighbour.Add(5))
	equal(t, 25, count.Held())
	one.Release()
	one.Release()
	equal(t, 5, count.Held())
	isTrue(t, neighbour.Add(15))
	neighbour.Release()
	equal(t, 0, len(count.held))
}

// BenchmarkNetworkCount counts a request of an address.
func BenchmarkNetworkCount(b *testing.B) {
	for _, text := range []string{"192.0.2.1", "2001:db8::1"} {
		b.Run(text, func(b *testing.B) {
			c := NetworkCount{All: 1000, Each: 100}
			ip := netip.MustParseAddr(text)
			b.ReportAllocs()
			for b.Loop() {
				release, ok := c.Take(ip)
				if !ok {
					b.Fatal("refused")
				}
				release()
			}
		})
	}
}
