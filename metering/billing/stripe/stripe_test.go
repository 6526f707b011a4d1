package stripe_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/billing/stripe"
	"github.com/diagkit/diagkit/metering/meteringtest"
)

// stand returns a biller for a fake Stripe, with the customer of acc_a.
func stand(t testing.TB) (*stripe.Biller, *fake, *meteringtest.Clock) {
	clock := meteringtest.NewClock()
	f := newFake(t, clock.Now)
	f.customer("cus_a", "acc_a", "pm_a")
	b, err := stripe.New(testKey)
	require.NoError(t, err)
	b.Client, b.Clock = &http.Client{Transport: f}, clock.Now
	return b, f, clock
}

// bill is an invoice that was made at this moment.
func bill(now time.Time) billing.Invoice {
	return billing.Invoice{
		ID: "2026-10", Number: "INV-2026-10-A", Account: "acc_a", Period: metering.Period{Year: 2026, Month: time.October},
		Currency: "EUR", AmountCents: 2900, CreatedAt: now,
	}
}

// Each status and each decline is mapped correctly, and each response is repeated for the same attempt.
func TestCharge(t *testing.T) {
	for _, c := range []struct {
		outcome string
		want    billing.Payment
		err     string
	}{
		{outcome: "succeeded", want: billing.Payment{Status: billing.PaymentPaid, Reference: "pi_1"}},
		{outcome: "processing", want: billing.Payment{Status: billing.PaymentPending, Reference: "pi_1",
			Reason: "the payment is being processed"}},
		{outcome: "requires_action", want: billing.Payment{Status: billing.PaymentPending, Reference: "pi_1",
			Reason: "the customer must authenticate the payment"}},
		{outcome: "requires_capture", want: billing.Payment{Status: billing.PaymentPending, Reference: "pi_1",
			Reason: "the payment is authorized and must be captured in Stripe"}},
		{outcome: "card_declined", want: billing.Payment{Status: billing.PaymentDeclined, Reference: "pi_1",
			Reason: "Your card was declined."}},
		{outcome: "authentication_required", want: billing.Payment{Status: billing.PaymentDeclined, Reference: "pi_1",
			Reason: "Your card was declined."}},
		{outcome: "requires_payment_method", want: billing.Payment{Status: billing.PaymentDeclined, Reference: "pi_1",
			Reason: "the payment was declined"}},
		{outcome: "canceled", want: billing.Payment{Status: billing.PaymentDeclined, Reference: "pi_1",
			Reason: "the payment was canceled"}},
		{outcome: "requires_confirmation", err: `the payment pi_1 of Stripe has the status "requires_confirmation", ` +
			`which says neither paid nor declined`},
		{outcome: "requires_magic", err: `the payment pi_1 of Stripe has the status "requires_magic", ` +
			`which says neither paid nor declined`},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			b, f, clock := stand(t)
			f.outcome = c.outcome
			for range 3 {
				p, err := b.Charge(t.Context(), bill(clock.Now()))
				if c.err != "" {
					require.EqualError(t, err, c.err)
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, c.want, p)
				clock.Advance(7 * time.Hour)
			}
			i := f.only()
			assert.Equal(t, []any{int64(2900), "eur", "cus_a", "pm_a", "Invoice INV-2026-10-A for 2026-10"},
				[]any{i["amount"], i["currency"], i["customer"], i["payment_method"], i["description"]})
			assert.Equal(t, object{"diagd_account": "acc_a", "diagd_invoice": "INV-2026-10-A", "diagd_attempt": "acc_a-2026-10"},
				i["metadata"])
		})
	}
}

// However late the outcome arrives, a payment is made once: within 24 hours by its key, after that by the search.
func TestOnce(t *testing.T) {
	for _, outcome := range []string{"lost", "500"} {
		for _, wait := range []time.Duration{
			time.Minute, time.Hour, 22*time.Hour + 59*time.Minute, 23*time.Hour + time.Minute, 24 * time.Hour, 103 * time.Hour,
		} {
			t.Run(outcome+wait.String(), func(t *testing.T) {
				b, f, clock := stand(t)
				f.lag, f.outcome = time.Hour, outcome
				v := bill(clock.Now())
				_, err := b.Charge(t.Context(), v)
				require.Error(t, err)
				clock.Advance(wait)
				f.outcome = "succeeded"
				p, err := b.Charge(t.Context(), v)
				if outcome == "500" && wait < 23*time.Hour {
					require.ErrorContains(t, err, "stripe answered 500")
				} else {
					require.NoError(t, err)
					require.Equal(t, billing.Payment{Status: billing.PaymentPaid, Reference: "pi_1"}, p)
				}
				f.only()
			})
		}
	}
}

// If the card is gone while the outcome of an attempt is unknown, the payment is found.
func TestGoneMethod(t *testing.T) {
	for _, gone := range []func(f *fake){
		func(f *fake) { f.customers = nil },
		func(f *fake) { f.customers[0]["invoice_settings"] = object{} },
	} {
		b, f, clock := stand(t)
		f.lag, f.outcome = time.Minute, "lost"
		v := bill(clock.Now())
		_, err := b.Charge(t.Context(), v)
		require.Error(t, err)
		gone(f)
		clock.Advance(5 * time.Minute)
		p, err := b.Charge(t.Context(), v)
		require.NoError(t, err)
		require.Equal(t, billing.Payment{Status: billing.PaymentPaid, Reference: "pi_1"}, p)
	}
}

// A payment of another invoice is never taken for one of this invoice, whatever the keys.
func TestOtherInvoice(t *testing.T) {
	b, _, clock := stand(t)
	v := bill(clock.Now())
	_, err := b.Charge(t.Context(), v)
	require.NoError(t, err)
	clock.Advance(25 * time.Hour)
	v.Number = "INV-2026-10-A-2"
	p, err := b.Charge(t.Context(), v)
	require.NoError(t, err)
	require.EqualValues(t, "pi_2", p.Reference)
}

// The first attempt at an old invoice, and the one after a decline, find no payment and make one.
func TestNewAttempt(t *testing.T) {
	b, f, clock := stand(t)
	v := bill(clock.Now())
	clock.Advance(48 * time.Hour)
	f.outcome = "card_declined"
	p, err := b.Charge(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, billing.PaymentDeclined, p.Status)
	v.Declines++
	f.outcome = "succeeded"
	p, err = b.Charge(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, billing.Payment{Status: billing.PaymentPaid, Reference: "pi_2"}, p)
	require.Len(t, f.intents, 2)
}

// Polling returns the outcome of a payment that takes days.
func TestPoll(t *testing.T) {
	b, f, clock := stand(t)
	f.outcome = "processing"
	v := bill(clock.Now())
	p, err := b.Charge(t.Context(), v)
	require.NoError(t, err)
	v.Payment = p.Reference
	clock.Advance(5 * 24 * time.Hour)
	p, err = b.Payment(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, billing.PaymentPending, p.Status)
	i := f.only()
	i["status"], i["last_payment_error"] = "requires_payment_method",
		object{"type": "invalid_request_error", "code": "payment_intent_payment_attempt_failed", "message": "for developers"}
	p, err = b.Payment(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, billing.Payment{Status: billing.PaymentDeclined, Reference: "pi_1",
		Reason: "the payment was declined (payment_intent_payment_attempt_failed)"}, p)
	i["status"] = "succeeded"
	p, err = b.Payment(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, billing.Payment{Status: billing.PaymentPaid, Reference: "pi_1"}, p)

	for _, ref := range []billing.PaymentRef{
		"", "pi_", "pi_1/cancel", "pi_1?x", "ch_1", "pi_../x", billing.PaymentRef("pi_" + strings.Repeat("a", 300)),
	} {
		v.Payment, f.requests = ref, nil
		_, err = b.Payment(t.Context(), v)
		require.ErrorContains(t, err, "is not the id of a payment", ref)
		require.Empty(t, f.requests)
	}
	v.Payment = "pi_2"
	_, err = b.Payment(t.Context(), v)
	require.EqualError(t, err, "stripe answered 404 Not Found, resource_missing: No such object (req_1)")
}

// The customer and the payment method come from Stripe's data about the account.
func TestCustomer(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(f *fake)
		method string
		reason string
		err    string
	}{
		{name: "default source", method: "card_1", change: func(f *fake) {
			f.customers[0]["invoice_settings"], f.customers[0]["default_source"] = object{"default_payment_method": nil}, "card_1"
		}},
		{name: "nothing on file", reason: "no payment method on file", change: func(f *fake) {
			f.customers[0]["invoice_settings"] = object{}
		}},
		{name: "no customer", reason: "no payment method on file", change: func(f *fake) { f.customers = nil }},
		{name: "other case", reason: "no payment method on file", change: func(f *fake) {
			f.customers[0]["metadata"] = object{"diagd_account": "ACC_A"}
		}},
		{name: "several", change: func(f *fake) { f.customer("cus_b", "acc_a", "pm_b") },
			err: "several customers in Stripe have the diagd_account of this account: cus_a and cus_b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, f, clock := stand(t)
			c.change(f)
			p, err := b.Charge(t.Context(), bill(clock.Now()))
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			if c.reason != "" {
				require.Equal(t, billing.Payment{Status: billing.PaymentDeclined, Reason: c.reason}, p)
				require.Empty(t, f.intents)
				return
			}
			require.Equal(t, c.method, f.only()["payment_method"])
		})
	}
}

// Other parameters under one key, a request under way with it, and a payment of another amount are faults of which
// nothing is known.
func TestConflicts(t *testing.T) {
	b, f, clock := stand(t)
	v := bill(clock.Now())
	_, err := b.Charge(t.Context(), v)
	require.NoError(t, err)
	f.customers[0]["invoice_settings"] = object{"default_payment_method": "pm_b"}
	_, err = b.Charge(t.Context(), v)
	require.ErrorContains(t, err, "stripe answered 400 Bad Request, idempotency_error: keys can only be used")
	f.kept[v.IdempotencyKey()] = keptAnswer{at: clock.Now()}
	_, err = b.Charge(t.Context(), v)
	require.ErrorContains(t, err, "stripe answered 409 Conflict, idempotency_key_in_use: ")
	clock.Advance(25 * time.Hour)
	v.AmountCents++
	_, err = b.Charge(t.Context(), v)
	require.EqualError(t, err, "the payment pi_1 of Stripe is for 2900 EUR, but the invoice is for 2901 EUR")
	f.only()
	double := object{}
	for name, value := range f.intents[0] {
		double[name] = value
	}
	double["id"] = "pi_x"
	f.intents = append(f.intents, double)
	_, err = b.Charge(t.Context(), v)
	require.EqualError(t, err, "several payments in Stripe are for this attempt: pi_1 and pi_x")
}

// answered returns a biller's interpretation of one response to any request.
func answered(t testing.TB, status int, body string, poll bool) (billing.Payment, error) {
	b, f, clock := stand(t)
	f.answer = &http.Response{StatusCode: status, Header: http.Header{"Location": {"https://elsewhere.example/"}},
		Body: io.NopCloser(strings.NewReader(body))}
	v := bill(clock.Now())
	if poll {
		v.Payment = "pi_1"
		return b.Payment(t.Context(), v)
	}
	p, err := b.Charge(t.Context(), v)
	assert.Len(t, f.requests, 1, "nothing is charged")
	return p, err
}

// An unexpected response is an error, which is short and does not contain the key.
func TestUnclear(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"nothing", 200, "", "stripe answered 200 OK, which is not understood"},
		{"login page", 200, "<html>log in</html>", "stripe answered 200 OK, which is not understood"},
		{"null", 200, "null", "stripe answered 200 OK, which is not understood"},
		{"list", 200, "[]", "stripe answered 200 OK, which is not understood"},
		{"another object", 200, `{"object":"charge","id":"pi_1","status":"succeeded","amount":2900,"currency":"eur"}`,
			"stripe answered 200 OK, which is not understood"},
		{"another type", 200, `{"object":"payment_intent","id":"pi_1","status":"succeeded","amount":"2900","currency":"eur"}`,
			"stripe answered 200 OK, which is not understood"},
		{"more than JSON", 200, `{"object":"payment_intent","id":"pi_1","status":"succeeded","amount":2900,"currency":"eur"}x`,
			"stripe answered 200 OK, which is not understood"},
		{"too long", 200, `{"object":"payment_intent","id":"pi_1","status":"succeeded","amount":2900,"currency":"eur"` +
			strings.Repeat(" ", 1<<20) + "}", "stripe answered 200 OK, which is not understood"},
		{"accepted", 202, `{"object":"payment_intent","id":"pi_1","status":"succeeded","amount":2900,"currency":"eur"}`,
			"stripe answered 202 Accepted"},
		{"redirect", 307, "", "stripe answered 307 Temporary Redirect"},
		{"key", 401, `{"error":{"type":"invalid_request_error","message":"Invalid API Key provided: sk_test_****ABCD"}}`,
			"stripe answered 401 Unauthorized: the key is not valid"},
		{"key in the text", 403, `{"error":{"type":"invalid_request_error","message":"The provided key ` + testKey + ` is weak"}}`,
			"stripe answered 403 Forbidden, invalid_request_error: The provided key (not shown) is weak"},
		{"payment required", 402, "<html>", "stripe answered 402 Payment Required"},
		{"payment required, no card", 402, `{"error":{"type":"invalid_request_error","code":"x","message":"y"}}`,
			"stripe answered 402 Payment Required, x: y"},
		{"rate", 429, `{"error":{"type":"invalid_request_error","code":"rate_limit","message":"Too\nfast\u0000."}}`,
			"stripe answered 429 Too Many Requests, rate_limit: Too fast ."},
		{"gateway", 502, "bad gateway", "stripe answered 502 Bad Gateway"},
		{"long", 400, `{"error":{"type":"a","message":"` + strings.Repeat("é", 200) + `"}}`,
			"stripe answered 400 Bad Request, a: " + strings.Repeat("é", 100) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, poll := range []bool{false, true} {
				p, err := answered(t, c.status, c.body, poll)
				require.EqualError(t, err, c.want)
				require.Zero(t, p)
			}
		})
	}
}

// A biller returns when its context ends, and its errors contain no URL.
func TestNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f, clock := stand(t)
		f.outcome = "lost"
		_, err := b.Charge(t.Context(), bill(clock.Now()))
		require.EqualError(t, err, "asking Stripe: connection reset by peer")
		f.hangs = true
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err = b.Charge(ctx, bill(clock.Now()))
		require.EqualError(t, err, "asking Stripe: context deadline exceeded")
		b.URL = "://"
		_, err = b.Charge(t.Context(), bill(clock.Now()))
		require.EqualError(t, err, "the URL of Stripe is not valid")
	})
}

// A key is never shown.
func TestNew(t *testing.T) {
	for _, key := range []string{testKey, strings.Replace(testKey, "sk_test", "rk_live", 1)} {
		b, err := stripe.New(key)
		require.NoError(t, err)
		assert.NotContains(t, fmt.Sprintf("%v %+v %#v %v", b, b, *b, []any{*b}), key[8:])
	}
	for _, key := range []string{
		"", "sk_test_", "sk_test_short", "pk_live_0123456789abcdefghij", testKey + "\n", testKey + " ", "sk_prod" + testKey[7:],
		"whsec_0123456789abcdefghij", testKey + strings.Repeat("a", 300), `"` + testKey + `"`,
	} {
		_, err := stripe.New(key)
		require.Error(t, err, key)
		if len(key) > 20 {
			assert.NotContains(t, err.Error(), key[8:])
		}
	}
}
