package hostedspf_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	domain = diag.MustDomain("example.com")
	zone   = diag.MustName("spf.example.net")
)

const source = "v=spf1 include:_spf.example.org -all"

// service gives the included service its networks.
func service(w *diagtest.World, networks ...string) {
	text := "v=spf1"
	for _, n := range networks {
		text += " ip4:" + n
	}
	w.Flap("_spf.example.org", fmt.Sprintf("_spf.example.org. TXT %q", text+" -all"))
}

// setUp returns a world with a service of one network, and a store of it.
func setUp(t *testing.T) (*diagtest.World, hostedspf.Access) {
	w := diagtest.NewWorld(t)
	service(w, "192.0.2.0/24")
	return w, hostedspf.Access{Store: memory.New(memory.Config{Clock: w.Now}), Owner: "key_a"}
}

func create(t *testing.T, w *diagtest.World, a hostedspf.Access) *hostedspf.Profile {
	t.Helper()
	p, err := hostedspf.Create(t.Context(), w.Env(), a,
		hostedspf.CreateRequest{Domain: domain, SourceRecord: source, Zone: zone})
	require.NoError(t, err)
	return p
}

func resolve(t *testing.T, w *diagtest.World, a hostedspf.Access, id string) *hostedspf.ResolveReport {
	t.Helper()
	r, err := hostedspf.Resolve(t.Context(), w.Env(), a, hostedspf.ResolveRequest{ID: id})
	require.NoError(t, err)
	return r
}

func requireInput(t *testing.T, err error, field string) {
	t.Helper()
	var input *diag.InputError
	require.ErrorAs(t, err, &input)
	require.Equal(t, field, input.Field)
}

// Pages stay consistent while profiles are added and removed, and contain no records.
func TestList(t *testing.T) {
	w, a := setUp(t)
	ctx, env := t.Context(), w.Env()
	var want []string
	for range 5 {
		want = append(want, create(t, w, a).ID)
		w.Advance(time.Second)
	}
	first, err := hostedspf.List(ctx, env, a, hostedspf.ListRequest{Limit: 2})
	require.NoError(t, err)
	require.True(t, first.HasMore)
	require.Equal(t, 5, first.Total)
	require.NoError(t, hostedspf.Remove(ctx, a, want[0]))
	added := create(t, w, a).ID

	got := []string{first.Profiles[0].ID, first.Profiles[1].ID}
	page := first
	for page.HasMore {
		page, err = hostedspf.List(ctx, env, a, hostedspf.ListRequest{Limit: 2, Cursor: *page.NextCursor})
		require.NoError(t, err)
		for _, p := range page.Profiles {
			got = append(got, p.ID)
			require.Nil(t, p.Records)
		}
	}
	require.Equal(t, append(want, added), got)
	require.Nil(t, page.NextCursor)
	body, err := json.Marshal(page)
	require.NoError(t, err)
	require.NotContains(t, string(body), `"records"`)
	require.Contains(t, string(body), `"next_cursor":null`)

	other := a
	other.Owner = "key_b"
	create(t, w, other)
	for _, tt := range []struct {
		name string
		a    hostedspf.Access
		req  hostedspf.ListRequest
		want int
	}{
		{"the owner", a, hostedspf.ListRequest{}, 5},
		{"another", other, hostedspf.ListRequest{}, 1},
		{"nobody", hostedspf.Access{Store: a.Store}, hostedspf.ListRequest{}, 0},
		{"administration", hostedspf.Access{Store: a.Store, Owner: hostedspf.AnyOwner}, hostedspf.ListRequest{}, 6},
		{"the domain", a, hostedspf.ListRequest{Domain: domain}, 5},
		{"another domain", a, hostedspf.ListRequest{Domain: diag.MustDomain("example.net")}, 0},
	} {
		page, err := hostedspf.List(ctx, env, tt.a, tt.req)
		require.NoError(t, err, tt.name)
		require.Len(t, page.Profiles, tt.want, tt.name)
		require.Equal(t, tt.want, page.Total, tt.name)
		require.NotNil(t, page.Profiles, tt.name)
	}
}

func TestInput(t *testing.T) {
	w, a := setUp(t)
	p := create(t, w, a)
	list := func(r hostedspf.ListRequest) error {
		_, err := hostedspf.List(t.Context(), w.Env(), a, r)
		return err
	}
	history := func(r hostedspf.HistoryRequest) error {
		r.ID = p.ID
		_, err := hostedspf.History(t.Context(), w.Env(), a, r)
		return err
	}
	requireInput(t, list(hostedspf.ListRequest{Limit: -1}), "limit")
	requireInput(t, list(hostedspf.ListRequest{Limit: 101}), "limit")
	requireInput(t, list(hostedspf.ListRequest{Cursor: "x"}), "cursor")
	requireInput(t, history(hostedspf.HistoryRequest{Limit: 101}), "limit")
	requireInput(t, history(hostedspf.HistoryRequest{Cursor: "MSxzcGZfYQ"}), "cursor")
	requireInput(t, history(hostedspf.HistoryRequest{Status: "good"}), "status")
	requireInput(t, history(hostedspf.HistoryRequest{Since: "yesterday"}), "since")
	requireInput(t, history(hostedspf.HistoryRequest{Until: "2026-01-15"}), "until")
	require.NoError(t, history(hostedspf.HistoryRequest{Since: "2026-01-15T12:00:00+02:00",
		Until: "2026-01-15T12:00:00.5Z"}))
}

// A bound finer than stored times is exact: entries before since are left out.
func TestFineTimes(t *testing.T) {
	w, a := setUp(t)
	p := create(t, w, a)
	base := w.Now().Format("2006-01-02T15:04:05")
	for bound, want := range map[string]int{".000000Z": 1, ".0000001Z": 0, ".000001Z": 0} {
		page, err := hostedspf.History(t.Context(), w.Env(), a, hostedspf.HistoryRequest{ID: p.ID, Since: base + bound})
		require.NoError(t, err)
		require.Len(t, page.Items, want, bound)
	}
}

// The windows of the statistics reach as far back as they say.
func TestStats(t *testing.T) {
	w, a := setUp(t)
	p := create(t, w, a)
	for range 40 * 8 { // a resolution every three hours: more than one page
		w.Advance(3 * time.Hour)
		resolve(t, w, a, p.ID)
	}
	w.Advance(time.Hour)
	s, err := hostedspf.Stats(t.Context(), w.Env(), a, hostedspf.StatsRequest{ID: p.ID})
	require.NoError(t, err)
	require.Equal(t, w.Now(), s.GeneratedAt)
	require.Equal(t, 8, s.Windows.Last24h.Resolutions)
	require.Equal(t, 7*8, s.Windows.Last7d.Resolutions)
	require.Equal(t, 30*8, s.Windows.Last30d.Resolutions)
	require.Equal(t, w.Now().Add(-7*24*time.Hour), s.Windows.Last7d.From)
	require.Equal(t, w.Now(), s.Windows.Last7d.To)

	w.Advance(60 * 24 * time.Hour)
	s, err = hostedspf.Stats(t.Context(), w.Env(), a, hostedspf.StatsRequest{ID: p.ID})
	require.NoError(t, err)
	body, err := json.Marshal(s.Windows.Last30d)
	require.NoError(t, err)
	require.Contains(t, string(body), `"success_percent":null,"average_duration_ms":null,"p95_duration_ms":null`)
	require.Contains(t, string(body), `"max_dns_lookups":null,"max_ip_count":null`)
}

// watched is a store that exposes its inputs.
type watched struct {
	hostedspf.Store
	created hostedspf.Profile
	asked   []string
}

func (s *watched) Create(ctx context.Context, p hostedspf.Profile) error {
	s.created = p
	return s.Store.Create(ctx, p)
}

func (s *watched) Profile(ctx context.Context, id string) (hostedspf.Profile, error) {
	s.asked = append(s.asked, id)
	return s.Store.Profile(ctx, id)
}

// The schedule does not take a profile that is being created.
func TestCreateIsNotDue(t *testing.T) {
	w, a := setUp(t)
	store := &watched{Store: a.Store}
	a.Store = store
	create(t, w, a)
	require.Equal(t, w.Now().Add(hostedspf.Lease), store.created.NextResolveAt)
}

// What is no id never reaches the store.
func TestMalformedID(t *testing.T) {
	w, a := setUp(t)
	store := &watched{Store: a.Store}
	a.Store = store
	_, err := hostedspf.Show(t.Context(), w.Env(), a, hostedspf.ShowRequest{ID: strings.Repeat("spf_", 1000)})
	require.ErrorIs(t, err, hostedspf.ErrNotFound)
	require.Empty(t, store.asked)
}

// Ids that are malformed, unknown or another owner's cannot be distinguished.
func TestNotFound(t *testing.T) {
	w, a := setUp(t)
	ctx, env := t.Context(), w.Env()
	mine := create(t, w, a)
	other := a
	other.Owner = "key_b"
	foreign := create(t, w, other)
	unknown := "spf_" + strings.Repeat("a", 26)
	for _, id := range []string{"", "spf_", "x", unknown, foreign.ID, mine.ID + "a", strings.ToUpper(mine.ID),
		"res_" + mine.ID[4:]} {
		_, err := hostedspf.Show(ctx, env, a, hostedspf.ShowRequest{ID: id})
		require.ErrorIs(t, err, hostedspf.ErrNotFound, id)
		_, err = hostedspf.History(ctx, env, a, hostedspf.HistoryRequest{ID: id})
		require.ErrorIs(t, err, hostedspf.ErrNotFound, id)
		_, err = hostedspf.Stats(ctx, env, a, hostedspf.StatsRequest{ID: id})
		require.ErrorIs(t, err, hostedspf.ErrNotFound, id)
		_, err = hostedspf.Resolve(ctx, env, a, hostedspf.ResolveRequest{ID: id})
		require.ErrorIs(t, err, hostedspf.ErrNotFound, id)
		_, err = hostedspf.Pause(ctx, env, a, id)
		require.ErrorIs(t, err, hostedspf.ErrNotFound, id)
		_, err = hostedspf.Resume(ctx, env, a, id)
		require.ErrorIs(t, err, hostedspf.ErrNotFound, id)
		require.ErrorIs(t, hostedspf.Remove(ctx, a, id), hostedspf.ErrNotFound, id)
	}
	_, err := hostedspf.Show(ctx, env, hostedspf.Access{Store: a.Store}, hostedspf.ShowRequest{ID: mine.ID})
	require.ErrorIs(t, err, hostedspf.ErrNotFound, "the empty owner owns nothing")
	_, err = hostedspf.Show(ctx, env, hostedspf.Access{Store: a.Store, Owner: hostedspf.AnyOwner},
		hostedspf.ShowRequest{ID: mine.ID})
	require.NoError(t, err)
}

func TestCreate(t *testing.T) {
	w, a := setUp(t)
	w.Zone(`
		example.com. TXT "v=spf1 ip4:198.51.100.7 include:_spf.example.org ~all"
		two.example. TXT "v=spf1 -all"
		two.example. TXT "v=spf1 +all"
	`)
	var events []hostedspf.Event
	a.Notify = func(e hostedspf.Event) { events = append(events, e) }
	p, err := hostedspf.Create(t.Context(), w.Env(), a, hostedspf.CreateRequest{Domain: domain, Zone: zone})
	require.NoError(t, err)
	require.Equal(t, "v=spf1 ip4:198.51.100.7 include:_spf.example.org ~all", p.SourceRecord, "what the domain publishes")
	require.Equal(t, "v=spf1 ip4:192.0.2.0/24 ip4:198.51.100.7 ~all", p.FlattenedRecord)
	require.Equal(t, p.ID[4:17]+".spf.example.net", p.IncludeHost.String())
	require.Equal(t, p.IncludeHost.String(), p.Records[0].Name)
	require.Equal(t, "example.com", p.Name)
	require.Equal(t, 3600, p.IntervalSeconds)
	require.Equal(t, hostedspf.Active, p.Status)
	require.WithinRange(t, p.NextResolveAt, w.Now().Add(54*time.Minute), w.Now().Add(66*time.Minute))
	require.Len(t, events, 1)
	require.Equal(t, hostedspf.ProfileCreated, events[0].Type)
	require.Equal(t, []string{"192.0.2.0/24", "198.51.100.7/32"}, events[0].Resolution.Added)

	refuse := func(field string, change func(*hostedspf.CreateRequest)) {
		t.Helper()
		req := hostedspf.CreateRequest{Domain: domain, SourceRecord: source, Zone: zone}
		change(&req)
		_, err := hostedspf.Create(t.Context(), w.Env(), a, req)
		requireInput(t, err, field)
	}
	refuse("domain", func(r *hostedspf.CreateRequest) { r.Domain = diag.Domain{} })
	refuse("domain", func(r *hostedspf.CreateRequest) { r.Domain = diag.MustDomain("localhost") })
	refuse("name", func(r *hostedspf.CreateRequest) { r.Name = strings.Repeat("ä", 101) })
	refuse("name", func(r *hostedspf.CreateRequest) { r.Name = "a\nb" })
	refuse("source_record", func(r *hostedspf.CreateRequest) { r.SourceRecord = "v=spf1 ip4:1" })
	refuse("source_record", func(r *hostedspf.CreateRequest) {
		r.Domain,
			r.SourceRecord = diag.MustDomain("none.example"), ""
	})
	refuse("source_record", func(r *hostedspf.CreateRequest) {
		r.Domain,
			r.SourceRecord = diag.MustDomain("two.example"), ""
	})
	refuse("refresh_interval_seconds", func(r *hostedspf.CreateRequest) { r.IntervalSeconds = 299 })
	refuse("refresh_interval_seconds", func(r *hostedspf.CreateRequest) { r.IntervalSeconds = 86401 })
	refuse("include_host", func(r *hostedspf.CreateRequest) { r.Zone = diag.Name{} })
	refuse("include_host", func(r *hostedspf.CreateRequest) { r.IncludeHost = diag.MustName("f.example.net") })
	refuse("include_host", func(r *hostedspf.CreateRequest) { r.Zone, r.IncludeHost = diag.Name{}, p.IncludeHost })
	refuse("include_host", func(r *hostedspf.CreateRequest) {
		r.Zone, r.IncludeHost = diag.Name{}, diag.MustName("example.com")
	})
	refuse("zone", func(r *hostedspf.CreateRequest) { r.Zone = diag.MustName(strings.Repeat("label.", 30) + "example") })
	refuse("zone", func(r *hostedspf.CreateRequest) { r.Zone = diag.MustName(strings.Repeat("label.", 40) + "example") })
	a.Owner = ""
	refuse("owner", func(*hostedspf.CreateRequest) {})
	a.Owner = hostedspf.AnyOwner
	refuse("owner", func(*hostedspf.CreateRequest) {})
}

// A profile whose first resolution fails exists, and waits for the schedule. One whose source is unknown cannot be
// created.
func TestCreateWithoutDNS(t *testing.T) {
	w, a := setUp(t)
	w.Fault("_spf.example.org", 0, diagtest.Fault{Rcode: 2})
	w.Fault("example.com", 0, diagtest.Fault{Rcode: 2})
	p := create(t, w, a)
	require.Equal(t, hostedspf.Failed, p.Status)
	require.Contains(t, p.LastError, "_spf.example.org")
	require.Empty(t, p.FlattenedRecord)
	require.Equal(t, []hostedspf.Record{}, p.Records)
	require.WithinRange(t, p.NextResolveAt, w.Now().Add(54*time.Second), w.Now().Add(66*time.Second))

	_, err := hostedspf.Create(t.Context(), w.Env(), a, hostedspf.CreateRequest{Domain: domain, Zone: zone})
	require.ErrorIs(t, err, diag.ErrUnavailable)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = hostedspf.Create(ctx, w.Env(), a, hostedspf.CreateRequest{Domain: domain, Zone: zone})
	require.ErrorIs(t, err, context.Canceled)
}

func TestPauseAndResume(t *testing.T) {
	w, a := setUp(t)
	p := create(t, w, a)
	w.Advance(time.Minute)
	paused, err := hostedspf.Pause(t.Context(), w.Env(), a, p.ID)
	require.NoError(t, err)
	require.Equal(t, hostedspf.Paused, paused.Status)
	require.True(t, paused.NextResolveAt.IsZero())
	require.Equal(t, w.Now(), paused.UpdatedAt)

	service(w, "198.51.100.0/24")
	report := resolve(t, w, a, p.ID)
	require.Equal(t, hostedspf.Paused, report.Profile.Status, "a resolution on demand leaves it paused")
	require.Equal(t, hostedspf.ResolutionChanged, report.Resolution.Status)

	resumed, err := hostedspf.Resume(t.Context(), w.Env(), a, p.ID)
	require.NoError(t, err)
	require.Equal(t, hostedspf.Active, resumed.Status)
	require.Equal(t, w.Now(), resumed.NextResolveAt)
	report = resolve(t, w, a, p.ID)
	again, err := hostedspf.Resume(t.Context(), w.Env(), a, p.ID)
	require.NoError(t, err)
	require.Equal(t, report.Profile.NextResolveAt, again.NextResolveAt, "what is not paused keeps its turn")
}

// The JSON of a profile omits empty optional fields, and encodes lists as lists.
func TestProfileJSON(t *testing.T) {
	w, a := setUp(t)
	w.Fault("_spf.example.org", 0, diagtest.Fault{Rcode: 2})
	p := create(t, w, a)
	shown, err := hostedspf.Show(t.Context(), w.Env(), a, hostedspf.ShowRequest{ID: p.ID})
	require.NoError(t, err)
	require.Equal(t, hostedspf.Use{State: hostedspf.Unused}, shown.Use)
	shown.Use = hostedspf.Use{}
	require.Equal(t, p, shown)
	body, err := json.Marshal(shown)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(body, &fields))
	require.Equal(t, []any{}, fields["records"])
	require.Equal(t, "error", fields["status"])
	require.NotContains(t, fields, "last_resolved_at")
	require.NotContains(t, fields, "last_changed_at")
	require.Contains(t, fields, "next_resolve_at")
	require.NotContains(t, string(body), "key_a", "nobody learns whose it is")
}

// A profile has one verdict: showing it reports the same about the domain's own record as a resolution.
func TestUse(t *testing.T) {
	for _, tt := range []struct{ own, record string }{ // empty: the domain uses it
		{"", "v=spf1 redirect=HOST"},
		{"SOURCE", "v=spf1 redirect=HOST"},
		{"v=spf1 -all", "v=spf1 redirect=HOST"}, // a part of the source record
		{"v=spf1 ~all", "v=spf1 include:HOST ~all"},
		{"v=spf1 ip4:203.0.113.9 ~all", "v=spf1 ip4:203.0.113.9 include:HOST ~all"},
		{"v=spf1 mx a", "v=spf1 mx a include:HOST"},
		{"v=spf1 ip4:198.51.100.7 -all", "v=spf1 ip4:198.51.100.7 include:HOST -all"},
		{"v=spf1 include:_spf.example.net -all", "none known"},
		{"v=spf1 redirect=_spf.example.net", "none known"},
		{"v=spf1 include:HOST -all", ""},
		{"v=spf1 redirect=HOST.", ""},
	} {
		w, a := setUp(t)
		p := create(t, w, a)
		require.NotEmpty(t, p.FlattenedRecord)
		host := p.IncludeHost.String()
		if own := strings.NewReplacer("HOST", host, "SOURCE", p.SourceRecord).Replace(tt.own); own != "" {
			w.Remove(func(r dns.RR) bool { return r.Header().Name == "example.com." && r.Header().Rrtype == dns.TypeTXT })
			w.Zone("example.com. TXT \"" + own + "\"")
		}
		show := func() *hostedspf.Profile {
			p, err := hostedspf.Show(t.Context(), w.NewEnv(), a, hostedspf.ShowRequest{ID: p.ID})
			require.NoError(t, err)
			return p
		}
		want := strings.ReplaceAll(strings.ReplaceAll(tt.record, "none known", ""), "HOST", host)
		shown := show()
		require.Equal(t, want, shown.Use.Record, tt.own)
		resolved, err := hostedspf.Resolve(t.Context(), w.NewEnv(), a, hostedspf.ResolveRequest{ID: p.ID})
		require.NoError(t, err)
		one, two := shown.View(), resolved.View()
		if tt.record == "" {
			require.Equal(t, hostedspf.Used, shown.Use.State)
			require.Empty(t, one.Findings)
		} else {
			require.Equal(t, hostedspf.Unused, shown.Use.State)
			require.Equal(t, diag.Code("spf.hosted.domain.unused"), one.Findings[0].Code)
			require.Equal(t, two.Headline, one.Headline)
			require.Equal(t, two.Steps[0].Value, one.Steps[0].Value, tt.own)
			require.Equal(t, two.Steps[0].Text, one.Steps[0].Text)
			require.Equal(t, two.Steps[0].Name, one.Steps[0].Name)
			require.Equal(t, want != "", one.Steps[0].Value != "")
		}
		require.Equal(t, two.Mark(), one.Mark())
		w.Silence("example.com.")
		silent := show()
		require.Equal(t, hostedspf.Use{State: hostedspf.UseUnknown}, silent.Use)
		require.Equal(t, view.Unknown, silent.View().Mark())
	}
}
