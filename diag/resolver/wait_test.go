package resolver_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These tests wait for time to pass, on the clock of a testing/synctest bubble and over connections
// in memory.

// A network holds what happens when an address is dialed, by network and address.
type network map[string]func(ctx context.Context) (net.Conn, error)

func (n network) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if f := n[network+" "+addr]; f != nil {
		return f(ctx)
	}
	return nil, syscall.ECONNREFUSED
}

// packets is a datagram service in memory: each message is one read and one write.
func packets(answer func(q *dns.Msg, conn net.Conn)) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			buf := make([]byte, 4096)
			for {
				n, err := server.Read(buf)
				if err != nil {
					return
				}
				q := new(dns.Msg)
				if q.Unpack(buf[:n]) == nil {
					answer(q, server)
				}
			}
		}()
		return client, nil
	}
}

// stream is a stream service in memory.
func stream(answer handler) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			for {
				q, err := readStream(server)
				if err != nil {
					return
				}
				for _, m := range answer(q) {
					server.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(m))), m...))
				}
			}
		}()
		return client, nil
	}
}

// unread connects to a peer that never reads.
func unread(context.Context) (net.Conn, error) {
	client, _ := net.Pipe()
	return client, nil
}

func hang(ctx context.Context) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func after(d time.Duration, f func(context.Context) (net.Conn, error)) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		select {
		case <-time.After(d):
			return f(ctx)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func answering(q *dns.Msg, conn net.Conn) { conn.Write(reply(q)) }
func deaf(*dns.Msg, net.Conn)             {}

func servers(texts ...string) []resolver.Server {
	list := []resolver.Server{}
	for _, text := range texts {
		s, err := resolver.ParseServer(text)
		if err != nil {
			panic(err)
		}
		list = append(list, s)
	}
	return list
}

func TestHowLongSilenceTakes(t *testing.T) {
	world := network{
		"udp 192.0.2.1:53": packets(deaf),
		"udp 192.0.2.2:53": packets(deaf),
		"tcp 192.0.2.3:53": stream(silent),
		"tcp 192.0.2.4:53": hang,
	}
	for _, c := range []struct {
		name     string
		timeout  time.Duration
		attempts int
		servers  []resolver.Server
		want     time.Duration
	}{
		{"default", 0, 0, servers("192.0.2.1"), 4 * time.Second},
		{"two servers", 0, 0, servers("192.0.2.1", "192.0.2.2"), 8 * time.Second},
		{"one attempt", 0, 1, servers("192.0.2.1"), 2 * time.Second},
		{"shorter", time.Second, 0, servers("192.0.2.1"), 2 * time.Second},
		{"no more attempts than ten", time.Second, 99, servers("192.0.2.1"), 10 * time.Second},
		{"TCP silent", 0, 0, servers("tcp://192.0.2.3"), 4 * time.Second},
		{"TCP unreachable", 0, 0, servers("tcp://192.0.2.4"), 4 * time.Second},
		{"TLS unreachable", 0, 0, servers("tls://192.0.2.4:53"), 4 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newClient(t, c.servers...)
				client.Timeout, client.Attempts = c.timeout, c.attempts
				client.Dial = world.dial
				began := time.Now()
				_, err := client.Exchange(t.Context(), question())
				require.ErrorIs(t, err, resolver.ErrTimeout)
				assert.Equal(t, c.want, time.Since(began))
			})
		})
	}
}

func TestContextEndsEveryWait(t *testing.T) {
	for name, server := range map[string]string{
		"UDP silent": "192.0.2.1", "TCP silent": "tcp://192.0.2.3", "TCP connecting": "tcp://192.0.2.4",
		"TCP that does not read": "tcp://192.0.2.5", "HTTPS connecting": "https://192.0.2.4:53/",
		"TLS that does not shake hands": "tls://192.0.2.5:53", "UDP that does not read": "192.0.2.5",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, servers(server)...)
				c.Timeout = time.Hour
				c.Dial = network{
					"udp 192.0.2.1:53": packets(deaf),
					"tcp 192.0.2.3:53": stream(silent),
					"tcp 192.0.2.4:53": hang,
					"udp 192.0.2.5:53": unread,
					"tcp 192.0.2.5:53": unread,
				}.dial
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				began := time.Now()
				_, err := c.Exchange(ctx, question())
				assert.Equal(t, context.DeadlineExceeded, err)
				assert.Equal(t, 3*time.Second, time.Since(began))
				synctest.Wait()
			})
		})
	}
}

func TestLateReplyIsNotTakenForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, servers("tcp://192.0.2.1")...)
		c.Attempts = 1
		var held []byte
		c.Dial = network{"tcp 192.0.2.1:53": stream(func(q *dns.Msg) [][]byte {
			if held == nil {
				held = reply(q)
				return nil
			}
			return [][]byte{held, reply(q)}
		})}.dial
		_, err := c.Exchange(t.Context(), new(dns.Msg).SetQuestion("late.example.", dns.TypeA))
		require.ErrorIs(t, err, resolver.ErrTimeout)
		requireAnswer(t, t.Context(), c)
	})
}

func TestReplyWithinTheSecondTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, servers("192.0.2.1")...)
		var n atomic.Int32
		c.Dial = network{"udp 192.0.2.1:53": packets(func(q *dns.Msg, conn net.Conn) {
			if n.Add(1) > 1 {
				conn.Write(reply(q))
			}
		})}.dial
		var trace resolver.Trace
		requireAnswer(t, resolver.WithTrace(t.Context(), &trace), c)
		steps := trace.Steps()
		require.Len(t, steps, 2)
		assert.ErrorIs(t, steps[0].Err, resolver.ErrTimeout)
		assert.Equal(t, 2*time.Second, steps[0].Latency)
		assert.NoError(t, steps[1].Err)
		assert.Zero(t, steps[1].Latency)
	})
}

// The reader leaves while others wait: one of them must take over.
func TestReaderThatLeavesIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, servers("tcp://192.0.2.1")...)
		c.Attempts, c.Timeout = 1, time.Minute
		release := make(chan struct{})
		c.Dial = network{"tcp 192.0.2.1:53": stream(func(q *dns.Msg) [][]byte {
			if q.Question[0].Name == "last.example." {
				<-release
			}
			if q.Question[0].Name == "never.example." {
				return nil
			}
			return healthy(q)
		})}.dial
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() {
				_, err := c.Exchange(ctx, new(dns.Msg).SetQuestion("never.example.", dns.TypeA))
				assert.Equal(t, context.Canceled, err)
			})
		}
		synctest.Wait()
		group.Go(func() {
			m, err := c.Exchange(t.Context(), new(dns.Msg).SetQuestion("last.example.", dns.TypeA))
			if assert.NoError(t, err) {
				assert.Len(t, m.Answer, 1)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(release)
		group.Wait()
	})
}

func TestSilentServerIsForgivenAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		c := newClient(t, servers("192.0.2.1", "192.0.2.2")...)
		c.Dial = network{
			"udp 192.0.2.1:53": packets(func(*dns.Msg, net.Conn) { asked.Add(1) }),
			"udp 192.0.2.2:53": packets(answering),
		}.dial
		requireAnswer(t, t.Context(), c)
		requireAnswer(t, t.Context(), c)
		assert.EqualValues(t, 1, asked.Load())
		<-time.After(10 * time.Second)
		requireAnswer(t, t.Context(), c)
		assert.EqualValues(t, 2, asked.Load())
	})
}

func TestIdleStreamIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, servers("tcp://192.0.2.1")...)
		closed := make(chan struct{})
		c.Dial = network{"tcp 192.0.2.1:53": func(ctx context.Context) (net.Conn, error) {
			conn, err := stream(healthy)(ctx)
			return &watched{Conn: conn, closed: closed}, err
		}}.dial
		requireAnswer(t, t.Context(), c)
		began := time.Now()
		<-closed
		assert.LessOrEqual(t, time.Since(began), 10*time.Second)
	})
}

type watched struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (w *watched) Close() error {
	w.once.Do(func() { close(w.closed) })
	return w.Conn.Close()
}

func TestHappyEyeballs(t *testing.T) {
	const v6, v4, other = "tcp [2001:db8::1]:53", "tcp 192.0.2.1:53", "tcp 192.0.2.2:53"
	works := stream(healthy)
	fails := func(context.Context) (net.Conn, error) { return nil, syscall.ENETUNREACH }
	for _, c := range []struct {
		name  string
		world network
		addr  string
		want  time.Duration
	}{
		{"first works", network{v6: works, v4: works}, "2001:db8::1", 0},
		{"first is slow", network{v6: after(200*time.Millisecond, works), v4: works}, "2001:db8::1", 200 * time.Millisecond},
		{"first hangs", network{v6: hang, v4: works}, "192.0.2.1", 250 * time.Millisecond},
		{"first fails", network{v6: fails, v4: works}, "192.0.2.1", 0},
		{"the other family comes second", network{v6: hang, v4: hang, other: works}, "192.0.2.2", 500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := servers("tls://dns.example:53#2001:db8::1,192.0.2.1,192.0.2.2")[0]
				began := time.Now()
				var dialled string
				conn := resolver.DialFirst(t.Context(), server, func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := c.world.dial(ctx, network, addr)
					if err == nil {
						dialled = addr
					}
					return conn, err
				})
				require.NotNil(t, conn)
				conn.Close()
				assert.Equal(t, c.want, time.Since(began))
				assert.Equal(t, c.addr, netip.MustParseAddrPort(dialled).Addr().String())
			})
		})
	}
}

func TestNamedServerIsLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, servers("tls://dns.example")...)
		c.Attempts = 1
		broken := errors.New("no such host")
		c.Lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
			assert.Equal(t, "dns.example", host)
			return nil, broken
		}
		_, err := c.Exchange(t.Context(), question())
		assert.ErrorIs(t, err, broken)
		assert.ErrorContains(t, err, "looking up dns.example")
	})
}
