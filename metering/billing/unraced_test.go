//go:build !race || nightly

package billing_test

// The race detector makes these many times slower, and nothing in them runs at once but what other tests race.

import (
	"path/filepath"
	"testing"

	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/postgres"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/stretchr/testify/require"
)

// TestCloseDies breaks a close off at every call of the store, before and after it has done its work.
func TestCloseDies(t *testing.T) {
	onEachKind(t, func(t *testing.T, open func() *bench) {
		for _, done := range []bool{false, true} {
			for calls := 0; !closeDies(t, open(), calls, done); calls++ {
				require.Less(t, calls, 30)
			}
		}
	})
}

// TestCrash kills processes that close a month and charge it, three at a time, at random moments. In the end
// each account has one invoice with its events, that agrees with the ledger, and has paid once.
func TestCrash(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		clock := meteringtest.NewClock()
		path := filepath.Join(t.TempDir(), "diag.db")
		store, err := sqlite.Open(t.Context(), path, sqlite.Config{Clock: clock.Now})
		require.NoError(t, err)
		killClosers(t, newBench(t, clock, store), path)
	})
	t.Run("postgres", func(t *testing.T) {
		clock := meteringtest.NewClock()
		url := newSchema(t)
		store, err := postgres.Open(t.Context(), url, postgres.Config{Clock: clock.Now})
		require.NoError(t, err)
		killClosers(t, newBench(t, clock, store), url)
	})
}

// TestPayDies breaks a payment off at every call of the store, before and after it has done its work. Money
// is charged once, because the biller is asked for the same thing again.
func TestPayDies(t *testing.T) {
	onEachKind(t, func(t *testing.T, open func() *bench) {
		for _, done := range []bool{false, true} {
			for _, declined := range []error{nil, errBroken} {
				for calls := 0; !payDies(t, open(), calls, done, declined); calls++ {
					require.Less(t, calls, 10)
				}
			}
		}
	})
}
