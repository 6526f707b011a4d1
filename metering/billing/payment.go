package billing

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/diagkit/diagkit/metering"
)

// A Biller has an invoice paid.
type Biller interface {
	// Charge requests payment of the amount due of an invoice, and returns the outcome. An error means that the
	// outcome is unknown: its text is logged, and the account sees [metering.Reason]. The attempt is then repeated
	// under the same [Invoice.IdempotencyKey], and so is one whose outcome could not be recorded. Charge must charge
	// once for all calls with the same key, and return the same result for them. After a decline the key is a new one.
	// Charge returns when the context ends. Several invoices are charged at once.
	Charge(ctx context.Context, v Invoice) (Payment, error)
}

// A Poller is an optional ability of a [Biller]: it returns the outcome of a payment that was pending. An error means
// that the outcome is unknown, and it is polled again later. Without it, only [Billing.Settle] reports the outcome.
type Poller interface {
	Payment(ctx context.Context, v Invoice) (Payment, error)
}

// A PaymentRef is the id of a payment at the biller.
type PaymentRef string

// PaymentStatus is the state of a payment.
type PaymentStatus string

// The statuses. Any other is not understood, and a failure.
const (
	PaymentPaid     PaymentStatus = "paid"
	PaymentPending  PaymentStatus = "pending"  // in progress; the outcome is reported later
	PaymentDeclined PaymentStatus = "declined" // permanently declined
)

// Known reports whether it is one of the constants.
func (s PaymentStatus) Known() bool {
	return s == PaymentPaid || s == PaymentPending || s == PaymentDeclined
}

// A Payment is the response of a biller to an attempt.
type Payment struct {
	Status    PaymentStatus `json:"status"`
	Reference PaymentRef    `json:"reference,omitempty"`
	Reason    string        `json:"error,omitempty"` // of a decline, in words for the account; why a payment is pending
}

// failure returns why an attempt did not lead to a payment, or not yet; empty if it did.
func (p Payment) failure() string {
	switch p.Status {
	case PaymentPaid:
		return ""
	case PaymentPending:
		return truncate(singleLine(p.Reason))
	case PaymentDeclined:
		return truncate(cmp.Or(singleLine(p.Reason), "declined"))
	}
	return truncate(fmt.Sprintf("the biller says %q, which is not one of paid, pending and declined", p.Status))
}

// A PaymentReport is a report about a payment after its attempt.
type PaymentReport struct {
	Account metering.AccountID `json:"account"`
	Invoice string             `json:"invoice"` // its id
	Payment
}

// reportVersion is the schema_version of reports about payments.
const reportVersion = "1"

// ParsePaymentReport reads the body of a callback, which has the form of a [WebhookBiller]'s response and names account
// and invoice. A body that cannot be parsed completely is rejected.
func ParsePaymentReport(body []byte) (w PaymentReport, err error) {
	if err := parseReport(body, &w); err != nil {
		return PaymentReport{}, err
	}
	switch {
	case !w.Status.Known():
		return PaymentReport{}, fmt.Errorf("status: %q is not one of paid, pending and declined", truncate(string(w.Status)))
	case w.Account == "":
		return PaymentReport{}, errors.New("account: is missing")
	case w.Invoice == "":
		return PaymentReport{}, errors.New("invoice: is missing")
	}
	return w, nil
}

// parseReport reads a JSON object of the version that is understood. One that contradicts itself is not.
func parseReport(body []byte, into any) error {
	var known struct {
		SchemaVersion string     `json:"schema_version"`
		Reference     PaymentRef `json:"reference"`
	}
	if err := errors.Join(json.Unmarshal(body, &known), json.Unmarshal(body, into)); err != nil {
		return errors.New("the body is not a JSON object of the expected form")
	}
	if name := duplicateMember(body); name != "" {
		return fmt.Errorf("%.100q appears twice", name)
	}
	if known.SchemaVersion != reportVersion {
		return fmt.Errorf("schema_version: must be %q", reportVersion)
	}
	if !known.Reference.printable() {
		return errors.New("reference: has characters that cannot be printed")
	}
	return nil
}

// duplicateMember returns the name of a duplicate member of a JSON object, if any. Names that differ only in case are
// equal, as in [json.Unmarshal].
func duplicateMember(object []byte) string {
	d := json.NewDecoder(bytes.NewReader(object))
	_, _ = d.Token() // the brace; the text was parsed before
	seen := map[string]bool{}
	for d.More() {
		name, _ := d.Token()
		folded := strings.ToLower(strings.ToUpper(fmt.Sprint(name)))
		if seen[folded] {
			return fmt.Sprint(name)
		}
		seen[folded] = true
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return ""
		}
	}
	return ""
}

// printable reports whether a reference is safe on an invoice and in a log.
func (r PaymentRef) printable() bool {
	return !strings.ContainsFunc(string(r), func(c rune) bool { return !unicode.IsPrint(c) || c == utf8.RuneError })
}

// maxResponseBytes bounds how much of a response is read.
const maxResponseBytes = 64 << 10

// WebhookBiller passes invoices to a payment service: it posts each as JSON, with the header Idempotency-Key. The
// receiver responds with the outcome of the payment in JSON:
//
//	{"schema_version": "1", "status": "paid", "reference": "pi_1"}
//	{"schema_version": "1", "status": "pending", "reference": "pi_1"}
//	{"schema_version": "1", "status": "declined", "error": "the card has expired"}
//
// Only a 2xx with "paid" pays an invoice; one with "pending" announces a later report, see [Billing.Settle]. A 2xx or
// 4xx with "declined" is final for its Idempotency-Key: the error is passed on to the account, and the next attempt
// has a new key. Any other response, such as a redirect, an empty body or another schema_version, says nothing about
// the payment, and the next attempt has the same key.
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
		return Payment{}, &metering.ReasonError{Reason: "the URL of the biller is not valid"}
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
	resp, err := Do(w.Client, req)
	if err != nil {
		return Payment{}, err
	}
	defer resp.Body.Close()
	return parseResponse(resp)
}

// Do sends a request as billers should: redirects are not followed, and errors do not have the URL, which may hold a
// secret. A nil client is http.DefaultClient.
func Do(client *http.Client, req *http.Request) (*http.Response, error) {
	noRedirects := *cmp.Or(client, http.DefaultClient)
	noRedirects.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := noRedirects.Do(req)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return resp, err
}

func parseResponse(resp *http.Response) (Payment, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponseBytes))
	if err != nil {
		return Payment{}, fmt.Errorf("reading the answer %d: %w", resp.StatusCode, err)
	}
	var payment Payment
	isValid := parseReport(body, &payment) == nil && payment.Status.Known()
	class := resp.StatusCode / 100
	if !isValid || class != 2 && (class != 4 || payment.Status != PaymentDeclined) {
		return Payment{}, &metering.ReasonError{Reason: fmt.Sprintf(
			"the biller answered %d %s, which says neither paid, pending nor declined",
			resp.StatusCode, http.StatusText(resp.StatusCode))}
	}
	return payment, nil
}

// singleLine returns a text from elsewhere as one printable line.
func singleLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || !unicode.IsPrint(c) }), " ")
}

func truncate(text string) string {
	if len(text) <= maxErrorBytes {
		return text
	}
	end := maxErrorBytes
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
