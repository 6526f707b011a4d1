package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// run starts the worker, and returns a function that stops it.
func (w *world) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { _ = w.worker.Run(ctx); close(done) }()
	return func() { cancel(); <-done }
}

// silent is a receiver that never answers if the host name begins with dead.
type silent struct{ *internet }

func (s silent) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.HasPrefix(req.URL.Host, "bug") {
		panic("a bug in one transport")
	}
	if strings.HasPrefix(req.URL.Host, "dead") {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	return s.internet.RoundTrip(req)
}

// Channels that do not answer leave room for the others, however many they are and however long their queues.
func TestDeadChannelsLeaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.worker.Client = &http.Client{Transport: silent{w.net}}
		w.worker.Running = 8
		for i := range 16 {
			c, _ := w.channel(fmt.Sprintf("dead%d", i))
			for range 20 {
				w.test(c)
			}
		}
		alive, _ := w.channel("alive")
		stop := w.run()
		time.Sleep(5 * attemptTime) // of the bubble
		d := w.test(alive)
		w.worker.Wake()
		time.Sleep(pollInterval)
		synctest.Wait()
		assert.Equal(t, Delivered, w.delivery(d.ID).State)
		stop()
		w.gate.Close()
	})
}

// Events without a recipient, as at the close of a month, do not delay others for long.
func TestManyEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		other, err := w.admin.CreateAccount(t.Context(), "Other", "pack")
		require.NoError(t, err)
		for i := range 2000 {
			r, err := metering.Event{
				ID: metering.EventID(metering.EventPeriodClosed, fmt.Sprint(i)), Type: metering.EventPeriodClosed,
				Account: other.ID, At: w.clock.Now(),
			}.Record()
			require.NoError(t, err)
			require.NoError(t, w.store.PutRecords(t.Context(), r))
		}
		w.clock.Advance(time.Second)
		w.channel("a")
		w.key(nil)
		require.NoError(t, w.deriver.CheckAll(t.Context()))
		stop := w.run()
		time.Sleep(2 * pollInterval)
		synctest.Wait()
		assert.Len(t, w.net.take(), 1)
		stop()
		w.gate.Close()
	})
}

// An event reported on the first of a month of 31 days is not reported again on the last.
func TestToldOnceInALongMonth(t *testing.T) {
	w := newWorld(t)
	w.clock.Set(time.Date(2026, 10, 1, 0, 0, 1, 0, time.UTC))
	w.channel("a")
	_, secret := w.key(nil)
	w.pump()
	require.NoError(t, w.charge(secret, 30_000))
	require.Equal(t, []metering.EventType{metering.EventUsageThreshold}, types(t, w.pump()))
	w.clock.Set(time.Date(2026, 10, 31, 23, 0, 0, 0, time.UTC))
	_, err := Tidy(t.Context(), w.store, w.clock.Now())
	require.NoError(t, err)
	assert.Empty(t, w.pump())
}

// An account without an active channel is not notified later of its use in the meantime.
func TestUsedWhileDisabled(t *testing.T) {
	w := newWorld(t)
	c, _ := w.channel("a")
	_, secret := w.key(nil)
	w.pump()
	_, err := w.channels.Disable(t.Context(), w.account.ID, c.ID, "")
	require.NoError(t, err)
	require.NoError(t, w.charge(secret, 30_000))
	w.clock.Advance(time.Hour)
	_, err = w.channels.Enable(t.Context(), w.account.ID, c.ID)
	require.NoError(t, err)
	assert.Empty(t, w.pump())
	_, err = w.channels.Disable(t.Context(), w.account.ID, c.ID, "")
	require.NoError(t, err)
	require.NoError(t, w.charge(secret, 12_000))
	w.clock.Advance(time.Hour)
	w.channel("b")
	assert.Empty(t, w.pump())
}

// A store that fails is not reported once for each account.
func TestLookAtBrokenStore(t *testing.T) {
	w := newWorld(t)
	for i := range 30 {
		a, err := w.admin.CreateAccount(t.Context(), fmt.Sprint(i), "pack")
		require.NoError(t, err)
		w.account = a
		w.channel("a")
	}
	w.deriver.Store = brokenAccounts{w.store}
	err := w.deriver.CheckAll(t.Context())
	require.ErrorIs(t, err, errBroken)
	assert.LessOrEqual(t, strings.Count(err.Error(), errBroken.Error()), maxFaults)
	assert.Contains(t, err.Error(), "and 25 accounts more")
}

var errBroken = errors.New("broken")

type brokenAccounts struct{ metering.Store }

func (brokenAccounts) Account(context.Context, metering.AccountID) (metering.Account, error) {
	return metering.Account{}, errBroken
}

// Nor is it notified of SPF profiles that were removed meanwhile, while the remaining ones are still tracked.
func TestProfileRemovedWhileDisabled(t *testing.T) {
	w := newWorld(t)
	c, _ := w.channel("a")
	w.profile()
	w.spf.profiles = append(w.spf.profiles, SPFProfile{ID: "spf_2", Domain: "example.org", CreatedAt: w.clock.Now()})
	w.pump()
	_, err := w.channels.Disable(t.Context(), w.account.ID, c.ID, "")
	require.NoError(t, err)
	all := w.spf.profiles
	w.spf.profiles = all[1:]
	w.clock.Advance(90 * 24 * time.Hour)
	_, err = w.channels.Enable(t.Context(), w.account.ID, c.ID)
	require.NoError(t, err)
	assert.Empty(t, w.pump())
	w.spf.profiles = nil
	assert.Equal(t, []metering.EventType{metering.EventSPFRemoved}, types(t, w.pump()))
}

// A panic ends one attempt, which counts as failed; the others continue.
func TestPanicInAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.worker.Client = &http.Client{Transport: silent{w.net}}
		broken, _ := w.channel("bug")
		alive, _ := w.channel("alive")
		lost, d := w.test(broken), w.test(alive)
		require.ErrorContains(t, w.worker.Flush(t.Context()), "a bug in one transport")
		require.NoError(t, w.worker.Flush(t.Context()))
		assert.Equal(t, Delivered, w.delivery(d.ID).State)
		assert.NotEqual(t, Delivered, w.delivery(lost.ID).State)
		w.gate.Close()
	})
}
