// Package stripe has invoices paid by Stripe: a [Biller] charges the customer's default payment method, through one
// PaymentIntent per attempt, and later returns the outcome of a payment that takes days.
//
//	biller, err := stripe.New(key)
//	b := billing.Billing{Store: store, Biller: biller}
//
// A customer of Stripe belongs to an account if its metadata says so: diagd_account is the id of the account. Of
// Stripe's data only the id of a payment is stored here; the operator sets that one field when creating a customer.
// The customer's default payment method for invoices is charged, else the default source.
//
// Stripe makes one payment for all requests with the same idempotency key, but forgets a key after 24 hours. Attempts
// are repeated for longer than that. So the key is also written into the metadata of the payment, and Stripe is
// searched for it before charging an invoice that is old enough for its key to be forgotten, and before reporting that
// there is nothing to charge. The search index may lag by an hour, so the search starts an hour before the key
// expires.
//
// Amounts are in what Stripe calls the smallest unit of a currency, and are passed on as in the invoice.
package stripe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering/billing"
)

const (
	// Version is the version of the API that is asked for, whatever the Stripe account is set to.
	Version = "2025-09-30.clover"

	api = "https://api.stripe.com"
	// keyLifetime is for how long Stripe is sure to know an idempotency key (24 hours), without the hour that its search
	// may be behind.
	keyLifetime = 23 * time.Hour
	// maxResponseBytes is far more than a payment or two customers have.
	maxResponseBytes = 256 << 10
)

// The metadata by which customers and payments are found.
const (
	metaAccount = "diagd_account"
	metaInvoice = "diagd_invoice"
	metaAttempt = "diagd_attempt" // the idempotency key
)

// keyForm matches Stripe's API keys: sk_ is a secret key, rk_ a restricted key.
var keyForm = regexp.MustCompile(`^(sk|rk)_(live|test)_[0-9A-Za-z]{16,240}$`)

// A Biller charges invoices by Stripe: [New] makes one. It implements [billing.Biller] and [billing.Poller].
type Biller struct {
	URL    string           // of a substitute for Stripe; "" is Stripe
	Client *http.Client     // nil means http.DefaultClient; redirects are not followed in any case
	Clock  func() time.Time // nil means time.Now

	key *string // a pointer, so that printing a Biller shows an address only
}

// New takes a secret or restricted key of Stripe's API. The error does not repeat it.
func New(key string) (*Biller, error) {
	if strings.HasPrefix(key, "pk_") {
		return nil, errors.New("this is a publishable key, which cannot charge; use a restricted or secret one")
	}
	if !keyForm.MatchString(key) {
		return nil, errors.New("this is no key of Stripe, such as rk_live_… or sk_test_…")
	}
	return &Biller{key: &key}, nil
}

// Charge implements [billing.Biller].
func (b *Biller) Charge(ctx context.Context, v billing.Invoice) (billing.Payment, error) {
	payer, err := b.customer(ctx, string(v.Account))
	if err != nil {
		return billing.Payment{}, err
	}
	method := cmp.Or(payer.InvoiceSettings.DefaultPaymentMethod, payer.DefaultSource)
	if method == "" || b.now().Sub(v.CreatedAt) > keyLifetime {
		if id, err := b.findIntent(ctx, v); err != nil {
			return billing.Payment{}, err
		} else if id != "" {
			return b.getIntent(ctx, v, id)
		}
	}
	if method == "" {
		return billing.Payment{Status: billing.PaymentDeclined, Reason: "no payment method on file"}, nil
	}
	form := url.Values{
		"amount": {strconv.FormatInt(v.AmountCents, 10)}, "currency": {strings.ToLower(v.Currency)},
		"customer": {payer.ID}, "payment_method": {method}, "confirm": {"true"}, "off_session": {"true"},
		// Whatever can be charged without sending the customer to another site.
		"automatic_payment_methods[enabled]":         {"true"},
		"automatic_payment_methods[allow_redirects]": {"never"},
		"description":                   {"Invoice " + v.Number + " for " + v.Period.String()},
		"metadata[" + metaAccount + "]": {string(v.Account)},
		"metadata[" + metaInvoice + "]": {v.Number},
		"metadata[" + metaAttempt + "]": {v.IdempotencyKey()},
	}
	r, err := b.call(ctx, http.MethodPost, "/v1/payment_intents", v.IdempotencyKey(), form)
	if err != nil {
		return billing.Payment{}, err
	}
	return r.payment(v)
}

// Payment implements [billing.Poller].
func (b *Biller) Payment(ctx context.Context, v billing.Invoice) (billing.Payment, error) {
	return b.getIntent(ctx, v, string(v.Payment))
}

// getIntent returns the current state of a payment.
func (b *Biller) getIntent(ctx context.Context, v billing.Invoice, id string) (billing.Payment, error) {
	if !isIntent(id) {
		return billing.Payment{}, reasonf("%.40q is not the id of a payment of Stripe", id)
	}
	r, err := b.call(ctx, http.MethodGet, "/v1/payment_intents/"+id, "", nil)
	if err != nil {
		return billing.Payment{}, err
	}
	return r.payment(v)
}

// findIntent searches for the payment of an attempt. The id is empty if it is not found.
func (b *Biller) findIntent(ctx context.Context, v billing.Invoice) (id string, err error) {
	found, err := search[intent](ctx, b, "payment_intents", metaAttempt, v.IdempotencyKey())
	found = slices.DeleteFunc(found, func(i intent) bool { return i.metadata(metaInvoice) != v.Number })
	if err != nil || len(found) == 0 {
		return "", err
	}
	if len(found) > 1 {
		return "", reasonf("several payments in Stripe are for this attempt: %s and %s", found[0].ID, found[1].ID)
	}
	return found[0].ID, nil
}

// customer finds the customer of an account. If there is no customer, the id and the payment method are empty.
func (b *Biller) customer(ctx context.Context, account string) (customer, error) {
	found, err := search[customer](ctx, b, "customers", metaAccount, account)
	if err != nil || len(found) == 0 {
		return customer{}, err
	}
	if len(found) > 1 {
		return customer{}, reasonf("several customers in Stripe have the %s of this account: %s and %s",
			metaAccount, found[0].ID, found[1].ID)
	}
	return found[0], nil
}

// search returns the objects with a line of metadata. The search of Stripe ignores case, and its query has quotes
// around a value: ids and keys of ours hold none.
func search[T interface{ metadata(name string) string }](
	ctx context.Context, b *Biller, of, name, value string,
) ([]T, error) {
	query := url.Values{"query": {fmt.Sprintf("metadata['%s']:'%s'", name, value)}, "limit": {"10"}}
	r, err := b.call(ctx, http.MethodGet, "/v1/"+of+"/search?"+query.Encode(), "", nil)
	if err != nil {
		return nil, err
	}
	list, err := parse[struct {
		Object string `json:"object"`
		Data   []T    `json:"data"`
	}](r)
	if err == nil && list.Object != "search_result" {
		err = r.unknownOutcome()
	}
	var found []T
	for _, one := range list.Data {
		if one.metadata(name) == value {
			found = append(found, one)
		}
	}
	return found, err
}

func (b *Biller) now() time.Time {
	if b.Clock == nil {
		return time.Now()
	}
	return b.Clock()
}

// call makes one request. The error never contains the key.
func (b *Biller) call(ctx context.Context, method, path, idempotency string, form url.Values) (reply, error) {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, cmp.Or(strings.TrimSuffix(b.URL, "/"), api)+path, body)
	if err != nil {
		return reply{}, reasonf("the URL of Stripe is not valid")
	}
	req.Header.Set("Authorization", "Bearer "+*b.key)
	req.Header.Set("Stripe-Version", Version)
	req.Header.Set("User-Agent", "diagd")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Idempotency-Key", idempotency)
	}
	resp, err := billing.Do(b.Client, req)
	if err != nil {
		return reply{}, fmt.Errorf("asking Stripe: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxResponseBytes))
	if err != nil {
		return reply{}, fmt.Errorf("reading the answer %d of Stripe: %w", resp.StatusCode, err)
	}
	return reply{resp.StatusCode, resp.Header.Get("Request-Id"), text, *b.key}, nil
}
