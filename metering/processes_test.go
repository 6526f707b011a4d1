package metering_test

import (
	"errors"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlite"
)

// An administrator's process works on the file of a running server: what it changes holds in the
// server, in real time and with the real store: within the two seconds of CONTRACT 4.3 where the machine has time.
func TestChangesReachAnotherProcess(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "diag.db")
	server, err := sqlite.Open(ctx, path, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	beside, err := sqlite.Open(ctx, path, sqlite.Config{Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = beside.Close() }()
	admin := metering.Admin{Store: beside, DowngradeNow: true}
	account, err := admin.CreateAccount(ctx, "Example Ltd", "self")
	if err != nil {
		t.Fatal(err)
	}
	key, secret, err := admin.CreateKey(ctx, metering.KeyRequest{
		Account: account.ID, Name: "first", Scopes: []metering.Scope{metering.DNSRead},
	})
	if err != nil {
		t.Fatal(err)
	}
	gate, err := metering.NewGate(ctx, metering.GateConfig{Store: server})
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()

	// until polls the gate, for at most a minute after the change.
	until := func(what string, done func(*metering.Caller, error) bool) {
		t.Helper()
		begun := time.Now()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			asked := time.Now()
			c, err := gate.Admit(ctx, secret.Reveal(), netip.MustParseAddr("192.0.2.1"), asked)
			if done(c, err) {
				t.Logf("%s after %v", what, time.Since(begun).Round(time.Millisecond))
				return
			}
			if asked.Sub(begun) > time.Minute {
				t.Fatalf("%s: not within a minute: %v, %v", what, c, err)
			}
			<-tick.C
		}
	}
	until("admitted", func(_ *metering.Caller, err error) bool { return err == nil })
	<-time.After(1500 * time.Millisecond) // the gate now trusts the store to report changes
	if _, err = admin.SetAccount(ctx, account.ID, func(a *metering.Account) { a.Plan = "agency" }); err != nil {
		t.Fatal(err)
	}
	until("on another plan", func(c *metering.Caller, _ error) bool { return c != nil && c.Plan.ID == "agency" })
	if _, err = admin.RevokeKey(ctx, key.ID, metering.RevokedLeak); err != nil {
		t.Fatal(err)
	}
	until("revoked", func(_ *metering.Caller, err error) bool {
		refused, ok := errors.AsType[*metering.RefusedError](err)
		return ok && refused.Reason == metering.RevokedKey
	})
}
