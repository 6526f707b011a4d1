package resolver

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pipes is a dialer to datagram servers in memory that answer after a delay, if at all. It
// counts the connections that were opened and closed.
type pipes struct {
	delay          time.Duration
	opened, closed atomic.Int32
}

func (p *pipes) dial(context.Context) (net.Conn, error) {
	p.opened.Add(1)
	client, server := net.Pipe()
	go func() {
		defer p.closed.Add(1)
		defer server.Close()
		for {
			buf := make([]byte, 512)
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			time.AfterFunc(p.delay, func() {
				buf[2] |= bitQR
				server.Write(buf[:n])
			})
		}
	}()
	return client, nil
}

func (p *pool) ask(ctx context.Context, timeout time.Duration) error {
	q, err := newQuery(new(dns.Msg).SetQuestion("example.com.", dns.TypeA), false)
	if err != nil {
		return err
	}
	defer q.free()
	came, err := p.exchange(ctx, q, time.Now().Add(timeout))
	if err == nil {
		came.data.free()
	}
	return err
}

func TestPoolBoundsQueriesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &pipes{delay: time.Second}
		p := newPool(kind{transport: UDP, slots: 1, room: 2, quota: 100, maxAge: time.Hour, idle: time.Hour}, network.dial)
		defer p.close()
		began := time.Now()
		var group sync.WaitGroup
		for range 6 { // two at a time, a second each
			group.Go(func() { assert.NoError(t, p.ask(t.Context(), time.Minute)) })
		}
		group.Wait()
		assert.Equal(t, 3*time.Second, time.Since(began))

		for range 2 {
			group.Go(func() { assert.NoError(t, p.ask(t.Context(), time.Minute)) })
		}
		synctest.Wait()
		assert.Equal(t, ErrTimeout, p.ask(t.Context(), 100*time.Millisecond), "no room in time")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		assert.Equal(t, context.DeadlineExceeded, p.ask(ctx, time.Minute), "no room in the caller's time")
		group.Wait()
		assert.EqualValues(t, 1, network.opened.Load())
	})
}

func TestPoolReplacesSockets(t *testing.T) {
	t.Run("used up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			network := &pipes{}
			p := newPool(kind{transport: UDP, slots: 1, room: 2, quota: 8, maxAge: time.Hour, idle: time.Hour}, network.dial)
			for range 80 {
				require.NoError(t, p.ask(t.Context(), time.Minute))
			}
			assert.GreaterOrEqual(t, network.opened.Load(), int32(10))
			p.close()
			synctest.Wait()
			assert.Equal(t, network.opened.Load(), network.closed.Load())
		})
	})
	t.Run("old", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			network := &pipes{delay: 20 * time.Second}
			k := kind{transport: UDP, slots: 1, room: 2, quota: 99, maxAge: 30 * time.Second, idle: time.Hour}
			p := newPool(k, network.dial)
			for range 4 {
				require.NoError(t, p.ask(t.Context(), time.Minute))
			}
			assert.EqualValues(t, 2, network.opened.Load())
			synctest.Wait()
			assert.EqualValues(t, 1, network.closed.Load())
			p.close()
		})
	})
	t.Run("idle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			network := &pipes{}
			k := kind{transport: UDP, slots: 1, room: 2, quota: 99, maxAge: time.Hour, idle: 10 * time.Second}
			p := newPool(k, network.dial)
			require.NoError(t, p.ask(t.Context(), time.Minute))
			<-time.After(21 * time.Second)
			synctest.Wait()
			assert.EqualValues(t, 1, network.closed.Load(), "closed without a further query, and without close")
		})
	})
}
