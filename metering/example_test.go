package metering_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

// One metered request from admission to charge, and the end of a key.
func Example() {
	ctx := context.Background()
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }

	store := memory.New(memory.Config{Clock: clock})
	defer func() { _ = store.Close() }()
	admin := metering.Admin{Store: store, Clock: clock}
	account, err := admin.CreateAccount(ctx, "Example Ltd", "pack")
	if err != nil {
		panic(err)
	}
	key, secret, err := admin.CreateKey(ctx, metering.KeyRequest{
		Account: account.ID, Name: "web site", Scopes: []metering.Scope{metering.DNSRead},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("the secret prints as", secret)

	gate, err := metering.NewGate(ctx, metering.GateConfig{Store: store, Clock: clock})
	if err != nil {
		panic(err)
	}
	defer gate.Close()

	from := netip.MustParseAddr("192.0.2.1")
	caller, err := gate.Admit(ctx, secret.Reveal(), from, now)
	if err != nil {
		panic(err)
	}
	if _, err = caller.Require(metering.DNSRead); err != nil {
		panic(err)
	}
	fmt.Println("RateLimit:", metering.LimitField(caller.Rate, "default"))

	begun, err := gate.Begin(ctx, caller, metering.Op{
		RequestID: metering.NewRequestID(), Endpoint: "POST /public/v1/resolve", Credits: 3, Now: now,
	})
	if err != nil {
		panic(err)
	}
	balance, err := gate.Settle(ctx, *begun.Ticket, metering.Outcome{At: now})
	if err != nil {
		panic(err)
	}
	fmt.Println("credits left:", balance.Remaining())

	if _, err = admin.RevokeKey(ctx, key.ID, metering.RevokedManual); err != nil {
		panic(err)
	}
	_, err = gate.Admit(ctx, secret.Reveal(), from, now)
	refused, _ := errors.AsType[*metering.RefusedError](err)
	fmt.Println("the next request:", refused.Reason)

	// Output:
	// the secret prints as svc_live_[redacted]
	// RateLimit: "default";r=59;t=1
	// credits left: 49997
	// the next request: revoked_key
}

func ExampleIPLimiter() {
	limiter := metering.IPLimiter{Limit: 2}
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	for _, ip := range []string{"2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.1"} {
		d := limiter.Take(netip.MustParseAddr(ip), now)
		fmt.Println(ip, d.Allowed, d.RetryAfter)
	}
	// Output:
	// 2001:db8::1 true 0s
	// 2001:db8::2 true 0s
	// 2001:db8::3 false 30s
	// 192.0.2.1 true 0s
}

func ExampleParseIdempotencyKey() {
	bare, _ := metering.ParseIdempotencyKey([]string{"order-2026-0001"})
	quoted, _ := metering.ParseIdempotencyKey([]string{`"order-2026-0001"`})
	fmt.Println(*bare == *quoted, *bare == sha256.Sum256([]byte("order-2026-0001")))
	_, err := metering.ParseIdempotencyKey([]string{"short"})
	fmt.Println(errors.Is(err, metering.ErrIdempotencyKey))
	// Output:
	// true true
	// true
}

// The 31st does not drift to the 28th permanently.
func ExampleAnniversary() {
	anchor := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	for n := range 4 {
		fmt.Println(metering.Anniversary(anchor, n).Format(time.DateOnly))
	}
	// Output:
	// 2026-01-31
	// 2026-02-28
	// 2026-03-31
	// 2026-04-30
}
