package billing_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/meteringtest"
)

// notes lists what was done to an account.
func (b *bench) notes(id metering.AccountID) (list []billing.Action) {
	b.t.Helper()
	for n, err := range b.Notes(b.t.Context(), id) {
		require.NoError(b.t, err)
		list = append(list, n.Action)
	}
	return list
}

// lastNote is the newest note of an account.
func (b *bench) lastNote(id metering.AccountID) (last billing.Note) {
	b.t.Helper()
	for n, err := range b.Notes(b.t.Context(), id) {
		require.NoError(b.t, err)
		last = n
	}
	return last
}

// refused expects that something is not done to an invoice, for a reason.
func (b *bench) refused(err error, reason string) {
	b.t.Helper()
	refusal, ok := errors.AsType[*billing.RefusedError](err)
	require.True(b.t, ok, "%v", err)
	require.Equal(b.t, reason, refusal.Reason)
}

const month = "2026-10"

// A draft is priced again when it is finalized, and not after that.
func TestFinalize(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		id, large := b.account("pack"), b.account("enterprise")
		b.Biller = newTill()
		b.at("2026-11-01T00:15:00Z")
		b.close()
		b.set(id, func(a *metering.Account) { a.Name, a.Tax = "Renamed Ltd", metering.Tax{BasisPoints: 2000, Note: "VAT"} })
		b.at("2026-11-01T01:14:59Z")
		b.pay(billing.Paying{})
		b.at("2026-11-01T01:15:00Z")
		b.pay(billing.Paying{Finalized: 1, Paid: 1})
		v := b.invoice(id)
		require.Equal(t, [3]int64{2900, 580, 3480}, [3]int64{*v.PriceCents, v.TaxCents, v.TotalCents})
		require.Equal(t, "Renamed Ltd", v.Name)
		require.Equal(t, map[metering.EventType]int{metering.EventPeriodClosed: 1}, b.events(id))
		require.Equal(t, []billing.Action{billing.Created, billing.Finalized, billing.Charged}, b.notes(id))
		b.set(id, func(a *metering.Account) { a.Tax = metering.Tax{} })
		_, err := b.Finalize(t.Context(), id, month)
		b.refused(err, "is paid")

		require.Equal(t, billing.Draft, b.invoice(large).State)
		_, err = b.Finalize(t.Context(), large, month)
		b.refused(err, "has no price: agree on one for the account first")
		require.Empty(t, b.events(large))
		agreed := int64(99_000)
		b.set(large, func(a *metering.Account) { a.AgreedPriceCents = &agreed })
		b.at("2026-11-01T02:15:00Z")
		b.pay(billing.Paying{Finalized: 1, Paid: 1})
		agreed++
		b.set(large, func(a *metering.Account) { a.AgreedPriceCents = &agreed })
		require.Equal(t, int64(99_000), b.invoice(large).TotalCents)
		b.sound()
	})
}

func TestVoid(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		id := b.account("pack")
		b.spend(id, 50_010)
		b.at("2026-11-01T00:15:00Z")
		b.close()
		b.By = "ann@example.com"
		void, next, err := b.Void(t.Context(), id, month, "the tax is missing", false)
		require.NoError(t, err)
		require.Equal(t, billing.Void, void.State)
		require.Zero(t, next)
		n := b.lastNote(id)
		require.Equal(t, [4]string{"voided", "ann@example.com", "the tax is missing", "2026-10"},
			[4]string{string(n.Action), n.By, n.Reason, n.Invoice})
		_, _, err = b.Void(t.Context(), id, month, "again", false)
		b.refused(err, "is void")
		require.Equal(t, 1, b.close().Existed, "a void invoice is not made again by itself")

		b.set(id, func(a *metering.Account) { a.Tax.BasisPoints = 1000 })
		_, next, err = b.Void(t.Context(), id, month, "the tax is missing", true)
		require.NoError(t, err)
		require.Equal(t, "2026-10.2", next.ID)
		require.Equal(t, b.invoices(billing.Filter{})[0].Number, void.Number)
		require.Regexp(t, `^INV-2026-10\.2-[A-Z2-7]{16}$`, next.Number)
		require.Equal(t, int64(3191), next.TotalCents)
		require.Equal(t, billing.Draft, next.State)
		_, _, err = b.Void(t.Context(), id, month, "x", true)
		b.refused(err, "was replaced by 2026-10.2 before")
		biller := newTill()
		b.Biller = biller
		b.clock.Advance(time.Hour)
		b.pay(billing.Paying{Finalized: 1, Paid: 1})
		require.Equal(t, map[string]int64{string(id) + "-2026-10.2": 3191}, biller.paid)
		_, _, err = b.Void(t.Context(), id, next.ID, "x", true)
		b.refused(err, "is paid: write a credit note")
		require.Equal(t,
			map[metering.EventType]int{metering.EventPeriodClosed: 1, metering.EventOverageBilled: 1}, b.events(id))
		b.sound()

		free := b.account("free") // in November
		b.at("2026-12-02T00:00:00Z")
		_, err = b.Close(t.Context(), october.Next())
		require.NoError(t, err)
		_, next, err = b.Void(t.Context(), free, "2026-11", "x", true)
		require.NoError(t, err)
		require.Equal(t, billing.Paid, next.State)
		b.sound()
	})
}

// A credit note says how much of it is tax; all notes of an invoice together credit its whole tax.
func TestCreditedTax(t *testing.T) {
	b := inMemory(t)
	id := b.account("pack")
	b.set(id, func(a *metering.Account) { a.Tax = metering.Tax{BasisPoints: 1900} })
	b.Draft = -1
	b.at("2026-11-01T00:15:00Z")
	b.close()
	var tax int64
	for _, c := range []struct{ cents, net, tax int64 }{
		{1000, 840, 160}, // 1000 × 551 / 3451
		{1, 1, 0},
		{2450, 2059, 391},
	} {
		v, n, err := b.Credit(t.Context(), id, month, c.cents, "x")
		require.NoError(t, err)
		require.Equal(t, int64(551), v.TaxCents)
		require.Equal(t, []any{c.cents, c.net, c.tax, "EUR"}, []any{n.Cents, n.NetCents, n.TaxCents, n.Currency})
		tax += n.TaxCents
	}
	require.Equal(t, int64(551), tax)
	var out bytes.Buffer
	require.NoError(t, billing.WriteNotes(&out, b.Notes(t.Context(), id)))
	rows, err := csv.NewReader(&out).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"credited_net_cents", "credited_tax_cents", "credited_cents"}, rows[0][8:11])
	var credited [][]string
	for _, row := range rows[1:] {
		if row[6] != "" {
			credited = append(credited, row[7:11])
		}
	}
	require.Equal(t, [][]string{{"EUR", "840", "160", "1000"}, {"EUR", "1", "0", "1"}, {"EUR", "2059", "391", "2450"}}, credited)
	b.sound()
}

// An invoice is found by its number as well, among those of its account.
func TestInvoiceByNumber(t *testing.T) {
	b := inMemory(t)
	id, other := b.account("pack"), b.account("pack")
	b.Draft = -1
	b.at("2026-11-01T00:15:00Z")
	b.close()
	v, err := b.Invoice(t.Context(), id, month)
	require.NoError(t, err)
	require.True(t, billing.IsNumber(v.Number))
	require.False(t, billing.IsNumber(v.ID))
	same, err := b.Invoice(t.Context(), id, v.Number)
	require.NoError(t, err)
	require.Equal(t, v, same)
	void, next, err := b.Void(t.Context(), id, v.Number, "x", true)
	require.NoError(t, err)
	require.Equal(t, []string{"2026-10", "2026-10.2"}, []string{void.ID, next.ID})
	_, err = b.Finalize(t.Context(), id, next.Number)
	b.refused(err, "is open")
	_, err = b.Invoice(t.Context(), other, v.Number)
	require.ErrorIs(t, err, metering.ErrNotFound)
	for _, name := range []string{"INV-", "INV-2026-10", "INV-2026-10-", v.Number + "A"} {
		_, err = b.Invoice(t.Context(), id, name)
		require.ErrorIs(t, err, metering.ErrNotFound, name)
	}
}

func TestCredit(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		open, paidOne := b.account("pack"), b.account("pack")
		b.Biller = newTill()
		b.at("2026-11-01T00:15:00Z")
		b.close()
		_, _, err := b.Credit(t.Context(), open, month, 1, "x")
		b.refused(err, "is draft")
		b.finalize()
		for _, cents := range []int64{0, -1, 2901} {
			_, _, err = b.Credit(t.Context(), open, month, cents, "x")
			b.refused(err, "leaves 1 to 2900 cents to be credited")
		}
		v, n, err := b.Credit(t.Context(), open, month, 900, "an outage")
		require.NoError(t, err)
		require.Equal(t, [3]int64{2900, 900, 2000}, [3]int64{v.TotalCents, v.CreditedCents, v.AmountCents})
		require.Equal(t, "CN-"+v.Number[len("INV-"):]+"-1", n.Number)
		require.Equal(t, int64(900), b.lastNote(open).Cents)
		b.pay(billing.Paying{Paid: 2})
		require.Equal(t, map[string]int64{string(open) + "-2026-10-2": 2000, string(paidOne) + "-2026-10": 2900},
			b.Biller.(*till).paid, "another amount has another key")

		v, n, err = b.Credit(t.Context(), paidOne, month, 2900, "a gift")
		require.NoError(t, err)
		require.Equal(t, billing.Paid, v.State)
		require.Equal(t, int64(2900), v.AmountCents, "which was paid")
		require.Equal(t, int64(2900), v.CreditedCents)
		_, _, err = b.Credit(t.Context(), paidOne, month, 1, "x")
		b.refused(err, "is credited in full already")
		require.NotEmpty(t, n.Number)
		b.sound()
	})
}

// An invoice that is credited whole is paid; one whose payment is uncertain is not credited.
func TestCreditOfWhatIsOpen(t *testing.T) {
	b := inMemory(t)
	id := b.owing(1)[0]
	biller := newTill()
	biller.err = errBroken
	b.Biller = biller
	b.pay(billing.Paying{Failed: 1})
	_, _, err := b.Credit(t.Context(), id, month, 100, "x")
	b.refused(err, "had a payment attempt whose outcome is unknown")
	biller.err, biller.refuse = nil, "no funds"
	b.clock.Advance(time.Hour)
	b.pay(billing.Paying{Failed: 1})
	v, _, err := b.Credit(t.Context(), id, month, 2900, "x")
	require.NoError(t, err)
	require.Equal(t, billing.Paid, v.State)
	require.Zero(t, v.AmountCents)
	b.clock.Advance(1000 * time.Hour)
	b.pay(billing.Paying{})
	b.sound()
}

// What may have been paid is neither void nor credited: another payment would be made beside it.
func TestMendWhatMayBePaid(t *testing.T) {
	const uncertain = "had a payment attempt whose outcome is unknown"
	for name, attempt := range map[string]func(b *bench){
		"the biller broke": func(b *bench) { b.pay(billing.Paying{Failed: 1}) },
		"the server stopped": func(b *bench) {
			ctx, stop := context.WithCancel(t.Context())
			biller := b.Biller
			b.Biller = billerFunc(func(ctx context.Context, v billing.Invoice) (billing.Payment, error) {
				stop()
				return biller.Charge(ctx, v)
			})
			_, err := b.Pay(ctx)
			require.ErrorIs(t, err, context.Canceled)
			b.Biller = biller
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := inMemory(t)
			id := b.owing(1)[0]
			biller := newTill()
			biller.lost = errBroken
			b.Biller = biller
			attempt(b)
			key := string(id) + "-2026-10"
			require.Equal(t, map[string]int64{key: 2900}, biller.paid)
			b.clock.Advance(10 * time.Minute)
			for range 2 {
				_, _, err := b.Credit(t.Context(), id, month, 100, "x")
				b.refused(err, uncertain)
				_, _, err = b.Void(t.Context(), id, month, "x", true)
				b.refused(err, uncertain)
				_, err = b.Retry(t.Context(), id, month)
				require.NoError(t, err)
			}
			biller.lost = nil
			b.pay(billing.Paying{Paid: 1})
			require.Equal(t, map[string]int64{key: 2900}, biller.paid)
			b.sound()

			b = inMemory(t)
			id = b.owing(1)[0]
			biller.lost = errBroken
			b.Biller = biller
			attempt(b)
			b.clock.Advance(10 * time.Minute)
			_, err := b.WriteOff(t.Context(), id, month, "x")
			require.NoError(t, err)
			_, _, err = b.Void(t.Context(), id, month, "x", true)
			b.refused(err, uncertain)
			b.sound()
		})
	}
}

func TestByHand(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		ids := b.owing(2)
		v, err := b.MarkPaid(t.Context(), ids[0], month, "bank 17", "a transfer")
		require.NoError(t, err)
		require.Equal(t, billing.Paid, v.State)
		require.Equal(t, billing.PaymentRef("bank 17"), v.Payment)
		_, err = b.MarkPaid(t.Context(), ids[0], month, "", "x")
		b.refused(err, "is paid")
		v, err = b.WriteOff(t.Context(), ids[1], month, "insolvent")
		require.NoError(t, err)
		require.Equal(t, billing.Uncollectible, v.State)
		require.Equal(t, "insolvent", b.lastNote(ids[1]).Reason)
		_, err = b.Retry(t.Context(), ids[1], month)
		b.refused(err, "is uncollectible")
		_, err = b.MarkPaid(t.Context(), ids[1], month, "late", "after all")
		require.NoError(t, err)
		b.Biller = newTill()
		b.pay(billing.Paying{})
		_, err = b.WriteOff(t.Context(), ids[1], "2026-09", "x")
		require.ErrorIs(t, err, metering.ErrNotFound)
		b.sound()
	})
}

// An invoice cannot be changed while a node charges it: the amount paid would be unknown.
func TestMendWhileCharging(t *testing.T) {
	b := inMemory(t)
	id := b.owing(1)[0]
	first := b.Billing
	first.Biller = billerFunc(func(ctx context.Context, v billing.Invoice) (billing.Payment, error) {
		_, _, void := b.Void(ctx, id, month, "x", false)
		_, _, credit := b.Credit(ctx, id, month, 1, "x")
		_, written := b.WriteOff(ctx, id, month, "x")
		_, paid := b.MarkPaid(ctx, id, month, "x", "x")
		_, retried := b.Retry(ctx, id, month)
		for _, err := range []error{void, credit, written, paid, retried} {
			require.ErrorIs(t, err, billing.ErrBusy)
		}
		return billing.Payment{Status: billing.PaymentDeclined, Reason: "no"}, nil
	})
	_, err := first.Pay(t.Context())
	require.NoError(t, err)
	_, _, err = b.Void(t.Context(), id, month, "x", false)
	require.NoError(t, err)
	b.sound()
}

// failAll makes all attempts fail.
func (b *bench) failAll() {
	for range 5 {
		_, err := b.Pay(b.t.Context())
		require.NoError(b.t, err)
		b.clock.Advance(72 * time.Hour)
	}
	_, err := b.Pay(b.t.Context())
	require.NoError(b.t, err)
}

func (b *bench) suspended(id metering.AccountID) *metering.Suspension {
	b.t.Helper()
	a, err := b.store.Account(b.t.Context(), id)
	require.NoError(b.t, err)
	return a.Suspension
}

// An account whose last attempt is declined is suspended, and resumes once all is paid; a broken biller suspends no
// account.
func TestSuspension(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		id := b.owing(1)[0]
		biller := newTill()
		biller.err = errBroken
		b.Biller = biller
		b.failAll()
		require.Equal(t, billing.Failed, b.invoice(id).State)
		require.Nil(t, b.suspended(id))
		biller.err, biller.refuse = nil, "no funds"
		_, err := b.Retry(t.Context(), id, month)
		require.NoError(t, err)
		b.failAll()
		require.Equal(t, "invoice 2026-10 is not paid", b.suspended(id).Reason)
		_, err = b.store.Begin(t.Context(), metering.Op{RequestID: "req_a", Account: id, Key: "key_a", Endpoint: "POST /x",
			Credits: 1, Now: b.clock.Now(), Lease: b.clock.Now().Add(time.Minute)})
		refusal, ok := errors.AsType[*metering.QuotaError](err)
		require.True(t, ok)
		require.Equal(t, metering.QuotaSuspended, refusal.Reason)
		b.sound()

		_, err = b.Close(t.Context(), october.Next()) // another invoice, which fails, too
		require.NoError(t, err)
		b.finalize()
		b.failAll()
		biller.refuse = ""
		_, err = b.Retry(t.Context(), id, month)
		require.NoError(t, err)
		b.pay(billing.Paying{Paid: 1})
		require.NotNil(t, b.suspended(id), "the other is not paid")
		_, err = b.MarkPaid(t.Context(), id, "2026-11", "", "a transfer")
		require.NoError(t, err)
		b.pay(billing.Paying{})
		require.Nil(t, b.suspended(id))
		b.sound()
	})
}

func TestSuspensionByHand(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		id := b.account("pack")
		b.By = "ann"
		for range 2 {
			a, err := b.Suspend(t.Context(), id, "abuse")
			require.NoError(t, err)
			require.Equal(t, &metering.Suspension{At: a.Suspension.At, Reason: "abuse"}, b.suspended(id))
		}
		b.sound()
		b.at("2026-11-02T00:00:00Z")
		b.close()
		b.finalize()
		b.Biller = newTill()
		b.pay(billing.Paying{Paid: 1})
		require.NotNil(t, b.suspended(id), "payments do not end what a person began")
		for range 2 {
			_, err := b.Resume(t.Context(), id, "talked to them")
			require.NoError(t, err)
		}
		require.Nil(t, b.suspended(id))
		require.Equal(t, []billing.Action{billing.AccountSuspended, billing.Created, billing.Finalized, billing.Charged,
			billing.AccountResumed}, b.notes(id))
		_, err := b.Suspend(t.Context(), "acc_none", "x")
		require.ErrorIs(t, err, metering.ErrNotFound)
		b.sound()
	})
}

// TestMendDies breaks each change off at every call of the store, before and after it has done its work: the next try
// makes up for it, and everything is noted once.
func TestMendDies(t *testing.T) {
	for name, change := range map[string]func(b billing.Billing, id metering.AccountID) error{
		"suspend": func(b billing.Billing, id metering.AccountID) error {
			_, err := b.Suspend(t.Context(), id, "x")
			return err
		},
		"void": func(b billing.Billing, id metering.AccountID) error {
			_, next, err := b.Void(t.Context(), id, month, "x", true)
			if _, refused := errors.AsType[*billing.RefusedError](err); refused || err == nil && next.ID != "" {
				return nil
			}
			return err
		},
	} {
		for _, done := range []bool{false, true} {
			for calls := 0; ; calls++ {
				require.Less(t, calls, 20)
				b := inMemory(t)
				id := b.owing(1)[0]
				faulty := meteringtest.Faulty(b.store)
				faulty.Die(calls, done, errBroken)
				dying := b.Billing
				dying.Store = faulty
				died := change(dying, id)
				require.NoError(t, change(b.Billing, id), "%s %d %v", name, calls, done)
				b.sound()
				counts := map[billing.Action]int{}
				for _, a := range b.notes(id) {
					counts[a]++
				}
				require.Equal(t, 1, counts[billing.Finalized])
				require.Equal(t, 1, counts[billing.AccountSuspended]+counts[billing.Voided], "%s %d %v", name, calls, done)
				require.Equal(t, name == "void", counts[billing.Created] == 2)
				if died == nil {
					break
				}
			}
		}
	}
}

// A preview returns the cost of the month, and stores nothing.
func TestPreview(t *testing.T) {
	b := inMemory(t)
	id := b.account("pack")
	b.spend(id, 50_010)
	b.at("2026-10-20T00:00:00Z")
	b.set(id, toPlan("agency"))
	v, err := b.Preview(t.Context(), id, october)
	require.NoError(t, err)
	require.Equal(t, [3]int64{7545, 1, 7546}, [3]int64{*v.PriceCents, v.OverageCents, v.TotalCents})
	require.Equal(t, billing.Draft, v.State)
	require.Empty(t, b.invoices(billing.Filter{}))
	require.Empty(t, b.notes(id))
}
