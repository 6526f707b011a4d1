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

// Config configures a store. The zero value is useful.
type Config struct {
	Clock func() time.Time // decides when claims end; nil means time.Now
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

// ready rejects a call whose context has ended or whose store is closed. The caller holds the lock.
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
	i, _ := slices.BinarySearchFunc(s.ordered, &p, func(a *entry, b *hostedspf.Profile) int {
		return compare(a.profile.CreatedAt, a.profile.ID, b.CreatedAt, b.ID)
	})
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

func (e *entry) claimed(now time.Time) bool { return now.Before(e.until) }

// Due implements [hostedspf.Store].
func (s *Store) Due(ctx context.Context, now time.Time, limit int) ([]hostedspf.Due, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	clock := s.clock()
	var list []hostedspf.Due
	for _, e := range s.ordered {
		p := &e.profile
		if !p.IsPaused && !p.NextResolveAt.IsZero() && !p.NextResolveAt.After(now) && !e.claimed(clock) {
			list = append(list, hostedspf.Due{ID: p.ID, At: p.NextResolveAt})
		}
	}
	slices.SortFunc(list, func(a, b hostedspf.Due) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return list[:min(limit, len(list))], nil
}

// Claim implements [hostedspf.Store].
func (s *Store) Claim(ctx context.Context, id string, lease time.Duration) (hostedspf.Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(ctx, id)
	if err != nil {
		return hostedspf.Claim{}, err
	}
	now := s.clock()
	if e.claimed(now) {
		return hostedspf.Claim{}, hostedspf.ErrClaimed
	}
	e.fence++
	e.until = now.Add(lease)
	return hostedspf.Claim{ProfileID: id, Fence: e.fence, Until: e.until}, nil
}

// Finish implements [hostedspf.Store].
func (s *Store) Finish(ctx context.Context, c hostedspf.Claim, o hostedspf.Outcome) (hostedspf.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return hostedspf.Profile{}, err
	}
	e := s.byID[c.ProfileID]
	if e == nil || e.fence != c.Fence || !e.claimed(s.clock()) {
		return hostedspf.Profile{}, hostedspf.ErrLapsed
	}
	e.until = time.Time{}
	o.Apply(&e.profile)
	r := o.Resolution.Clone()
	i, _ := slices.BinarySearchFunc(e.history, r, func(a, b hostedspf.Resolution) int {
		return compare(a.ResolvedAt, a.ID, b.ResolvedAt, b.ID)
	})
	e.history = slices.Insert(e.history, i, r)
	oldest := r.ResolvedAt.Add(-hostedspf.HistoryAge)
	e.history = slices.DeleteFunc(e.history, func(r hostedspf.Resolution) bool { return r.ResolvedAt.Before(oldest) })
	s.version++
	return e.profile.Clone(), nil
}

// Release implements [hostedspf.Store].
func (s *Store) Release(ctx context.Context, c hostedspf.Claim) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	if e := s.byID[c.ProfileID]; e != nil && e.fence == c.Fence {
		e.until = time.Time{}
	}
	return nil
}

// Resolutions implements [hostedspf.Store].
func (s *Store) Resolutions(ctx context.Context, q hostedspf.HistoryQuery) ([]hostedspf.Resolution, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	list := []hostedspf.Resolution{}
	e := s.byID[q.ProfileID]
	if e == nil {
		return list, nil
	}
	for _, r := range slices.Backward(e.history) {
		switch {
		case len(list) == q.Limit:
			return list, nil
		case q.Status != "" && r.Status != q.Status,
			!q.Since.IsZero() && r.ResolvedAt.Before(q.Since),
			!q.Until.IsZero() && !r.ResolvedAt.Before(q.Until),
			!q.Before.IsZero() && compare(r.ResolvedAt, r.ID, q.Before.Time, q.Before.ID) >= 0:
		default:
			list = append(list, r.Clone())
		}
	}
	return list, nil
}
