package meteringtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

// keys are all that a filter selects.
func (f *fixture) keys(filter metering.KeyFilter) []metering.Key {
	f.t.Helper()
	list, err := metering.Collect(f.store.Keys(f.ctx(), filter))
	require.NoError(f.t, err)
	return list
}

func testKeyFilters(t *testing.T, f *fixture) {
	account, now := f.account(Tiny), f.clock.Now()
	at := func(d time.Duration) *time.Time { return new(now.Add(d)) }
	var all []metering.Key
	for i, k := range []metering.Key{
		{Name: "Website"}, {Name: "100% sure_"}, {Name: "ÄRGER"}, {Name: "revoked", RevokedAt: at(0)},
		{Name: "leaves", RevokedAt: at(time.Hour)}, {Name: "rotating", GraceUntil: at(time.Microsecond)},
		{Name: "rotated", GraceUntil: at(0), ExpiresAt: at(0)}, {Name: "expired", ExpiresAt: at(0)},
		{Name: "expires", ExpiresAt: at(time.Microsecond)},
	} {
		full := f.newKey(account)
		full.Name, full.RevokedAt, full.GraceUntil, full.ExpiresAt = k.Name, k.RevokedAt, k.GraceUntil, k.ExpiresAt
		full.CreatedAt = now.Add(time.Duration(i/2) * time.Second) // two at a time
		full.DisplayPrefix = fmt.Sprintf("svc_live_Visible%d", i)
		all = append(all, full)
	}
	foreign := f.newKey(f.account(Tiny))
	foreign.Name = "Website"
	require.NoError(t, f.store.PutKeys(t.Context(), append(slices.Clone(all), foreign)...))

	id := func(name string) metering.KeyID {
		return all[slices.IndexFunc(all, func(k metering.Key) bool { return k.Name == name })].ID
	}
	listed := []string{}
	for _, k := range f.keys(metering.KeyFilter{Account: account}) {
		listed = append(listed, k.Name)
	}
	require.Len(t, listed, len(all))
	newest := slices.Clone(listed)
	slices.Reverse(newest)
	for _, c := range []struct {
		name   string
		filter metering.KeyFilter
		want   []string
	}{
		{"newest", metering.KeyFilter{Newest: true}, newest},
		{"limit", metering.KeyFilter{Limit: 3}, listed[:3]},
		{"offset", metering.KeyFilter{Offset: 3}, listed[3:]},
		{"offset and limit", metering.KeyFilter{Offset: 2, Limit: 4}, listed[2:6]},
		{"newest, offset and limit", metering.KeyFilter{Newest: true, Offset: 5, Limit: 2}, newest[5:7]},
		{"offset behind the end", metering.KeyFilter{Offset: 100, Limit: 2}, nil},
		{"ids", metering.KeyFilter{IDs: []metering.KeyID{id("Website"), foreign.ID, "key_none"}}, []string{"Website"}},
		{"name", metering.KeyFilter{Text: "wEBS"}, []string{"Website"}},
		{"nothing is a pattern", metering.KeyFilter{Text: "0% SURE_"}, []string{"100% sure_"}},
		{"a pattern", metering.KeyFilter{Text: "W%e"}, nil},
		{"other letters stay", metering.KeyFilter{Text: "ÄrgeR"}, []string{"ÄRGER"}},
		{"other letters do not match", metering.KeyFilter{Text: "ärger"}, nil},
		{"a quote", metering.KeyFilter{Text: `'"\`}, nil},
		{"visible part", metering.KeyFilter{Text: "e_visIBLE7"}, []string{"expired"}},
		{"id", metering.KeyFilter{Text: string(id("rotated"))}, []string{"rotated"}},
		{"revoked", metering.KeyFilter{States: []metering.KeyState{metering.KeyRevoked}}, []string{"revoked", "rotated"}},
		{"working", metering.KeyFilter{States: []metering.KeyState{metering.KeyActive, metering.KeyRotating}},
			[]string{"Website", "100% sure_", "ÄRGER", "leaves", "rotating", "expires"}},
		{"expired", metering.KeyFilter{States: []metering.KeyState{metering.KeyExpired}}, []string{"expired"}},
		{"state and text", metering.KeyFilter{States: []metering.KeyState{metering.KeyActive}, Text: "expire"},
			[]string{"expires"}},
		{"an unknown state", metering.KeyFilter{States: []metering.KeyState{"odd"}}, nil},
	} {
		c.filter.Account, c.filter.At = account, now
		var got []string
		for _, k := range f.keys(c.filter) {
			got = append(got, k.Name)
		}
		require.Equal(t, c.want, got, c.name)
		counts := map[metering.KeyState]int{}
		c.filter.Limit, c.filter.Offset = 0, 0
		for _, k := range f.keys(c.filter) {
			counts[k.State(now)]++
		}
		c.filter.Limit, c.filter.Offset = 1, 1
		counted, err := f.store.CountKeys(t.Context(), c.filter)
		require.NoError(t, err)
		require.Equal(t, counts, counted, c.name)
	}
	for _, wrong := range []metering.KeyFilter{{}, {Account: account, IDs: make([]metering.KeyID, metering.MaxKeyIDs+1)}} {
		_, err := metering.Collect(f.store.Keys(t.Context(), wrong))
		require.Error(t, err)
		_, err = f.store.CountKeys(t.Context(), wrong)
		require.Error(t, err)
	}
}

// More keys than any store reads at once are listed whole, and in both directions.
func testManyKeys(t *testing.T, f *fixture) {
	account := f.account(Tiny)
	const many = 1000
	var made []metering.Key
	for i := range many {
		k := f.newKey(account)
		k.CreatedAt = f.clock.Now().Add(time.Duration(i/300) * time.Second) // many of one instant
		made = append(made, k)
	}
	require.NoError(t, f.store.PutKeys(t.Context(), made...))
	slices.SortFunc(made, func(a, b metering.Key) int {
		if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
			return c
		}
		return slices.Compare([]byte(a.ID), []byte(b.ID))
	})
	ids := func(list []metering.Key) (ids []metering.KeyID) {
		for _, k := range list {
			ids = append(ids, k.ID)
		}
		return ids
	}
	require.Equal(t, ids(made), ids(f.keys(metering.KeyFilter{Account: account})))
	slices.Reverse(made)
	require.Equal(t, ids(made), ids(f.keys(metering.KeyFilter{Account: account, Newest: true})))
	page := metering.KeyFilter{Account: account, Newest: true, Offset: 7, Limit: 900}
	require.Equal(t, ids(made[7:907]), ids(f.keys(page)))
	seen := 0
	for range f.store.Keys(t.Context(), metering.KeyFilter{Account: account}) {
		if seen++; seen == 300 {
			break
		}
	}
	require.Equal(t, 300, seen, "one may stop early")
}

func testSums(t *testing.T, f *fixture) {
	a, b := f.customer(Large), f.customer(Large)
	other := a
	other.Key, other.Endpoint = f.key(a.Account), "GET /public/v1/spf/hosted/{id}"
	january := metering.PeriodOf(f.clock.Now())
	f.clock.Set(january.End().Add(-36 * time.Hour))
	f.spend(a, 1)
	f.spend(b, 100)
	f.spend(other, 2)
	f.clock.Set(january.End().Add(-time.Second))
	f.spend(a, 4)
	late := f.begin(f.op(a, 8))
	f.clock.Set(january.End().Add(time.Second))
	f.settle(late) // which was admitted before midnight
	f.spend(a, 16)

	filtered := func(filter metering.EntryFilter) metering.Sums {
		s, err := f.store.Sums(t.Context(), filter)
		require.NoError(t, err)
		return s
	}
	sums := func(account metering.AccountID, p metering.Period, after int64) metering.Sums {
		return filtered(metering.EntryFilter{Account: account, Period: &p, After: after})
	}
	total := func(charges, credits int64) metering.Total { return metering.Total{Credits: credits, Charges: charges} }
	last := january.End().Add(-time.Second)
	hour, before := last.Truncate(time.Hour), january.End().Add(-36*time.Hour)
	endpoint := "POST /public/v1/resolve"
	list := f.entries(metering.EntryFilter{Account: a.Account})
	want := metering.Sums{
		Last: list[3].Seq, Hours: map[time.Time]metering.Total{before: total(2, 3), hour: total(2, 12)},
		Endpoints: map[string]metering.Total{endpoint: total(3, 13), other.Endpoint: total(1, 2)},
		Keys:      map[metering.KeyID]metering.Total{a.Key: total(3, 13), other.Key: total(1, 2)},
	}
	require.Equal(t, want, sums(a.Account, january, 0))
	first := sums(a.Account, january, 0)
	first.Add(sums(a.Account, january, first.Last))
	require.Equal(t, want, first, "nothing is read twice")
	require.Equal(t, total(2, 12), sums(a.Account, january, list[1].Seq).Keys[a.Key], "behind a charge")
	require.Equal(t, metering.NewSums(list[3].Seq), sums(a.Account, january, list[3].Seq))
	require.Equal(t, total(1, 16), sums(a.Account, january.Next(), 0).Endpoints[endpoint])
	require.Equal(t, total(1, 100), sums(b.Account, january, 0).Keys[b.Key])
	require.Equal(t, metering.NewSums(0), sums("acc_none", january, 0))

	february := january.End()
	type hours = map[time.Time]metering.Total
	for _, c := range []struct {
		name   string
		filter metering.EntryFilter
		want   hours
	}{
		{"all", metering.EntryFilter{}, hours{before: total(2, 3), hour: total(1, 4), february: total(2, 24)}},
		{"since", metering.EntryFilter{Since: last}, hours{hour: total(1, 4), february: total(2, 24)}},
		{"since, to the nanosecond", metering.EntryFilter{Since: last.Add(1)}, hours{february: total(2, 24)}},
		{"since and key", metering.EntryFilter{Since: before, Key: other.Key}, hours{before: total(1, 2)}},
		{"endpoint", metering.EntryFilter{Endpoint: "spf/"}, hours{before: total(1, 2)}},
		{"path", metering.EntryFilter{Path: "/public/v1/resolve", Period: &january},
			hours{before: total(1, 1), hour: total(2, 12)}},
		{"key and path", metering.EntryFilter{Key: other.Key, Path: "/public/v1/resolve"}, hours{}},
		{"since and after", metering.EntryFilter{Since: before, After: list[3].Seq}, hours{february: total(1, 16)}},
		{"whatever the order", metering.EntryFilter{Newest: true, Limit: 1, Period: &january}, want.Hours},
	} {
		c.filter.Account = a.Account
		got := filtered(c.filter)
		require.Equal(t, c.want, got.Hours, c.name)
		var byKey, byEndpoint, byHour metering.Total
		for _, t := range got.Keys {
			byKey = byKey.Plus(t)
		}
		for _, t := range got.Endpoints {
			byEndpoint = byEndpoint.Plus(t)
		}
		for _, t := range got.Hours {
			byHour = byHour.Plus(t)
		}
		require.Equal(t, byHour, byKey, c.name)
		require.Equal(t, byHour, byEndpoint, c.name)
	}
}

func testHours(t *testing.T, f *fixture) {
	a, b := f.customer(Large), f.customer(Large)
	other := a
	other.Key = f.key(a.Account)
	hour := f.clock.Now().Truncate(time.Hour).Add(time.Hour)
	for i := range 4 {
		f.clock.Set(hour.Add(time.Duration(i) * 30 * time.Minute))
		f.spend(a, int64(1)<<i)
		f.spend(other, 100)
		f.spend(b, 1000)
	}
	get := func(since time.Time, keys ...metering.KeyID) map[time.Time]int64 {
		list, err := f.store.Hours(t.Context(), a.Account, keys, since)
		require.NoError(t, err)
		got := map[time.Time]int64{}
		for _, h := range list {
			require.Contains(t, keys, h.Key)
			got[h.Hour] += h.Credits
		}
		require.LessOrEqual(t, len(got), len(list))
		return got
	}
	next := hour.Add(time.Hour)
	require.Equal(t, map[time.Time]int64{hour: 3, next: 12}, get(hour, a.Key))
	require.Equal(t, map[time.Time]int64{hour: 2, next: 12}, get(hour.Add(time.Minute), a.Key), "since an instant")
	require.Equal(t, map[time.Time]int64{hour: 203, next: 212}, get(hour, a.Key, other.Key))
	require.Empty(t, get(hour, b.Key), "of another account")
	require.Empty(t, get(hour))
	require.Empty(t, get(f.clock.Now().Add(time.Second), a.Key))
}
