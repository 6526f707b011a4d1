package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/postgres"
	"github.com/diagkit/diagkit/metering/postgresdb"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newSQLiteWorld is a world on a file, which can be opened again.
func newSQLiteWorld(t *testing.T) (w *world, reopen func()) {
	t.Helper()
	w = newWorld(t)
	path := filepath.Join(t.TempDir(), "notify.db")
	open := func() metering.Store {
		store, err := sqlite.Open(context.Background(), path, sqlite.Config{Clock: w.clock.Now})
		require.NoError(t, err)
		return store
	}
	w.on(open())
	t.Cleanup(func() { w.store.Close() })
	return w, func() {
		account := w.account
		require.NoError(t, w.store.Close())
		w.on(open())
		w.account = account
	}
}

// Eight workers that share a store send each of many deliveries once.
func TestManyWorkers(t *testing.T) {
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			stores := []metering.Store{w.store} // one for each node
			switch kind {
			case "sqlite":
				w, _ = newSQLiteWorld(t)
				stores = []metering.Store{w.store}
			case "postgres":
				stores = newPostgres(t, w.clock, 2)
				w.on(stores[0])
			}
			var channels []Channel
			for i := range 10 {
				c, _ := w.channel(fmt.Sprintf("c%d", i))
				channels = append(channels, c)
			}
			want, deliveries := map[string]bool{}, diagtest.Share(500, 3)
			for i := range deliveries {
				want[w.test(channels[i%len(channels)]).ID] = true
			}
			var all sync.WaitGroup
			for i := range 8 {
				worker := &Worker{Store: stores[i%len(stores)], Client: w.worker.Client, Clock: w.clock.Now}
				all.Go(func() { assert.NoError(t, worker.Flush(context.Background())) })
			}
			all.Wait()
			sent := map[string]int{}
			for _, r := range w.net.take() {
				sent[r.Header.Get("X-Service-Delivery-ID")]++
			}
			assert.Len(t, sent, deliveries)
			for id, n := range sent {
				assert.True(t, want[id])
				assert.Equal(t, 1, n)
				assert.Equal(t, Delivered, w.delivery(id).State)
			}
		})
	}
}

// newPostgres opens a separate schema several times.
func newPostgres(t *testing.T, clock *meteringtest.Clock, nodes int) (stores []metering.Store) {
	t.Helper()
	place := os.Getenv("DIAG_TEST_POSTGRES")
	if place == "" {
		t.Skip("needs DIAG_TEST_POSTGRES, the URL of a database; .ci/run starts one")
	}
	url, drop, err := postgresdb.Scratch(context.Background(), place)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, drop()) })
	for range nodes {
		store, err := postgres.Open(context.Background(), url, postgres.Config{Clock: clock.Now})
		require.NoError(t, err)
		t.Cleanup(func() { store.Close() })
		stores = append(stores, store)
	}
	return stores
}

// Several workers fan an event out once, and several derivers write it once.
func TestManyDerivers(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.channel(fmt.Sprintf("c%d", i))
	}
	for range 20 {
		w.key(nil)
	}
	var all sync.WaitGroup
	for range 8 {
		d := &Deriver{Store: w.store, Clock: w.clock.Now}
		worker := &Worker{Store: w.store, Client: w.worker.Client, Clock: w.clock.Now}
		all.Go(func() {
			assert.NoError(t, d.CheckAll(context.Background()))
			assert.NoError(t, worker.Flush(context.Background()))
		})
	}
	all.Wait()
	assert.Len(t, w.net.take(), 60)
}

// A dyingStore is the store of a node that dies on command.
type dyingStore struct {
	metering.Store
	dead atomic.Bool
}

func (s *dyingStore) PutRecords(ctx context.Context, list ...metering.Record) error {
	if s.dead.Load() {
		return metering.ErrUnavailable
	}
	return s.Store.PutRecords(ctx, list...)
}

// What a node had claimed when it died is taken up at the end of its lease: the same event and delivery, with the
// next attempt.
func TestDeadWorker(t *testing.T) {
	w := newWorld(t)
	c, _ := w.channel("a")
	d := w.test(c)
	dying := &dyingStore{Store: w.store}
	w.net.answers(func(*http.Request) (int, http.Header, string) {
		dying.dead.Store(true) // it has sent, and never reports it
		return 200, nil, "ok"
	})
	first := &Worker{Store: dying, Client: w.worker.Client, Clock: w.clock.Now}
	require.ErrorIs(t, first.Flush(t.Context()), metering.ErrUnavailable)
	require.Len(t, w.net.take(), 1)
	w.clock.Advance(lease - time.Second)
	require.Empty(t, w.pump(), "the lease holds")
	w.clock.Advance(time.Second)
	got := w.pump()
	require.Len(t, got, 1)
	b := got[0].body(t)
	assert.Equal(t, d.ID, b.DeliveryID)
	assert.Equal(t, d.Event, b.EventID)
	assert.Equal(t, 2, b.Attempt)
	d = w.delivery(d.ID)
	assert.Equal(t, Delivered, d.State)
	require.Len(t, d.Attempts, 2)
	assert.Equal(t, nodeDied, d.Attempts[0].Error)
}

// Deaths count as attempts: a receiver that kills nodes is not tried for ever.
func TestDeadWorkersCount(t *testing.T) {
	w := newWorld(t)
	c, _ := w.channel("a")
	d := w.test(c)
	for range MaxAttempts {
		dying := &dyingStore{Store: w.store}
		w.net.answers(func(*http.Request) (int, http.Header, string) { dying.dead.Store(true); return 200, nil, "" })
		require.NoError(t, (&Worker{Store: dying, Client: w.worker.Client, Clock: w.clock.Now}).step1())
		w.clock.Advance(lease)
	}
	require.Len(t, w.net.take(), MaxAttempts)
	require.Empty(t, w.pump())
	assert.Equal(t, RetryScheduled, w.delivery(d.ID).State, "open to a replay")
	w.clock.Advance(24 * time.Hour)
	require.Empty(t, w.pump())
	assert.Equal(t, FailedExhausted, w.delivery(d.ID).State)
}

// The queue outlives the process.
func TestRestart(t *testing.T) {
	w, reopen := newSQLiteWorld(t)
	c, secret := w.channel("a")
	d := w.test(c)
	w.net.status(503)
	require.Len(t, w.pump(), 1)
	w.key(nil)
	require.NoError(t, w.deriver.CheckAll(t.Context()))
	reopen()
	w.net.status(200)
	got := w.pump()
	require.Len(t, got, 1, "the event that had been written")
	assert.NoError(t, Verify(got[0].Header, []byte(got[0].text), w.clock.Now(), secret))
	reopen()
	w.clock.Advance(10 * time.Second)
	got = w.pump()
	require.Len(t, got, 1, "the delivery that is due again")
	assert.Equal(t, d.ID, got[0].body(t).DeliveryID)
	assert.Equal(t, 2, got[0].body(t).Attempt)
}

// hanging answers for a host on command, or never.
type hanging struct {
	*internet
	host string
	let  chan struct{}
}

func (h hanging) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == h.host {
		select {
		case <-h.let:
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	return h.internet.RoundTrip(req)
}

// A slow channel does not delay others, however much is queued for it.
func TestSlowChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		slow, _ := w.channel("slow")
		fast, _ := w.channel("fast")
		for range 3 * defaultRunning {
			w.test(slow)
		}
		quick := w.test(fast)
		w.worker.Client = &http.Client{Transport: hanging{w.net, "slow.example.com", nil}}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.worker.Run(ctx) }()
		synctest.Wait()
		assert.Equal(t, Delivered, w.delivery(quick.ID).State)
		stop()
		assert.ErrorIs(t, <-done, context.Canceled)
		tried := 0
		for _, d := range w.deliveries() {
			if d.Channel == slow.ID && len(d.Attempts) > 0 {
				tried++
				assert.Equal(t, "no answer within 10 s", d.Attempts[0].Error)
				assert.EqualValues(t, 10_000, d.Attempts[0].Millis)
			}
		}
		assert.Equal(t, defaultPerChannel, tried)
		w.gate.Close()
	})
}

// A stop lets running attempts finish, and starts no other.
func TestStopInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c, _ := w.channel("a")
		d := w.test(c)
		h := hanging{w.net, "a.example.com", make(chan struct{})}
		w.worker.Client = &http.Client{Transport: h}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.worker.Run(ctx) }()
		synctest.Wait()
		stop()
		synctest.Wait()
		assert.Empty(t, done, "it waits for the attempt")
		w.test(c)
		close(h.let)
		<-done
		assert.Equal(t, Delivered, w.delivery(d.ID).State)
		assert.Len(t, w.net.take(), 1)
		w.gate.Close()
	})
}

// One account has a quarter of the attempts, through however many channels: others are delivered meanwhile.
func TestSlowAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		let := make(chan struct{})
		for i := range maxChannels {
			c, _, err := w.channels.Create(t.Context(), ChannelRequest{Account: w.account.ID, Name: fmt.Sprint(i),
				Kind: Webhook, Target: fmt.Sprintf("https://slow.example.com/%d", i)})
			require.NoError(t, err)
			for range defaultPerChannel {
				w.test(c)
			}
		}
		other, err := w.admin.CreateAccount(t.Context(), "Other", "pack")
		require.NoError(t, err)
		theirs, _, err := w.channels.Create(t.Context(), ChannelRequest{
			Account: other.ID, Name: "b", Kind: Webhook, Target: "https://hooks.example.com/b"})
		require.NoError(t, err)
		var last Delivery
		for range defaultRunning {
			last, err = w.channels.Test(t.Context(), other.ID, theirs.ID)
			require.NoError(t, err)
		}
		w.worker.Client = &http.Client{Transport: hanging{w.net, "slow.example.com", let}}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.worker.Run(ctx) }()
		synctest.Wait()
		w.worker.mu.Lock()
		assert.Equal(t, map[metering.AccountID]int{w.account.ID: accountRunning}, w.worker.byAccount)
		w.worker.mu.Unlock()
		got, err := w.channels.Delivery(t.Context(), other.ID, last.ID)
		require.NoError(t, err)
		assert.Equal(t, Delivered, got.State)
		close(let)
		stop()
		<-done
		assert.Empty(t, w.worker.byAccount)
		w.gate.Close()
	})
}

// What is beyond the deliveries of an account that may wait is kept as not delivered, and can be replayed when there is
// room. Others are not affected.
func TestFullQueue(t *testing.T) {
	w := newWorld(t)
	c, _ := w.channel("a")
	w.net.status(503)
	first := w.test(c)
	var records []metering.Record
	for i := range maxQueue - 1 {
		d := Delivery{ID: fmt.Sprint("dlv_", i), Account: w.account.ID, Channel: c.ID, Event: first.Event, State: Pending,
			CreatedAt: w.clock.Now(), Next: w.clock.Now().Add(time.Hour)}
		records = append(records, d.record(0))
	}
	for group := range slices.Chunk(records, metering.MaxRecordsPut) {
		require.NoError(t, w.store.PutRecords(t.Context(), group...))
	}
	_, err := w.channels.Test(t.Context(), w.account.ID, c.ID)
	refused, ok := errors.AsType[*metering.FieldError](err)
	require.True(t, ok)
	require.Contains(t, refused.Reason, "2000 deliveries that wait")

	require.NoError(t, w.worker.Flush(t.Context())) // the first attempt fails and is scheduled again
	w.key(nil)
	require.NoError(t, w.deriver.CheckAll(t.Context()))
	require.NoError(t, w.worker.Flush(t.Context()))
	list, err := w.channels.Deliveries(t.Context(), w.account.ID, c.ID, 0)
	require.NoError(t, err)
	i := slices.IndexFunc(list, func(d Delivery) bool { return d.Type == metering.EventKeyCreated })
	require.Equal(t, FailedExhausted, list[i].State)
	require.Equal(t, queueFull, list[i].Attempts[0].Error)
	require.False(t, list[i].ReplayableUntil().IsZero())

	old, err := w.store.Record(t.Context(), w.account.ID, deliveryKind, "dlv_0")
	require.NoError(t, err)
	old.Body = nil
	require.NoError(t, w.store.PutRecords(t.Context(), old))
	again, err := w.channels.ReplaySince(t.Context(), w.account.ID, c.ID, time.Time{})
	require.NoError(t, err)
	require.Len(t, again, 1)
	require.Equal(t, list[i].ID, again[0].ReplayOf)
}
