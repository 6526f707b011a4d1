package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

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

// Samples implements [hostedspf.Store].
func (s *Store) Samples(ctx context.Context, id string, since time.Time, limit int) ([]hostedspf.Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	list := []hostedspf.Sample{}
	e := s.byID[id]
	if e == nil {
		return list, nil
	}
	for _, r := range slices.Backward(e.history) {
		if len(list) == limit || r.ResolvedAt.Before(since) {
			break
		}
		list = append(list, r.Sample())
	}
	return list, nil
}
