package sqlitedb

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// A Layout is the tables that one package has in a file, through all of its versions.
type Layout struct {
	Name string // of the store, for errors
	// Steps are the scripts from each version to the next. A released step never changes.
	Steps []string
	// Version reads the version of a file, 0 without any of the tables, and Set is the statement that sets it, with %d
	// in its place.
	Version func(*sqlite.Conn) (int, error)
	Set     string
}

// Migrate brings the tables in a file up to date, creating missing ones, and returns the old and the new version. It
// works in one transaction, so that two processes that start at the same time do it once.
func (l Layout) Migrate(ctx context.Context, conn *sqlite.Conn) (from, to int, err error) {
	conn.SetInterrupt(ctx.Done())
	defer conn.SetInterrupt(nil)
	to = len(l.Steps)
	if from, err = l.Version(conn); err == nil && from != to {
		err = Transact(ctx, conn, func() error {
			from, err = l.steps(conn)
			return err
		})
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return 0, 0, fmt.Errorf("migrating %s: %w", l.Name, err)
	}
	return from, to, nil
}

// steps runs the migrations that a file lacks.
func (l Layout) steps(conn *sqlite.Conn) (from int, err error) {
	if from, err = l.Version(conn); err != nil {
		return 0, err
	}
	if from > len(l.Steps) {
		return 0, fmt.Errorf("the file has layout %d, this program knows up to %d: a newer version has written it; run that "+
			"one, or restore a backup from before", from, len(l.Steps))
	}
	for step := from; step < len(l.Steps); step++ {
		if err := sqlitex.ExecuteScript(conn, l.Steps[step], nil); err != nil {
			return 0, fmt.Errorf("step %d: %w", step+1, err)
		}
	}
	return from, sqlitex.ExecuteTransient(conn, fmt.Sprintf(l.Set, len(l.Steps)), nil)
}

// MigrateFile is [Layout.Migrate] of a file by its path.
func (l Layout) MigrateFile(ctx context.Context, path string) (from, to int, err error) {
	f, err := Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	conn, err := f.Connect()
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return l.Migrate(ctx, conn)
}
