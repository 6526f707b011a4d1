//go:build unix && (!race || nightly)

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ownPostgres is a PostgreSQL that a test may do anything to.
type ownPostgres struct {
	t    testing.TB
	dir  string
	port string
	cmd  *exec.Cmd
}

// postgresProgram is a command of PostgreSQL's own programs, which refuse to be run by root.
func postgresProgram(t testing.TB, name string, args ...string) *exec.Cmd {
	list, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	require.NoError(t, err)
	path, err := exec.LookPath(name)
	if len(list) > 0 {
		path = list[len(list)-1]
	} else if err != nil {
		t.Skipf("needs the program %s (Debian: postgresql)", name)
	}
	return asPostgres(t, exec.Command(path, args...))
}

// asPostgres runs a command as a user that is not root, in a process group of its own. In that of the tests a stopped
// server would end them: if the parent of a group ends while one of it is stopped, the system sends SIGHUP to all of
// the group.
func asPostgres(t testing.TB, cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir, cmd.Stderr = "/", t.Output()
	endWithTests(cmd).SysProcAttr.Setpgid = true
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = credential(t)
	}
	return cmd
}

func credential(t testing.TB) *syscall.Credential {
	u, err := user.Lookup("postgres")
	require.NoError(t, err)
	uid, err := strconv.Atoi(u.Uid)
	require.NoError(t, err)
	gid, err := strconv.Atoi(u.Gid)
	require.NoError(t, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// newPostgres makes a server by a command that fills its folder, of which the last argument is the folder.
func newPostgres(t testing.TB, name string, args ...string) *ownPostgres {
	dir, err := os.MkdirTemp("", "diagd-postgres")
	require.NoError(t, err)
	if os.Getuid() == 0 {
		c := credential(t)
		require.NoError(t, os.Chown(dir, int(c.Uid), int(c.Gid)))
	}
	p := &ownPostgres{t: t, dir: filepath.Join(dir, "data"), port: freePort(t)}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, postgresProgram(t, name, append(args, p.dir)...).Run())
	p.cmd = postgresProgram(t, "postgres", "-D", p.dir, "-p", p.port, "-k", dir,
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off")
	require.NoError(t, p.cmd.Start())
	t.Cleanup(p.kill)
	until(t, "PostgreSQL answers", func() bool { return p.try("SELECT 1") == nil })
	return p
}

// freePort returns an unused port, below those that systems assign to connections meanwhile.
func freePort(t testing.TB) string {
	for {
		port := strconv.Itoa(20_000 + rand.IntN(10_000))
		if listener, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			require.NoError(t, listener.Close())
			return port
		}
	}
}

func firstPostgres(t testing.TB) *ownPostgres {
	return newPostgres(t, "initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-N", "-D")
}

func (p *ownPostgres) url() string {
	return "postgres://postgres@127.0.0.1:" + p.port + "/postgres?sslmode=disable"
}

// try runs a statement on a connection of its own.
func (p *ownPostgres) try(sql string) error {
	ctx := context.Background() // cleaning up needs it, too
	conn, err := pgx.Connect(ctx, p.url())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

func (p *ownPostgres) kill() {
	if p.cmd.ProcessState == nil {
		p.signal(syscall.SIGKILL)
		_ = p.cmd.Wait()
	}
}

// signal sends a signal to the server and its children, each of which has a group of its own. The server is stopped
// while the children are signalled: as it buries none of them, no number is that of another process by then.
func (p *ownPostgres) signal(s syscall.Signal) {
	require.Nil(p.t, p.cmd.ProcessState, "the server has ended, and its number may be that of another process")
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGSTOP))
	list, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(p.t, err)
	for _, name := range list {
		text, _ := os.ReadFile(name)
		_, rest, _ := strings.Cut(string(text), ") ") // state and parent follow
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(p.cmd.Process.Pid) {
			pid, err := strconv.Atoi(strings.Split(name, "/")[2])
			require.NoError(p.t, err)
			_ = syscall.Kill(pid, s) // some have ended
		}
	}
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// outages returns how often the log reports that requests are refused.
func (p *process) outages() int {
	return strings.Count(p.log.String(), "level=ERROR msg=\"the store is unavailable; requests that need it are refused")
}

// A synchronous standby replaces its primary while servers charge: what was acknowledged is charged, once.
func TestPromotedStandby(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	primary := firstPostgres(t)
	standby := newPostgres(t, "pg_basebackup", "-d", primary.url(), "-R", "-X", "stream", "-c", "fast", "-D")
	require.NoError(t, primary.try("ALTER SYSTEM SET synchronous_standby_names = '*'"))
	require.NoError(t, primary.try("SELECT pg_reload_conf()"))
	until(t, "the standby is synchronous", func() bool {
		return primary.try("SELECT 1 / count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == nil
	})
	store := "--store=postgres://postgres@127.0.0.1:" + primary.port + ",127.0.0.1:" + standby.port +
		"/postgres?sslmode=disable&target_session_attrs=read-write"
	nodes := []*process{startProcess(t, store), startProcess(t, store)}
	secret := secretPattern.FindString(nodes[0].log.String())
	until(t, "its key is known", func() bool {
		r, err := post(t.Context(), nodes[1].url, secret, "/text/upper", upper)
		return err == nil && r.status == http.StatusOK
	})
	before := parsed[auditView](t, "audit", store).Entries

	const clients, each = 16, 60
	var acknowledged, lost atomic.Int64
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := 0; i < each && !t.Failed(); {
				r, err := post(t.Context(), nodes[(c+i)%len(nodes)].url, secret, "/text/upper", upper,
					"Idempotency-Key", fmt.Sprintf("standby-%d-%d", c, i))
				switch {
				case !assert.NoError(t, err):
				case r.status == http.StatusOK:
					acknowledged.Add(1)
					i++
				case r.status == http.StatusServiceUnavailable:
					lost.Add(1)
				default:
					assert.Equal(t, http.StatusConflict, r.status, r.body)
				}
			}
		})
	}
	until(t, "some are charged", func() bool { return acknowledged.Load() > clients*each/4 })
	primary.kill()
	require.NoError(t, standby.try("SELECT pg_promote()"))
	wg.Wait()
	require.Positive(t, lost.Load(), "nobody met the change")
	audit := parsed[auditView](t, "audit", store)
	assert.Empty(t, audit.Faults)
	assert.EqualValues(t, clients*each, audit.Entries-before)
	for _, n := range nodes {
		assert.LessOrEqual(t, n.outages(), 1, "%s", n.log)
	}
}

// A PostgreSQL that hangs, and one that waits for a lock: the server reports it without any request, refuses what it
// cannot charge within its time, and recovers by itself.
func TestSilentPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	own := firstPostgres(t)
	p := startProcess(t, "--store="+own.url(), "--metrics-listen=127.0.0.1:0")
	secret := secretPattern.FindString(p.log.String())
	key := parsed[[]keyView](t, "key", "list", "--store="+own.url())[0]
	ready := p.log.wait(t, `"serving metrics" url=(\S+)/metrics`)[1] + "/readyz"
	upper := func(secret string) int {
		r, err := post(t.Context(), p.url, secret, "/text/upper", upper)
		require.NoError(t, err)
		return r.status
	}
	require.Equal(t, http.StatusOK, upper(secret))
	charged := int64(1)
	for _, trouble := range []struct {
		name  string
		begin func() (end func())
	}{
		{"hangs", func() func() {
			own.signal(syscall.SIGSTOP)
			return func() { own.signal(syscall.SIGCONT) }
		}},
		{"locks", func() func() {
			conn, err := pgx.Connect(t.Context(), own.url())
			require.NoError(t, err)
			_, err = conn.Exec(t.Context(), "BEGIN; LOCK TABLE ledger IN ACCESS EXCLUSIVE MODE")
			require.NoError(t, err)
			return func() { require.NoError(t, conn.Close(context.Background())) }
		}},
	} {
		fresh := parsed[keyView](t, "key", "create", "--store="+own.url(), "--account="+string(key.Account),
			"--name=fresh", "--scopes=dns:read")
		end := trouble.begin()
		begun := time.Now()
		until(t, "it is not ready", func() bool { return get(t, ready).status == http.StatusServiceUnavailable })
		t.Logf("%s: not ready after %v", trouble.name, time.Since(begun).Round(100*time.Millisecond))
		begun = time.Now()
		assert.Equal(t, http.StatusServiceUnavailable, upper(secret), trouble.name)
		if trouble.name == "hangs" { // of a key that this server has never seen it can know nothing
			assert.Equal(t, http.StatusServiceUnavailable, upper(fresh.Secret), trouble.name)
		}
		t.Logf("%s: refused after %v", trouble.name, time.Since(begun).Round(100*time.Millisecond))
		end()
		until(t, "it is ready", func() bool { return get(t, ready).status == http.StatusOK })
		until(t, "it charges", func() bool { return upper(secret) == http.StatusOK })
		charged++
	}
	audit := parsed[auditView](t, "audit", "--store="+own.url())
	assert.Empty(t, audit.Faults)
	assert.Equal(t, charged, audit.Entries)
	assert.Positive(t, p.outages())
	assert.LessOrEqual(t, p.outages(), 2, "at most one for each trouble: %s", p.log)
}

// Connections that PostgreSQL ends in the middle of requests leave no claim behind: a client that repeats a refused
// request is served long before a lease would have ended.
func TestTerminatedConnections(t *testing.T) {
	db := newDatabase(t)
	p := startProcess(t, "--store="+db.url+"&application_name=terminated")
	secret := secretPattern.FindString(p.log.String())
	const clients, each = 20, 30
	var served, refused atomic.Int64
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := 0; i < each && !t.Failed(); {
				r, err := post(t.Context(), p.url, secret, "/text/upper", upper,
					"Idempotency-Key", fmt.Sprintf("terminated-%d-%d", c, i))
				switch {
				case !assert.NoError(t, err):
				case r.status == http.StatusOK:
					served.Add(1)
					i++
				default:
					assert.Contains(t, []int{http.StatusServiceUnavailable, http.StatusConflict}, r.status, r.body)
					refused.Add(1)
				}
			}
		})
	}
	for n := int64(1); n <= 5; n++ {
		until(t, "some are served", func() bool { return served.Load() >= n*clients*each/6 || t.Failed() })
		db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'terminated'")
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	until(t, "all are served", func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	t.Logf("%d requests were refused", refused.Load())
	audit := parsed[auditView](t, "audit", "--store="+db.url)
	assert.Empty(t, audit.Faults)
	assert.EqualValues(t, clients*each, audit.Entries)
	until(t, "nothing is held", func() bool {
		return db.number("SELECT count(*) FROM holds") == 0
	})
}

// Servers work behind a pooler that lends them a connection to PostgreSQL for one transaction at a time, with nothing
// set for it, and through its end.
func TestPooler(t *testing.T) {
	own := firstPostgres(t)
	pooled := strings.Replace(own.url(), own.port, freePort(t), 1)
	u, err := url.Parse(pooled)
	require.NoError(t, err)
	config := filepath.Join(filepath.Dir(own.dir), "pgbouncer.ini") // a folder of the user that PostgreSQL runs as
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `[databases]
* = host=127.0.0.1 port=%s user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
`, own.port, u.Port()), 0o644))
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/pgbouncer")
	}
	if err != nil {
		t.Skip("needs the program pgbouncer (Debian: pgbouncer)")
	}
	begin := func() (end func()) {
		cmd := asPostgres(t, exec.Command(path, "-q", config))
		require.NoError(t, cmd.Start())
		return func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	}
	end := begin()
	defer func() { end() }()
	until(t, "the pooler answers", func() bool {
		conn, err := pgx.Connect(t.Context(), pooled)
		return err == nil && conn.Close(t.Context()) == nil
	})
	store := "--store=" + pooled
	nodes := []*process{
		startProcess(t, store, "--metrics-listen=127.0.0.1:0"), startProcess(t, store, "--metrics-listen=127.0.0.1:0"),
	}
	secret := secretPattern.FindString(nodes[0].log.String())
	key := parsed[[]keyView](t, "key", "list", store)[0]
	parsed[spfView](t, "spf", "create", store, "--key="+string(key.ID), "--domain=example.com",
		"--record=v=spf1 ip4:192.0.2.1 -all", "--include-host=h.example.net")
	charged := int64(0)
	for round := range 2 {
		for _, n := range nodes {
			until(t, "it charges", func() bool {
				r, err := post(t.Context(), n.url, secret, "/text/upper", upper,
					"Idempotency-Key", fmt.Sprint("behind-a-pooler-", charged))
				require.NoError(t, err)
				return r.status == http.StatusOK
			})
			charged++
		}
		if round == 0 {
			end()
			until(t, "the end of the pooler is met", func() bool { return !strings.HasPrefix(nodes[0].ready(t), "ready") })
			end = begin()
			until(t, "it is ready", func() bool { return strings.HasPrefix(nodes[0].ready(t), "ready") })
		}
	}
	audit := parsed[auditView](t, "audit", store)
	assert.Empty(t, audit.Faults)
	assert.Equal(t, charged, audit.Entries)
	command(t, "key", "revoke", string(key.ID), store)
	for _, n := range nodes {
		until(t, "it is revoked", func() bool {
			r, err := post(t.Context(), n.url, secret, "/text/upper", upper)
			return err == nil && r.status == http.StatusUnauthorized
		})
	}
}
