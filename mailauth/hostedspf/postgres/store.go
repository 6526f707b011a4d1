// Package postgres keeps hosted SPF in a PostgreSQL database, which may be that of the ledger: call [Open]. Its
// tables are its own, and are versioned separately.
//
// Any number of servers may share a database. A claim of a profile is a fence and a deadline in its row, taken by
// one statement: one server resolves a profile at a time, a server that dies blocks it only until the deadline, and
// its late writes are refused. Deadlines go by PostgreSQL's clock, which all servers share. Each change raises a
// counter in its own transaction, which name servers poll every second to serve what another server has resolved.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering/postgresdb"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// connections bounds the connections of a store, unless the URL has pool_max_conns. Calls are short and few.
	connections = 4
	// patience bounds a call, whatever its context: PostgreSQL may have disappeared silently.
	patience = 10 * time.Second
)

// Config configures a store.
type Config struct {
	// Clock decides when claims end. If nil, it is that of PostgreSQL.
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
	pool, err := postgresdb.Open(ctx, url, postgresdb.Config{Layout: tables, Connections: connections})
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

// clockSQL is the current time by the clock of the store, in microseconds; its parameter is what [Store.now] returns.
const clockSQL = "coalesce($1::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"

func (s *Store) now() *int64 {
	if s.clock == nil {
		return nil
	}
	return new(s.clock().UnixMicro())
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

// write runs an act that changes a profile, and then records the change: that comes last in a transaction, because
// others wait for its end.
func (s *Store) write(ctx context.Context, what string, act func(context.Context, pgx.Tx) error) error {
	return s.do(ctx, what, func(ctx context.Context) error {
		return postgresdb.Begin(ctx, s.pool, func(tx pgx.Tx) error {
			if err := act(ctx, tx); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "UPDATE spf_state SET version = version + 1")
			return err
		})
	})
}

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

// found makes an error of a row that is not there.
func found(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return hostedspf.ErrNotFound
	}
	return err
}

// SchemaVersion is the layout that this package reads and writes.
const SchemaVersion = 1

// tables are the tables of the package in a database. Instants are microseconds since 1970, and text that is compared
// sorts by its bytes.
var tables = postgresdb.Layout{Name: "hosted SPF", Table: "spf_layout", Steps: []string{
	`CREATE TABLE spf_state (
		one     boolean PRIMARY KEY CHECK (one),
		version bigint NOT NULL -- rises with every change of a profile
	);
	INSERT INTO spf_state VALUES (true, 0);

	CREATE TABLE spf_profiles (
		id           text COLLATE "C" PRIMARY KEY,
		owner        text COLLATE "C" NOT NULL,
		domain       text COLLATE "C" NOT NULL,
		include_host text COLLATE "C" NOT NULL UNIQUE,
		created      bigint  NOT NULL,
		next         bigint, -- NULL while it is paused
		paused       boolean NOT NULL,
		body         json    NOT NULL,
		fence        bigint  NOT NULL DEFAULT 0, -- of the last claim
		claimed      bigint  -- until when; NULL when it was finished or released
	);
	CREATE INDEX spf_profiles_created ON spf_profiles (created, id);
	CREATE INDEX spf_profiles_owner ON spf_profiles (owner, created, id);
	CREATE INDEX spf_profiles_next ON spf_profiles (next, id) WHERE next IS NOT NULL;

	CREATE TABLE spf_resolutions (
		profile     text COLLATE "C" NOT NULL REFERENCES spf_profiles ON DELETE CASCADE,
		at          bigint  NOT NULL,
		id          text COLLATE "C" NOT NULL,
		"trigger"   text    NOT NULL,
		status      text    NOT NULL,
		duration_ms bigint  NOT NULL,
		lookups     integer NOT NULL,
		added       text[]  NOT NULL,
		removed     text[]  NOT NULL,
		ip4         integer NOT NULL,
		ip6         integer NOT NULL,
		hash        text    NOT NULL,
		error       text    NOT NULL,
		PRIMARY KEY (profile, at, id)
	);`,
}}

// Migrate brings the tables of hosted SPF in a database up to [SchemaVersion], creating missing ones, and returns the
// old and new version; from is 0 if there were no tables. [Open] does it by itself.
func Migrate(ctx context.Context, url string) (from, to int, err error) {
	return tables.Migrate(ctx, url)
}
