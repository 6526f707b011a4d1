package billing_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
			assert.Equal(t, paid("2026-10/acc_a.jsonl"), ref)
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

	second := example()
	second.ID = "2026-10.2"
	ref, err := biller.Charge(t.Context(), second)
	require.NoError(t, err)
	require.Equal(t, paid("2026-10/acc_a.2.jsonl"), ref)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "2026-11"), nil, 0o600)) // in the way of the folder
	blocked := example()
	blocked.ID, blocked.Period = "2026-11", october.Next()
	_, err = biller.Charge(t.Context(), blocked)
	require.Error(t, err)
}

// roundTrip answers requests without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Only an answer that is understood pays, or declines.
func TestWebhookBiller(t *testing.T) {
	const unclear = "which says neither paid, pending nor declined"
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		name     string
		status   int
		answer   string
		want     billing.Payment // zero if unclear
		location string
	}{
		{name: "paid", status: 200, answer: `{"schema_version":"1","status":"paid","reference":"pi_1"}`, want: paid("pi_1")},
		{name: "paid, no reference", status: 201, answer: `{"schema_version":"1","status":"paid"}`, want: paid("")},
		{name: "pending", status: 202, answer: `{"schema_version":"1","status":"pending","reference":"pi_1"}`,
			want: billing.Payment{Status: billing.PaymentPending, Reference: "pi_1"}},
		{name: "declined", status: 402, answer: `{"schema_version":"1","status":"declined","error":"card declined"}`,
			want: billing.Payment{Status: billing.PaymentDeclined, Reason: "card declined"}},
		{name: "declined, 2xx", status: 200, answer: `{"schema_version":"1","status":"declined"}`,
			want: billing.Payment{Status: billing.PaymentDeclined}},
		{name: "nothing", status: 200},
		{name: "no content", status: 204},
		{name: "login page", status: 200, answer: `<html>log in</html>`},
		{name: "reference only", status: 200, answer: `{"schema_version":"1","reference":"pi_1"}`},
		{name: "processing", status: 202, answer: `{"schema_version":"1","status":"processing"}`},
		{name: "failed", status: 200, answer: `{"schema_version":"1","status":"failed","error":"x"}`},
		{name: "null", status: 200, answer: `null`},
		{name: "more than JSON", status: 200, answer: `{"schema_version":"1","status":"paid"} or not`},
		{name: "other type", status: 200, answer: `{"schema_version":"1","status":"paid","reference":7}`},
		{name: "no version", status: 200, answer: `{"status":"paid"}`},
		{name: "other version", status: 200, answer: `{"schema_version":"2","status":"paid"}`},
		{name: "version of another type", status: 200, answer: `{"schema_version":1,"status":"paid"}`},
		{name: "paid, 402", status: 402, answer: `{"schema_version":"1","status":"paid"}`},
		{name: "paid, 500", status: 500, answer: `{"schema_version":"1","status":"paid"}`},
		{name: "pending, 400", status: 400, answer: `{"schema_version":"1","status":"pending"}`},
		{name: "declined, 500", status: 500, answer: `{"schema_version":"1","status":"declined"}`},
		{name: "two statuses", status: 200,
			answer: `{"schema_version":"1","status":"declined","error":"x","status":"paid","reference":"r"}`},
		{name: "two statuses by case", status: 200, answer: `{"schema_version":"1","status":"declined","Status":"paid"}`},
		{name: "two statuses by a letter that folds", status: 200, answer: `{"schema_version":"1","status":"declined","ſtatus":"paid"}`},
		{name: "two versions", status: 200, answer: `{"schema_version":"2","schema_version":"1","status":"paid"}`},
		{name: "nested twice", status: 200, answer: `{"schema_version":"1","more":{"a":1,"a":2},"status":"paid"}`, want: paid("")},
		{name: "line break in the reference", status: 200,
			answer: `{"schema_version":"1","status":"paid","reference":"a\r\nb"}`},
		{name: "escape in the reference", status: 200,
			answer: `{"schema_version":"1","status":"paid","reference":"a\u001b[31m"}`},
		{name: "reference that is not UTF-8", status: 200,
			answer: "{\"schema_version\":\"1\",\"status\":\"paid\",\"reference\":\"a\xff\"}"},
		{name: "redirect", status: 307, location: "https://elsewhere.example"},
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
			got, err := biller.Charge(t.Context(), example())
			require.Equal(t, 1, calls)
			require.Equal(t, c.want, got)
			if c.want.Status == "" {
				want := fmt.Sprintf("the biller answered %d %s, %s", c.status, http.StatusText(c.status), unclear)
				require.EqualError(t, err, want)
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

func TestParseWord(t *testing.T) {
	w, err := billing.ParsePaymentReport([]byte(`{"schema_version":"1","invoice":"2026-10","account":"acc_a","reference":"pi_1",
		"status":"declined","error":"no funds"}`))
	require.NoError(t, err)
	require.Equal(t, billing.PaymentReport{Account: "acc_a", Invoice: "2026-10", Payment: billing.Payment{
		Status: billing.PaymentDeclined, Reference: "pi_1", Reason: "no funds",
	}}, w)
	for body, want := range map[string]string{
		`<html>`: "not a JSON object", `null`: "schema_version", `[]`: "not a JSON object",
		`{"status":"paid","account":"acc_a","invoice":"2026-10"}`:                        "schema_version",
		`{"schema_version":"1","status":"failed","account":"acc_a","invoice":"2026-10"}`: `status: "failed"`,
		`{"schema_version":"1","status":"paid","invoice":"2026-10"}`:                     "account: ",
		`{"schema_version":"1","status":"paid","account":"acc_a"}`:                       "invoice: ",
		`{"schema_version":"1","status":"paid","account":"acc_a","Status":"declined"}`:   `"Status" appears twice`,
		`{"schema_version":"1","status":"paid","reference":"a\n"}`:                       "reference: ",
		`{"schema_version":"1","status":"paid","account":7,"invoice":"2026-10"}`:         "not a JSON object",
	} {
		_, err := billing.ParsePaymentReport([]byte(body))
		require.ErrorContains(t, err, want, body)
	}
}
