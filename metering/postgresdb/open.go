package postgresdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connectTimeout bounds the time to connect, unless the URL has connect_timeout.
const connectTimeout = 5 * time.Second

// Config configures how a database is opened. Parameters of the URL come before it.
type Config struct {
	Layout      Layout
	Present     bool              // the tables must be there in this program's version; nothing is created or migrated
	Connections int               // at most; the URL's pool_max_conns comes first
	Settings    map[string]string // of each connection, but through a pooler: nothing may rest on them but speed
	Tracer      pgx.QueryTracer   // receives each statement but those of the layout; may be nil
}

// Open brings the layout up to date, unless it must be so already, and opens connections.
func Open(ctx context.Context, url string, c Config) (*pgxpool.Pool, error) {
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(url, "pool_max_conns=") {
		config.MaxConns = int32(c.Connections)
	}
	pooled := config.ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement
	if err = use(ctx, config.ConnConfig, func(conn *pgx.Conn) error {
		if !pooled {
			pooled, err = behindPooler(ctx, conn)
		}
		if err == nil && pooled {
			err = checkIsolation(ctx, conn)
		}
		if err == nil && c.Present {
			err = c.Layout.check(ctx, conn)
		} else if err == nil {
			_, err = c.Layout.migrateOn(ctx, conn)
		}
		return err
	}); err != nil {
		return nil, err
	}
	params := config.ConnConfig.RuntimeParams
	if pooled {
		config.ConnConfig.DefaultQueryExecMode = pooledMode
	} else {
		for name, value := range c.Settings {
			params[name] = cmp.Or(params[name], value)
		}
		params["default_transaction_isolation"] = isolation
	}
	config.ConnConfig.Tracer = c.Tracer
	config.ConnConfig.OnPgError = onError(config.ConnConfig.OnPgError)
	return pgxpool.NewWithConfig(ctx, config)
}

// onError closes connections that are of no use any more.
func onError(usable pgconn.PgErrorHandler) pgconn.PgErrorHandler {
	return func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		switch err.Code {
		case readOnly: // the name that has led to a standby may lead to the primary by now
			return false
		case "26000", "42P05": // a prepared statement is missing, or exists already
			err.Message += "; behind a pooler that does not show itself, the URL needs default_query_exec_mode=exec"
			return false
		}
		return usable(conn, err)
	}
}

// errURL says nothing about the URL: parts of a mistyped one may belong to a password.
var errURL = errors.New("the URL of PostgreSQL must be such as postgres://user:password@host:5432/database; " +
	"in a password, characters other than letters and digits are to be percent-encoded")

// CheckURL returns what is wrong with the URL of a database, without connecting to it.
func CheckURL(url string) error {
	_, err := parse(url)
	return err
}

// parse reads the URL of a database, whose parameters are those of libpq and of pgxpool.
func parse(text string) (*pgxpool.Config, error) {
	u, err := url.Parse(oneHost(text))
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Fragment != "" ||
		strings.Contains(u.Path+u.RawQuery, "@") || strings.Count(u.Path, "/") > 1 {
		return nil, errURL
	}
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, errURL
	}
	if !u.Query().Has("connect_timeout") {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if _, ok := config.ConnConfig.RuntimeParams["application_name"]; !ok {
		config.ConnConfig.RuntimeParams["application_name"] = "diagd"
	}
	return config, nil
}

// oneHost is a URL with the first of its hosts only: several are known to libpq and pgx alone.
func oneHost(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	hosts := strings.LastIndexByte(rest[:end], '@') + 1
	first, _, _ := strings.Cut(rest[hosts:end], ",")
	return scheme + "://" + rest[:hosts] + first + rest[end:]
}

// use runs an act on a dedicated connection, without prepared statements.
func use(ctx context.Context, config *pgx.ConnConfig, act func(*pgx.Conn) error) error {
	config = config.Copy()
	config.DefaultQueryExecMode = pooledMode
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		err = fmt.Errorf("connecting to PostgreSQL: %w", inLine{err})
		if strings.Contains(err.Error(), "unsupported startup parameter") {
			err = fmt.Errorf("%w; set it for the role instead (ALTER ROLE … SET …), as a pooler takes none", err)
		}
		return err
	}
	return errors.Join(act(conn), conn.Close(context.WithoutCancel(ctx)))
}

// inLine is an error on one line: that of a connection has a line for each address.
type inLine struct{ error }

func (e inLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }
func (e inLine) Unwrap() error { return e.error }

// readOnly is the error code of a standby, or of a former primary.
const readOnly = "25006"

// Unavailable reports whether an error is of the machine, the network or another transaction, and may go away by
// itself, and not of a statement or its arguments.
func Unavailable(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case readOnly,
			"25P03", // idle in a transaction for too long
			"55P03": // a lock is not available
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
	var connecting *pgconn.ConnectError
	return errors.As(err, &connecting) || errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		pgconn.SafeToRetry(err) || err != nil && strings.Contains(err.Error(), "conn closed")
}
