package sqlite

import (
	"context"
	"fmt"
	"iter"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
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
		list, err := s.page(ctx, from, size)
		if err != nil {
			return nil, fmt.Errorf("reading the ledger: %w", err)
		}
		return list, nil
	})
}

func (s *Store) page(ctx context.Context, f metering.EntryFilter, size int) ([]metering.Entry, error) {
	sql, bind := entryQuery(f, size)
	list := make([]metering.Entry, 0, size)
	err := s.read(ctx, func(conn *sqlite.Conn) error {
		return sqlitedb.Rows(conn, sql, bind, func(stmt *sqlite.Stmt) error {
			list = append(list, metering.Entry{
				Seq: stmt.ColumnInt64(0), RequestID: stmt.ColumnText(1),
				Account: metering.AccountID(stmt.ColumnText(2)), Key: metering.KeyID(stmt.ColumnText(3)),
				Endpoint: stmt.ColumnText(4), Credits: stmt.ColumnInt64(5), Period: periodOf(stmt.ColumnInt64(6)),
				At: instant(stmt.ColumnInt64(7)),
			})
			return nil
		})
	})
	return list, err
}

// entryQuery names only the conditions that a filter has. Of an account it reads the blocks in which
// that has charges; both loops run in the order of the ledger, so that nothing is sorted.
func entryQuery(f metering.EntryFilter, size int) (sql string, bind func(*sqlite.Stmt)) {
	from, order := "ledger l WHERE l.seq > :after", "l.seq"
	if f.Account != "" {
		from = fmt.Sprintf(`ledger_blocks b CROSS JOIN ledger l
			WHERE b.account = (SELECT id FROM names WHERE name = :account) AND b.block >= :after / %[1]d
			AND l.seq >= b.block * %[1]d AND l.seq < (b.block + 1) * %[1]d AND l.seq > :after
			AND l.account = b.account`, blockSize)
		order = "b.block, l.seq"
	}
	if f.Key != "" {
		from += " AND l.key = (SELECT id FROM names WHERE name = :key)"
	}
	if f.Period != nil {
		from += " AND l.period = :period"
	}
	sql = `SELECT l.seq, l.request, a.name, k.name, e.name, l.credits, l.period, l.at
		FROM (SELECT l.* FROM ` + from + " ORDER BY " + order + ` LIMIT :size) l
		JOIN names a ON a.id = l.account JOIN names k ON k.id = l.key JOIN names e ON e.id = l.endpoint
		ORDER BY l.seq`
	return sql, func(stmt *sqlite.Stmt) {
		stmt.SetInt64(":after", max(0, f.After))
		stmt.SetInt64(":size", int64(size))
		if f.Account != "" {
			stmt.SetText(":account", string(f.Account))
		}
		if f.Key != "" {
			stmt.SetText(":key", string(f.Key))
		}
		if f.Period != nil {
			stmt.SetInt64(":period", monthNumber(*f.Period))
		}
	}
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
		return auditAll(conn, &audit)
	})
	if err != nil {
		return metering.Audit{}, fmt.Errorf("auditing: %w", err)
	}
	return audit, nil
}

func auditAll(conn *sqlite.Conn, audit *metering.Audit) error {
	err := sqlitedb.Rows(conn, `SELECT (SELECT count(*) FROM accounts), count(*), coalesce(sum(credits), 0) FROM ledger`, nil,
		func(stmt *sqlite.Stmt) error {
			audit.Accounts = stmt.ColumnInt(0)
			audit.Entries = stmt.ColumnInt64(1)
			audit.Credits = stmt.ColumnInt64(2)
			return nil
		})
	if err != nil {
		return err
	}
	for _, sql := range []string{auditBalances, auditPeaks, auditKeys} {
		err := sqlitedb.Rows(conn, sql, nil, func(stmt *sqlite.Stmt) error {
			audit.Faults = append(audit.Faults, metering.AuditFault{
				Account: metering.AccountID(stmt.ColumnText(0)), Period: periodOf(stmt.ColumnInt64(1)),
				Detail: stmt.ColumnText(2),
			})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// The queries of an audit return account, period and what is wrong.
const (
	auditBalances = `SELECT coalesce(n.name, ''), period, printf(
			'the balance says %d credits in %d charges, the ledger %d in %d',
			coalesce(b.used, 0), coalesce(b.charges, 0), coalesce(l.used, 0), coalesce(l.charges, 0))
		FROM (SELECT account, period, sum(credits) AS used, count(*) AS charges FROM ledger GROUP BY account, period) l
		FULL JOIN balances b USING (account, period)
		LEFT JOIN names n ON n.id = account
		WHERE l.used IS NOT b.used OR l.charges IS NOT b.charges
		ORDER BY 1, 2`
	auditPeaks = `SELECT coalesce(n.name, ''), period,
			printf('%d credits were used, the plan allowed %d', used, peak)
		FROM balances LEFT JOIN names n ON n.id = account
		WHERE used > peak ORDER BY 1, 2`
	auditKeys = `SELECT coalesce(a.name, ''), l.period,
			printf('key "%s" charged, but does not exist', coalesce(n.name, ''))
		FROM (SELECT key, min(account) AS account, min(period) AS period FROM ledger GROUP BY key) l
		LEFT JOIN names n ON n.id = l.key
		LEFT JOIN names a ON a.id = l.account
		WHERE n.name IS NULL OR n.name NOT IN (SELECT id FROM keys)
		ORDER BY 1, 2, 3`
)
