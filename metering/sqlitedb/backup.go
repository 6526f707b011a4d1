package sqlitedb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"zombiezen.com/go/sqlite"
)

// partial is added to the name of a copy that is not complete.
const partial = ".partial"

// Backup copies the database at a path to a new file, whatever others write meanwhile: the copy is one
// state of it, the last one that was committed when the copying began. It is complete and durable when it has
// its name, and readable by its owner only. An older file of that name is not overwritten.
func Backup(ctx context.Context, path, to string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("backing up %s: %w", path, err)
		}
	}()
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s: %w", to, fs.ErrExist)
	}
	f, err := Open(path)
	if err != nil {
		return err
	}
	if err := errors.Join(vacuumInto(ctx, f, to+partial), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(to+partial, to); err != nil {
		return err
	}
	return flush(filepath.Dir(to))
}

// vacuumInto copies the database to a file. What it has made of a copy that failed is removed.
func vacuumInto(ctx context.Context, f *File, to string) (err error) {
	// SQLite wants a file that is absent or empty; only so it has the mode from the beginning.
	empty, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(to))
		}
	}()
	if err := empty.Close(); err != nil {
		return err
	}
	conn, err := f.Connect()
	if err != nil {
		return err
	}
	conn.SetInterrupt(ctx.Done())
	err = Exec(conn, "VACUUM INTO ?1", func(stmt *sqlite.Stmt) { stmt.BindText(1, to) })
	conn.SetInterrupt(nil)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err := errors.Join(err, conn.Close()); err != nil {
		return err
	}
	return flush(to)
}

// flush makes a file durable that no process has open, or the names in a folder.
func flush(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if runtime.GOOS == "windows" {
		err = nil // it syncs what was opened for writing only, and no folders
	}
	return errors.Join(err, f.Close())
}
