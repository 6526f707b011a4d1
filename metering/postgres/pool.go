package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/postgresdb"
)

// connections is the maximum number of a store, unless the URL has pool_max_conns. An account needs two of them,
// however busy it is.
const connections = 16

// settings are those of each connection. The ones of the URL come first. Behind a pooler each statement is planned
// again, for the current size of the tables.
var settings = map[string]string{
	// A plan for parameters of any value is made once. Statements of the hot path go from the account to its
	// rows by an index, and must go on doing so when the statistics of a table say that it is empty. A plain
	// scan of an index also marks what is dead in it, a bitmap scan does not.
	"plan_cache_mode":   "force_generic_plan",
	"enable_seqscan":    "off",
	"enable_bitmapscan": "off",
	"enable_hashjoin":   "off",
	"enable_mergejoin":  "off",
	"jit":               "off",
}

// openPool migrates the database, if it may, and opens the connections.
func openPool(ctx context.Context, url string, c Config) (*pgxpool.Pool, error) {
	pool, err := postgresdb.Open(ctx, url, postgresdb.Config{
		Layout: tables, Present: c.Present, Connections: connections, Settings: settings, Tracer: c.tracer,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", unavailable(err))
	}
	return pool, nil
}

// unavailable marks an error of the machine, the network or another transaction: a transient one.
func unavailable(err error) error {
	if err == nil || errors.Is(err, metering.ErrUnavailable) || errors.Is(err, context.Canceled) ||
		!postgresdb.Unavailable(err) {
		return err
	}
	return fmt.Errorf("%w: %w", metering.ErrUnavailable, err)
}

// failure is unavailable for an error that was met at work: it lets the store doubt its health.
func (s *Store) failure(err error) error {
	if err = unavailable(err); errors.Is(err, metering.ErrUnavailable) {
		s.health.doubt()
	}
	return err
}
