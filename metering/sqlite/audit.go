package sqlite

import (
	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

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
		{"SELECT count FROM heads WHERE name = 'unchained'", func(stmt *sqlite.Stmt) { sqlitedb.Scan(stmt, &auditor.Unchained) }},
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
		{"SELECT count, chain FROM heads WHERE name = 'plans'", func(stmt *sqlite.Stmt) { sqlitedb.Scan(stmt, &plans, &newest) }},
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
