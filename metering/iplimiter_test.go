package metering

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestIPLimiterDefaults(t *testing.T) {
	var l IPLimiter
	ip := netip.MustParseAddr("192.0.2.1")
	for i := range defaultIPLimit {
		d := l.Take(ip, noon)
		isTrue(t, d.Allowed)
		equal(t, defaultIPLimit-1-i, d.Remaining)
	}
	d := l.Take(ip, noon)
	equal(t, Decision{Limit: 120, Reset: time.Minute, RetryAfter: 500 * time.Millisecond}, d)
	isTrue(t, l.Take(ip, noon.Add(d.RetryAfter)).Allowed)
	isTrue(t, l.Take(netip.MustParseAddr("192.0.2.2"), noon).Allowed, "another address has its own bucket")
}

func TestIPLimiterGroups(t *testing.T) {
	for name, c := range map[string]struct {
		first, second string
		shared        bool
	}{
		"IPv4 by address":           {"192.0.2.1", "192.0.2.2", false},
		"IPv4 mapped":               {"192.0.2.1", "::ffff:192.0.2.1", true},
		"IPv6 within a /64":         {"2001:db8::1", "2001:db8::ffff:1", true},
		"IPv6 zone":                 {"fe80::1%eth0", "fe80::1%eth1", true},
		"IPv6 of neighbouring /64s": {"2001:db8:0:1::1", "2001:db8:0:2::1", false},
		"IPv6 that looks like IPv4": {"192.0.2.1", "0:0:c000:201::", false},
		"IPv6 unspecified":          {"0.0.0.0", "::", false},
	} {
		t.Run(name, func(t *testing.T) {
			l := IPLimiter{Limit: 1}
			isTrue(t, l.Take(netip.MustParseAddr(c.first), noon).Allowed)
			equal(t, !c.shared, l.Take(netip.MustParseAddr(c.second), noon).Allowed)
		})
	}
	t.Run("invalid", func(t *testing.T) {
		l := IPLimiter{Limit: 1}
		isTrue(t, l.Take(netip.Addr{}, noon).Allowed)
		isTrue(t, !l.Take(netip.Addr{}, noon).Allowed)
	})
}

// A site cannot win tokens by the number of its networks, and a good key gives back both tokens.
func TestIPLimiterSites(t *testing.T) {
	network := func(site, n int) netip.Addr {
		a := netip.MustParseAddr("2001:db8::1").As16()
		a[5], a[6], a[7] = byte(site), byte(n>>8), byte(n)
		return netip.AddrFrom16(a)
	}
	l := IPLimiter{Limit: 10}
	for n := range 10 * 8 { // each in a separate /56
		isTrue(t, l.Take(network(1, n<<8), noon).Allowed)
	}
	for n := range 1000 {
		d := l.Take(network(1, n<<8), noon)
		isTrue(t, !d.Allowed && d.RetryAfter > 0)
	}
	isTrue(t, l.Take(network(2, 1), noon).Allowed, "another site")
	full := l.Take(network(1, 5000), noon.Add(l.Take(network(1, 5000), noon).RetryAfter))
	equal(t, 9, full.Remaining, "what the site refused took no token of the network")

	l = IPLimiter{Limit: 10}
	for n := range 10 * 4 { // in one /56
		isTrue(t, l.Take(network(1, n), noon).Allowed)
	}
	isTrue(t, !l.Take(network(1, 200), noon).Allowed)
	isTrue(t, l.Take(network(1, 1<<8), noon).Allowed, "another /56")

	l = IPLimiter{Limit: 10}
	for n := range byte(10 * 8) { // in one /24
		isTrue(t, l.Take(netip.AddrFrom4([4]byte{192, 0, 2, n}), noon).Allowed)
	}
	isTrue(t, !l.Take(netip.AddrFrom4([4]byte{192, 0, 2, 200}), noon).Allowed)
	isTrue(t, l.Take(netip.AddrFrom4([4]byte{192, 0, 3, 1}), noon).Allowed, "another /24")

	l = IPLimiter{Limit: 1}
	for n := range 1000 {
		isTrue(t, l.Take(network(1, n), noon).Allowed)
		l.Refund(network(1, n), noon)
	}
}

func TestIPLimiterRefund(t *testing.T) {
	l := IPLimiter{Limit: 2}
	ip := netip.MustParseAddr("2001:db8::1")
	l.Refund(ip, noon) // nothing was taken
	for range 1000 {
		isTrue(t, l.Take(ip, noon).Allowed)
		l.Refund(ip, noon)
	}
	isTrue(t, l.Take(ip, noon).Allowed)
	isTrue(t, l.Take(ip, noon).Allowed)
	isTrue(t, !l.Take(ip, noon).Allowed)
}

func TestIPLimiterClockSetBack(t *testing.T) {
	l := IPLimiter{Limit: 60}
	ip := netip.MustParseAddr("192.0.2.1")
	isTrue(t, l.Take(ip, noon).Allowed)
	before := noon.Add(-time.Hour)
	equal(t, time.Second, l.Take(ip, before).RetryAfter)
	second := before.Add(time.Second)
	second = second.Add(l.Take(ip, second).RetryAfter) // of its network, whose bucket is as empty
	isTrue(t, l.Take(ip, second).Allowed)
}

// address returns the n-th IPv4 address.
func address(n uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}

// A full table must not admit a request that an infinite one would refuse (fail-open at capacity is how such limiters
// are defeated).
func TestIPLimiterNeverFailsOpen(t *testing.T) {
	small, endless := IPLimiter{Limit: 5, Size: 32}, make(map[netip.Addr]*Bucket)
	rng := rand.New(rand.NewPCG(1, 2))
	now, allowed, wrong := noon, 0, 0
	for range 200_000 {
		now = now.Add(time.Duration(rng.IntN(int(20 * time.Millisecond))))
		ip := address(uint32(rng.IntN(300)))
		if endless[ip] == nil {
			endless[ip] = new(Bucket)
		}
		if !small.Take(ip, now).Allowed {
			continue
		}
		allowed++
		if !endless[ip].Take(Policy{Limit: 5}, 1, now).Allowed {
			wrong++
		}
	}
	equal(t, 0, wrong, "of %d allowed", allowed)
	isTrue(t, allowed > 1000, "only %d were allowed: the test shows nothing", allowed)
}

// flood makes one request from each of ever new addresses, and returns how many bytes were ever allocated for them:
// nothing hides in garbage that way.
func flood(l *IPLimiter, addresses uint32) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range addresses {
		l.Take(address(i), noon.Add(time.Duration(i)*10*time.Microsecond))
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// BenchmarkIPLimiterTenMillion reports the memory use of ten million addresses: the table.
func BenchmarkIPLimiterTenMillion(b *testing.B) {
	const addresses = 10_000_000
	var grown uint64
	for b.Loop() {
		var l IPLimiter
		grown = flood(&l, addresses)
	}
	b.ReportMetric(float64(grown), "bytes")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/addresses, "ns/address")
}

func TestIPLimiterIsExactUnderContention(t *testing.T) {
	l := IPLimiter{Limit: 1009}
	ip := netip.MustParseAddr("2001:db8::1")
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 100 {
				if l.Take(ip, noon).Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	equal(t, 1009, allowed.Load())
}

func BenchmarkIPLimiter(b *testing.B) {
	for name, mask := range map[string]uint32{"one address": 0, "ever new addresses": 1<<32 - 1} {
		b.Run(name, func(b *testing.B) {
			var l IPLimiter
			l.Take(address(0), noon)
			b.ReportAllocs()
			i := uint32(0)
			for b.Loop() {
				i++
				l.Take(address(i&mask), noon.Add(time.Duration(i)*time.Microsecond))
			}
		})
	}
}
