package billing_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering/billing"
)

func example() billing.Invoice {
	price := int64(2900)
	return billing.Invoice{
		ID: "2026-10", Number: "INV-2026-10-A", Account: "acc_a", Period: october, Plan: "pack", Currency: "EUR",
		PriceCents: &price, OverageExact: "0", TotalCents: 2900, State: billing.Open, Attempts: []billing.Attempt{},
	}
}

// Many nodes and repetitions leave one file with one line.
func TestFileBiller(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "invoices")
	biller := billing.FileBiller{Dir: dir}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			v := example()
			v.Failures = i
			ref, err := biller.Charge(t.Context(), v)
			assert.NoError(t, err)
			assert.Equal(t, billing.PaymentRef("2026-10/acc_a.jsonl"), ref)
		})
	}
	wg.Wait()
	files, err := os.ReadDir(filepath.Join(dir, "2026-10"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(filepath.Join(dir, "2026-10", "acc_a.jsonl"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), "\n"))
	var got billing.Invoice
	require.NoError(t, json.Unmarshal(text, &got))
	want := example()
	want.State = billing.Paid
	require.Equal(t, want, got)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "2026-11"), nil, 0o600)) // in the way of the folder
	blocked := example()
	blocked.ID = "2026-11"
	_, err = biller.Charge(t.Context(), blocked)
	require.Error(t, err)
}

// roundTrip answers requests without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Only an answer that is understood pays, or declines.
func TestWebhookBiller(t *testing.T) {
	const unclear = "which says neither paid nor declined"
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		name, location string
		status         int
		answer         string
		ref            billing.PaymentRef
		err            string
		declined       bool
	}{
		{name: "paid", status: 200, answer: `{"status":"paid","reference":"pi_1"}`, ref: "pi_1"},
		{name: "paid, version", status: 201, answer: `{"schema_version":"1","status":"paid"}`},
		{name: "declined", status: 402, answer: `{"status":"declined","error":"card declined"}`,
			err: "the biller answered 402: card declined", declined: true},
		{name: "declined, 2xx", status: 200, answer: `{"status":"declined"}`,
			err: "the biller answered 200: declined", declined: true},
		{name: "nothing", status: 200, err: "the biller answered 200 OK, " + unclear},
		{name: "no content", status: 204, err: "the biller answered 204 No Content, " + unclear},
		{name: "login page", status: 200, answer: `<html>log in</html>`, err: "the biller answered 200 OK, " + unclear},
		{name: "reference only", status: 200, answer: `{"reference":"pi_1"}`, err: "the biller answered 200 OK, " + unclear},
		{name: "processing", status: 202, answer: `{"status":"processing"}`,
			err: "the biller answered 202 Accepted, " + unclear},
		{name: "failed", status: 200, answer: `{"status":"failed","error":"x"}`, err: "the biller answered 200 OK, " + unclear},
		{name: "null", status: 200, answer: `null`, err: "the biller answered 200 OK, " + unclear},
		{name: "more than JSON", status: 200, answer: `{"status":"paid"} or not`, err: "the biller answered 200 OK, " + unclear},
		{name: "other type", status: 200, answer: `{"status":"paid","reference":7}`,
			err: "the biller answered 200 OK, " + unclear},
		{name: "other version", status: 200, answer: `{"schema_version":"2","status":"paid"}`,
			err: "the biller answered 200 OK, " + unclear},
		{name: "paid, 500", status: 500, answer: `{"status":"paid"}`,
			err: "the biller answered 500 Internal Server Error, " + unclear},
		{name: "declined, 500", status: 500, answer: `{"status":"declined"}`,
			err: "the biller answered 500 Internal Server Error, " + unclear},
		{name: "redirect", status: 307, location: "https://elsewhere.example",
			err: "the biller answered 307 Temporary Redirect, " + unclear},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls := 0
			biller := billing.WebhookBiller{
				URL: "https://billing.example/charge?token=secret", Clock: func() time.Time { return now },
				Sign: func(id string, at time.Time, body []byte) string {
					return "v1," + id + at.UTC().Format(time.RFC3339) + string(body[:1])
				},
				Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					calls++
					require.Equal(t, http.MethodPost, r.Method)
					require.Equal(t, "acc_a-2026-10", r.Header.Get("Idempotency-Key"))
					require.Equal(t, "acc_a-2026-10", r.Header.Get("webhook-id"))
					require.Equal(t, "1800000000", r.Header.Get("webhook-timestamp"))
					require.Equal(t, "v1,acc_a-2026-102027-01-15T08:00:00Z{", r.Header.Get("webhook-signature"))
					var got billing.Invoice
					require.NoError(t, json.NewDecoder(r.Body).Decode(&got))
					require.Equal(t, example(), got)
					return &http.Response{
						StatusCode: c.status, Header: http.Header{"Location": {c.location}},
						Body: io.NopCloser(bytes.NewReader([]byte(c.answer))),
					}, nil
				})},
			}
			ref, err := biller.Charge(t.Context(), example())
			require.Equal(t, 1, calls)
			require.Equal(t, c.ref, ref)
			_, declined := errors.AsType[*billing.DeclinedError](err)
			require.Equal(t, c.declined, declined)
			if c.err != "" {
				require.EqualError(t, err, c.err)
			} else {
				require.NoError(t, err)
			}
		})
	}
	biller := billing.WebhookBiller{
		URL: "https://billing.example/charge?token=secret",
		Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			require.Empty(t, r.Header.Get("webhook-signature"))
			return nil, errors.New("no route")
		})},
	}
	_, err := biller.Charge(t.Context(), example())
	require.ErrorContains(t, err, "no route")
	require.NotContains(t, err.Error(), "secret")
}
