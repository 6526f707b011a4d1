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
		Credits: enough, PerMinute: 1 << 30, OverageRate: 123_457,
	}
	return plans
}

// seed makes an account that buys, and one more for each lie of a biller.
func (p *play) seed(ctx context.Context, f fault) (err error) {
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
	if f.lies {
		count += len(lies())
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

// mostBroken is how many violations are listed.
const mostBroken = 10

func (p *play) must(holds bool, format string, args ...any) {
	if !holds && len(p.broken) < mostBroken {
		p.broken = append(p.broken, fmt.Sprintf(format, args...))
	}
}

// owed is what the rows of an account sum up to in a month.
type owed struct{ credits, overage, micros int64 }

type owedKey struct {
	account metering.AccountID
	period  metering.Period
}

// examine settles what was left open, and checks what is in the store: the ledger, and then the invoices.
func (p *play) examine(ctx context.Context, f fault) error {
	p.must(p.c.fault == nil, "%v", p.c.fault)
	p.c.fault = nil
	store, err := p.c.settleOn(ctx, p.scratch)
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
		p.must(ok, "the charge %d is of %v", e.Seq, e.Period)
		sums[owedKey{e.Account, e.Period}] = owed{
			sum.credits + e.Credits, sum.overage + e.Overage, sum.micros + e.Overage*e.OverageRate,
		}
	}
	for key, id := range p.c.ids {
		p.must(charged[id] == 1, "%s was acknowledged, and is charged %d times", key, charged[id])
	}
	p.must(rows == len(p.c.bought), "%d purchases were charged %d times", len(p.c.bought), rows)
	p.must(p.c.different == 0, "%d replies were not given again as they had been, or not for free", p.c.different)
	audit, err := store.Audit(ctx)
	if err != nil {
		return err
	}
	p.must(len(audit.Faults) == 0, "the audit found %v", audit.Faults)
	return p.examineInvoices(ctx, store, f, sums)
}

// examineInvoices closes the months in which something was sold, has what is owed paid, and checks each invoice.
func (p *play) examineInvoices(ctx context.Context, store metering.Store, f fault, sums map[owedKey]owed) error {
	t := &teller{lies: map[metering.AccountID]lie{}, keys: map[string]map[string]int64{}}
	for i, id := range p.accounts[1:] {
		t.lies[id] = lies()[i]
	}
	address, stop, err := serveLoopback(t)
	if err != nil {
		return err
	}
	defer stop()
	client := &http.Client{Timeout: tellerTime}
	defer client.CloseIdleConnections()
	last := metering.PeriodOf(time.Now())
	now := billing.ClosesAt(last)
	b := billing.Billing{
		Store: store, Plans: p.plans, Draft: -1, Clock: func() time.Time { return now },
		Biller: billing.WebhookBiller{URL: "http://" + address, Client: client},
	}
	for v, err := range b.Invoices(ctx, billing.Filter{}) {
		p.must(false, "there is an invoice of %v before its end (%v)", v.Period, err)
	}
	for month := metering.PeriodOf(p.begun); !last.Before(month); month = month.Next() {
		if _, err := b.Close(ctx, month); err != nil {
			return err
		}
	}
	if _, err := b.Pay(ctx); err != nil {
		return err
	}
	if err := p.unbelieved(ctx, b, t); err != nil {
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
	if err := errors.Join(faults[0], faults[1], p.compare(ctx, b, t, sums)); err != nil {
		return err
	}
	audit, err := b.Audit(ctx)
	p.must(len(audit.Faults) == 0, "the audit of invoices found %v", audit.Faults)
	return err
}

// unbelieved checks the effect of lies on invoices, and sends the word of a pending payment twice.
func (p *play) unbelieved(ctx context.Context, b billing.Billing, t *teller) error {
	for v, err := range b.Invoices(ctx, billing.Filter{}) {
		if err != nil {
			return err
		}
		lie, lied := t.lies[v.Account]
		if !lied {
			continue
		}
		p.must(v.State == lie.want, "a biller that answers %q made an invoice %s", lie.name, v.State)
		if v.State != billing.Pending {
			continue
		}
		w := billing.Word{Account: v.Account, Invoice: v.ID, Payment: billing.Payment{Status: billing.PaymentPaid}}
		for _, one := range []struct {
			ref     billing.PaymentRef
			refused bool
		}{{v.Payment, false}, {v.Payment, false}, {"another", true}} {
			w.Reference = one.ref
			_, err := b.Settle(ctx, w)
			p.must((err != nil) == one.refused, "the word of payment %q: %v", one.ref, err)
		}
	}
	return nil
}

// compare compares each invoice with the rows of its account and month, and with what was paid.
func (p *play) compare(ctx context.Context, b billing.Billing, t *teller, sums map[owedKey]owed) error {
	for v, err := range b.Invoices(ctx, billing.Filter{}) {
		if err != nil {
			return err
		}
		sum, ok := sums[owedKey{v.Account, v.Period}]
		p.must(ok, "there are two invoices, or one of nobody: %s of %s", v.ID, v.Account)
		delete(sums, owedKey{v.Account, v.Period})
		cents := (sum.micros + metering.MicrosPerCent/2) / metering.MicrosPerCent
		p.must(v.UsedCredits == sum.credits && v.OverageCredits == sum.overage && v.OverageCents == cents &&
			v.PriceCents != nil && v.AmountCents == *v.PriceCents+cents,
			"the invoice %s of %s is not what its rows say: %+v", v.ID, v.Account, sum)
		p.must(v.State == billing.Paid, "the invoice %s of %s is %s", v.ID, v.Account, v.State)
		keys := t.keys[string(v.Account)+"/"+v.ID]
		payments := slices.DeleteFunc(slices.Collect(maps.Values(keys)), func(cents int64) bool { return cents == 0 })
		p.must(slices.Equal(payments, []int64{v.AmountCents}), "the invoice %s of %s is of %d cents, and was paid by %v",
			v.ID, v.Account, v.AmountCents, payments)
		p.must(len(keys) == 1+t.lies[v.Account].declines, "the invoice %s of %s was asked for under %d keys",
			v.ID, v.Account, len(keys))
	}
	p.must(len(sums) == 0, "%d invoices are missing", len(sums))
	return nil
}

// tellerTime bounds the time of a biller.
const tellerTime = time.Second

// A lie is a false answer of a biller, and its maximum effect on the invoice.
type lie struct {
	name     string
	status   int // 0: none comes
	body     string
	paid     bool // all the same
	declines int
	want     billing.State
}

func lies() []lie {
	const said = `{"schema_version":"1","status":%q,"reference":"pay-1"}`
	return []lie{
		{name: "HTML", status: http.StatusOK, body: "<!doctype html><title>Log in</title>", want: billing.Open},
		{name: "processing", status: http.StatusAccepted, body: fmt.Sprintf(said, "processing"), want: billing.Open},
		{name: "failed", status: http.StatusOK, body: fmt.Sprintf(said, "failed"), want: billing.Open},
		{name: "rubbish", status: http.StatusOK, body: "\x00\xff{", want: billing.Open},
		{name: "an empty body", status: http.StatusOK, want: billing.Open},
		{name: "nothing", want: billing.Open},
		{name: "500 and is paid", status: http.StatusInternalServerError, paid: true, want: billing.Open},
		{name: "declined", status: http.StatusOK, body: fmt.Sprintf(said, "declined"), declines: 1, want: billing.Open},
		{name: "pending", status: http.StatusAccepted, body: fmt.Sprintf(said, "pending"), paid: true, want: billing.Pending},
	}
}

// A teller is a biller that lies to some accounts at first. It keeps what it was paid.
type teller struct {
	lies   map[metering.AccountID]lie
	honest atomic.Bool

	mu   sync.Mutex
	keys map[string]map[string]int64 // cents, by invoice and idempotency key
}

// ServeHTTP implements [http.Handler].
func (t *teller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var v billing.Invoice
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	lie, lied := t.lies[v.Account]
	if lied = lied && !t.honest.Load(); !lied {
		lie.status, lie.body, lie.paid = http.StatusOK, `{"schema_version":"1","status":"paid","reference":"`+key+`"}`, true
	}
	t.mu.Lock()
	id := string(v.Account) + "/" + v.ID
	if t.keys[id] == nil {
		t.keys[id] = map[string]int64{}
	}
	cents := t.keys[id][key]
	if lie.paid {
		cents = v.AmountCents
	}
	t.keys[id][key] = cents
	t.mu.Unlock()
	if lie.status == 0 {
		<-r.Context().Done()
		return
	}
	w.WriteHeader(lie.status)
	io.WriteString(w, lie.body)
}
