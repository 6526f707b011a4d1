package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering/postgresdb"
)

const (
	// connections is how many a store opens at most, unless the URL has pool_max_conns. Calls are short and few.
	connections = 4
	// patience bounds a call, whatever its context says: PostgreSQL may have gone without a word.
	patience = 10 * time.Second
)

var settings = map[string]string{
	"default_transaction_isolation":       "read committed",
	"idle_in_transaction_session_timeout": "5s", // a server that was cut off must not hold up the others
}

// Config says how a store behaves.
type Config struct {
	// Clock says when claims end. If nil, it is that of PostgreSQL.
	Clock diag.Clock
}

// A Store is a [hostedspf.Store] in a PostgreSQL database. Make one with [Open].
type Store struct {
	clock  diag.Clock
	pool   *pgxpool.Pool
	closed atomic.Bool
}

var _ hostedspf.Store = (*Store)(nil)

// Open connects to a database, creating or migrating the tables where needed.
func Open(ctx context.Context, url string, c Config) (*Store, error) {
	pool, err := postgresdb.Open(ctx, url, postgresdb.Config{Layout: tables, Connections: connections, Settings: settings})
	if err != nil {
		return nil, describe(ctx, "opening hosted SPF", err)
	}
	return &Store{clock: c.Clock, pool: pool}, nil
}

// Close implements [hostedspf.Store]. It waits for the calls under way. Further calls do nothing.
func (s *Store) Close() error {
	s.closed.Store(true)
	s.pool.Close()
	return nil
}

// clockSQL is the present by the clock of the store, in microseconds; its parameter is what [Store.now] returns.
const clockSQL = "coalesce($1::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"

// now is the present by the clock of the configuration; nil without one.
func (s *Store) now() *int64 {
	if s.clock == nil {
		return nil
	}
	us := s.clock().UnixMicro()
	return &us
}

func (s *Store) do(ctx context.Context, what string, act func(context.Context) error) error {
	if s.closed.Load() {
		return hostedspf.ErrClosed
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := act(patient)
	if err != nil && s.closed.Load() && ctx.Err() == nil {
		return hostedspf.ErrClosed
	}
	return describe(ctx, what, err)
}

func (s *Store) write(ctx context.Context, what string, act func(context.Context, pgx.Tx) error) error {
	return s.do(ctx, what, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return act(ctx, tx) })
	})
}

// describe says what failed, unless the caller has given up.
func describe(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case postgresdb.Unavailable(err):
		return fmt.Errorf("%s: %w: %w", what, hostedspf.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Version implements [hostedspf.Store]. It rises, and is the same for all servers.
func (s *Store) Version(ctx context.Context) (version int64, err error) {
	err = s.do(ctx, "reading the version of hosted SPF", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, "SELECT version FROM spf_state").Scan(&version)
	})
	return version, err
}

// changed notes that a profile is not what it was. It comes last in a transaction, since others wait for its end.
func changed(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "UPDATE spf_state SET version = version + 1")
	return err
}

// found makes an error of a row that is not there.
func found(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return hostedspf.ErrNotFound
	}
	return err
}
