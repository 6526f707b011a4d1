package hostedspftest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

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
		for _, r := range page {
			got = append(got, r.ID)
		}
		last := page[len(page)-1]
		q.Before = hostedspf.Position{Time: last.ResolvedAt, ID: last.ID}
		f.clock.Advance(time.Second)
		f.resolve(p.ID, "")
	}
	require.Equal(t, want, got)
}

// Resolutions of the same moment are told apart by their ids.
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

func testSamples(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	first := f.resolve(p.ID, "192.0.2.0/24")
	f.clock.Advance(time.Hour)
	second := f.resolve(p.ID, "")
	tests := []struct {
		name  string
		since time.Time
		limit int
		want  []hostedspf.Sample
	}{
		{"all", first.ResolvedAt, 10, []hostedspf.Sample{second.Sample(), first.Sample()}},
		{"since", first.ResolvedAt.Add(time.Microsecond), 10, []hostedspf.Sample{second.Sample()}},
		{"limit", first.ResolvedAt, 1, []hostedspf.Sample{second.Sample()}},
		{"none", f.now().Add(time.Microsecond), 10, []hostedspf.Sample{}},
	}
	for _, tt := range tests {
		got, err := f.store.Samples(f.ctx(), p.ID, tt.since, tt.limit)
		require.NoError(t, err)
		require.Equal(t, tt.want, append([]hostedspf.Sample{}, got...), tt.name)
	}
	got, err := f.store.Samples(f.ctx(), "spf_unknown", first.ResolvedAt, 10)
	require.NoError(t, err)
	require.Empty(t, got)
}
