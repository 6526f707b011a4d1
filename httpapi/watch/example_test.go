package watch_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

// A program that serves the API in memory watches a domain, too. The Internet is that of the demonstration; a nil Env
// is the real one.
func Example() {
	ctx := context.Background()
	world, err := internet.New(time.Now())
	if err != nil {
		log.Fatal(err)
	}
	defer world.Close()
	store := memory.New(memory.Config{})
	defer store.Close()
	account, err := metering.Admin{Store: store}.CreateAccount(ctx, "Example Ltd", "pack")
	if err != nil {
		log.Fatal(err)
	}
	gate, err := metering.NewGate(ctx, metering.GateConfig{Store: store})
	if err != nil {
		log.Fatal(err)
	}
	defer gate.Close()
	api := httpapi.New(httpapi.Config{Gate: gate, Env: world.Env()})

	watches := watch.New(watch.Config{Store: store, Ask: api.Ask})
	made, err := watches.Create(ctx, watch.Request{
		Account: account.ID, Domain: "good.example", Settings: watch.Settings{Checks: []string{"spf/lookup", "dmarc/lookup"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := watches.Flush(ctx); err != nil { // a server calls Run instead, which continues
		log.Fatal(err)
	}
	known, err := watches.Now(ctx, account.ID, made.ID)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range known.Records {
		fmt.Println(r.Label(), r.Values[0])
	}
	// Output:
	// DMARC v=DMARC1; p=reject; rua=mailto:dmarc@good.example
	// SPF v=spf1 mx -all
}
