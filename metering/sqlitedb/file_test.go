package sqlitedb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
)

// The actions of the child process, which runs this test binary.
const (
	childPath  = "DIAGKIT_SQLITEDB_PATH"
	childServe = "DIAGKIT_SQLITEDB_SERVE"
	childMount = "DIAGKIT_SQLITEDB_MOUNT"
)

func TestMain(m *testing.M) {
	path := os.Getenv(childPath)
	switch {
	case path == "":
		os.Exit(m.Run())
	case os.Getenv(childMount) != "":
		fmt.Println(openMounted(path))
	case os.Getenv(childServe) != "":
		fmt.Println(serveChild(path))
	default:
		fmt.Println(lockedByOthers(path))
	}
}

// serveChild is a second server.
func serveChild(path string) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Serve(), f.Close())
}

func count(conn *sqlite.Conn) (n int, err error) {
	err = Rows(conn, "SELECT count(*) FROM t", nil, func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt(0); return nil })
	return n, err
}

// inChild runs this binary as another process.
func inChild(t *testing.T, path string, environment ...string) string {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), childPath+"="+path), environment...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

func openTest(t *testing.T, path string) *File {
	f, err := Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func connect(t *testing.T, f *File) *sqlite.Conn {
	conn, err := f.Connect()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

// newDatabase is a file with an empty table, and a connection to it.
func newDatabase(t *testing.T) (*File, *sqlite.Conn) {
	f := openTest(t, filepath.Join(t.TempDir(), "diag.db"))
	conn := connect(t, f)
	require.NoError(t, Exec(conn, "CREATE TABLE t (n INTEGER) STRICT", nil))
	return f, conn
}

// TestOneServer tries to be the second server, by each name of the file and in both processes.
func TestOneServer(t *testing.T) {
	dir := t.TempDir()
	path, symlink := filepath.Join(dir, "diag.db"), filepath.Join(dir, "symlink.db")
	first := openTest(t, path)
	require.NoError(t, os.Symlink("diag.db", symlink))
	require.NoError(t, first.Serve())
	require.ErrorIs(t, first.Serve(), ErrServing)
	refused := func(why, path string) {
		other := openTest(t, path)
		require.ErrorIs(t, other.Serve(), ErrServing, why)
		require.NoError(t, other.Close())
		require.NoError(t, other.Close(), "again")
		require.Contains(t, inChild(t, path, childServe+"=1"), ErrServing.Error(), why)
	}
	refused("by its name", path)
	refused("by a symbolic link", symlink)
	if runtime.GOOS == "linux" { // the lock is on the inode
		hard, moved := filepath.Join(dir, "hard.db"), filepath.Join(dir, "moved.db")
		require.NoError(t, os.Link(path, hard))
		_, err := Open(hard)
		require.ErrorContains(t, err, "2 names")
		require.Contains(t, inChild(t, hard, childServe+"=1"), "2 names")
		require.NoError(t, os.Remove(hard))
		require.NoError(t, os.Rename(path, moved))
		refused("by a new name", moved)
		require.NoError(t, os.Rename(moved, path))
	}

	beside := openTest(t, path)
	require.NoError(t, first.Close())
	require.Equal(t, "<nil>\n", inChild(t, path, childServe+"=1"), "the first has gone, though others are still there")
	require.NoError(t, beside.Serve())
	refused("after a second server began", path)
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs the file modes of Unix")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "diag.db")
	for _, name := range []string{path, path + "-wal"} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
		require.NoError(t, os.Chmod(name, 0o644)) // whatever the umask is
	}
	connect(t, openTest(t, path))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), suffix)
	}
}

func TestRemoved(t *testing.T) {
	tests := []struct {
		name   string
		damage func(path string) error
	}{
		{"removed", os.Remove},
		{"log removed", func(path string) error { return os.Remove(path + "-wal") }},
		{"moved away", func(path string) error { return os.Rename(path, path+".old") }},
		{"replaced", func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, []byte("another"), 0o600))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, _ := newDatabase(t)
			require.NoError(t, f.Check())
			require.NoError(t, tt.damage(f.Path()))
			require.ErrorIs(t, f.Check(), ErrReplaced)
			require.True(t, Unavailable(fmt.Errorf("settling: %w", f.Check())))
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	_, err := Open("")
	require.Error(t, err)
	_, err = Open(dir)
	require.ErrorContains(t, err, "not a regular file")
	_, err = Open(filepath.Join(dir, "none", "diag.db"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	_, err = Open(filepath.Join(dir, "dangling"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestBackup(t *testing.T) {
	f, conn := newDatabase(t)
	require.NoError(t, Exec(conn, "INSERT INTO t VALUES (1), (2)", nil))
	to := filepath.Join(t.TempDir(), "backup.db")
	require.NoError(t, Backup(t.Context(), f.Path(), to))
	n, err := count(connect(t, openTest(t, to)))
	require.NoError(t, err)
	require.Equal(t, 2, n)
	info, err := os.Stat(to)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())

	require.ErrorIs(t, Backup(t.Context(), f.Path(), to), fs.ErrExist, "an older backup is not overwritten")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	to = filepath.Join(t.TempDir(), "cancelled.db")
	require.ErrorIs(t, Backup(ctx, f.Path(), to), context.Canceled)
	require.NoFileExists(t, to)
	require.NoFileExists(t, to+partial)
}

func TestTransact(t *testing.T) {
	f, conn := newDatabase(t)
	refused := errors.New("refused")
	insert := func(result error) error {
		return Transact(t.Context(), conn, func() error {
			return errors.Join(Exec(conn, "INSERT INTO t VALUES (1)", nil), result)
		})
	}
	require.NoError(t, insert(nil))
	require.ErrorIs(t, insert(refused), refused)
	n, err := count(conn)
	require.NoError(t, err)
	require.Equal(t, 1, n)

	other := connect(t, f)
	require.NoError(t, Exec(other, "BEGIN IMMEDIATE", nil))
	ctx, cancel := context.WithTimeout(t.Context(), 1)
	defer cancel()
	require.ErrorIs(t, Transact(ctx, conn, func() error { panic("another writes") }), context.DeadlineExceeded)
	require.NoError(t, Exec(other, "ROLLBACK", nil))
	require.False(t, Unavailable(insert(refused)))
	require.False(t, Unavailable(nil))
	require.False(t, Unavailable(Exec(conn, "SELECT nonsense", nil)))
}

func TestPool(t *testing.T) {
	f, _ := newDatabase(t)
	ended := errors.New("ended")
	p, err := f.Pool(1, ended)
	require.NoError(t, err)
	require.NoError(t, p.Read(t.Context(), func(conn *sqlite.Conn) error {
		_, err := count(conn)
		return err
	}))
	err = p.Read(t.Context(), func(conn *sqlite.Conn) error { return Exec(conn, "INSERT INTO t VALUES (1)", nil) })
	require.Equal(t, sqlite.ResultReadOnly, sqlite.ErrCode(err).ToPrimary())
	ctx, cancel := context.WithCancel(t.Context())
	const endless = "WITH RECURSIVE n AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT count(*) FROM n"
	err = p.Read(ctx, func(conn *sqlite.Conn) error { cancel(); return Exec(conn, endless, nil) })
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, p.Read(ctx, nil), context.Canceled)
	require.NoError(t, p.Close())
	require.ErrorIs(t, p.Read(t.Context(), nil), ended)
}
