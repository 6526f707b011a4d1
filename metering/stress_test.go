package metering_test

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

// plain hides every optional ability of a store.
type plain struct{ metering.Store }

// Requests run all the while as a key is revoked: none that began after RevokeKey returned may be
// admitted, whatever was being read or cached at that moment.
func TestRevocationRacesWithRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	for name, hide := range map[string]func(metering.Store) metering.Store{
		"generational": func(s metering.Store) metering.Store { return s },
		"plain":        func(s metering.Store) metering.Store { return plain{s} },
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New(memory.Config{})
			defer func() { _ = store.Close() }()
			gate, err := metering.NewGate(t.Context(), metering.GateConfig{Store: hide(store)})
			if err != nil {
				t.Fatal(err)
			}
			defer gate.Close()
			admin := metering.Admin{Store: store}
			account, err := admin.CreateAccount(t.Context(), "Example Ltd", "self")
			if err != nil {
				t.Fatal(err)
			}
			for range diagtest.Share(100, 3) {
				revokeUnderLoad(t, gate, admin, account.ID)
			}
		})
	}
}

// revokeUnderLoad creates a key, lets requests run with it, and revokes it among them.
func revokeUnderLoad(t *testing.T, gate *metering.Gate, admin metering.Admin, account metering.AccountID) {
	key, secret, err := admin.CreateKey(t.Context(), metering.KeyRequest{
		Account: account, Name: "short-lived", Scopes: metering.Scopes(),
	})
	if err != nil {
		t.Fatal(err)
	}
	const workers, afterwards = 4, 5
	var revoked atomic.Bool
	var running, group sync.WaitGroup
	running.Add(workers)
	for range workers {
		group.Go(func() {
			refusals := 0
			for i := 0; refusals < afterwards; i++ {
				began := revoked.Load()
				_, err := gate.Admit(t.Context(), secret.Reveal(), netip.MustParseAddr("192.0.2.1"), time.Now())
				if i == 0 {
					running.Done()
				}
				refused, ok := errors.AsType[*metering.RefusedError](err)
				switch {
				case began && err == nil:
					t.Error("a request that began after the revocation was admitted")
					return
				case err != nil && (!ok || refused.Reason != metering.RevokedKey):
					t.Errorf("another error: %v", err)
					return
				case began:
					refusals++
				}
			}
		})
	}
	running.Wait()
	if _, err := admin.RevokeKey(t.Context(), key.ID, metering.RevokedManual); err != nil {
		t.Error(err)
	}
	revoked.Store(true)
	group.Wait()
}
