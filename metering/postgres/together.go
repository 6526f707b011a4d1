package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering"
)

// Where many accounts charge now and then, each for itself has a round trip and a flush of the disk for little.
// Therefore statements that serve one job of one account travel together with those of others: one batch, one
// transaction. Busy accounts, whose groups are larger, have transactions of their own, so that nobody waits behind
// them.

// A statement is of one account.
type statement struct {
	sql  string
	args []any
	to   []any // where the columns of its only row go; nil for one that returns none
}

// crowd carries statements of many accounts.
type crowd struct{ lanes lanes[*statement, bool] }

const (
	// crowdLanes is how many batches are under way at once: one waits for the disk while others are put together.
	crowdLanes = 4
	// maxCrowd bounds how long the first of a batch waits for the last.
	maxCrowd = 64
)

func (c *crowd) init(s *Store) {
	c.lanes.run = s.runTogether
	c.lanes.fits = func(*statement) (metering.Period, int) { return metering.Period{}, maxGroupBytes / maxCrowd }
}

// do runs a statement, and reports whether it has changed or returned a row. An account has always the same lane.
func (c *crowd) do(ctx context.Context, account metering.AccountID, st *statement) (bool, error) {
	lane := metering.AccountID("0")
	if account != "" {
		lane = metering.AccountID('0' + account[len(account)-1]%crowdLanes)
	}
	return c.lanes.do(ctx, lane, st)
}

// runTogether runs statements in one transaction, in the order of their accounts, so that nobody waits for somebody who
// waits for him. Where one of them is at fault the others are run without it.
func (s *Store) runTogether(g *group[*statement, bool]) {
	ctx, cancel := working()
	defer cancel()
	slices.SortFunc(g.jobs, func(a, b *job[*statement, bool]) int {
		return cmp.Compare(a.in.args[0].(metering.AccountID), b.in.args[0].(metering.AccountID))
	})
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
