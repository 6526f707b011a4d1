// Command billing-month plays a month in the life of an account: an upgrade, use beyond the allowance, a card that is
// declined, a debit that takes days, and a credit note. Everything is in memory, and the clock is its own.
//
//	go run ./examples/billing-month -once
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/memory"
)

func main() {
	flag.Bool("once", true, "simulate the month (always)")
	flag.Parse()
	if err := simulate(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// bank is a biller whose customer has a card without funds, and then a debit mandate. It charges once for each key.
type bank struct {
	mandate bool
	key     string // of the last call
}

func (b *bank) Charge(_ context.Context, v billing.Invoice) (billing.Payment, error) {
	b.key = v.IdempotencyKey()
	if !b.mandate {
		return billing.Payment{Status: billing.PaymentDeclined, Reason: "the card has no funds"}, nil
	}
	return billing.Payment{Status: billing.PaymentPending, Reference: billing.PaymentRef("debit of " + v.ID)}, nil
}

// month is the simulated month, and the writer of its report.
type month struct {
	io.Writer
	context.Context
	now     time.Time
	store   metering.Store
	admin   metering.Admin
	billing billing.Billing
	bank    bank
	account metering.AccountID
	key     metering.KeyID
}

// simulate runs the simulation.
func simulate(ctx context.Context, w io.Writer) error {
	m := &month{Writer: w, Context: ctx, now: time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return m.now }
	m.store = memory.New(memory.Config{Clock: clock})
	defer m.store.Close()
	m.admin = metering.Admin{Store: m.store, Clock: clock}
	m.billing = billing.Billing{Store: m.store, Biller: &m.bank, Clock: clock}
	for _, step := range []func() error{
		m.createAccount, m.use, m.upgrade, m.close, m.decline, m.debit, m.settle, m.credit, m.audit,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (m *month) setTime(day int, month time.Month, hour, minute int) {
	m.now = time.Date(2026, month, day, hour, minute, 0, 0, time.UTC)
}

func (m *month) printf(format string, args ...any) {
	fmt.Fprintf(m, m.now.Format("2 Jan 15:04")+"  "+format+"\n", args...)
}

func (m *month) createAccount() error {
	a, err := m.admin.CreateAccount(m, "Example Ltd", "pack")
	if err != nil {
		return err
	}
	m.account = a.ID
	_, err = m.admin.SetAccount(m, a.ID, func(a *metering.Account) {
		a.OverageEnabled, a.Tax = true, metering.Tax{BasisPoints: 1900, Note: "19% VAT"}
	})
	if err != nil {
		return err
	}
	key, _, err := m.admin.CreateKey(m, metering.KeyRequest{Account: a.ID, Name: "example", Scopes: metering.Scopes()})
	m.key = key.ID
	m.printf("an account on the plan pack, with overage, 19%% VAT")
	return err
}

// use charges as a server does, and prints the balances in its replies.
func (m *month) use() error {
	m.setTime(12, time.October, 14, 0)
	for range 52 {
		begun, err := m.store.Begin(m, metering.Op{
			RequestID: metering.NewRequestID(), Account: m.account, Key: m.key, Endpoint: "POST /public/v1/resolve",
			Credits: 1000, Now: m.now, Lease: m.now.Add(time.Minute),
		})
		if err != nil {
			return err
		}
		if _, err := m.store.Settle(m, *begun.Ticket, metering.Outcome{At: m.now}); err != nil {
			return err
		}
	}
	b, err := m.store.Balance(m, m.account, metering.PeriodOf(m.now))
	m.printf("X-Credits-Limit: %d, X-Credits-Remaining: %d, X-Credits-Overage: %d", b.Limit, b.Remaining(), b.Overage)
	return err
}

func (m *month) upgrade() error {
	m.setTime(20, time.October, 16, 30)
	if _, err := m.admin.SetAccount(m, m.account, func(a *metering.Account) { a.Plan = "agency" }); err != nil {
		return err
	}
	v, err := m.billing.Preview(m, m.account, metering.PeriodOf(m.now))
	m.printf("the plan agency, from this day on; the month would cost %s", euros(v.TotalCents))
	return err
}

func (m *month) close() error {
	october := metering.PeriodOf(m.now)
	m.setTime(1, time.November, 0, 15)
	if _, err := m.billing.Close(m, october); err != nil {
		return err
	}
	v, err := m.invoice()
	if err != nil {
		return err
	}
	m.printf("the invoice is a %s for an hour", v.State)
	for _, l := range v.Plans {
		m.printLine("%s, %d days from %s at %s a month", l.Plan, l.Days, l.From, euros(*l.PriceCents))
	}
	m.printLine("together %s", euros(*v.PriceCents))
	m.printLine("%d credits of overage: %s", v.OverageCredits, euros(v.OverageCents))
	m.printLine("%s: %s", v.TaxNote, euros(v.TaxCents))
	m.printLine("total: %s", euros(v.TotalCents))
	return nil
}

func (m *month) printLine(format string, args ...any) {
	fmt.Fprintf(m, "                "+format+"\n", args...)
}

// pay does what a server does each minute, and prints the outcome.
func (m *month) pay() error {
	if _, err := m.billing.Pay(m); err != nil {
		return err
	}
	v, err := m.invoice()
	if err != nil {
		return err
	}
	last := v.Attempts[len(v.Attempts)-1]
	m.printf("attempt %d with the key …%s: %s %s%s", last.Number, m.bank.key[len(m.account):], last.Status, last.Error,
		last.Reference)
	return nil
}

func (m *month) decline() error {
	m.setTime(1, time.November, 1, 15)
	return m.pay()
}

func (m *month) debit() error {
	m.setTime(1, time.November, 2, 15)
	m.bank.mandate = true
	return m.pay()
}

// settle handles a callback, which arrives twice.
func (m *month) settle() error {
	m.setTime(4, time.November, 10, 0)
	for range 2 {
		w, err := billing.ParsePaymentReport(fmt.Appendf(nil, `{"schema_version": "1", "account": %q, "invoice": "2026-10",
			"status": "paid", "reference": "debit of 2026-10"}`, m.account))
		if err != nil {
			return err
		}
		v, err := m.billing.Settle(m, w)
		if err != nil {
			return err
		}
		m.printf("the bank reports the debit as paid: the invoice is %s", v.State)
	}
	return nil
}

func (m *month) credit() error {
	m.setTime(6, time.November, 11, 0)
	m.billing.By = "ann@example.com"
	_, n, err := m.billing.Credit(m, m.account, "2026-10", 1190, "an outage on 12 October")
	m.printf("a credit note of %s by %s for %s", euros(n.Cents), n.By, n.Reason)
	return err
}

func (m *month) audit() error {
	ledger, err := m.store.Audit(m)
	if err != nil {
		return err
	}
	found, err := m.billing.Audit(m)
	if err != nil {
		return err
	}
	m.printf(
		"an audit of %d charges, %d invoice and %d notes finds %d faults",
		ledger.Entries,
		found.Invoices,
		found.Notes,
		len(ledger.Faults)+len(found.Faults),
	)
	for n, err := range m.billing.Notes(m, m.account) {
		if err != nil {
			return err
		}
		m.printLine("%s %s, %s", n.At.Format("2 Jan 15:04"), n.Action, n.State)
	}
	return nil
}

// invoice is the only one.
func (m *month) invoice() (only billing.Invoice, err error) {
	for v, err := range m.billing.Invoices(m, billing.Filter{Account: m.account}) {
		if err != nil {
			return only, err
		}
		only = v
	}
	return only, nil
}

func euros(cents int64) string { return fmt.Sprintf("%d.%02d EUR", cents/100, cents%100) }
