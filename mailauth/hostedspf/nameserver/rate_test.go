package nameserver

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRate(t *testing.T) {
	now := time.Now()
	l := newLimiter(10, now)
	count := func(n int, address string) (sent map[ruling]int) {
		sent = map[ruling]int{}
		for i := range n {
			ip := netip.MustParseAddr(fmt.Sprintf(address, i%200+1))
			sent[l.rule(ip, "a.example.", 1, now)]++
		}
		return sent
	}
	assert.Equal(t, map[ruling]int{send: 10, truncated: 10, drop: 10}, count(30, "192.0.2.%d"), "one network")
	assert.Equal(t, map[ruling]int{send: 10}, count(10, "198.51.100.%d"), "another")
	assert.Equal(t, map[ruling]int{send: 10, truncated: 5, drop: 5}, count(20, "2001:db8:0:%d::1"))
	assert.Equal(t, map[ruling]int{drop: 5, truncated: 5}, count(10, "::ffff:192.0.2.%d"), "mapped is the same network")

	now = now.Add(300 * time.Millisecond)
	assert.Equal(t, 3, count(20, "192.0.2.%d")[send], "it fills again")
	now = now.Add(time.Hour)
	assert.Equal(t, 10, count(20, "192.0.2.%d")[send], "but not beyond a second's worth")

	l = newLimiter(-1, now)
	assert.Equal(t, map[ruling]int{send: 1000}, count(1000, "192.0.2.%d"))
	l = newLimiter(0, now)
	assert.Equal(t, DefaultRate, count(1000, "192.0.2.%d")[send])
}
