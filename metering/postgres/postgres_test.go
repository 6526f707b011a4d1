package postgres_test

import (
	"context"
	"net/url"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/postgres"
	"github.com/diagkit/diagkit/metering/postgresdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newSchema creates a schema that ends with the test, and returns the URL of a database in which it comes first.
func newSchema(t testing.TB) string {
	t.Helper()
	text := os.Getenv("DIAG_TEST_POSTGRES")
	if text == "" {
		t.Skip("needs DIAG_TEST_POSTGRES, the URL of a database; .ci/run starts one")
	}
	scratch, drop, err := postgresdb.Scratch(t.Context(), text)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, drop()) })
	u, err := url.Parse(scratch)
	require.NoError(t, err)
	query := u.Query()
	query.Set("application_name", query.Get("search_path"))
	u.RawQuery = query.Encode()
	return u.String()
}

// execute runs a statement on a separate connection. The context of a test has ended when it cleans up.
func execute(t testing.TB, url, sql string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, sql)
	require.NoError(t, err)
	require.NoError(t, conn.Close(ctx))
}

// reopening is a store that can be closed and opened again.
type reopening struct {
	*postgres.Store
	url    string
	config postgres.Config
}

func openTest(t testing.TB, url string, c postgres.Config) reopening {
	t.Helper()
	store, err := postgres.Open(t.Context(), url, c)
	require.NoError(t, err)
	return reopening{store, url, c}
}

func (r reopening) Reopen(t *testing.T) metering.Store {
	require.NoError(t, r.Close())
	return openTest(t, r.url, r.config)
}

func TestStore(t *testing.T) {
	meteringtest.TestStore(t, func(t *testing.T, clock *meteringtest.Clock) metering.Store {
		return openTest(t, newSchema(t), postgres.Config{Plans: meteringtest.Plans(), Clock: clock.Now})
	})
}

func queryInt(t testing.TB, url, sql string) (n int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&n))
	require.NoError(t, conn.Close(t.Context()))
	return n
}
