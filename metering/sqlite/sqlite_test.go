package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/sqlite"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(crashPath); path != "" {
		fmt.Fprintln(os.Stderr, crashChild(path))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// reopening is a store that can be closed and opened again.
type reopening struct {
	*sqlite.Store
	path   string
	config sqlite.Config
}

func openTest(t *testing.T, path string, c sqlite.Config) reopening {
	store, err := sqlite.Open(t.Context(), path, c)
	require.NoError(t, err)
	return reopening{store, path, c}
}

func (r reopening) Reopen(t *testing.T) metering.Store {
	require.NoError(t, r.Close())
	return openTest(t, r.path, r.config)
}

func TestStore(t *testing.T) {
	meteringtest.TestStore(t, func(t *testing.T, clock *meteringtest.Clock) metering.Store {
		return openTest(t, filepath.Join(t.TempDir(), "diag.db"),
			sqlite.Config{Plans: meteringtest.Plans(), Clock: clock.Now})
	})
}
