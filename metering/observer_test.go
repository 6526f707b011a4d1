package metering_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

// witness records the calls of a gate to its observer.
type witness struct {
	used    []int64
	refused []error
}

func (w *witness) Settled(_ metering.AccountID, b metering.Balance) { w.used = append(w.used, b.Used) }

func (w *witness) Refused(_ *metering.Caller, err error) { w.refused = append(w.refused, err) }

// An observer receives each charge with the balance after it, and refusals for rate and quota; nothing else.
func TestObserver(t *testing.T) {
	ctx, now := t.Context(), time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	store := memory.New(memory.Config{Clock: clock})
	defer store.Close()
	admin, seen := metering.Admin{Store: store, Clock: clock}, &witness{}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	gate, err := metering.NewGate(ctx, metering.GateConfig{Store: store, Clock: clock, Observer: seen})
	check(err)
	defer gate.Close()
	account, err := admin.CreateAccount(ctx, "x", "free") // 30 credits, 10 requests a minute
	check(err)
	_, secret, err := admin.CreateKey(ctx, metering.KeyRequest{Account: account.ID, Name: "x", Scopes: metering.Scopes()})
	check(err)
	request := func(bearer string, credits int64) error {
		c, err := gate.Admit(ctx, bearer, netip.MustParseAddr("192.0.2.1"), now)
		if err != nil {
			return err
		}
		begun, err := gate.Begin(ctx, c, metering.Op{RequestID: metering.NewRequestID(), Endpoint: "x", Credits: credits})
		if err != nil {
			return err
		}
		_, err = gate.Settle(ctx, *begun.Ticket, metering.Outcome{At: now})
		return err
	}
	for range 9 {
		check(request(secret.Reveal(), 3))
	}
	quota, rate := request(secret.Reveal(), 4), request(secret.Reveal(), 1)
	if unknown := request("svc_live_x", 1); unknown == nil {
		t.Fatal("an unknown key was admitted")
	}
	if n := len(seen.used); n != 9 || seen.used[8] != 27 {
		t.Errorf("settled: %v", seen.used)
	}
	if len(seen.refused) != 2 || !errors.Is(seen.refused[0], quota) || !errors.Is(seen.refused[1], rate) {
		t.Errorf("refused: %v", seen.refused)
	}
}
