package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/diagkit/diagkit/metering"
)

// pruneRows is how many rows are pruned per transaction.
const pruneRows = 1000

// The statements of a prune. A charge is removed together with its part of the balance, and the balance with its last
// charge, so that an audit holds at every moment. The lock excludes other prunes.
const (
	findOld = `SELECT account, period FROM balances WHERE period < $1 AND (account, period) > ($2, $3)
		ORDER BY account, period LIMIT $4`
	lockBalance  = "SELECT 1 FROM balances WHERE account = $1 AND period = $2 FOR UPDATE"
	pruneCharges = `WITH old AS (
		SELECT seq FROM ledger WHERE account = $1 AND period = $2 ORDER BY seq LIMIT $3
	), gone AS (
		DELETE FROM ledger l USING old WHERE l.account = $1 AND l.seq = old.seq RETURNING l.*
	)
	UPDATE balances b SET used = b.used - g.used, charges = b.charges - g.charges, overage = b.overage - g.overage,
		micros = b.micros - g.micros, chain = CASE WHEN g.chained THEN NULL ELSE b.chain END
	FROM (SELECT coalesce(sum(credits), 0) AS used, count(*) AS charges, coalesce(sum(overage), 0) AS overage,
			coalesce(sum(overage * rate), 0) AS micros,
			coalesce(max(seq) > (SELECT count FROM heads WHERE name = 'unchained'), false) AS chained
		FROM gone) g
	WHERE b.account = $1 AND b.period = $2 RETURNING g.charges`
	pruneBalance = "DELETE FROM balances WHERE account = $1 AND period = $2 AND charges = 0"
	pruneTaken   = "DELETE FROM taken WHERE account = $1 AND period = $2"
	pruneChanges = `DELETE FROM changes WHERE seq IN (
		SELECT seq FROM changes WHERE seq <= (SELECT max(seq) FROM changes) - $1 ORDER BY seq LIMIT $2)`
)

// Prune implements [metering.Pruner].
func (s *Store) Prune(ctx context.Context, keep metering.Retention) (pruned metering.Pruned, err error) {
	if err := s.ready(ctx); err != nil {
		return pruned, err
	}
	if err := keep.Check(s.clock()); err != nil {
		return pruned, err
	}
	for n := int64(pruneRows); err == nil && keep.Changes > 0 && n == pruneRows; pruned.Changes += n {
		var tag pgconn.CommandTag
		tag, err = s.pool.Exec(ctx, pruneChanges, keep.Changes, pruneRows)
		n = tag.RowsAffected()
	}
	if err == nil && keep.Ledger != (metering.Period{}) {
		err = s.pruneLedger(ctx, monthNumber(keep.Ledger), &pruned)
	}
	if end := ctx.Err(); end != nil && err != nil {
		err = end
	}
	if err != nil {
		return pruned, fmt.Errorf("forgetting the past: %w", s.failure(err))
	}
	return pruned, nil
}

// oldMonth is a balance that is to go.
type oldMonth struct {
	Account string
	Period  int32
}

// pruneLedger forgets the months before first.
func (s *Store) pruneLedger(ctx context.Context, first int32, pruned *metering.Pruned) error {
	for last := (oldMonth{}); ; {
		list, err := collect(ctx, s, pgx.RowToStructByPos[oldMonth], findOld, first, last.Account, last.Period, pruneRows)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, m := range list {
			for more := true; more; {
				if more, err = s.pruneMonth(ctx, m, pruned); err != nil {
					return err
				}
			}
		}
		last = list[len(list)-1]
	}
}

// pruneMonth removes some charges of a month, and reports whether there are more.
func (s *Store) pruneMonth(ctx context.Context, m oldMonth, pruned *metering.Pruned) (more bool, err error) {
	var charges int64
	var batch pgx.Batch // one transaction
	batch.Queue(lockBalance, m.Account, m.Period)
	batch.Queue(pruneCharges, m.Account, m.Period, pruneRows)
	batch.Queue(pruneBalance, m.Account, m.Period)
	batch.Queue(pruneTaken, m.Account, m.Period)
	results := s.pool.SendBatch(ctx, &batch)
	_, err = results.Exec()
	if err == nil {
		err = results.QueryRow().Scan(&charges)
	}
	if errors.Is(err, pgx.ErrNoRows) { // another has just finished it
		return false, results.Close()
	}
	var tag pgconn.CommandTag
	if err == nil {
		tag, err = results.Exec()
	}
	if err = errors.Join(err, results.Close()); err != nil {
		return false, err
	}
	pruned.Charges += charges
	pruned.Balances += tag.RowsAffected()
	return charges == pruneRows && tag.RowsAffected() == 0, nil
}
