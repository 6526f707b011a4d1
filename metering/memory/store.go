package memory

import (
	"bytes"
	"context"
	"maps"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
)

// Config is the configuration of a store. The zero value is useful.
type Config struct {
	Plans metering.Prices  // nil means metering.DefaultPlans()
	Clock func() time.Time // decides when leases end; nil means time.Now
	Doubt func() error     // while it is an error, the clock is not believed and nothing is forgotten; nil: it always is
}

// A Store is a [metering.Store] in memory. Make one with [New].
type Store struct {
	book    *hold.Book
	admin   registry
	ledger  ledger
	records records
	prices  prices
	clock   func() time.Time
	closed  atomic.Bool
}

var _ metering.Store = (*Store)(nil)

// New returns an empty store.
func New(c Config) *Store {
	if c.Plans == nil {
		c.Plans = metering.DefaultPlans()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	s := &Store{clock: c.Clock}
	s.admin.init()
	s.ledger.init()
	s.ledger.doubt = c.Doubt
	s.records.kinds = make(map[string]map[recordName]metering.Record)
	s.book = hold.New(hold.Config{Source: source{s}, Plans: c.Plans, Clock: c.Clock, Doubt: c.Doubt})
	return s
}

// Close implements [metering.Store]. Iterators of Watch end; every later call returns [metering.ErrClosed].
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	close(s.admin.ended)
	return nil
}

// ready refuses a call whose context has ended or whose store is closed.
func (s *Store) ready(ctx context.Context) error {
	if s.closed.Load() {
		return metering.ErrClosed
	}
	return ctx.Err()
}

// Begin implements [metering.Ledger].
func (s *Store) Begin(ctx context.Context, op metering.Op) (metering.Begun, error) {
	if err := s.ready(ctx); err != nil {
		return metering.Begun{}, err
	}
	return s.book.Begin(ctx, op)
}

// Cancel implements [metering.Ledger].
func (s *Store) Cancel(ctx context.Context, t metering.Ticket) error {
	if s.closed.Load() {
		return metering.ErrClosed
	}
	s.book.Cancel(t) // even when the context has ended: that is why most requests are cancelled
	return nil
}

// Balance implements [metering.Ledger].
func (s *Store) Balance(ctx context.Context, id metering.AccountID, p metering.Period) (metering.Balance, error) {
	if err := s.ready(ctx); err != nil {
		return metering.Balance{}, err
	}
	return s.book.Balance(ctx, id, p)
}

// source is the book's view of the store.
type source struct{ *Store }

func (s source) Month(_ context.Context, id metering.AccountID, p metering.Period) (hold.Month, error) {
	l := &s.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.months[accountMonth{id, p}]; m != nil {
		return m.Month, nil
	}
	return hold.Month{}, nil
}

func (s source) Absent(id hold.ClaimID) bool {
	l := &s.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.replies[id]
	return !ok
}

func (s source) Reply(_ context.Context, id hold.ClaimID) (hold.Record, error) {
	l := &s.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	record, ok := l.replies[id]
	if !ok {
		return hold.Record{}, metering.ErrNotFound
	}
	record.Reply = cloneReply(record.Reply)
	return record, nil
}

func cloneReply(r metering.Reply) metering.Reply {
	r.Header = maps.Clone(r.Header)
	r.Body = bytes.Clone(r.Body)
	return r
}
