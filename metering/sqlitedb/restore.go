package sqlitedb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"
)

// suffixes are those of the database and of the files that SQLite puts next to it.
var suffixes = []string{"", "-wal", "-shm"}

// Restore replaces a database with a copy that [Backup] made. The old database, with the files beside it, is renamed
// to aside and not changed; moved is false if there was none. Before that the copy is examined: by SQLite, and by
// verify, which may also migrate it. On any error nothing has changed. The error is [ErrServing] if a server has the
// database open. The backup itself is only read.
func Restore(
	ctx context.Context, from, path, aside string, verify func(ctx context.Context, path string) error,
) (moved bool, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("restoring %s: %w", path, err)
		}
	}()
	if info, err := os.Stat(from + "-wal"); err == nil && info.Size() > 0 {
		return false, fmt.Errorf("%s has a write-ahead log beside it: it is no backup, or is in use", from)
	}
	release, err := claim(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, release()) }()
	fresh := path + partial
	defer func() {
		for _, suffix := range suffixes { // of one that failed; a good one has another name
			_ = os.Remove(fresh + suffix)
		}
	}()
	if err := copyFile(from, fresh); err != nil {
		return false, err
	}
	if err := examine(ctx, fresh); err != nil {
		return false, err
	}
	if err := verify(ctx, fresh); err != nil {
		return false, err
	}
	if err := flush(fresh); err != nil {
		return false, err
	}
	return swap(fresh, path, aside)
}

// claim locks out servers from a database, if it exists.
func claim(path string) (release func() error, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return func() error { return nil }, nil
	}
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	if err := f.Serve(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// swap puts the fresh database in the place of the old one.
func swap(fresh, path, aside string) (moved bool, err error) {
	for _, suffix := range suffixes {
		if _, err := os.Lstat(aside + suffix); err == nil {
			return false, fmt.Errorf("%s: %w", aside+suffix, fs.ErrExist)
		}
	}
	for _, suffix := range suffixes {
		err := os.Rename(path+suffix, aside+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return moved, err
		}
		moved = moved || err == nil
	}
	if err := os.Rename(fresh, path); err != nil {
		return moved, err
	}
	return moved, flush(filepath.Dir(path))
}

// copyFile copies a file that is not being written to a new one that only its owner may read.
func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// maxFaults bounds how many faults of a file SQLite lists.
const maxFaults = 5

// examine runs SQLite's integrity check on a whole file.
func examine(ctx context.Context, path string) (err error) {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	conn, err := f.Connect()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.SetInterrupt(ctx.Done())
	var faults []error
	err = Rows(conn, fmt.Sprintf("PRAGMA integrity_check(%d)", maxFaults), nil, func(stmt *sqlite.Stmt) error {
		if text := stmt.ColumnText(0); text != "ok" {
			faults = append(faults, errors.New(text))
		}
		return nil
	})
	return errors.Join(append(faults, err)...)
}
