package sqlitedb

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"zombiezen.com/go/sqlite"
)

// lockedByOthers reports whether another process has SQLite's lock of a reader (the bytes from 2^30+2 on), which
// each keeps as long as it has a write-ahead log open.
func lockedByOthers(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: 1<<30 + 2, Len: 510}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock)
	return lock.Type != syscall.F_UNLCK, err
}

// TestLocksAreKept does everything that a process does with a file that it has open, and asks another process
// each time whether the locks are still there. Without them SQLite's own program, up to version 3.50, takes
// itself for the only one, and deletes the log when it leaves.
func TestLocksAreKept(t *testing.T) {
	f, _ := newDatabase(t)
	layout := Layout{Name: "t", Version: func(*sqlite.Conn) (int, error) { return 0, nil }}
	steps := []struct {
		name string
		do   func() error
	}{
		{"nothing", func() error { return nil }},
		{"a second connection", func() error { return errors.Join(closing(f.Connect())) }},
		{"a second use", func() error { return closing(Open(f.Path())) }},
		{"a connection of a second use", func() error {
			other, err := Open(f.Path())
			return errors.Join(err, closing(other.Connect()), other.Close())
		}},
		{"a migration", func() error {
			_, _, err := layout.MigrateFile(t.Context(), f.Path())
			return err
		}},
		{"serving", f.Serve},
		{"a refused server in this process", func() error {
			other, err := Open(f.Path())
			require.ErrorIs(t, other.Serve(), ErrServing)
			return errors.Join(err, other.Close())
		}},
		{"a backup", func() error { return Backup(t.Context(), f.Path(), filepath.Join(t.TempDir(), "b")) }},
		{"a pool", func() error { return closing(f.Pool(2, nil)) }},
	}
	for _, step := range steps {
		require.NoError(t, step.do(), step.name)
		require.Equal(t, "true <nil>\n", inChild(t, f.Path()), step.name)
		require.NoError(t, f.Check(), "after %s", step.name)
	}
}

// closing closes the opened files.
func closing[C interface{ Close() error }](c C, err error) error {
	if err != nil {
		return err
	}
	return c.Close()
}

// A file that is itself a mount point is refused: its write-ahead log would be outside the mount.
func TestMountedFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "diag.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.True(t, mountRoot("/"))
	require.False(t, mountRoot(dir))
	require.False(t, mountRoot(path))
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path, childMount+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, // so that it may mount, invisibly to other processes
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("namespaces of users are not allowed here: %v %s", err, out)
		return
	}
	require.Contains(t, string(out), "mounted as a single file")
	require.NoFileExists(t, path+"-wal")
}

// openMounted opens a file that it has mounted on itself.
func openMounted(path string) error {
	if err := unix.Mount(path, path, "", unix.MS_BIND, ""); err != nil {
		os.Exit(1)
	}
	return closing(Open(path))
}
