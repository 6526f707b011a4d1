package sqlite

import (
	"context"
	"iter"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/hold"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

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
