package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/netip"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

const accountColumns = `SELECT id, version, name, plan, overage, budget, created, agreement FROM accounts `

func scanAccount(stmt *sqlite.Stmt) (a metering.Account, err error) {
	var agreement []byte
	sqlitedb.Scan(stmt, &a.ID, &a.Version, &a.Name, &a.Plan, &a.OverageEnabled, &a.OverageBudgetCents, &a.CreatedAt,
		&agreement)
	if err := json.Unmarshal(agreement, &a.Agreement); err != nil {
		return metering.Account{}, fmt.Errorf("agreement of account %s: %w", a.ID, err)
	}
	return a, nil
}

// all reads all rows of a query, of which an error says what they are.
func all[T any](
	ctx context.Context, s *Store, scan func(*sqlite.Stmt) (T, error), what, sql string, args ...any,
) ([]T, error) {
	list := []T{}
	err := s.read(ctx, func(conn *sqlite.Conn) error {
		return sqlitedb.Rows(conn, sql, sqlitedb.Args(args...), func(stmt *sqlite.Stmt) error {
			row, err := scan(stmt)
			list = append(list, row)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list, nil
}

// one reads the only row of a query, or is metering.ErrNotFound.
func one[T any](
	ctx context.Context, s *Store, scan func(*sqlite.Stmt) (T, error), what, sql string, args ...any,
) (row T, err error) {
	list, err := all(ctx, s, scan, what, sql, args...)
	switch {
	case err != nil:
		return row, err
	case len(list) == 0:
		return row, fmt.Errorf("%s: %w", what, metering.ErrNotFound)
	}
	return list[0], nil
}

// Account implements [metering.Accounts].
func (s *Store) Account(ctx context.Context, id metering.AccountID) (metering.Account, error) {
	return one(ctx, s, scanAccount, "account "+string(id), accountColumns+"WHERE id = ?1", id)
}

// Accounts implements [metering.Accounts].
func (s *Store) Accounts(ctx context.Context) ([]metering.Account, error) {
	return all(ctx, s, scanAccount, "listing accounts", accountColumns+"ORDER BY created, id")
}

// PutAccount implements [metering.Accounts].
func (s *Store) PutAccount(ctx context.Context, a metering.Account) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	a = a.Clone()
	err := s.administer(ctx, func(w *writer) error {
		if err := w.checkVersion("SELECT version FROM accounts WHERE id = ?1", string(a.ID), a.Version); err != nil {
			return err
		}
		return w.putAccount(a)
	}, func() {
		stored := a
		stored.Version++
		s.book.SetAccount(stored)
		s.news.rise()
	})
	if err != nil {
		return fmt.Errorf("account %s: %w", a.ID, err)
	}
	return nil
}

func (w *writer) putAccount(a metering.Account) error {
	agreement, err := json.Marshal(a.Agreement)
	if err != nil {
		return err
	}
	err = sqlitedb.Exec(w.conn, `INSERT INTO accounts (id, version, name, plan, overage, budget, created, agreement)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
		ON CONFLICT (id) DO UPDATE SET version = ?2, name = ?3, plan = ?4, overage = ?5, budget = ?6, created = ?7,
			agreement = ?8`,
		sqlitedb.Args(a.ID, a.Version+1, a.Name, a.Plan, a.OverageEnabled, a.OverageBudgetCents, a.CreatedAt,
			string(agreement)))
	if err != nil {
		return err
	}
	return w.change("", string(a.ID))
}

// checkVersion refuses a write that another writer has overtaken.
func (w *writer) checkVersion(sql, id string, version int64) error {
	var stored int64
	_, err := sqlitedb.Get(w.conn, sql, sqlitedb.Args(id), &stored)
	if err == nil && stored != version {
		err = metering.ErrVersion
	}
	return err
}

// change records that a key or an account has changed.
func (w *writer) change(key, account string) error {
	err := sqlitedb.Exec(w.conn, "INSERT INTO changes (key, account) VALUES (?1, ?2)", sqlitedb.Args(key, account))
	if err == nil {
		w.changes = append(w.changes, w.conn.LastInsertRowID())
	}
	return err
}

const keyColumns = `SELECT k.id, k.version, k.account, k.name, k.environment, k.scopes, k.hash, k.display_prefix,
	k.ip_allowlist, k.created, k.expires, k.revoked, k.revoked_reason, k.rotated_from, k.rotated_to, k.grace_until, u.at
	FROM keys k LEFT JOIN names n ON n.name = k.id LEFT JOIN key_uses u ON u.key = n.id `

func scanKey(stmt *sqlite.Stmt) (k metering.Key, err error) {
	var scopes, allowlist []byte
	sqlitedb.Scan(stmt, &k.ID, &k.Version, &k.Account, &k.Name, &k.Environment, &scopes, &k.Hash, &k.DisplayPrefix,
		&allowlist, &k.CreatedAt, &k.ExpiresAt, &k.RevokedAt, &k.RevokedReason, &k.RotatedFrom, &k.RotatedTo, &k.GraceUntil,
		&k.LastUsedAt)
	if err := json.Unmarshal(scopes, &k.Scopes); err != nil {
		return metering.Key{}, fmt.Errorf("scopes of key %s: %w", k.ID, err)
	}
	if err := json.Unmarshal(allowlist, &k.IPAllowlist); err != nil {
		return metering.Key{}, fmt.Errorf("allowlist of key %s: %w", k.ID, err)
	}
	return k, nil
}

// KeyByHash implements [metering.Keys].
func (s *Store) KeyByHash(ctx context.Context, hash [32]byte) (metering.Key, error) {
	return one(ctx, s, scanKey, "key by hash", keyColumns+"WHERE k.hash = ?1", hash[:])
}

// Key implements [metering.Keys].
func (s *Store) Key(ctx context.Context, id metering.KeyID) (metering.Key, error) {
	return one(ctx, s, scanKey, "key "+string(id), keyColumns+"WHERE k.id = ?1", id)
}

// dialect is SQLite's syntax of key filters.
var dialect = metering.KeyDialect{
	Contains: "instr(lower(%s), $%d) > 0", // lower knows A to Z alone
	In:       "k.id IN (SELECT value FROM json_each($%d))",
	IDs:      jsonIDs,
}

func jsonIDs(ids []metering.KeyID) any { return string(metering.RecordBody(ids)) }

// Keys implements [metering.Keys]. Between two pages no connection is held.
func (s *Store) Keys(ctx context.Context, f metering.KeyFilter) iter.Seq2[metering.Key, error] {
	return metering.KeyPages(f, dialect, func(end string, args ...any) ([]metering.Key, error) {
		return all(ctx, s, scanKey, "listing the keys of "+string(f.Account), keyColumns+end, args...)
	})
}

// CountKeys implements [metering.Keys].
func (s *Store) CountKeys(ctx context.Context, f metering.KeyFilter) (map[metering.KeyState]int, error) {
	columns, end, args, err := f.KeyCount(dialect)
	if err != nil {
		return nil, err
	}
	counts := map[metering.KeyState]int{}
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		query := "SELECT " + columns + " FROM keys k " + end
		return sqlitedb.Rows(conn, query, sqlitedb.Args(args...), func(stmt *sqlite.Stmt) error {
			counts[metering.KeyState(stmt.ColumnText(0))] = stmt.ColumnInt(1)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("counting the keys of %s: %w", f.Account, err)
	}
	return counts, nil
}

// PutKeys implements [metering.Keys].
func (s *Store) PutKeys(ctx context.Context, keys ...metering.Key) error {
	if err := s.ready(ctx); err != nil || len(keys) == 0 {
		return err
	}
	return s.administer(ctx, func(w *writer) error {
		for _, k := range keys {
			if err := w.putKey(k); err != nil {
				return fmt.Errorf("key %s: %w", k.ID, err)
			}
		}
		return nil
	}, s.news.rise)
}

func (w *writer) putKey(k metering.Key) error {
	if err := w.checkVersion("SELECT version FROM keys WHERE id = ?1", string(k.ID), k.Version); err != nil {
		return err
	}
	known, err := sqlitedb.Get(w.conn, "SELECT 1 FROM accounts WHERE id = ?1", sqlitedb.Args(k.Account))
	if err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("account %s: %w", k.Account, metering.ErrNotFound)
	}
	scopes, err := marshal(k.Scopes)
	if err != nil {
		return err
	}
	allowlist, err := marshal[netip.Prefix](k.IPAllowlist)
	if err != nil {
		return err
	}
	err = sqlitedb.Exec(w.conn, `INSERT INTO keys (id, version, account, name, environment, scopes, hash, display_prefix,
			ip_allowlist, created, expires, revoked, revoked_reason, rotated_from, rotated_to, grace_until)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
		ON CONFLICT (id) DO UPDATE SET version = ?2, account = ?3, name = ?4, environment = ?5, scopes = ?6,
			hash = ?7, display_prefix = ?8, ip_allowlist = ?9, created = ?10, expires = ?11, revoked = ?12,
			revoked_reason = ?13, rotated_from = ?14, rotated_to = ?15, grace_until = ?16`,
		sqlitedb.Args(k.ID, k.Version+1, k.Account, k.Name, k.Environment, scopes, k.Hash[:], k.DisplayPrefix, allowlist,
			k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.RevokedReason, k.RotatedFrom, k.RotatedTo, k.GraceUntil))
	if err != nil {
		return err
	}
	return w.change(string(k.ID), "")
}

// marshal writes a list as JSON; an empty list is null, and is read back as such.
func marshal[T any](list []T) (string, error) {
	if len(list) == 0 {
		list = nil
	}
	data, err := json.Marshal(list)
	return string(data), err
}

// PlanVersions implements [metering.Store].
func (s *Store) PlanVersions(ctx context.Context) (list []metering.PlanVersion, err error) {
	if err = s.read(ctx, func(conn *sqlite.Conn) (err error) { list, err = readPlans(conn); return err }); err != nil {
		return nil, fmt.Errorf("reading the plans: %w", err)
	}
	return list, nil
}

func readPlans(conn *sqlite.Conn) (list []metering.PlanVersion, err error) {
	err = sqlitedb.Rows(conn, "SELECT plan, period, imported, body, chain FROM plans ORDER BY seq", nil,
		func(stmt *sqlite.Stmt) error {
			var v metering.PlanVersion
			var body []byte
			var from int64
			sqlitedb.Scan(stmt, &v.Plan.ID, &from, &v.ImportedAt, &body, &v.Chain)
			v.From = metering.PeriodNumbered(from)
			err := v.SetBody(body)
			list = append(list, v)
			return err
		})
	return list, err
}

// PutPlanVersions implements [metering.Store].
func (s *Store) PutPlanVersions(ctx context.Context, versions ...metering.PlanVersion) error {
	if err := s.ready(ctx); err != nil || len(versions) == 0 {
		return err
	}
	return s.administer(ctx, func(w *writer) error {
		list, err := readPlans(w.conn)
		if err != nil {
			return err
		}
		added, newest, err := metering.StoredVersions(list, versions)
		if err != nil {
			return err
		}
		for _, v := range added {
			if err = w.putPlan(v); err != nil {
				return err
			}
		}
		return sqlitedb.Exec(w.conn, "INSERT OR REPLACE INTO heads (name, count, chain) VALUES (?1, ?2, ?3)",
			sqlitedb.Args("plans", len(list)+len(added), newest[:]))
	}, nil)
}

func (w *writer) putPlan(v metering.PlanVersion) error {
	body, err := v.Body()
	if err != nil {
		return err
	}
	return sqlitedb.Exec(w.conn, "INSERT INTO plans (plan, period, imported, body, chain) VALUES (?1, ?2, ?3, ?4, ?5)",
		sqlitedb.Args(v.Plan.ID, v.From.Number(), micros(v.ImportedAt), string(body), v.Chain[:]))
}
