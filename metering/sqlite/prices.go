package sqlite

import (
	"context"
	"errors"

	"github.com/diagkit/diagkit/metering"
)

// PlanVersions implements [metering.Store].
func (s *Store) PlanVersions(ctx context.Context) ([]metering.PlanVersion, error) {
	return nil, errors.ErrUnsupported
}

// PutPlanVersions implements [metering.Store].
func (s *Store) PutPlanVersions(ctx context.Context, versions ...metering.PlanVersion) error {
	return errors.ErrUnsupported
}
