package main

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering/postgresdb"
)

// database is a schema that ends with the test.
type database struct {
	t   testing.TB
	url string        // of a database in which it comes first
	own *pgxpool.Pool // one connection, for tests that poll
}

func newDatabase(t testing.TB) database {
	t.Helper()
	text := settingsOfTests["DIAG_TEST_POSTGRES"]
	if text == "" {
		t.Skip("needs PostgreSQL; DIAG_TEST_POSTGRES names it, such as postgres://postgres@127.0.0.1:5432/test")
	}
	url, drop, err := postgresdb.Scratch(t.Context(), text)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, drop()) })
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.MaxConns = 1
	own, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(own.Close)
	return database{t, url, own}
}

// behind is the database at another address.
func (d database) behind(addr string) string {
	u, err := url.Parse(d.url)
	require.NoError(d.t, err)
	u.Host = addr
	return u.String()
}

// number queries one.
func (d database) number(sql string, args ...any) (n int64) {
	require.NoError(d.t, d.own.QueryRow(d.t.Context(), sql, args...).Scan(&n))
	return n
}

// execute runs a statement.
func (d database) execute(sql string) {
	d.t.Helper()
	_, err := d.own.Exec(d.t.Context(), sql)
	require.NoError(d.t, err)
}

// Servers that start concurrently on an empty database make one account and one key, which all of them know; every
// command of the administration works on it while they serve.
func TestPostgres(t *testing.T) {
	store := "--store=" + newDatabase(t).url
	servers := make([]*server, 3)
	var wg sync.WaitGroup
	for i := range servers {
		wg.Go(func() { servers[i] = start(t, store) })
	}
	wg.Wait()
	secret := ""
	for _, s := range servers {
		if s.secret != "" {
			assert.Empty(t, secret, "one server made the key")
			secret = s.secret
		}
	}
	require.NotEmpty(t, secret)
	require.Len(t, parsed[[]accountView](t, "account", "list", store), 1)
	keys := parsed[[]keyView](t, "key", "list", store)
	require.Len(t, keys, 1)
	for _, s := range servers {
		s.secret = secret
		require.Equal(t, http.StatusOK, s.post("/text/upper", upper).status, "%s", s.log)
	}
	assert.EqualValues(t, 3, parsed[usageView](t, "usage", store).Used)
	assert.Empty(t, parsed[auditView](t, "audit", store).Faults)
	moved := parsed[migrateView](t, "migrate", store)
	assert.Equal(t, moved.To, moved.From)
	assert.Equal(t, moved.HostedTo, moved.HostedFrom)
	assert.Positive(t, moved.HostedTo)
	spf := parsed[spfView](t, "spf", "create", store, "--key="+string(keys[0].ID), "--domain=example.com",
		"--record=v=spf1 ip4:192.0.2.1 -all", "--include-host=h.example.net")
	for _, s := range servers {
		r := get(t, s.url+"/public/v1/openapi.json")
		require.Equal(t, http.StatusOK, r.status)
		require.Contains(t, s.get("/spf/hosted/"+spf.ID).body, `"status":"active"`)
	}
	for _, s := range servers {
		require.Equal(t, exitOK, s.wait())
		assertNoTrouble(t, s.log.String())
	}
}

// The doctor leaves a database as it is, whether it has no tables yet or those of another version.
func TestDoctorMigratesNothing(t *testing.T) {
	db := newDatabase(t)
	store := func() condition {
		_, conditions, _ := doctor(t, "--store="+db.url, "--resolver=udp://127.0.0.1:1")
		return conditions["store"]
	}
	assert.Equal(t, conditionFault, store())
	assert.Zero(t, db.number("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"))
	command(t, "migrate", "--store="+db.url)
	assert.Equal(t, conditionOK, store())
	version := db.number("UPDATE metering_layout SET version = version - 1 RETURNING version")
	assert.Equal(t, conditionFault, store())
	assert.Equal(t, version, db.number("SELECT version FROM metering_layout"))
}

// One of three servers whose clock is wrong by minutes or months uses that of the database: it moves no charge to
// another month, ends no key and forgets no reply, and needs no manual action when its clock is right again.
func TestMovedClockOfANode(t *testing.T) {
	month := thisMonth()
	db := newDatabase(t)
	var jump atomic.Int64
	clocks := []func() time.Time{nil, nil, func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }}
	store := "--store=" + db.url
	nodes := make([]*server, len(clocks))
	for i, wall := range clocks {
		nodes[i] = startApp(t, &app{drain: drainTime, wall: wall}, store, "--metrics-listen=127.0.0.1:0")
		nodes[i].secret = cmp.Or(nodes[i].secret, nodes[0].secret)
	}
	wrong := nodes[2]
	metrics := wrong.log.wait(t, `"?serving metrics"? url=(\S+)/metrics`)[1]
	ends := parsed[keyView](t, "key", "create", "--name=ends", "--scopes=dns:read", "--expires-in=1h", store).Secret
	const day = 24 * time.Hour
	for i, d := range []time.Duration{3 * time.Minute, -3 * time.Minute, 2 * day, 90 * day, -90 * day} {
		jump.Store(int64(d))
		key := fmt.Sprintf("0123456789-%d", i)
		for j, n := range []*server{nodes[0], wrong, nodes[1]} {
			r := n.post("/text/upper", upper, "Idempotency-Key", key)
			assert.Equal(t, http.StatusOK, r.status, d)
			assert.Equal(t, []string{"", "true", "true"}[j], r.header.Get("X-Idempotent-Replay"), d)
		}
		r, err := post(t.Context(), wrong.url, ends, "/text/upper", upper)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, r.status, d)
		assert.Contains(t, get(t, metrics+"/readyz").body, "apart from that of the store", d)
		jump.Store(0)
		assert.NotContains(t, get(t, metrics+"/readyz").body, "clock", d)
	}
	told := get(t, metrics+"/metrics").body
	assert.Regexp(t, `(?m)^diagkit_store_pool_used \d+$`, told)
	assert.Contains(t, told, "\ndiagkit_store_pool_max 16\n")
	assert.NotContains(t, told, "diagkit_audit", "not recorded for this kind of store")
	for _, n := range nodes {
		assert.Equal(t, exitOK, n.wait())
	}
	assert.EqualValues(t, 2*5, parsed[usageView](t, "usage", "--month", month.String(), store).Charges)
	assert.Empty(t, parsed[auditView](t, "audit", store).Faults)
}
