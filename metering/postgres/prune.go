package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering"
)

// pruneRows is how many rows one transaction forgets.
const pruneRows = 1000

// The statements of a prune. A charge goes together with its part of the balance, so that an audit holds at
// every moment.
const (
	findOld = "SELECT account, period FROM balances WHERE period < $1 ORDER BY account, period LIMIT $2"

	pruneCharges = `WITH old AS (
		SELECT seq, credits FROM ledger WHERE account = $1 AND period = $2 ORDER BY seq LIMIT $3
	), gone AS (
		DELETE FROM ledger l USING old WHERE l.account = $1 AND l.seq = old.seq RETURNING l.credits
	), rest AS (
		UPDATE balances SET used = used - (SELECT coalesce(sum(credits), 0) FROM gone),
			charges = charges - (SELECT count(*) FROM gone) WHERE account = $1 AND period = $2
	)
	SELECT count(*) FROM gone`

	pruneBalance = "DELETE FROM balances WHERE account = $1 AND period = $2 AND used = 0 AND charges = 0"

	pruneChanges = `DELETE FROM changes WHERE seq IN (SELECT seq FROM changes
		WHERE seq <= (SELECT seq FROM changes ORDER BY seq DESC OFFSET $1 LIMIT 1) ORDER BY seq LIMIT $2)`
)

// Prune implements [metering.Pruner].
func (s *Store) Prune(ctx context.Context, keep metering.Retention) (p metering.Pruned, err error) {
	if err := s.ready(ctx); err != nil {
		return p, err
	}
	if keep.Ledger != (metering.Period{}) {
		err = s.pruneLedger(ctx, keep.Ledger, &p)
	}
	for n := int64(pruneRows); err == nil && keep.Changes > 0 && n == pruneRows; p.Changes += n {
		n, err = s.pruneOne(ctx, pruneChanges, keep.Changes, pruneRows)
	}
	if err != nil {
		if end := ctx.Err(); end != nil {
			err = end
		}
		return p, fmt.Errorf("forgetting the past: %w", err)
	}
	return p, nil
}

// pruneLedger forgets the months before first.
func (s *Store) pruneLedger(ctx context.Context, first metering.Period, p *metering.Pruned) error {
	type month struct {
		account string
		period  int32
	}
	for {
		list, err := collect(ctx, s, func(row pgx.CollectableRow) (m month, err error) {
			err = row.Scan(&m.account, &m.period)
			return m, err
		}, findOld, monthNumber(first), pruneRows)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, m := range list {
			for n := int64(pruneRows); n == pruneRows; p.Charges += n {
				err := s.pool.QueryRow(ctx, pruneCharges, m.account, m.period, pruneRows).Scan(&n)
				if err != nil {
					return s.failure(err)
				}
			}
			n, err := s.pruneOne(ctx, pruneBalance, m.account, m.period)
			if err == nil && n == 0 {
				err = fmt.Errorf("the balance of %s in %v is not what its charges add up to", m.account, periodOf(m.period))
			}
			if err != nil {
				return err
			}
			p.Balances += n
		}
	}
}

func (s *Store) pruneOne(ctx context.Context, sql string, args ...any) (int64, error) {
	tag, err := s.pool.Exec(ctx, sql, args...)
	return tag.RowsAffected(), s.failure(err)
}
