package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

// body is a profile as it is stored: what the API shows of it, and what it does not.
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

// optional stores an instant, or NULL for the zero Time.
func optional(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	us := t.UnixMicro()
	return &us
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
		if err != nil {
			return err
		}
		return changed(ctx, tx)
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

// lock reads a profile that nobody else changes until the transaction ends.
func lock(ctx context.Context, tx pgx.Tx, id string) (hostedspf.Profile, error) {
	return scan(tx.QueryRow(ctx, "SELECT body::text FROM spf_profiles WHERE id = $1 FOR UPDATE", id))
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
		if p, err = lock(ctx, tx, id); err != nil {
			return err
		}
		if refusal = change(&p); refusal != nil {
			return refusal
		}
		if err := put(ctx, tx, &p); err != nil {
			return err
		}
		return changed(ctx, tx)
	})
	switch {
	case refusal != nil:
		return hostedspf.Profile{}, refusal
	case err != nil:
		return hostedspf.Profile{}, err
	}
	return p.Clone(), nil
}

// Remove implements [hostedspf.Store].
func (s *Store) Remove(ctx context.Context, id string) error {
	return s.write(ctx, "removing "+id, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "DELETE FROM spf_profiles WHERE id = $1", id) // its history goes with it
		if err == nil && tag.RowsAffected() == 0 {
			err = hostedspf.ErrNotFound
		}
		if err != nil {
			return err
		}
		return changed(ctx, tx)
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
	if err != nil {
		return hostedspf.ProfilePage{}, err
	}
	return page, nil
}
