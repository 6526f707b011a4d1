package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering/postgresdb"
)

// Traced returns a configuration whose statements the tracer receives.
func (c Config) Traced(tracer pgx.QueryTracer) Config { c.tracer = tracer; return c }

// Polling returns a configuration with a poll interval for changes.
func (c Config) Polling(pause time.Duration) Config { c.poll = pause; return c }

// SweepAll sweeps once, now.
func (s *Store) SweepAll() { s.sweepAll() }

// Pooled reports whether the store keeps nothing on a connection beyond a transaction.
func (s *Store) Pooled() bool { return postgresdb.Pooled(s.pool) }

// FirstLayout creates the tables of the first layout.
var FirstLayout = migrations[0]

// MakeReadOnly makes the store's connections refuse writes, like those to a standby.
func (s *Store) MakeReadOnly(ctx context.Context) error {
	for _, c := range s.pool.AcquireAllIdle(ctx) {
		_, err := c.Exec(ctx, "SET default_transaction_read_only = on")
		c.Release()
		if err != nil {
			return err
		}
	}
	return nil
}
