package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"zombiezen.com/go/sqlite"
)

// Due implements [hostedspf.Store].
func (s *Store) Due(ctx context.Context, now time.Time, limit int) (list []hostedspf.Due, err error) {
	const sql = `SELECT p.id, p.next FROM spf_profiles p LEFT JOIN spf_claims c ON c.profile = p.id
		WHERE p.next <= ?1 AND p.paused = 0 AND (c.until IS NULL OR c.until <= ?2) ORDER BY p.next, p.id LIMIT ?3`
	err = s.read(ctx, "looking for profiles that are due", func(conn *sqlite.Conn) error {
		return rows(conn, sql,
			func(a *args) { a.int(micros(now)); a.int(micros(s.clock())); a.int(int64(limit)) },
			func(f *fields) error {
				list = append(list, hostedspf.Due{ID: f.text(), At: f.time()})
				return nil
			})
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Claim implements [hostedspf.Store].
func (s *Store) Claim(ctx context.Context, id string, lease time.Duration) (claim hostedspf.Claim, err error) {
	err = s.write(ctx, "claiming "+id, func(conn *sqlite.Conn) error {
		last, err := lastClaim(conn, id)
		if err != nil {
			return err
		}
		now := s.clock()
		if now.Before(last.Until) {
			return hostedspf.ErrClaimed
		}
		claim = hostedspf.Claim{ProfileID: id, Fence: last.Fence + 1, Until: instant(micros(now.Add(lease)))}
		return exec(conn, "INSERT INTO spf_claims VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET fence = ?2, until = ?3",
			func(a *args) { a.text(id); a.int(claim.Fence); a.time(claim.Until) })
	})
	if err != nil {
		return hostedspf.Claim{}, err
	}
	return claim, nil
}

// lastClaim returns the last claim of a profile that exists, which is zero if there was none and has no end
// if it was given back.
func lastClaim(conn *sqlite.Conn, id string) (c hostedspf.Claim, err error) {
	const sql = "SELECT c.fence, c.until FROM spf_profiles p LEFT JOIN spf_claims c ON c.profile = p.id WHERE p.id = ?1"
	err = rows(conn, sql, func(a *args) { a.text(id) }, func(f *fields) error {
		c = hostedspf.Claim{ProfileID: id, Fence: f.int(), Until: f.time()}
		return nil
	})
	if err == nil && c.ProfileID == "" {
		err = hostedspf.ErrNotFound
	}
	return c, err
}

func free(conn *sqlite.Conn, c hostedspf.Claim) error {
	return exec(conn, "UPDATE spf_claims SET until = NULL WHERE profile = ?1 AND fence = ?2",
		func(a *args) { a.text(c.ProfileID); a.int(c.Fence) })
}

// Finish implements [hostedspf.Store].
func (s *Store) Finish(
	ctx context.Context, c hostedspf.Claim, o hostedspf.Outcome,
) (p hostedspf.Profile, err error) {
	err = s.write(ctx, "finishing a resolution of "+c.ProfileID, func(conn *sqlite.Conn) error {
		last, err := lastClaim(conn, c.ProfileID)
		switch {
		case errors.Is(err, hostedspf.ErrNotFound):
			return hostedspf.ErrLapsed
		case err != nil:
			return err
		case last.Fence != c.Fence || !s.clock().Before(last.Until):
			return hostedspf.ErrLapsed
		}
		if p, err = profile(conn, c.ProfileID); err != nil {
			return err
		}
		o.Apply(&p)
		if err := put(conn, &p); err != nil {
			return err
		}
		if err := record(conn, c.ProfileID, o.Resolution); err != nil {
			return err
		}
		if err := forget(conn, c.ProfileID, o.Resolution.ResolvedAt.Add(-hostedspf.HistoryAge)); err != nil {
			return err
		}
		return free(conn, c)
	})
	if err != nil {
		return hostedspf.Profile{}, err
	}
	return p.Clone(), nil
}

// Release implements [hostedspf.Store].
func (s *Store) Release(ctx context.Context, c hostedspf.Claim) error {
	return s.write(ctx, "releasing "+c.ProfileID, func(conn *sqlite.Conn) error { return free(conn, c) })
}
