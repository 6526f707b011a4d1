package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/diagkit/diagkit/metering"
)

const (
	// busyTimeout is how long a writer waits for another process to finish its transaction.
	busyTimeout = 10 * time.Second

	// readers is how many connections read beside the writer. Reads are short; more of them than
	// cores would only wait for each other.
	readers = 4
)

// open opens a connection, creating the file for its owner alone. SQLite gives the files that it
// puts beside the database the same mode.
func open(path string) (*sqlite.Conn, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	file.Close()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	conn.SetBusyTimeout(busyTimeout)
	if err := prepare(conn); err != nil {
		conn.Close()
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	return conn, nil
}

func prepare(conn *sqlite.Conn) error {
	var mode string
	err := sqlitex.ExecuteTransient(conn, "PRAGMA journal_mode = WAL", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			mode = stmt.ColumnText(0)
			return nil
		},
	})
	if err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system cannot keep a write-ahead log (journal mode %q)", mode)
	}
	return pragmas(conn,
		"synchronous = FULL", // a commit waits for the disk: only so it survives a loss of power
		"temp_store = MEMORY",
		"cache_size = -16384", // KiB
	)
}

func pragmas(conn *sqlite.Conn, list ...string) error {
	for _, p := range list {
		if err := sqlitex.ExecuteTransient(conn, "PRAGMA "+p, nil); err != nil {
			return fmt.Errorf("pragma %s: %w", p, err)
		}
	}
	return nil
}

// lockServer takes the lock that only one server may hold: an exclusive transaction on a file of its
// own. It works wherever SQLite does, disturbs no reader of the database, and the operating system
// releases it when the process ends in whatever way.
func lockServer(path string) (*sqlite.Conn, error) {
	path += "-lock"
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating the server's lock: %w", err)
	}
	file.Close()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, fmt.Errorf("opening the server's lock %s: %w", path, err)
	}
	conn.SetBusyTimeout(0)
	if err := sqlitex.ExecuteTransient(conn, "BEGIN EXCLUSIVE", nil); err != nil {
		conn.Close()
		if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy {
			return nil, ErrServing
		}
		return nil, fmt.Errorf("taking the server's lock %s: %w", path, err)
	}
	return conn, nil
}

// ErrServing means that another server has the file open. Holds live in its memory, so a second one
// would oversell.
var ErrServing = errors.New("another server has the database open")

// pool is the connections that read.
type pool struct {
	free chan *sqlite.Conn
}

func openPool(path string) (*pool, error) {
	p := &pool{free: make(chan *sqlite.Conn, readers)}
	for range readers {
		conn, err := open(path)
		if err == nil {
			p.free <- conn
			err = pragmas(conn, "query_only = ON")
		}
		if err != nil {
			p.close(len(p.free))
			return nil, err
		}
	}
	return p, nil
}

// close waits for connections to come back and closes them.
func (p *pool) close(count int) error {
	var errs []error
	for range count {
		errs = append(errs, (<-p.free).Close())
	}
	return errors.Join(errs...)
}

// read runs a short query on a free connection.
func (s *Store) read(ctx context.Context, query func(*sqlite.Conn) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	select {
	case conn := <-s.pool.free:
		defer func() { s.pool.free <- conn }()
		return query(conn)
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return metering.ErrClosed
	}
}

// scan runs a query that may take long: the end of the context interrupts it.
func (s *Store) scan(ctx context.Context, query func(*sqlite.Conn) error) error {
	return s.read(ctx, func(conn *sqlite.Conn) error {
		conn.SetInterrupt(ctx.Done())
		defer conn.SetInterrupt(nil)
		err := query(conn)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	})
}

// rows runs a prepared query and calls each for every row. Arguments are bound by bind.
func rows(conn *sqlite.Conn, sql string, bind func(*sqlite.Stmt), each func(*sqlite.Stmt) error) error {
	stmt, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	defer stmt.Reset()
	if bind != nil {
		bind(stmt)
	}
	for {
		row, err := stmt.Step()
		if err != nil || !row {
			return err
		}
		if err := each(stmt); err != nil {
			return err
		}
	}
}

// exec runs a prepared statement that returns no rows.
func exec(conn *sqlite.Conn, sql string, bind func(*sqlite.Stmt)) error {
	return rows(conn, sql, bind, func(*sqlite.Stmt) error { return nil })
}
