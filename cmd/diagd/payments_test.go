package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/httpapi/metrics"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/sqlite"
)

// slowBiller leaves each payment pending.
type slowBiller struct{}

func (slowBiller) Charge(context.Context, billing.Invoice) (billing.Payment, error) {
	return billing.Payment{Status: billing.PaymentPending, Reference: "pi_1"}, nil
}

// The metrics report what was paid and what was not, whether months can be closed, and how long a payment is pending.
func TestPaymentMetrics(t *testing.T) {
	flag, _ := newStore(t)
	debtor(t, flag)
	store, err := sqlite.Open(t.Context(), strings.TrimPrefix(flag, "--store=sqlite:"), sqlite.Config{})
	require.NoError(t, err)
	defer store.Close()
	began := time.Now()
	n := &maintenance{store: store, log: slog.New(slog.DiscardHandler), billing: billing.Billing{
		Store: store, Plans: metering.DefaultPlans(), Biller: slowBiller{}, Draft: -1,
	}}
	counters := metrics.New()
	n.observePayments(t.Context(), counters)
	told := func(want ...string) {
		t.Helper()
		w := httptest.NewRecorder()
		counters.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		for _, line := range want {
			assert.Regexp(t, "(?m)^"+line+"$", w.Body.String())
		}
	}
	told("diagkit_payment_pending_seconds NaN", "diagkit_close_failing 0", `diagkit_payments_total\{outcome="pending"\} 0`)

	_, err = n.billing.Close(t.Context(), lastClosableMonth())
	require.NoError(t, err)
	paid, err := n.billing.Pay(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, paid.Pending)
	since := n.oldestPending(t.Context())
	assert.GreaterOrEqual(t, since, began.Unix())
	assert.LessOrEqual(t, since, time.Now().Unix())

	n.billing.Observe(errors.New("x"), billing.Paying{Paid: 1, Pending: 2, Failed: 3, Exhausted: 4})
	told("diagkit_close_failing 1", `diagkit_payments_total\{outcome="paid"\} 1`, `diagkit_payments_total\{outcome="pending"\} 2`,
		`diagkit_payments_total\{outcome="failed"\} 3`, `diagkit_payments_total\{outcome="exhausted"\} 4`)
	n.billing.Observe(nil, billing.Paying{})
	told("diagkit_close_failing 0", "diagkit_payment_pending_seconds .*[1-9].*")
}
