package billing_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
)

// bank takes days, and may be asked.
type bank struct {
	payments map[string]billing.Payment // by key
	polls    int
	err      error
	reason   string // why a payment is pending
}

func (k *bank) Charge(_ context.Context, v billing.Invoice) (billing.Payment, error) {
	return billing.Payment{
		Status: billing.PaymentPending, Reference: billing.PaymentRef("pay-" + v.IdempotencyKey()), Reason: k.reason,
	}, nil
}

func (k *bank) Payment(_ context.Context, v billing.Invoice) (billing.Payment, error) {
	k.polls++
	return k.payments[string(v.Payment)], k.err
}

// pending makes an invoice whose payment is pending.
func (b *bench) pending(biller billing.Biller) metering.AccountID {
	id := b.owing(1)[0]
	b.Biller = biller
	b.pay(billing.Paying{Pending: 1})
	require.Equal(b.t, billing.Pending, b.invoice(id).State)
	return id
}

func report(id metering.AccountID, status billing.PaymentStatus, ref billing.PaymentRef) billing.PaymentReport {
	p := billing.Payment{Status: status, Reference: ref, Reason: "no funds"}
	return billing.PaymentReport{Account: id, Invoice: month, Payment: p}
}

// A pending payment is polled at growing intervals, and is not a failure while its outcome is unknown.
func TestPoll(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		k := &bank{payments: map[string]billing.Payment{}, err: errBroken}
		id := b.pending(k)
		notes := len(b.notes(id))
		for _, err := range []error{errBroken, nil} { // nothing is known, and then: something that is not understood
			k.err = err
			before := k.polls
			for range 24 * 60 {
				b.clock.Advance(time.Minute)
				b.pay(billing.Paying{})
			}
			require.Positive(t, k.polls-before)
			require.Less(t, k.polls-before, 20)
		}
		k.payments["pay-"+string(id)+"-2026-10"] = billing.Payment{Status: billing.PaymentPending}
		b.clock.Advance(6 * time.Hour)
		b.pay(billing.Paying{})
		require.Equal(t, billing.Pending, b.invoice(id).State)
		require.Len(t, b.notes(id), notes)
		k.payments["pay-"+string(id)+"-2026-10"] = billing.Payment{Status: billing.PaymentPaid}
		b.clock.Advance(6 * time.Hour)
		b.pay(billing.Paying{Paid: 1})
		v := b.invoice(id)
		require.Equal(t, billing.Paid, v.State)
		require.Equal(t, billing.PaymentRef("pay-"+string(id)+"-2026-10"), v.Payment)
		require.Len(t, v.Attempts, 1)
		b.sound()
	})
}

// A pending payment that is declined at last is an attempt that has failed: the next has another key.
func TestPollDeclined(t *testing.T) {
	b := inMemory(t)
	k := &bank{payments: map[string]billing.Payment{}}
	id := b.pending(k)
	k.payments["pay-"+string(id)+"-2026-10"] =
		billing.Payment{Status: billing.PaymentDeclined, Reason: "the account is closed"}
	b.clock.Advance(time.Hour)
	b.pay(billing.Paying{Failed: 1})
	v := b.invoice(id)
	require.Equal(t, billing.Open, v.State)
	require.Equal(t, "the account is closed", v.Attempts[0].Error)
	require.Equal(t, string(id)+"-2026-10-2", v.IdempotencyKey())
	require.Equal(t, b.clock.Now().Add(time.Hour), *v.NextAttempt)
	require.Equal(t, 1, b.events(id)[metering.EventPaymentFailed])
	b.clock.Advance(time.Hour)
	b.pay(billing.Paying{Pending: 1})
	b.sound()
}

// The report of a biller about a pending payment is kept while it is pending.
func TestPendingReason(t *testing.T) {
	b := inMemory(t)
	k := &bank{payments: map[string]billing.Payment{}, reason: "the customer must authenticate the payment"}
	id := b.pending(k)
	require.Equal(t, k.reason, b.invoice(id).Attempts[0].Error)
	k.payments["pay-"+string(id)+"-2026-10"] = billing.Payment{Status: billing.PaymentPaid}
	b.clock.Advance(time.Hour)
	b.pay(billing.Paying{Paid: 1})
	require.Empty(t, b.invoice(id).Attempts[0].Error)
	b.sound()
}

// Reports that are duplicate, late, or concurrent change nothing twice.
func TestSettle(t *testing.T) {
	const first = "pay-%s-2026-10"
	const paid, pending, declined = billing.PaymentPaid, billing.PaymentPending, billing.PaymentDeclined
	for name, c := range map[string]struct {
		words []billing.PaymentStatus // of the first attempt
		want  billing.State
		err   string
	}{
		"paid":                {words: []billing.PaymentStatus{paid}, want: billing.Paid},
		"paid twice":          {words: []billing.PaymentStatus{paid, paid}, want: billing.Paid},
		"pending":             {words: []billing.PaymentStatus{pending}, want: billing.Pending},
		"pending after paid":  {words: []billing.PaymentStatus{paid, pending}, want: billing.Paid},
		"declined":            {words: []billing.PaymentStatus{declined}, want: billing.Open},
		"declined twice":      {words: []billing.PaymentStatus{declined, declined}, want: billing.Open},
		"paid after declined": {words: []billing.PaymentStatus{declined, paid}, want: billing.Paid},
		"declined after paid": {words: []billing.PaymentStatus{paid, declined}, want: billing.Paid,
			err: `was paid by "%s", which is now declined`},
	} {
		t.Run(name, func(t *testing.T) {
			b := inMemory(t)
			id := b.pending(&bank{})
			ref := billing.PaymentRef(fmt.Sprintf(first, id))
			for i, status := range c.words {
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() {
						_, err := b.Settle(t.Context(), report(id, status, ref))
						if c.err == "" || i < len(c.words)-1 {
							assert.NoError(t, err)
						} else {
							assert.ErrorContains(t, err, fmt.Sprintf(c.err, ref))
						}
					})
				}
				wg.Wait()
			}
			v := b.invoice(id)
			require.Equal(t, c.want, v.State)
			declines := 0
			for _, w := range c.words {
				if w == billing.PaymentDeclined && c.err == "" {
					declines = 1
				}
			}
			require.Equal(t, declines, v.Declines)
			require.Equal(t, declines, b.events(id)[metering.EventPaymentFailed])
			b.sound()
		})
	}
}

// A report of an attempt that was declined does not touch the one that is pending now.
func TestLateWord(t *testing.T) {
	b := inMemory(t)
	id := b.pending(&bank{})
	first := billing.PaymentRef(fmt.Sprintf("pay-%s-2026-10", id))
	_, err := b.Settle(t.Context(), report(id, billing.PaymentDeclined, first))
	require.NoError(t, err)
	b.clock.Advance(time.Hour)
	b.pay(billing.Paying{Pending: 1})
	_, err = b.Settle(t.Context(), report(id, billing.PaymentDeclined, first))
	require.NoError(t, err)
	require.Equal(t, billing.Pending, b.invoice(id).State)
	_, err = b.Settle(t.Context(), report(id, billing.PaymentDeclined, ""))
	b.refused(err, fmt.Sprintf("has the pending payment %q, and a report that names none", first+"-2"))
	_, err = b.Settle(t.Context(), report(id, billing.PaymentPaid, first))
	require.NoError(t, err)
	_, err = b.Settle(t.Context(), report(id, billing.PaymentPaid, first+"-2"))
	b.refused(err, fmt.Sprintf("is paid by %q, and now by %q as well", first, first+"-2"))
	_, err = b.Settle(t.Context(), report(id, "processing", first))
	b.refused(err, `cannot become "processing": a report says paid, pending or declined`)
	_, err = b.Settle(t.Context(), report("acc_none", billing.PaymentPaid, first))
	require.ErrorIs(t, err, metering.ErrNotFound)
	b.sound()
}

// Two payments of one invoice are reported, even if one is reported while the other is being made.
func TestPaidTwice(t *testing.T) {
	for name, c := range map[string]struct {
		report billing.PaymentRef
		err    string
	}{
		"the same payment": {report: "p2"},
		"another":          {report: "p1", err: `is paid by "p1", and now by "p2" as well`},
	} {
		t.Run(name, func(t *testing.T) {
			b := inMemory(t)
			id := b.owing(1)[0]
			b.Biller = billerFunc(func(ctx context.Context, v billing.Invoice) (billing.Payment, error) {
				_, err := b.Settle(ctx, report(id, billing.PaymentPaid, c.report))
				require.NoError(t, err)
				return paid("p2"), nil
			})
			_, err := b.Pay(t.Context())
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
			require.Equal(t, c.report, b.invoice(id).Payment)
			b.pay(billing.Paying{})
			b.sound()
		})
	}
}

// A report may be faster than the response to the attempt, and may concern an invoice that should not be paid.
func TestEarlyWord(t *testing.T) {
	for name, c := range map[string]struct {
		status billing.PaymentStatus
		err    error
		want   billing.State
	}{
		"paid":     {status: billing.PaymentPaid, want: billing.Paid},
		"declined": {status: billing.PaymentDeclined, err: billing.ErrBusy, want: billing.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			b := inMemory(t)
			id := b.owing(1)[0]
			b.Biller = billerFunc(func(ctx context.Context, v billing.Invoice) (billing.Payment, error) {
				_, err := b.Settle(ctx, report(id, c.status, "p1"))
				require.ErrorIs(t, err, c.err)
				return billing.Payment{Status: billing.PaymentPending, Reference: "p1"}, nil
			})
			_, err := b.Pay(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, b.invoice(id).State)
			b.sound()
		})
	}
	b := inMemory(t)
	id := b.owing(1)[0]
	_, _, err := b.Void(t.Context(), id, month, "x", false)
	require.NoError(t, err)
	_, err = b.Settle(t.Context(), report(id, billing.PaymentDeclined, "p1"))
	require.NoError(t, err)
	_, err = b.Settle(t.Context(), report(id, billing.PaymentPaid, "p1"))
	b.refused(err, `is void, and was paid by "p1"`)
}
