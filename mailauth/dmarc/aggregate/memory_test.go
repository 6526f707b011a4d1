//go:build !race

package aggregate

// The race detector takes memory of its own.

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A report of 14,200 records takes no more memory than one of a few, beside the file itself.
func TestMemoryOfLargeReport(t *testing.T) {
	data := large()
	growth := liveBytes(func() {
		r, err := Read(data, func(*Record) error { return nil })
		assert.NoError(t, err)
		assert.Equal(t, 14_200, r.Read)
	})
	t.Logf("%d bytes of XML: %d KiB of heap", len(data), growth>>10)
	require.Less(t, growth, int64(2<<20))
}

// What is made to take memory takes a few times what may be sent.
func TestMemoryOfHostileFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short")
	}
	for _, h := range hostileFiles() {
		data := h.make()
		live := int64(MaxMemory + 1)
		for n := 0; n < 10 && live > MaxMemory; n++ { // garbage that is not collected in time may be counted
			live = min(live, liveBytes(func() { _, _ = Read(data, func(*Record) error { return nil }) }))
		}
		t.Logf("%s: %d KiB of heap", h.name, live>>10)
		assert.LessOrEqual(t, live, int64(MaxMemory), h.name)
	}
}

// liveBytes returns how many bytes were live at most while f ran, as far as looking now and then tells.
func liveBytes(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	before, most := stats.HeapAlloc, stats.HeapAlloc
	done := make(chan bool)
	go func() { f(); close(done) }()
	for {
		select {
		case <-done:
			return int64(most - before)
		default:
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
			runtime.Gosched()
		}
	}
}
