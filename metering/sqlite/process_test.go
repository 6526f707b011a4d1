package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/sqlite"
)

// beside returns a server and an administration on one file, each with separate connections, like two processes.
func beside(t *testing.T) (server, admin *sqlite.Store) {
	path := filepath.Join(t.TempDir(), "diag.db")
	server, err := sqlite.Open(t.Context(), path, sqlite.Config{Plans: meteringtest.Plans()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	admin, err = sqlite.Open(t.Context(), path, sqlite.Config{Plans: meteringtest.Plans(), Admin: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, admin.Close()) })
	return server, admin
}

func TestSecondServerIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "diag.db")
	first, err := sqlite.Open(t.Context(), path, sqlite.Config{})
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link.db")
	require.NoError(t, os.Symlink(path, link))
	for _, name := range []string{path, link, path} { // a refused open must not release the lock of the first one
		_, err = sqlite.Open(t.Context(), name, sqlite.Config{})
		require.ErrorIs(t, err, sqlite.ErrServing)
		require.ErrorContains(t, err, name)
	}
	require.NoError(t, first.Close())
	second, err := sqlite.Open(t.Context(), path, sqlite.Config{})
	require.NoError(t, err)
	require.NoError(t, second.Close())
}

func operation() metering.Op {
	now := time.Now()
	return metering.Op{
		RequestID: "req_1", Account: "acc_a", Key: "key_a", Endpoint: "POST /x", Credits: 11,
		Now: now, Lease: now.Add(time.Minute),
	}
}

// within reads changes until one is of the account with the version that is wanted.
func within(t *testing.T, changes iter.Seq2[metering.Change, error], want func(metering.Change) bool) {
	for c, err := range changes {
		require.NoError(t, err, "not known in time")
		if want(c) {
			return
		}
	}
}

func TestChangesOfAnotherProcess(t *testing.T) {
	server, admin := beside(t)
	account := metering.Account{ID: "acc_a", Plan: meteringtest.Tiny}
	require.NoError(t, admin.PutAccount(t.Context(), account))
	_, err := server.Begin(t.Context(), operation())
	require.ErrorAs(t, err, new(*metering.QuotaError), "an account that is new here is read at once")

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a second, on a machine without other work
	defer cancel()
	generation := server.Generation()
	changes := server.Watch(ctx, 1)
	account.Plan, account.Version = meteringtest.Large, 1
	require.NoError(t, admin.PutAccount(t.Context(), account))
	within(t, changes, func(c metering.Change) bool { return c.Account == "acc_a" && c.Seq == 2 })
	require.Greater(t, server.Generation(), generation)
	begun, err := server.Begin(t.Context(), operation())
	require.NoError(t, err, "the plan is known before the watchers are told")

	require.NoError(t, admin.PutKeys(t.Context(), metering.Key{ID: "key_a", Account: "acc_a"}))
	within(t, server.Watch(ctx, 2), func(c metering.Change) bool { return c.Key == "key_a" })
	_, err = server.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: time.Now()})
	require.NoError(t, err)

	// What the server does, administration sees.
	balance, err := admin.Balance(t.Context(), "acc_a", begun.Ticket.Period)
	require.NoError(t, err)
	require.Equal(t, int64(11), balance.Used)
	require.Equal(t, meteringtest.Plans()[meteringtest.Large].Credits, balance.Limit)
	audit, err := admin.Audit(t.Context())
	require.NoError(t, err)
	require.Equal(t, metering.Audit{Accounts: 1, Entries: 1, Credits: 11}, audit)
}

func TestAdministrationDoesNotCharge(t *testing.T) {
	_, admin := beside(t)
	require.NoError(t, admin.PutAccount(t.Context(), metering.Account{ID: "acc_a", Plan: meteringtest.Large}))
	_, err := admin.Begin(t.Context(), operation())
	require.ErrorIs(t, err, sqlite.ErrAdmin)
	_, err = admin.Settle(t.Context(), metering.Ticket{Op: operation()}, metering.Outcome{})
	require.ErrorIs(t, err, sqlite.ErrAdmin)
	require.ErrorIs(t, admin.Cancel(t.Context(), metering.Ticket{Op: operation()}), sqlite.ErrAdmin)
	_, err = admin.Balance(t.Context(), "acc_none", metering.Period{})
	require.ErrorIs(t, err, metering.ErrNotFound)
}

// TestWritersOfTwoProcesses lets a server charge while administration writes at the same time.
func TestWritersOfTwoProcesses(t *testing.T) {
	server, admin := beside(t)
	require.NoError(t, admin.PutAccount(t.Context(), metering.Account{ID: "acc_a", Plan: meteringtest.Large}))
	require.NoError(t, admin.PutKeys(t.Context(), metering.Key{ID: "key_a", Account: "acc_a"}))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				begun, err := server.Begin(t.Context(), operation())
				if assert.NoError(t, err) {
					_, err = server.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: time.Now()})
					assert.NoError(t, err)
				}
			}
		})
	}
	for _, store := range []*sqlite.Store{server, admin} {
		wg.Go(func() {
			for i := range 20 {
				id := fmt.Sprintf("key_%p_%d", store, i)
				k := metering.Key{ID: metering.KeyID(id), Account: "acc_a", Hash: [32]byte([]byte(fmt.Sprintf("%-32s", id)))}
				assert.NoError(t, store.PutKeys(t.Context(), k))
			}
		})
	}
	wg.Wait()
	keys, err := metering.Collect(server.Keys(t.Context(), metering.KeyFilter{Account: "acc_a"}))
	require.NoError(t, err)
	require.Len(t, keys, 41)
	audit, err := admin.Audit(t.Context())
	require.NoError(t, err)
	require.Equal(t, metering.Audit{Accounts: 1, Entries: 800, Credits: 8800}, audit)
}

// TestCloseFinishes closes a store under load: every acknowledged charge is in the ledger, and the other callers get
// the error that the store is closed.
func TestCloseFinishes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "diag.db")
	store, err := sqlite.Open(t.Context(), path, sqlite.Config{Plans: meteringtest.Plans()})
	require.NoError(t, err)
	require.NoError(t, store.PutAccount(t.Context(), metering.Account{ID: "acc_a", Plan: meteringtest.Large}))
	require.NoError(t, store.PutKeys(t.Context(), metering.Key{ID: "key_a", Account: "acc_a"}))
	charged := make(chan int, 64)
	started := make(chan struct{}, 64)
	for range 64 {
		go func() {
			for n := 0; ; n++ {
				begun, err := store.Begin(t.Context(), operation())
				if err == nil {
					_, err = store.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: time.Now()})
				}
				if err != nil {
					assert.True(t, errors.Is(err, metering.ErrClosed), err)
					charged <- n
					return
				}
				if n == 0 {
					started <- struct{}{}
				}
			}
		}()
	}
	for range 64 {
		<-started
	}
	require.NoError(t, store.Close())
	require.NoError(t, store.Close(), "once more does nothing")
	total := 0
	for range 64 {
		total += <-charged
	}
	store, err = sqlite.Open(t.Context(), path, sqlite.Config{Plans: meteringtest.Plans()})
	require.NoError(t, err)
	audit, err := store.Audit(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(total), audit.Entries)
	require.NoError(t, store.Close())
}
