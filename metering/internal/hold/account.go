package hold

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// account is the state of one account. Everything below mu is guarded by it.
type account struct {
	id metering.AccountID

	mu     sync.Mutex
	record metering.Account
	months []*month
	holds  map[uint64]promise
	claims map[ClaimID]claim
	// earliest is not after the end of any lease, so that most calls need not scan the holds.
	earliest time.Time
}

// month is one period of an account: the settled credits, and the promised ones on top.
type month struct {
	Month
	period metering.Period
	held   metering.Taken
	open   int // promises
}

// promise is a hold, and with an idempotency key a claim.
type promise struct {
	month    *month
	parts    Parts
	lease    time.Time
	settling bool // on its way to the disk: it can neither lapse nor be cancelled
	unwanted bool // cancelled meanwhile: released if nothing is charged
	claimed  bool
	claim    ClaimID
}

type claim struct {
	token       uint64
	fingerprint [32]byte
}

func newAccount(record metering.Account) *account {
	return &account{
		id: record.ID, record: record.Clone(), holds: make(map[uint64]promise), claims: make(map[ClaimID]claim),
	}
}

func (a *account) known(p metering.Period) *month {
	for _, m := range a.months {
		if m.period == p {
			return m
		}
	}
	return nil
}

// keepMonths is the number of periods per account in memory: this one, the previous one, whose last requests settle
// after midnight, and one for clocks that disagree.
const keepMonths = 3

// month returns a period, loading it if needed. The lock stays held while it is loaded, so that nothing is settled
// between the reading and the keeping.
func (a *account) month(ctx context.Context, source Source, p metering.Period) (*month, error) {
	if m := a.known(p); m != nil {
		return m, nil
	}
	settled, err := source.Month(ctx, a.id, p)
	if err != nil {
		return nil, err
	}
	if len(a.months) >= keepMonths {
		a.months = slices.DeleteFunc(a.months, func(m *month) bool { return m.open == 0 })
	}
	m := &month{Month: settled, period: p}
	a.months = append(a.months, m)
	return m, nil
}

// taken returns the settled and held credits.
func (m *month) taken() metering.Taken {
	return metering.Taken{
		Credits: m.Used + m.held.Credits, Overage: m.Overage + m.held.Overage, Micros: m.Micros + m.held.Micros,
	}
}

// balance returns the balance of a month, with the plan of that month.
func (b *Book) balance(a *account, m *month) metering.Balance {
	return m.Balance(m.period, a.record, b.plans, m.held.Credits)
}

func (a *account) add(token uint64, p promise) {
	if len(a.holds) == 0 || p.lease.Before(a.earliest) {
		a.earliest = p.lease
	}
	a.holds[token] = p
	p.month.held = p.month.held.Plus(p.parts.Credits, p.parts.Overage, p.parts.Rate)
	p.month.open++
}

func (a *account) remove(token uint64, p promise) {
	delete(a.holds, token)
	if p.claimed {
		delete(a.claims, p.claim)
	}
	p.month.held = p.month.held.Plus(-p.parts.Credits, -p.parts.Overage, p.parts.Rate)
	p.month.open--
}

// lapse releases the promises whose lease has ended.
func (a *account) lapse(now time.Time) {
	if len(a.holds) == 0 || now.Before(a.earliest) {
		return
	}
	var earliest time.Time
	for token, p := range a.holds {
		switch {
		case p.settling:
		case !now.Before(p.lease):
			a.remove(token, p)
		case earliest.IsZero() || p.lease.Before(earliest):
			earliest = p.lease
		}
	}
	a.earliest = earliest
}
