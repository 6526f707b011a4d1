package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering/sqlitedb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
)

// TestBackup copies the store again and again while 64 clients buy, kills the server, and restores the last copy.
// Each copy has all that was acknowledged before it began; what was kept in it is replayed.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	store := "--store=sqlite:" + filepath.Join(dir, "diag.db")
	p := startProcess(t, store)
	secret := secretPattern.FindString(p.log.String())
	buyers := make([]*buyer, killClients)
	for i := range buyers {
		buyers[i] = &buyer{name: fmt.Sprintf("buyer-%02d", i)}
	}
	var count atomic.Int64
	wait := load64(t, p.url, secret, buyers, &count, 1<<30)
	var last string
	const copies = 4
	for n := range copies {
		for reached := count.Load() + 200; count.Load() < reached && !t.Failed(); {
			runtime.Gosched() // the server is another process: there is nothing but to look
		}
		acknowledged := count.Load()
		last = filepath.Join(dir, fmt.Sprintf("backup-%d.db", n))
		view := parsed[auditView](t, "backup", last, store)
		assert.Empty(t, view.Faults)
		assert.GreaterOrEqual(t, view.Entries, acknowledged)
		assert.Less(t, acknowledged, count.Load(), "the server went on meanwhile")
	}
	p.kill(t)
	wait()
	names, err := filepath.Glob(filepath.Join(dir, "backup-*"))
	require.NoError(t, err)
	require.Len(t, names, copies, "a backup is one file")
	assert.Equal(t, parsed[auditView](t, "audit", store).Entries, parsed[usageView](t, "usage", store).Charges)

	// Restored as README.md says.
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err := os.Rename(filepath.Join(dir, "diag.db"+suffix), filepath.Join(dir, "old.db"+suffix))
		require.True(t, err == nil || os.IsNotExist(err), "%v", err)
	}
	require.NoError(t, os.Rename(last, filepath.Join(dir, "diag.db")))
	before := parsed[usageView](t, "usage", store).Used
	p = startProcess(t, store)
	bought := &buyer{name: buyers[0].name}
	load64(t, p.url, secret, []*buyer{bought}, &count, 1)() // the first thing it had bought
	assert.Equal(t, before, parsed[usageView](t, "usage", store).Used, "a replay, from the copy")
	p.kill(t)
}

func TestBackupRefuses(t *testing.T) {
	store, _ := newStore(t)
	file := filepath.Join(t.TempDir(), "taken")
	require.NoError(t, os.WriteFile(file, []byte("older"), 0o600))
	for _, test := range []struct {
		args []string
		want int
		err  string
	}{
		{[]string{"backup", store}, exitUsage, "diagd backup takes the file to write"},
		{[]string{"backup", file, "--store=memory:"}, exitUsage, "cannot be administered from another process"},
		{[]string{"backup", file, "--store=sqlite:" + file + "-none"}, exitFailed, "diagd serve makes it"},
		{[]string{"backup", file, store}, exitFailed, "taken: file already exists"},
		{[]string{"backup", filepath.Join(file, "in", "no", "folder"), store}, exitFailed, "not a directory"},
	} {
		var out, err bytes.Buffer
		assert.Equal(t, test.want, run(t.Context(), test.args, &out, &err), test.args)
		assert.Contains(t, err.String(), test.err)
	}
	left, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "older", string(left))
	entries, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing is left behind")
}

// An audit that cannot be carried out is told from one that finds something.
func TestAuditExitCodes(t *testing.T) {
	store, _ := newStore(t)
	path := store[len("--store=sqlite:"):]
	code := func() int { return run(t.Context(), []string{"audit", store}, new(bytes.Buffer), new(bytes.Buffer)) }
	require.Equal(t, exitOK, code())
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	require.NoError(t, sqlitedb.Exec(conn, "INSERT INTO balances VALUES (1, 1, 7, 1, 9)", nil))
	require.NoError(t, conn.Close())
	require.Equal(t, exitFaults, code())
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("not a database\n"), 1000), 0o600))
	require.Equal(t, exitFailed, code())
}

// A server whose store was removed says so, and takes no charge that would be lost.
func TestStoreRemoved(t *testing.T) {
	dir := t.TempDir()
	p := startProcess(t, "--store=sqlite:"+filepath.Join(dir, "diag.db"), "--metrics-listen=127.0.0.1:0")
	secret := secretPattern.FindString(p.log.String())
	ready := p.log.wait(t, `"?serving metrics"? url=(\S+)/metrics`)[1] + "/readyz"
	require.Eventually(t, func() bool { return get(t, ready).status == http.StatusOK }, patience, 10*time.Millisecond)
	require.NoError(t, os.Remove(filepath.Join(dir, "diag.db")))
	r, err := post(t.Context(), p.url, secret, "/text/upper", upper)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, r.status, r.body)
	require.Eventually(t, func() bool { return get(t, ready).status == http.StatusServiceUnavailable },
		patience, 10*time.Millisecond)
	require.Contains(t, get(t, ready).body, "removed or replaced")
	require.Contains(t, p.log.String(), "level=ERROR")
	p.kill(t)
}

// A store that others may read is closed to them at the start.
func TestStoreMode(t *testing.T) {
	store, _ := newStore(t)
	path := store[len("--store=sqlite:"):]
	require.NoError(t, os.Chmod(path, 0o644))
	require.Equal(t, exitOK, start(t, store).wait())
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
}
