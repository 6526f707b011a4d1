package postgres_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/postgres"
)

// A cable leads to PostgreSQL and can be cut.
type cable struct {
	listener net.Listener
	target   string
	tasks    sync.WaitGroup

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]bool
}

// newCable returns a cable to the server of a URL, and the URL of its near end.
func newCable(t *testing.T, text string) (*cable, string) {
	u, err := url.Parse(text)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cable{listener: listener, target: u.Host, conns: make(map[net.Conn]bool)}
	u.Host = listener.Addr().String()
	c.tasks.Go(c.serve)
	t.Cleanup(func() {
		_ = listener.Close()
		c.cut()
		c.tasks.Wait()
	})
	return c, u.String()
}

func (c *cable) serve() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		far := c.plug(near)
		if far == nil {
			_ = near.Close()
			continue
		}
		for _, ends := range [][2]net.Conn{{near, far}, {far, near}} {
			c.tasks.Go(func() {
				_, _ = io.Copy(ends[0], ends[1])
				_ = ends[0].Close()
				_ = ends[1].Close()
			})
		}
	}
}

// plug leads a connection to the server, which makes a process for each: a cable that is cut asks it for none.
func (c *cable) plug(near net.Conn) (far net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return nil
	}
	far, err := net.Dial("tcp", c.target)
	if err != nil {
		return nil
	}
	c.conns[near], c.conns[far] = true, true
	return far
}

// cut breaks all connections, at either end, and refuses new ones.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = true
	for conn := range c.conns {
		_ = conn.Close()
	}
	clear(c.conns)
}

func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = false
}

// TestCutCable cuts the connection to PostgreSQL again and again while requests are charged, and lets every client
// repeat its request until it is answered: what was acknowledged is in the ledger, nothing is there twice, and the
// store reports when it cannot work.
func TestCutCable(t *testing.T) {
	line, text := newCable(t, newSchema(t))
	testCut(t, text, line.cut, line.mend)
}

func testCut(t *testing.T, text string, cut, mend func()) {
	clock := meteringtest.NewClock()
	store := openTest(t, text, postgres.Config{Plans: meteringtest.Plans(), Clock: clock.Now})
	defer func() { require.NoError(t, store.Close()) }()
	require.NoError(t, store.PutAccount(t.Context(), metering.Account{ID: "acc_example", Plan: meteringtest.Large}))
	require.NoError(t, store.PutKeys(t.Context(), metering.Key{ID: "key_example", Account: "acc_example"}))

	const clients, requests = 16, 40
	var answered atomic.Int64
	var broken atomic.Int64
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for i := range requests {
				name := fmt.Sprint(client, "-", i)
				for !ask(t, store, clock, name, &broken) && !t.Failed() {
				}
				answered.Add(1)
			}
		})
	}
	healthy := func(want bool) {
		t.Helper()
		require.Eventually(t, func() bool { return (store.Health() == nil) == want }, time.Minute, time.Millisecond)
	}
	for round := int64(1); round <= 3; round++ {
		require.Eventually(t, func() bool { return answered.Load() > round*clients*requests/5 || t.Failed() },
			time.Minute, time.Millisecond)
		cut()
		healthy(false)
		_, err := store.Begin(t.Context(), example(clock, "while it is cut"))
		require.ErrorIs(t, err, metering.ErrUnavailable)
		clock.Advance(2 * time.Minute) // the promises of that time have lapsed
		mend()
		healthy(true)
	}
	wg.Wait()
	require.Positive(t, broken.Load(), "the cuts met nobody")

	audit, err := store.Audit(t.Context())
	require.NoError(t, err)
	require.Empty(t, audit.Faults)
	charged := make(map[string]int)
	for e, err := range store.Entries(t.Context(), metering.EntryFilter{}) {
		require.NoError(t, err)
		charged[e.RequestID]++
	}
	require.Len(t, charged, clients*requests)
	for name, times := range charged {
		require.Equal(t, 1, times, name)
	}
}

// TestCutCableReleases cuts the connection while requests are charged, whose failures are cancelled, as by a server.
// No claim and no hold stays behind, though no lease ends.
func TestCutCableReleases(t *testing.T) {
	text := newSchema(t)
	line, near := newCable(t, text)
	clock := meteringtest.NewClock()
	store := openTest(t, near, postgres.Config{Plans: meteringtest.Plans(), Clock: clock.Now})
	defer func() { require.NoError(t, store.Close()) }()
	require.NoError(t, store.PutAccount(t.Context(), metering.Account{ID: "acc_example", Plan: meteringtest.Large}))
	require.NoError(t, store.PutKeys(t.Context(), metering.Key{ID: "key_example", Account: "acc_example"}))
	var broken, asked atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for client := range 64 {
		wg.Go(func() {
			for i := 0; !stop.Load() && !t.Failed(); i++ {
				askOnce(t, store, clock, fmt.Sprint(client, "-", i), &broken)
				asked.Add(1)
			}
		})
	}
	for range 5 {
		before := asked.Load()
		require.Eventually(t, func() bool { return asked.Load() > before+200 }, time.Minute, time.Millisecond)
		line.cut()
		failed := broken.Load()
		require.Eventually(t, func() bool { return broken.Load() > failed+200 }, time.Minute, time.Millisecond)
		line.mend()
	}
	stop.Store(true)
	wg.Wait()
	require.Eventually(t, func() bool { return queryInt(t, text, "SELECT count(*) FROM holds") == 0 }, time.Minute, 10*time.Millisecond)
	for client := range 64 { // each of them can be repeated
		require.Eventually(t, func() bool { return askOnce(t, store, clock, fmt.Sprint(client, "-0"), &broken) },
			20*time.Second, 10*time.Millisecond)
	}
	audit, err := store.Audit(t.Context())
	require.NoError(t, err)
	require.Empty(t, audit.Faults)
}

// askOnce is ask, but cancels a ticket that it could not settle.
func askOnce(t *testing.T, store metering.Store, clock *meteringtest.Clock, name string, broken *atomic.Int64) bool {
	begun, err := store.Begin(context.Background(), example(clock, name))
	if err == nil && begun.Ticket != nil {
		reply := &metering.Reply{Status: 200, Body: []byte(name)}
		_, err = store.Settle(context.Background(), *begun.Ticket, metering.Outcome{At: clock.Now(), Reply: reply})
		if err != nil {
			_ = store.Cancel(context.Background(), *begun.Ticket)
		}
	}
	if errors.Is(err, metering.ErrUnavailable) {
		broken.Add(1)
	} else if !errors.Is(err, metering.ErrInFlight) {
		assert.NoError(t, err)
	}
	return err == nil
}

func example(clock *meteringtest.Clock, name string) metering.Op {
	hash := sha256.Sum256([]byte(name))
	now := clock.Now()
	return metering.Op{
		RequestID: name, Account: "acc_example", Key: "key_example", Endpoint: "POST /x", Credits: 1,
		Now: now, Lease: now.Add(time.Minute), Idempotency: &hash, Fingerprint: &hash,
	}
}

// ask sends a request, and reports whether it was answered. Errors that the cut explains let it be repeated.
func ask(
	t *testing.T, store metering.Store, clock *meteringtest.Clock, name string, broken *atomic.Int64,
) bool {
	begun, err := store.Begin(context.Background(), example(clock, name))
	if err == nil && begun.Ticket != nil {
		reply := &metering.Reply{Status: 200, Body: []byte(name)}
		_, err = store.Settle(context.Background(), *begun.Ticket, metering.Outcome{At: clock.Now(), Reply: reply})
	}
	switch {
	case err == nil:
		return true
	case errors.Is(err, metering.ErrUnavailable):
		broken.Add(1)
	case errors.Is(err, metering.ErrInFlight), errors.Is(err, metering.ErrLapsed): // of a promise that was cut off
	default:
		assert.NoError(t, err)
	}
	return false
}
