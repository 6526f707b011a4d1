package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering/sqlitedb"
	"zombiezen.com/go/sqlite"
)

const profileColumns = `id, owner, domain, name, status, source, flattened, include_host, records, lookups_before,
	lookups_after, ip4, ip6, hash, interval_seconds, resolved, changed, next, last_error, created, updated, failures,
	paused, parts`

// columns are the values of profileColumns, in their order.
func columns(p *hostedspf.Profile) []any {
	return []any{p.ID, p.Owner, p.Domain.String(), p.Name, p.Status, p.SourceRecord, p.FlattenedRecord,
		p.IncludeHost.String(),
		list(p.Records), p.LookupsBefore, p.LookupsAfter, p.IP4Count, p.IP6Count, p.RecordHash, p.IntervalSeconds,
		&p.LastResolvedAt, &p.LastChangedAt, &p.NextResolveAt, p.LastError, p.CreatedAt, p.UpdatedAt, p.Failures, p.IsPaused,
		list(p.Parts)}
}

func scanProfile(stmt *sqlite.Stmt) (p hostedspf.Profile, err error) {
	var domain, host string
	var records, parts *string
	sqlitedb.Scan(stmt, &p.ID, &p.Owner, &domain, &p.Name, &p.Status, &p.SourceRecord, &p.FlattenedRecord, &host, &records,
		&p.LookupsBefore, &p.LookupsAfter, &p.IP4Count, &p.IP6Count, &p.RecordHash, &p.IntervalSeconds,
		&p.LastResolvedAt, &p.LastChangedAt, &p.NextResolveAt, &p.LastError, &p.CreatedAt, &p.UpdatedAt, &p.Failures,
		&p.IsPaused, &parts)
	err = errors.Join(unlist(records, &p.Records), unlist(parts, &p.Parts))
	if domain != "" {
		err = errors.Join(err, p.Domain.UnmarshalText([]byte(domain)))
	}
	if host != "" {
		err = errors.Join(err, p.IncludeHost.UnmarshalText([]byte(host)))
	}
	if err != nil {
		return p, fmt.Errorf("the profile %s is damaged: %w", p.ID, err)
	}
	return p, nil
}

func profile(conn *sqlite.Conn, id string) (p hostedspf.Profile, err error) {
	err = sqlitedb.Rows(conn, "SELECT "+profileColumns+" FROM spf_profiles WHERE id = ?1", sqlitedb.Args(id),
		func(stmt *sqlite.Stmt) error { p, err = scanProfile(stmt); return err })
	if err == nil && p.ID == "" {
		err = hostedspf.ErrNotFound
	}
	return p, err
}

const profileValues = `?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
	?22, ?23, ?24`

func put(conn *sqlite.Conn, p *hostedspf.Profile) error {
	err := exec(conn, "UPDATE spf_profiles SET ("+profileColumns+") = ("+profileValues+") WHERE id = ?1", columns(p)...)
	if err == nil {
		err = changed(conn)
	}
	return err
}

// Create implements [hostedspf.Store].
func (s *Store) Create(ctx context.Context, p hostedspf.Profile) error {
	return s.write(ctx, "creating "+p.ID, func(conn *sqlite.Conn) error {
		taken, err := sqlitedb.Get(conn, "SELECT 1 FROM spf_profiles WHERE id = ?1 OR include_host = ?2",
			sqlitedb.Args(p.ID, p.IncludeHost.String()))
		if err == nil && taken {
			err = hostedspf.ErrTaken
		}
		if err == nil {
			err = exec(conn, "INSERT INTO spf_profiles ("+profileColumns+") VALUES ("+profileValues+")", columns(&p)...)
		}
		if err == nil {
			err = changed(conn)
		}
		return err
	})
}

// Profile implements [hostedspf.Store].
func (s *Store) Profile(ctx context.Context, id string) (p hostedspf.Profile, err error) {
	err = s.read(ctx, "reading "+id, func(conn *sqlite.Conn) error {
		p, err = profile(conn, id)
		return err
	})
	return p, err
}

// Update implements [hostedspf.Store].
func (s *Store) Update(
	ctx context.Context, id string, change func(*hostedspf.Profile) error,
) (p hostedspf.Profile, err error) {
	var refusal error
	err = s.write(ctx, "changing "+id, func(conn *sqlite.Conn) error {
		if p, err = profile(conn, id); err != nil {
			return err
		}
		if refusal = change(&p); refusal != nil {
			return refusal
		}
		return put(conn, &p)
	})
	if refusal != nil { // as it is
		err = refusal
	}
	return p.Clone(), err
}

// Profiles implements [hostedspf.Store]. The total may be a moment older than the list.
func (s *Store) Profiles(ctx context.Context, q hostedspf.ProfileQuery) (page hostedspf.ProfilePage, err error) {
	owner, domain := "?1 IS NOT NULL", "?2 IS NOT NULL" // all of them
	if q.Owner != hostedspf.AnyOwner {
		owner = "owner = ?1"
	}
	if !q.Domain.IsZero() {
		domain = "domain = ?2"
	}
	which := " FROM spf_profiles WHERE " + owner + " AND " + domain
	args := []any{q.Owner, q.Domain.String()}
	err = s.read(ctx, "listing profiles", func(conn *sqlite.Conn) error {
		if _, err := sqlitedb.Get(conn, "SELECT count(*)"+which, sqlitedb.Args(args...), &page.Total); err != nil {
			return err
		}
		which = "SELECT " + profileColumns + which + " AND (created, id) > (?3, ?4) ORDER BY created, id LIMIT ?5"
		return sqlitedb.Rows(conn, which, sqlitedb.Args(append(args, q.After.Time, q.After.ID, q.Limit)...),
			func(stmt *sqlite.Stmt) error {
				p, err := scanProfile(stmt)
				page.Profiles = append(page.Profiles, p)
				return err
			})
	})
	return page, err
}
