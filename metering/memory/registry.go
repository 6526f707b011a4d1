package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/diagkit/diagkit/metering"
)

// registry is the accounts and keys, and the list of their changes.
type registry struct {
	mu         sync.RWMutex
	accounts   map[metering.AccountID]metering.Account
	keys       map[metering.KeyID]metering.Key
	hashes     map[[32]byte]metering.KeyID
	changes    []metering.Change // Seq is the index plus one and what was pruned
	pruned     int64
	changed    chan struct{} // closed and replaced by each change
	ended      chan struct{}
	generation atomic.Uint64
}

func (r *registry) init() {
	r.accounts = make(map[metering.AccountID]metering.Account)
	r.keys = make(map[metering.KeyID]metering.Key)
	r.hashes = make(map[[32]byte]metering.KeyID)
	r.changed = make(chan struct{})
	r.ended = make(chan struct{})
}

// note records changes under the lock and wakes the watchers.
func (r *registry) note(changes ...metering.Change) {
	for _, c := range changes {
		c.Seq = r.last() + 1
		r.changes = append(r.changes, c)
	}
	r.generation.Add(1)
	close(r.changed)
	r.changed = make(chan struct{})
}

// last is the sequence number of the newest change, under the lock.
func (r *registry) last() int64 { return r.pruned + int64(len(r.changes)) }

func (r *registry) known() (keys map[metering.KeyID]bool, accounts int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	keys = make(map[metering.KeyID]bool, len(r.keys))
	for id := range r.keys {
		keys[id] = true
	}
	return keys, len(r.accounts)
}

// Generation rises with every change of a key or an account, before the call that made it returns.
// A cache that has seen no new generation is not stale.
func (s *Store) Generation() uint64 { return s.admin.generation.Load() }

// Account implements [metering.Accounts].
func (s *Store) Account(ctx context.Context, id metering.AccountID) (metering.Account, error) {
	if err := s.ready(ctx); err != nil {
		return metering.Account{}, err
	}
	s.admin.mu.RLock()
	defer s.admin.mu.RUnlock()
	a, ok := s.admin.accounts[id]
	if !ok {
		return metering.Account{}, fmt.Errorf("account %s: %w", id, metering.ErrNotFound)
	}
	return a.Clone(), nil
}

// Accounts implements [metering.Accounts].
func (s *Store) Accounts(ctx context.Context) ([]metering.Account, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	s.admin.mu.RLock()
	defer s.admin.mu.RUnlock()
	list := make([]metering.Account, 0, len(s.admin.accounts))
	for _, a := range s.admin.accounts {
		list = append(list, a.Clone())
	}
	slices.SortFunc(list, func(a, b metering.Account) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// PutAccount implements [metering.Accounts].
func (s *Store) PutAccount(ctx context.Context, a metering.Account) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	r := &s.admin
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.accounts[a.ID].Version != a.Version {
		return fmt.Errorf("account %s: %w", a.ID, metering.ErrVersion)
	}
	a = a.Clone()
	a.Version++
	r.accounts[a.ID] = a
	s.book.SetAccount(a)
	r.note(metering.Change{Account: a.ID})
	return nil
}

// KeyByHash implements [metering.Keys].
func (s *Store) KeyByHash(ctx context.Context, hash [32]byte) (metering.Key, error) {
	if err := s.ready(ctx); err != nil {
		return metering.Key{}, err
	}
	s.admin.mu.RLock()
	id, ok := s.admin.hashes[hash]
	s.admin.mu.RUnlock()
	if !ok {
		return metering.Key{}, fmt.Errorf("key by hash: %w", metering.ErrNotFound)
	}
	return s.Key(ctx, id)
}

// Key implements [metering.Keys].
func (s *Store) Key(ctx context.Context, id metering.KeyID) (metering.Key, error) {
	if err := s.ready(ctx); err != nil {
		return metering.Key{}, err
	}
	s.admin.mu.RLock()
	k, ok := s.admin.keys[id]
	s.admin.mu.RUnlock()
	if !ok {
		return metering.Key{}, fmt.Errorf("key %s: %w", id, metering.ErrNotFound)
	}
	return s.withLastUse(k.Clone()), nil
}

// Keys implements [metering.Keys]. It yields the keys of the moment at which the loop began.
func (s *Store) Keys(ctx context.Context, f metering.KeyFilter) iter.Seq2[metering.Key, error] {
	return func(yield func(metering.Key, error) bool) {
		list, err := s.selected(ctx, f)
		if err != nil {
			yield(metering.Key{}, err)
			return
		}
		slices.SortFunc(list, func(a, b metering.Key) int {
			return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
		})
		if f.Newest {
			slices.Reverse(list)
		}
		list = list[min(max(0, f.Offset), len(list)):]
		if f.Limit > 0 {
			list = list[:min(f.Limit, len(list))]
		}
		for _, k := range list {
			if err := s.ready(ctx); err != nil {
				yield(metering.Key{}, err)
				return
			}
			if !yield(s.withLastUse(k.Clone()), nil) {
				return
			}
		}
	}
}

// CountKeys implements [metering.Keys].
func (s *Store) CountKeys(ctx context.Context, f metering.KeyFilter) (map[metering.KeyState]int, error) {
	list, err := s.selected(ctx, f)
	if err != nil {
		return nil, err
	}
	counts := map[metering.KeyState]int{}
	for _, k := range list {
		counts[k.State(f.At)]++
	}
	return counts, nil
}

// selected are the keys that a filter selects, in no order. What they point to never changes.
func (s *Store) selected(ctx context.Context, f metering.KeyFilter) (list []metering.Key, err error) {
	if err = s.ready(ctx); err == nil {
		err = f.Check()
	}
	if err != nil {
		return nil, err
	}
	s.admin.mu.RLock()
	defer s.admin.mu.RUnlock()
	for _, k := range s.admin.keys {
		if f.Selects(&k) {
			list = append(list, k)
		}
	}
	return list, nil
}

func (s *Store) withLastUse(k metering.Key) metering.Key {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	k.LastUsedAt = nil
	if at, ok := s.ledger.lastUsed[k.ID]; ok {
		k.LastUsedAt = &at
	}
	return k
}

// PutKeys implements [metering.Keys].
func (s *Store) PutKeys(ctx context.Context, keys ...metering.Key) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	r := &s.admin
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.check(keys); err != nil {
		return err
	}
	changes := make([]metering.Change, 0, len(keys))
	for _, k := range keys {
		delete(r.hashes, r.keys[k.ID].Hash)
		k = k.Clone()
		k.Version++
		r.keys[k.ID] = k
		r.hashes[k.Hash] = k.ID
		changes = append(changes, metering.Change{Key: k.ID})
	}
	if len(changes) > 0 {
		r.note(changes...)
	}
	return nil
}

// check refuses the whole list if one of its keys cannot be written.
func (r *registry) check(keys []metering.Key) error {
	seen := make(map[metering.KeyID]bool, len(keys))
	hashes := make(map[[32]byte]bool, len(keys))
	for _, k := range keys {
		if _, ok := r.accounts[k.Account]; !ok {
			return fmt.Errorf("key %s: account %s: %w", k.ID, k.Account, metering.ErrNotFound)
		}
		if seen[k.ID] || r.keys[k.ID].Version != k.Version {
			return fmt.Errorf("key %s: %w", k.ID, metering.ErrVersion)
		}
		if owner, ok := r.hashes[k.Hash]; hashes[k.Hash] || ok && owner != k.ID {
			return fmt.Errorf("key %s: another key has the same secret", k.ID)
		}
		seen[k.ID] = true
		hashes[k.Hash] = true
	}
	return nil
}

// Watch implements [metering.Keys].
func (s *Store) Watch(ctx context.Context, since int64) iter.Seq2[metering.Change, error] {
	r := &s.admin
	return metering.ChangeFeed{
		Last: func(context.Context) (int64, error) { return locked(r, r.last), nil },
		After: func(_ context.Context, seq int64) ([]metering.Change, error) {
			return locked(r, func() []metering.Change { return r.changes[min(max(0, seq-r.pruned), r.last()-r.pruned):] }), nil
		},
		Changed: func() <-chan struct{} { return locked(r, func() chan struct{} { return r.changed }) },
		Err:     s.ready, Closing: r.ended,
	}.Changes(ctx, since)
}

// locked reads under the lock.
func locked[T any](r *registry, read func() T) T {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return read()
}

// prices is the versions of the plans.
type prices struct {
	mu       sync.Mutex
	versions []metering.PlanVersion
}

// PlanVersions implements [metering.Store].
func (s *Store) PlanVersions(ctx context.Context) ([]metering.PlanVersion, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	s.prices.mu.Lock()
	defer s.prices.mu.Unlock()
	list := slices.Clone(s.prices.versions)
	for i, v := range list {
		if v.Plan.PriceCents != nil {
			list[i].Plan.PriceCents = new(*v.Plan.PriceCents)
		}
	}
	return list, nil
}

// PutPlanVersions implements [metering.Store].
func (s *Store) PutPlanVersions(ctx context.Context, versions ...metering.PlanVersion) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	s.prices.mu.Lock()
	defer s.prices.mu.Unlock()
	added, _, err := metering.StoredVersions(s.prices.versions, versions)
	s.prices.versions = append(s.prices.versions, added...)
	return err
}
