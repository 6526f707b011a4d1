package ownstore

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
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

func TestDocuments(t *testing.T) {
	meteringtest.TestStore(t, func(t *testing.T, clock *meteringtest.Clock) metering.Store {
		inner := memory.New(memory.Config{Plans: meteringtest.Plans(), Clock: clock.Now})
		d, err := OpenDocuments(inner, filepath.Join(t.TempDir(), "records.jsonl"))
		require.NoError(t, err)
		return d
	})
}

// Complete writes survive a crash, and a line that was cut off is removed.
func TestDocumentsAfterCrash(t *testing.T) {
	inner, path := memory.New(memory.Config{}), filepath.Join(t.TempDir(), "records.jsonl")
	account, err := metering.Admin{Store: inner}.CreateAccount(t.Context(), "customer", "free")
	require.NoError(t, err)
	d, err := OpenDocuments(inner, path)
	require.NoError(t, err)
	note := metering.Record{Account: account.ID, Kind: "note", ID: "a", At: time.Unix(1, 0), Body: []byte("kept")}
	require.NoError(t, d.PutRecords(t.Context(), note))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	note.Version, note.Body = 1, []byte("cut off")
	require.NoError(t, d.PutRecords(t.Context(), note))
	both, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, int64(len(both)-1))) // without the end of the second line

	for range 2 { // the truncated line is removed from the file, too
		d, err = OpenDocuments(inner, path)
		require.NoError(t, err)
		r, err := d.Record(t.Context(), account.ID, "note", "a")
		require.NoError(t, err)
		assert.Equal(t, "kept", string(r.Body))
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(whole), string(left))
	}
	require.NoError(t, d.PutRecords(t.Context(), note))
	require.NoError(t, os.WriteFile(path, []byte("no JSON\n"), 0o600))
	_, err = OpenDocuments(inner, path)
	require.ErrorContains(t, err, "reading "+path)
	require.NoError(t, d.file.Close())
	note.Version = 2
	require.ErrorIs(t, d.PutRecords(t.Context(), note), metering.ErrUnavailable)
	_, err = d.Record(t.Context(), account.ID, "note", "a")
	require.ErrorIs(t, err, metering.ErrUnavailable, "what the disk has is not known")
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
	var got logEntry
	require.NoError(t, json.Unmarshal(lines.Bytes(), &got))
	assert.Equal(t, logEntry{
		At: clock.Now(), RequestID: charged.RequestID, Account: customer.Account, Key: customer.Key,
		Endpoint: "POST /public/v1/resolve", Credits: 3, Remaining: 7,
	}, got)
	assert.False(t, lines.Scan(), "%s", lines.Text())
	require.NoError(t, store.Close())
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

// A charge that cannot be logged is still one; Close returns the error.
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
