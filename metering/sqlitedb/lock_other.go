//go:build !linux

package sqlitedb

import (
	"fmt"
	"os"

	"zombiezen.com/go/sqlite"
)

// links returns the number of names of a file, which is unknown on this system.
func links(os.FileInfo) uint64 { return 1 }

// mountRoot reports whether a file is mounted itself, which only Linux can do.
func mountRoot(string) bool { return false }

// serverLock is an exclusive transaction on a file next to the database. It works on every system of SQLite; flock(2)
// would not, because other systems do not separate it from the locks of SQLite.
type serverLock struct{ conn *sqlite.Conn }

func (l *serverLock) acquire(path string) error {
	conn, err := sqlite.OpenConn(path+"-lock", sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return fmt.Errorf("taking the server's lock: %w", err)
	}
	conn.SetBusyTimeout(0)
	if err := Exec(conn, "BEGIN EXCLUSIVE", nil); err != nil {
		conn.Close()
		if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy {
			return ErrServing
		}
		return fmt.Errorf("taking the server's lock on %s: %w", path, err)
	}
	l.conn = conn
	return nil
}

func (l *serverLock) release() error {
	conn := l.conn
	l.conn = nil
	return conn.Close()
}

func (l *serverLock) close() error { return nil }
