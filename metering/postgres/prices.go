package postgres

import (
	"context"
	"errors"

	"github.com/diagkit/diagkit/metering"
)

// PlanVersions implements [metering.Store].
func (s *Store) PlanVersions(context.Context) ([]metering.PlanVersion, error) {
	return nil, errors.ErrUnsupported
}

// PutPlanVersions implements [metering.Store].
func (s *Store) PutPlanVersions(context.Context, ...metering.PlanVersion) error {
	return errors.ErrUnsupported
}
