package meteringtest

import (
	"context"
	"errors"
	"iter"
	"math"
	"sync"
	"sync/atomic"

	"github.com/diagkit/diagkit/metering"
)

// A Call is a method of a store that can be made to fail.
type Call string

// The calls.
const (
	Begin      Call = "Begin"
	Settle     Call = "Settle"
	Cancel     Call = "Cancel"
	Balance    Call = "Balance"
	Account    Call = "Account"
	Accounts   Call = "Accounts"
	PutAccount Call = "PutAccount"
	Key        Call = "Key"
	KeyByHash  Call = "KeyByHash"
	PutKeys    Call = "PutKeys"
	Watch      Call = "Watch"
	GetRecord  Call = "Record"
	Records    Call = "Records"
	PutRecords Call = "PutRecords"
	Prune      Call = "Prune"
	Any        Call = "*" // each of them.
)

// A Fault makes one call fail.
type Fault struct {
	Call  Call
	Skip  int   // how many calls succeed before
	Times int   // how many calls fail; 0 means all from now on
	After bool  // the store does its work, and only the answer is lost
	Err   error // returned to the caller
}

// FaultyStore is a store whose calls fail on demand. Make one with [Faulty].
type FaultyStore struct {
	metering.Store

	mu     sync.Mutex
	faults []Fault
	calls  map[Call]int
	writes atomic.Uint64
}

// Faulty wraps a store and gives it faults. Several for one call apply one after the other. What is not a [Call] is
// passed to the store unchanged.
func Faulty(store metering.Store, faults ...Fault) *FaultyStore {
	return &FaultyStore{Store: store, faults: faults, calls: make(map[Call]int)}
}

// Inject adds a fault.
func (s *FaultyStore) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
}

// Heal removes all faults.
func (s *FaultyStore) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Die makes the store fail like a process that died after so many calls: the next one is lost on its way, or done and
// its answer lost, and all after it are not made.
func (s *FaultyStore) Die(calls int, done bool, err error) {
	s.Inject(Fault{Call: Any, Skip: calls, Times: 1, After: done, Err: err})
	s.Inject(Fault{Call: Any, Skip: calls, Err: err})
}

// Calls returns how often a method was called, with or without success.
func (s *FaultyStore) Calls(c Call) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[c]
}

// Generation returns that of the wrapped store if it has one, so that caches above it stay exact.
func (s *FaultyStore) Generation() uint64 {
	own := s.writes.Load()
	if g, ok := s.Store.(metering.Generational); ok {
		return own + g.Generation()
	}
	return own
}

// next counts a call and takes the fault that is due for it.
func (s *FaultyStore) next(c Call) (fault Fault, failing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[c]++
	s.calls[Any]++
	for i := range s.faults {
		f := s.faults[i]
		if f.Call != c && f.Call != Any {
			continue
		}
		if f.Skip > 0 {
			s.faults[i].Skip--
			continue
		}
		if f.Times == 1 {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
		} else if f.Times > 1 {
			s.faults[i].Times--
		}
		return f, true
	}
	return Fault{}, false
}

// fails runs a call, or the part of it that its fault allows.
func fails[T any](s *FaultyStore, c Call, call func() (T, error)) (T, error) {
	var none T
	fault, failing := s.next(c)
	if !failing {
		return call()
	}
	if !fault.After {
		return none, fault.Err
	}
	if _, err := call(); err != nil {
		return none, err
	}
	return none, fault.Err
}

func failsAlone(s *FaultyStore, c Call, call func() error) error {
	_, err := fails(s, c, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// Begin implements [metering.Ledger].
func (s *FaultyStore) Begin(ctx context.Context, op metering.Op) (metering.Begun, error) {
	return fails(s, Begin, func() (metering.Begun, error) { return s.Store.Begin(ctx, op) })
}

// Settle implements [metering.Ledger].
func (s *FaultyStore) Settle(
	ctx context.Context, t metering.Ticket, out metering.Outcome,
) (metering.Balance, error) {
	return fails(s, Settle, func() (metering.Balance, error) { return s.Store.Settle(ctx, t, out) })
}

// Cancel implements [metering.Ledger].
func (s *FaultyStore) Cancel(ctx context.Context, t metering.Ticket) error {
	return failsAlone(s, Cancel, func() error { return s.Store.Cancel(ctx, t) })
}

// Balance implements [metering.Ledger].
func (s *FaultyStore) Balance(
	ctx context.Context, id metering.AccountID, p metering.Period,
) (metering.Balance, error) {
	return fails(s, Balance, func() (metering.Balance, error) { return s.Store.Balance(ctx, id, p) })
}

// Account implements [metering.Accounts].
func (s *FaultyStore) Account(ctx context.Context, id metering.AccountID) (metering.Account, error) {
	return fails(s, Account, func() (metering.Account, error) { return s.Store.Account(ctx, id) })
}

// Accounts implements [metering.Accounts].
func (s *FaultyStore) Accounts(ctx context.Context) ([]metering.Account, error) {
	return fails(s, Accounts, func() ([]metering.Account, error) { return s.Store.Accounts(ctx) })
}

// PutAccount implements [metering.Accounts].
func (s *FaultyStore) PutAccount(ctx context.Context, a metering.Account) error {
	defer s.writes.Add(1)
	return failsAlone(s, PutAccount, func() error { return s.Store.PutAccount(ctx, a) })
}

// Key implements [metering.Keys].
func (s *FaultyStore) Key(ctx context.Context, id metering.KeyID) (metering.Key, error) {
	return fails(s, Key, func() (metering.Key, error) { return s.Store.Key(ctx, id) })
}

// KeyByHash implements [metering.Keys].
func (s *FaultyStore) KeyByHash(ctx context.Context, hash [32]byte) (metering.Key, error) {
	return fails(s, KeyByHash, func() (metering.Key, error) { return s.Store.KeyByHash(ctx, hash) })
}

// PutKeys implements [metering.Keys].
func (s *FaultyStore) PutKeys(ctx context.Context, keys ...metering.Key) error {
	defer s.writes.Add(1)
	return failsAlone(s, PutKeys, func() error { return s.Store.PutKeys(ctx, keys...) })
}

// Watch implements [metering.Keys]. A faulty one ends with the error, at once or, with After, behind the first change.
func (s *FaultyStore) Watch(ctx context.Context, since int64) iter.Seq2[metering.Change, error] {
	fault, failing := s.next(Watch)
	if !failing {
		return s.Store.Watch(ctx, since)
	}
	changes := s.Store.Watch(ctx, since)
	return broken(changes, fault, 1)
}

// broken ends with the error of a fault, at once or, with After, behind so many values.
func broken[T any](list iter.Seq2[T, error], fault Fault, most int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if fault.After {
			yielded := 0
			for v, err := range list {
				if !yield(v, err) || err != nil {
					return
				}
				if yielded++; yielded == most {
					break
				}
			}
		}
		yield(*new(T), fault.Err)
	}
}

// Record implements [metering.Records].
func (s *FaultyStore) Record(
	ctx context.Context, account metering.AccountID, kind, id string,
) (metering.Record, error) {
	return fails(s, GetRecord, func() (metering.Record, error) { return s.Store.Record(ctx, account, kind, id) })
}

// Records implements [metering.Records]. A faulty one ends with the error, at once or, with After, behind
// the last record.
func (s *FaultyStore) Records(ctx context.Context, f metering.RecordFilter) iter.Seq2[metering.Record, error] {
	fault, failing := s.next(Records)
	list := s.Store.Records(ctx, f)
	if !failing {
		return list
	}
	return broken(list, fault, math.MaxInt)
}

// PutRecords implements [metering.Records].
func (s *FaultyStore) PutRecords(ctx context.Context, records ...metering.Record) error {
	return failsAlone(s, PutRecords, func() error { return s.Store.PutRecords(ctx, records...) })
}

// Prune implements [metering.Pruner] where the wrapped store does.
func (s *FaultyStore) Prune(ctx context.Context, keep metering.Retention) (metering.Pruned, error) {
	p, ok := s.Store.(metering.Pruner)
	if !ok {
		return metering.Pruned{}, errors.ErrUnsupported
	}
	return fails(s, Prune, func() (metering.Pruned, error) { return p.Prune(ctx, keep) })
}
