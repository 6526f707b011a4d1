package sqlitedb

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// links returns the number of names of a file.
func links(info os.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink) // narrower on some machines
	}
	return 1
}

// mountRoot reports whether a file is mounted itself, as docker -v mounts a single file. Kernels before 5.8 do not say.
func mountRoot(path string) bool {
	var stat unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, 0, 0, &stat)
	return err == nil && stat.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// serverLock is flock(2) on the database itself: it is kept by the inode, and Linux keeps it apart from the
// locks of SQLite. The file stays open until close, since closing it would drop those.
type serverLock struct{ file *os.File }

func (l *serverLock) acquire(path string) (err error) {
	if l.file == nil {
		if l.file, err = os.Open(path); err != nil {
			return fmt.Errorf("taking the server's lock: %w", err)
		}
	}
	err = syscall.Flock(int(l.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrServing
	case err != nil:
		return fmt.Errorf("taking the server's lock on %s: %w", path, err)
	}
	return nil
}

func (l *serverLock) release() error { return syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN) }

func (l *serverLock) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
