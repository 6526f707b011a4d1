package hold

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// A Settling is a promise that is being made durable. Exactly one of Done and Undo must follow.
type Settling struct {
	// Credits, Period and Ceiling are those of the promise: what a ticket says of itself is not trusted with money.
	Credits int64
	Period  metering.Period
	// Ceiling is what the account could use when the promise was made. A store keeps the highest of a month for its
	// audit: a plan may be lowered meanwhile, so that the plan of today cannot tell whether the month was oversold.
	Ceiling int64

	book    *Book
	account *account
	token   uint64
}

// Settle takes the promise of a ticket out of reach of its lease and of Cancel, or returns [metering.ErrLapsed].
func (b *Book) Settle(t metering.Ticket) (Settling, error) {
	a, now := b.loaded(t.Account), b.clock()
	if a == nil {
		return Settling{}, metering.ErrLapsed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err := a.take(t.Token, now)
	if err != nil {
		return Settling{}, err
	}
	p.settling = true
	a.holds[t.Token] = p
	return Settling{
		Credits: p.credits, Period: p.month.period, Ceiling: p.ceiling, book: b, account: a, token: t.Token,
	}, nil
}

// Charge is Settle and Done in one, for a store whose write does not wait and cannot fail: it is
// called under the lock of the account.
func (b *Book) Charge(t metering.Ticket, write func(Settling)) (metering.Balance, error) {
	a, now := b.loaded(t.Account), b.clock()
	if a == nil {
		return metering.Balance{}, metering.ErrLapsed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err := a.take(t.Token, now)
	if err != nil {
		return metering.Balance{}, err
	}
	write(Settling{Credits: p.credits, Period: p.month.period, Ceiling: p.ceiling})
	return b.finish(a, t.Token, p), nil
}

// Done says that the charge and its kept reply are durable and can be read from the [Source], and
// returns the balance after it.
func (s Settling) Done() metering.Balance {
	a := s.account
	a.mu.Lock()
	defer a.mu.Unlock()
	return s.book.finish(a, s.token, a.holds[s.token])
}

// loaded returns the state of an account that has promises, and nil for any other.
func (b *Book) loaded(id metering.AccountID) *account {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.accounts[id]
}

// take returns the promise of a token that may be settled.
func (a *account) take(token uint64, now time.Time) (promise, error) {
	p, ok := a.holds[token]
	if !ok || p.settling {
		return promise{}, metering.ErrLapsed
	}
	if !now.Before(p.lease) {
		a.remove(token, p)
		return promise{}, metering.ErrLapsed
	}
	return p, nil
}

// finish turns a promise into a charge.
func (b *Book) finish(a *account, token uint64, p promise) metering.Balance {
	if p.claimed {
		// Before the claim is released, for whoever looked for the record too early.
		b.settlements(p.claim).Add(1)
	}
	a.remove(token, p)
	p.month.Used += p.credits
	p.month.Charges++
	return a.balance(p.month)
}

// Undo says that nothing was charged. The promise is what it was before; it may be settled again
// until its lease ends. One that was cancelled meanwhile goes.
func (s Settling) Undo() {
	s.account.mu.Lock()
	defer s.account.mu.Unlock()
	p := s.account.holds[s.token]
	if p.unwanted {
		s.account.remove(s.token, p)
		return
	}
	p.settling = false
	s.account.holds[s.token] = p
	s.account.earliest = time.Time{} // a sweep may have passed it over
}

// Cancel is the Cancel of [metering.Ledger]. It waits for no settling.
func (b *Book) Cancel(t metering.Ticket) {
	a := b.loaded(t.Account)
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch p, ok := a.holds[t.Token]; {
	case !ok:
	case p.settling: // whose outcome is not known yet
		p.unwanted = true
		a.holds[t.Token] = p
	default:
		a.remove(t.Token, p)
	}
}

func (b *Book) settlements(id ClaimID) *atomic.Uint64 {
	return &b.settled[binary.LittleEndian.Uint64(id.Hash[:])%uint64(len(b.settled))]
}
