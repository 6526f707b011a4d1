package sqlite

import (
	"encoding/json"
	"time"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering/sqlitedb"
	"zombiezen.com/go/sqlite"
)

func micros(t time.Time) int64 { return t.UnixMicro() }

func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }

// args binds the arguments of a statement, one after the other.
type args struct {
	stmt *sqlite.Stmt
	n    int
}

func (a *args) next() int { a.n++; return a.n }

func (a *args) text(s string) { a.stmt.BindText(a.next(), s) }
func (a *args) int(n int64)   { a.stmt.BindInt64(a.next(), n) }
func (a *args) bool(b bool)   { a.stmt.BindBool(a.next(), b) }

// time binds an instant, or NULL for the zero Time.
func (a *args) time(t time.Time) {
	if n := a.next(); t.IsZero() {
		a.stmt.BindNull(n)
	} else {
		a.stmt.BindInt64(n, micros(t))
	}
}

// position binds where a list goes on. The zero Position lies before everything.
func (a *args) position(p hostedspf.Position) {
	a.int(micros(p.Time))
	a.text(p.ID)
}

// list binds a list as JSON, or NULL if it is nil.
func list[E string | hostedspf.Record | hostedspf.Part](a *args, list []E) {
	n := a.next()
	if list == nil {
		a.stmt.BindNull(n)
		return
	}
	text, _ := json.Marshal(list) // strings and numbers can always be written
	a.stmt.BindText(n, string(text))
}

// fields reads the columns of a row, one after the other.
type fields struct {
	stmt *sqlite.Stmt
	n    int
}

func (f *fields) next() int { f.n++; return f.n - 1 }

func (f *fields) text() string { return f.stmt.ColumnText(f.next()) }
func (f *fields) int() int64   { return f.stmt.ColumnInt64(f.next()) }
func (f *fields) bool() bool   { return f.stmt.ColumnBool(f.next()) }

// list reads what the other list has bound.
func (f *fields) list(into any) error {
	n := f.next()
	if f.stmt.ColumnIsNull(n) {
		return nil
	}
	return json.Unmarshal([]byte(f.stmt.ColumnText(n)), into)
}

// time reads an instant; NULL is the zero Time.
func (f *fields) time() time.Time {
	n := f.next()
	if f.stmt.ColumnIsNull(n) {
		return time.Time{}
	}
	return instant(f.stmt.ColumnInt64(n))
}

// rows runs a prepared query and calls each for every row. Arguments are bound by bind.
func rows(conn *sqlite.Conn, sql string, bind func(*args), each func(*fields) error) error {
	return sqlitedb.Rows(conn, sql,
		func(stmt *sqlite.Stmt) {
			if bind != nil {
				bind(&args{stmt: stmt})
			}
		},
		func(stmt *sqlite.Stmt) error { return each(&fields{stmt: stmt}) })
}

func exec(conn *sqlite.Conn, sql string, bind func(*args)) error {
	return rows(conn, sql, bind, func(*fields) error { return nil })
}
