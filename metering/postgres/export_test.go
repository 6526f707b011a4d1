package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering/postgresdb"
)

// Traced is a configuration whose statements the tracer is told of.
func (c Config) Traced(tracer pgx.QueryTracer) Config { c.tracer = tracer; return c }

// Polling is a configuration that looks for changes as seldom as that.
func (c Config) Polling(pause time.Duration) Config { c.poll = pause; return c }

// SweepAll sweeps once, now.
func (s *Store) SweepAll() { s.sweepAll() }

// Pooled reports whether the store keeps nothing on a connection beyond a transaction.
func (s *Store) Pooled() bool { return postgresdb.Pooled(s.pool) }

// FirstLayout makes the tables as they were at first.
var FirstLayout = migrations[0]
