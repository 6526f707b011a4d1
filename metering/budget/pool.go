package budget

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// MaxWait bounds how long [Pool.Take] waits.
const MaxWait = 10 * time.Second

// ErrFull is the error of [Pool.Take] where there was no room in time.
var ErrFull = errors.New("too much work is running")

// An Owner is whose share something counts against. Without a key it counts for the account alone.
type Owner struct {
	Account metering.AccountID
	Key     metering.KeyID
}

// A Pool bounds what requests hold of something at once, such as bytes of memory: in all, for each account and for each
// key. What does not fit waits, so that a burst which the rate limit allows is served, one after the other. Its fields
// must not be changed after the first call, and it must not be copied.
type Pool struct {
	All     int64 // how much all may hold together
	Account int64 // how much an account may hold
	Key     int64 // how much a key may hold
	// Leases bounds the number of leases, including those that wait; an account may have half of them. 0 means no
	// bound.
	Leases int

	mu       sync.Mutex
	total    holding
	accounts map[metering.AccountID]*holding // only of those that have a lease
	keys     map[metering.KeyID]*holding
	queue    []*Lease
}

// A holding is the share of one holder.
type holding struct {
	amount int64
	leases int // with those that wait
}

// A Lease is a request's share of a [Pool]. The zero and the nil Lease hold nothing.
type Lease struct {
	pool    *Pool
	owner   Owner
	account *holding // of the owner
	key     *holding // likewise; nil without a key
	amount  int64
	granted chan struct{} // closed when it is; nil if it was at once

	first [2]holding // room for the holdings of account and key, if this is their first lease
}

// Take waits for room. More than the share of the owner counts as the share: it then runs alone. The error is [ErrFull]
// after [MaxWait], or that of the context.
func (p *Pool) Take(ctx context.Context, owner Owner, amount int64) (*Lease, error) {
	l := &Lease{pool: p, owner: owner, amount: min(amount, p.Account)}
	if owner.Key != "" {
		l.amount = min(l.amount, p.Key)
	}
	p.mu.Lock()
	if p.Leases > 0 && p.crowded(owner.Account) {
		p.mu.Unlock()
		return nil, ErrFull
	}
	l.account = holdingOf(&p.accounts, owner.Account, &l.first[0])
	if owner.Key != "" {
		l.key = holdingOf(&p.keys, owner.Key, &l.first[1])
	}
	if p.fits(l) {
		p.add(l, l.amount, 1)
		p.mu.Unlock()
		return l, nil
	}
	p.add(l, 0, 1)
	l.granted = make(chan struct{})
	p.queue = append(p.queue, l)
	p.mu.Unlock()
	return p.await(ctx, l)
}

func (p *Pool) await(ctx context.Context, l *Lease) (*Lease, error) {
	timer := time.NewTimer(MaxWait)
	defer timer.Stop()
	err := ErrFull
	select {
	case <-l.granted:
		return l, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.queue, l)
	if i < 0 {
		return l, nil // it was granted at the same moment
	}
	p.queue = slices.Delete(p.queue, i, i+1)
	p.add(l, 0, -1)
	return nil, err
}

// crowded reports whether there may be no lease more, or none of an account.
func (p *Pool) crowded(account metering.AccountID) bool {
	h := p.accounts[account]
	return p.total.leases >= p.Leases || h != nil && h.leases >= (p.Leases+1)/2
}

// holdingOf returns the holding of a name for another lease; none is its initial value if it is new.
func holdingOf[K comparable](all *map[K]*holding, name K, none *holding) *holding {
	if h := (*all)[name]; h != nil {
		return h
	}
	if *all == nil {
		*all = map[K]*holding{}
	}
	(*all)[name] = none
	return none
}

func (p *Pool) fits(l *Lease) bool {
	return p.total.amount+l.amount <= p.All && l.account.amount+l.amount <= p.Account &&
		(l.key == nil || l.key.amount+l.amount <= p.Key)
}

// add changes the amount held, and the number of leases.
func (p *Pool) add(l *Lease, amount int64, leases int) {
	p.total.add(amount, leases)
	l.account.add(amount, leases)
	if l.account.leases == 0 {
		delete(p.accounts, l.owner.Account)
	}
	if l.key == nil {
		return
	}
	l.key.add(amount, leases)
	if l.key.leases == 0 {
		delete(p.keys, l.owner.Key)
	}
}

func (h *holding) add(amount int64, leases int) {
	h.amount += amount
	h.leases += leases
}

// Shrink releases the part of a lease beyond an amount.
func (l *Lease) Shrink(amount int64) {
	if l == nil || l.amount <= amount {
		return
	}
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveBack(l, l.amount-amount, 0)
}

// Release gives everything back. Doing so again does nothing.
func (l *Lease) Release() {
	if l == nil || l.pool == nil {
		return
	}
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	l.pool = nil
	p.giveBack(l, l.amount, 1)
}

// Amount returns how much the lease holds.
func (l *Lease) Amount() int64 {
	if l == nil {
		return 0
	}
	return l.amount
}

// giveBack grants the released amount to those that wait: the first one first, but none waits for an owner that holds
// its share.
func (p *Pool) giveBack(l *Lease, amount int64, leases int) {
	p.add(l, -amount, -leases)
	l.amount -= amount
	p.queue = slices.DeleteFunc(p.queue, func(w *Lease) bool {
		if !p.fits(w) {
			return false
		}
		p.add(w, w.amount, 0)
		close(w.granted)
		return true
	})
}

// Held returns how much is held at the moment.
func (p *Pool) Held() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total.amount
}
