package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/postgres"
)

// A node whose clock is days ahead or behind sells by the clock of the server: in its month, with leases and replies
// that last as long as those of the others, and sweeps nothing of theirs.
func TestNodeClocksDoNotCount(t *testing.T) {
	text := newSchema(t)
	store := openTest(t, text, postgres.Config{Plans: meteringtest.Plans()})
	defer func() { require.NoError(t, store.Close()) }()
	require.NoError(t, store.PutAccount(t.Context(), metering.Account{ID: "acc_example", Plan: meteringtest.Large}))
	require.NoError(t, store.PutKeys(t.Context(), metering.Key{ID: "key_example", Account: "acc_example"}))
	require.WithinDuration(t, time.Now(), store.Now(), time.Minute)
	for name, ahead := range map[string]time.Duration{"ahead": 40 * 24 * time.Hour, "behind": -40 * 24 * time.Hour} {
		clock := meteringtest.NewClock()
		clock.Advance(time.Until(clock.Now()) * -1)
		clock.Advance(ahead)
		begun, err := store.Begin(t.Context(), example(clock, name))
		require.NoError(t, err)
		require.Equal(t, metering.PeriodOf(store.Now()), begun.Ticket.Period)
		store.SweepAll()
		_, err = store.Begin(t.Context(), example(clock, name))
		require.ErrorIs(t, err, metering.ErrInFlight)
		reply := &metering.Reply{Status: 200, Body: []byte("kept")}
		_, err = store.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: clock.Now(), Reply: reply})
		require.NoError(t, err)
		store.SweepAll()
		for _, again := range []time.Duration{0, -ahead, -ahead} { // from this node, from a good one, and from one that is off the other way
			clock.Advance(again)
			begun, err = store.Begin(t.Context(), example(clock, name))
			require.NoError(t, err)
			require.NotNil(t, begun.Replay, name)
		}
	}
	for e, err := range store.Entries(t.Context(), metering.EntryFilter{}) {
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), e.At, time.Minute)
	}
}
