// Package metrics exports Prometheus metrics of the API: call [New]. It is separate so that programs that embed the
// API without it do not carry the client library.
//
//	m := metrics.New()
//	handler := httpapi.Handler(httpapi.Config{Gate: gate, Observe: m.Observe})
//	admin.Handle("/metrics", m.Handler())
//
// Labels are bounded: endpoint, code, plan, status and outcome; never a key, an address or a domain.
package metrics

import (
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the counters of one server.
type Metrics struct {
	registry                               *prometheus.Registry
	requests, credits, replays, deprecated *prometheus.CounterVec
	duration                               *prometheus.HistogramVec

	resolutions, questions, deliveries, payments, watches *prometheus.CounterVec

	mu     sync.RWMutex
	series map[labels]*series
}

// labels are what most requests are counted by.
type labels struct{ endpoint, code, plan string }

// series holds the counters of requests with the same labels. Looking them up by their labels takes most of the time
// of counting.
type series struct {
	requests prometheus.Counter
	duration prometheus.Observer
	credits  func() prometheus.Counter // which comes into being with the first charge
}

// The outcomes of payments.
const (
	PaymentPaid      = "paid"
	PaymentPending   = "pending"
	PaymentFailed    = "failed"    // an attempt
	PaymentExhausted = "exhausted" // an invoice of which that was the last attempt
)

// New returns counters in a registry of their own, with those of the Go runtime and the process.
func New() *Metrics {
	r := prometheus.NewRegistry()
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		r.MustRegister(c)
		return c
	}
	m := &Metrics{
		registry: r, series: map[labels]*series{},
		requests: counter("diagkit_requests_total", "Requests by endpoint, code (OK or the error code) and plan.",
			"endpoint", "code", "plan"),
		credits: counter("diagkit_credits_total", "Credits charged by endpoint and plan.", "endpoint", "plan"),
		replays: counter("diagkit_replays_total", "Kept replies that were sent again, by endpoint.", "endpoint"),
		deprecated: counter("diagkit_deprecated_total",
			"Uses of what is deprecated: the operation, or the scope that allowed it.", "endpoint", "deprecated"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "diagkit_request_duration_seconds", Help: "Time from the first byte read to the last written, by endpoint.",
			Buckets: []float64{.0005, .001, .005, .02, .05, .1, .25, .5, 1, 2.5, 5, 10, 15, 30, 60},
		}, []string{"endpoint"}),
		resolutions: counter("diagkit_spf_resolutions_total", "Resolutions of hosted SPF profiles by status.", "status"),
		questions: counter("diagkit_spf_dns_questions_total",
			"Questions to the name server of hosted SPF by outcome: the code of the answer, or dropped.", "outcome"),
		deliveries: counter("diagkit_delivery_attempts_total",
			"Attempts to deliver notifications by kind of channel, and by the state of the delivery after them.",
			"kind", "state"),
		payments: counter("diagkit_payments_total",
			"Payments of invoices by outcome: paid, pending, failed attempts, and exhausted for invoices that have failed.",
			"outcome"),
		watches: counter("diagkit_watch_runs_total",
			"Runs of watched domains by outcome: ok, waiting (for credits and the like) or lost.", "outcome"),
	}
	for _, outcome := range []string{PaymentPaid, PaymentPending, PaymentFailed, PaymentExhausted} {
		m.ObservePayments(outcome, 0) // a counter that comes into being with its first event hides it from increase()
	}
	r.MustRegister(m.duration,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// A Gauge names a value that is computed when the metrics are read.
type Gauge string

// The gauges, each of which a server exposes if it has the measured part.
const (
	StoreUp           Gauge = "diagkit_store_up"
	LimiterAway       Gauge = "diagkit_limiter_away"
	Connections       Gauge = "diagkit_connections"
	DeliveriesWaiting Gauge = "diagkit_deliveries_waiting"
	WatchesOverdue    Gauge = "diagkit_watches_overdue"
	PaymentsWaiting   Gauge = "diagkit_payments_waiting"
	PendingSeconds    Gauge = "diagkit_payment_pending_seconds"
	CloseFailing      Gauge = "diagkit_close_failing"
	ClockTrusted      Gauge = "diagkit_clock_trusted"
	BackupAge         Gauge = "diagkit_backup_age_seconds"
	AuditAge          Gauge = "diagkit_audit_age_seconds"
	AuditFaults       Gauge = "diagkit_audit_faults"
	PoolUsed          Gauge = "diagkit_store_pool_used"
	PoolMax           Gauge = "diagkit_store_pool_max"
)

var gaugeHelp = map[Gauge]string{
	StoreUp:           "1 while the store can take charges, 0 otherwise.",
	LimiterAway:       "1 while the shared limiter does not answer and this node counts alone, 0 otherwise.",
	Connections:       "Connections of clients that are open.",
	DeliveriesWaiting: "Deliveries of notifications that are due; NaN while that is not known.",
	WatchesOverdue:    "Watched domains whose check is overdue by more than five minutes; NaN while that is not known.",
	PaymentsWaiting:   "Payments of invoices that are due; NaN while that is not known.",
	PendingSeconds:    "Age of the oldest payment whose end is not known yet, 0 without one; NaN before it is looked for.",
	CloseFailing:      "1 while the last attempt to close a month failed for some account, 0 otherwise.",
	ClockTrusted:      "1 while the clock is believed, 0 while it is in doubt and nothing is closed or forgotten.",
	BackupAge:         "Age of the last backup of a SQLite store; NaN while none is recorded.",
	AuditAge:          "Age of the last audit of a SQLite store; NaN while none is recorded.",
	AuditFaults:       "Faults that the last audit of a SQLite store found; NaN while none is recorded.",
	PoolUsed:          "Connections to PostgreSQL on which charges and keys are worked at.",
	PoolMax:           "Connections to PostgreSQL that may be open for charges and keys.",
}

// Gauges lists the gauges.
func Gauges() []Gauge { return slices.Sorted(maps.Keys(gaugeHelp)) }

// GaugeFunc exposes a gauge. The function is called for each reading, and must be quick.
func (m *Metrics) GaugeFunc(g Gauge, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: string(g), Help: gaugeHelp[g]}, value))
}

// FlagFunc exposes a gauge that is 1 or 0.
func (m *Metrics) FlagFunc(g Gauge, is func() bool) {
	m.GaugeFunc(g, func() float64 {
		if is() {
			return 1
		}
		return 0
	})
}

// Observe counts one request. It is meant for [httpapi.Config].
func (m *Metrics) Observe(o httpapi.Observation) {
	s := m.seriesOf(labels{o.Endpoint, o.Code, o.Plan})
	s.requests.Inc()
	s.duration.Observe(o.Duration.Seconds())
	if o.Credits > 0 {
		s.credits().Add(float64(o.Credits))
	}
	if o.Replay {
		m.replays.WithLabelValues(o.Endpoint).Inc()
	}
	if o.Deprecated != "" {
		m.deprecated.WithLabelValues(o.Endpoint, o.Deprecated).Inc()
	}
}

// seriesOf returns the counters with some labels.
func (m *Metrics) seriesOf(l labels) *series {
	m.mu.RLock()
	s := m.series[l]
	m.mu.RUnlock()
	if s == nil {
		s = &series{
			requests: m.requests.WithLabelValues(l.endpoint, l.code, l.plan),
			duration: m.duration.WithLabelValues(l.endpoint),
			credits:  sync.OnceValue(func() prometheus.Counter { return m.credits.WithLabelValues(l.endpoint, l.plan) }),
		}
		m.mu.Lock()
		m.series[l] = s
		m.mu.Unlock()
	}
	return s
}

// ObserveResolution counts a resolution of a hosted SPF profile that ended with a status.
func (m *Metrics) ObserveResolution(status string) { m.resolutions.WithLabelValues(status).Inc() }

// ObserveQuestion counts a question to the name server of hosted SPF. It is meant for its configuration.
func (m *Metrics) ObserveQuestion(outcome string) { m.questions.WithLabelValues(outcome).Inc() }

// ObserveDelivery counts an attempt to deliver a notification. It is meant for notify.Worker.
func (m *Metrics) ObserveDelivery(kind, state string) {
	m.deliveries.WithLabelValues(kind, state).Inc()
}

// ObserveWatch counts a run of a watched domain. It is meant for watch.Config.
func (m *Metrics) ObserveWatch(outcome string) { m.watches.WithLabelValues(outcome).Inc() }

// ObservePayments counts payments of invoices.
func (m *Metrics) ObservePayments(outcome string, n int) {
	m.payments.WithLabelValues(outcome).Add(float64(n))
}

// Handler serves the counters in the text format of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
