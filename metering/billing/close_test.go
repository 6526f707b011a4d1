package billing_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/meteringtest"
)

func TestClose(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		pack, agency, free, idle, self := b.account("pack"), b.account("agency"), b.account("free"), b.account("self"),
			b.account("self")
		enterprise := b.account("enterprise")
		b.spend(pack, 50_000)
		b.spend(pack, 125)
		b.spend(agency, 7)
		b.spend(enterprise, 5_000_050)
		b.spend(self, 3)
		b.at("2026-11-01T00:00:00Z")
		late := b.account("pack")
		b.spend(pack, 999)
		b.at("2026-11-01T00:15:00Z")
		require.Equal(t, billing.Closed{Period: october, Created: 5, WithoutInvoice: 2}, b.close())
		require.Equal(t, billing.Closed{Period: october, Existed: 5, WithoutInvoice: 2}, b.close(), "again")
		for name, c := range map[string]struct {
			account metering.AccountID
			want    string
		}{
			"overage, half up": {pack, "pack EUR 50125 of 50000, 125 beyond cost 12.5 = 13, in all 2913, draft"},
			"no overage":       {agency, "agency EUR 7 of 1000000, 0 beyond cost 0 = 0, in all 14900, draft"},
			"nothing to pay":   {free, "free EUR 0 of 30, 0 beyond cost 0 = 0, in all 0, paid"},
			"price on request": {enterprise, "enterprise EUR 5000050 of 5000000, 50 beyond cost 1.5 = 2, in all 2, draft"},
			"not for sale":     {self, "self EUR 3 of 1000000000, 0 beyond cost 0 = 0, in all 0, paid"},
		} {
			v := b.invoice(c.account)
			require.Equal(t, c.want, fmt.Sprintf("%s %s %d of %d, %d beyond cost %s = %d, in all %d, %s", v.Plan, v.Currency,
				v.UsedCredits, v.LimitCredits, v.OverageCredits, v.OverageExact, v.OverageCents, v.TotalCents, v.State), name)
			want := map[metering.EventType]int{}
			if v.State == billing.Paid {
				want[metering.EventPeriodClosed] = 1 // the others are notified of the amount when it is final
			}
			require.Equal(t, want, b.events(c.account), name)
		}
		require.Nil(t, b.invoice(enterprise).PriceCents)
		require.Regexp(t, `^INV-2026-10-[A-Z2-7]{16}$`, b.invoice(pack).Number)
		require.NotEqual(t, b.invoice(pack).Number, b.invoice(agency).Number)
		require.Empty(t, b.invoices(billing.Filter{Account: idle}), "not for sale, and not used")
		require.Empty(t, b.invoices(billing.Filter{Account: late}), "created after the month")
		require.Len(t, b.invoices(billing.Filter{State: billing.Draft}), 3)
		b.sound()
	})
}

// A request that was admitted before midnight is on the invoice of the old month, and no month is closed as
// long as there may be one.
func TestCloseAtMidnight(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		id := b.account("pack")
		b.at("2026-10-31T23:59:59Z")
		ticket := b.begin(id, 50_100)
		for _, at := range []string{"2026-10-31T23:59:59Z", "2026-11-01T00:00:00Z", "2026-11-01T00:14:59Z"} {
			if at == "2026-11-01T00:14:59Z" {
				_, err := b.store.Settle(t.Context(), ticket, metering.Outcome{At: b.clock.Now()})
				require.NoError(t, err)
			}
			b.at(at)
			_, err := b.Close(t.Context(), october)
			early, ok := errors.AsType[*billing.TooEarlyError](err)
			require.True(t, ok, "%s: %v", at, err)
			require.Equal(t, "2026-11-01T00:15:00Z", early.From.Format(time.RFC3339))
			require.ErrorContains(t, err, "2026-10 can be closed from 2026-11-01T00:15:00Z on")
		}
		b.at("2026-11-01T00:15:00Z")
		b.close()
		require.Equal(t, int64(50_100), b.invoice(id).UsedCredits)
		november, err := b.store.Balance(t.Context(), id, october.Next())
		require.NoError(t, err)
		require.Zero(t, november.Used)
	})
}

// A hold in a month that should have none keeps its account from being closed, and no other.
func TestCloseHeld(t *testing.T) {
	b := inMemory(t)
	held, other := b.account("pack"), b.account("pack")
	b.at("2026-10-31T23:59:00Z")
	b.begin(held, 1)
	ahead := b.Billing
	ahead.Clock = func() time.Time { return b.clock.Now().Add(time.Hour) } // a node whose clock is wrong
	_, err := ahead.Close(t.Context(), october)
	require.ErrorContains(t, err, "1 credits are still held")
	require.Empty(t, b.invoices(billing.Filter{Account: held}))
	require.Len(t, b.invoices(billing.Filter{Account: other}), 1)
}

func TestCloseRace(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		var ids []metering.AccountID
		for range 40 {
			id := b.account("pack")
			b.spend(id, 50_003)
			ids = append(ids, id)
		}
		b.at("2026-11-02T00:00:00Z")
		var made, existed atomic.Int64
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				closed, err := b.Close(t.Context(), october)
				assert.NoError(t, err)
				made.Add(int64(closed.Created))
				existed.Add(int64(closed.Existed))
			})
		}
		wg.Wait()
		require.Equal(t, [2]int64{40, 360}, [2]int64{made.Load(), existed.Load()})
		b.finalize()
		b.soundInvoices(ids)
	})
}

// A store that fails for every account is reported briefly.
func TestCloseFaults(t *testing.T) {
	b := inMemory(t)
	for range 25 {
		b.account("pack")
	}
	b.at("2026-11-02T00:00:00Z")
	faulty := meteringtest.Faulty(b.store, meteringtest.Fault{Call: meteringtest.PutRecords, Err: errBroken})
	broken := b.Billing
	broken.Store = faulty
	_, err := broken.Close(t.Context(), october)
	require.ErrorIs(t, err, errBroken)
	require.ErrorContains(t, err, "and 15 accounts more")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.Close(ctx, october)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 25, b.close().Created)
}

// An invoice that was removed from outside is not made a second time, and is reported missing.
func TestInvoiceRemoved(t *testing.T) {
	b := inMemory(t)
	id := b.account("pack")
	b.at("2026-11-02T00:00:00Z")
	b.close()
	r, err := b.store.Record(t.Context(), id, billing.InvoiceKind, october.String())
	require.NoError(t, err)
	r.Body = nil
	require.NoError(t, b.store.PutRecords(t.Context(), r))
	require.Equal(t, billing.Closed{Period: october, Existed: 1}, b.close())
	require.Empty(t, b.invoices(billing.Filter{}))
	found, err := b.Audit(t.Context())
	require.NoError(t, err)
	require.Len(t, found.Faults, 1)
	require.Equal(t, "invoice 2026-10 has notes, and is gone", found.Faults[0].Detail)
}

// closeDies makes a close die after so many calls, and the next one complete it. It reports whether the first
// survived.
func closeDies(t *testing.T, b *bench, calls int, done bool) bool {
	ids := []metering.AccountID{b.account("pack"), b.account("pack")}
	for _, id := range ids {
		b.spend(id, 50_003)
	}
	b.at("2026-11-02T00:00:00Z")
	faulty := meteringtest.Faulty(b.store)
	faulty.Die(calls, done, errBroken)
	dying := b.Billing
	dying.Store = faulty
	_, err := dying.Close(t.Context(), october)
	b.sound() // never an invoice without its note
	b.close()
	b.finalize()
	b.soundInvoices(ids)
	require.True(t, err != nil || calls > 4, "only %d calls", calls)
	return err == nil
}
