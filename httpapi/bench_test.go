package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/stretchr/testify/require"
)

// BenchmarkServe is a request through all steps, without the network.
func BenchmarkServe(b *testing.B) {
	store := memory.New(memory.Config{})
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
	handler := Handler(Config{Gate: gate})

	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := httptest.NewRequest("POST", Prefix+"/text/lower", strings.NewReader(`{"text":"The Quick Brown Fox"}`))
			r.Header = http.Header{"Authorization": {"Bearer " + secret.Reveal()}, "Content-Type": {jsonMedia}}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != 200 {
				b.Fatal(w.Body.String())
			}
		}
	})
}
