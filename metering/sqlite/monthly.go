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
				FROM balances b JOIN names n ON n.id = b.account WHERE b.period = :period`,
				func(stmt *sqlite.Stmt) { stmt.SetInt64(":period", monthNumber(p)) },
				func(stmt *sqlite.Stmt) error {
					settled[metering.AccountID(stmt.ColumnText(0))] = hold.Month{
						Used: stmt.ColumnInt64(1), Charges: stmt.ColumnInt64(2),
						Overage: stmt.ColumnInt64(3), Micros: stmt.ColumnInt64(4),
					}
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
