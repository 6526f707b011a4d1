//go:build !race || nightly

package sqlite_test

// The race detector makes these tests many times slower, and other tests cover their concurrency.

import (
	"path/filepath"
	"testing"

	"github.com/diagkit/diagkit/mailauth/hostedspf/hostedspftest"
	"github.com/stretchr/testify/require"
)

// TestCrash repeatedly kills a process at random moments while it resolves. The history must hold exactly the
// finished resolutions; each profile must match its newest resolution; and claimed profiles must become free when the
// lease ends, and not before.
func TestCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	path, clock := filepath.Join(t.TempDir(), "diag.db"), hostedspftest.NewClock()
	store := openFile(t, path, clock)
	for n := range crashProfiles {
		p := example(n)
		p.RecordHash = ""
		require.NoError(t, store.Create(t.Context(), p))
	}
	require.NoError(t, store.Close())
	finished, cutOff := map[string]bool{}, 0
	for kill := range crashKills {
		resolveUntilKilled(t, path, kill, finished)
		store := openFile(t, path, hostedspftest.NewClock())
		for n := range crashProfiles {
			cutOff += checkCrashed(t, store, n, kill, finished)
		}
		require.NoError(t, store.Close())
	}
	t.Logf("%d kills: %d resolutions finished, %d claims cut off", crashKills, len(finished), cutOff)
	require.Positive(t, cutOff, "no claim was under way: the test proves too little")
}
