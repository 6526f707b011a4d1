package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	hostedsqlite "github.com/diagkit/diagkit/mailauth/hostedspf/sqlite"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestHostedBesideLedger writes hosted SPF into the file of a ledger that 64 clients charge without a pause:
// neither fails, and neither waits for long.
func TestHostedBesideLedger(t *testing.T) {
	const writes = 15
	path := filepath.Join(t.TempDir(), "diag.db")
	ledger, err := sqlite.Open(t.Context(), path, sqlite.Config{})
	require.NoError(t, err)
	defer ledger.Close()
	admin := metering.Admin{Store: ledger, Plans: metering.DefaultPlans()}
	account, err := admin.CreateAccount(t.Context(), "a", "self")
	require.NoError(t, err)
	key, _, err := admin.CreateKey(t.Context(), metering.KeyRequest{
		Account: account.ID, Name: "k", Environment: metering.Live, Scopes: metering.Scopes(),
	})
	require.NoError(t, err)
	hosted, err := hostedsqlite.Open(t.Context(), path, hostedsqlite.Config{})
	require.NoError(t, err)
	defer hosted.Close()

	quiet := chargeUntil(t, ledger, key, func() {
		for n := range writes {
			_, err := charge(t, ledger, key, fmt.Sprintf("req_%d", n))
			require.NoError(t, err)
		}
	})
	waits := []time.Duration{}
	busy := chargeUntil(t, ledger, key, func() {
		for n := range writes {
			began := time.Now()
			resolveOnce(t, hosted, n)
			waits = append(waits, time.Since(began)/3)
		}
	})
	slices.Sort(waits)
	t.Logf("a charge waits at most %s alone, %s beside; a write of hosted SPF %s at the median, %s at most",
		quiet, busy, waits[len(waits)/2], waits[len(waits)-1])
	assert.Less(t, busy, patience)
	assert.Less(t, waits[len(waits)-1], patience)
	audit, err := ledger.Audit(t.Context())
	require.NoError(t, err)
	require.Empty(t, audit.Faults)
}

// chargeUntil charges without a pause until a function is done, and returns the longest wait.
func chargeUntil(t *testing.T, ledger metering.Store, key metering.Key, f func()) (longest time.Duration) {
	done := make(chan struct{})
	var mu sync.Mutex
	var clients sync.WaitGroup
	for i := range 64 {
		clients.Go(func() {
			for n := 0; ; n++ {
				took, err := charge(t, ledger, key, fmt.Sprintf("req_%d_%d", i, n))
				if !assert.NoError(t, err) {
					return
				}
				mu.Lock()
				longest = max(longest, took)
				mu.Unlock()
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	f()
	close(done)
	clients.Wait()
	return longest
}

func charge(t *testing.T, ledger metering.Store, key metering.Key, id string) (time.Duration, error) {
	began := time.Now()
	begun, err := ledger.Begin(t.Context(), metering.Op{
		RequestID: id, Account: key.Account, Key: key.ID, Endpoint: "POST /x", Credits: 1,
		Now: began, Lease: began.Add(time.Minute),
	})
	if err == nil {
		_, err = ledger.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: began})
	}
	return time.Since(began), err
}

// resolveOnce makes three writes.
func resolveOnce(t *testing.T, store hostedspf.Store, n int) {
	now := time.Now().UTC()
	id := fmt.Sprintf("spf_%026d", n)
	require.NoError(t, store.Create(t.Context(), hostedspf.Profile{
		ID: id, Owner: "key_a", IncludeHost: diag.MustName(fmt.Sprintf("h%d.example.net", n)), CreatedAt: now,
	}))
	claim, err := store.Claim(t.Context(), id, time.Minute)
	require.NoError(t, err)
	_, err = store.Finish(t.Context(), claim, hostedspf.Outcome{
		Resolution: hostedspf.Resolution{ID: fmt.Sprintf("res_%026d", n), ProfileID: id, ResolvedAt: now},
	})
	require.NoError(t, err)
}
