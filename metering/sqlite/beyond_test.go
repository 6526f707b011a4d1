//go:build !race

package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
)

// TestStoreBeyondKnown is the suite without the proof of absence that memory gives.
func TestStoreBeyondKnown(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	meteringtest.TestStore(t, func(t *testing.T, clock *meteringtest.Clock) metering.Store {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "diag.db"),
			Config{Plans: meteringtest.Plans(), Clock: clock.Now})
		require.NoError(t, err)
		s.known.giveUp()
		return s
	})
}
