package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering/sqlitedb"
	"zombiezen.com/go/sqlite"
)

// purgeRows is how much history is deleted in one transaction, so that others wait for milliseconds only.
const purgeRows = 500

const resolutionColumns = `id, profile, at, "trigger", status, duration_ms, lookups, added, removed, added_count,
	removed_count, ip4, ip6, hash, error`

func record(conn *sqlite.Conn, id string, r hostedspf.Resolution) error {
	const values = "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15"
	return exec(conn, "INSERT INTO spf_resolutions ("+resolutionColumns+") VALUES ("+values+")",
		r.ID, id, r.ResolvedAt, r.Trigger, r.Status, r.DurationMS, r.DNSLookups, list(r.Added), list(r.Removed),
		len(r.Added), len(r.Removed), r.IP4Count, r.IP6Count, r.RecordHash, r.Error)
}

// forget removes resolutions before a time from the history of a profile, as far as the transaction stays short: it
// is called for each one added.
func forget(conn *sqlite.Conn, id string, before time.Time) error {
	return exec(conn, `DELETE FROM spf_resolutions WHERE seq IN
		(SELECT seq FROM spf_resolutions WHERE profile = ?1 AND at < ?2 LIMIT ?3)`, id, before, purgeRows)
}

func scanResolution(stmt *sqlite.Stmt) (r hostedspf.Resolution, err error) {
	var added, removed *string
	var numbers [2]int // of the networks in these
	sqlitedb.Scan(stmt, &r.ID, &r.ProfileID, &r.ResolvedAt, &r.Trigger, &r.Status, &r.DurationMS, &r.DNSLookups, &added,
		&removed, &numbers[0], &numbers[1], &r.IP4Count, &r.IP6Count, &r.RecordHash, &r.Error)
	if err := errors.Join(unlist(added, &r.Added), unlist(removed, &r.Removed)); err != nil {
		return r, fmt.Errorf("the networks of %s are damaged: %w", r.ID, err)
	}
	return r.Clone(), nil // with lists that are not nil
}

// Resolutions implements [hostedspf.Store].
func (s *Store) Resolutions(
	ctx context.Context, q hostedspf.HistoryQuery,
) (list []hostedspf.Resolution, err error) {
	sql := "SELECT " + resolutionColumns + ` FROM spf_resolutions WHERE profile = ?1
		AND EXISTS (SELECT 1 FROM spf_profiles WHERE spf_profiles.id = ?1) AND (?2 = '' OR status = ?2)`
	if !q.Since.IsZero() {
		sql += " AND at >= ?3"
	}
	if !q.Until.IsZero() {
		sql += " AND at < ?4"
	}
	if !q.Before.IsZero() {
		sql += " AND (at, id) < (?5, ?6)"
	}
	err = s.read(ctx, "reading the history of "+q.ProfileID, func(conn *sqlite.Conn) error {
		args := sqlitedb.Args(q.ProfileID, q.Status, q.Since, q.Until, q.Before.Time, q.Before.ID, q.Limit)
		return sqlitedb.Rows(conn, sql+" ORDER BY at DESC, id DESC LIMIT ?7", args,
			func(stmt *sqlite.Stmt) error {
				r, err := scanResolution(stmt)
				list = append(list, r)
				return err
			})
	})
	return list, err
}

// Remove implements [hostedspf.Store]. A long history is removed in several transactions, after the profile;
// leftovers of a crash are invisible, and the next Open removes them.
func (s *Store) Remove(ctx context.Context, id string) error {
	err := s.write(ctx, "removing "+id, func(conn *sqlite.Conn) error {
		if _, err := profile(conn, id); err != nil {
			return err
		}
		for _, sql := range []string{"DELETE FROM spf_profiles WHERE id = ?1",
			"DELETE FROM spf_claims WHERE profile = ?1", "INSERT OR IGNORE INTO spf_removed VALUES (?1)"} {
			if err := exec(conn, sql, id); err != nil {
				return err
			}
		}
		return changed(conn)
	})
	if err != nil {
		return err
	}
	_ = s.purge(ctx) // the profile is removed, whether or not this succeeds
	return nil
}

// purge deletes the history of removed profiles.
func (s *Store) purge(ctx context.Context) (err error) {
	for left := true; left && err == nil; {
		err = s.write(ctx, "removing the history of profiles that are gone", func(conn *sqlite.Conn) error {
			var id string
			if left, err = sqlitedb.Get(conn, "SELECT profile FROM spf_removed LIMIT 1", nil, &id); err != nil || !left {
				return err
			}
			err = exec(conn, `DELETE FROM spf_resolutions WHERE seq IN
				(SELECT seq FROM spf_resolutions WHERE profile = ?1 LIMIT ?2)`, id, purgeRows)
			if err != nil || conn.Changes() == purgeRows {
				return err
			}
			return exec(conn, "DELETE FROM spf_removed WHERE profile = ?1", id)
		})
	}
	return err
}

// Due implements [hostedspf.Store].
func (s *Store) Due(ctx context.Context, now time.Time, limit int) (list []hostedspf.Due, err error) {
	const sql = `SELECT p.id, p.next FROM spf_profiles p LEFT JOIN spf_claims c ON c.profile = p.id
		WHERE p.next <= ?1 AND p.paused = 0 AND (c.until IS NULL OR c.until <= ?2) ORDER BY p.next, p.id LIMIT ?3`
	err = s.read(ctx, "looking for profiles that are due", func(conn *sqlite.Conn) error {
		return sqlitedb.Rows(conn, sql, sqlitedb.Args(now, s.clock(), limit), func(stmt *sqlite.Stmt) error {
			var d hostedspf.Due
			sqlitedb.Scan(stmt, &d.ID, &d.At)
			list = append(list, d)
			return nil
		})
	})
	return list, err
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
		claim = hostedspf.Claim{ProfileID: id, Fence: last.Fence + 1, Until: now.Add(lease).UTC().Truncate(time.Microsecond)}
		return exec(conn, "INSERT INTO spf_claims VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET fence = ?2, until = ?3",
			id, claim.Fence, claim.Until)
	})
	return claim, err
}

// lastClaim returns the last claim of a profile that exists, which is zero without one and has no end if it was
// released.
func lastClaim(conn *sqlite.Conn, id string) (c hostedspf.Claim, err error) {
	const sql = "SELECT c.fence, c.until FROM spf_profiles p LEFT JOIN spf_claims c ON c.profile = p.id WHERE p.id = ?1"
	c.ProfileID = id
	found, err := sqlitedb.Get(conn, sql, sqlitedb.Args(id), &c.Fence, &c.Until)
	if err == nil && !found {
		err = hostedspf.ErrNotFound
	}
	return c, err
}

func free(conn *sqlite.Conn, c hostedspf.Claim) error {
	return exec(conn, "UPDATE spf_claims SET until = NULL WHERE profile = ?1 AND fence = ?2", c.ProfileID, c.Fence)
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
	return p.Clone(), err
}

// Release implements [hostedspf.Store].
func (s *Store) Release(ctx context.Context, c hostedspf.Claim) error {
	return s.write(ctx, "releasing "+c.ProfileID, func(conn *sqlite.Conn) error { return free(conn, c) })
}
