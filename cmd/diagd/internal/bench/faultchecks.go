package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
)

// faultsPlans has a plan with a price, a small allowance and a rate that must be rounded.
func faultsPlans() metering.Plans {
	plans, price := benchPlans(), int64(10_000)
	plans["faults"] = metering.Plan{
		ID: "faults", Name: "Faults", Currency: "EUR", PriceCents: &price, ForSale: true,
		Credits: minCharges, PerMinute: 1 << 30, OverageRate: 123_457,
	}
	return plans
}

// createAccounts makes an account that buys, and one more for each false answer of a biller.
func (p *trial) createAccounts(ctx context.Context, f fault) (err error) {
	store, err := p.open(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.PutPlanVersions(ctx, faultsPlans().Versions(metering.Period{}, p.begun)...); err != nil {
		return err
	}
	admin := metering.Admin{Store: store, Plans: p.plans}
	count := 1
	if f.billerLies {
		count += len(falseAnswers())
	}
	for range count {
		account, err := admin.CreateAccount(ctx, f.name, "faults")
		if err != nil {
			return err
		}
		p.accounts = append(p.accounts, account.ID)
	}
	if _, err = admin.SetAccount(ctx, p.accounts[0], func(a *metering.Account) { a.OverageEnabled = true }); err != nil {
		return err
	}
	request := metering.KeyRequest{Account: p.accounts[0], Name: f.name, Scopes: metering.Scopes()}
	_, secret, err := admin.CreateKey(ctx, request)
	p.c.secret = secret.Reveal()
	return err
}

// maxViolations is how many violations are listed.
const maxViolations = 10

func (p *trial) check(holds bool, format string, args ...any) {
	if !holds && len(p.violations) < maxViolations {
		p.violations = append(p.violations, fmt.Sprintf(format, args...))
	}
}

// owed is what the rows of an account sum up to in a month.
type owed struct{ credits, overage, micros int64 }

type owedKey struct {
	account metering.AccountID
	period  metering.Period
}

// examine settles what was left open, and checks what is in the store: the ledger, and then the invoices.
func (p *trial) examine(ctx context.Context, f fault) error {
	p.check(p.c.fault == nil, "%v", p.c.fault)
	p.c.fault = nil
	store, err := p.c.settleOn(ctx, p.tempStore)
	if err != nil {
		return err
	}
	defer store.Close()
	last := metering.PeriodOf(time.Now())
	rows, charged, sums := 0, map[string]int{}, map[owedKey]owed{}
	for month := metering.PeriodOf(p.begun); !last.Before(month); month = month.Next() {
		for _, id := range p.accounts {
			sums[owedKey{id, month}] = owed{}
		}
	}
	for e, err := range store.Entries(ctx, metering.EntryFilter{}) {
		if err != nil {
			return err
		}
		rows++
		charged[e.RequestID]++
		sum, ok := sums[owedKey{e.Account, e.Period}]
		p.check(ok, "the charge %d is of %v", e.Seq, e.Period)
		sums[owedKey{e.Account, e.Period}] = owed{
			sum.credits + e.Credits, sum.overage + e.Overage, sum.micros + e.Overage*e.OverageRate,
		}
	}
	for key, id := range p.c.ids {
		p.check(charged[id] == 1, "%s was acknowledged, and is charged %d times", key, charged[id])
	}
	p.check(rows == len(p.c.bought), "%d purchases were charged %d times", len(p.c.bought), rows)
	p.check(p.c.different == 0, "%d replies were not given again as they had been, or not for free", p.c.different)
	audit, err := store.Audit(ctx)
	if err != nil {
		return err
	}
	p.check(len(audit.Faults) == 0, "the audit found %v", audit.Faults)
	return p.examineInvoices(ctx, store, f, sums)
}

// examineInvoices closes the months in which something was sold, has what is owed paid, and checks each invoice.
func (p *trial) examineInvoices(ctx context.Context, store metering.Store, f fault, sums map[owedKey]owed) error {
	t := &falseBiller{answers: map[metering.AccountID]falseAnswer{}, keys: map[string]map[string]int64{}}
	for i, id := range p.accounts[1:] {
		t.answers[id] = falseAnswers()[i]
	}
	address, stop, err := serveLoopback(t)
	if err != nil {
		return err
	}
	defer stop()
	client := &http.Client{Timeout: billerTimeout}
	defer client.CloseIdleConnections()
	last := metering.PeriodOf(time.Now())
	now := billing.ClosesAt(last)
	b := billing.Billing{
		Store: store, Plans: p.plans, Draft: -1, Clock: func() time.Time { return now },
		Biller: billing.WebhookBiller{URL: "http://" + address, Client: client},
	}
	for v, err := range b.Invoices(ctx, billing.Filter{}) {
		p.check(false, "there is an invoice of %v before its end (%v)", v.Period, err)
	}
	for month := metering.PeriodOf(p.begun); !last.Before(month); month = month.Next() {
		if _, err := b.Close(ctx, month); err != nil {
			return err
		}
	}
	if _, err := b.Pay(ctx); err != nil {
		return err
	}
	if err := p.checkFalseAnswers(ctx, b, t); err != nil {
		return err
	}
	now = now.AddDate(0, 0, 1)
	t.honest.Store(true)
	var nodes sync.WaitGroup
	var faults [2]error
	for i := range faults { // one of them charges
		nodes.Go(func() { _, faults[i] = b.Pay(ctx) })
	}
	nodes.Wait()
	if err := errors.Join(faults[0], faults[1], p.compareInvoices(ctx, b, t, sums)); err != nil {
		return err
	}
	audit, err := b.Audit(ctx)
	p.check(len(audit.Faults) == 0, "the audit of invoices found %v", audit.Faults)
	return err
}

// checkFalseAnswers checks the effect of false answers on invoices, and reports a pending payment twice.
func (p *trial) checkFalseAnswers(ctx context.Context, b billing.Billing, t *falseBiller) error {
	for v, err := range b.Invoices(ctx, billing.Filter{}) {
		if err != nil {
			return err
		}
		answer, isFalse := t.answers[v.Account]
		if !isFalse {
			continue
		}
		p.check(v.State == answer.want, "a biller that answers %q made an invoice %s", answer.name, v.State)
		if v.State != billing.Pending {
			continue
		}
		w := billing.PaymentReport{Account: v.Account, Invoice: v.ID, Payment: billing.Payment{Status: billing.PaymentPaid}}
		for _, one := range []struct {
			ref     billing.PaymentRef
			refused bool
		}{{v.Payment, false}, {v.Payment, false}, {"another", true}} {
			w.Reference = one.ref
			_, err := b.Settle(ctx, w)
			p.check((err != nil) == one.refused, "the word of payment %q: %v", one.ref, err)
		}
	}
	return nil
}

// compareInvoices compares each invoice with the rows of its account and month, and with what was paid.
func (p *trial) compareInvoices(ctx context.Context, b billing.Billing, t *falseBiller, sums map[owedKey]owed) error {
	for v, err := range b.Invoices(ctx, billing.Filter{}) {
		if err != nil {
			return err
		}
		sum, ok := sums[owedKey{v.Account, v.Period}]
		p.check(ok, "there are two invoices, or one for an unknown account: %s of %s", v.ID, v.Account)
		delete(sums, owedKey{v.Account, v.Period})
		cents := (sum.micros + metering.MicrosPerCent/2) / metering.MicrosPerCent
		p.check(v.UsedCredits == sum.credits && v.OverageCredits == sum.overage && v.OverageCents == cents &&
			v.PriceCents != nil && v.AmountCents == *v.PriceCents+cents,
			"the invoice %s of %s is not what its rows say: %+v", v.ID, v.Account, sum)
		p.check(v.State == billing.Paid, "the invoice %s of %s is %s", v.ID, v.Account, v.State)
		keys := t.keys[string(v.Account)+"/"+v.ID]
		payments := slices.DeleteFunc(slices.Collect(maps.Values(keys)), func(cents int64) bool { return cents == 0 })
		p.check(slices.Equal(payments, []int64{v.AmountCents}), "the invoice %s of %s is of %d cents, and was paid by %v",
			v.ID, v.Account, v.AmountCents, payments)
		p.check(len(keys) == 1+t.answers[v.Account].declines, "the invoice %s of %s was asked for under %d keys",
			v.ID, v.Account, len(keys))
	}
	p.check(len(sums) == 0, "%d invoices are missing", len(sums))
	return nil
}

// billerTimeout bounds the time of a biller.
const billerTimeout = time.Second

// A falseAnswer is one of a biller, with its maximum effect on the invoice.
type falseAnswer struct {
	name     string
	status   int // 0: none comes
	body     string
	paid     bool // all the same
	declines int
	want     billing.State
}

func falseAnswers() []falseAnswer {
	const answer = `{"schema_version":"1","status":%q,"reference":"pay-1"}`
	return []falseAnswer{
		{name: "HTML", status: http.StatusOK, body: "<!doctype html><title>Log in</title>", want: billing.Open},
		{name: "processing", status: http.StatusAccepted, body: fmt.Sprintf(answer, "processing"), want: billing.Open},
		{name: "failed", status: http.StatusOK, body: fmt.Sprintf(answer, "failed"), want: billing.Open},
		{name: "rubbish", status: http.StatusOK, body: "\x00\xff{", want: billing.Open},
		{name: "an empty body", status: http.StatusOK, want: billing.Open},
		{name: "nothing", want: billing.Open},
		{name: "500 and is paid", status: http.StatusInternalServerError, paid: true, want: billing.Open},
		{name: "declined", status: http.StatusOK, body: fmt.Sprintf(answer, "declined"), declines: 1, want: billing.Open},
		{
			name:   "pending",
			status: http.StatusAccepted,
			body:   fmt.Sprintf(answer, "pending"),
			paid:   true,
			want:   billing.Pending,
		},
	}
}

// A falseBiller gives some accounts false answers at first. It keeps what it was paid.
type falseBiller struct {
	answers map[metering.AccountID]falseAnswer
	honest  atomic.Bool

	mu   sync.Mutex
	keys map[string]map[string]int64 // cents, by invoice and idempotency key
}

// ServeHTTP implements [http.Handler].
func (t *falseBiller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var v billing.Invoice
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	answer, isFalse := t.answers[v.Account]
	if isFalse = isFalse && !t.honest.Load(); !isFalse {
		answer.status, answer.paid = http.StatusOK, true
		answer.body = `{"schema_version":"1","status":"paid","reference":"` + key + `"}`
	}
	t.mu.Lock()
	id := string(v.Account) + "/" + v.ID
	if t.keys[id] == nil {
		t.keys[id] = map[string]int64{}
	}
	cents := t.keys[id][key]
	if answer.paid {
		cents = v.AmountCents
	}
	t.keys[id][key] = cents
	t.mu.Unlock()
	if answer.status == 0 {
		<-r.Context().Done()
		return
	}
	w.WriteHeader(answer.status)
	io.WriteString(w, answer.body)
}
