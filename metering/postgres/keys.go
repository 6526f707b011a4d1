package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/diagkit/diagkit/metering"
)

const keyColumns = `SELECT k.account, k.id, k.version, k.name, k.environment, k.scopes, k.hash, k.display_prefix,
	k.ip_allowlist, k.created, k.expires, k.revoked, k.revoked_reason, k.rotated_from, k.rotated_to, k.grace_until, u.at
	FROM keys k LEFT JOIN key_uses u ON u.account = k.account AND u.key = k.id `

// keyOf finds a key by its entry in the directory.
const keyOf = keyColumns + "JOIN key_directory d ON k.account = d.account AND k.id = d.id "

func scanKey(row pgx.CollectableRow) (k metering.Key, err error) {
	var hash []byte
	var allowlist []string
	var created int64
	var expires, revoked, grace, used *int64
	err = row.Scan(&k.Account, &k.ID, &k.Version, &k.Name, &k.Environment, &k.Scopes, &hash, &k.DisplayPrefix,
		&allowlist, &created, &expires, &revoked, &k.RevokedReason, &k.RotatedFrom, &k.RotatedTo, &grace, &used)
	if err != nil {
		return metering.Key{}, err
	}
	copy(k.Hash[:], hash)
	k.CreatedAt, k.ExpiresAt, k.RevokedAt = instant(created), optionalInstant(expires), optionalInstant(revoked)
	k.GraceUntil, k.LastUsedAt = optionalInstant(grace), optionalInstant(used)
	if len(k.Scopes) == 0 {
		k.Scopes = nil
	}
	for _, text := range allowlist {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return metering.Key{}, fmt.Errorf("allowlist of key %s: %w", k.ID, err)
		}
		k.IPAllowlist = append(k.IPAllowlist, p)
	}
	return k, nil
}

// KeyByHash implements [metering.Keys].
func (s *Store) KeyByHash(ctx context.Context, hash [32]byte) (metering.Key, error) {
	return one(ctx, s, scanKey, "key by hash", keyOf+"WHERE d.hash = $1", hash[:])
}

// Key implements [metering.Keys].
func (s *Store) Key(ctx context.Context, id metering.KeyID) (metering.Key, error) {
	return one(ctx, s, scanKey, "key "+string(id), keyOf+"WHERE d.id = $1", id)
}

// dialect is PostgreSQL's syntax of key filters.
var dialect = metering.KeyDialect{
	Contains: `strpos(lower(%s COLLATE "C"), $%d) > 0`, // in which lower knows A to Z alone
	In:       "k.id = ANY ($%d)",
	IDs:      func(ids []metering.KeyID) any { return ids },
}

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
	_, err = all(ctx, s, func(row pgx.CollectableRow) (none struct{}, err error) {
		var state metering.KeyState
		var n int
		err = row.Scan(&state, &n)
		counts[state] = n
		return none, err
	}, "counting the keys of "+string(f.Account), "SELECT "+columns+" FROM keys k "+end, args...)
	if err != nil {
		return nil, err
	}
	return counts, nil
}

// PutKeys implements [metering.Keys].
func (s *Store) PutKeys(ctx context.Context, keys ...metering.Key) error {
	if err := s.ready(ctx); err != nil || len(keys) == 0 {
		return err
	}
	return s.administer(ctx, func(tx pgx.Tx) error {
		for i := range keys {
			if err := putKey(ctx, tx, &keys[i]); err != nil {
				return fmt.Errorf("key %s: %w", keys[i].ID, err)
			}
		}
		return nil
	})
}

// putKey writes a key and its entry in the directory. A key stays with its account.
func putKey(ctx context.Context, tx pgx.Tx, k *metering.Key) error {
	var known bool
	err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM accounts WHERE account = $1)", k.Account).Scan(&known)
	if err == nil && !known {
		err = fmt.Errorf("account %s: %w", k.Account, metering.ErrNotFound)
	}
	if err != nil {
		return err
	}
	directory, sql := `UPDATE key_directory SET hash = $2 WHERE id = $1 AND account = $3`,
		`UPDATE keys SET version = version + 1, name = $4, environment = $5, scopes = $6, hash = $7, display_prefix = $8,
			ip_allowlist = $9, created = $10, expires = $11, revoked = $12, revoked_reason = $13, rotated_from = $14,
			rotated_to = $15, grace_until = $16 WHERE account = $1 AND id = $2 AND version = $3`
	if k.Version == 0 {
		directory = "INSERT INTO key_directory (id, hash, account) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING"
		sql = `INSERT INTO keys (account, id, version, name, environment, scopes, hash, display_prefix, ip_allowlist,
				created, expires, revoked, revoked_reason, rotated_from, rotated_to, grace_until)
			VALUES ($1, $2, $3::bigint + 1, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`
	}
	tag, err := tx.Exec(ctx, directory, k.ID, k.Hash[:], k.Account)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.ConstraintName == "key_directory_hash" {
		return errors.New("another key has the same secret")
	}
	if err == nil && tag.RowsAffected() > 0 {
		tag, err = tx.Exec(ctx, sql, keyValues(k)...)
	}
	switch {
	case err != nil:
		return err
	case tag.RowsAffected() == 0:
		return metering.ErrVersion
	}
	return note(ctx, tx, k.ID, "")
}

func keyValues(k *metering.Key) []any {
	scopes := make([]string, len(k.Scopes))
	for i, scope := range k.Scopes {
		scopes[i] = string(scope)
	}
	allowlist := make([]string, len(k.IPAllowlist))
	for i, prefix := range k.IPAllowlist {
		allowlist[i] = prefix.String()
	}
	return []any{k.Account, k.ID, k.Version, k.Name, k.Environment, scopes, k.Hash[:], k.DisplayPrefix, allowlist,
		micros(k.CreatedAt), optional(k.ExpiresAt), optional(k.RevokedAt), k.RevokedReason, k.RotatedFrom, k.RotatedTo,
		optional(k.GraceUntil)}
}
