package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering"
)

// Where many accounts charge now and then, each for itself has a round trip and a flush of the disk for little.
// Therefore statements that serve one job of one account travel together with those of others: one batch, one
// transaction. Busy accounts, whose groups are larger, have transactions of their own, so that nobody waits behind
// them.

// A statement is of one account, and skips what is locked.
type statement struct {
	sql  string
	args []any
	to   []any // where the columns of its only row go; nil for one that returns none
}

// runTogether runs statements in one transaction, one batch at a time, as larger batches cost less than several at once.
// They wait for no lock, so that no account waits for what is done elsewhere for another. Where one of them is at fault
// the others are run without it.
func (s *Store) runTogether(g *group[*statement, bool]) {
	ctx, cancel := working()
	defer cancel()
	err := s.send(ctx, g.jobs)
	if err == nil {
		return
	}
	for _, j := range g.jobs {
		j.err = err
		if len(g.jobs) > 1 && !errors.Is(unavailable(err), metering.ErrUnavailable) {
			j.err = s.send(ctx, []*job[*statement, bool]{j})
		}
	}
}

func (s *Store) send(ctx context.Context, jobs []*job[*statement, bool]) error {
	var batch pgx.Batch // one transaction
	for _, j := range jobs {
		j.out = false
		batch.Queue(j.in.sql, j.in.args...).Query(func(rows pgx.Rows) error {
			defer rows.Close()
			for rows.Next() {
				j.out = true
				if err := rows.Scan(j.in.to...); err != nil {
					return err
				}
			}
			rows.Close()
			j.out = j.out || rows.CommandTag().RowsAffected() > 0
			return rows.Err()
		})
	}
	return s.pool.SendBatch(ctx, &batch).Close()
}
