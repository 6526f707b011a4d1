package postgres_test

import (
	"fmt"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/hostedspftest"
	"github.com/diagkit/diagkit/mailauth/hostedspf/postgres"
	"github.com/diagkit/diagkit/metering/postgresdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newSchema creates a schema that ends with the test, and returns the URL of a database in which it comes first.
func newSchema(t *testing.T) string {
	t.Helper()
	text := os.Getenv("DIAG_TEST_POSTGRES")
	if text == "" {
		t.Skip("needs PostgreSQL; DIAG_TEST_POSTGRES names it, such as postgres://postgres@127.0.0.1:5432/test")
	}
	url, drop, err := postgresdb.Scratch(t.Context(), text)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, drop()) })
	return url
}

// reopening is a store that can be opened again.
type reopening struct {
	hostedspf.Store
	url   string
	clock diag.Clock
}

func open(t *testing.T, url string, clock diag.Clock) reopening {
	store, err := postgres.Open(t.Context(), url, postgres.Config{Clock: clock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return reopening{store, url, clock}
}

// Reopen implements [hostedspftest.Reopener].
func (r reopening) Reopen(t *testing.T) hostedspf.Store {
	require.NoError(t, r.Close())
	return open(t, r.url, r.clock)
}

func TestStore(t *testing.T) {
	hostedspftest.TestStore(t, func(t *testing.T, clock *hostedspftest.Clock) hostedspf.Store {
		return open(t, newSchema(t), clock.Now)
	})
}

// example is a profile with every field set.
func example(n int) hostedspf.Profile {
	at := time.Date(2026, 1, 15, 12, 0, n, 123456000, time.UTC)
	host := fmt.Sprintf("h%d.spf.example.net", n)
	return hostedspf.Profile{
		ID: fmt.Sprintf("spf_%026d", n), Domain: diag.MustDomain("example.com"), Name: "Größe\x00",
		Status:       hostedspf.Failed,
		SourceRecord: "v=spf1 mx -all", FlattenedRecord: "v=spf1 ip4:192.0.2.1 -all", IncludeHost: diag.MustName(host),
		Records:       []hostedspf.Record{{Name: host, Value: "v=spf1 ip4:192.0.2.1 -all", LengthBytes: 25}},
		LookupsBefore: 1, LookupsAfter: 2, IP4Count: 3, IP6Count: 4, RecordHash: "abc", IntervalSeconds: 3600,
		LastResolvedAt: at.Add(1 * time.Second), LastChangedAt: at.Add(2 * time.Second),
		NextResolveAt: at.Add(3 * time.Second), LastError: "no answer", CreatedAt: at, UpdatedAt: at.Add(4 * time.Second),
		Owner: "key_a", Failures: 5, IsPaused: false,
		Parts: []hostedspf.Part{{Name: "set", Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, Until: at}},
	}
}

// Two servers on one database, which share its clock.
func two(t *testing.T) (a, b hostedspf.Store) {
	url := newSchema(t)
	return open(t, url, nil).Store, open(t, url, nil).Store
}

// What one server writes, another reads, with every field as it was.
func TestTwoServers(t *testing.T) {
	a, b := two(t)
	before, err := b.Version(t.Context())
	require.NoError(t, err)
	p := example(1)
	require.NoError(t, a.Create(t.Context(), p))
	got, err := b.Profile(t.Context(), p.ID)
	require.NoError(t, err)
	require.Equal(t, p, got)
	after, err := b.Version(t.Context())
	require.NoError(t, err)
	require.Greater(t, after, before, "it rises")
	due, err := b.Due(t.Context(), p.NextResolveAt, 10)
	require.NoError(t, err)
	require.Equal(t, []hostedspf.Due{{ID: p.ID, At: p.NextResolveAt}}, due)

	claim, err := a.Claim(t.Context(), p.ID, time.Hour)
	require.NoError(t, err)
	_, err = b.Claim(t.Context(), p.ID, time.Hour)
	require.ErrorIs(t, err, hostedspf.ErrClaimed)
	due, err = b.Due(t.Context(), p.NextResolveAt, 10)
	require.NoError(t, err)
	require.Empty(t, due)
	require.NoError(t, a.Release(t.Context(), claim))
	claim, err = b.Claim(t.Context(), p.ID, 0) // lapses immediately
	require.NoError(t, err)
	_, err = b.Finish(t.Context(), claim, hostedspf.Outcome{})
	require.ErrorIs(t, err, hostedspf.ErrLapsed)
	second, err := a.Claim(t.Context(), p.ID, time.Hour)
	require.NoError(t, err)
	require.Greater(t, second.Fence, claim.Fence)
}

// Sixty-four claims on two servers: one wins, again and again.
func TestClaimsOfTwoServers(t *testing.T) {
	a, b := two(t)
	require.NoError(t, a.Create(t.Context(), example(1)))
	for range 5 {
		var wg sync.WaitGroup
		won := make(chan hostedspf.Claim, 64)
		for i := range 64 {
			wg.Go(func() {
				c, err := []hostedspf.Store{a, b}[i%2].Claim(t.Context(), example(1).ID, time.Hour)
				if err == nil {
					won <- c
				} else {
					assert.ErrorIs(t, err, hostedspf.ErrClaimed)
				}
			})
		}
		wg.Wait()
		require.Len(t, won, 1)
		require.NoError(t, b.Release(t.Context(), <-won))
	}
}

// Servers that start concurrently on an empty database create the tables once.
func TestStartTogether(t *testing.T) {
	url := newSchema(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			store, err := postgres.Open(t.Context(), url, postgres.Config{})
			if assert.NoError(t, err) {
				assert.NoError(t, store.Close())
			}
		})
	}
	wg.Wait()
	from, to, err := postgres.Migrate(t.Context(), url)
	require.NoError(t, err)
	require.Equal(t, []int{postgres.SchemaVersion, postgres.SchemaVersion}, []int{from, to})
}

// Profiles are stored as JSON: those of older versions must stay readable when fields of the API change.
func TestStoredForm(t *testing.T) {
	url := newSchema(t)
	store := open(t, url, nil)
	want := example(1)
	want.Name = "Größe"
	require.NoError(t, store.Create(t.Context(), want))
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "UPDATE spf_profiles SET body = $1", stored)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	got, err := store.Profile(t.Context(), want.ID)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

const stored = `{"id":"spf_00000000000000000000000001","domain":"example.com","name":"Größe","status":"error",` +
	`"source_record":"v=spf1 mx -all","flattened_record":"v=spf1 ip4:192.0.2.1 -all",` +
	`"include_host":"h1.spf.example.net",` +
	`"records":[{"name":"h1.spf.example.net","value":"v=spf1 ip4:192.0.2.1 -all","length_bytes":25}],` +
	`"dns_lookups_before":1,"dns_lookups_after":2,"ip4_count":3,"ip6_count":4,"record_hash":"abc",` +
	`"refresh_interval_seconds":3600,"last_resolved_at":"2026-01-15T12:00:02.123456Z",` +
	`"last_changed_at":"2026-01-15T12:00:03.123456Z","next_resolve_at":"2026-01-15T12:00:04.123456Z",` +
	`"last_error":"no answer","created_at":"2026-01-15T12:00:01.123456Z","updated_at":"2026-01-15T12:00:05.123456Z",` +
	`"owner":"key_a","failures":5,"is_paused":false,` +
	`"parts":[{"name":"set","networks":["192.0.2.0/24"],"until":"2026-01-15T12:00:01.123456Z"}]}`

// A missing database is unavailable, and the error about a wrong URL omits its password.
func TestOpenErrors(t *testing.T) {
	_, err := postgres.Open(t.Context(), "postgres://user:Secret@127.0.0.1:1/db", postgres.Config{})
	require.ErrorIs(t, err, hostedspf.ErrUnavailable)
	require.NotContains(t, err.Error(), "Secret")
	for _, url := range []string{
		"", "mysql://user:Secret@host/db", "postgres://user:Sec/ret@host/db", "postgres://user:12/Secret@host",
		"postgres://user:12?Secret=x@host/db", "postgres://user:12#Secret@host/db", "postgres://user:Sec%ret@host/db",
		"postgres://user:Secret@host/db?connect_timeout=never",
	} {
		_, err := postgres.Open(t.Context(), url, postgres.Config{})
		require.Error(t, err, url)
		require.NotErrorIs(t, err, hostedspf.ErrUnavailable, url)
		require.NotContains(t, err.Error(), "ecret")
		require.NotContains(t, err.Error(), "Sec")
	}
}
