package billing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// maxAnswer is how much is read of what a receiver answers.
const maxAnswer = 64 << 10

// WebhookBiller hands invoices to a payment service: it posts each as JSON, with the header Idempotency-Key.
// The receiver answers in JSON what became of the payment:
//
//	{"schema_version": "1", "status": "paid", "reference": "pi_1"}
//	{"schema_version": "1", "status": "pending", "reference": "pi_1"}
//	{"schema_version": "1", "status": "declined", "error": "the card has expired"}
//
// Only a 2xx that says "paid" pays, and one that says "pending" promises a later word, see [Billing.Settle]. A 2xx or
// 4xx that says "declined" is final for its Idempotency-Key: the error is passed on to the account, and the next
// attempt has a new key. Whatever else comes, a redirect, an empty body or another schema_version included, says
// nothing about the payment, and the next attempt has the same key.
type WebhookBiller struct {
	URL    string
	Client *http.Client // nil means http.DefaultClient; redirects are not followed in any case
	// Sign returns the signature of a body, as receivers of Standard Webhooks verify it: it goes out as
	// webhook-signature, with webhook-id and webhook-timestamp. Nil means unsigned.
	Sign func(id string, at time.Time, body []byte) string

	Clock func() time.Time // nil means time.Now
}

// Charge implements [Biller].
func (w WebhookBiller) Charge(ctx context.Context, v Invoice) (Payment, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return Payment{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return Payment{}, errors.New("the URL of the biller is not valid")
	}
	id := v.IdempotencyKey()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "diagd")
	req.Header.Set("Idempotency-Key", id)
	if w.Sign != nil {
		at := time.Now()
		if w.Clock != nil {
			at = w.Clock()
		}
		req.Header.Set("Webhook-Id", id)
		req.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
		req.Header.Set("Webhook-Signature", w.Sign(id, at, body))
	}
	client := *http.DefaultClient
	if w.Client != nil {
		client = *w.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL, which may hold a secret
		}
		return Payment{}, err
	}
	defer resp.Body.Close()
	return judge(resp)
}

func judge(resp *http.Response) (Payment, error) {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return Payment{}, fmt.Errorf("reading the answer %d: %w", resp.StatusCode, err)
	}
	var said Payment
	understood := parseSaid(text, &said) == nil && said.Status.Known()
	class := resp.StatusCode / 100
	if !understood || class != 2 && (class != 4 || said.Status != PaymentDeclined) {
		return Payment{}, fmt.Errorf("the biller answered %d %s, which says neither paid, pending nor declined",
			resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return said, nil
}
