package postgresdb

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A pooler in transaction mode assigns a server for one transaction at a time: settings of a connection and prepared
// statements are lost, and notifications do not arrive. Statements are then sent in full each time, which costs
// PostgreSQL a plan for each.
const pooledMode = pgx.QueryExecModeCacheDescribe

// Pooled reports whether a database was found, or is declared (by default_query_exec_mode in its URL), to be behind a
// pooler: no connection then has a state that outlasts a transaction.
func Pooled(pool *pgxpool.Pool) bool {
	return pool.Config().ConnConfig.DefaultQueryExecMode == pooledMode
}

// behindPooler reports whether a pooler is in between: it assigns its own process ids to the connections of its
// clients.
func behindPooler(ctx context.Context, conn *pgx.Conn) (bool, error) {
	results, err := conn.PgConn().Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		return false, err
	}
	return string(results[0].Rows[0][0]) != strconv.FormatUint(uint64(conn.PgConn().PID()), 10), nil
}

// isolation is the level that every condition and decision is designed for.
const isolation = "read committed"

// checkIsolation refuses a database whose default isolation differs, when the connection cannot set it.
func checkIsolation(ctx context.Context, conn *pgx.Conn) error {
	var is string
	err := conn.QueryRow(ctx, "SELECT current_setting('default_transaction_isolation')").Scan(&is)
	if err == nil && is != isolation {
		err = fmt.Errorf("behind a pooler, default_transaction_isolation must be %q, it is %q: "+
			"set it for the role (ALTER ROLE … SET …)", isolation, is)
	}
	return err
}

// Idle ends a transaction of a server that was cut off in the middle of it, so that it blocks no others. It applies
// until the end of the transaction.
const Idle = "set_config('idle_in_transaction_session_timeout', '5s', true)"

// Begin runs an act in a transaction, on a connection or a pool of them.
func Begin(ctx context.Context, db interface {
	BeginTx(context.Context, pgx.TxOptions) (pgx.Tx, error)
}, act func(pgx.Tx) error) error {
	options := pgx.TxOptions{BeginQuery: "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT " + Idle}
	return pgx.BeginTxFunc(ctx, db, options, act)
}
