package memory_test

import (
	"context"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

func Example() {
	ctx := context.Background()
	store := memory.New(memory.Config{})
	defer store.Close()
	if err := store.PutAccount(ctx, metering.Account{ID: "acc_example", Name: "Example", Plan: "free"}); err != nil {
		fmt.Println(err)
		return
	}
	now := time.Now()
	op := metering.Op{
		RequestID: "req_example", Account: "acc_example", Key: "key_example",
		Endpoint: "POST /public/v1/deliverability/score", Credits: 30, Now: now, Lease: now.Add(time.Minute),
	}
	begun, err := store.Begin(ctx, op)
	if err != nil {
		fmt.Println(err)
		return
	}
	// Here the diagnostic runs. Had it failed, Cancel would leave no trace.
	balance, err := store.Settle(ctx, *begun.Ticket, metering.Outcome{At: time.Now()})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(balance.Remaining(), "credits left")
	_, err = store.Begin(ctx, op)
	fmt.Println(err)

	// Output:
	// 0 credits left
	// plan free: 30 of 30 credits are taken, 30 more were asked for
}
