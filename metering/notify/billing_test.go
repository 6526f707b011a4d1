package notify

import (
	"context"
	"encoding/json"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/stretchr/testify/require"
)

// declined is a biller whose every charge is declined.
type declined struct{}

func (declined) Charge(context.Context, billing.Invoice) (billing.Payment, error) {
	return billing.Payment{Status: billing.PaymentDeclined, Reason: "the card was declined"}, nil
}

// closeMonth uses credits, goes beyond the end of the month, and makes and charges the invoice.
func (w *world) closeMonth(credits int64) {
	w.Helper()
	ctx := context.Background()
	w.set(func(a *metering.Account) { a.OverageEnabled = true })
	_, secret := w.key(nil)
	require.NoError(w, w.charge(secret, credits))
	month := metering.PeriodOf(w.clock.Now())
	w.clock.Set(month.End().Add(billing.Grace))
	b := billing.Billing{Store: w.store, Biller: declined{}, Draft: -1, Clock: w.clock.Now}
	_, err := b.Close(ctx, month)
	require.NoError(w, err)
	_, err = b.Pay(ctx)
	require.NoError(w, err)
}

// billingSamples are data as billing writes them.
func billingSamples(w *world) map[metering.EventType]any {
	w.closeMonth(58_001)
	samples := map[metering.EventType]any{}
	for r, err := range w.store.Records(context.Background(), metering.RecordFilter{Kind: metering.EventKind}) {
		require.NoError(w, err)
		e, err := metering.ParseEvent(r)
		require.NoError(w, err)
		if e.Type.Category() != metering.BillingEvents {
			continue
		}
		data := map[string]any{}
		require.NoError(w, json.Unmarshal(e.Data.(json.RawMessage), &data))
		data["account"], data["invoice_number"] = "acc_4v2q6jz3w7x5y2n6m4k3h2g7fa", "INV-2026-01-AAAAAAAAAAAAAAAA"
		samples[e.Type] = data
	}
	return samples
}
