package postgresdb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering/postgresdb"
)

func scratch(t *testing.T) string {
	text := os.Getenv("DIAG_TEST_POSTGRES")
	if text == "" {
		t.Skip("needs PostgreSQL; DIAG_TEST_POSTGRES names it, such as postgres://postgres@127.0.0.1:5432/test")
	}
	url, drop, err := postgresdb.Scratch(t.Context(), text)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, drop()) })
	return url
}

// Layouts go up step by step, never down, and a step that fails leaves things as they were.
func TestMigrate(t *testing.T) {
	url := scratch(t)
	layout := postgresdb.Layout{
		Name: "tests", Table: "test_layout", Steps: []string{"CREATE TABLE a (n int); CREATE TABLE b (n int)"},
	}
	step := func(from, to int) {
		t.Helper()
		gotFrom, gotTo, err := layout.Migrate(t.Context(), url)
		require.NoError(t, err)
		require.Equal(t, []int{from, to}, []int{gotFrom, gotTo})
	}
	step(0, 1)
	step(1, 1)
	layout.Steps = append(layout.Steps, "ALTER TABLE a ADD m int; ALTER TABLE nowhere ADD m int")
	_, _, err := layout.Migrate(t.Context(), url)
	require.ErrorContains(t, err, "migrating tests: step 2: ")
	require.False(t, postgresdb.Unavailable(err))
	layout.Steps[1] = "ALTER TABLE a ADD m int"
	step(1, 2)
	layout.Steps = layout.Steps[:1]
	_, _, err = layout.Migrate(t.Context(), url)
	require.ErrorContains(t, err, "the database has layout 2, this program knows up to 1")
}

// One act of a name runs at a time, for any number of callers.
func TestExclusively(t *testing.T) {
	url := scratch(t)
	var running, ran atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			assert.NoError(t, postgresdb.Exclusively(t.Context(), url, "act", func() error {
				assert.EqualValues(t, 1, running.Add(1))
				ran.Add(1)
				running.Add(-1)
				return nil
			}))
		})
	}
	wg.Wait()
	require.EqualValues(t, 8, ran.Load())
	refused := errors.New("refused")
	require.ErrorIs(t, postgresdb.Exclusively(t.Context(), url, "act", func() error { return refused }), refused)
}

func TestUnavailable(t *testing.T) {
	for _, code := range []string{"08006", "25006", "25P03", "40P01", "53300", "55P03", "57P01", "58030"} {
		assert.True(t, postgresdb.Unavailable(fmt.Errorf("reading: %w", &pgconn.PgError{Code: code})), code)
	}
	for _, code := range []string{"", "22001", "23505", "42601", "42P01"} {
		assert.False(t, postgresdb.Unavailable(&pgconn.PgError{Code: code}), code)
	}
	assert.True(t, postgresdb.Unavailable(io.ErrUnexpectedEOF))
	assert.True(t, postgresdb.Unavailable(context.DeadlineExceeded))
	assert.False(t, postgresdb.Unavailable(context.Canceled))
	assert.False(t, postgresdb.Unavailable(nil))
}

// What a pooler does that was not recognized leads to the parameter that names it.
func TestHiddenPooler(t *testing.T) {
	pool, err := postgresdb.Open(t.Context(), scratch(t), postgresdb.Config{
		Layout: postgresdb.Layout{Name: "tests", Table: "test_layout"}, Connections: 1,
	})
	require.NoError(t, err)
	defer pool.Close()
	require.False(t, postgresdb.Pooled(pool))
	_, err = pool.Exec(t.Context(), "EXECUTE elsewhere")
	require.ErrorContains(t, err, "default_query_exec_mode=exec")
}

// Servers may be named more than one, and what is mistyped stays refused.
func TestCheckURL(t *testing.T) {
	for _, url := range []string{
		"postgres://a:secret@[2001:db8::1]:5432,db2.example.com:5433/diag?target_session_attrs=read-write",
		"postgresql://a,b", "postgres:///diag?host=/run/postgresql", "postgres://a/diag?default_query_exec_mode=exec",
	} {
		require.NoError(t, postgresdb.CheckURL(url), url)
	}
	for _, url := range []string{
		"", "postgres:diag", "postgres://a:pass/hunter2@b/c", "postgres://a:pass#hunter2@b/c",
		"postgres://a,b/c?target_session_attrs=odd",
	} {
		err := postgresdb.CheckURL(url)
		require.ErrorContains(t, err, "the URL of PostgreSQL must be such as", url)
		require.NotContains(t, err.Error(), "hunter2", url)
	}
}

func ExampleCheckURL() {
	fmt.Println(postgresdb.CheckURL("postgres://diag:secret@db.example.com/diag"))
	fmt.Println(postgresdb.CheckURL("mysql://db.example.com/diag") != nil)
	// Output:
	// <nil>
	// true
}
