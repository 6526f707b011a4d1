package sqlitedb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
)

// busyTimeout bounds the wait of a connection for the transaction of another. They take milliseconds, except on a disk
// that hangs.
const busyTimeout = 10 * time.Second

var (
	// ErrServing means that another server has the file open.
	ErrServing = errors.New("another server has the database open")

	// ErrReplaced means that the file, or its write-ahead log, is no longer where it was opened: what
	// is written would be lost.
	ErrReplaced = errors.New("the database was removed or replaced while it was open")
)

// A File is the use of a database by one store. Make one with [Open].
type File struct {
	path    string // absolute, without symbolic links
	shared  *shared
	serving bool

	mu  sync.Mutex
	log os.FileInfo // the write-ahead log, once a connection has opened it
}

// shared is the state of one database that all its files in the process share, under whichever name.
type shared struct {
	info    os.FileInfo
	uses    int
	serving bool
	lock    serverLock
}

// inUse is the databases that this process has open.
var inUse struct {
	sync.Mutex
	list []*shared
}

// Open prepares the use of a database. It creates a missing file for its owner alone; SQLite gives its additional
// files the same mode. Access by others to an existing file is removed: it holds data of customers, and a copy
// restored by hand often has the default mode. A file with several names (hard links) is refused, because each name
// would get a separate write-ahead log; so is a file that is itself a mount point, because its log would be outside
// the mount.
func Open(path string) (*File, error) {
	if path == "" {
		return nil, errors.New("opening the database: no path was given")
	}
	inUse.Lock()
	defer inUse.Unlock()
	f := &File{}
	info, err := f.create(path)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	if i := slices.IndexFunc(inUse.list, func(s *shared) bool { return os.SameFile(s.info, info) }); i >= 0 {
		f.shared = inUse.list[i]
	} else {
		f.shared = &shared{info: info}
		inUse.list = append(inUse.list, f.shared)
	}
	f.shared.uses++
	return f, nil
}

// create opens the file, creating it if it is missing.
func (f *File) create(path string) (os.FileInfo, error) {
	created, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil: // no lock can exist yet that closing it would drop
		if err := created.Close(); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	if f.path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, err
	}
	if f.path, err = filepath.Abs(f.path); err != nil {
		return nil, err
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", f.path)
	}
	if n := links(info); n > 1 {
		return nil, fmt.Errorf("%s has %d names (hard links), each of which would get a write-ahead log of its own; "+
			"remove all but one", f.path, n)
	}
	if mountRoot(f.path) {
		return nil, fmt.Errorf("%s is mounted as a single file: its write-ahead log would lie outside the mount and be lost "+
			"with the container; mount the directory that holds it", f.path)
	}
	return info, f.protect()
}

// protect closes the files to everybody but their owner.
func (f *File) protect() error {
	if runtime.GOOS == "windows" { // access is a matter of the folder there
		return nil
	}
	for _, suffix := range suffixes {
		info, err := os.Stat(f.path + suffix)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case info.Mode().Perm()&0o077 == 0:
			continue
		}
		if err := os.Chmod(f.path+suffix, 0o600); err != nil {
			return fmt.Errorf("others may read the file, which only its owner can change: %w", err)
		}
	}
	return nil
}

// Path returns the file's absolute path, without symbolic links.
func (f *File) Path() string { return f.path }

// Close ends the use of the file, whose connections must be closed before. Further calls do nothing.
func (f *File) Close() error {
	inUse.Lock()
	defer inUse.Unlock()
	s := f.shared
	if s == nil {
		return nil
	}
	f.shared = nil
	var err error
	if f.serving {
		s.serving = false
		err = s.lock.release()
	}
	if s.uses--; s.uses > 0 {
		return err
	}
	inUse.list = slices.DeleteFunc(inUse.list, func(other *shared) bool { return other == s })
	return errors.Join(err, s.lock.close())
}

// Serve claims the database for one server until the file is closed, or returns [ErrServing]. The
// claim is on the file itself, by device and inode, whatever name it is opened by; on systems other
// than Linux it is on the name that symbolic links lead to. It disturbs no reader and no other writer,
// and ends with the process in whatever way that ends.
func (f *File) Serve() error {
	inUse.Lock()
	defer inUse.Unlock()
	if f.shared.serving {
		return ErrServing
	}
	if err := f.shared.lock.acquire(f.path); err != nil {
		return err
	}
	f.shared.serving, f.serving = true, true
	return nil
}

// Check returns [ErrReplaced] once the file or its write-ahead log is not the one that was opened.
func (f *File) Check() error {
	f.mu.Lock()
	log := f.log
	f.mu.Unlock()
	if err := same(f.path, f.shared.info); err != nil || log == nil {
		return err
	}
	return same(f.path+"-wal", log)
}

// same compares a file with its earlier state.
func same(path string, was os.FileInfo) error {
	is, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(is, was):
		return fmt.Errorf("%s: %w", path, ErrReplaced)
	}
	return err
}

// Connect opens a connection.
func (f *File) Connect() (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(f.path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", f.path, err)
	}
	conn.SetBusyTimeout(busyTimeout)
	if err = prepare(conn); err == nil {
		err = f.remember()
	}
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", f.path, errors.Join(err, conn.Close()))
	}
	return conn, nil
}

// prepare applies the settings that every connection of a store needs.
func prepare(conn *sqlite.Conn) error {
	mode := ""
	err := Rows(conn, "PRAGMA journal_mode = WAL", nil, func(stmt *sqlite.Stmt) error {
		mode = stmt.ColumnText(0)
		return nil
	})
	if err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system cannot keep a write-ahead log (journal mode %q)", mode)
	}
	err = Pragmas(conn,
		"synchronous = FULL", // a commit waits for the disk: only so it survives a loss of power
		"temp_store = MEMORY",
	)
	if err == nil { // the first read opens the write-ahead log
		err = Exec(conn, "SELECT count(*) FROM sqlite_schema", nil)
	}
	return err
}

// remember notes which file the write-ahead log is, for Check.
func (f *File) remember() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.log != nil {
		return nil
	}
	var err error
	f.log, err = os.Stat(f.path + "-wal")
	return err
}
