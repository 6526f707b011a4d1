package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/postgres"
)

// A store whose tables are locked says within five seconds that it cannot charge, whoever asks for nothing, and is well
// again once they are free. What it writes to find out is not there afterwards.
func TestLockedTables(t *testing.T) {
	text := newSchema(t)
	store := openTest(t, text, postgres.Config{Plans: meteringtest.Plans()})
	defer func() { require.NoError(t, store.Close()) }()
	conn, err := pgx.Connect(t.Context(), text)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	for _, table := range []string{"ledger", "holds"} {
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE")
		require.NoError(t, err)
		require.Eventually(t, func() bool { return store.Health() != nil }, 5*time.Second, 10*time.Millisecond, table)
		require.ErrorIs(t, store.Health(), metering.ErrUnavailable)
		require.NoError(t, tx.Rollback(t.Context()))
		require.Eventually(t, func() bool { return store.Health() == nil }, 5*time.Second, 10*time.Millisecond, table)
	}
	for _, table := range []string{"ledger", "balances", "key_uses", "replies", "lines", "admissions", "taken", "holds"} {
		require.Zero(t, queryInt(t, text, "SELECT count(*) FROM "+table), table)
	}
}
