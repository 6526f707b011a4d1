//go:build !race || nightly

package watch_test

// The race detector makes this many times slower; TestThousandsOfWatches races the same.

import (
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// A hundred thousand watches, by day a tenth of them, run once a day each on two nodes, of which one is killed.
func TestHundredThousandWatches(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	simulate(t, diagtest.Share(100_000, 10))
}
