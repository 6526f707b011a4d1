//go:build !race

package aggregate

// The race detector takes memory of its own.

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

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
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	before, most := heap[0].Value.Uint64(), heap[0].Value.Uint64()
	done := make(chan bool)
	go func() { f(); close(done) }()
	often := time.NewTicker(200 * time.Microsecond)
	defer often.Stop()
	for {
		select {
		case <-done:
			return int64(most - before)
		case <-often.C:
			metrics.Read(heap)
			most = max(most, heap[0].Value.Uint64())
		}
	}
}
