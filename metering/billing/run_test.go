package billing_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
)

// TestRun lets two nodes bill by themselves over some months, of which they are away for two.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Config{})
		defer store.Close()
		biller := newTill()
		b := billing.Billing{Store: store, Biller: biller, Draft: -1}
		account, err := metering.Admin{Store: store}.CreateAccount(t.Context(), "Example Ltd", "pack")
		require.NoError(t, err)
		first := metering.PeriodOf(time.Now()) // synctest begins on 2000-01-01
		run := func(until time.Time) {
			ctx, stop := context.WithCancel(t.Context())
			go b.Run(ctx)
			go b.Run(ctx)
			time.Sleep(time.Until(until))
			stop()
			synctest.Wait()
		}
		paid := func() (list []string) {
			for v, err := range b.Invoices(t.Context(), billing.Filter{State: billing.Paid}) {
				require.NoError(t, err)
				list = append(list, v.ID)
			}
			return list
		}
		run(billing.ClosesAt(first))
		require.Empty(t, paid(), "the month before had no account")
		run(billing.ClosesAt(first).Add(4 * time.Minute))
		require.Equal(t, []string{"2000-01"}, paid())
		time.Sleep(time.Until(billing.ClosesAt(first.Next().Next().Next()).Add(time.Hour)))
		run(time.Now().Add(4 * time.Minute))
		require.Equal(t, []string{"2000-01", "2000-02", "2000-03", "2000-04"}, paid())
		run(billing.ClosesAt(metering.PeriodOf(time.Now())).Add(4 * time.Minute))
		require.Equal(t, []string{"2000-01", "2000-02", "2000-03", "2000-04", "2000-05"}, paid())
		for key, calls := range biller.calls {
			require.Equal(t, 1, calls, key)
		}
		require.Len(t, biller.paid, 5)
		require.NotEmpty(t, account.ID)
	})
}

// A draft is finalized by whichever server runs an hour later, with or without a biller.
func TestRunFinalizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Config{})
		defer store.Close()
		b := billing.Billing{Store: store}
		account, err := metering.Admin{Store: store}.CreateAccount(t.Context(), "Example Ltd", "pack")
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		go b.Run(ctx)
		states := func() (list []billing.State) {
			for v, err := range b.Invoices(t.Context(), billing.Filter{Account: account.ID}) {
				require.NoError(t, err)
				list = append(list, v.State)
			}
			return list
		}
		closes := billing.ClosesAt(metering.PeriodOf(time.Now()))
		time.Sleep(time.Until(closes.Add(time.Hour)))
		require.Equal(t, []billing.State{billing.Draft}, states())
		time.Sleep(4 * time.Minute)
		require.Equal(t, []billing.State{billing.Open}, states())
		b.Biller = newTill()
		go b.Run(ctx)
		time.Sleep(2 * time.Minute)
		require.Equal(t, []billing.State{billing.Paid}, states())
		stop()
		synctest.Wait()
	})
}

// A clock that is ahead for a while closes no month and charges no account, and the month is closed when it is over.
func TestRunWithAClockThatJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Config{})
		defer store.Close()
		var jump atomic.Int64
		began := time.Now()
		wall := func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }
		keeper := &metering.Timekeeper{Clock: wall, Steady: func() time.Duration { return time.Since(began) }}
		require.NoError(t, keeper.Doubt())
		b := billing.Billing{Store: store, Biller: newTill(), Clock: wall, Doubt: keeper.Doubt}
		_, err := metering.Admin{Store: store}.CreateAccount(t.Context(), "Example Ltd", "pack")
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		go b.Run(ctx)
		invoices := func() (n int) {
			for _, err := range b.Invoices(t.Context(), billing.Filter{}) {
				require.NoError(t, err)
				n++
			}
			return n
		}
		time.Sleep(time.Hour)
		jump.Store(int64(40 * 24 * time.Hour))
		time.Sleep(time.Hour)
		require.Zero(t, invoices())
		jump.Store(0)
		time.Sleep(time.Hour)
		require.Zero(t, invoices())
		time.Sleep(time.Until(billing.ClosesAt(metering.PeriodOf(began)).Add(4 * time.Minute)))
		require.Equal(t, 1, invoices())
		stop()
		synctest.Wait()
	})
}

// An operator who starts billing does not bill the past.
func TestRunBeginsWithLastMonth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Config{})
		defer store.Close()
		_, err := metering.Admin{Store: store}.CreateAccount(t.Context(), "Example Ltd", "pack")
		require.NoError(t, err)
		time.Sleep(100 * 24 * time.Hour)
		b := billing.Billing{Store: store}
		ctx, stop := context.WithCancel(t.Context())
		go b.Run(ctx)
		time.Sleep(4 * time.Minute)
		stop()
		synctest.Wait()
		n := 0
		for v, err := range b.Invoices(t.Context(), billing.Filter{}) {
			require.NoError(t, err)
			require.Equal(t, "2000-03", v.ID)
			n++
		}
		require.Equal(t, 1, n)
	})
}

// A month that one server could not close for every account is closed by the next, also when later ones are.
func TestRunMakesUpForFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Config{})
		defer store.Close()
		for range 2 {
			_, err := metering.Admin{Store: store}.CreateAccount(t.Context(), "Example Ltd", "pack")
			require.NoError(t, err)
		}
		first := metering.PeriodOf(time.Now())
		invoices := func() (list []string) {
			for v, err := range (billing.Billing{Store: store}).Invoices(t.Context(), billing.Filter{}) {
				require.NoError(t, err)
				list = append(list, v.ID)
			}
			slices.Sort(list)
			return list
		}
		time.Sleep(time.Until(billing.ClosesAt(first)))
		_, err := billing.Billing{Store: meteringtest.Faulty(store, meteringtest.Fault{
			Call: meteringtest.PutRecords, Times: 2, Err: errBroken, // of both accounts together, and of one
		})}.Close(t.Context(), first)
		require.ErrorIs(t, err, errBroken)
		time.Sleep(time.Until(billing.ClosesAt(first.Next())))
		_, err = billing.Billing{Store: store}.Close(t.Context(), first.Next())
		require.NoError(t, err)
		require.Equal(t, []string{"2000-01", "2000-02", "2000-02"}, invoices())
		ctx, stop := context.WithCancel(t.Context())
		var told []error
		b := billing.Billing{Draft: -1, Biller: newTill(), Store: meteringtest.Faulty(store, meteringtest.Fault{
			Call: meteringtest.PutRecords, Times: 2, Err: errBroken,
		})}
		paid := 0
		b.Observe = func(closing error, p billing.Paying) { told, paid = append(told, closing), paid+p.Paid }
		go b.Run(ctx)
		time.Sleep(4 * time.Minute)
		stop()
		synctest.Wait()
		require.Equal(t, []string{"2000-01", "2000-01", "2000-02", "2000-02"}, invoices())
		require.ErrorIs(t, told[0], errBroken)
		require.NoError(t, told[len(told)-1])
		require.Positive(t, paid)
	})
}

// A ledger keeps charges that are not billed yet.
func TestRetain(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		retain := func(want string) {
			t.Helper()
			got, err := b.Retain(t.Context(), metering.Period{Year: 2027, Month: time.January})
			require.NoError(t, err)
			require.Equal(t, want, got.String())
		}
		retain("2027-01")
		pack, self, free := b.account("pack"), b.account("self"), b.account("free")
		b.spend(self, 1)
		b.spend(free, 1)
		retain("2027-01")
		b.spend(pack, 1)
		retain("2026-10")
		b.at("2026-11-03T00:00:00Z")
		b.spend(pack, 1)
		b.close()
		retain("2026-11")
		b.at("2026-12-03T00:00:00Z")
		_, err := b.Close(t.Context(), october.Next())
		require.NoError(t, err)
		retain("2027-01")
	})
}
