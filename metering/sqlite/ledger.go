package sqlite

import (
	"context"
	"fmt"
	"iter"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/hold"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

// Balance implements [metering.Ledger]. A store for administration does not see what a server holds.
func (s *Store) Balance(ctx context.Context, id metering.AccountID, p metering.Period) (metering.Balance, error) {
	if err := s.ready(ctx); err != nil {
		return metering.Balance{}, err
	}
	if !s.config.Admin {
		return s.book.Balance(ctx, id, p)
	}
	// What is in the book would grow old: it is the server that charges.
	account, err := s.Account(ctx, id)
	if err != nil {
		return metering.Balance{}, err
	}
	m, err := source{s}.Month(ctx, id, p)
	if err != nil {
		return metering.Balance{}, err
	}
	return m.Balance(p, account, s.config.Plans, 0), nil
}

// pageEntries is how many entries are read at once. Between two pages no connection is held, so that
// a slow reader keeps nobody waiting and the log from being emptied.
const pageEntries = 512

// Entries implements [metering.Ledger].
func (s *Store) Entries(ctx context.Context, f metering.EntryFilter) iter.Seq2[metering.Entry, error] {
	return metering.Pages(f.Limit, pageEntries, func(last *metering.Entry, size int) ([]metering.Entry, error) {
		from := f
		if last != nil {
			from.After = last.Seq
		}
		return s.page(ctx, from, size)
	})
}

func (s *Store) page(ctx context.Context, f metering.EntryFilter, size int) ([]metering.Entry, error) {
	sql, args := entryQuery(f, size)
	return all(ctx, s, func(stmt *sqlite.Stmt) (metering.Entry, error) {
		e := scanEntry(stmt)
		e.Account, e.Key = metering.AccountID(stmt.ColumnText(9)), metering.KeyID(stmt.ColumnText(10))
		e.Endpoint = stmt.ColumnText(11)
		return e, nil
	}, "reading the ledger", sql, args...)
}

// entryColumns are those of the ledger, without the names of account, key and endpoint.
const entryColumns = "l.seq, l.request, l.credits, l.period, l.at, l.overage, l.rate, l.ceiling, l.chain"

func scanEntry(stmt *sqlite.Stmt) metering.Entry {
	e := metering.Entry{
		Seq: stmt.ColumnInt64(0), RequestID: stmt.ColumnText(1), Credits: stmt.ColumnInt64(2),
		Period: metering.PeriodNumbered(stmt.ColumnInt64(3)), At: instant(stmt.ColumnInt64(4)), Overage: stmt.ColumnInt64(5),
		OverageRate: stmt.ColumnInt64(6), Ceiling: stmt.ColumnInt64(7),
	}
	if !stmt.ColumnIsNull(8) {
		e.Chain = new(metering.Chain)
		stmt.ColumnBytes(8, e.Chain[:])
	}
	return e
}

// entryQuery names only the conditions that a filter has. Of an account it reads the blocks in which
// that has charges; both loops run in the order of the ledger, so that nothing is sorted.
func entryQuery(f metering.EntryFilter, size int) (sql string, args []any) {
	from, order := "ledger l WHERE l.seq > ?1", "l.seq"
	args = []any{max(0, f.After), size}
	if f.Account != "" {
		args = append(args, f.Account)
		from = fmt.Sprintf(`ledger_blocks b CROSS JOIN ledger l
			WHERE b.account = (SELECT id FROM names WHERE name = ?3) AND b.block >= ?1 / %[1]d
			AND l.seq >= b.block * %[1]d AND l.seq < (b.block + 1) * %[1]d AND l.seq > ?1
			AND l.account = b.account`, blockSize)
		order = "b.block, l.seq"
	}
	if f.Key != "" {
		args = append(args, f.Key)
		from += fmt.Sprintf(" AND l.key = (SELECT id FROM names WHERE name = ?%d)", len(args))
	}
	if f.Period != nil {
		args = append(args, f.Period.Number())
		from += fmt.Sprintf(" AND l.period = ?%d", len(args))
	}
	if f.Overage {
		from += " AND l.overage > 0"
	}
	return "SELECT " + entryColumns + `, a.name, k.name, e.name
		FROM (SELECT l.* FROM ` + from + " ORDER BY " + order + ` LIMIT ?2) l
		LEFT JOIN names a ON a.id = l.account LEFT JOIN names k ON k.id = l.key LEFT JOIN names e ON e.id = l.endpoint
		ORDER BY l.seq`, args
}

// Audit implements [metering.Ledger]. It sees one state of the database, however long it takes.
func (s *Store) Audit(ctx context.Context) (audit metering.Audit, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) (err error) {
		if err := sqlitedb.Exec(conn, "BEGIN", nil); err != nil {
			return err
		}
		defer func() {
			conn.SetInterrupt(nil) // the transaction must end whatever has become of the context
			if endErr := sqlitedb.Exec(conn, "COMMIT", nil); err == nil {
				err = endErr
			}
		}()
		audit, err = auditAll(conn)
		return err
	})
	if err != nil {
		return metering.Audit{}, fmt.Errorf("auditing: %w", err)
	}
	return audit, nil
}

// Balances implements [metering.Monthly]. A store for administration does not see what a server holds.
func (s *Store) Balances(ctx context.Context, p metering.Period) iter.Seq2[metering.MonthBalance, error] {
	return func(yield func(metering.MonthBalance, error) bool) {
		held := s.book.Held(p)
		settled := map[metering.AccountID]hold.Month{}
		err := s.read(ctx, func(conn *sqlite.Conn) error {
			return sqlitedb.Rows(conn, `SELECT n.name, b.used, b.charges, b.overage, b.micros
				FROM balances b JOIN names n ON n.id = b.account WHERE b.period = ?1`, sqlitedb.Args(p.Number()),
				func(stmt *sqlite.Stmt) error {
					var id metering.AccountID
					var m hold.Month
					sqlitedb.Scan(stmt, &id, &m.Used, &m.Charges, &m.Overage, &m.Micros)
					settled[id] = m
					return nil
				})
		})
		if err != nil {
			yield(metering.MonthBalance{}, err)
			return
		}
		hold.Balances(p, settled, held, yield)
	}
}

// auditAll gives an auditor all there is.
func auditAll(conn *sqlite.Conn) (audit metering.Audit, err error) {
	names := make(map[int64]string)
	keys := make(map[metering.KeyID]bool)
	accounts := 0
	auditor := metering.Auditor{Known: func(id metering.KeyID) bool { return keys[id] }}
	var plans int64
	var newest metering.Chain
	for _, q := range []struct {
		sql string
		row func(*sqlite.Stmt)
	}{
		{"SELECT id, name FROM names", func(stmt *sqlite.Stmt) { names[stmt.ColumnInt64(0)] = stmt.ColumnText(1) }},
		{"SELECT id FROM keys", func(stmt *sqlite.Stmt) { keys[metering.KeyID(stmt.ColumnText(0))] = true }},
		{"SELECT count(*) FROM accounts", func(stmt *sqlite.Stmt) { sqlitedb.Scan(stmt, &accounts) }},
		{"SELECT count FROM heads WHERE name = 'unchained'",
			func(stmt *sqlite.Stmt) { sqlitedb.Scan(stmt, &auditor.Unchained) }},
		{"SELECT " + entryColumns + ", l.account, l.key, l.endpoint FROM ledger l ORDER BY l.seq",
			func(stmt *sqlite.Stmt) {
				e := scanEntry(stmt)
				e.Account = metering.AccountID(names[stmt.ColumnInt64(9)])
				e.Key, e.Endpoint = metering.KeyID(names[stmt.ColumnInt64(10)]), names[stmt.ColumnInt64(11)]
				auditor.Entry(e)
			}},
		{"SELECT account, period, used, charges, overage, micros, peak, chain FROM balances", func(stmt *sqlite.Stmt) {
			var b metering.Sealed
			var account, period int64
			sqlitedb.Scan(stmt, &account, &period, &b.Used, &b.Charges, &b.Overage, &b.Micros, &b.Peak, &b.Chain)
			b.Account, b.Period = metering.AccountID(names[account]), metering.PeriodNumbered(period)
			auditor.Balance(b)
		}},
		{"SELECT count, chain FROM heads WHERE name = 'plans'",
			func(stmt *sqlite.Stmt) { sqlitedb.Scan(stmt, &plans, &newest) }},
	} {
		err := sqlitedb.Rows(conn, q.sql, nil, func(stmt *sqlite.Stmt) error { q.row(stmt); return nil })
		if err != nil {
			return audit, err
		}
	}
	versions, err := readPlans(conn)
	if err != nil {
		return audit, err
	}
	auditor.Plans(versions, plans, newest)
	return auditor.Finish(accounts), nil
}
