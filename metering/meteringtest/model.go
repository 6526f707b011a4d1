package meteringtest

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/diagkit/diagkit/metering"
)

// model is what an account means, in the plainest words: one customer, one goroutine, no clever
// structure. Whatever a store does with one account must be what the model does.
type model struct {
	ceiling int64
	used    map[metering.Period]int64
	charges map[metering.Period]int64
	holds   map[uint64]metering.Ticket
	records map[[32]byte]record
}

type record struct {
	requestID   string
	fingerprint [32]byte
	expires     time.Time
}

// held adds up what is promised, after the leases that have ended.
func (m *model) held(p metering.Period, now time.Time) (sum int64) {
	for token, t := range m.holds {
		if !now.Before(t.Lease) {
			delete(m.holds, token)
		} else if t.Period == p {
			sum += t.Credits
		}
	}
	return sum
}

// begin returns the record to be replayed or the error; neither means a ticket.
func (m *model) begin(op metering.Op) (*record, error) {
	period := metering.PeriodOf(op.Now)
	taken := m.used[period] + m.held(period, op.Now)
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
	if taken+op.Credits > m.ceiling {
		return nil, &metering.QuotaError{}
	}
	return nil, nil
}

// settle reports whether the ticket is still good, and charges it.
func (m *model) settle(t metering.Ticket, now time.Time) bool {
	m.held(t.Period, now)
	if _, ok := m.holds[t.Token]; !ok {
		return false
	}
	delete(m.holds, t.Token)
	m.used[t.Period] += t.Credits
	m.charges[t.Period]++
	if t.Idempotency != nil {
		m.records[*t.Idempotency] = record{t.RequestID, *t.Fingerprint, now.Add(metering.ReplayWindow)}
	}
	return true
}

// testModel walks random ways through a store and the model at once.
func testModel(t *testing.T, f *fixture) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &walk{f: f, customer: f.customer(Tiny), model: model{
			ceiling: 10, used: make(map[metering.Period]int64), charges: make(map[metering.Period]int64),
			holds: make(map[uint64]metering.Ticket), records: make(map[[32]byte]record),
		}}
		rt.Repeat(map[string]func(*rapid.T){
			"begin":  w.begin,
			"settle": w.settle,
			"cancel": w.cancel,
			"wait":   w.wait,
			"plan":   w.plan,
			"":       w.check,
		})
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
	op := w.f.op(w.customer, rapid.Int64Range(1, 6).Draw(t, "credits"))
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
		w.model.holds[got.Ticket.Token] = *got.Ticket
		w.tickets = append(w.tickets, *got.Ticket)
	}
}

// kind names an error by what a caller branches on.
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
	if good && balance.Used != w.model.used[ticket.Period] {
		t.Fatalf("Settle: %+v, the model says %d", balance, w.model.used[ticket.Period])
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
	budget := rapid.Int64Range(0, 3).Draw(t, "budget")
	a.Plan = rapid.SampledFrom([]metering.PlanID{Tiny, flex}).Draw(t, "plan")
	a.OverageEnabled, a.OverageBudgetCents = true, &budget
	w.model.ceiling = map[metering.PlanID]int64{Tiny: 10, flex: 100 + 10*budget}[a.Plan]
	if err := w.f.store.PutAccount(w.f.ctx(), a); err != nil {
		t.Fatalf("PutAccount: %v", err)
	}
}

func (w *walk) check(t *rapid.T) {
	now := w.f.clock.Now()
	period := metering.PeriodOf(now)
	got, err := w.f.store.Balance(w.f.ctx(), w.customer.Account, period)
	if err != nil {
		t.Fatalf("Balance: %v", err)
	}
	m := &w.model
	if got.Used != m.used[period] || got.Charges != m.charges[period] || got.Held != m.held(period, now) {
		t.Fatalf("Balance: %+v, the model says %d used in %d charges and %d held",
			got, m.used[period], m.charges[period], m.held(period, now))
	}
}
