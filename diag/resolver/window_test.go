package resolver

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A narrow server has a socket with room for a few datagrams, and drops what comes while it is full. It reads one after
// the other. Names that begin with "silent." it never answers, those with "slow." late.
type narrow struct {
	room    int
	service time.Duration // the time that one query takes
	latency time.Duration

	queue   chan func()
	first   sync.Map // when a name was asked for first
	dropped atomic.Int32
	asked   atomic.Int32
}

// client is one that asks the server, which ends with the test.
func (n *narrow) client(t *testing.T) *Client {
	n.queue = make(chan func(), n.room)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case answer := <-n.queue:
				<-time.After(n.service)
				answer()
			case <-ctx.Done():
				return
			}
		}
	})
	c := &Client{Servers: []Server{{Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.53")}}}}
	set, err := c.upstreams()
	require.NoError(t, err)
	set.list[0].udp = newPool(datagrams, n.dial)
	t.Cleanup(func() {
		c.Close()
		cancel()
		group.Wait()
		synctest.Wait()
	})
	return c
}

func (n *narrow) dial(context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	replies := make(chan []byte, datagrams.room) // unread ones are lost
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case message := <-replies:
				server.Write(message)
			case <-ended:
				return
			}
		}
	}()
	go func() {
		defer close(ended)
		defer server.Close()
		for {
			buf := make([]byte, 512)
			size, err := server.Read(buf)
			if err != nil {
				return
			}
			n.asked.Add(1)
			select {
			case n.queue <- func() { n.answer(replies, buf[:size]) }:
			default:
				n.dropped.Add(1)
			}
		}
	}()
	return client, nil
}

func (n *narrow) answer(replies chan<- []byte, message []byte) {
	delay := n.latency
	name := string(message[headerLen+1:])
	switch {
	case strings.HasPrefix(name, "silent"):
		return
	case strings.HasPrefix(name, "slow"):
		first, _ := n.first.LoadOrStore(name, time.Now())
		delay += max(0, 2200*time.Millisecond-time.Since(first.(time.Time)))
	}
	message[2] |= bitQR
	time.AfterFunc(delay, func() {
		select {
		case replies <- message:
		default:
		}
	})
}

// examine queries many domains, so many concurrently, as their checks do: in dependent steps of a dozen concurrent
// queries each. It returns how long that takes, and how many queries had no answer.
func examine(t *testing.T, c *Client, parallel, domains int, prefix func(domain int) string) (time.Duration, int) {
	var group sync.WaitGroup
	var failed atomic.Int32
	todo := make(chan int)
	began := time.Now()
	for range parallel {
		group.Go(func() {
			for i := range todo {
				for step := range 5 {
					var questions sync.WaitGroup
					for k := range 24 {
						questions.Go(func() {
							q := new(dns.Msg).SetQuestion(fmt.Sprintf("%sn%d-%d.d%d.example.", prefix(i), step, k, i), dns.TypeA)
							if _, err := c.Exchange(t.Context(), q); err != nil {
								failed.Add(1)
							}
						})
					}
					questions.Wait()
				}
			}
		})
	}
	for i := range domains {
		todo <- i
	}
	close(todo)
	group.Wait()
	return time.Since(began), int(failed.Load())
}

func always(int) string { return "" }

// More concurrent queries are never slower than a few, and lose nothing that the server has room for.
func TestMoreAtOnceIsNotSlower(t *testing.T) {
	tests := []struct {
		name   string
		server *narrow
		prefix func(int) string
		failed int // at most, of 3,840 questions and more
	}{
		{"default room", &narrow{room: 256, service: 100 * time.Microsecond}, always, 0},
		{"less room", &narrow{room: 90, service: 100 * time.Microsecond}, always, 0},
		{"far away", &narrow{room: 90, service: 100 * time.Microsecond, latency: 30 * time.Millisecond}, always, 0},
		{"slow", &narrow{room: 256, service: 2 * time.Millisecond}, always, 0},
		{"little room", &narrow{room: 20, service: time.Millisecond}, always, 200}, // lost until the window is small
		{"some silent", &narrow{room: 256, service: 100 * time.Microsecond, latency: 10 * time.Millisecond}, func(i int) string {
			return map[bool]string{true: "silent."}[i%10 == 0]
		}, 4 * 120}, // the silent ones alone
		{"some slow", &narrow{room: 256, service: 100 * time.Microsecond, latency: 10 * time.Millisecond}, func(i int) string {
			return map[bool]string{true: "slow."}[i%10 == 0]
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			took := map[int]time.Duration{}
			for _, parallel := range []int{4, 64, 256} {
				synctest.Test(t, func(t *testing.T) {
					s := &narrow{room: tt.server.room, service: tt.server.service, latency: tt.server.latency}
					c := s.client(t)
					var failed int
					took[parallel], failed = examine(t, c, parallel, 32, tt.prefix)
					t.Logf("%3d at once: %v, %d failed, dropped %d of %d, window %d", parallel, took[parallel], failed,
						s.dropped.Load(), s.asked.Load(), c.set.Load().list[0].window.size)
					assert.LessOrEqual(t, failed, tt.failed, "%d at once", parallel)
				})
			}
			for _, parallel := range []int{64, 256} {
				assert.LessOrEqual(t, took[parallel], took[4]*13/10, "%d at once", parallel)
			}
		})
	}
}
