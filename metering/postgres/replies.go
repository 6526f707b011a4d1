package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering"
)

// trimRows is how many bodies are dropped per transaction.
const trimRows = 1000

// The oldest bodies of a line go until the rest has room; their claims stay. The row of the line is locked
// first, so that what follows sees what others have dropped.
const (
	lockLine   = "SELECT bytes FROM lines WHERE account = $1 AND line = $2 FOR UPDATE"
	dropBodies = `WITH old AS (
		SELECT id, bytes FROM (
			SELECT id, bytes, sum(bytes) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) - bytes AS before
			FROM replies WHERE account = $1 AND line = $2 AND bytes > 0 ORDER BY id LIMIT $4
		) o WHERE before < (SELECT bytes FROM lines WHERE account = $1 AND line = $2) - $3
	), dropped AS (
		UPDATE replies r SET form = $5, header = '', body = '', bytes = 0 FROM old
		WHERE r.account = $1 AND r.line = $2 AND r.id = old.id AND r.bytes > 0 RETURNING old.bytes
	)
	UPDATE lines SET bytes = bytes - (SELECT coalesce(sum(bytes), 0) FROM dropped)
	WHERE account = $1 AND line = $2`
)

// trim drops bodies of the lines that have just been given more than they have room for. Where that fails the
// next charge tries again.
func (s *Store) trim(ctx context.Context, account metering.AccountID, c *charges) {
	for line, bytes := range c.kept {
		limit := c.limits[line]
		if limit == 0 || bytes <= limit {
			continue
		}
		var batch pgx.Batch // one transaction
		batch.Queue(lockLine, account, line)
		batch.Queue(dropBodies, account, line, limit, trimRows, metering.GoneReply)
		if err := s.pool.SendBatch(ctx, &batch).Close(); err != nil {
			_ = s.failure(err)
		}
	}
}

const (
	// sweepPause is the time between two sweeps, and sweepRows how many rows one transaction deletes. A sweep
	// goes on while it finds that many.
	sweepPause = 10 * time.Second
	sweepRows  = 500
)

// The statements of a sweep. Rows locked by others are skipped.
const (
	// Begin drops lapsed holds when it needs their credits; this is for idle accounts.
	findLapsed   = "SELECT DISTINCT account FROM holds WHERE lease <= $1 LIMIT $2"
	findExpired  = `SELECT account, line, hash, id FROM replies WHERE expires <= $1 ORDER BY expires LIMIT $2`
	sweepReplies = `WITH old AS (
		SELECT r.account, r.line, r.hash, r.id
		FROM unnest($2::text[], $3::bytea[], $4::bigint[]) AS c (line, hash, id)
		JOIN replies r ON r.account = $1 AND r.line = c.line AND r.hash = c.hash AND r.id = c.id
		ORDER BY r.line, r.hash, r.id FOR UPDATE OF r SKIP LOCKED
	), gone AS (
		DELETE FROM replies r USING old
		WHERE r.account = $1 AND r.line = old.line AND r.hash = old.hash AND r.id = old.id RETURNING r.line, r.bytes
	)
	UPDATE lines l SET bytes = greatest(0, l.bytes - g.bytes)
	FROM (SELECT line, sum(bytes) AS bytes FROM gone GROUP BY line) g WHERE l.account = $1 AND l.line = g.line`
)

// sweep removes lapsed and expired rows until the store closes. Its errors are ignored: charges report them, and the
// next tick retries.
func (s *Store) sweep() {
	tick := time.NewTicker(sweepPause)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			s.sweepAll()
		}
	}
}

func (s *Store) sweepAll() {
	if s.doubt != nil && s.doubt() != nil {
		return
	}
	now := s.clock()
	for _, sweep := range []func(time.Time) (int, error){s.sweepHolds, s.sweepReplies} {
		for n, err := sweepRows, error(nil); err == nil && n >= sweepRows && s.ctx.Err() == nil; {
			n, err = sweep(now)
		}
	}
}

// sweepHolds drops holds that lapsed some time ago, account by account.
func (s *Store) sweepHolds(now time.Time) (int, error) {
	before := micros(now.Add(-metering.ClaimLease))
	accounts, err := collect(s.ctx, s, pgx.RowTo[string], findLapsed, before, sweepRows)
	for _, account := range accounts {
		if err == nil {
			_, err = s.pool.Exec(s.ctx, dropLapsed, account, before)
		}
	}
	return len(accounts), err
}

// sweepReplies deletes expired replies, account by account.
func (s *Store) sweepReplies(now time.Time) (int, error) {
	rows, err := s.pool.Query(s.ctx, findExpired, micros(now), sweepRows)
	if err != nil {
		return 0, err
	}
	type columns struct {
		lines  []string
		hashes [][]byte
		ids    []int64
	}
	found := make(map[string]*columns)
	var account, line string
	var hash []byte
	var id int64
	tag, err := pgx.ForEachRow(rows, []any{&account, &line, &hash, &id}, func() error {
		c := found[account]
		if c == nil {
			c = new(columns)
			found[account] = c
		}
		c.lines, c.hashes, c.ids = append(c.lines, line), append(c.hashes, append([]byte(nil), hash...)), append(c.ids, id)
		return nil
	})
	if err != nil {
		return 0, err
	}
	for account, c := range found {
		if _, err := s.pool.Exec(s.ctx, sweepReplies, account, c.lines, c.hashes, c.ids); err != nil {
			return 0, err
		}
	}
	return int(tag.RowsAffected()), nil
}
