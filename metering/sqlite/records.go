package sqlite

import (
	"context"
	"iter"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

const recordColumns = "SELECT account, kind, id, version, due, at, body FROM records "

func scanDocument(stmt *sqlite.Stmt) (r metering.Record, _ error) {
	sqlitedb.Scan(stmt, &r.Account, &r.Kind, &r.ID, &r.Version, &r.Due, &r.At, &r.Body)
	return r, nil
}

// Record implements [metering.Records].
func (s *Store) Record(ctx context.Context, account metering.AccountID, kind, id string) (metering.Record, error) {
	return one(ctx, s, scanDocument, kind+" "+id+" of "+string(account),
		recordColumns+"WHERE account = ?1 AND kind = ?2 AND id = ?3", account, kind, id)
}

// Records implements [metering.Records]. Between two pages no connection is held.
func (s *Store) Records(ctx context.Context, f metering.RecordFilter) iter.Seq2[metering.Record, error] {
	return metering.RecordPages(f, func(end string, args ...any) ([]metering.Record, error) {
		return all(ctx, s, scanDocument, "listing records", recordColumns+end, args...)
	})
}

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
	var stored int64
	known, err := sqlitedb.Get(w.conn, `SELECT r.version FROM accounts a
		LEFT JOIN records r ON r.account = a.id AND r.kind = ?2 AND r.id = ?3 WHERE a.id = ?1`,
		sqlitedb.Args(r.Account, r.Kind, r.ID), &stored)
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
		sqlitedb.Args(r.Account, r.Kind, r.ID, r.Version+1, &r.Due, r.At, r.Body))
}
