//go:build !race

package watch_test

// The race detector makes this many times slower; TestHundredsOfWatches races the same.

import (
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// A hundred thousand watches, and fewer by day, run once a day each on two nodes, of which one is killed.
func TestHundredThousandWatches(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	count := 100_000
	if !diagtest.Whole() {
		count = 5_000
	}
	simulate(t, count)
}
