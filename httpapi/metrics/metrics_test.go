package metrics

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/stretchr/testify/require"
)

func TestObserve(t *testing.T) {
	m := New()
	m.Observe(httpapi.Observation{Endpoint: "POST /x", Code: "OK", Status: 200, Plan: "free", Credits: 3, Duration: time.Millisecond})
	m.Observe(httpapi.Observation{Endpoint: "POST /x", Code: "OK", Status: 200, Plan: "free", Replay: true, Deprecated: "mail:read"})
	m.Observe(httpapi.Observation{Endpoint: "unknown", Code: "INVALID_REQUEST", Status: 404})
	m.ObserveResolution("changed")
	m.ObserveDelivery("webhook", "delivered")
	m.ObservePayments(PaymentFailed, 2)
	m.ObserveWatch("ok")
	m.ObserveQuestion("NXDOMAIN")
	m.ObserveQuestion("NXDOMAIN")
	m.GaugeFunc(Connections, func() float64 { return 7 })
	up := true
	m.FlagFunc(StoreUp, func() bool { return up })
	m.FlagFunc(LimiterAway, func() bool { return !up })

	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		`diagkit_requests_total{code="OK",endpoint="POST /x",plan="free"} 2`,
		`diagkit_requests_total{code="INVALID_REQUEST",endpoint="unknown",plan=""} 1`,
		`diagkit_credits_total{endpoint="POST /x",plan="free"} 3`,
		`diagkit_deprecated_total{deprecated="mail:read",endpoint="POST /x"} 1`,
		`diagkit_replays_total{endpoint="POST /x"} 1`,
		`diagkit_request_duration_seconds_count{endpoint="POST /x"} 2`,
		`diagkit_spf_resolutions_total{status="changed"} 1`,
		`diagkit_delivery_attempts_total{kind="webhook",state="delivered"} 1`,
		`diagkit_watch_runs_total{outcome="ok"} 1`,
		"diagkit_connections 7", "diagkit_store_up 1", "diagkit_limiter_away 0",
		`diagkit_spf_dns_questions_total{outcome="NXDOMAIN"} 2`,
		`diagkit_payments_total{outcome="failed"} 2`, `diagkit_payments_total{outcome="exhausted"} 0`,
	} {
		require.Contains(t, w.Body.String(), line)
	}
	require.Equal(t, []Gauge{
		AuditAge, AuditFaults, BackupAge, ClockTrusted, CloseFailing, Connections, DeliveriesWaiting, LimiterAway,
		PendingSeconds, PaymentsWaiting, PoolMax, PoolUsed, StoreUp, WatchesOverdue,
	}, Gauges())
}

// Requests that cost nothing make no counter of credits.
func TestCreditsOfTheFirstCharge(t *testing.T) {
	m := New()
	text := func() string {
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Body.String()
	}
	o := httpapi.Observation{Endpoint: "POST /x", Code: "OK", Status: 200, Plan: "free"}
	m.Observe(o)
	require.NotContains(t, text(), `diagkit_credits_total{`)
	o.Credits = 2
	m.Observe(o)
	m.Observe(o)
	require.Contains(t, text(), `diagkit_credits_total{endpoint="POST /x",plan="free"} 4`)
	require.Contains(t, text(), `diagkit_requests_total{code="OK",endpoint="POST /x",plan="free"} 3`)
}

func BenchmarkObserve(b *testing.B) {
	m := New()
	o := httpapi.Observation{Endpoint: "POST /x", Code: "OK", Status: 200, Plan: "free", Credits: 1, Duration: time.Millisecond}
	b.ReportAllocs()
	for b.Loop() {
		m.Observe(o)
	}
}
