package hostedspftest

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

func testProfiles(t *testing.T, f *fixture) {
	_, err := f.store.Profile(f.ctx(), "spf_unknown")
	require.ErrorIs(t, err, hostedspf.ErrNotFound)
	ids, total := f.page(hostedspf.ProfileQuery{Owner: hostedspf.AnyOwner, Limit: 10})
	require.Empty(t, ids)
	require.Zero(t, total)

	p := f.create("key_a", "example.com")
	require.Equal(t, p, f.read(p.ID))
	require.Empty(t, f.history(p.ID))
}

// All fields of a profile are returned unchanged, and zero times remain zero.
func testEveryField(t *testing.T, f *fixture) {
	at := func(hours int) time.Time {
		return f.now().Add(time.Duration(hours)*time.Hour + 123456*time.Microsecond)
	}
	p := hostedspf.Profile{
		ID: "spf_full", Owner: "key_a", Domain: diag.MustDomain("bücher.example"), Name: `Büro "1"; --`,
		Status: hostedspf.Paused, SourceRecord: "v=spf1 a -all", FlattenedRecord: "v=spf1 ip4:192.0.2.1 -all",
		IncludeHost: diag.MustName("_flat.example.net"), Records: []hostedspf.Record{
			{Name: "_flat.example.net", Value: "v=spf1 include:_mfzwi3dp._flat.example.net -all", LengthBytes: 47},
			{Name: "_mfzwi3dp._flat.example.net", Value: "v=spf1 ip4:192.0.2.1", LengthBytes: 20},
		},
		LookupsBefore: 12, LookupsAfter: 3, IP4Count: 4, IP6Count: 5, RecordHash: "00ff", IntervalSeconds: 600,
		LastResolvedAt: at(1), LastChangedAt: at(2), NextResolveAt: at(3), LastError: "a\nb", CreatedAt: at(4),
		UpdatedAt: at(5), Failures: 7, IsPaused: true,
		Parts: []hostedspf.Part{
			{Name: "_aaaaaaaa._flat.example.net", Value: "v=spf1 ip4:192.0.2.2", Until: at(6)},
			{Name: "_bbbbbbbb._flat.example.net", Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"),
				netip.MustParsePrefix("2001:db8::/32")}},
		},
	}
	require.NoError(t, f.store.Create(f.ctx(), p))
	require.Equal(t, p, f.read(p.ID))
	page, err := f.store.Profiles(f.ctx(), hostedspf.ProfileQuery{Owner: "key_a", Limit: 10})
	require.NoError(t, err)
	require.Equal(t, []hostedspf.Profile{p}, page.Profiles)

	bare := f.profile("key_b", "example.com")
	bare.NextResolveAt = time.Time{}
	require.NoError(t, f.store.Create(f.ctx(), bare))
	require.Equal(t, bare, f.read(bare.ID))
}

func testTaken(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	same := f.profile("key_b", "example.org")
	same.ID = p.ID
	require.ErrorIs(t, f.store.Create(f.ctx(), same), hostedspf.ErrTaken)
	same = f.profile("key_b", "example.org")
	same.IncludeHost = p.IncludeHost
	require.ErrorIs(t, f.store.Create(f.ctx(), same), hostedspf.ErrTaken)
	require.Equal(t, p, f.read(p.ID))

	// A host is free again when its profile is removed.
	require.NoError(t, f.store.Remove(f.ctx(), p.ID))
	require.NoError(t, f.store.Create(f.ctx(), same))
}

// Changes to values returned by or passed to a store do not affect the store.
func testCopies(t *testing.T, f *fixture) {
	given := f.profile("key_a", "example.org")
	given.Records = []hostedspf.Record{{Name: "h.example.net", Value: "v=spf1 -all", LengthBytes: 11}}
	given.Parts = []hostedspf.Part{{Name: "a", Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}}
	require.NoError(t, f.store.Create(f.ctx(), given))
	given.Records[0].Value, given.Parts[0].Networks[0] = "spoilt", netip.Prefix{}
	require.Equal(t, "v=spf1 -all", f.read(given.ID).Records[0].Value)
	require.Equal(t, "192.0.2.0/24", f.read(given.ID).Parts[0].Networks[0].String())

	p := f.create("key_a", "example.com")
	o := f.outcome(p.ID, "192.0.2.0/24")
	returned := f.finish(f.claim(p.ID), o)
	want := f.read(p.ID)

	o.Published.Records[0].Value, o.Resolution.Added[0] = "spoilt", "spoilt"
	returned.Records[0].Value = "spoilt"
	f.read(p.ID).Records[0].Value = "spoilt"
	page, err := f.store.Profiles(f.ctx(), hostedspf.ProfileQuery{Owner: "key_a", Domain: p.Domain, Limit: 1})
	require.NoError(t, err)
	page.Profiles[0].Records[0].Value = "spoilt"
	updated, err := f.store.Update(f.ctx(), p.ID, func(*hostedspf.Profile) error { return nil })
	require.NoError(t, err)
	updated.Records[0].Value = "spoilt"
	list, err := f.store.Resolutions(f.ctx(), hostedspf.HistoryQuery{ProfileID: p.ID, Limit: 1})
	require.NoError(t, err)
	list[0].Added[0] = "spoilt"

	require.Equal(t, want, f.read(p.ID))
	require.Equal(t, "v=spf1 ip4:192.0.2.0/24 -all", want.Records[0].Value)
	list, err = f.store.Resolutions(f.ctx(), hostedspf.HistoryQuery{ProfileID: p.ID, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"192.0.2.0/24"}, list[0].Added)
}

func testOrder(t *testing.T, f *fixture) {
	second := f.create("key_a", "example.com") // two of the same moment are ordered by id
	third := f.create("key_b", "example.com")
	f.clock.Advance(-time.Hour)
	first := f.create("key_a", "example.org")
	all := hostedspf.AnyOwner
	tests := []struct {
		name   string
		owner  hostedspf.Owner
		domain string
		want   []string
	}{
		{"all", all, "", []string{first.ID, second.ID, third.ID}},
		{"an owner", "key_a", "", []string{first.ID, second.ID}},
		{"an owner of none", "key_c", "", []string{}},
		{"no owner", "", "", []string{}},
		{"a domain", all, "example.com", []string{second.ID, third.ID}},
		{"an owner and a domain", "key_a", "example.org", []string{first.ID}},
		{"another domain", "key_b", "example.org", []string{}},
	}
	for _, tt := range tests {
		q := hostedspf.ProfileQuery{Owner: tt.owner, Limit: 10}
		if tt.domain != "" {
			q.Domain = diag.MustDomain(tt.domain)
		}
		ids, total := f.page(q)
		require.Equal(t, tt.want, ids, tt.name)
		require.Equal(t, len(tt.want), total, tt.name)
	}
}

// Profiles that come and go while pages are turned neither repeat nor hide others.
func testPages(t *testing.T, f *fixture) {
	var want []string
	for range 7 {
		f.clock.Advance(time.Second)
		want = append(want, f.create("key_a", "example.com").ID)
	}
	var got []string
	q := hostedspf.ProfileQuery{Owner: "key_a", Limit: 2}
	for range len(want) {
		page, err := f.store.Profiles(f.ctx(), q)
		require.NoError(t, err)
		if len(page.Profiles) == 0 {
			break
		}
		got = append(got, kit.Map(page.Profiles, func(p hostedspf.Profile) string { return p.ID })...)
		last := page.Profiles[len(page.Profiles)-1]
		q.After = hostedspf.Position{Time: last.CreatedAt, ID: last.ID}
		if len(got) == 4 {
			early := f.profile("key_a", "example.com")
			early.CreatedAt = early.CreatedAt.Add(-time.Hour)
			require.NoError(t, f.store.Create(f.ctx(), early))
			require.NoError(t, f.store.Remove(f.ctx(), got[3])) // where the next page begins
			require.Equal(t, 7, page.Total)
		}
	}
	require.Equal(t, want, got)
}

func testUpdate(t *testing.T, f *fixture) {
	_, err := f.store.Update(f.ctx(), "spf_unknown", func(*hostedspf.Profile) error { return nil })
	require.ErrorIs(t, err, hostedspf.ErrNotFound)

	p := f.create("key_a", "example.com")
	refused := errors.New("refused")
	_, err = f.store.Update(f.ctx(), p.ID, func(p *hostedspf.Profile) error {
		p.Name = "spoilt"
		return refused
	})
	require.ErrorIs(t, err, refused)
	require.Equal(t, p, f.read(p.ID))

	want := p.Clone()
	want.Name, want.IsPaused, want.Status, want.NextResolveAt = "other", true, hostedspf.Paused, time.Time{}
	got, err := f.store.Update(f.ctx(), p.ID, func(p *hostedspf.Profile) error {
		p.Name, p.IsPaused, p.Status, p.NextResolveAt = "other", true, hostedspf.Paused, time.Time{}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, want, f.read(p.ID))
}

func testUpdateClaimed(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	c := f.claim(p.ID)
	f.update(p.ID, func(p *hostedspf.Profile) { p.Name = "other" })
	got := f.finish(c, f.outcome(p.ID, "192.0.2.0/24"))
	require.Equal(t, "other", got.Name, "the outcome must not undo the update")
	require.Equal(t, 1, got.IP4Count)
}

func testRemove(t *testing.T, f *fixture) {
	require.ErrorIs(t, f.store.Remove(f.ctx(), "spf_unknown"), hostedspf.ErrNotFound)
	p, other := f.create("key_a", "example.com"), f.create("key_a", "example.com")
	f.resolve(p.ID, "192.0.2.0/24")
	f.resolve(other.ID, "192.0.2.0/24")
	c := f.claim(p.ID)
	require.NoError(t, f.store.Remove(f.ctx(), p.ID))

	_, err := f.store.Profile(f.ctx(), p.ID)
	require.ErrorIs(t, err, hostedspf.ErrNotFound)
	f.lapsed(c)
	f.claimRefused(p.ID, hostedspf.ErrNotFound)
	require.NoError(t, f.store.Release(f.ctx(), c))
	require.ErrorIs(t, f.store.Remove(f.ctx(), p.ID), hostedspf.ErrNotFound)
	require.Empty(t, f.history(p.ID))
	require.Len(t, f.history(other.ID), 1)
	ids, total := f.page(hostedspf.ProfileQuery{Owner: "key_a", Limit: 10})
	require.Equal(t, []string{other.ID}, ids)
	require.Equal(t, 1, total)
}

func testVersion(t *testing.T, f *fixture) {
	var seen []int64
	look := func(what string) {
		t.Helper()
		v, err := f.store.Version(f.ctx())
		require.NoError(t, err)
		require.False(t, slices.Contains(seen, v), "%s must change the version", what)
		seen = append(seen, v)
	}
	look("nothing")
	p := f.create("key_a", "example.com")
	look("a creation")
	f.resolve(p.ID, "192.0.2.0/24")
	look("a resolution")
	f.update(p.ID, func(p *hostedspf.Profile) { p.Name = "other" })
	look("an update")
	require.NoError(t, f.store.Remove(f.ctx(), p.ID))
	look("a removal")
	v, err := f.store.Version(f.ctx())
	require.NoError(t, err)
	require.Equal(t, seen[len(seen)-1], v, "without a change it stays")
}
