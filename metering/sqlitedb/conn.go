package sqlitedb

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Rows runs a prepared query and calls each for every row. Arguments are bound by bind, which may be nil.
func Rows(conn *sqlite.Conn, sql string, bind func(*sqlite.Stmt), each func(*sqlite.Stmt) error) error {
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

// Exec runs a prepared statement that returns no rows.
func Exec(conn *sqlite.Conn, sql string, bind func(*sqlite.Stmt)) error {
	return Rows(conn, sql, bind, func(*sqlite.Stmt) error { return nil })
}

// Get runs a query of at most one row, which it reads as Scan does, and reports whether there was one.
func Get(conn *sqlite.Conn, sql string, bind func(*sqlite.Stmt), to ...any) (found bool, err error) {
	err = Rows(conn, sql, bind, func(stmt *sqlite.Stmt) error { found = true; Scan(stmt, to...); return nil })
	return found, err
}

// Scan reads the columns of a row in order, into pointers to the types that [Args] binds. NULL sets a pointer to nil,
// and leaves other values unchanged.
func Scan(stmt *sqlite.Stmt, to ...any) {
	for i, pointer := range to {
		if !stmt.ColumnIsNull(i) {
			scan(stmt, i, reflect.ValueOf(pointer).Elem())
		}
	}
}

func scan(stmt *sqlite.Stmt, column int, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(stmt.ColumnText(column))
	case reflect.Bool:
		v.SetBool(stmt.ColumnBool(column))
	case reflect.Slice:
		v.SetBytes(make([]byte, stmt.ColumnLen(column)))
		stmt.ColumnBytes(column, v.Bytes())
	case reflect.Array:
		stmt.ColumnBytes(column, v.Slice(0, v.Len()).Bytes())
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		scan(stmt, column, v.Elem())
	case reflect.Struct:
		v.Set(reflect.ValueOf(time.UnixMicro(stmt.ColumnInt64(column)).UTC()))
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(uint64(stmt.ColumnInt64(column)))
	default:
		v.SetInt(stmt.ColumnInt64(column))
	}
}

// Args binds the parameters of a statement in their order: texts, numbers, booleans, bytes and instants (as
// microseconds since 1970), and pointers to them; nil and a pointer to the zero time are NULL.
func Args(values ...any) func(*sqlite.Stmt) {
	return func(stmt *sqlite.Stmt) {
		for i, value := range values {
			bind(stmt, i+1, reflect.ValueOf(value))
		}
	}
}

func bind(stmt *sqlite.Stmt, param int, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		stmt.BindText(param, v.String())
	case reflect.Bool:
		stmt.BindBool(param, v.Bool())
	case reflect.Slice:
		stmt.BindBytes(param, v.Bytes())
	case reflect.Pointer:
		if t, ok := v.Interface().(*time.Time); v.IsNil() || ok && t.IsZero() {
			stmt.BindNull(param)
		} else {
			bind(stmt, param, v.Elem())
		}
	case reflect.Struct:
		stmt.BindInt64(param, v.Interface().(time.Time).UnixMicro())
	default:
		stmt.BindInt64(param, v.Int())
	}
}

// Pragmas sets options of a connection, each as "name = value".
func Pragmas(conn *sqlite.Conn, list ...string) error {
	for _, p := range list {
		if err := sqlitex.ExecuteTransient(conn, "PRAGMA "+p, nil); err != nil {
			return fmt.Errorf("pragma %s: %w", p, err)
		}
	}
	return nil
}

// busyPause is how long Transact waits between two tries. A ledger under load is free for moments only: slow polling,
// as by SQLite's own handler after a while, never hits one.
const busyPause = time.Millisecond

// Transact runs an act in a transaction: all of it happens or nothing. It waits for its turn until the
// context ends; an act that has begun is short, and not interrupted.
func Transact(ctx context.Context, conn *sqlite.Conn, act func() error) (err error) {
	if err := begin(ctx, conn); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done && !conn.AutocommitEnabled() { // also after a panic
			err = errors.Join(err, Exec(conn, "ROLLBACK", nil))
		}
	}()
	if err := act(); err != nil {
		return err
	}
	err = Exec(conn, "COMMIT", nil)
	done = err == nil
	return err
}

// begin begins a transaction that writes, as soon as no other does.
func begin(ctx context.Context, conn *sqlite.Conn) error {
	conn.SetBusyTimeout(0) // it is here that one waits, since SQLite does not know the context
	defer conn.SetBusyTimeout(busyTimeout)
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
		err := Exec(conn, "BEGIN IMMEDIATE", nil)
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

// Unavailable reports whether an error is of the machine, which an operator can repair, and not of a statement or its
// arguments: the disk is full or fails, the lock of another process does not end, the file is damaged or was removed.
func Unavailable(err error) bool {
	if errors.Is(err, ErrReplaced) {
		return true
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultFull, sqlite.ResultIOErr, sqlite.ResultCantOpen,
		sqlite.ResultReadOnly, sqlite.ResultCorrupt, sqlite.ResultNotADB, sqlite.ResultProtocol, sqlite.ResultNoMem,
		sqlite.ResultPerm:
		return true
	}
	return false
}

// A Pool is connections that read. Make one with [File.Pool].
type Pool struct {
	free   chan *sqlite.Conn
	size   int
	closed chan struct{}
	ended  error
}

// Pool opens so many connections that read. From its end on a pool refuses reads with the error closed.
func (f *File) Pool(size int, closed error) (*Pool, error) {
	p := &Pool{free: make(chan *sqlite.Conn, size), size: size, closed: make(chan struct{}), ended: closed}
	for range size {
		conn, err := f.Connect()
		if err == nil {
			p.free <- conn
			err = Pragmas(conn, "query_only = ON")
		}
		if err != nil {
			p.size = len(p.free)
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

// Read runs a query on a free connection. The end of the context interrupts it.
func (p *Pool) Read(ctx context.Context, query func(*sqlite.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-p.closed:
		return p.ended
	default:
	}
	select {
	case conn := <-p.free:
		defer func() { p.free <- conn }()
		conn.SetInterrupt(ctx.Done())
		defer conn.SetInterrupt(nil)
		err := query(conn)
		if ctx.Err() != nil && sqlite.ErrCode(err).ToPrimary() == sqlite.ResultInterrupt {
			return ctx.Err()
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closed:
		return p.ended
	}
}

// Close waits for the reads under way and closes the connections. It is called once.
func (p *Pool) Close() error {
	close(p.closed)
	var errs []error
	for range p.size {
		errs = append(errs, (<-p.free).Close())
	}
	return errors.Join(errs...)
}
