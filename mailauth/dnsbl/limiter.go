package dnsbl

import (
	"sync"
	"time"
)

// A limiter holds the rates of lists, for all who share an environment. It is a GCRA: each list has a time
// before which the next lookup is too early. It has an entry for each list with a rate, of which there are
// at most [maxLists] in a file.
type limiter struct {
	mu   sync.Mutex
	next map[string]time.Time
}

type limiterKey struct{}

func (l *limiter) take(list *List, now time.Time) bool {
	if list.Rate.Count == 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	interval := list.Rate.Per / time.Duration(list.Rate.Count)
	next := l.next[list.Zone+list.KeyedZone]
	if next.Before(now) {
		next = now
	}
	if next.Add(interval).Sub(now) > list.Rate.Per {
		return false
	}
	l.next[list.Zone+list.KeyedZone] = next.Add(interval)
	return true
}
