package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

// administer runs an act on the writer, together with whatever else is waiting for it. What comes
// after it, if anything, happens once the act is durable and before anybody hears of it. When the context
// ends while the act is being written, it may still happen.
func (s *Store) administer(ctx context.Context, act func(*writer) error, after func()) error {
	j := newJob()
	j.act, j.after = act, after
	writing, err := s.queue.do(ctx, j)
	if writing == nil {
		j.recycle()
	}
	return unavailable(err)
}

const accountColumns = `SELECT id, version, name, plan, overage, budget, created, agreement FROM accounts `

func scanAccount(stmt *sqlite.Stmt) (metering.Account, error) {
	a := metering.Account{
		ID: metering.AccountID(stmt.ColumnText(0)), Version: stmt.ColumnInt64(1), Name: stmt.ColumnText(2),
		Plan: metering.PlanID(stmt.ColumnText(3)), OverageEnabled: stmt.ColumnBool(4),
		CreatedAt: instant(stmt.ColumnInt64(6)),
	}
	if !stmt.ColumnIsNull(5) {
		cents := stmt.ColumnInt64(5)
		a.OverageBudgetCents = &cents
	}
	if err := json.Unmarshal([]byte(stmt.ColumnText(7)), &a.Agreement); err != nil {
		return metering.Account{}, fmt.Errorf("agreement of account %s: %w", a.ID, err)
	}
	return a, nil
}

// Account implements [metering.Accounts].
func (s *Store) Account(ctx context.Context, id metering.AccountID) (a metering.Account, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		return sqlitedb.Rows(conn, accountColumns+"WHERE id = ?1",
			sqlitedb.Args(id),
			func(stmt *sqlite.Stmt) (err error) { a, err = scanAccount(stmt); return err })
	})
	if err == nil && a.Version == 0 {
		err = metering.ErrNotFound
	}
	if err != nil {
		return metering.Account{}, fmt.Errorf("account %s: %w", id, err)
	}
	return a, nil
}

// Accounts implements [metering.Accounts].
func (s *Store) Accounts(ctx context.Context) ([]metering.Account, error) {
	list := []metering.Account{}
	err := s.read(ctx, func(conn *sqlite.Conn) error {
		return sqlitedb.Rows(conn, accountColumns+"ORDER BY created, id", nil,
			func(stmt *sqlite.Stmt) error {
				a, err := scanAccount(stmt)
				list = append(list, a)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("listing accounts: %w", err)
	}
	return list, nil
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
		sqlitedb.Args(a.ID, a.Version+1, a.Name, a.Plan, a.OverageEnabled, a.OverageBudgetCents, micros(a.CreatedAt),
			string(agreement)))
	if err != nil {
		return err
	}
	return w.change("", string(a.ID))
}

// checkVersion refuses a write that another writer has overtaken.
func (w *writer) checkVersion(sql, id string, version int64) error {
	var stored int64
	err := sqlitedb.Rows(w.conn, sql, sqlitedb.Args(id),
		func(stmt *sqlite.Stmt) error { stored = stmt.ColumnInt64(0); return nil })
	if err == nil && stored != version {
		err = metering.ErrVersion
	}
	return err
}

// change notes that a key or an account is not what it was.
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

func scanKey(stmt *sqlite.Stmt) (metering.Key, error) {
	k := metering.Key{
		ID: metering.KeyID(stmt.ColumnText(0)), Version: stmt.ColumnInt64(1),
		Account: metering.AccountID(stmt.ColumnText(2)), Name: stmt.ColumnText(3),
		Environment: metering.Environment(stmt.ColumnText(4)), DisplayPrefix: stmt.ColumnText(7),
		CreatedAt: instant(stmt.ColumnInt64(9)), ExpiresAt: columnInstant(stmt, 10), RevokedAt: columnInstant(stmt, 11),
		RevokedReason: metering.RevokedReason(stmt.ColumnText(12)), RotatedFrom: metering.KeyID(stmt.ColumnText(13)),
		RotatedTo: metering.KeyID(stmt.ColumnText(14)), GraceUntil: columnInstant(stmt, 15),
		LastUsedAt: columnInstant(stmt, 16),
	}
	stmt.ColumnBytes(6, k.Hash[:])
	if err := json.Unmarshal([]byte(stmt.ColumnText(5)), &k.Scopes); err != nil {
		return metering.Key{}, fmt.Errorf("scopes of key %s: %w", k.ID, err)
	}
	if err := json.Unmarshal([]byte(stmt.ColumnText(8)), &k.IPAllowlist); err != nil {
		return metering.Key{}, fmt.Errorf("allowlist of key %s: %w", k.ID, err)
	}
	return k, nil
}

// keys reads the keys that a condition selects.
func (s *Store) keys(ctx context.Context, where string, bind func(*sqlite.Stmt)) ([]metering.Key, error) {
	list := []metering.Key{}
	err := s.read(ctx, func(conn *sqlite.Conn) error {
		return sqlitedb.Rows(conn, keyColumns+where, bind, func(stmt *sqlite.Stmt) error {
			k, err := scanKey(stmt)
			list = append(list, k)
			return err
		})
	})
	return list, err
}

// KeyByHash implements [metering.Keys].
func (s *Store) KeyByHash(ctx context.Context, hash [32]byte) (metering.Key, error) {
	list, err := s.keys(ctx, "WHERE k.hash = ?1", sqlitedb.Args(hash[:]))
	return only(list, err, "key by hash")
}

// Key implements [metering.Keys].
func (s *Store) Key(ctx context.Context, id metering.KeyID) (metering.Key, error) {
	list, err := s.keys(ctx, "WHERE k.id = ?1", sqlitedb.Args(id))
	return only(list, err, "key "+string(id))
}

func only(list []metering.Key, err error, what string) (metering.Key, error) {
	if err == nil && len(list) == 0 {
		err = metering.ErrNotFound
	}
	if err != nil {
		return metering.Key{}, fmt.Errorf("%s: %w", what, err)
	}
	return list[0], nil
}

// Keys implements [metering.Keys].
func (s *Store) Keys(ctx context.Context, account metering.AccountID) ([]metering.Key, error) {
	list, err := s.keys(ctx, "WHERE k.account = ?1 ORDER BY k.created, k.id",
		sqlitedb.Args(account))
	if err != nil {
		return nil, fmt.Errorf("listing the keys of %s: %w", account, err)
	}
	return list, nil
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
	known := false
	err := sqlitedb.Rows(w.conn, "SELECT 1 FROM accounts WHERE id = ?1",
		sqlitedb.Args(k.Account),
		func(*sqlite.Stmt) error { known = true; return nil })
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
			micros(k.CreatedAt), optional(k.ExpiresAt), optional(k.RevokedAt), k.RevokedReason, k.RotatedFrom, k.RotatedTo,
			optional(k.GraceUntil)))
	if err != nil {
		return err
	}
	return w.change(string(k.ID), "")
}

// marshal writes a list as JSON; none is null, and comes back as none.
func marshal[T any](list []T) (string, error) {
	if len(list) == 0 {
		list = nil
	}
	data, err := json.Marshal(list)
	return string(data), err
}
