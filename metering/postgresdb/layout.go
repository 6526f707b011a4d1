package postgresdb

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// A Layout is the tables of one store in a database, in all their versions. They are in the first schema of the search
// path, which the URL may name (?search_path=diag).
type Layout struct {
	Name  string   // of the store, for errors and for the lock
	Table string   // that notes the version
	Steps []string // scripts from each version to the next; a released one never changes
}

// Migrate brings the tables in a database up to date, creating missing ones, and returns the old and the new version.
func (l Layout) Migrate(ctx context.Context, url string) (from, to int, err error) {
	config, err := parse(url)
	if err != nil {
		return 0, 0, err
	}
	err = use(ctx, config.ConnConfig, func(conn *pgx.Conn) error {
		from, err = l.migrateOn(ctx, conn)
		return err
	})
	return from, len(l.Steps), err
}

func (l Layout) migrateOn(ctx context.Context, conn *pgx.Conn) (from int, err error) {
	err = Begin(ctx, conn, func(tx pgx.Tx) error {
		from, err = l.migrate(ctx, tx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("migrating %s: %w", l.Name, err)
	}
	return from, nil
}

// migrate works under a lock, so that servers that start at once do it once.
func (l Layout) migrate(ctx context.Context, tx pgx.Tx) (from int, err error) {
	var encoding string
	if err = lock(ctx, tx, l.Name); err == nil {
		err = tx.QueryRow(ctx, "SELECT current_setting('server_encoding')").Scan(&encoding)
	}
	switch {
	case err != nil:
		return 0, err
	case encoding != "UTF8":
		return 0, fmt.Errorf("the encoding of the database is %s, it must be UTF8", encoding)
	}
	table := pgx.Identifier{l.Table}.Sanitize()
	_, err = tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (version integer PRIMARY KEY)")
	if err == nil {
		err = tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM "+table).Scan(&from)
	}
	if err != nil || from == len(l.Steps) {
		return from, err
	}
	if from > len(l.Steps) {
		return 0, fmt.Errorf("the database has layout %d, this program knows up to %d: a newer version has written it; run "+
			"that one, or restore a backup from before", from, len(l.Steps))
	}
	for step := from; step < len(l.Steps); step++ {
		// Without parameters a script of several statements is sent unchanged.
		if _, err := tx.Conn().PgConn().Exec(ctx, l.Steps[step]).ReadAll(); err != nil {
			return 0, fmt.Errorf("step %d: %w", step+1, err)
		}
	}
	if _, err := tx.Exec(ctx, "DELETE FROM "+table); err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, "INSERT INTO "+table+" VALUES ($1)", len(l.Steps))
	return from, err
}

// check refuses a database whose tables are not those of this program.
func (l Layout) check(ctx context.Context, conn *pgx.Conn) error {
	var version int
	sql := "SELECT coalesce(max(version), 0) FROM " + pgx.Identifier{l.Table}.Sanitize()
	if err := conn.QueryRow(ctx, sql).Scan(&version); err != nil {
		return fmt.Errorf("looking for the layout of %s: %w", l.Name, err)
	}
	if version != len(l.Steps) {
		return fmt.Errorf("the database has layout %d, this program has %d", version, len(l.Steps))
	}
	return nil
}

// lock waits for a lock of the schema, which the end of the transaction releases.
func lock(ctx context.Context, tx pgx.Tx, name string) error {
	const sql = "SELECT pg_advisory_xact_lock(hashtextextended($1 || ' ' || current_schema(), 0))"
	_, err := tx.Exec(ctx, sql, "diagkit "+name)
	return err
}

// Exclusively runs an act while no other server runs one of the same name on the database.
func Exclusively(ctx context.Context, url, name string, act func() error) error {
	config, err := parse(url)
	if err != nil {
		return err
	}
	return use(ctx, config.ConnConfig, func(conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if err := lock(ctx, tx, name); err != nil {
				return err
			}
			return act()
		})
	})
}
