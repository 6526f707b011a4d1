package sqlite

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

const recordColumns = "SELECT account, kind, id, version, due, at, body FROM records "

func scanDocument(stmt *sqlite.Stmt) metering.Record {
	r := metering.Record{
		Account: metering.AccountID(stmt.ColumnText(0)), Kind: stmt.ColumnText(1), ID: stmt.ColumnText(2),
		Version: stmt.ColumnInt64(3), At: instant(stmt.ColumnInt64(5)), Body: make([]byte, stmt.ColumnLen(6)),
	}
	if due := columnInstant(stmt, 4); due != nil {
		r.Due = *due
	}
	stmt.ColumnBytes(6, r.Body)
	return r
}

// Record implements [metering.Records].
func (s *Store) Record(
	ctx context.Context, account metering.AccountID, kind, id string,
) (r metering.Record, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return sqlitedb.Rows(conn, recordColumns+"WHERE account = ?1 AND kind = ?2 AND id = ?3",
			sqlitedb.Args(account, kind, id),
			func(stmt *sqlite.Stmt) error { r = scanDocument(stmt); return nil })
	})
	if err == nil && r.Version == 0 {
		err = metering.ErrNotFound
	}
	if err != nil {
		return metering.Record{}, fmt.Errorf("%s %s of %s: %w", kind, id, account, err)
	}
	return r, nil
}

// Records implements [metering.Records]. Between two pages no connection is held.
func (s *Store) Records(ctx context.Context, f metering.RecordFilter) iter.Seq2[metering.Record, error] {
	return metering.RecordPages(ctx, f, s.recordPage)
}

func (s *Store) recordPage(
	ctx context.Context, f metering.RecordFilter, last *metering.Record, size int,
) (list []metering.Record, err error) {
	sql, args := recordQuery(f, last, size)
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return sqlitedb.Rows(conn, sql, sqlitedb.Args(args...),
			func(stmt *sqlite.Stmt) error { list = append(list, scanDocument(stmt)); return nil })
	})
	return list, err
}

// recordQuery selects the records behind last. It names only the conditions that a filter has, and the order is that of
// an index.
func recordQuery(f metering.RecordFilter, last *metering.Record, size int) (sql string, args []any) {
	order, where, args := "at", []string{"kind = ?"}, []any{f.Kind}
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if f.Account != "" {
		add("account = ?", f.Account)
	}
	if f.ID != "" {
		add("id = ?", f.ID)
	}
	turn, behind := "", ">"
	if f.Newest {
		turn, behind = " DESC", "<"
	}
	if !f.DueBy.IsZero() {
		order = "due"
		add("due IS NOT NULL AND due <= ?", micros(f.DueBy))
	}
	if !f.Before.IsZero() {
		add("at < ?", ceilMicros(f.Before))
	}
	if last != nil {
		at := last.At
		if order == "due" {
			at = last.Due
		}
		add("("+order+", id, account) "+behind+" (?, ?, ?)", micros(at), last.ID, last.Account)
	}
	return recordColumns + "WHERE " + strings.Join(where, " AND ") + " ORDER BY " + order + turn + ", id" + turn +
		", account" + turn + " LIMIT ?", append(args, size)
}

// ceilMicros rounds up, so that what is stored to the microsecond compares as the instant does.
func ceilMicros(t time.Time) int64 { return micros(t.Add(time.Microsecond - time.Nanosecond)) }

// PutRecords implements [metering.Records].
func (s *Store) PutRecords(ctx context.Context, records ...metering.Record) error {
	if err := s.ready(ctx); err != nil || len(records) == 0 {
		return err
	}
	if err := metering.CheckRecords(records); err != nil {
		return err
	}
	return s.administer(ctx, func(w *writer) error {
		for i := range records {
			if err := w.putRecord(&records[i]); err != nil {
				return records[i].Refused(err)
			}
		}
		return nil
	}, nil)
}

// putRecord writes or removes one record.
func (w *writer) putRecord(r *metering.Record) error {
	known, stored := false, int64(0)
	err := sqlitedb.Rows(w.conn, `SELECT r.version FROM accounts a
		LEFT JOIN records r ON r.account = a.id AND r.kind = ?2 AND r.id = ?3 WHERE a.id = ?1`,
		sqlitedb.Args(r.Account, r.Kind, r.ID),
		func(stmt *sqlite.Stmt) error { known, stored = true, stmt.ColumnInt64(0); return nil })
	switch {
	case err != nil:
		return err
	case !known:
		return metering.ErrNotFound
	case stored != r.Version:
		return metering.ErrVersion
	case r.Body == nil:
		return sqlitedb.Exec(w.conn, "DELETE FROM records WHERE account = ?1 AND kind = ?2 AND id = ?3",
			sqlitedb.Args(r.Account, r.Kind, r.ID))
	}
	return sqlitedb.Exec(w.conn, `INSERT INTO records (account, kind, id, version, due, at, body)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
		ON CONFLICT (account, kind, id) DO UPDATE SET version = ?4, due = ?5, at = ?6, body = ?7`,
		sqlitedb.Args(r.Account, r.Kind, r.ID, r.Version+1, optional(&r.Due), micros(r.At), r.Body))
}
