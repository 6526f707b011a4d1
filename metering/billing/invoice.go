package billing

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// InvoiceKind is the kind of the records that hold invoices. Their id is the month.
const InvoiceKind = "invoice"

// State says whether an invoice is paid.
type State string

// The states.
const (
	Open    State = "open"    // to be paid, now or at the next attempt
	Pending State = "pending" // a payment is under way
	Paid    State = "paid"    // paid, or nothing was to pay
	Failed  State = "failed"  // the last attempt of the schedule has failed
)

// An Invoice is what an account owes for one month. Money is in minor units of the currency, such as cents.
type Invoice struct {
	ID      string             `json:"id"`     // the month, such as "2026-10"
	Number  string             `json:"number"` // unique among all invoices, but not consecutive
	Account metering.AccountID `json:"account"`
	Name    string             `json:"account_name"`
	Period  metering.Period    `json:"period"`
	Plan    metering.PlanID    `json:"plan"`

	Currency   string `json:"currency"`    // ISO 4217
	PriceCents *int64 `json:"price_cents"` // of the plan; nil where it is on request and billed otherwise

	UsedCredits    int64 `json:"used_credits"`
	LimitCredits   int64 `json:"limit_credits"` // the allowance
	OverageCredits int64 `json:"overage_credits"`
	// OverageRate is the price of a credit beyond the allowance in millionths of a cent. OverageExact is what
	// they cost, a decimal number of cents without rounding, and OverageCents the same rounded half up.
	OverageRate  int64  `json:"overage_rate"`
	OverageExact string `json:"overage_cents_exact"`
	OverageCents int64  `json:"overage_cents"`

	TotalCents int64 `json:"total_cents"`

	State       State      `json:"state"`
	Payment     PaymentRef `json:"payment,omitempty"`
	Attempts    []Attempt  `json:"attempts"`
	Failures    int        `json:"failures"`           // of the schedule that is under way
	Declines    int        `json:"declines,omitempty"` // of all attempts
	CreatedAt   time.Time  `json:"created_at"`
	PaidAt      *time.Time `json:"paid_at,omitempty"`
	NextAttempt *time.Time `json:"next_attempt_at,omitempty"`
}

// An Attempt is one at having an invoice paid.
type Attempt struct {
	Number int       `json:"number"` // from 1 on
	At     time.Time `json:"at"`
	Error  string    `json:"error,omitempty"` // empty for the one that succeeded
}

// IdempotencyKey belongs to one attempt at an invoice, and to its repetitions for as long as nobody knows what became
// of it. It is another one after each decline: a biller that knows a key answers what it has answered before.
func (v Invoice) IdempotencyKey() string {
	if v.Declines == 0 {
		return v.key()
	}
	return fmt.Sprintf("%s-%d", v.key(), v.Declines+1)
}

// key is of no other invoice.
func (v Invoice) key() string { return string(v.Account) + "-" + v.ID }

// newInvoice prices what was used in a month.
func newInvoice(
	a metering.Account, plan metering.Plan, optedIn bool, b metering.Balance, now time.Time,
) (Invoice, error) {
	v := Invoice{
		ID: b.Period.String(), Number: number(a.ID, b.Period), Account: a.ID, Name: a.Name, Period: b.Period,
		Plan: plan.ID, Currency: plan.Currency, PriceCents: plan.PriceCents, UsedCredits: b.Used,
		LimitCredits: plan.Credits, OverageExact: "0", State: Open, Attempts: []Attempt{}, CreatedAt: now,
	}
	if optedIn && !plan.HardCap() {
		v.OverageCredits = max(0, b.Used-plan.Credits)
		v.OverageRate = plan.OverageRate
	}
	var ok bool
	if v.OverageExact, v.OverageCents, ok = cost(v.OverageCredits, v.OverageRate); !ok {
		return Invoice{}, fmt.Errorf("%d credits at %d millionths of a cent cost more than can be billed",
			v.OverageCredits, v.OverageRate)
	}
	v.TotalCents = v.OverageCents
	if plan.PriceCents != nil {
		v.TotalCents += *plan.PriceCents
	}
	if v.TotalCents < v.OverageCents {
		return Invoice{}, errors.New("the sum is more than can be billed")
	}
	if v.TotalCents == 0 {
		v.State, v.PaidAt = Paid, &now
	}
	return v, nil
}

// cost is the price of credits at a rate in millionths of a cent: exact, and rounded half up.
func cost(credits, rate int64) (exact string, cents int64, ok bool) {
	unit := big.NewInt(metering.MicrosPerCent)
	micros := new(big.Int).Mul(big.NewInt(credits), big.NewInt(rate))
	whole, rest := new(big.Int).QuoRem(micros, unit, new(big.Int))
	exact = whole.String()
	if fraction := strings.TrimRight(fmt.Sprintf("%06d", rest.Int64()), "0"); fraction != "" {
		exact += "." + fraction
	}
	if rest.Int64()*2 >= metering.MicrosPerCent {
		whole.Add(whole, big.NewInt(1))
	}
	return exact, whole.Int64(), whole.IsInt64()
}

// number is derived from account and month, because consecutive numbers would make every invoice wait for
// every other. Whoever must number consecutively does so where the invoices arrive.
func number(id metering.AccountID, p metering.Period) string {
	hash := sha256.Sum256([]byte(id))
	return "INV-" + p.String() + "-" + base32.StdEncoding.EncodeToString(hash[:10])
}

// record is the invoice as it is stored; version is that of the record that it replaces.
func (v Invoice) record(version int64, due time.Time) (metering.Record, error) {
	body, err := json.Marshal(v)
	return metering.Record{
		Account: v.Account, Kind: InvoiceKind, ID: v.ID, Version: version, Due: due, At: v.CreatedAt, Body: body,
	}, err
}

func parseInvoice(r metering.Record) (v Invoice, err error) {
	if err = json.Unmarshal(r.Body, &v); err != nil {
		err = fmt.Errorf("invoice %s of %s: %w", r.ID, r.Account, err)
	}
	return v, err
}

// eventData is what the events of billing tell. Its names are those of the other events.
type eventData struct {
	Invoice     string             `json:"invoice"`
	Number      string             `json:"invoice_number"`
	Account     metering.AccountID `json:"account"`
	Period      metering.Period    `json:"period"`
	Plan        metering.PlanID    `json:"plan"`
	Used        int64              `json:"used_credits"`
	Limit       int64              `json:"limit_credits"`
	Overage     int64              `json:"overage_credits"`
	Exact       string             `json:"overage_cents_exact"`
	Cost        int64              `json:"overage_cents"`
	Price       *int64             `json:"price_cents"` // of the plan; null where it is on request
	Total       int64              `json:"total_cents"`
	Currency    string             `json:"currency"`
	State       State              `json:"state"`
	Attempt     int                `json:"attempt,omitempty"`
	Error       string             `json:"error,omitempty"`
	NextAttempt *time.Time         `json:"next_attempt_at,omitempty"`
}

// event is the record of an event about the invoice; part tells apart several of one type, and reason is why a
// payment failed, as far as the account may know.
func (v Invoice) event(t metering.EventType, part, reason string, at time.Time) (metering.Record, error) {
	data := eventData{
		Invoice: v.ID, Number: v.Number, Account: v.Account, Period: v.Period, Plan: v.Plan,
		Used: v.UsedCredits, Limit: v.LimitCredits, Overage: v.OverageCredits, Exact: v.OverageExact,
		Cost: v.OverageCents, Price: v.PriceCents, Total: v.TotalCents,
		Currency: v.Currency, State: v.State, NextAttempt: v.NextAttempt, Error: reason,
	}
	if n := len(v.Attempts); n > 0 {
		data.Attempt = v.Attempts[n-1].Number
	}
	return metering.Event{
		ID: metering.EventID(t, v.key()+part), Type: t, Account: v.Account, At: at, Data: data,
	}.Record()
}
