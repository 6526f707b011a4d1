// Package memory keeps hosted SPF profiles in memory, for tests, examples and servers that may forget: call [New].
// Nothing survives the process; every other promise of [hostedspf.Store] is kept.
//
//	store := memory.New(memory.Config{})
package memory

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

// Config says how a store behaves. The zero value is useful.
type Config struct {
	Clock func() time.Time // says when claims end; nil means time.Now
}

// A Store is a [hostedspf.Store] in memory. Make one with [New].
type Store struct {
	clock func() time.Time

	mu      sync.Mutex
	closed  bool
	version int64
	byID    map[string]*entry
	hosts   map[string]bool // include hosts in use
	ordered []*entry        // by creation time and id
}

var _ hostedspf.Store = (*Store)(nil)

type entry struct {
	profile hostedspf.Profile
	history []hostedspf.Resolution // oldest first
	fence   int64                  // of the last claim
	until   time.Time              // end of the claim that runs; zero without one
}

// New returns an empty store.
func New(c Config) *Store {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return &Store{clock: c.Clock, byID: map[string]*entry{}, hosts: map[string]bool{}}
}

// Close implements [hostedspf.Store].
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// ready refuses a call whose context has ended or whose store is closed. The caller holds the lock.
func (s *Store) ready(ctx context.Context) error {
	if s.closed {
		return hostedspf.ErrClosed
	}
	return ctx.Err()
}

// find returns the entry of a profile. The caller holds the lock.
func (s *Store) find(ctx context.Context, id string) (*entry, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	e := s.byID[id]
	if e == nil {
		return nil, hostedspf.ErrNotFound
	}
	return e, nil
}

func byCreation(a, b *entry) int {
	return compare(a.profile.CreatedAt, a.profile.ID, b.profile.CreatedAt, b.profile.ID)
}

func compare(at time.Time, aid string, bt time.Time, bid string) int {
	return cmp.Or(at.Compare(bt), cmp.Compare(aid, bid))
}

// Create implements [hostedspf.Store].
func (s *Store) Create(ctx context.Context, p hostedspf.Profile) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	if s.byID[p.ID] != nil || s.hosts[p.IncludeHost.String()] {
		return hostedspf.ErrTaken
	}
	e := &entry{profile: p.Clone()}
	s.byID[p.ID], s.hosts[p.IncludeHost.String()] = e, true
	i, _ := slices.BinarySearchFunc(s.ordered, e, byCreation)
	s.ordered = slices.Insert(s.ordered, i, e)
	s.version++
	return nil
}

// Profile implements [hostedspf.Store].
func (s *Store) Profile(ctx context.Context, id string) (hostedspf.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(ctx, id)
	if err != nil {
		return hostedspf.Profile{}, err
	}
	return e.profile.Clone(), nil
}

// Profiles implements [hostedspf.Store].
func (s *Store) Profiles(ctx context.Context, q hostedspf.ProfileQuery) (hostedspf.ProfilePage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page := hostedspf.ProfilePage{}
	if err := s.ready(ctx); err != nil {
		return page, err
	}
	for _, e := range s.ordered {
		p := &e.profile
		if q.Owner != hostedspf.AnyOwner && p.Owner != q.Owner || !q.Domain.IsZero() && p.Domain != q.Domain {
			continue
		}
		page.Total++
		if len(page.Profiles) < q.Limit &&
			(q.After.IsZero() || compare(p.CreatedAt, p.ID, q.After.Time, q.After.ID) > 0) {
			page.Profiles = append(page.Profiles, p.Clone())
		}
	}
	return page, nil
}

// Update implements [hostedspf.Store].
func (s *Store) Update(
	ctx context.Context, id string, change func(*hostedspf.Profile) error,
) (hostedspf.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(ctx, id)
	if err != nil {
		return hostedspf.Profile{}, err
	}
	p := e.profile.Clone()
	if err := change(&p); err != nil {
		return hostedspf.Profile{}, err
	}
	e.profile = p.Clone()
	s.version++
	return p, nil
}

// Remove implements [hostedspf.Store].
func (s *Store) Remove(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	delete(s.byID, id)
	delete(s.hosts, e.profile.IncludeHost.String())
	s.ordered = slices.DeleteFunc(s.ordered, func(other *entry) bool { return other == e })
	s.version++
	return nil
}

// Version implements [hostedspf.Store].
func (s *Store) Version(ctx context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version, s.ready(ctx)
}
