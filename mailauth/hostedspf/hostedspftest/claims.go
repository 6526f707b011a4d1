package hostedspftest

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/stretchr/testify/require"
)

func (f *fixture) due(limit int) []string {
	f.t.Helper()
	list, err := f.store.Due(f.ctx(), f.now(), limit)
	require.NoError(f.t, err)
	return kit.Map(list, func(d hostedspf.Due) string { return d.ID })
}

func testDue(t *testing.T, f *fixture) {
	require.Empty(t, f.due(10))
	at := func(d time.Duration) hostedspf.Profile {
		p := f.profile("key_a", "example.com")
		p.NextResolveAt = f.now().Add(d)
		require.NoError(t, f.store.Create(f.ctx(), p))
		return p
	}
	now, now2 := at(0), at(0)
	late := at(-time.Hour)
	soon := at(time.Microsecond)
	never := at(0)
	f.update(never.ID, func(p *hostedspf.Profile) { p.IsPaused, p.NextResolveAt = true, time.Time{} })

	require.Equal(t, []string{late.ID, now.ID, now2.ID}, f.due(10))
	require.Equal(t, []string{late.ID, now.ID}, f.due(2))
	f.clock.Advance(time.Microsecond)
	require.Equal(t, []string{late.ID, now.ID, now2.ID, soon.ID}, f.due(10))
	list, err := f.store.Due(f.ctx(), f.now(), 1)
	require.NoError(t, err)
	require.Equal(t, []hostedspf.Due{{ID: late.ID, At: late.NextResolveAt}}, list)
}

func testDueClaimed(t *testing.T, f *fixture) {
	p, other := f.create("key_a", "example.com"), f.create("key_a", "example.com")
	f.claim(p.ID)
	require.Equal(t, []string{other.ID}, f.due(10))
	f.clock.Advance(lease - time.Microsecond)
	require.Equal(t, []string{other.ID}, f.due(10))
	f.clock.Advance(time.Microsecond)
	require.Equal(t, []string{p.ID, other.ID}, f.due(10), "a claim that lapsed leaves its profile due")
}

func testClaim(t *testing.T, f *fixture) {
	f.claimRefused("spf_unknown", hostedspf.ErrNotFound)
	p, other := f.create("key_a", "example.com"), f.create("key_a", "example.com")
	c := f.claim(p.ID)
	require.Equal(t, p.ID, c.ProfileID)
	require.WithinDuration(t, f.now().Add(lease), c.Until, time.Microsecond)
	f.claimRefused(p.ID, hostedspf.ErrClaimed)
	f.claim(other.ID) // claims of different profiles have nothing to do with each other
	require.Equal(t, p, f.read(p.ID), "a claim is no part of the profile")
}

func testLease(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	first := f.claim(p.ID)
	f.clock.Advance(lease - time.Microsecond)
	f.claimRefused(p.ID, hostedspf.ErrClaimed)
	f.clock.Advance(time.Microsecond)
	f.lapsed(first, "a claim that lapsed changes nothing, also if nobody else has one")
	second := f.claim(p.ID)
	require.Greater(t, second.Fence, first.Fence)
	require.Equal(t, p, f.read(p.ID))
}

// A late claim cannot change later results.
func testFence(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	stale := f.claim(p.ID)
	f.clock.Advance(lease)
	current := f.claim(p.ID)

	f.lapsed(stale)
	require.NoError(t, f.store.Release(f.ctx(), stale))
	f.claimRefused(p.ID, hostedspf.ErrClaimed, "a stale release must not free a claim of another")
	forged := current
	forged.Fence++
	f.lapsed(forged)
	require.Equal(t, p, f.read(p.ID))
	require.Empty(t, f.history(p.ID))

	got := f.finish(current, f.outcome(p.ID, "192.0.2.0/24"))
	require.Equal(t, "v=spf1 ip4:192.0.2.0/24 -all", got.FlattenedRecord)
	f.lapsed(current, "a claim is finished once")
	require.Equal(t, got, f.read(p.ID))
	require.Len(t, f.history(p.ID), 1)
}

func testRelease(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	c := f.claim(p.ID)
	require.NoError(t, f.store.Release(f.ctx(), c))
	require.NoError(t, f.store.Release(f.ctx(), c))
	f.lapsed(c)
	require.Equal(t, []string{p.ID}, f.due(10))
	next := f.claim(p.ID)
	require.Greater(t, next.Fence, c.Fence)
	require.NoError(t, f.store.Release(f.ctx(), c))
	f.claimRefused(p.ID, hostedspf.ErrClaimed)
}

func testFinish(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	f.clock.Advance(time.Second)
	o := f.outcome(p.ID, "192.0.2.0/24")
	got := f.finish(f.claim(p.ID), o)
	want := p.Clone()
	o.Apply(&want)
	require.Equal(t, want, got)
	require.Equal(t, want, f.read(p.ID))
	require.Equal(t, f.now(), got.LastChangedAt)
	list, err := f.store.Resolutions(f.ctx(), hostedspf.HistoryQuery{ProfileID: p.ID, Limit: 10})
	require.NoError(t, err)
	require.Equal(t, []hostedspf.Resolution{o.Resolution}, list)
	f.claim(p.ID) // the profile is free again

	// What is published a second time has not changed.
	f.clock.Advance(lease)
	f.resolve(p.ID, "192.0.2.0/24")
	again := f.read(p.ID)
	require.Equal(t, got.LastChangedAt, again.LastChangedAt)
	require.Equal(t, f.now(), again.LastResolvedAt)
	require.Equal(t, f.now().Add(time.Hour), again.NextResolveAt)
	require.Empty(t, f.due(10))
}

// A failure leaves the published records unchanged until a resolution succeeds.
func testFinishFailed(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	f.resolve(p.ID, "192.0.2.0/24")
	good := f.read(p.ID)
	f.clock.Advance(time.Minute)
	f.resolve(p.ID, "")
	f.resolve(p.ID, "")
	got := f.read(p.ID)
	require.Equal(t, hostedspf.Failed, got.Status)
	require.Equal(t, "looking up example.com.: SERVFAIL", got.LastError)
	require.Equal(t, 2, got.Failures)
	require.Equal(t, good.Records, got.Records)
	require.Equal(t, good.LastResolvedAt, got.LastResolvedAt)

	f.resolve(p.ID, "192.0.2.0/24")
	got = f.read(p.ID)
	require.Equal(t, hostedspf.Active, got.Status)
	require.Empty(t, got.LastError)
	require.Zero(t, got.Failures)
	require.Len(t, f.history(p.ID), 4)
}

func testFinishPaused(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	c := f.claim(p.ID)
	f.update(p.ID, func(p *hostedspf.Profile) {
		p.IsPaused, p.Status, p.NextResolveAt = true, hostedspf.Paused, time.Time{}
	})
	got := f.finish(c, f.outcome(p.ID, "192.0.2.0/24"))
	require.Equal(t, hostedspf.Paused, got.Status)
	require.True(t, got.NextResolveAt.IsZero())
	require.Equal(t, got, f.read(p.ID))
	f.clock.Advance(24 * time.Hour)
	require.Empty(t, f.due(10))
}

// What a record that was replaced has named is kept for a while, unless it is named again.
func testParts(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	publish := func(parts ...string) []hostedspf.Part {
		o := f.outcome(p.ID, "192.0.2.0/24")
		o.Published.RecordHash = strings.Join(parts, " ")
		o.Published.Records[0].Name = p.IncludeHost.String()
		for _, name := range parts {
			o.Published.Records = append(o.Published.Records, hostedspf.Record{Name: name, Value: "text of " + name})
		}
		o.Published.Sets = []hostedspf.Part{{Name: "set of " + parts[0], Networks: []netip.Prefix{
			netip.MustParsePrefix("192.0.2.0/24"),
		}}}
		got, err := f.store.Finish(f.ctx(), f.claim(p.ID), o)
		require.NoError(t, err)
		require.Equal(t, got, f.read(p.ID))
		return got.Parts
	}
	served := func(parts []hostedspf.Part) map[string]time.Time {
		all := map[string]time.Time{}
		for _, part := range parts {
			require.NotEqual(t, part.Value == "", part.Networks == nil)
			all[part.Name] = part.Until
		}
		return all
	}
	none := time.Time{}
	began := f.now()
	require.Equal(t, map[string]time.Time{"set of a": none}, served(publish("a", "b")))
	end := f.now().Add(hostedspf.Retention)
	want := map[string]time.Time{"set of c": none, "set of a": end, "a": end}
	require.Equal(t, want, served(publish("c", "b")))
	f.clock.Advance(time.Hour)
	require.Equal(t, want, served(publish("c", "b")), "what has gone stays so")
	later := f.now().Add(hostedspf.Retention)
	require.Equal(t, map[string]time.Time{"set of a": none, "set of c": later, "c": later}, served(publish("a", "b")))
	f.clock.Advance(hostedspf.Retention - time.Microsecond)
	require.Len(t, publish("a", "b"), 3)
	f.clock.Advance(time.Microsecond)
	require.Equal(t, map[string]time.Time{"set of a": none}, served(publish("a", "b")))
	require.Greater(t, f.now().Sub(began), 2*hostedspf.MaxTTL)
	head := f.read(p.ID).Records[0]
	o := f.outcome(p.ID, "198.51.100.0/24")
	o.Published.Records[0].Name = p.IncludeHost.String()
	got := f.finish(f.claim(p.ID), o)
	require.Contains(t, got.Parts, hostedspf.Part{
		Name: head.Name, Value: head.Value, Until: got.UpdatedAt.Add(hostedspf.Retention),
	}, "the first record that was replaced")
}

func testHistory(t *testing.T, f *fixture) {
	p, other := f.create("key_a", "example.com"), f.create("key_a", "example.com")
	f.resolve(other.ID, "192.0.2.0/24")
	one := f.resolve(p.ID, "192.0.2.0/24")
	f.clock.Advance(time.Hour)
	two := f.resolve(p.ID, "")
	f.clock.Advance(time.Hour)
	three := f.resolve(p.ID, "198.51.100.0/24")
	f.clock.Advance(time.Hour)
	four := f.resolve(p.ID, "")
	at := func(r hostedspf.Resolution) hostedspf.Position {
		return hostedspf.Position{Time: r.ResolvedAt, ID: r.ID}
	}
	tests := []struct {
		name string
		q    hostedspf.HistoryQuery
		want []hostedspf.Resolution
	}{
		{"all", hostedspf.HistoryQuery{}, []hostedspf.Resolution{four, three, two, one}},
		{"status", hostedspf.HistoryQuery{Status: hostedspf.ResolutionFailed}, []hostedspf.Resolution{four, two}},
		{"since, included", hostedspf.HistoryQuery{Since: two.ResolvedAt}, []hostedspf.Resolution{four, three, two}},
		{"until, excluded", hostedspf.HistoryQuery{Until: three.ResolvedAt}, []hostedspf.Resolution{two, one}},
		{"before", hostedspf.HistoryQuery{Before: at(three)}, []hostedspf.Resolution{two, one}},
		{"between", hostedspf.HistoryQuery{Since: two.ResolvedAt, Until: four.ResolvedAt, Before: at(four)},
			[]hostedspf.Resolution{three, two}},
		{"status and before", hostedspf.HistoryQuery{Status: hostedspf.ResolutionChanged, Before: at(three)},
			[]hostedspf.Resolution{one}},
		{"status that none has", hostedspf.HistoryQuery{Status: hostedspf.ResolutionUnchanged}, []hostedspf.Resolution{}},
		{"after the last", hostedspf.HistoryQuery{Before: at(one)}, []hostedspf.Resolution{}},
	}
	for _, tt := range tests {
		tt.q.ProfileID = p.ID
		for limit := 1; limit <= len(tt.want)+1; limit++ {
			tt.q.Limit = limit
			got, err := f.store.Resolutions(f.ctx(), tt.q)
			require.NoError(t, err)
			require.Len(t, got, min(limit, len(tt.want)), tt.name)
			require.Equal(t, tt.want[:min(limit, len(tt.want))], append([]hostedspf.Resolution{}, got...), tt.name)
		}
	}
}

// Resolutions that come while pages are turned neither repeat nor hide others.
func testHistoryPages(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	var want []string
	for range 7 {
		f.clock.Advance(time.Second)
		want = append(want, f.resolve(p.ID, "192.0.2.0/24").ID)
	}
	slices.Reverse(want)
	var got []string
	q := hostedspf.HistoryQuery{ProfileID: p.ID, Limit: 2}
	for range len(want) {
		page, err := f.store.Resolutions(f.ctx(), q)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		got = append(got, kit.Map(page, func(r hostedspf.Resolution) string { return r.ID })...)
		last := page[len(page)-1]
		q.Before = hostedspf.Position{Time: last.ResolvedAt, ID: last.ID}
		f.clock.Advance(time.Second)
		f.resolve(p.ID, "")
	}
	require.Equal(t, want, got)
}

// Resolutions of the same moment are distinguished by their ids.
func testHistoryTies(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	var want []string
	for range 5 {
		want = append(want, f.resolve(p.ID, "192.0.2.0/24").ID)
	}
	slices.Reverse(want)
	require.Equal(t, want, f.history(p.ID))
	page, err := f.store.Resolutions(f.ctx(), hostedspf.HistoryQuery{
		ProfileID: p.ID, Limit: 10, Before: hostedspf.Position{Time: f.now(), ID: want[2]},
	})
	require.NoError(t, err)
	require.Len(t, page, 2)
	require.Equal(t, want[3], page[0].ID)
}

// The history is kept for 400 days, that of other profiles apart.
func testHistoryAge(t *testing.T, f *fixture) {
	p, other := f.create("key_a", "example.com"), f.create("key_a", "example.org")
	f.resolve(p.ID, "192.0.2.0/24")
	kept := f.resolve(other.ID, "192.0.2.0/24")
	f.clock.Advance(time.Microsecond)
	second := f.resolve(p.ID, "")
	f.clock.Advance(hostedspf.HistoryAge)
	third := f.resolve(p.ID, "")
	require.Equal(t, []string{third.ID, second.ID}, f.history(p.ID))
	f.clock.Advance(time.Microsecond)
	fourth := f.resolve(p.ID, "")
	require.Equal(t, []string{fourth.ID, third.ID}, f.history(p.ID))
	require.Equal(t, []string{kept.ID}, f.history(other.ID))
}
