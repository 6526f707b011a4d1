//go:build !race || nightly

package sqlite_test

// The race detector makes these many times slower, and nothing in them runs at once but what other tests race.

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCrash kills a server at random moments, again and again. What it has acknowledged must be in the
// ledger, what it was asked for twice must be charged once, and the balances must agree.
func TestCrash(t *testing.T) {
	kills := 8
	if testing.Short() {
		kills = 4
	}
	w := newCrashWorld(t)
	for i := range kills {
		w.serveUntilKilled(t, i)
		require.NoError(t, w.verify(t), "after kill %d", i+1)
	}
	t.Logf("%d kills: %d acknowledged, %d charged, %d replayed, %d charged but not acknowledged",
		kills, w.acknowledged.Load(), w.entries, w.replayed.Load(), w.entries-int(w.charges.Load()))
	require.Positive(t, w.replayed.Load(), "no retry met a charge that was made: the test proves too little")
}

// TestCrashBesideTools is TestCrash while the sqlite3 program opens and closes the file: its cleanup must not cost the
// server its log.
func TestCrashBesideTools(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	tool, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("needs the program sqlite3 (Debian: apt-get install sqlite3); .ci/run installs it")
	}
	w := newCrashWorld(t)
	w.beside = func(ctx context.Context) {
		backup := filepath.Join(t.TempDir(), "backup.db")
		for i := 0; ctx.Err() == nil; i++ {
			commands := []string{".backup " + backup, ".dump", "VACUUM INTO '" + backup + "'", "PRAGMA quick_check"}
			os.Remove(backup)
			cmd := exec.CommandContext(ctx, tool, "-cmd", ".timeout 10000", w.path, commands[i%len(commands)])
			cmd.WaitDelay = 10 * time.Second
			if out, err := cmd.Output(); err != nil && ctx.Err() == nil {
				t.Errorf("%v: %v: %s", cmd.Args, err, out)
			}
			w.visits.Add(1)
		}
	}
	kills := 4
	if testing.Short() {
		kills = 2
	}
	for i := range kills {
		w.serveUntilKilled(t, i)
		require.NoError(t, w.verify(t), "after kill %d", i+1)
	}
	t.Logf("%d kills, %d visits, %d acknowledged", kills, w.visits.Load(), w.acknowledged.Load())
	require.Greater(t, w.visits.Load(), int64(kills), "no program came and went: the test proves too little")
}

// TestCrashNoticesEarlyAcknowledgement makes the mistake that TestCrash is meant to detect.
func TestCrashNoticesEarlyAcknowledgement(t *testing.T) {
	w := newCrashWorld(t)
	w.environment = []string{crashEarly + "=1"}
	for i := range 10 {
		w.serveUntilKilled(t, i)
		if err := w.verify(t); err != nil {
			t.Logf("noticed after %d kills: %v", i+1, err)
			return
		}
	}
	require.Fail(t, "a server that acknowledges before the commit went unnoticed")
}
