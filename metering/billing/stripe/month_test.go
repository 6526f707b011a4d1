package stripe_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/memory"
)

// A month as it is billed: the card is declined, the debit takes days, and the account has paid once.
func TestMonth(t *testing.T) {
	b, f, clock := stand(t)
	store := memory.New(memory.Config{Clock: clock.Now})
	defer store.Close()
	account, err := metering.Admin{Store: store, Clock: clock.Now}.CreateAccount(t.Context(), "Example Ltd", "pack")
	require.NoError(t, err)
	f.customers[0]["metadata"] = object{"diagd_account": string(account.ID)}
	month := metering.PeriodOf(clock.Now())
	bills := billing.Billing{Store: store, Biller: b, Clock: clock.Now, Draft: -1}
	clock.Advance(billing.ClosesAt(month).Sub(clock.Now()))
	_, err = bills.Close(t.Context(), month)
	require.NoError(t, err)
	pay := func(outcome string, want billing.State, declines int) billing.Invoice {
		t.Helper()
		f.outcome = outcome
		_, err := bills.Pay(t.Context())
		require.NoError(t, err)
		var list []billing.Invoice
		for v, err := range bills.Invoices(t.Context(), billing.Filter{Account: account.ID}) {
			require.NoError(t, err)
			list = append(list, v)
		}
		require.Len(t, list, 1)
		require.Equal(t, want, list[0].State)
		require.Equal(t, declines, list[0].Declines)
		return list[0]
	}
	pay("card_declined", billing.Open, 1)
	clock.Advance(time.Hour)
	pay("lost", billing.Open, 1) // the payment is made, but the response is lost
	f.intents[1]["status"] = "processing"
	clock.Advance(24 * time.Hour)
	v := pay("succeeded", billing.Pending, 1) // which finds that payment
	require.EqualValues(t, "pi_2", v.Payment)
	clock.Advance(24 * time.Hour)
	pay("succeeded", billing.Pending, 1)
	f.intents[1]["status"] = "succeeded"
	clock.Advance(24 * time.Hour)
	v = pay("card_declined", billing.Paid, 1)
	require.EqualValues(t, "pi_2", v.Payment)
	require.Len(t, f.intents, 2)
}
