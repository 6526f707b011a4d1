package hold

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// Parts are the parts of a price at its admission.
type Parts struct {
	Credits int64
	Overage int64 // of them
	Rate    int64 // of each credit of overage, in millionths of a cent; 0 without overage
	Ceiling int64 // the largest use that was allowed; see [metering.Limits.Ceiling]
}

// A Settling is a promise that is being made durable. Exactly one of Done and Undo must follow.
type Settling struct {
	// Parts and Period are those of the promise: the fields of a ticket are not trusted with money.
	Parts
	Period metering.Period

	book    *Book
	account *account
	token   uint64
}

// Settle takes the promise of a ticket out of reach of its lease and of Cancel, or returns [metering.ErrLapsed].
func (b *Book) Settle(t metering.Ticket) (Settling, error) {
	a, now := b.loaded(t.Account), b.now()
	if a == nil {
		return Settling{}, metering.ErrLapsed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p, ok := a.holds[t.Token]
	if !ok || p.settling {
		return Settling{}, metering.ErrLapsed
	}
	if !now.Before(p.lease) && b.doubt() == nil {
		a.remove(t.Token, p)
		return Settling{}, metering.ErrLapsed
	}
	p.settling = true
	a.holds[t.Token] = p
	return Settling{Parts: p.parts, Period: p.month.period, book: b, account: a, token: t.Token}, nil
}

// Done reports that the charge and its kept reply are durable and can be read from the [Source], and returns the
// balance after it.
func (s Settling) Done() metering.Balance {
	a := s.account
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.holds[s.token]
	if p.claimed {
		// Before the claim is released, for callers that looked for the record too early.
		s.book.settlements(p.claim).Add(1)
	}
	a.remove(s.token, p)
	p.month.Month = p.month.Plus(1, p.parts)
	return s.book.balance(a, p.month)
}

// loaded returns the state of an account that has promises, and nil for any other.
func (b *Book) loaded(id metering.AccountID) *account {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.accounts[id]
}

// Undo reports that nothing was charged. The promise is restored, and may be settled again until its lease ends. One
// that was cancelled meanwhile is released.
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

// Entry is the row of the charge in the ledger, without its number and its chain. The instant is in UTC and cut to the
// microsecond.
func (s *Settling) Entry(t *metering.Ticket, at time.Time) metering.Entry {
	return metering.Entry{
		RequestID: t.RequestID, Account: t.Account, Key: t.Key, Endpoint: t.Endpoint, Credits: s.Credits,
		Period: s.Period, At: at, Overage: s.Overage, OverageRate: s.Rate, Ceiling: s.Ceiling,
	}
}
