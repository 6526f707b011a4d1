//go:build !race || nightly

package main

// The race detector makes these many times slower, and nothing in them runs at once but what other tests race.

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Servers that are killed at random moments under load, and asked again about everything that was left open, have
// charged each thing exactly once.
func TestBenchCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	t.Setenv(childEnv, "1")
	args := []string{"bench", "crash", "--rounds=10", "--dir=" + t.TempDir(), "--postgres=" + settingsOfTests["DIAG_TEST_POSTGRES"]}
	for _, v := range parsed[[]crashView](t, args...) {
		t.Logf("%+v", v)
		assert.Positive(t, v.Open, "the kills came too late: the test proves too little")
		assert.Greater(t, v.Replays, 500)
	}
	assert.Contains(t, command(t, "bench", "crash", "--rounds=1"), "nothing lost, nothing doubled")
}
