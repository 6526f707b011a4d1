package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

const (
	// busyTimeout is how long one waits for the transactions of others before giving up. They take
	// milliseconds, except for a disk that hangs.
	busyTimeout = 10 * time.Second

	// busyPause is how long one waits between two tries. A ledger under load is free for moments only: who
	// looks seldom, as SQLite's own handler does after a while, never meets one.
	busyPause = time.Millisecond

	// readers is how many connections read beside the one that writes. Reads are short.
	readers = 2
)

// open opens a connection, creating the file for its owner alone. SQLite gives the files that it puts beside
// the database the same mode.
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
	mode := ""
	err := rows(conn, "PRAGMA journal_mode = WAL", nil, func(f *fields) error { mode = f.text(); return nil })
	if err == nil && mode != "wal" {
		err = fmt.Errorf("the file system cannot keep a write-ahead log (journal mode %q)", mode)
	}
	for _, pragma := range []string{
		"synchronous = FULL", // a commit waits for the disk: only so it survives a loss of power
		"temp_store = MEMORY",
	} {
		if err == nil {
			err = sqlitex.ExecuteTransient(conn, "PRAGMA "+pragma, nil)
		}
	}
	return err
}

// begin begins a transaction that writes, as soon as no other does.
func begin(ctx context.Context, conn *sqlite.Conn) error {
	conn.SetBusyTimeout(0) // it is here that one waits, since SQLite does not know the context
	pause := time.NewTimer(0)
	defer pause.Stop()
	limit := time.NewTimer(busyTimeout)
	defer limit.Stop()
	for {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := exec(conn, "BEGIN IMMEDIATE", nil)
		if err == nil || sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy {
			return err
		}
		select {
		case <-limit.C:
			return fmt.Errorf("other processes write without a pause: %w", err)
		default:
			pause.Reset(busyPause)
		}
	}
}

// transact runs an act in a transaction: all of it happens or nothing. It waits for its turn until the context
// ends; an act that has begun is short, and not interrupted.
func transact(ctx context.Context, conn *sqlite.Conn, act func() error) (err error) {
	if err := begin(ctx, conn); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done && !conn.AutocommitEnabled() { // also after a panic
			err = errors.Join(err, exec(conn, "ROLLBACK", nil))
		}
	}()
	if err := act(); err != nil {
		return err
	}
	err = exec(conn, "COMMIT", nil)
	done = err == nil
	return err
}

// rows runs a prepared query and calls each for every row. Arguments are bound by bind.
func rows(conn *sqlite.Conn, sql string, bind func(*args), each func(*fields) error) error {
	stmt, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	defer stmt.Reset()
	if bind != nil {
		bind(&args{stmt: stmt})
	}
	for {
		row, err := stmt.Step()
		if err != nil || !row {
			return err
		}
		if err := each(&fields{stmt: stmt}); err != nil {
			return err
		}
	}
}

// exec runs a prepared statement that returns no rows.
func exec(conn *sqlite.Conn, sql string, bind func(*args)) error {
	return rows(conn, sql, bind, func(*fields) error { return nil })
}
