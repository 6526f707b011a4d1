package hold

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// A ClaimID identifies a client's idempotency key: per line of API keys, and only as a hash.
type ClaimID struct {
	Line metering.KeyID
	Hash [32]byte
}

// ClaimOf is the claim of an operation that has an idempotency key.
func ClaimOf(op *metering.Op) ClaimID { return ClaimID{Line: op.Claimant(), Hash: *op.Idempotency} }

// A Record is a kept reply and the parameters of its claim.
type Record struct {
	RequestID   string
	Fingerprint [32]byte
	Expires     time.Time // at this instant the record expires
	Reply       metering.Reply
}

// A Month is the settled use of an account in one period.
type Month struct {
	Used    int64 // credits
	Charges int64
	Overage int64 // of the credits
	Micros  int64 // the cost of the overage, in millionths of a cent
}

// Plus is the month with so many charges more, whose parts add up to p.
func (m Month) Plus(charges int64, p Parts) Month {
	return Month{m.Used + p.Credits, m.Charges + charges, m.Overage + p.Overage, m.Micros + p.Overage*p.Rate}
}

// Balance is that of the month, with so many credits held.
func (m Month) Balance(p metering.Period, a metering.Account, prices metering.Prices, held int64) metering.Balance {
	plan := a.PlanIn(p)
	return metering.Balance{
		Period: p, Plan: plan, Limit: prices.In(p)[plan].Allowance(a), Used: m.Used, Held: held, Charges: m.Charges,
		Overage: m.Overage, OverageMicros: m.Micros,
	}
}

// A Source provides the settled state to a [Book]. All methods may be called by many goroutines.
type Source interface {
	// Account returns an account, or [metering.ErrNotFound].
	Account(ctx context.Context, id metering.AccountID) (metering.Account, error)

	// Month returns the settled balance of a known account; zero without one. It is called under the lock of the
	// account.
	Month(ctx context.Context, id metering.AccountID, p metering.Period) (Month, error)

	// Absent reports that no reply is kept for the claim. It must not wait; false means "perhaps".
	Absent(id ClaimID) bool

	// Reply returns the newest record of a claim, expired or not, or [metering.ErrNotFound].
	Reply(ctx context.Context, id ClaimID) (Record, error)
}

// Config is the configuration of a [Book].
type Config struct {
	Source Source
	Plans  metering.Prices
	Clock  func() time.Time // decides when leases end; nil means time.Now
	Doubt  func() error     // while it is an error, no lease ends and no reply expires; nil: the clock is believed
}

// A Book holds all promises of a store. Make one with [New].
type Book struct {
	source Source
	plans  metering.Prices
	now    func() time.Time
	doubt  func() error
	token  atomic.Uint64

	mu       sync.RWMutex
	accounts map[metering.AccountID]*account
	// settled counts the settled claims, spread by hash. A Begin that looked up a record outside the lock detects by
	// it that one may have been written meanwhile.
	settled [1024]atomic.Uint64
}

// kept reports whether a record has not expired, as far as the clock can be believed.
func (b *Book) kept(r *Record, now time.Time) bool { return now.Before(r.Expires) || b.doubt() != nil }

// New returns an empty book.
func New(c Config) *Book {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Doubt == nil {
		c.Doubt = func() error { return nil }
	}
	b := &Book{
		source: c.Source, plans: c.Plans, now: c.Clock, doubt: c.Doubt, accounts: make(map[metering.AccountID]*account),
	}
	// A ticket from before a restart must not be taken for one of today.
	var seed [8]byte
	rand.Read(seed[:])
	b.token.Store(binary.LittleEndian.Uint64(seed[:]))
	return b
}

// clock is the instant by which leases end. While the clock is in doubt, that is before the end of every lease.
func (b *Book) clock() time.Time {
	if b.doubt() != nil {
		return time.Time{}
	}
	return b.now()
}

// SetAccount applies the plan and budget of an account from the very next Begin on. An older version than the one
// known is ignored.
func (b *Book) SetAccount(record metering.Account) {
	b.mu.Lock()
	a := b.accounts[record.ID]
	if a == nil {
		b.accounts[record.ID] = newAccount(record)
		b.mu.Unlock()
		return
	}
	b.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if record.Version > a.record.Version {
		a.record = record.Clone()
	}
}

// account returns the state of an account, loading it if it is not cached. That an account does not exist is not
// remembered: hostile names must not fill the memory.
func (b *Book) account(ctx context.Context, id metering.AccountID) (*account, error) {
	if a := b.loaded(id); a != nil {
		return a, nil
	}
	record, err := b.source.Account(ctx, id)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.accounts[id]; a != nil {
		return a, nil // SetAccount was faster, and is never older
	}
	a := newAccount(record)
	b.accounts[id] = a
	return a, nil
}

// Balance returns the used and held credits of a period.
func (b *Book) Balance(ctx context.Context, id metering.AccountID, p metering.Period) (metering.Balance, error) {
	a, err := b.account(ctx, id)
	if err != nil {
		return metering.Balance{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lapse(b.clock())
	if m := a.known(p); m != nil {
		return b.balance(a, m), nil
	}
	// Not cached: listing the past must not fill the memory.
	settled, err := b.source.Month(ctx, id, p)
	if err != nil {
		return metering.Balance{}, err
	}
	return b.balance(a, &month{period: p, Month: settled}), nil
}

// Sweep releases every promise whose lease has ended. Begin does so itself when it needs to; calling Sweep now and
// then frees the memory of idle accounts.
func (b *Book) Sweep() {
	now := b.clock()
	for _, a := range b.all() {
		a.mu.Lock()
		a.lapse(now)
		a.mu.Unlock()
	}
}

// all returns the accounts of the book. The book is not locked while they are visited.
func (b *Book) all() []*account {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Collect(maps.Values(b.accounts))
}

// Forget drops the cached months before one, after they were pruned.
func (b *Book) Forget(before metering.Period) {
	for _, a := range b.all() {
		a.mu.Lock()
		a.months = slices.DeleteFunc(a.months, func(m *month) bool { return m.open == 0 && m.period.Before(before) })
		a.mu.Unlock()
	}
}

// Held returns the held credits of each account in a period. To add the settled ones, read them afterwards, so that no
// charge is missed in between.
func (b *Book) Held(p metering.Period) map[metering.AccountID]int64 {
	now := b.clock()
	held := map[metering.AccountID]int64{}
	for _, a := range b.all() {
		a.mu.Lock()
		a.lapse(now)
		if m := a.known(p); m != nil && m.held.Credits > 0 {
			held[a.id] = m.held.Credits
		}
		a.mu.Unlock()
	}
	return held
}

// Balances yields the months that are settled, with what is held.
func Balances(
	p metering.Period, settled map[metering.AccountID]Month, held map[metering.AccountID]int64,
	yield func(metering.MonthBalance, error) bool,
) {
	for id := range held {
		if _, ok := settled[id]; !ok {
			settled[id] = Month{}
		}
	}
	for id, m := range settled {
		b := metering.Balance{
			Period: p, Used: m.Used, Held: held[id], Charges: m.Charges, Overage: m.Overage, OverageMicros: m.Micros,
		}
		if !yield(metering.MonthBalance{Account: id, Balance: b}, nil) {
			return
		}
	}
}
