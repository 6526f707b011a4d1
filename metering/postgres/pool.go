package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/diagkit/diagkit/metering"
)

// connections is how many a store opens at most, unless the URL has pool_max_conns. An account needs two of
// them, however busy it is.
const connections = 16

// settings are those of each connection. The ones of the URL come first.
var settings = map[string]string{
	"application_name": "diagd",

	// Every condition of every decision was thought through under this level.
	"default_transaction_isolation": "read committed",

	// A plan for parameters of any value is made once. Statements of the hot path go from the account to its
	// rows by an index, and must go on doing so when the statistics of a table say that it is empty. A plain
	// scan of an index also marks what is dead in it, a bitmap scan does not.
	"plan_cache_mode":   "force_generic_plan",
	"enable_seqscan":    "off",
	"enable_bitmapscan": "off",
	"enable_hashjoin":   "off",
	"enable_mergejoin":  "off",
	"jit":               "off",

	// A server that was cut off in the middle of a Begin must not hold up the account on the others.
	"idle_in_transaction_session_timeout": "5s",
}

// openPool migrates the database and opens the connections.
func openPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err) // it hides the password
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = connections
	}
	if _, ok := config.ConnConfig.RuntimeParams["application_name"]; !ok {
		config.ConnConfig.RuntimeParams["application_name"] = settings["application_name"]
	}
	for name, value := range settings {
		if _, ok := config.ConnConfig.RuntimeParams[name]; !ok {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", unavailable(err))
	}
	_, _, err = migrate(ctx, conn)
	if err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))); err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", unavailable(err))
	}
	return pool, nil
}

// unavailable marks an error of the machine, the network or another transaction: what may pass.
func unavailable(err error) error {
	if err == nil || errors.Is(err, metering.ErrUnavailable) || errors.Is(err, context.Canceled) || !passing(err) {
		return err
	}
	return fmt.Errorf("%w: %w", metering.ErrUnavailable, err)
}

// passing tells the errors that may go away from those that a caller or a programmer has made.
func passing(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case pg.Code == "25006", // read only: a standby, or what was the primary
			pg.Code == "25P03", // idle in a transaction for too long
			pg.Code == "55P03": // a lock is not available
			return true
		}
		switch pg.Code[:min(2, len(pg.Code))] {
		case "08", // connection
			"40", // serialization, deadlock
			"53", // disk full, out of memory, too many connections
			"57", // shut down, statement cancelled
			"58": // input or output
			return true
		}
		return false
	}
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		pgconn.SafeToRetry(err) || strings.Contains(err.Error(), "conn closed")
}

// failure is unavailable for an error that was met at work: it lets the store doubt its health.
func (s *Store) failure(err error) error {
	if err = unavailable(err); errors.Is(err, metering.ErrUnavailable) {
		s.health.doubt()
	}
	return err
}
