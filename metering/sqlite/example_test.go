package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlite"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "diag.db")

	// A server opens the file and charges.
	server, err := sqlite.Open(ctx, path, sqlite.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	if err := server.PutAccount(ctx, metering.Account{ID: "acc_example", Name: "Example", Plan: "free"}); err != nil {
		log.Fatal(err)
	}
	now := time.Now()
	begun, err := server.Begin(ctx, metering.Op{
		RequestID: "req_example", Account: "acc_example", Key: "key_example",
		Endpoint: "POST /public/v1/resolve", Credits: 1, Now: now, Lease: now.Add(time.Minute),
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := server.Settle(ctx, *begun.Ticket, metering.Outcome{At: time.Now()}); err != nil {
		log.Fatal(err)
	}

	// Meanwhile an administrator opens the same file in another process.
	admin, err := sqlite.Open(ctx, path, sqlite.Config{Admin: true})
	if err != nil {
		log.Fatal(err)
	}
	defer admin.Close()
	balance, err := admin.Balance(ctx, "acc_example", metering.PeriodOf(now))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d credits used\n", balance.Used, balance.Limit)
	_, err = sqlite.Open(ctx, path, sqlite.Config{})
	fmt.Println("a second server:", err != nil)

	// Output:
	// 1 of 30 credits used
	// a second server: true
}
