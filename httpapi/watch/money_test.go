package watch_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// used returns the usage of the account in this month that the ledger records.
func (w *world) used() int64 {
	w.Helper()
	b, err := w.store.Balance(w.Context(), w.account.ID, metering.PeriodOf(w.clock.Now()))
	require.NoError(w, err)
	require.Zero(w, b.Held)
	return b.Used
}

func (w *world) runs() int {
	w.Helper()
	list, err := w.watches.History(w.Context(), w.account.ID, w.get().ID, time.Time{})
	require.NoError(w, err)
	return len(list)
}

// A watch spends no more than its budget, waits, and continues in the next month.
func TestBudget(t *testing.T) {
	w := started(t, watch.Settings{Checks: []string{"spf/lookup"}, Every: time.Hour, Budget: 5})
	for range 24 {
		w.advance(time.Hour)
	}
	one := w.get()
	assert.EqualValues(t, 5, one.Spent)
	assert.EqualValues(t, 5, w.used())
	assert.Equal(t, 5, w.runs())
	assert.Equal(t, watch.Waiting, one.State)
	assert.Equal(t, watch.NoBudget, one.Reason)
	turn := metering.PeriodOf(w.clock.Now()).End()
	assert.False(t, one.NextRun.Before(turn) || one.NextRun.After(turn.Add(time.Hour)))
	w.advance(turn.Add(2 * time.Hour).Sub(w.clock.Now()))
	assert.Equal(t, watch.OK, w.get().State)
	assert.EqualValues(t, 1, w.get().Spent)

	_, err := w.watches.Set(t.Context(), w.account.ID, one.ID, func(s *watch.Settings) { s.Budget = 1 })
	require.NoError(t, err)
	w.advance(2 * time.Hour)
	assert.Equal(t, watch.NoBudget, w.get().Reason)
	_, err = w.watches.Set(t.Context(), w.account.ID, one.ID, func(s *watch.Settings) { s.Budget = 100 })
	require.NoError(t, err)
	w.advance(time.Second)
	assert.Equal(t, watch.OK, w.get().State, "with more it goes on at once")
}

// Without credits, with the key revoked or the account suspended it waits, costs nothing, and comes back by itself.
func TestWaiting(t *testing.T) {
	for name, tt := range map[string]struct {
		stop, mend func(*world)
		want       watch.Reason
	}{
		"credits": {
			func(w *world) { w.set(func(a *metering.Account) { a.Plan = "free" }); w.spend(29) },
			func(w *world) { w.set(func(a *metering.Account) { a.Plan = "pack" }) }, watch.NoCredits,
		},
		"month": {
			func(w *world) { w.set(func(a *metering.Account) { a.Plan = "free" }); w.spend(29) },
			func(w *world) { w.advance(metering.PeriodOf(w.clock.Now()).End().Sub(w.clock.Now())) }, watch.NoCredits,
		},
		"key": {
			func(w *world) { require.NoError(w, w.revoke()) },
			func(w *world) {
				_, err := w.admin.RenewServiceKey(w.Context(), w.account.ID, "watches")
				require.NoError(w, err)
			}, watch.NoKey,
		},
		"suspension": {
			func(w *world) {
				w.set(func(a *metering.Account) { a.Suspension = &metering.Suspension{Reason: "unpaid"} })
			},
			func(w *world) { w.set(func(a *metering.Account) { a.Suspension = nil }) }, watch.Suspended,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := started(t, cheap)
			tt.stop(w)
			used, runs := w.used(), w.runs()
			for range 30 {
				w.advance(2 * time.Hour)
			}
			one := w.get()
			assert.Equal(t, watch.Waiting, one.State)
			assert.Equal(t, tt.want, one.Reason)
			assert.Equal(t, used, w.used(), "it costs nothing")
			assert.Equal(t, runs, w.runs())
			tt.mend(w)
			w.advance(2 * time.Hour)
			assert.Equal(t, watch.OK, w.get().State)
			assert.Equal(t, runs+1, w.runs())
		})
	}
}

func (w *world) set(change func(*metering.Account)) {
	w.Helper()
	_, err := w.admin.SetAccount(w.Context(), w.account.ID, change)
	require.NoError(w, err)
}

// spend has the account use credits otherwise.
func (w *world) spend(credits int64) {
	w.Helper()
	key, err := w.admin.ServiceKey(w.Context(), w.account.ID, "dashboard")
	require.NoError(w, err)
	b, err := w.store.Begin(w.Context(), metering.Op{RequestID: metering.NewRequestID(), Account: w.account.ID, Key: key.ID,
		Endpoint: "POST /x", Credits: credits - w.used(), Now: w.clock.Now(), Lease: w.clock.Now().Add(time.Minute)})
	require.NoError(w, err)
	_, err = w.store.Settle(w.Context(), *b.Ticket, metering.Outcome{At: w.clock.Now()})
	require.NoError(w, err)
}

func (w *world) revoke() error {
	key, err := w.admin.ServiceKey(w.Context(), w.account.ID, "watches")
	if err == nil {
		_, err = w.admin.RevokeKey(w.Context(), key.ID, "")
	}
	return err
}

// Credits that run out within a run end it: its results are kept, and it waits.
func TestCreditsEndWithinARun(t *testing.T) {
	calls := 0
	w := newWorld(t, func(c *watch.Config) {
		ask := c.Ask
		c.Ask = func(ctx context.Context, key metering.KeyID, ep httpapi.Endpoint, body []byte) (*httpapi.Answer, error) {
			if ep.Name() == "dmarc/lookup" {
				calls++
				return nil, &httpapi.Problem{Code: "QUOTA_EXCEEDED"}
			}
			return ask(ctx, key, ep, body)
		}
	})
	w.create(cheap)
	w.advance(0)
	one := w.get()
	assert.Equal(t, watch.NoCredits, one.Reason)
	assert.LessOrEqual(t, one.Spent, int64(1))
	assert.Equal(t, 1, calls)
	assert.GreaterOrEqual(t, one.Unknown, 1)
}

// Failures that are not the domain's are not reported, and the watch continues.
func TestFailingServer(t *testing.T) {
	fail := false
	w := started(t, cheap, func(c *watch.Config) {
		ask := c.Ask
		c.Ask = func(ctx context.Context, key metering.KeyID, ep httpapi.Endpoint, body []byte) (*httpapi.Answer, error) {
			if fail {
				return nil, errors.New("out of order")
			}
			return ask(ctx, key, ep, body)
		}
	})
	fail = true
	w.advance(2 * day)
	w.confirm()
	assert.Equal(t, 2, w.get().Unknown)
	fail = false
	w.advance(2 * day)
	assert.Zero(t, w.get().Unknown)
	assert.Empty(t, w.told())
}

// A panic ends one run, which is logged and repeated later; the watches of others continue.
func TestPanicInARun(t *testing.T) {
	fail := false
	var log strings.Builder
	w := started(t, cheap, func(c *watch.Config) {
		ask := c.Ask
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		c.Ask = func(ctx context.Context, key metering.KeyID, ep httpapi.Endpoint, body []byte) (*httpapi.Answer, error) {
			if fail {
				panic("a bug in one decoder")
			}
			return ask(ctx, key, ep, body)
		}
	})
	fail = true
	w.clock.Advance(2 * day)
	require.ErrorContains(t, w.watches.Flush(t.Context()), "a bug in one decoder")
	require.Contains(t, log.String(), "a bug in one decoder")
	fail = false
	before := w.get().LastRun
	w.advance(time.Hour)
	assert.True(t, w.get().LastRun.After(before))
	assert.Empty(t, w.told())
}
