//go:build !race

package hsts

// The race detector makes these many times slower, and nothing in them runs at once.

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListMemory(t *testing.T) {
	entries := 150_000 // as many as Chromium's list has
	if testing.Short() {
		entries = 80_000
	}
	data := large(entries)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	list, err := ParseList(data)
	require.NoError(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Equal(t, entries+1, list.Len())
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(6<<20), "bytes kept")
	e, ok := list.Lookup("www.site-77777.example")
	require.True(t, ok && e.IncludeSubdomains)
	_, ok = list.Lookup("www.site-x.example")
	require.False(t, ok, "the entry above does not include subdomains")
	runtime.KeepAlive(data)
}
