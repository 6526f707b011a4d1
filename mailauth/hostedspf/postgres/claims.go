package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

// Due implements [hostedspf.Store].
func (s *Store) Due(ctx context.Context, now time.Time, limit int) (list []hostedspf.Due, err error) {
	err = s.do(ctx, "looking for profiles that are due", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `SELECT id, next FROM spf_profiles
			WHERE next <= $2 AND NOT paused AND (claimed IS NULL OR claimed <= `+clockSQL+`)
			ORDER BY next, id LIMIT $3`, s.now(), now.UnixMicro(), limit)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (d hostedspf.Due, err error) {
			var at int64
			err = row.Scan(&d.ID, &at)
			d.At = instant(at)
			return d, err
		})
		return err
	})
	return list, err
}

func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }

// Claim implements [hostedspf.Store]. Of servers that claim at once the first has changed the row when the next
// one's statement looks at it.
func (s *Store) Claim(ctx context.Context, id string, lease time.Duration) (claim hostedspf.Claim, err error) {
	err = s.do(ctx, "claiming "+id, func(ctx context.Context) error {
		var until int64
		err := s.pool.QueryRow(ctx, `UPDATE spf_profiles SET fence = fence + 1, claimed = `+clockSQL+` + $3
			WHERE id = $2 AND (claimed IS NULL OR claimed <= `+clockSQL+`) RETURNING fence, claimed`,
			s.now(), id, lease.Microseconds()).Scan(&claim.Fence, &until)
		if errors.Is(err, pgx.ErrNoRows) {
			if err = s.exists(ctx, id); err == nil {
				err = hostedspf.ErrClaimed
			}
			return err
		}
		claim.ProfileID, claim.Until = id, instant(until)
		return err
	})
	if err != nil {
		return hostedspf.Claim{}, err
	}
	return claim, nil
}

// exists returns nil if there is a profile, or [hostedspf.ErrNotFound].
func (s *Store) exists(ctx context.Context, id string) error {
	var there bool
	return found(s.pool.QueryRow(ctx, "SELECT true FROM spf_profiles WHERE id = $1", id).Scan(&there))
}

// Finish implements [hostedspf.Store].
func (s *Store) Finish(
	ctx context.Context, c hostedspf.Claim, o hostedspf.Outcome,
) (p hostedspf.Profile, err error) {
	err = s.write(ctx, "finishing a resolution of "+c.ProfileID, func(ctx context.Context, tx pgx.Tx) error {
		p, err = scan(tx.QueryRow(ctx, `UPDATE spf_profiles SET claimed = NULL
			WHERE id = $2 AND fence = $3 AND claimed > `+clockSQL+` RETURNING body::text`, s.now(), c.ProfileID, c.Fence))
		if errors.Is(err, hostedspf.ErrNotFound) {
			return hostedspf.ErrLapsed
		}
		if err != nil {
			return err
		}
		o.Apply(&p)
		if err := put(ctx, tx, &p); err != nil {
			return err
		}
		if err := record(ctx, tx, c.ProfileID, o.Resolution); err != nil {
			return err
		}
		return changed(ctx, tx)
	})
	if err != nil {
		return hostedspf.Profile{}, err
	}
	return p.Clone(), nil
}

// Release implements [hostedspf.Store].
func (s *Store) Release(ctx context.Context, c hostedspf.Claim) error {
	return s.do(ctx, "releasing "+c.ProfileID, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, "UPDATE spf_profiles SET claimed = NULL WHERE id = $1 AND fence = $2",
			c.ProfileID, c.Fence)
		return err
	})
}
