//go:build !race || nightly

package watch_test

// The race detector makes this many times slower; TestThousandsOfWatches races the same.

import "testing"

// A hundred thousand watches run once a day each on two nodes, of which one is killed.
func TestHundredThousandWatches(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a minute; runs without -short, as in .ci/run")
	}
	simulate(t, 100_000)
}
