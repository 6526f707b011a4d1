package resolver_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
)

// stormy loses, delays, doubles, reorders and forges replies, by a seed.
func stormy(seed uint64) handler {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	var held [][]byte
	return func(q *dns.Msg) [][]byte {
		mu.Lock()
		defer mu.Unlock()
		good := reply(q)
		forged := reply(q, func(m *dns.Msg) { m.Question[0].Name, m.Answer[0].Header().Name = "x.example.", "x.example." })
		switch random.IntN(10) {
		case 0:
			return nil
		case 1:
			return [][]byte{good, good}
		case 2:
			return [][]byte{forged, good}
		case 3, 4:
			held = append(held, good)
			return nil
		case 5:
			late := append(held, good)
			held = nil
			return late
		}
		return [][]byte{good}
	}
}

// However bad the weather, a question is answered rightly or not at all.
func TestStorm(t *testing.T) {
	for _, transport := range []resolver.Transport{resolver.UDP, resolver.TCP} {
		t.Run(string(transport), func(t *testing.T) {
			f := serve(t, stormy(1), stormy(2))
			c := newClient(t, f.server(transport))
			c.Timeout, c.Attempts, c.Case0x20 = 20*time.Millisecond, 3, true
			var answered atomic.Int32
			many(40, 25, func(name string, random *rand.Rand) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(60))*time.Millisecond)
				defer cancel()
				q := new(dns.Msg).SetQuestion(name, dns.TypeA)
				m, err := c.Exchange(ctx, q)
				if err == nil && assert.Len(t, m.Answer, 1) {
					assert.Equal(t, name, m.Answer[0].Header().Name)
					answered.Add(1)
				}
			})
			assert.Positive(t, answered.Load())
		})
	}
}

// Half of the callers leave at random. No other caller is forgotten when the common reader has left: without loss,
// each is answered long before its timeout.
func TestNobodyIsForgotten(t *testing.T) {
	f := serve(t, healthy, healthy)
	for _, transport := range []resolver.Transport{resolver.UDP, resolver.TCP} {
		t.Run(string(transport), func(t *testing.T) {
			c := newClient(t, f.server(transport))
			c.Timeout, c.Attempts = time.Minute, 1
			began := time.Now()
			many(40, 50, func(name string, random *rand.Rand) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				leaves := random.IntN(2) == 0
				if leaves {
					time.AfterFunc(time.Duration(random.IntN(300))*time.Microsecond, cancel)
				}
				_, err := c.Exchange(ctx, new(dns.Msg).SetQuestion(name, dns.TypeA))
				if err != nil {
					assert.Equal(t, context.Canceled, err)
					assert.True(t, leaves)
				}
			})
			assert.Less(t, time.Since(began), 30*time.Second)
		})
	}
}

// many calls a function with different names from several goroutines concurrently.
func many(workers, each int, call func(name string, random *rand.Rand)) {
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(3, uint64(i)))
			for k := range each {
				call(fmt.Sprintf("n%d-%d.example.", i, k), random)
			}
		})
	}
	group.Wait()
}
