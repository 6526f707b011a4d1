package ownstore

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The suite that every store must pass.
func TestStore(t *testing.T) {
	meteringtest.TestStore(t, func(_ *testing.T, clock *meteringtest.Clock) metering.Store {
		return New(memory.New(memory.Config{Plans: meteringtest.Plans(), Clock: clock.Now}), io.Discard)
	})
}

// What is the store's own is tested here: each charge is logged once, and nothing else is.
func TestSpendingLog(t *testing.T) {
	var log bytes.Buffer
	clock := meteringtest.NewClock()
	store := New(memory.New(memory.Config{Plans: meteringtest.Plans(), Clock: clock.Now}), &log)
	customer := newCustomer(t, store, clock)

	charged := begin(t, store, customer, clock)
	_, err := store.Settle(t.Context(), charged, metering.Outcome{At: clock.Now()})
	require.NoError(t, err)
	_, err = store.Settle(t.Context(), charged, metering.Outcome{At: clock.Now()})
	require.ErrorIs(t, err, metering.ErrLapsed, "charged once")
	require.NoError(t, store.Cancel(t.Context(), begin(t, store, customer, clock)))

	lines := bufio.NewScanner(&log)
	require.True(t, lines.Scan())
	var got spending
	require.NoError(t, json.Unmarshal(lines.Bytes(), &got))
	assert.Equal(t, spending{
		At: clock.Now(), RequestID: charged.RequestID, Account: customer.Account, Key: customer.Key,
		Endpoint: "POST /public/v1/resolve", Credits: 3, Remaining: 7,
	}, got)
	assert.False(t, lines.Scan(), "%s", lines.Text())
	require.NoError(t, store.Close())
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

// A charge that cannot be logged is still one; closing tells of it.
func TestLogFails(t *testing.T) {
	clock := meteringtest.NewClock()
	store := New(memory.New(memory.Config{Plans: meteringtest.Plans(), Clock: clock.Now}), fullDisk{})
	ticket := begin(t, store, newCustomer(t, store, clock), clock)
	balance, err := store.Settle(t.Context(), ticket, metering.Outcome{At: clock.Now()})
	require.NoError(t, err)
	assert.EqualValues(t, 3, balance.Used)
	assert.EqualError(t, store.Close(), "writing the spending log: the disk is full")
}

// newCustomer makes an account of ten credits with a key.
func newCustomer(t *testing.T, store metering.Store, clock *meteringtest.Clock) metering.Op {
	admin := metering.Admin{Store: store, Plans: meteringtest.Plans(), Clock: clock.Now}
	account, err := admin.CreateAccount(t.Context(), "customer", meteringtest.Tiny)
	require.NoError(t, err)
	key, _, err := admin.CreateKey(t.Context(), metering.KeyRequest{
		Account: account.ID, Name: "first", Scopes: metering.Scopes(),
	})
	require.NoError(t, err)
	return metering.Op{Account: account.ID, Key: key.ID, Endpoint: "POST /public/v1/resolve", Credits: 3}
}

func begin(t *testing.T, store metering.Store, op metering.Op, clock *meteringtest.Clock) metering.Ticket {
	op.RequestID, op.Now, op.Lease = metering.NewRequestID(), clock.Now(), clock.Now().Add(time.Minute)
	begun, err := store.Begin(t.Context(), op)
	require.NoError(t, err)
	require.NotNil(t, begun.Ticket)
	return *begun.Ticket
}
