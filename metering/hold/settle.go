package hold

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// A Settling is a promise that is being made durable. Exactly one of Done and Undo must follow.
type Settling struct {
	// Credits, Period and Ceiling are those of the promise: what a ticket says of itself is not
	// trusted with money.
	Credits int64
	Period  metering.Period

	// Ceiling is what the account could use when the promise was made. A store keeps the highest of
	// a month for its audit: a plan may be lowered meanwhile, so that the plan of today cannot tell
	// whether the month was oversold.
	Ceiling int64

	book    *Book
	account *account
	token   uint64
}

// Settle takes the promise of a ticket out of reach of its lease and of Cancel, or returns
// [metering.ErrLapsed].
func (b *Book) Settle(t metering.Ticket) (Settling, error) {
	b.mu.RLock()
	a := b.accounts[t.Account]
	b.mu.RUnlock()
	if a == nil {
		return Settling{}, metering.ErrLapsed
	}
	now := b.clock()
	a.mu.Lock()
	defer a.mu.Unlock()
	p, ok := a.holds[t.Token]
	if !ok || p.settling {
		return Settling{}, metering.ErrLapsed
	}
	if !now.Before(p.lease) {
		a.remove(t.Token, p)
		return Settling{}, metering.ErrLapsed
	}
	p.settling = true
	a.holds[t.Token] = p
	return Settling{
		Credits: p.credits, Period: p.month.period, Ceiling: p.ceiling,
		book: b, account: a, token: t.Token,
	}, nil
}

// Done says that the charge and its kept reply are durable and can be read from the [Source], and
// returns the balance after it.
func (s Settling) Done() metering.Balance {
	a := s.account
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.holds[s.token]
	if p.claimed {
		// Before the claim is released, for whoever looked for the record too early.
		s.book.settlements(p.claim).Add(1)
	}
	a.remove(s.token, p)
	p.month.Used += p.credits
	p.month.Charges++
	return a.balance(p.month)
}

// Undo says that nothing was charged. The promise is what it was before; it may be settled again
// until its lease ends.
func (s Settling) Undo() {
	s.account.mu.Lock()
	defer s.account.mu.Unlock()
	p := s.account.holds[s.token]
	p.settling = false
	s.account.holds[s.token] = p
	s.account.earliest = time.Time{} // a sweep may have passed it over
}

// Cancel is the Cancel of [metering.Ledger].
func (b *Book) Cancel(t metering.Ticket) {
	b.mu.RLock()
	a := b.accounts[t.Account]
	b.mu.RUnlock()
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, ok := a.holds[t.Token]; ok && !p.settling {
		a.remove(t.Token, p)
	}
}

func (b *Book) settlements(id ClaimID) *atomic.Uint64 {
	return &b.settled[binary.LittleEndian.Uint64(id.Hash[:])%uint64(len(b.settled))]
}
