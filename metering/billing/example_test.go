package billing_test

import (
	"context"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/memory"
)

// printer is a biller that believes what it prints.
type printer struct{}

func (printer) Charge(_ context.Context, v billing.Invoice) (billing.Payment, error) {
	fmt.Printf("%s: %d of %d credits, %s cents of overage, in all %d cents\n",
		v.Period, v.UsedCredits, v.LimitCredits, v.OverageExact, v.TotalCents)
	return billing.Payment{Status: billing.PaymentPaid, Reference: "printed"}, nil
}

func Example() {
	ctx := context.Background()
	now := time.Date(2026, 10, 20, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	store := memory.New(memory.Config{Clock: clock})
	defer store.Close()
	account := metering.Account{ID: "acc_example", Name: "Example", Plan: "pack", OverageEnabled: true, CreatedAt: now}
	if err := store.PutAccount(ctx, account); err != nil {
		fmt.Println(err)
		return
	}
	begun, err := store.Begin(ctx, metering.Op{
		Account: account.ID, Key: "key_example", Credits: 50_125, Now: now, Lease: now.Add(time.Minute),
	})
	if err == nil {
		_, err = store.Settle(ctx, *begun.Ticket, metering.Outcome{At: now})
	}
	if err != nil {
		fmt.Println(err)
		return
	}

	b := billing.Billing{Store: store, Biller: printer{}, Clock: clock}
	_, err = b.Close(ctx, metering.PeriodOf(now))
	fmt.Println(err)
	now = time.Date(2026, 11, 1, 0, 15, 0, 0, time.UTC)
	closed, err := b.Close(ctx, metering.Period{Year: 2026, Month: time.October})
	fmt.Println(closed.Created, err)
	now = now.Add(time.Hour) // in which the invoice is a draft
	paid, err := b.Pay(ctx)
	fmt.Println(paid.Paid, err)

	// Output:
	// 2026-10 can be closed from 2026-11-01T00:15:00Z on: until then requests may be charged to it
	// 1 <nil>
	// 2026-10: 50125 of 50000 credits, 12.5 cents of overage, in all 1136 cents
	// 1 <nil>
}
