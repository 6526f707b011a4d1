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

// InvoiceKind is the kind of the records that hold invoices.
const InvoiceKind = "invoice"

// State is the state of an invoice.
type State string

// The states. An invoice changes as a draft only; later corrections are credit notes, and new invoices for void ones.
const (
	Draft         State = "draft"         // to be finalized, or without a price that was agreed
	Open          State = "open"          // to be paid, now or at the next attempt
	Pending       State = "pending"       // a payment is under way
	Paid          State = "paid"          // paid, or nothing was to pay
	Failed        State = "failed"        // the last attempt of the schedule has failed
	Void          State = "void"          // it should not have been made
	Uncollectible State = "uncollectible" // written off
)

// States returns all states.
func States() []State { return []State{Draft, Open, Pending, Paid, Failed, Void, Uncollectible} }

// An Invoice is the bill of an account for one month. Money is in minor units of the currency, such as cents.
type Invoice struct {
	ID      string             `json:"id"`     // the month, such as "2026-10", or "2026-10.2" after one that is void
	Number  string             `json:"number"` // unique among all invoices, but not consecutive
	Account metering.AccountID `json:"account"`
	Name    string             `json:"account_name"`
	Period  metering.Period    `json:"period"`
	Plan    metering.PlanID    `json:"plan"` // at the end of the month

	Currency string `json:"currency"` // ISO 4217
	// PriceCents is the price of the plans, whose days are in Plans; nil while a price is not agreed yet.
	PriceCents *int64     `json:"price_cents"`
	Plans      []PlanLine `json:"plans"`

	UsedCredits    int64 `json:"used_credits"`
	LimitCredits   int64 `json:"limit_credits"` // the allowance at the end of the month
	OverageCredits int64 `json:"overage_credits"`
	// OverageRate is the rate of the only line of Overage; 0 if there are several. OverageExact is the exact cost of
	// all lines, a decimal number of cents, and OverageCents the same rounded half up.
	OverageRate  int64         `json:"overage_rate"`
	Overage      []OverageLine `json:"overage"`
	OverageExact string        `json:"overage_cents_exact"`
	OverageCents int64         `json:"overage_cents"`

	TaxBasisPoints int    `json:"tax_basis_points"` // hundredths of a percent
	TaxNote        string `json:"tax_note,omitempty"`
	TaxCents       int64  `json:"tax_cents"`
	TotalCents     int64  `json:"total_cents"` // with tax

	CreditedCents int64 `json:"credited_cents"` // by credit notes
	Credits       int   `json:"credit_notes_count"`
	AmountCents   int64 `json:"amount_cents"` // due or paid: the total less credits

	State       State      `json:"state"`
	Payment     PaymentRef `json:"payment,omitempty"`
	Attempts    []Attempt  `json:"attempts"`
	Failures    int        `json:"failures"`           // of the schedule that is under way
	Declines    int        `json:"declines,omitempty"` // over all attempts
	CreatedAt   time.Time  `json:"created_at"`
	FinalizedAt *time.Time `json:"finalized_at,omitempty"`
	PaidAt      *time.Time `json:"paid_at,omitempty"`
	NextAttempt *time.Time `json:"next_attempt_at,omitempty"`
}

// An Attempt is one at having an invoice paid.
type Attempt struct {
	Number    int           `json:"number"` // from 1 on
	At        time.Time     `json:"at"`
	Status    PaymentStatus `json:"status,omitempty"` // as last reported by the biller; empty if unknown
	Reference PaymentRef    `json:"reference,omitempty"`
	Error     string        `json:"error,omitempty"` // why there is no payment, or not yet
}

// IdempotencyKey identifies one attempt at an invoice, including its repetitions while the outcome is unknown. It
// changes after each decline, since a biller repeats its response for a known key, and after each credit note, since
// the amount changes.
func (v Invoice) IdempotencyKey() string {
	if n := v.Declines + v.Credits; n > 0 {
		return fmt.Sprintf("%s-%d", v.subject(), n+1)
	}
	return v.subject()
}

// subject is of no other invoice.
func (v Invoice) subject() string { return string(v.Account) + "-" + v.ID }

// lastAttempt is the newest attempt, or nil.
func (v *Invoice) lastAttempt() *Attempt {
	if len(v.Attempts) == 0 {
		return nil
	}
	return &v.Attempts[len(v.Attempts)-1]
}

// isClaimed reports whether a node has begun to charge an invoice, and has noted no outcome.
func (v *Invoice) isClaimed(r metering.Record) bool {
	return v.State == Open && (v.NextAttempt == nil || !r.Due.Equal(*v.NextAttempt))
}

// isCharging reports whether the node that has taken an invoice may be charging it at this moment.
func (v *Invoice) isCharging(r metering.Record, now time.Time) bool {
	return v.isClaimed(r) && r.Due.After(now)
}

// hasUnknownOutcome reports whether the outcome of the newest attempt is unknown, noted or not.
func (v *Invoice) hasUnknownOutcome(r metering.Record) bool {
	return v.isClaimed(r) || v.lastAttempt() != nil && v.lastAttempt().Status == "" && v.State != Paid
}

// price computes the amounts for the plans that were held, the overage, and the tax of the account.
func (v *Invoice) price(plans []heldPlan, tax metering.Tax) (err error) {
	v.Plans = planLines(v.Period, plans)
	if v.PriceCents, err = planPrice(v.Period, v.Plans); err != nil {
		return err
	}
	if v.OverageExact, v.OverageCents, err = overageCost(v.Overage); err != nil {
		return err
	}
	net := big.NewInt(v.OverageCents)
	if v.PriceCents != nil {
		net.Add(net, big.NewInt(*v.PriceCents))
	}
	v.TaxBasisPoints, v.TaxNote = tax.BasisPoints, tax.Note
	var ok bool
	if v.TaxCents, ok = divideHalfUp(new(big.Int).Mul(net, big.NewInt(int64(tax.BasisPoints))), maxTaxBasisPoints); !ok {
		return errOverflow
	}
	total := net.Add(net, big.NewInt(v.TaxCents))
	v.TotalCents, v.AmountCents = total.Int64(), total.Int64()
	if !total.IsInt64() {
		return errOverflow
	}
	return nil
}

// maxTaxBasisPoints is a tax of 100 percent, in basis points.
const maxTaxBasisPoints = 10_000

// invoiceNumber is derived from the key of an invoice, because consecutive numbers would make every invoice wait for
// every other. An operator who needs consecutive numbers assigns them where the invoices arrive.
func invoiceNumber(account metering.AccountID, id string) string {
	hash := sha256.Sum256([]byte(account))
	return numberPrefix + id + "-" + base32.StdEncoding.EncodeToString(hash[:10])
}

// invoiceID is the id that a number contains; an id is its own.
func invoiceID(name string) string {
	rest, ok := strings.CutPrefix(name, numberPrefix)
	if i := strings.LastIndexByte(rest, '-'); ok && i >= 0 {
		return rest[:i]
	}
	return name
}

// IsNumber reports whether a name of an invoice is its number, such as INV-2026-10-ABCDEFGHIJKLMNOP, and not its id.
func IsNumber(name string) bool { return invoiceID(name) != name }

// numberPrefix begins the number of each invoice.
const numberPrefix = "INV-"

// creditedTax is the tax within what is credited of an invoice with tax, in cents, rounded half up. All credit notes
// together credit the whole tax, and no more.
func (v *Invoice) creditedTax(credited int64) int64 {
	if v.TotalCents == 0 {
		return 0
	}
	tax, _ := divideHalfUp(new(big.Int).Mul(big.NewInt(v.TaxCents), big.NewInt(credited)), v.TotalCents)
	return tax
}

// record returns the stored form of the invoice; version is that of the record that it replaces.
func (v Invoice) record(version int64, due time.Time) metering.Record {
	return metering.Record{
		Account: v.Account, Kind: InvoiceKind, ID: v.ID, Version: version, Due: due, At: v.CreatedAt,
		Body: metering.RecordBody(v),
	}
}

func parseInvoice(r metering.Record) (v Invoice, err error) {
	if err = json.Unmarshal(r.Body, &v); err != nil {
		return v, fmt.Errorf("invoice %s of %s: %w", r.ID, r.Account, err)
	}
	if v.Plans == nil { // it is older than lines and credit notes are
		v.Plans, v.Overage, v.AmountCents = []PlanLine{}, []OverageLine{}, v.TotalCents
		for i := range v.Attempts {
			if a := &v.Attempts[i]; a.Error == "" {
				a.Status = PaymentPaid
			}
		}
	}
	return v, nil
}

// eventData is the data of billing events. Its names are those of the other events.
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
	Price       *int64             `json:"price_cents"` // of the plans
	Tax         int64              `json:"tax_cents"`
	Total       int64              `json:"total_cents"`
	Amount      int64              `json:"amount_cents"` // the total less credits
	Currency    string             `json:"currency"`
	State       State              `json:"state"`
	Attempt     int                `json:"attempt,omitempty"`
	Error       string             `json:"error,omitempty"`
	NextAttempt *time.Time         `json:"next_attempt_at,omitempty"`
}

// eventsOf are the events that come with a note of the invoice.
func (v Invoice) eventsOf(n Note) (list []metering.Record, err error) {
	// Part distinguishes several events of one type.
	add := func(t metering.EventType, part, reason string) {
		r, fault := v.event(t, part, reason, n.At)
		list, err = append(list, r), errors.Join(err, fault)
	}
	switch last := v.lastAttempt(); {
	case n.Action == Finalized, n.Action == Created && v.State != Draft:
		add(metering.EventPeriodClosed, "", "")
		if v.OverageCredits > 0 {
			add(metering.EventOverageBilled, "", "")
		}
	case (n.Action == Charged || n.Action == Settled) && (v.State == Open || v.State == Failed):
		reason := ""
		if last.Status == PaymentDeclined { // any other failure is for the operator only
			reason = last.Error
		}
		add(metering.EventPaymentFailed, fmt.Sprintf("/%d", last.Number), reason)
	}
	return list, err
}

func (v Invoice) event(t metering.EventType, part, reason string, at time.Time) (metering.Record, error) {
	data := eventData{
		Invoice: v.ID, Number: v.Number, Account: v.Account, Period: v.Period, Plan: v.Plan,
		Used: v.UsedCredits, Limit: v.LimitCredits, Overage: v.OverageCredits, Exact: v.OverageExact,
		Cost: v.OverageCents, Price: v.PriceCents, Tax: v.TaxCents, Total: v.TotalCents, Amount: v.AmountCents,
		Currency: v.Currency, State: v.State, NextAttempt: v.NextAttempt, Error: reason,
	}
	if last := v.lastAttempt(); last != nil {
		data.Attempt = last.Number
	}
	return metering.Event{
		ID: metering.EventID(t, v.subject()+part), Type: t, Account: v.Account, At: at, Data: data,
	}.Record()
}

// A PlanLine is days of a month at the price of a plan.
type PlanLine struct {
	Plan       metering.PlanID `json:"plan"`
	From       string          `json:"from"` // the first of the days, such as "2026-10-20" (UTC)
	Days       int             `json:"days"`
	PriceCents *int64          `json:"price_cents"` // of the plan for a whole month; null if none is agreed yet
}

// An OverageLine is the use beyond the allowance at one rate.
type OverageLine struct {
	Rate    int64  `json:"rate"` // millionths of a cent per credit
	Credits int64  `json:"credits"`
	Exact   string `json:"cents_exact"` // a decimal number of cents, without rounding
}

// heldPlan is a plan that an account has had since an instant.
type heldPlan struct {
	plan  metering.PlanID
	since time.Time
	price *int64 // nil: not agreed yet
}

// planLines charges each day of a month for the most expensive plan held from the month's beginning to the end of that
// day. Days that end before the first plan cost nothing. A plan whose price is unknown counts as the most expensive.
func planLines(p metering.Period, plans []heldPlan) []PlanLine {
	var lines []PlanLine
	var mostExpensive *heldPlan
	for day := p.Start(); day.Before(p.End()); day = day.AddDate(0, 0, 1) {
		end := day.AddDate(0, 0, 1)
		for len(plans) > 0 && plans[0].since.Before(end) {
			if mostExpensive == nil || !isMoreExpensive(mostExpensive.price, plans[0].price) {
				mostExpensive = &plans[0]
			}
			plans = plans[1:]
		}
		last := len(lines) - 1
		switch {
		case mostExpensive == nil:
		case last >= 0 && lines[last].Plan == mostExpensive.plan &&
			metering.Same(lines[last].PriceCents, mostExpensive.price):
			lines[last].Days++
		default:
			lines = append(lines, PlanLine{mostExpensive.plan, day.Format(time.DateOnly), 1, mostExpensive.price})
		}
	}
	return lines
}

func isMoreExpensive(a, b *int64) bool { return b != nil && (a == nil || *a > *b) }

// errOverflow is of sums that no invoice can hold.
var errOverflow = errors.New("the sum is more than can be billed")

// planPrice is the total price of the days, rounded half up; nil if a price is unknown.
func planPrice(p metering.Period, lines []PlanLine) (*int64, error) {
	sum := new(big.Int)
	for _, l := range lines {
		if l.PriceCents == nil {
			return nil, nil
		}
		sum.Add(sum, new(big.Int).Mul(big.NewInt(*l.PriceCents), big.NewInt(int64(l.Days))))
	}
	days := int64(p.End().Sub(p.Start()) / (24 * time.Hour))
	cents, ok := divideHalfUp(sum, days)
	if !ok {
		return nil, errOverflow
	}
	return &cents, nil
}

// divideHalfUp divides a non-negative number, rounding half up.
func divideHalfUp(n *big.Int, by int64) (int64, bool) {
	twice := new(big.Int).Add(new(big.Int).Lsh(n, 1), big.NewInt(by))
	twice.Quo(twice, big.NewInt(2*by))
	return twice.Int64(), twice.IsInt64()
}

// overageCost sums lines: exact, and rounded half up.
func overageCost(lines []OverageLine) (exact string, cents int64, err error) {
	sum := new(big.Int)
	for _, l := range lines {
		sum.Add(sum, costMicros(l.Credits, l.Rate))
	}
	cents, ok := divideHalfUp(sum, metering.MicrosPerCent)
	if !ok {
		return "", 0, errOverflow
	}
	return decimalCents(sum), cents, nil
}

// costMicros is the price of credits in millionths of a cent.
func costMicros(credits, rate int64) *big.Int {
	return new(big.Int).Mul(big.NewInt(credits), big.NewInt(rate))
}

// decimalCents writes millionths of a cent as cents.
func decimalCents(micros *big.Int) string {
	whole, rest := new(big.Int).QuoRem(micros, big.NewInt(metering.MicrosPerCent), new(big.Int))
	fraction := strings.TrimRight(fmt.Sprintf("%06d", rest.Int64()), "0")
	if fraction == "" {
		return whole.String()
	}
	return whole.String() + "." + fraction
}
