package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	hostedmemory "github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

// The profile of the examples: its id is that of the tags of the requests.
const (
	exampleProfile                 = "spf_mn4zq2vtw6k7y3cx5hbd2jfgla"
	exampleOwner   hostedspf.Owner = "key_abcdefghijklmnopqrstuvwxyz"
)

// profile is a profile that has been resolved at a time.
func profile(id string, owner hostedspf.Owner, created time.Time) hostedspf.Profile {
	host := strings.TrimPrefix(id, "spf_") + ".spf.example.net"
	return hostedspf.Profile{
		ID: id, Owner: owner, Domain: diag.MustDomain("example.com"), Name: "Example", Status: hostedspf.Active,
		SourceRecord: "v=spf1 mx -all", IncludeHost: diag.MustName(host), IntervalSeconds: hostedspf.DefaultInterval,
		CreatedAt: created, UpdatedAt: created, NextResolveAt: created,
	}
}

// fill puts a profile into a store, and resolutions at each of the times, of which the first changed it.
func fill(t testing.TB, store hostedspf.Store, p hostedspf.Profile, times ...time.Time) {
	t.Helper()
	ctx := context.Background()
	require.NoError(t, store.Create(ctx, p))
	for i, at := range times {
		claim, err := store.Claim(ctx, p.ID, time.Minute)
		require.NoError(t, err)
		r := hostedspf.Resolution{
			ID: fmt.Sprintf("res_%026s", strings.Repeat("b", i+1)), ProfileID: p.ID, ResolvedAt: at,
			Trigger: hostedspf.Scheduled, Status: hostedspf.ResolutionUnchanged, DurationMS: 40, DNSLookups: 1,
			Added: []string{}, Removed: []string{}, IP4Count: 2, RecordHash: strings.Repeat("ab", 32),
		}
		r.ID = strings.ReplaceAll(r.ID, "0", "a")
		if i == 0 {
			r.Status, r.Added = hostedspf.ResolutionChanged, []string{"192.0.2.25/32", "192.0.2.26/32"}
		}
		const record = "v=spf1 ip4:192.0.2.25 ip4:192.0.2.26 -all"
		_, err = store.Finish(ctx, claim, hostedspf.Outcome{
			Resolution: r, NextResolveAt: at.Add(time.Hour), Published: &hostedspf.Publication{
				FlattenedRecord: record, LookupsBefore: 1, LookupsAfter: 1, IP4Count: 2, RecordHash: r.RecordHash,
				Records: []hostedspf.Record{{Name: p.IncludeHost.String(), Value: record, LengthBytes: len(record)}},
			},
		})
		require.NoError(t, err)
	}
}

// runExample runs an operation in a world; one on profiles with a store that holds the profile of the examples, in
// the evening of the day that their queries name.
func runExample(t testing.TB, world *diagtest.World, ep Endpoint, request []byte) (*Result, error) {
	if !ep.Hosted() {
		return ep.Run(t.Context(), world.Env(), request)
	}
	now := time.Date(2026, 1, 15, 20, 0, 0, 0, time.UTC)
	env := world.NewEnv()
	env.Clock = func() time.Time { return now }
	store := hostedmemory.New(hostedmemory.Config{Clock: env.Clock})
	fill(t, store, profile(exampleProfile, exampleOwner, now.Add(-2*time.Hour)), now.Add(-2*time.Hour), now.Add(-time.Hour))
	access := hostedspf.Access{Store: store, Owner: exampleOwner}
	return ep.RunHosted(t.Context(), env, access, request)
}

// profileID makes an id that sorts by its number.
func profileID(n int) string {
	return fmt.Sprintf("spf_%s%c%c", strings.Repeat("a", 24), 'a'+n/26, 'a'+n%26)
}

// hostedAPI is an API with a store of profiles.
func hostedAPI(t testing.TB) (*api, *hostedmemory.Store) {
	var store *hostedmemory.Store
	a := newAPI(t, "self", func(c *Config) {
		store = hostedmemory.New(hostedmemory.Config{Clock: c.Clock})
		c.HostedSPF = store
	})
	return a, store
}

func (a *api) owner() hostedspf.Owner { return hostedspf.Owner(a.key.ID) }

func TestHostedOperations(t *testing.T) {
	a, store := hostedAPI(t)
	now := a.clock.Now()
	fill(t, store, profile(profileID(1), a.owner(), now.Add(-time.Hour)), now.Add(-time.Hour), now.Add(-time.Minute))

	var list hostedspf.ListReport
	r := a.get("/spf/hosted")
	require.NoError(t, json.Unmarshal(r.Body.Bytes(), &list), "%s", r.Body)
	require.Len(t, list.Profiles, 1)
	require.Equal(t, 1, list.Total)
	require.NotContains(t, r.Body.String(), `"records"`)
	require.Contains(t, r.Body.String(), `"next_cursor":null`)
	require.Equal(t, "1", r.header("X-Credits-Consumed"))

	r = a.get("/spf/hosted/" + profileID(1))
	require.Contains(t, r.Body.String(), `"records":[{"name":"`)
	require.Equal(t, "1", r.header("X-Credits-Consumed"))

	r = a.get("/spf/hosted/" + profileID(1) + "/history?status=unchanged")
	var history hostedspf.HistoryReport
	require.NoError(t, json.Unmarshal(r.Body.Bytes(), &history), "%s", r.Body)
	require.Len(t, history.Items, 1)
	require.Equal(t, "2", r.header("X-Credits-Consumed"))

	r = a.get("/spf/hosted/" + profileID(1) + "/stats")
	require.Contains(t, r.Body.String(), `"resolutions_count":2`)
	require.Equal(t, "2", r.header("X-Credits-Consumed"))
	require.Equal(t, int64(6), a.used())
	require.Empty(t, list.Profiles[0].Records)
}

// Without a store no key has a profile.
func TestHostedWithoutStore(t *testing.T) {
	a := newAPI(t, "self", nil)
	require.JSONEq(t, `{"profiles":[],"next_cursor":null,"has_more":false,"total":0}`, a.get("/spf/hosted").Body.String())
	for _, path := range []string{"", "/history", "/stats"} {
		require.Equal(t, 404, a.get("/spf/hosted/"+profileID(1)+path).Code)
	}
}

// IDs that are unknown, malformed or of another owner, and paths that do not exist, get the same bytes; and the first
// three the same headers too. None costs anything.
func TestForeignProfiles(t *testing.T) {
	a, store := hostedAPI(t)
	now := a.clock.Now()
	fill(t, store, profile(profileID(1), "key_of_somebody_else", now), now)
	head := func(r *reply) string {
		h := r.Result().Header.Clone()
		for _, name := range []string{"X-Request-Id", "RateLimit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
			require.NotEmpty(t, h[name])
			delete(h, name) // they count
		}
		return fmt.Sprint(h)
	}
	body := func(r *reply) string {
		require.Equal(t, 404, r.Code)
		return strings.ReplaceAll(r.Body.String(), r.header("X-Request-Id"), "req")
	}
	for _, path := range []string{"", "/history", "/stats"} {
		foreign := a.get("/spf/hosted/" + profileID(1) + path)
		unknown := a.get("/spf/hosted/" + profileID(2) + path)
		malformed := a.get("/spf/hosted/42" + path)
		require.Equal(t, body(a.get("/nothing")), body(foreign))
		require.Equal(t, body(foreign), body(unknown))
		require.Equal(t, body(foreign), body(malformed))
		require.Equal(t, head(foreign), head(unknown))
		require.Equal(t, head(foreign), head(malformed))
	}
	require.Equal(t, 404, a.get("/spf/hosted/"+profileID(1), "Idempotency-Key", "0123456789").Code)
	require.Equal(t, 404, a.get("/spf/hosted/"+profileID(1), "Idempotency-Key", "0123456789").Code)
	require.Zero(t, a.used())
}

// A profile stays with the line of a key: its successors see it, and the old key in its grace.
func TestProfilesStayWithRotatedKeys(t *testing.T) {
	a, store := hostedAPI(t)
	now := a.clock.Now()
	fill(t, store, profile(profileID(1), a.owner(), now), now)
	_, stranger := a.newKey(metering.MailRead)
	sees := func(secret string) int {
		return a.get("/spf/hosted/"+profileID(1), "Authorization", "Bearer "+secret).Code
	}
	require.Equal(t, 200, sees(a.secret))
	require.Equal(t, 404, sees(stranger), "another key of the account has profiles of its own")

	old, secrets := a.key.ID, []string{a.secret}
	for range 3 {
		_, key, secret, err := a.admin.RotateKey(t.Context(), old, time.Hour)
		require.NoError(t, err)
		old, secrets = key.ID, append(secrets, secret.Reveal())
		for i, s := range secrets {
			require.Equal(t, 200, sees(s), "key %d", i)
		}
	}
	a.clock.Advance(time.Hour)
	require.Equal(t, 401, sees(secrets[0]), "its grace is over")
	require.Equal(t, 200, sees(secrets[3]))
	require.Equal(t, 404, sees(stranger))
}

// An operation may work on profiles and have no parameters.
func TestHostedWithoutParameters(t *testing.T) {
	op := hosted(func(_ context.Context, _ *diag.Env, a hostedspf.Access, r testRequest) (*testReport, error) {
		return &testReport{Text: r.Text + string(a.Owner)}, nil
	})
	a := newAPI(t, "self", nil, Endpoint{"POST", "/mine", metering.MailRead, 1, "", op})
	require.JSONEq(t, `{"text":"x`+string(a.key.ID)+`"}`, a.post("/mine", `{"text":"x"}`).Body.String())
}

// A line that cannot be followed is a fault of ours, and free.
func TestBrokenLineOfKeys(t *testing.T) {
	a, _ := hostedAPI(t)
	key, secret := a.newKey(metering.MailRead)
	stored, err := a.store.Key(t.Context(), key.ID)
	require.NoError(t, err)
	stored.RotatedFrom = "key_gone"
	require.NoError(t, a.store.PutKeys(t.Context(), stored))
	r := a.get("/spf/hosted", "Authorization", "Bearer "+secret)
	require.Equal(t, 500, r.Code)
	require.NotContains(t, r.Body.String(), "key_gone")
	require.Contains(t, a.log.String(), "key_gone")
	require.Zero(t, a.used())
}

// Each profile that was there from the start is listed once, whatever is created between two pages.
func TestPagesAreStable(t *testing.T) {
	a, store := hostedAPI(t)
	start := a.clock.Now().Add(-time.Hour)
	for n := range 7 {
		fill(t, store, profile(profileID(2*n), a.owner(), start.Add(time.Duration(n)*time.Minute)))
	}
	var ids []string
	for query, page := "limit=2", 0; ; page++ {
		require.Less(t, page, 10)
		var list hostedspf.ListReport
		r := a.get("/spf/hosted?" + query)
		require.NoError(t, json.Unmarshal(r.Body.Bytes(), &list), "%s", r.Body)
		for _, p := range list.Profiles {
			ids = append(ids, p.ID)
		}
		require.Equal(t, list.HasMore, list.NextCursor != nil)
		if !list.HasMore {
			break
		}
		query = "limit=2&cursor=" + url.QueryEscape(*list.NextCursor)
		before := profile(profileID(20+2*page), a.owner(), start.Add(-time.Minute))
		fill(t, store, before)
		require.NoError(t, store.Remove(t.Context(), before.ID))
		fill(t, store, before) // it stays before all pages to come
	}
	var want []string
	for n := range 7 {
		want = append(want, profileID(2*n))
	}
	require.Equal(t, want, ids)
}

// New resolutions move no page of the history.
func TestHistoryPagesAreStable(t *testing.T) {
	a, store := hostedAPI(t)
	now := a.clock.Now()
	var times []time.Time
	for n := range 5 {
		times = append(times, now.Add(time.Duration(n-10)*time.Minute))
	}
	fill(t, store, profile(profileID(1), a.owner(), now.Add(-time.Hour)), times...)
	var seen []time.Time
	for query, page := "limit=2", 0; ; page++ {
		require.Less(t, page, 10)
		var history hostedspf.HistoryReport
		r := a.get("/spf/hosted/" + profileID(1) + "/history?" + query)
		require.NoError(t, json.Unmarshal(r.Body.Bytes(), &history), "%s", r.Body)
		for _, item := range history.Items {
			seen = append(seen, item.ResolvedAt)
		}
		if history.NextCursor == nil {
			break
		}
		query = "limit=2&cursor=" + url.QueryEscape(*history.NextCursor)
		claim, err := store.Claim(t.Context(), profileID(1), time.Minute)
		require.NoError(t, err)
		_, err = store.Finish(t.Context(), claim, hostedspf.Outcome{Resolution: hostedspf.Resolution{
			ID: "res_" + strings.Repeat(string(rune('c'+page)), 26), ProfileID: profileID(1), ResolvedAt: now,
			Trigger: hostedspf.Manual, Status: hostedspf.ResolutionFailed, Error: "no answer",
		}})
		require.NoError(t, err)
	}
	require.Len(t, seen, len(times))
	for i, at := range seen {
		require.True(t, at.Equal(times[len(times)-1-i]), "newest first")
	}
}

func TestHostedQueries(t *testing.T) {
	a, store := hostedAPI(t)
	fill(t, store, profile(profileID(1), a.owner(), a.clock.Now()))
	for _, tt := range []struct {
		target string
		want   []string // fields at fault
	}{
		{"/spf/hosted?limit=0", []string{"limit"}},
		{"/spf/hosted?limit=101", []string{"limit"}},
		{"/spf/hosted?cursor=nonsense", []string{"cursor"}},
		{"/spf/hosted?domain=a..b", []string{"domain"}},
		{"/spf/hosted?domain=", []string{"domain"}},
		{"/spf/hosted?limit=0&domain=a..b&offset=5", []string{"limit", "domain", "offset"}},
		{"/spf/hosted/" + profileID(1) + "?fields=id", []string{"fields"}},
		{"/spf/hosted/" + profileID(1) + "/stats?window=24h", []string{"window"}},
		{"/spf/hosted/" + profileID(1) + "/history?status=good", []string{"status"}},
		{"/spf/hosted/" + profileID(1) + "/history?since=yesterday", []string{"since"}},
		{"/spf/hosted/" + profileID(1) + "/history?since=a&until=b&cursor=c", []string{"cursor", "since", "until"}},
		{"/spf/hosted/" + profileID(1) + "/history?until=2026-02-30T00:00:00Z", []string{"until"}},
		{"/spf/hosted/" + profileID(1) + "/history?limit=0&limit=1&status=x", []string{"limit", "limit", "status"}},
	} {
		t.Run(tt.target, func(t *testing.T) {
			r := a.get(tt.target)
			require.Equal(t, 400, r.Code, "%s", r.Body)
			var fields []string
			for _, v := range r.problem().Details.Fields {
				fields = append(fields, v.Field)
			}
			require.Equal(t, tt.want, fields)
		})
	}
	for _, good := range []string{"?limit=100&cursor=", "?domain=EXAMPLE.com."} {
		r := a.get("/spf/hosted" + good)
		require.Equal(t, 200, r.Code, "%s", r.Body)
		require.Contains(t, r.Body.String(), `"total":1`)
	}
	used := a.used()
	require.Equal(t, int64(2), used, "refusals are free")
}

// Without a store of profiles, the operation reports that.
func TestRunOfHostedOperations(t *testing.T) {
	n := 0
	for _, ep := range endpoints {
		if !ep.Hosted() {
			continue
		}
		n++
		_, err := ep.Run(t.Context(), nil, exampleRequest(t, ep))
		require.True(t, errors.Is(err, errHosted), "%s: %v", ep.ID(), err)
	}
	require.NotZero(t, n)
}
