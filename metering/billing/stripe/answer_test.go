package stripe

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering/billing"
)

// Whatever Stripe, or an impostor, responds: only a succeeded payment of the exact amount counts as one, an error
// comes alone, and no text is long or contains the key.
func FuzzPayment(f *testing.F) {
	const intent = `{"object":"payment_intent","id":"pi_1","amount":2900,"currency":"eur","status":`
	for _, body := range []string{
		intent + `"succeeded"}`, intent + `"processing"}`, intent + `"requires_payment_method","last_payment_error":{"type":"card_error",` +
			`"message":"Your card was declined."}}`, intent + `"canceled","metadata":{"a":"b"}}`,
		`{"object":"payment_intent","id":"pi_1","amount":1,"currency":"usd","status":"succeeded"}`,
		`{"error":{"type":"card_error","code":"card_declined","message":"no","payment_intent":` + intent + `"x"}}}`,
		`{"error":{"type":"invalid_request_error","message":"sk_test_0123456789abcdefghijABCD"}}`, `null`, `[`, "",
	} {
		for _, status := range []int{200, 402, 400, 500} {
			f.Add(status, body)
		}
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		const key = "sk_test_0123456789abcdefghijABCD"
		r := reply{status, "req_1", []byte(body), key}
		p, err := r.payment(billing.Invoice{AmountCents: 2900, Currency: "EUR"})
		if err != nil {
			require.Zero(t, p)
			require.LessOrEqual(t, len(err.Error()), 600)
			require.NotContains(t, err.Error(), key)
			require.True(t, utf8.ValidString(err.Error()))
			return
		}
		require.True(t, p.Status.Known())
		require.Equal(t, p.Status == billing.PaymentPaid, p.Reason == "")
		require.LessOrEqual(t, len(p.Reason), 300)
		require.Contains(t, []int{200, 402}, status)
		switch p.Status {
		case billing.PaymentPaid:
			require.Equal(t, 200, status)
			require.True(t, strings.Contains(body, "2900") && strings.Contains(body, "succeeded"))
			fallthrough
		case billing.PaymentPending:
			require.True(t, isIntent(string(p.Reference)))
		}
	})
}

// What becomes part of a URL is an id and nothing else.
func FuzzIsIntent(f *testing.F) {
	for _, id := range []string{"pi_1", "pi_", "pi_1/x", "pi_..", "pi_é", "pi_1 "} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if isIntent(id) {
			require.Regexp(t, `\Api_[0-9A-Za-z_]{1,252}\z`, id)
		}
	})
}
