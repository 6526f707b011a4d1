package postgres_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/postgres"
)

// A pooler is a PgBouncer that lends servers for one transaction at a time.
type pooler struct {
	t      *testing.T
	config string
	cmd    *exec.Cmd
	url    string // of the schema behind it
}

// newPooler starts one before a schema; its connections begin with a query.
func newPooler(t *testing.T, text, query string) *pooler {
	u, err := url.Parse(text)
	require.NoError(t, err)
	port := freePort(t)
	server := fmt.Sprintf("host=%s port=%s user=%s", u.Hostname(), cmp.Or(u.Port(), "5432"), u.User.Username())
	if password, ok := u.User.Password(); ok {
		server += " password='" + password + "'"
	}
	schema := u.Query().Get("search_path")
	p := &pooler{t: t, config: filepath.Join(t.TempDir(), "pgbouncer.ini")}
	require.NoError(t, os.WriteFile(p.config, fmt.Appendf(nil, `[databases]
* = %s connect_query='SET search_path TO %s; %s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
log_connections = 0
log_disconnections = 0
user = %s
`, server, schema, query, port, ownUser()), 0o600))
	p.url = fmt.Sprintf("postgres://x@127.0.0.1:%s%s?sslmode=disable&application_name=%s", port, u.Path, schema)
	p.start()
	t.Cleanup(p.kill)
	return p
}

// freePort returns a port without a listener, below the range of ephemeral ports.
func freePort(t *testing.T) string {
	for {
		port := strconv.Itoa(20_000 + rand.IntN(10_000))
		if listener, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			require.NoError(t, listener.Close())
			return port
		}
	}
}

// ownUser is the user as which the programs of PostgreSQL run: they refuse to be run by root.
func ownUser() string {
	if os.Getuid() == 0 {
		return "postgres"
	}
	return ""
}

func (p *pooler) start() {
	name, err := exec.LookPath("pgbouncer")
	if err != nil {
		name, err = exec.LookPath("/usr/sbin/pgbouncer")
	}
	if err != nil {
		p.t.Skip("needs the program pgbouncer (Debian: pgbouncer)")
	}
	p.cmd = exec.Command(name, p.config)
	p.cmd.Stderr = p.t.Output()
	require.NoError(p.t, p.cmd.Start())
	require.Eventually(p.t, func() bool {
		conn, err := pgx.Connect(p.t.Context(), p.url)
		return err == nil && conn.Close(p.t.Context()) == nil
	}, time.Minute, 10*time.Millisecond)
}

func (p *pooler) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// TestStoreBehindPooler runs the store tests through connections without state beyond a transaction: by day those that
// depend on that most, at night all.
func TestStoreBehindPooler(t *testing.T) {
	only := []string{"model", "watch", "generation", "rotation is atomic", "settle once", "lapsed claim", "replay", "entries", "records",
		"race for the last credit", "race of duplicates", "survival"}
	if diagtest.Whole() {
		only = nil
	}
	meteringtest.TestStore(t, func(t *testing.T, clock *meteringtest.Clock) metering.Store {
		p := newPooler(t, newSchema(t), "")
		return openTest(t, p.url, postgres.Config{Plans: meteringtest.Plans(), Clock: clock.Now})
	}, only...)
}

// A pooler that is killed again and again loses no charge.
func TestKilledPooler(t *testing.T) {
	p := newPooler(t, newSchema(t), "")
	testCut(t, p.url, p.kill, p.start)
}

// Settings that cannot work behind a pooler are rejected at the start.
func TestPoolerSettings(t *testing.T) {
	text := newSchema(t)
	p := newPooler(t, text, "SET default_transaction_isolation TO serializable")
	_, err := postgres.Open(t.Context(), p.url, postgres.Config{})
	require.ErrorContains(t, err, `default_transaction_isolation must be "read committed", it is "serializable"`)
	_, err = postgres.Open(t.Context(), p.url+"&search_path=other", postgres.Config{})
	require.ErrorContains(t, err, "unsupported startup parameter: search_path")
	require.ErrorContains(t, err, "ALTER ROLE")
}

// A pooler that cannot be distinguished from PostgreSQL may be declared in the URL.
func TestPoolerOfURL(t *testing.T) {
	store := openTest(t, newSchema(t)+"&default_query_exec_mode=exec", postgres.Config{Plans: meteringtest.Plans()})
	defer func() { require.NoError(t, store.Close()) }()
	require.True(t, store.Pooled())
}
