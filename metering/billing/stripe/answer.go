package stripe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
)

// reply is a response of Stripe.
type reply struct {
	status  int
	request string // Stripe's name of the request
	body    []byte
	key     string // which no error may show
}

// intent holds the relevant fields of a PaymentIntent.
type intent struct {
	ID        string            `json:"id"`
	Object    string            `json:"object"`
	Amount    int64             `json:"amount"`
	Currency  string            `json:"currency"`
	Status    string            `json:"status"`
	Metadata  map[string]string `json:"metadata"`
	LastError *fault            `json:"last_payment_error"`
}

func (i intent) metadata(name string) string { return i.Metadata[name] }

// customer is likewise for a Customer.
type customer struct {
	ID              string            `json:"id"`
	Metadata        map[string]string `json:"metadata"`
	DefaultSource   string            `json:"default_source"`
	InvoiceSettings struct {
		DefaultPaymentMethod string `json:"default_payment_method"`
	} `json:"invoice_settings"`
}

func (c customer) metadata(name string) string { return c.Metadata[name] }

// fault is an error of Stripe's: of a request, or of the last attempt of a PaymentIntent.
type fault struct {
	Type    string  `json:"type"`
	Code    string  `json:"code"`
	Message string  `json:"message"` // of a card_error: meant for the customer
	Intent  *intent `json:"payment_intent"`
}

// cardError is the type of errors of the customer's payment method.
const cardError = "card_error"

// parse reads an answer of 200. All others are errors.
func parse[T any](r reply) (v T, err error) {
	if r.status != http.StatusOK || json.Unmarshal(r.body, &v) != nil {
		return *new(T), r.unknownOutcome()
	}
	return v, nil
}

// payment reads what an answer about a PaymentIntent says of the payment of an invoice. Whatever is not understood is
// an error: nothing is known then.
func (r reply) payment(v billing.Invoice) (billing.Payment, error) {
	if r.status == http.StatusPaymentRequired {
		f, ok := r.stripeError()
		if !ok || f.Type != cardError {
			return billing.Payment{}, r.unknownOutcome()
		}
		p := billing.Payment{Status: billing.PaymentDeclined, Reason: declineText(&f)}
		if f.Intent != nil && isIntent(f.Intent.ID) {
			p.Reference = billing.PaymentRef(f.Intent.ID)
		}
		return p, nil
	}
	i, err := parse[intent](r)
	switch {
	case err != nil:
		return billing.Payment{}, err
	case i.Object != "payment_intent" || !isIntent(i.ID):
		return billing.Payment{}, r.unknownOutcome()
	case i.Amount != v.AmountCents || !strings.EqualFold(i.Currency, v.Currency):
		return billing.Payment{}, reasonf("the payment %s of Stripe is for %d %s, but the invoice is for %d %s",
			i.ID, i.Amount, strings.ToUpper(truncate(i.Currency)), v.AmountCents, v.Currency)
	}
	p, statuses := map[string]billing.Payment{
		"succeeded":       {Status: billing.PaymentPaid},
		"processing":      {Status: billing.PaymentPending, Reason: "the payment is being processed"},
		"requires_action": {Status: billing.PaymentPending, Reason: "the customer must authenticate the payment"},
		"requires_capture": {
			Status: billing.PaymentPending, Reason: "the payment is authorized and must be captured in Stripe",
		},
		"requires_payment_method": {Status: billing.PaymentDeclined, Reason: declineText(i.LastError)},
		"canceled":                {Status: billing.PaymentDeclined, Reason: "the payment was canceled"},
	}[i.Status]
	if p.Reference = billing.PaymentRef(i.ID); !statuses {
		return billing.Payment{}, reasonf(
			"the payment %s of Stripe has the status %q, which says neither paid nor declined", i.ID, truncate(i.Status))
	}
	return p, nil
}

// declineText describes a decline to the account.
func declineText(f *fault) string {
	const declined = "the payment was declined"
	switch {
	case f == nil:
		return declined
	case f.Type == cardError && f.Message != "":
		return truncate(f.Message)
	case f.Code != "":
		return declined + " (" + truncate(f.Code) + ")"
	}
	return declined
}

// stripeError reads the error of an answer.
func (r reply) stripeError() (fault, bool) {
	var body struct{ Error fault }
	err := json.Unmarshal(r.body, &body)
	return body.Error, err == nil && body.Error.Type != ""
}

// unknownOutcome is the error of a response without a payment. It is for the operator, and has Stripe's words.
func (r reply) unknownOutcome() error {
	text := fmt.Sprintf("stripe answered %d %s", r.status, http.StatusText(r.status))
	f, ok := r.stripeError()
	switch {
	case r.status == http.StatusUnauthorized: // its words have the ends of the key in them
		text += ": the key is not valid"
	case ok:
		text += fmt.Sprintf(", %s: %s", truncate(cmp.Or(f.Code, f.Type)), truncate(f.Message))
	case r.status == http.StatusOK:
		text += ", which is not understood"
	}
	if r.request != "" {
		text += " (" + truncate(r.request) + ")"
	}
	return reasonf("%s", strings.ReplaceAll(text, r.key, "(not shown)"))
}

// reasonf is an error whose text an invoice may show.
func reasonf(format string, args ...any) error {
	return &metering.ReasonError{Reason: fmt.Sprintf(format, args...)}
}

// truncate is text from outside, cut to what an invoice can keep.
func truncate(text string) string {
	const most = 200
	text = strings.ToValidUTF8(text, "")
	text = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7F {
			return ' '
		}
		return c
	}, text)
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// isIntent reports whether a text is the id of a PaymentIntent, which may become part of a URL.
func isIntent(id string) bool {
	rest, ok := strings.CutPrefix(id, "pi_")
	return ok && rest != "" && len(id) <= 255 && !strings.ContainsFunc(rest, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}
