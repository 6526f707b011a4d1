package sqlite

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

var _ metering.Pruner = (*Store)(nil)

const (
	// pruneRows is how many rows are read per transaction, so that charges wait for it only briefly.
	pruneRows = 500
	// pruneRest is the pause between transactions, as a multiple of the duration of the last one.
	pruneRest = 3
)

// pruneStep writes one transaction, and lets others write.
func (s *Store) pruneStep(ctx context.Context, act func(*writer) error) error {
	begun := time.Now()
	if err := s.administer(ctx, act, nil); err != nil {
		return err
	}
	rest := time.NewTimer(pruneRest * time.Since(begun))
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-ctx.Done(): // the next step says so
	case <-s.ctx.Done():
	}
	return nil
}

// Prune implements [metering.Pruner].
func (s *Store) Prune(ctx context.Context, keep metering.Retention) (pruned metering.Pruned, err error) {
	if err := s.ready(ctx); err != nil {
		return pruned, err
	}
	if err := keep.Check(s.config.Clock()); err != nil {
		return pruned, err
	}
	if err := s.pruneChanges(ctx, keep.Changes, &pruned); err != nil {
		return pruned, fmt.Errorf("pruning changes: %w", err)
	}
	if keep.Ledger != (metering.Period{}) {
		defer s.book.Forget(keep.Ledger)
		if err := s.pruneLedger(ctx, keep.Ledger.Number(), &pruned); err != nil {
			return pruned, fmt.Errorf("pruning the ledger: %w", err)
		}
	}
	return pruned, nil
}

// pruneChanges deletes from the front, and never the last, whose number would be given again.
func (s *Store) pruneChanges(ctx context.Context, keep int64, pruned *metering.Pruned) error {
	for more := keep > 0; more; {
		var n int64
		err := s.pruneStep(ctx, func(w *writer) error {
			err := sqlitedb.Exec(w.conn, `DELETE FROM changes WHERE seq IN
				(SELECT seq FROM changes WHERE seq <= (SELECT max(seq) FROM changes) - ?1 ORDER BY seq LIMIT ?2)`,
				sqlitedb.Args(keep, pruneRows))
			n = int64(w.conn.Changes())
			return err
		})
		if err != nil {
			return err
		}
		pruned.Changes += n
		more = n == pruneRows
	}
	return nil
}

// pruneLedger scans the ledger in order, until no balance of an earlier month is left. Old charges are at the front,
// so it rarely reads many that stay.
func (s *Store) pruneLedger(ctx context.Context, first int64, pruned *metering.Pruned) error {
	var after int64
	for more := true; more; {
		var step metering.Pruned
		next := after
		err := s.pruneStep(ctx, func(w *writer) (err error) {
			step = metering.Pruned{}
			next, more, err = w.pruneLedger(after, first, &step)
			return err
		})
		if err != nil {
			return err
		}
		after = next
		pruned.Charges += step.Charges
		pruned.Balances += step.Balances
	}
	return s.administer(ctx, func(w *writer) error {
		return sqlitedb.Exec(w.conn, "DELETE FROM ledger_blocks WHERE block < (SELECT min(seq) FROM ledger) / ?1",
			sqlitedb.Args(blockSize))
	}, nil)
}

// pruneSum is the total deleted of a month.
type pruneSum struct {
	hold.Month
	chained bool
}

// pruneLedger checks some rows after the given one, and returns the last of them and whether there is more to do.
func (w *writer) pruneLedger(after, first int64, pruned *metering.Pruned) (last int64, more bool, err error) {
	old := false
	_, err = sqlitedb.Get(w.conn, `SELECT EXISTS (SELECT 1 FROM balances WHERE period < ?1),
			(SELECT max(seq) FROM (SELECT seq FROM ledger WHERE seq > ?2 ORDER BY seq LIMIT ?3))`,
		sqlitedb.Args(first, after, pruneRows), &old, &last)
	if err != nil || !old || last == 0 {
		return after, false, err
	}
	sums := make(map[sumKey]*pruneSum)
	err = sqlitedb.Rows(w.conn, `DELETE FROM ledger
			WHERE seq > ?1 AND seq <= ?2 AND period < ?3 AND seq < (SELECT max(seq) FROM ledger)
			RETURNING account, period, credits, overage, rate,
				seq > (SELECT count FROM heads WHERE name = 'unchained')`,
		sqlitedb.Args(after, last, first),
		func(stmt *sqlite.Stmt) error {
			k := sumKey{stmt.ColumnInt64(0), stmt.ColumnInt64(1)}
			if sums[k] == nil {
				sums[k] = new(pruneSum)
			}
			p := hold.Parts{Credits: stmt.ColumnInt64(2), Overage: stmt.ColumnInt64(3), Rate: stmt.ColumnInt64(4)}
			sums[k].Month = sums[k].Plus(1, p)
			sums[k].chained = sums[k].chained || stmt.ColumnBool(5)
			pruned.Charges++
			return nil
		})
	if err != nil {
		return after, false, err
	}
	for k, s := range sums {
		if err := w.lessen(k, s); err != nil {
			return after, false, err
		}
	}
	err = sqlitedb.Exec(w.conn, "DELETE FROM balances WHERE period < ?1 AND charges = 0", sqlitedb.Args(first))
	pruned.Balances += int64(w.conn.Changes())
	return last, true, err
}

// lessen takes charges that were deleted out of a balance, and its chain if they were of it.
func (w *writer) lessen(k sumKey, s *pruneSum) error {
	delete(w.chains, k) // a clock that was set back may go on with the month
	return sqlitedb.Exec(w.conn, `UPDATE balances SET used = used - ?3, charges = charges - ?4,
		overage = overage - ?5, micros = micros - ?6, chain = iif(?7, NULL, chain)
		WHERE account = ?1 AND period = ?2`,
		sqlitedb.Args(k.account, k.period, s.Used, s.Charges, s.Overage, s.Micros, s.chained))
}
