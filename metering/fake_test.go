package metering

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fakeStore holds accounts and keys in maps. Its Watch reports only the changes that a test sends on changes, like a
// store that other processes write to, and ends with the error that the test sends on broken.
type fakeStore struct {
	Ledger  // nil: the gate's tests charge nothing
	papers  // nil: nor do they read records
	pricing // nil: nor do they import plans

	mu       sync.Mutex
	accounts map[AccountID]Account
	keys     map[KeyID]Key
	fault    error                                  // of every read
	reading  func(ctx context.Context) error        // called by KeyByHash before it reads
	begin    func(op Op) (Begun, error)             // serves Begin
	settled  []Ticket                               // arguments of Settle
	reads    atomic.Int64                           // calls of KeyByHash
	watches  atomic.Int64                           // calls of Watch
	counter  atomic.Uint64                          // Generation
	changes  chan Change                            // what Watch yields
	broken   chan error                             // the error with which Watch ends
	raced    func(put func(Key) error, k Key) error // called by PutKeys instead of writing, once
}

// generational is a fakeStore that counts its changes.
type generational struct{ *fakeStore }

func (s generational) Generation() uint64 { return s.counter.Load() }

func newFakeStore() *fakeStore {
	return &fakeStore{
		accounts: make(map[AccountID]Account), keys: make(map[KeyID]Key),
		changes: make(chan Change), broken: make(chan error),
	}
}

func (s *fakeStore) Close() error { return nil }

func (s *fakeStore) Account(_ context.Context, id AccountID) (Account, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.accounts[id]
	if !ok {
		return a, ErrNotFound
	}
	return a, s.fault
}

func (s *fakeStore) Accounts(context.Context) ([]Account, error) { return nil, nil }

func (s *fakeStore) PutAccount(_ context.Context, a Account) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accounts[a.ID].Version != a.Version {
		return ErrVersion
	}
	a.Version++
	s.accounts[a.ID] = a
	s.counter.Add(1)
	return nil
}

func (s *fakeStore) KeyByHash(ctx context.Context, hash [32]byte) (Key, error) {
	s.reads.Add(1)
	s.mu.Lock()
	reading, fault := s.reading, s.fault
	var found Key
	for _, k := range s.keys {
		if k.Hash == hash {
			found = k
		}
	}
	s.mu.Unlock()
	if reading != nil {
		if err := reading(ctx); err != nil {
			return Key{}, err
		}
	}
	if found.ID == "" && fault == nil {
		fault = ErrNotFound
	}
	return found, fault
}

func (s *fakeStore) Key(_ context.Context, id KeyID) (Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.keys[id]
	if !ok {
		return k, ErrNotFound
	}
	return k, s.fault
}

func (s *fakeStore) Keys(context.Context, KeyFilter) iter.Seq2[Key, error] {
	return func(func(Key, error) bool) {}
}

func (s *fakeStore) CountKeys(context.Context, KeyFilter) (map[KeyState]int, error) { return nil, nil }

func (s *fakeStore) Sums(context.Context, EntryFilter) (Sums, error) { return Sums{}, nil }

func (s *fakeStore) Hours(context.Context, AccountID, []KeyID, time.Time) ([]HourSum, error) {
	return nil, nil
}

func (s *fakeStore) PutKeys(_ context.Context, keys ...Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if raced := s.raced; raced != nil {
		s.raced = nil
		if err := raced(s.put, keys[0]); err != nil {
			return err
		}
	}
	for _, k := range keys {
		if s.keys[k.ID].Version != k.Version {
			return ErrVersion
		}
		if _, ok := s.accounts[k.Account]; !ok {
			return ErrNotFound
		}
	}
	for _, k := range keys {
		_ = s.put(k)
	}
	s.counter.Add(1)
	return nil
}

func (s *fakeStore) put(k Key) error {
	k.Version++
	s.keys[k.ID] = k
	return nil
}

func (s *fakeStore) Watch(ctx context.Context, _ int64) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		s.watches.Add(1)
		for {
			select {
			case <-ctx.Done():
				yield(Change{}, ctx.Err())
				return
			case err := <-s.broken:
				yield(Change{}, err)
				return
			case c := <-s.changes:
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

func (s *fakeStore) Begin(_ context.Context, op Op) (Begun, error) { return s.begin(op) }

func (s *fakeStore) Settle(_ context.Context, t Ticket, _ Outcome) (Balance, error) {
	s.settled = append(s.settled, t)
	return Balance{Used: t.Credits}, nil
}

func (s *fakeStore) Cancel(context.Context, Ticket) error { return ErrClosed }

// house is a store with one account and one live key, and its time of creation.
type house struct {
	*fakeStore
	admin   Admin
	account Account
	key     Key
	secret  Secret
	now     time.Time
}

// newHouse builds a house on a plan for a key with the scope dns:read, changed by edit.
func newHouse(t testing.TB, plan PlanID, edit func(*KeyRequest)) *house {
	t.Helper()
	h := &house{fakeStore: newFakeStore(), now: time.Now().UTC().Truncate(time.Microsecond)}
	h.admin = Admin{Store: generational{h.fakeStore}, Clock: func() time.Time { return h.now }}
	var err error
	h.account, err = h.admin.CreateAccount(t.Context(), "example", plan)
	noError(t, err)
	r := KeyRequest{Account: h.account.ID, Name: "first", Scopes: []Scope{DNSRead}}
	if edit != nil {
		edit(&r)
	}
	h.key, h.secret, err = h.admin.CreateKey(t.Context(), r)
	noError(t, err)
	return h
}

// gate starts a gate on the house's store, with or without its generation.
func (h *house) gate(t testing.TB, counted bool) *Gate {
	t.Helper()
	config := GateConfig{Store: h.fakeStore}
	if counted {
		config.Store = generational{h.fakeStore}
	}
	g, err := NewGate(context.Background(), config)
	noError(t, err)
	t.Cleanup(g.Close)
	return g
}

// papers are Records under a name that does not hide the method Records.
type papers interface{ Records }

// pricing is likewise PlanVersions.
type pricing interface{ PlanVersions }

// PutRecords drops them.
func (s *fakeStore) PutRecords(context.Context, ...Record) error { return nil }
