//go:build !race || nightly

package metering

// The race detector makes these many times slower, and nothing in them runs at once but what other tests race.

import (
	"testing"
	"unsafe"
)

func TestIPLimiterMemoryIsBounded(t *testing.T) {
	equal(t, 16, unsafe.Sizeof(ipSlot{}))
	var l IPLimiter
	grown := flood(&l, 8*defaultIPSize)
	t.Logf("%d addresses: %d bytes allocated, %.1f per slot", 8*defaultIPSize, grown, float64(grown)/defaultIPSize)
	isTrue(t, grown < 20*defaultIPSize, "%d bytes", grown)
}
