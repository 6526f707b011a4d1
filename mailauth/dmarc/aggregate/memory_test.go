//go:build !race

package aggregate

// The race detector takes memory of its own.

import (
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A report of 14,200 records takes no more memory than one of a few, apart from the file itself.
func TestMemoryOfLargeReport(t *testing.T) {
	if !diagtest.InOwnProcess(t) {
		return
	}
	data := large()
	growth := diagtest.LiveBytes(2<<20, func() {
		r, err := readOne(data, func(*Record) error { return nil })
		assert.NoError(t, err)
		assert.Equal(t, 14_200, r.Read)
	})
	t.Logf("%d bytes of XML: %d KiB of heap", len(data), growth>>10)
	require.Less(t, growth, int64(2<<20))
}

// Files designed to consume memory take a few times the maximum file size.
func TestMemoryOfHostileFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	if !diagtest.InOwnProcess(t) {
		return
	}
	for _, h := range hostileFiles() {
		data := h.make()
		live := diagtest.LiveBytes(maxMemory, func() { _, _ = Read(data, func(*Record) error { return nil }) })
		t.Logf("%s: %d KiB of heap", h.name, live>>10)
		assert.LessOrEqual(t, live, int64(maxMemory), h.name)
	}
}

// Each of these files is read or refused; a test of its own shows in how much memory. One that took time
// quadratic in its size would run into the time limit of the tests.
func TestHostileFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	for _, h := range hostileFiles() {
		t.Run(h.name, func(t *testing.T) {
			data := h.make()
			require.LessOrEqual(t, len(data), MaxSent)
			records := 0
			r, err := readOne(data, func(*Record) error { records++; return nil })
			switch {
			case h.limit != "":
				var limit *LimitError
				require.ErrorAs(t, err, &limit)
				require.Equal(t, h.limit, limit.What)
			case h.content != "":
				var other *notReportError
				require.ErrorAs(t, err, &other)
				require.Equal(t, h.content, other.Content)
			default:
				require.NoError(t, err)
				require.LessOrEqual(t, len(r.Faults), maxFaults+30)
				if h.read >= 0 {
					require.Equal(t, h.read, records)
				}
			}
		})
	}
}
