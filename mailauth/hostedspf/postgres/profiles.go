package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/jackc/pgx/v5"
)

// body is the stored form of a profile: its API fields and its internal ones.
type body struct {
	hostedspf.Profile
	Owner    hostedspf.Owner  `json:"owner"`
	Failures int              `json:"failures"`
	IsPaused bool             `json:"is_paused"`
	Parts    []hostedspf.Part `json:"parts"`
}

func encode(p *hostedspf.Profile) (string, error) {
	text, err := json.Marshal(body{*p, p.Owner, p.Failures, p.IsPaused, p.Parts})
	return string(text), err
}

func decode(text string) (hostedspf.Profile, error) {
	var b body
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return hostedspf.Profile{}, fmt.Errorf("a profile is damaged: %w", err)
	}
	p := b.Profile
	p.Owner, p.Failures, p.IsPaused, p.Parts = b.Owner, b.Failures, b.IsPaused, b.Parts
	return p, nil
}

func optional(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.UnixMicro())
}

// Create implements [hostedspf.Store].
func (s *Store) Create(ctx context.Context, p hostedspf.Profile) error {
	text, err := encode(&p)
	if err != nil {
		return err
	}
	return s.write(ctx, "creating "+p.ID, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO spf_profiles (id, owner, domain, include_host, created, next, paused, body)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
			p.ID, string(p.Owner), p.Domain.String(), p.IncludeHost.String(), p.CreatedAt.UnixMicro(),
			optional(p.NextResolveAt), p.IsPaused, text)
		if err == nil && tag.RowsAffected() == 0 {
			err = hostedspf.ErrTaken
		}
		return err
	})
}

// Profile implements [hostedspf.Store].
func (s *Store) Profile(ctx context.Context, id string) (p hostedspf.Profile, err error) {
	err = s.do(ctx, "reading "+id, func(ctx context.Context) error {
		p, err = scan(s.pool.QueryRow(ctx, "SELECT body::text FROM spf_profiles WHERE id = $1", id))
		return err
	})
	return p, err
}

func scan(row pgx.Row) (hostedspf.Profile, error) {
	var text string
	if err := row.Scan(&text); err != nil {
		return hostedspf.Profile{}, found(err)
	}
	return decode(text)
}

func put(ctx context.Context, tx pgx.Tx, p *hostedspf.Profile) error {
	text, err := encode(p)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE spf_profiles SET domain = $2, next = $3, paused = $4, body = $5 WHERE id = $1",
		p.ID, p.Domain.String(), optional(p.NextResolveAt), p.IsPaused, text)
	return err
}

// Update implements [hostedspf.Store].
func (s *Store) Update(
	ctx context.Context, id string, change func(*hostedspf.Profile) error,
) (p hostedspf.Profile, err error) {
	var refusal error
	err = s.write(ctx, "changing "+id, func(ctx context.Context, tx pgx.Tx) error {
		// Nobody else changes the row until the transaction ends.
		p, err = scan(tx.QueryRow(ctx, "SELECT body::text FROM spf_profiles WHERE id = $1 FOR UPDATE", id))
		if err != nil {
			return err
		}
		if refusal = change(&p); refusal != nil {
			return refusal
		}
		return put(ctx, tx, &p)
	})
	if refusal != nil { // as it is
		err = refusal
	}
	return p.Clone(), err
}

// Remove implements [hostedspf.Store].
func (s *Store) Remove(ctx context.Context, id string) error {
	return s.write(ctx, "removing "+id, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "DELETE FROM spf_profiles WHERE id = $1", id) // its history goes with it
		if err == nil && tag.RowsAffected() == 0 {
			err = hostedspf.ErrNotFound
		}
		return err
	})
}

// Profiles implements [hostedspf.Store]. The total may be a moment older than the list.
func (s *Store) Profiles(ctx context.Context, q hostedspf.ProfileQuery) (page hostedspf.ProfilePage, err error) {
	which, args := " FROM spf_profiles WHERE true", []any{}
	where := func(condition string, value any) {
		args = append(args, value)
		which += fmt.Sprintf(condition, len(args))
	}
	if q.Owner != hostedspf.AnyOwner {
		where(" AND owner = $%d", string(q.Owner))
	}
	if !q.Domain.IsZero() {
		where(" AND domain = $%d", q.Domain.String())
	}
	err = s.do(ctx, "listing profiles", func(ctx context.Context) error {
		if err := s.pool.QueryRow(ctx, "SELECT count(*)"+which, args...).Scan(&page.Total); err != nil {
			return err
		}
		where(" AND (created, id) > ($%d", q.After.Time.UnixMicro())
		where(", $%d)", q.After.ID)
		where(" ORDER BY created, id LIMIT $%d", q.Limit)
		rows, err := s.pool.Query(ctx, "SELECT body::text"+which, args...)
		if err != nil {
			return err
		}
		page.Profiles, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (hostedspf.Profile, error) {
			return scan(row)
		})
		return err
	})
	return page, err
}

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

// Claim implements [hostedspf.Store]. If servers claim concurrently, the first has changed the row when the next
// one's statement reads it.
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
	return claim, err
}

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
		return record(ctx, tx, c.ProfileID, o.Resolution)
	})
	return p.Clone(), err
}

// Release implements [hostedspf.Store].
func (s *Store) Release(ctx context.Context, c hostedspf.Claim) error {
	return s.do(ctx, "releasing "+c.ProfileID, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, "UPDATE spf_profiles SET claimed = NULL WHERE id = $1 AND fence = $2",
			c.ProfileID, c.Fence)
		return err
	})
}

const resolutionColumns = `id, profile, at, "trigger", status, duration_ms, lookups, added, removed, ip4, ip6, hash,
	error`

func record(ctx context.Context, tx pgx.Tx, id string, r hostedspf.Resolution) error {
	r = r.Clone() // with lists that are not nil
	_, err := tx.Exec(ctx, "INSERT INTO spf_resolutions ("+resolutionColumns+
		") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
		r.ID, id, r.ResolvedAt.UnixMicro(), string(r.Trigger), string(r.Status), r.DurationMS, r.DNSLookups, r.Added,
		r.Removed, r.IP4Count, r.IP6Count, r.RecordHash, r.Error)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "DELETE FROM spf_resolutions WHERE profile = $1 AND at < $2",
		id, r.ResolvedAt.Add(-hostedspf.HistoryAge).UnixMicro())
	return err
}

// Resolutions implements [hostedspf.Store].
func (s *Store) Resolutions(
	ctx context.Context, q hostedspf.HistoryQuery,
) (list []hostedspf.Resolution, err error) {
	sql, args := "SELECT "+resolutionColumns+" FROM spf_resolutions WHERE profile = $1", []any{q.ProfileID}
	where := func(condition string, value any) {
		args = append(args, value)
		sql += fmt.Sprintf(condition, len(args))
	}
	if q.Status != "" {
		where(" AND status = $%d", string(q.Status))
	}
	if !q.Since.IsZero() {
		where(" AND at >= $%d", q.Since.UnixMicro())
	}
	if !q.Until.IsZero() {
		where(" AND at < $%d", q.Until.UnixMicro())
	}
	if !q.Before.IsZero() {
		where(" AND (at, id) < ($%d", q.Before.Time.UnixMicro())
		where(", $%d)", q.Before.ID)
	}
	where(" ORDER BY at DESC, id DESC LIMIT $%d", q.Limit)
	err = s.do(ctx, "reading the history of "+q.ProfileID, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r hostedspf.Resolution, err error) {
			var at int64
			err = row.Scan(&r.ID, &r.ProfileID, &at, &r.Trigger, &r.Status, &r.DurationMS, &r.DNSLookups, &r.Added,
				&r.Removed, &r.IP4Count, &r.IP6Count, &r.RecordHash, &r.Error)
			r.ResolvedAt = instant(at)
			return r, err
		})
		return err
	})
	return list, err
}
