package billing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/diagkit/diagkit/metering"
)

// A Biller has an invoice paid.
type Biller interface {
	// Charge asks for the payment of what is due of an invoice, and tells what came of it. An error means that nothing
	// is known: the attempt is repeated under the same [Invoice.IdempotencyKey], and so is one whose outcome could not
	// be noted. It must charge once for all calls with the same key, and answer them alike. After a decline the key
	// is a new one. It ends with the context. Several invoices are charged at once.
	Charge(ctx context.Context, v Invoice) (Payment, error)
}

// A Poller is an optional ability of a [Biller]: what became of a payment that was pending. An error means that nothing
// is known, and it is asked again later. Without it, the later word is that of [Billing.Settle] alone.
type Poller interface {
	Payment(ctx context.Context, v Invoice) (Payment, error)
}

// A PaymentRef is what a biller calls a payment.
type PaymentRef string

// PaymentStatus says what became of a payment.
type PaymentStatus string

// The statuses. Any other is not understood, and a failure.
const (
	PaymentPaid     PaymentStatus = "paid"
	PaymentPending  PaymentStatus = "pending"  // it is under way, and a later word tells its end
	PaymentDeclined PaymentStatus = "declined" // it was refused for good
)

// Known reports whether it is one of the constants.
func (s PaymentStatus) Known() bool {
	return s == PaymentPaid || s == PaymentPending || s == PaymentDeclined
}

// A Payment is what a biller says of an attempt.
type Payment struct {
	Status    PaymentStatus `json:"status"`
	Reference PaymentRef    `json:"reference,omitempty"`
	Reason    string        `json:"error,omitempty"` // of a decline, in words for the account; why a payment is pending
}

// failure is why an attempt did not lead to a payment, or not yet; empty where it did.
func (p Payment) failure() string {
	switch p.Status {
	case PaymentPaid:
		return ""
	case PaymentPending:
		return short(p.Reason)
	case PaymentDeclined:
		return short(cmp.Or(p.Reason, "declined"))
	}
	return short(fmt.Sprintf("the biller says %q, which is none of paid, pending and declined", p.Status))
}

// A Word is what is said of a payment after its attempt.
type Word struct {
	Account metering.AccountID `json:"account"`
	Invoice string             `json:"invoice"` // its id
	Payment
}

// saidVersion is the schema_version of what is said of payments.
const saidVersion = "1"

// ParseWord reads the body of a callback, which is like what a [WebhookBiller] understands and names account and
// invoice. Of whatever is not understood, nothing is believed.
func ParseWord(body []byte) (w Word, err error) {
	if err := parseSaid(body, &w); err != nil {
		return Word{}, err
	}
	switch {
	case !w.Status.Known():
		return Word{}, fmt.Errorf("status: %q is none of paid, pending and declined", short(string(w.Status)))
	case w.Account == "":
		return Word{}, errors.New("account: is missing")
	case w.Invoice == "":
		return Word{}, errors.New("invoice: is missing")
	}
	return w, nil
}

// parseSaid reads a JSON object of the version that is understood.
func parseSaid(body []byte, into any) error {
	var version struct {
		SchemaVersion string `json:"schema_version"`
	}
	if err := errors.Join(json.Unmarshal(body, &version), json.Unmarshal(body, into)); err != nil {
		return errors.New("the body is not a JSON object of the expected form")
	}
	if version.SchemaVersion != saidVersion {
		return fmt.Errorf("schema_version: must be %q", saidVersion)
	}
	return nil
}
