package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

// BenchmarkServe is a metered request through all steps of a server, without the network: many at once, so that a
// store commits them in groups. Its cost is cpu-µs/op; the machine may have other work.
func BenchmarkServe(b *testing.B) {
	for _, store := range []struct {
		name string
		open opener
	}{{"memory", inMemory}, {"SQLite", inNewFile}} {
		b.Run(store.name, func(b *testing.B) { benchServe(b, store.open) })
	}
}

func benchServe(b *testing.B, open opener) {
	store := open(b, nil)
	defer store.Close()
	admin := metering.Admin{Store: store}
	account, err := admin.CreateAccount(b.Context(), "bench", "self")
	require.NoError(b, err)
	_, secret, err := admin.CreateKey(b.Context(), metering.KeyRequest{
		Account: account.ID, Name: "bench", Scopes: metering.Scopes(),
	})
	require.NoError(b, err)
	plans := metering.DefaultPlans()
	plan := plans["self"]
	plan.PerMinute = 1 << 30
	plans["self"] = plan
	gate, err := metering.NewGate(context.Background(), metering.GateConfig{Store: store, Plans: plans})
	require.NoError(b, err)
	defer gate.Close()
	handler := Front{API: Handler(Config{Gate: gate})}

	b.ReportAllocs()
	b.SetParallelism(32)
	before := processTime(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := httptest.NewRequest("POST", Prefix+"/text/lower", strings.NewReader(`{"text":"The Quick Brown Fox"}`))
			r.Header = http.Header{"Authorization": {"Bearer " + secret.Reveal()}, "Content-Type": {jsonMedia}}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != 200 {
				b.Error(w.Body.String())
				return
			}
		}
	})
	b.ReportMetric(float64((processTime(b)-before).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
}

// processTime returns the CPU time that the process has used.
func processTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
