package meteringtest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

func testReplay(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	first := f.begin(keyed(f.op(customer, 2), "k1", "body"))
	want := metering.Reply{
		Status: 201, Header: map[string]string{"Content-Type": "image/png", "X-Empty": "", "X-Odd": "a\"b\\c\n\x00ü"},
		Body: []byte{0, 255, 128, 'a', 0},
	}
	balance, err := f.store.Settle(t.Context(), first, metering.Outcome{At: f.clock.Now(), Reply: &want})
	require.NoError(t, err)
	require.Equal(t, int64(2), balance.Used)

	f.spend(customer, 1)
	for range 2 {
		got := f.replay(keyed(f.op(customer, 2), "k1", "body"))
		require.Equal(t, first.RequestID, got.RequestID)
		require.Equal(t, want, got.Reply)
		require.Equal(t, int64(3), got.Balance.Used, "the balance of today")
		got.Reply.Body[0] = 'x' // the store must have its own copy
		got.Reply.Header["X-Empty"] = "x"
	}
	f.spend(keyed(customer, "k2", "body"), 1)
	f.uses(customer.Account, 4, 0)
	require.Len(t, f.entries(metering.EntryFilter{}), 3)
}

func testReplayForms(t *testing.T, f *fixture) {
	customer := f.customer(Large)
	replies := map[string]metering.Reply{
		"rerun":     {Status: 200, Header: map[string]string{}, Form: metering.RerunReply},
		"sealed":    {Status: 200, Header: map[string]string{"A": "b"}, Body: []byte("sealed"), Form: metering.SealedReply},
		"no header": {Status: 204},
		"large": {Status: 200, Header: map[string]string{"A": "b"},
			Body: bytes.Repeat([]byte("0123456789abcdef"), metering.MaxReplyBytes/16)},
	}
	for key, want := range replies {
		ticket := f.begin(keyed(f.op(customer, 1), key, ""))
		_, err := f.store.Settle(t.Context(), ticket, metering.Outcome{At: f.clock.Now(), Reply: &want})
		require.NoError(t, err)
	}
	for range 2 {
		for key, want := range replies {
			got := f.replay(keyed(f.op(customer, 1), key, "")).Reply
			require.Equal(t, want.Status, got.Status, key)
			require.Equal(t, want.Form, got.Form, key)
			require.Equal(t, len(want.Header), len(got.Header), key)
			require.True(t, bytes.Equal(want.Body, got.Body), key)
		}
		f.reopen()
	}
}

func testReplayWindow(t *testing.T, f *fixture) {
	customer := f.customer(Large)
	first := f.begin(keyed(f.op(customer, 1), "k", "one"))
	f.clock.Advance(30 * time.Second) // the window begins with the completion
	f.settle(first)

	f.clock.Advance(metering.ReplayWindow - time.Microsecond)
	f.replay(keyed(f.op(customer, 1), "k", "one"))
	require.ErrorIs(t, f.refused(keyed(f.op(customer, 1), "k", "two")), metering.ErrMismatch)

	f.clock.Advance(time.Microsecond)
	second := f.begin(keyed(f.op(customer, 1), "k", "two")) // expired at that instant, so any body will do
	f.settle(second)
	require.Equal(t, second.RequestID, f.replay(keyed(f.op(customer, 1), "k", "two")).RequestID)
	require.ErrorIs(t, f.refused(keyed(f.op(customer, 1), "k", "one")), metering.ErrMismatch)
	f.uses(customer.Account, 2, 0)
}

func testReplayExhausted(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	f.settle(f.begin(keyed(f.op(customer, 3), "k", "body")))
	f.spend(customer, 7)
	f.quotaError(f.op(customer, 1))
	f.quotaError(keyed(f.op(customer, 1), "another", "body"))
	require.Equal(t, int64(10), f.replay(keyed(f.op(customer, 3), "k", "body")).Balance.Used)
	require.ErrorIs(t, f.refused(keyed(f.op(customer, 3), "k", "other")), metering.ErrMismatch)

	// A refused claim leaves nothing behind: with more credits the same key runs.
	f.change(customer.Account, func(a *metering.Account) { a.Plan = Large })
	f.begin(keyed(f.op(customer, 1), "another", "other body"))
}

func testInFlight(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	first := f.begin(keyed(f.op(customer, 2), "k", "body"))
	require.ErrorIs(t, f.refused(keyed(f.op(customer, 2), "k", "body")), metering.ErrInFlight)
	f.uses(customer.Account, 0, 2)
	f.settle(first)
	f.replay(keyed(f.op(customer, 2), "k", "body"))
	f.uses(customer.Account, 2, 0)
}

func testMismatch(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	first := f.begin(keyed(f.op(customer, 1), "k", "body"))
	require.ErrorIs(t, f.refused(keyed(f.op(customer, 1), "k", "other")), metering.ErrMismatch, "while it runs")
	f.settle(first)
	require.ErrorIs(t, f.refused(keyed(f.op(customer, 1), "k", "other")), metering.ErrMismatch)
	f.uses(customer.Account, 1, 0)
}

func testClaimReleased(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	failed := f.begin(keyed(f.op(customer, 1), "k", "body"))
	require.NoError(t, f.store.Cancel(t.Context(), failed))
	second := f.begin(keyed(f.op(customer, 1), "k", "other body"))
	require.NoError(t, f.store.Cancel(t.Context(), failed), "the old ticket must not cancel the new claim")
	require.ErrorIs(t, f.refused(keyed(f.op(customer, 1), "k", "other body")), metering.ErrInFlight)
	f.settle(second)
	f.uses(customer.Account, 1, 0)
}

func testClaimLapsed(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	silent := f.begin(keyed(f.op(customer, 1), "k", "body"))
	f.clock.Advance(time.Minute - 1)
	require.ErrorIs(t, f.refused(keyed(f.op(customer, 1), "k", "body")), metering.ErrInFlight)
	f.clock.Advance(1)
	second := f.begin(keyed(f.op(customer, 1), "k", "body"))
	_, err := f.store.Settle(t.Context(), silent, f.outcome("too late"))
	require.ErrorIs(t, err, metering.ErrLapsed)
	require.ErrorIs(t, f.refused(keyed(f.op(customer, 1), "k", "body")), metering.ErrInFlight)
	f.settle(second)
	require.Equal(t, second.RequestID, f.replay(keyed(f.op(customer, 1), "k", "body")).RequestID)
	f.uses(customer.Account, 1, 0)
}

func testClaimPerKey(t *testing.T, f *fixture) {
	first := f.customer(Tiny)
	second := first
	second.Key = f.key(first.Account)
	f.settle(f.begin(keyed(f.op(first, 1), "k", "body")))
	f.settle(f.begin(keyed(f.op(second, 1), "k", "other body")))
	f.settle(f.begin(keyed(f.op(first, 1), "k2", "body")))
	f.uses(first.Account, 3, 0)
}

func testReplyNotKept(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	settle := func(op metering.Op, reply *metering.Reply) {
		_, err := f.store.Settle(t.Context(), f.begin(op), metering.Outcome{At: f.clock.Now(), Reply: reply})
		require.NoError(t, err)
	}
	settle(keyed(f.op(customer, 1), "none", "body"), nil)
	settle(keyed(f.op(customer, 1), "none", "body"), nil)
	settle(f.op(customer, 1), &metering.Reply{Body: []byte("without a key")})
	f.uses(customer.Account, 3, 0)

	// The claim of a reply that is too large is kept: a repetition is not charged again.
	settle(keyed(f.op(customer, 1), "big", "body"), &metering.Reply{Body: make([]byte, metering.MaxReplyBytes+1)})
	require.ErrorIs(t, f.refused(keyed(f.op(customer, 1), "big", "body")), metering.ErrReplyGone)
	require.ErrorIs(t, f.refused(keyed(f.op(customer, 1), "big", "other")), metering.ErrMismatch)
	f.clock.Advance(metering.ReplayWindow)
	settle(keyed(f.op(customer, 1), "big", "other"), &metering.Reply{Body: []byte("small")})
	require.Equal(t, "small", string(f.replay(keyed(f.op(customer, 1), "big", "other")).Reply.Body))
	f.sound()
}

// testKeptBytes keeps more than the bound: the oldest bodies are dropped, the claims stay, and no key is charged
// twice. Another line of keys has a separate bound.
func testKeptBytes(t *testing.T, f *fixture) {
	const size, room, keys = 1000, 3500, 20
	first := f.customer(Large)
	second := first
	second.Key = f.key(first.Account)
	op := func(customer metering.Op, key int) metering.Op {
		o := keyed(f.op(customer, 1), fmt.Sprint(key), "body")
		o.KeptBytes = room
		return o
	}
	settle := func(customer metering.Op, key, size int) {
		reply := &metering.Reply{Status: 200, Body: bytes.Repeat([]byte("x"), size)}
		_, err := f.store.Settle(t.Context(), f.begin(op(customer, key)), metering.Outcome{At: f.clock.Now(), Reply: reply})
		require.NoError(t, err)
		f.clock.Advance(time.Second)
	}
	kept := func(customer metering.Op, from, to int) (list []int) {
		for key := from; key < to; key++ {
			begun, err := f.store.Begin(t.Context(), op(customer, key))
			if errors.Is(err, metering.ErrReplyGone) {
				continue
			}
			require.NoError(t, err)
			require.NotNil(t, begun.Replay, "key %d was charged, and would be again", key)
			list = append(list, key)
		}
		return list
	}
	settle(second, 0, size)
	for key := range keys {
		settle(first, key, size)
	}
	settle(first, keys, 0) // nothing to keep, and a write after which all pending drops are done
	require.Equal(t, []int{17, 18, 19, 20}, kept(first, 0, keys+1))
	require.Equal(t, []int{0}, kept(second, 0, 1))
	f.uses(first.Account, keys+2, 0)

	// A store that has just been opened may take a moment to load the kept replies.
	f.reopen()
	next := keys + 1
	require.Eventually(t, func() bool {
		settle(first, next, 2*size)
		settle(first, next+1, 0)
		next += 2
		return !slices.Contains(kept(first, 0, next), 18)
	}, time.Minute, 10*time.Millisecond)

	f.clock.Advance(metering.ReplayWindow)
	for key := range 3 {
		settle(first, key, size)
	}
	require.Equal(t, []int{0, 1, 2}, kept(first, 0, 3), "what has expired takes no room")
	f.sound()
}

// testRotatedClaims rotates a key between a request and its repetition: the line has one set of claims.
func testRotatedClaims(t *testing.T, f *fixture) {
	first := f.customer(Tiny)
	second := first
	second.Key, second.Line = f.key(first.Account), first.Key
	ticket := f.begin(keyed(f.op(first, 1), "k", "body"))
	require.ErrorIs(t, f.refused(keyed(f.op(second, 1), "k", "body")), metering.ErrInFlight)
	f.settle(ticket)
	for range 2 {
		for _, customer := range []metering.Op{first, second} {
			require.Equal(t, ticket.RequestID, f.replay(keyed(f.op(customer, 1), "k", "body")).RequestID)
			require.ErrorIs(t, f.refused(keyed(f.op(customer, 1), "k", "other")), metering.ErrMismatch)
		}
		f.reopen()
	}
	later := f.begin(keyed(f.op(second, 1), "later", "body"))
	f.settle(later)
	require.Equal(t, later.RequestID, f.replay(keyed(f.op(first, 1), "later", "body")).RequestID, "in the old key's grace")
	f.uses(first.Account, 2, 0)
	entries := f.entries(metering.EntryFilter{Key: second.Key})
	require.Len(t, entries, 1, "the charge is of the key that was shown")
}

// testClockSetBack keeps replies under a clock that is ahead: they must not keep later ones from expiring.
func testClockSetBack(t *testing.T, f *fixture) {
	customer := f.customer(Large)
	f.clock.Advance(365 * 24 * time.Hour)
	for i := range 5 {
		f.settle(f.begin(keyed(f.op(customer, 1), fmt.Sprint("ahead ", i), "")))
	}
	f.clock.Advance(-365 * 24 * time.Hour)
	f.settle(f.begin(keyed(f.op(customer, 1), "k", "one")))
	f.replay(keyed(f.op(customer, 1), "k", "one"))
	f.replay(keyed(f.op(customer, 1), "ahead 0", ""))
	f.clock.Advance(metering.ReplayWindow)
	f.settle(f.begin(keyed(f.op(customer, 1), "k", "two")))
	f.sound()
}

func testLostAcknowledgement(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	faulty := Faulty(f.store)
	lost := errors.New("the connection broke")

	// The charge was made, but the response was lost: the retry gets the same reply free of charge.
	ticket := f.begin(keyed(f.op(customer, 2), "after", "body"))
	faulty.Inject(Fault{Call: Settle, Times: 1, After: true, Err: lost})
	_, err := faulty.Settle(t.Context(), ticket, f.outcome("kept"))
	require.ErrorIs(t, err, lost)
	got := f.replay(keyed(f.op(customer, 2), "after", "body"))
	require.Equal(t, "kept", string(got.Reply.Body))
	require.Equal(t, ticket.RequestID, got.RequestID)
	_, err = faulty.Settle(t.Context(), ticket, f.outcome("kept"))
	require.ErrorIs(t, err, metering.ErrLapsed)
	f.uses(customer.Account, 2, 0)

	// The charge was not made: the caller cancels, and the retry runs.
	ticket = f.begin(keyed(f.op(customer, 2), "before", "body"))
	faulty.Inject(Fault{Call: Settle, Times: 1, Err: lost})
	_, err = faulty.Settle(t.Context(), ticket, f.outcome(""))
	require.ErrorIs(t, err, lost)
	require.NoError(t, faulty.Cancel(t.Context(), ticket))
	f.settle(f.begin(keyed(f.op(customer, 2), "before", "body")))
	f.uses(customer.Account, 4, 0)
	require.Equal(t, int64(4), f.sound().Credits)
	require.Equal(t, 3, faulty.Calls(Settle))
}
