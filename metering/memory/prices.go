package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/diagkit/diagkit/metering"
)

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
	for i := range list {
		list[i].Plan.PriceCents = clonePointer(list[i].Plan.PriceCents)
	}
	return list, nil
}

// PutPlanVersions implements [metering.Store].
func (s *Store) PutPlanVersions(ctx context.Context, versions ...metering.PlanVersion) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	p := &s.prices
	p.mu.Lock()
	defer p.mu.Unlock()
	list := slices.Clone(p.versions)
	for _, v := range versions {
		stored, err := v.Stored(list)
		if err != nil {
			return err
		}
		list = append(list, stored)
	}
	p.versions = list
	return nil
}
