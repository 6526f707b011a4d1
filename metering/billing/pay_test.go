package billing_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/meteringtest"
)

// till is a biller that counts calls and payments. It fails while there is an error.
type till struct {
	mu     sync.Mutex
	calls  map[string]int
	paid   map[string]int64
	err    error
	lost   error  // of the answer, after the payment was made
	refuse string // why it declines
}

func newTill() *till { return &till{calls: map[string]int{}, paid: map[string]int64{}} }

func (c *till) Charge(_ context.Context, v billing.Invoice) (billing.Payment, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[v.IdempotencyKey()]++
	switch {
	case c.err != nil:
		return billing.Payment{}, c.err
	case c.refuse != "":
		return billing.Payment{Status: billing.PaymentDeclined, Reason: c.refuse}, nil
	}
	c.paid[v.IdempotencyKey()] = v.AmountCents
	return paid("payment " + v.IdempotencyKey()), c.lost
}

func paid(ref string) billing.Payment {
	return billing.Payment{Status: billing.PaymentPaid, Reference: billing.PaymentRef(ref)}
}

// owing makes accounts with an open invoice each.
func (b *bench) owing(n int) []metering.AccountID {
	var ids []metering.AccountID
	for range n {
		ids = append(ids, b.account("pack"))
	}
	b.at("2026-11-01T00:15:00Z")
	b.close()
	b.finalize()
	return ids
}

func (b *bench) pay(want billing.Paying) {
	b.t.Helper()
	got, err := b.Pay(b.t.Context())
	require.NoError(b.t, err)
	require.Equal(b.t, want, got)
}

func TestPay(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		id, free := b.owing(1)[0], b.account("free")
		_, err := b.Pay(t.Context())
		require.ErrorIs(t, err, billing.ErrNoBiller)
		biller := newTill()
		b.Biller = biller
		b.pay(billing.Paying{Paid: 1})
		b.pay(billing.Paying{})
		v := b.invoice(id)
		at := b.clock.Now().Truncate(time.Microsecond)
		require.Equal(t, billing.Paid, v.State)
		require.Equal(t, "payment "+billing.PaymentRef(id)+"-2026-10", v.Payment)
		want := billing.Attempt{Number: 1, At: at, Status: billing.PaymentPaid, Reference: v.Payment}
		require.Equal(t, []billing.Attempt{want}, v.Attempts)
		require.Equal(t, at, *v.PaidAt)
		require.Nil(t, v.NextAttempt)
		require.Equal(t, map[string]int64{string(id) + "-2026-10": 2900}, biller.paid)
		require.Zero(t, biller.calls[string(free)+"-2026-10"])
		_, err = b.Retry(t.Context(), id, october.String())
		require.EqualError(t, err, "invoice 2026-10 of "+string(id)+" is paid")
		_, err = b.Retry(t.Context(), id, october.Next().String())
		require.ErrorIs(t, err, metering.ErrNotFound)
	})
}

// A failing payment is retried by the schedule, reports each failure, and finally fails.
func TestPaymentSchedule(t *testing.T) {
	b := inMemory(t)
	id := b.owing(1)[0]
	biller := newTill()
	biller.err = &metering.ReasonError{Reason: "declined " + strings.Repeat("é", 400)}
	b.Biller = biller
	waits := []time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour, 72 * time.Hour, 0}
	attempts := 0
	round := func() {
		for i, wait := range waits {
			b.pay(billing.Paying{Failed: 1, Exhausted: i / (len(waits) - 1)})
			attempts++
			v := b.invoice(id)
			last := v.Attempts[len(v.Attempts)-1]
			require.Equal(t, attempts, last.Number)
			require.Equal(t, b.clock.Now().Truncate(time.Microsecond), last.At)
			require.Contains(t, last.Error, "declined é")
			require.Less(t, len(last.Error), 310)
			require.Equal(t, attempts, b.events(id)[metering.EventPaymentFailed])
			if i == len(waits)-1 {
				require.Equal(t, billing.Failed, v.State)
				require.Nil(t, v.NextAttempt)
				break
			}
			require.Equal(t, billing.Open, v.State)
			require.Equal(t, last.At.Add(wait), *v.NextAttempt)
			b.clock.Advance(wait - time.Microsecond)
			b.pay(billing.Paying{})
			b.clock.Advance(time.Microsecond)
		}
		b.clock.Advance(1000 * time.Hour)
		b.pay(billing.Paying{})
	}
	round()
	v, err := b.Retry(t.Context(), id, october.String())
	require.NoError(t, err)
	require.Equal(t, billing.Open, v.State)
	round()
	for range 10 {
		_, err = b.Retry(t.Context(), id, october.String())
		require.NoError(t, err)
		round()
	}
	require.Len(t, b.invoice(id).Attempts, 50, "it remembers the newest")
	require.Equal(t, 60, attempts)

	_, err = b.Retry(t.Context(), id, october.String())
	require.NoError(t, err)
	biller.err = nil
	b.pay(billing.Paying{Paid: 1})
	require.Equal(t, billing.Paid, b.invoice(id).State)
	require.Empty(t, b.invoice(id).Attempts[49].Error)
}

// Of ten nodes that pay at once, one charges each invoice.
func TestPayRace(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		ids := b.owing(120) // more than are looked up at once
		biller := newTill()
		b.Biller = biller
		var mu sync.Mutex
		var sum billing.Paying
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				got, err := b.Pay(t.Context())
				assert.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				sum.Paid += got.Paid
				sum.Failed += got.Failed
			})
		}
		wg.Wait()
		require.Equal(t, billing.Paying{Paid: len(ids)}, sum)
		for _, id := range ids {
			require.Equal(t, 1, biller.calls[string(id)+"-2026-10"])
			require.Equal(t, billing.Paid, b.invoice(id).State)
		}
	})
}

// payDies makes a payment die after so many calls, and the next ones complete it. It reports whether the first
// survived.
func payDies(t *testing.T, b *bench, calls int, done bool, declined error) bool {
	id := b.owing(1)[0]
	biller := newTill()
	biller.err = declined
	b.Biller = biller
	faulty := meteringtest.Faulty(b.store)
	faulty.Die(calls, done, errBroken)
	dying := b.Billing
	dying.Store = faulty
	_, died := dying.Pay(t.Context())
	biller.err = nil
	for _, wait := range []time.Duration{5 * time.Minute, time.Hour} { // the lease of the dead one, and the schedule
		b.clock.Advance(wait)
		_, err := b.Pay(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, billing.Paid, b.invoice(id).State)
	require.Equal(t, map[string]int64{string(id) + "-2026-10": 2900}, biller.paid)
	require.LessOrEqual(t, biller.calls[string(id)+"-2026-10"], 2)
	return died == nil
}

// A node that is slower than its lease does not overwrite what another has done since.
func TestPayLateAnswer(t *testing.T) {
	b := inMemory(t)
	id := b.owing(1)[0]
	other := newTill()
	slow := billerFunc(func(context.Context, billing.Invoice) (billing.Payment, error) {
		b.clock.Advance(6 * time.Minute)
		second := b.Billing
		second.Biller = other
		_, err := second.Pay(t.Context())
		require.NoError(t, err)
		return billing.Payment{}, errors.New("the connection broke")
	})
	first := b.Billing
	first.Biller = slow
	_, err := first.Pay(t.Context())
	require.NoError(t, err)
	require.Equal(t, billing.Paid, b.invoice(id).State)
	require.Len(t, b.invoice(id).Attempts, 1)
	require.Zero(t, b.events(id)[metering.EventPaymentFailed])
}

type billerFunc func(context.Context, billing.Invoice) (billing.Payment, error)

func (f billerFunc) Charge(ctx context.Context, v billing.Invoice) (billing.Payment, error) {
	return f(ctx, v)
}

// A server that stops does not count against the customer what it has broken off itself, and notes a payment
// that was made.
func TestPayStopped(t *testing.T) {
	for name, answer := range map[string]error{"broken off": context.Canceled, "paid": nil} {
		b := inMemory(t)
		id := b.owing(1)[0]
		ctx, stop := context.WithCancel(t.Context())
		b.Biller = billerFunc(func(context.Context, billing.Invoice) (billing.Payment, error) {
			stop()
			return paid("payment"), answer
		})
		_, err := b.Pay(ctx)
		require.ErrorIs(t, err, context.Canceled)
		v := b.invoice(id)
		if answer == nil {
			require.Equal(t, billing.Paid, v.State, name)
		} else {
			require.Equal(t, billing.Open, v.State, name)
			require.Empty(t, v.Attempts, name)
		}
	}
}

// An account learns why a biller declined, and nothing of files and addresses of the operator.
func TestWhatPayersAreTold(t *testing.T) {
	var log strings.Builder
	for want, biller := range map[string]*till{
		`"error":"the card has expired"`:                                {refuse: "the card has expired"},
		`"currency":"EUR","state":"open","attempt":1,"next_attempt_at"`: {err: errors.New("open /srv/private: denied")},
	} {
		b := inMemory(t)
		id := b.owing(1)[0]
		biller.calls = map[string]int{}
		b.Biller, b.Log = biller, slog.New(slog.NewTextHandler(&log, nil))
		b.pay(billing.Paying{Failed: 1})
		if biller.err != nil {
			require.Equal(t, "there was no answer that could be understood", b.invoice(id).Attempts[0].Error)
			require.Contains(t, log.String(), biller.err.Error(), "the operator reads it in the log")
		}
		event, err := b.store.Record(t.Context(), id, metering.EventKind,
			metering.EventID(metering.EventPaymentFailed, string(id)+"-2026-10/1"))
		require.NoError(t, err)
		require.Contains(t, string(event.Body), want)
		require.NotContains(t, string(event.Body), "private")
	}
}

// An attempt with an unknown outcome is repeated under its key; after a decline the key is a new one.
func TestKeyOfAttempt(t *testing.T) {
	b := inMemory(t)
	id := b.owing(1)[0]
	biller := newTill()
	b.Biller = biller
	first := string(id) + "-2026-10"
	for i, want := range []map[string]int{
		{first: 1}, {first: 2}, {first: 2, first + "-2": 1}, {first: 2, first + "-2": 1, first + "-3": 1},
	} {
		biller.err = []error{errBroken, nil, nil, errBroken}[i]
		biller.refuse = []string{"", "no funds", "no funds", ""}[i]
		b.pay(billing.Paying{Failed: 1})
		require.Equal(t, want, biller.calls)
		b.clock.Advance(72 * time.Hour)
	}
	biller.err = nil
	b.pay(billing.Paying{Paid: 1})
	require.Equal(t, map[string]int64{first + "-3": 2900}, biller.paid)
	require.Equal(t, 4, b.events(id)[metering.EventPaymentFailed])
}

// No two attempts share a key: neither those of one invoice, nor of one that came after it.
func TestKeysDiffer(t *testing.T) {
	seen := map[string]billing.Invoice{}
	for _, id := range []string{"2026-10", "2026-10.2", "2026-10.3", "2026-10.12", "2026-11", "2026-12"} {
		for changes := range 60 { // each decline and each credit note changes the key
			v := billing.Invoice{Account: "acc_a", ID: id, Declines: changes / 2, Credits: changes - changes/2}
			require.NotContains(t, seen, v.IdempotencyKey())
			seen[v.IdempotencyKey()] = v
		}
	}
}
