package meteringtest

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/diagkit/diagkit/metering"
)

// model defines the behavior of an account in the simplest form: one customer, one goroutine, no clever data
// structures. Any store must behave like the model for a single account.
type model struct {
	plan      metering.PlanID
	scheduled *metering.PlanChange
	overage   bool
	budget    int64 // cents
	suspended bool

	months  map[metering.Period]*month
	holds   map[uint64]hold
	records map[[32]byte]record
}

// month is the settled use.
type month struct {
	used, charges, overage, micros int64
	shown                          int64 // as overage, by the last reply
}

// hold is a ticket and the rate of each of its credits, 0 where it is included.
type hold struct {
	metering.Ticket
	rates []int64
}

type record struct {
	requestID   string
	fingerprint [32]byte
	expires     time.Time
}

func (m *model) month(p metering.Period) *month {
	if m.months[p] == nil {
		m.months[p] = new(month)
	}
	return m.months[p]
}

// held adds up what is promised, after the leases that have ended.
func (m *model) held(p metering.Period, now time.Time) (sum, overage, micros int64) {
	for token, t := range m.holds {
		if !now.Before(t.Lease) {
			delete(m.holds, token)
		} else if t.Period == p {
			o, c := cost(t.rates)
			sum, overage, micros = sum+t.Credits, overage+o, micros+c
		}
	}
	return sum, overage, micros
}

// cost returns the credits that are not included, and their cost.
func cost(rates []int64) (overage, micros int64) {
	for _, rate := range rates {
		if rate > 0 {
			overage, micros = overage+1, micros+rate
		}
	}
	return overage, micros
}

// split gives each credit of a price its rate, one after the other, or refuses.
func (m *model) split(op metering.Op) (rates []int64, ok bool) {
	p := metering.PeriodOf(op.Now)
	id := m.plan
	if m.scheduled != nil && !p.Before(m.scheduled.From) {
		id = m.scheduled.Plan
	}
	plan, settled := Plans()[id], m.month(p)
	held, heldOverage, heldMicros := m.held(p, op.Now)
	included := settled.used - settled.overage + held - heldOverage
	micros := settled.micros + heldMicros
	for range op.Credits {
		switch {
		case m.suspended:
			return nil, false
		case included < plan.Credits:
			included++
			rates = append(rates, 0)
		case m.overage && plan.OverageRate > 0 && micros+plan.OverageRate <= m.budget*metering.MicrosPerCent:
			micros += plan.OverageRate
			rates = append(rates, plan.OverageRate)
		default:
			return nil, false
		}
	}
	return rates, true
}

// begin returns the record to replay or the error; neither means a ticket.
func (m *model) begin(op metering.Op) (*record, error) {
	m.held(metering.PeriodOf(op.Now), op.Now)
	if op.Idempotency != nil {
		for _, t := range m.holds {
			if t.Idempotency != nil && *t.Idempotency == *op.Idempotency {
				if *t.Fingerprint != *op.Fingerprint {
					return nil, metering.ErrMismatch
				}
				return nil, metering.ErrInFlight
			}
		}
		if r, ok := m.records[*op.Idempotency]; ok && op.Now.Before(r.expires) {
			if r.fingerprint != *op.Fingerprint {
				return nil, metering.ErrMismatch
			}
			return &r, nil
		}
	}
	if _, ok := m.split(op); !ok {
		return nil, &metering.QuotaError{}
	}
	return nil, nil
}

// settle reports whether the ticket is still good, and charges it.
func (m *model) settle(t metering.Ticket, now time.Time) bool {
	m.held(t.Period, now)
	h, ok := m.holds[t.Token]
	if !ok {
		return false
	}
	delete(m.holds, t.Token)
	month := m.month(t.Period)
	month.used += t.Credits
	month.charges++
	overage, micros := cost(h.rates)
	month.overage, month.micros = month.overage+overage, month.micros+micros
	if t.Idempotency != nil {
		m.records[*t.Idempotency] = record{t.RequestID, *t.Fingerprint, now.Add(metering.ReplayWindow)}
	}
	return true
}

// testModel runs random operations on a store and the model in parallel.
func testModel(t *testing.T, f *fixture) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &walk{f: f, customer: f.customer(Tiny), model: model{
			plan: Tiny, months: make(map[metering.Period]*month), holds: make(map[uint64]hold),
			records: make(map[[32]byte]record),
		}}
		rt.Repeat(map[string]func(*rapid.T){
			"begin":  w.begin,
			"settle": w.settle,
			"cancel": w.cancel,
			"wait":   w.wait,
			"plan":   w.plan,
			"":       w.check,
		})
		w.ledger(rt)
	})
	f.sound()
}

// walk is one random walk.
type walk struct {
	f        *fixture
	customer metering.Op
	model    model
	tickets  []metering.Ticket // all that were ever issued
}

func (w *walk) begin(t *rapid.T) {
	op := w.f.op(w.customer, rapid.SampledFrom([]int64{1, 2, 3, 5, 6, 40, 95}).Draw(t, "credits"))
	op.Lease = op.Now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute}).Draw(t, "lease"))
	if key := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "key"); key != "" {
		op = keyed(op, key, rapid.SampledFrom([]string{"body", "body", "other"}).Draw(t, "body"))
	}
	want, wantErr := w.model.begin(op)
	got, err := w.f.store.Begin(w.f.ctx(), op)
	if kind(wantErr) != kind(err) {
		t.Fatalf("Begin: %v, the model says %v", err, wantErr)
	}
	switch {
	case err != nil:
	case (want == nil) != (got.Replay == nil) || (want == nil) != (got.Ticket != nil):
		t.Fatalf("Begin: %+v, the model says replay %v", got, want)
	case want != nil && want.requestID != got.Replay.RequestID:
		t.Fatalf("replay of %s, the model says %s", got.Replay.RequestID, want.requestID)
	case got.Ticket != nil:
		rates, _ := w.model.split(op)
		if overage, micros := cost(rates); got.Ticket.Overage != overage || overage*got.Ticket.OverageRate != micros {
			t.Fatalf("Begin: %+v, the model says %v", got.Ticket, rates)
		}
		w.model.holds[got.Ticket.Token] = hold{*got.Ticket, rates}
		w.tickets = append(w.tickets, *got.Ticket)
	}
}

// kind classifies an error as a caller would.
func kind(err error) string {
	var quota *metering.QuotaError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &quota):
		return "quota"
	}
	for _, e := range []error{metering.ErrInFlight, metering.ErrMismatch, metering.ErrLapsed} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	return "other: " + err.Error()
}

func (w *walk) ticket(t *rapid.T) metering.Ticket {
	if len(w.tickets) == 0 {
		t.Skip("no ticket yet")
	}
	return rapid.SampledFrom(w.tickets).Draw(t, "ticket")
}

func (w *walk) settle(t *rapid.T) {
	ticket := w.ticket(t)
	good := w.model.settle(ticket, w.f.clock.Now())
	balance, err := w.f.store.Settle(w.f.ctx(), ticket, w.f.outcome(ticket.RequestID))
	if good != (err == nil) || err != nil && !errors.Is(err, metering.ErrLapsed) {
		t.Fatalf("Settle: %v, the model says %v", err, good)
	}
	if month := w.model.month(ticket.Period); good {
		month.shown = balance.Overage
		if balance.Used != month.used {
			t.Fatalf("Settle: %+v, the model says %+v", balance, *month)
		}
	}
}

func (w *walk) cancel(t *rapid.T) {
	ticket := w.ticket(t)
	delete(w.model.holds, ticket.Token)
	if err := w.f.store.Cancel(w.f.ctx(), ticket); err != nil {
		t.Fatalf("Cancel: %v", err)
	}
}

func (w *walk) wait(t *rapid.T) {
	w.f.clock.Advance(rapid.SampledFrom([]time.Duration{time.Microsecond, time.Second - time.Microsecond, time.Second,
		time.Minute, metering.ReplayWindow - time.Minute, metering.ReplayWindow,
		10 * metering.ReplayWindow}).Draw(t, "wait"))
}

func (w *walk) plan(t *rapid.T) {
	a, err := w.f.store.Account(w.f.ctx(), w.customer.Account)
	if err != nil {
		t.Fatalf("Account: %v", err)
	}
	m := &w.model
	plans := []metering.PlanID{Tiny, flex, flex, metered, metered}
	m.budget, m.overage = rapid.Int64Range(0, 9).Draw(t, "budget"), rapid.IntRange(0, 3).Draw(t, "overage") > 0
	m.plan, m.scheduled = rapid.SampledFrom(plans).Draw(t, "plan"), nil
	if m.suspended = rapid.IntRange(0, 7).Draw(t, "suspended") == 0; m.suspended {
		a.Suspension = &metering.Suspension{At: w.f.clock.Now(), Reason: "a test"}
	} else {
		a.Suspension = nil
	}
	if rapid.Bool().Draw(t, "scheduled") {
		next := metering.PeriodOf(w.f.clock.Now()).Next()
		m.scheduled = &metering.PlanChange{Plan: rapid.SampledFrom(plans).Draw(t, "next plan"), From: next}
	}
	a.Plan, a.Scheduled, a.OverageEnabled, a.OverageBudgetCents = m.plan, m.scheduled, m.overage, &m.budget
	if err := w.f.store.PutAccount(w.f.ctx(), a); err != nil {
		t.Fatalf("PutAccount: %v", err)
	}
}

func (w *walk) check(t *rapid.T) {
	if !rapid.Bool().Draw(t, "look") { // which makes a store drop lapsed holds
		return
	}
	now := w.f.clock.Now()
	period := metering.PeriodOf(now)
	got, err := w.f.store.Balance(w.f.ctx(), w.customer.Account, period)
	if err != nil {
		t.Fatalf("Balance: %v", err)
	}
	month := w.model.month(period)
	held, _, _ := w.model.held(period, now)
	if got.Used != month.used || got.Charges != month.charges || got.Held != held || got.Overage != month.overage ||
		got.OverageMicros != month.micros {
		t.Fatalf("Balance: %+v, the model says %+v and %d held", got, *month, held)
	}
}

// ledger checks the rows against the balances and against the replies: the overage of each month is one number.
func (w *walk) ledger(t *rapid.T) {
	rows := make(map[metering.Period]*month)
	for e, err := range w.f.store.Entries(w.f.ctx(), metering.EntryFilter{Account: w.customer.Account}) {
		if err != nil {
			t.Fatalf("Entries: %v", err)
		}
		if rows[e.Period] == nil {
			rows[e.Period] = new(month)
		}
		m := rows[e.Period]
		*m = month{m.used + e.Credits, m.charges + 1, m.overage + e.Overage, m.micros + e.Overage*e.OverageRate, 0}
	}
	for p, m := range w.model.months {
		if rows[p] == nil {
			rows[p] = new(month)
		}
		if rows[p].shown = m.overage; m.shown != m.overage || *rows[p] != *m {
			t.Fatalf("%v: the rows say %+v, the model %+v", p, *rows[p], *m)
		}
	}
}
