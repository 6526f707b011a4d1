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
// Each copy has all that was acknowledged before it began; kept replies are replayed.
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
			runtime.Gosched() // the server is another process: polling is the only way
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

	charges := parsed[usageView](t, "usage", store).Charges
	view := parsed[restoreView](t, "restore", last, store)
	assert.Equal(t, charges, parsed[usageView](t, "usage", "--store=sqlite:"+view.OldStore).Charges, "the old one is whole")
	before := parsed[usageView](t, "usage", store).Used
	assert.Equal(t, view.Credits, before)
	p = startProcess(t, store)
	bought := &buyer{name: buyers[0].name}
	load64(t, p.url, secret, []*buyer{bought}, &count, 1)() // its first purchase
	assert.Equal(t, before, parsed[usageView](t, "usage", store).Used, "a replay, from the copy")
	p.kill(t)
}

func TestBackupRefuses(t *testing.T) {
	store, _ := newStore(t)
	file, empty := filepath.Join(t.TempDir(), "taken"), filepath.Join(t.TempDir(), "empty.db")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	require.NoError(t, os.WriteFile(file, []byte("older"), 0o600))
	for _, test := range []struct {
		args []string
		want int
		err  string
	}{
		{[]string{"backup", store}, exitUsage, "diagd backup takes the file to write"},
		{[]string{"backup", file, "--store=memory:"}, exitUsage, "cannot be administered from another process"},
		{[]string{"backup", file, "--store=sqlite:" + file + "-none"}, exitFailed, "diagd serve creates it"},
		{[]string{"backup", file, store}, exitFailed, "taken: file already exists"},
		{[]string{"backup", filepath.Join(file, "in", "no", "folder"), store}, exitFailed, "not a directory"},
		{[]string{"backup", filepath.Join(filepath.Dir(file), "copy"), "--store=sqlite:" + empty}, exitFailed,
			"the file is not a store of diagd"},
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

// Nothing changes where a backup cannot be restored, or a server runs.
func TestRestoreRefuses(t *testing.T) {
	store, _ := newStore(t)
	dir := t.TempDir()
	good, foreign, torn, faulty := filepath.Join(dir, "good.db"), filepath.Join(dir, "foreign.db"),
		filepath.Join(dir, "torn.db"), filepath.Join(dir, "faulty.db")
	command(t, "backup", good, store)
	bytesOf := func(path string) []byte {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return data
	}
	data := bytesOf(good)
	conn, err := sqlite.OpenConn(foreign)
	require.NoError(t, err)
	require.NoError(t, sqlitedb.Exec(conn, "CREATE TABLE t (a)", nil))
	require.NoError(t, conn.Close())
	require.NoError(t, os.WriteFile(torn, data[:len(data)/2], 0o600))
	require.NoError(t, os.WriteFile(faulty, data, 0o600))
	conn, err = sqlite.OpenConn(faulty)
	require.NoError(t, err)
	require.NoError(t, sqlitedb.Exec(conn,
		"INSERT INTO balances (account, period, used, charges, peak) VALUES (1, 1, 7, 1, 9)", nil))
	require.NoError(t, conn.Close())
	newer := filepath.Join(dir, "newer.db")
	require.NoError(t, os.WriteFile(newer, data, 0o600))
	conn, err = sqlite.OpenConn(newer)
	require.NoError(t, err)
	require.NoError(t, sqlitedb.Exec(conn, "PRAGMA user_version = 999", nil))
	require.NoError(t, conn.Close())
	inUse := filepath.Join(dir, "in-use.db")
	require.NoError(t, os.WriteFile(inUse, data, 0o600))
	require.NoError(t, os.WriteFile(inUse+"-wal", []byte("log"), 0o600))

	path := store[len("--store=sqlite:"):]
	before := bytesOf(path)
	for _, test := range []struct {
		file string
		want int
		err  string
	}{
		{filepath.Join(dir, "none.db"), exitFailed, "no such file"},
		{foreign, exitFailed, "is not a store of diagd"},
		{torn, exitFailed, "malformed"},
		{faulty, exitFaults, "the store was not changed"},
		{newer, exitFailed, "the file has layout 999"},
		{inUse, exitFailed, "write-ahead log"},
	} {
		var out, err bytes.Buffer
		assert.Equal(t, test.want, run(t.Context(), []string{"restore", test.file, store}, &out, &err), test.file)
		assert.Contains(t, err.String(), test.err)
		assert.Equal(t, before, bytesOf(path), test.file)
		left, readErr := os.ReadDir(filepath.Dir(path))
		require.NoError(t, readErr)
		assert.Len(t, left, 2, test.file) // the store, and when it was backed up
	}
	server := start(t, store)
	var out, errs bytes.Buffer
	assert.Equal(t, exitFailed, run(t.Context(), []string{"restore", good, store}, &out, &errs))
	assert.Contains(t, errs.String(), "is in use by a server; stop the server first")
	require.Equal(t, exitOK, server.wait())
	assert.Equal(t, exitUsage, run(t.Context(), []string{"restore", good, "--store=memory:"}, &out, &errs))
	assert.Equal(t, exitUsage, run(t.Context(), []string{"restore", store}, &out, &errs))

	// If there is no store, or it is damaged, the backup replaces it.
	require.NoError(t, os.WriteFile(path, []byte("not a database"), 0o600))
	old := parsed[restoreView](t, "restore", good, store).OldStore
	assert.Equal(t, "not a database", string(bytesOf(old)))
	absent := "--store=sqlite:" + filepath.Join(dir, "absent.db")
	assert.Empty(t, parsed[restoreView](t, "restore", good, absent).OldStore)
	assert.Len(t, parsed[[]keyView](t, "key", "list", absent), 1)
	assert.Equal(t, data, bytesOf(good), "a backup is only read")
}

// A failed audit is distinguished from one that finds something.
func TestAuditExitCodes(t *testing.T) {
	store, _ := newStore(t)
	path := store[len("--store=sqlite:"):]
	code := func() int { return run(t.Context(), []string{"audit", store}, new(bytes.Buffer), new(bytes.Buffer)) }
	require.Equal(t, exitOK, code())
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	require.NoError(t, sqlitedb.Exec(conn,
		"INSERT INTO balances (account, period, used, charges, peak) VALUES (1, 1, 7, 1, 9)", nil))
	require.NoError(t, conn.Close())
	require.Equal(t, exitFaults, code())
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("not a database\n"), 1000), 0o600))
	require.Equal(t, exitFailed, code())
}

// A server whose store was removed reports it, and accepts no charge that would be lost.
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
