package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

const resolutionColumns = `id, profile, at, "trigger", status, duration_ms, lookups, added, removed, ip4, ip6, hash,
	error`

// record appends a resolution to the history of a profile, and removes what is too old.
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

// Samples implements [hostedspf.Store].
func (s *Store) Samples(
	ctx context.Context, id string, since time.Time, limit int,
) (list []hostedspf.Sample, err error) {
	err = s.do(ctx, "reading the history of "+id, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `SELECT at, status, duration_ms, lookups, cardinality(added), cardinality(removed),
			ip4, ip6 FROM spf_resolutions WHERE profile = $1 AND at >= $2 ORDER BY at DESC, id DESC LIMIT $3`,
			id, since.UnixMicro(), limit)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r hostedspf.Sample, err error) {
			var at int64
			err = row.Scan(&at, &r.Status, &r.DurationMS, &r.DNSLookups, &r.Added, &r.Removed, &r.IP4Count, &r.IP6Count)
			r.ResolvedAt = instant(at)
			return r, err
		})
		return err
	})
	return list, err
}
