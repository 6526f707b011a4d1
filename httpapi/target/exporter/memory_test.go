//go:build !race

package exporter_test

import (
	"context"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target/exporter"
	"github.com/stretchr/testify/require"
)

// What is kept of a thousand domains, or by day of a quarter of them, takes little memory, and nothing of their reports.
func TestMemory(t *testing.T) {
	domains := diagtest.Share(1000, 4)
	most := domains * 20 << 10
	synctest.Test(t, func(t *testing.T) {
		at := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
		time.Sleep(time.Until(at))
		world, err := internet.New(at)
		require.NoError(t, err)
		defer world.Close()
		var mu sync.Mutex
		replies := map[string]*httpapi.Result{}
		// The first domain is examined; the others get reports that are made of the same JSON.
		ask := func(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error) {
			mu.Lock()
			known := replies[ep.Name()]
			mu.Unlock()
			if known != nil {
				return &httpapi.Result{Body: known.Body, MediaType: known.MediaType}, nil
			}
			result, err := ep.Run(ctx, world.Env(), body)
			if mu.Lock(); err == nil {
				replies[ep.Name()] = result
			}
			mu.Unlock()
			return result, err
		}
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc + m.StackInuse
		}
		b := start(t, "good.example\n", ask, exporter.Config{})
		time.Sleep(time.Minute)
		before := heap()
		b.set("good.example\n"+names(domains-1), nil)
		time.Sleep(time.Hour)
		grown := heap() - before
		require.Equal(t, domains, b.runs(""))
		w := httptest.NewRecorder()
		b.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		t.Logf("%d domains: %d KiB, %d bytes at a scrape", domains, grown>>10, w.Body.Len())
		require.Less(t, grown, uint64(most))
		runtime.KeepAlive(b)
	})
}
