package sqlitedb

import (
	"context"
	"errors"
	"fmt"
	"os"

	"zombiezen.com/go/sqlite"
)

// Backup copies the database at a path to a new file, whatever others write meanwhile: the copy is one
// state of it, the last one that was committed when the copying began. The copy is durable when Backup returns,
// and readable by its owner only. What it has made of a copy that failed is removed.
func Backup(ctx context.Context, path, to string) (err error) {
	// SQLite wants a file that is absent or empty; only so it has the mode from the beginning.
	empty, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("backing up: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("backing up %s: %w", path, err), os.Remove(to))
		}
	}()
	if err := empty.Close(); err != nil {
		return err
	}
	f, err := Open(path)
	if err != nil {
		return err
	}
	if err := errors.Join(vacuumInto(ctx, f, to), f.Close()); err != nil {
		return err
	}
	return flush(to)
}

func vacuumInto(ctx context.Context, f *File, to string) (err error) {
	conn, err := f.Connect()
	if err != nil {
		return err
	}
	conn.SetInterrupt(ctx.Done())
	defer func() {
		conn.SetInterrupt(nil)
		err = errors.Join(err, conn.Close())
		if ctx.Err() != nil {
			err = ctx.Err()
		}
	}()
	return Exec(conn, "VACUUM INTO ?1", func(stmt *sqlite.Stmt) { stmt.BindText(1, to) })
}

// flush makes a file durable that nobody has open.
func flush(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
