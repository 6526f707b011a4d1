package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/postgres"
)

// A store whose tables are locked reports within five seconds, also without requests, that it cannot charge, and
// recovers once they are free. The rows of its probe are gone afterwards.
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
		require.Eventually(t, func() bool { return store.Health() != nil }, time.Minute, 10*time.Millisecond, table)
		require.ErrorIs(t, store.Health(), metering.ErrUnavailable)
		require.NoError(t, tx.Rollback(t.Context()))
		require.Eventually(t, func() bool { return store.Health() == nil }, time.Minute, 10*time.Millisecond, table)
	}
	for _, table := range []string{"ledger", "balances", "key_uses", "replies", "lines", "admissions", "taken", "holds"} {
		require.Zero(t, queryInt(t, text, "SELECT count(*) FROM "+table), table)
	}
}

// A store that cannot write refuses new requests, and continues to replay.
func TestReplayWithoutWrites(t *testing.T) {
	text := newSchema(t)
	clock := meteringtest.NewClock()
	store := openTest(t, text, postgres.Config{Plans: meteringtest.Plans(), Clock: clock.Now})
	defer func() { require.NoError(t, store.Close()) }()
	require.NoError(t, store.PutAccount(t.Context(), metering.Account{ID: "acc_example", Plan: meteringtest.Large}))
	require.NoError(t, store.PutKeys(t.Context(), metering.Key{ID: "key_example", Account: "acc_example"}))
	begun, err := store.Begin(t.Context(), example(clock, "kept"))
	require.NoError(t, err)
	reply := &metering.Reply{Status: 200, Body: []byte("kept")}
	_, err = store.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: clock.Now(), Reply: reply})
	require.NoError(t, err)

	execute(t, text, "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE disk_full; END$$")
	execute(t, text, "CREATE TRIGGER full_disk BEFORE INSERT ON ledger EXECUTE FUNCTION full_disk()")
	require.Eventually(t, func() bool { return store.Health() != nil }, time.Minute, 10*time.Millisecond)
	begun, err = store.Begin(t.Context(), example(clock, "kept"))
	require.NoError(t, err)
	require.Equal(t, "kept", string(begun.Replay.Reply.Body))
	require.Equal(t, int64(1), begun.Replay.Balance.Used)
	_, err = store.Begin(t.Context(), example(clock, "new"))
	require.ErrorIs(t, err, metering.ErrUnavailable)
}

// A store whose connections have led to a standby makes others, as the name that it was given may lead elsewhere by now.
func TestConnectionsToStandby(t *testing.T) {
	clock := meteringtest.NewClock()
	store := openTest(t, newSchema(t)+"&pool_max_conns=1", postgres.Config{Plans: meteringtest.Plans(), Clock: clock.Now})
	defer func() { require.NoError(t, store.Close()) }()
	require.NoError(t, store.PutAccount(t.Context(), metering.Account{ID: "acc_example", Plan: meteringtest.Large}))
	require.NoError(t, store.PutKeys(t.Context(), metering.Key{ID: "key_example", Account: "acc_example"}))
	require.Eventually(t, func() bool {
		require.NoError(t, store.MakeReadOnly(t.Context()))
		_, err := store.Begin(t.Context(), example(clock, fmt.Sprint("before ", time.Now())))
		return errors.Is(err, metering.ErrUnavailable)
	}, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool {
		_, err := store.Begin(t.Context(), example(clock, "granted"))
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}
