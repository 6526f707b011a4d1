package meteringtest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

// record is one of the kind "note" that is not stored yet.
func (f *fixture) record(account metering.AccountID, id string) metering.Record {
	return metering.Record{Account: account, Kind: "note", ID: id, At: f.clock.Now(), Body: []byte("body of " + id)}
}

// put writes records, and expects success.
func (f *fixture) put(records ...metering.Record) {
	f.t.Helper()
	require.NoError(f.t, f.store.PutRecords(f.ctx(), records...))
}

// stored expects a record of the kind "note".
func (f *fixture) stored(account metering.AccountID, id string) metering.Record {
	f.t.Helper()
	r, err := f.store.Record(f.ctx(), account, "note", id)
	require.NoError(f.t, err)
	return r
}

// listed names the records that a filter selects.
func (f *fixture) listed(filter metering.RecordFilter) []string {
	f.t.Helper()
	filter.Kind = "note"
	list := []string{}
	for r, err := range f.store.Records(f.ctx(), filter) {
		require.NoError(f.t, err)
		require.Equal(f.t, "body of "+r.ID, string(r.Body))
		list = append(list, r.ID)
	}
	return list
}

func testRecords(t *testing.T, f *fixture) {
	account, other := f.account(Tiny), f.account(Tiny)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	want := f.record(account, "a")
	want.At = want.At.Add(1234567 * time.Nanosecond)
	want.Due = want.At.Add(time.Hour + 999*time.Nanosecond)
	want.Body = bytes.Clone(every)
	empty := f.record(account, "empty")
	empty.Body = []byte{}
	f.put(want, empty)
	f.put()
	clear(want.Body) // the store must own a copy
	want.Version, want.Body = 1, every
	want.At, want.Due = want.At.Truncate(time.Microsecond), want.Due.Truncate(time.Microsecond)
	require.Equal(t, want, f.stored(account, "a"))
	clear(f.stored(account, "a").Body)
	require.Equal(t, want, f.stored(account, "a"))
	require.NotNil(t, f.stored(account, "empty").Body)
	require.Empty(t, f.stored(account, "empty").Body)
	require.Zero(t, f.stored(account, "empty").Due)

	for _, name := range [][3]string{
		{string(other), "note", "a"}, {string(account), "other", "a"}, {string(account), "note", "b"},
		{"acc_none", "note", "a"},
	} {
		_, err := f.store.Record(t.Context(), metering.AccountID(name[0]), name[1], name[2])
		require.ErrorIs(t, err, metering.ErrNotFound, "%v", name)
	}
	stranger := f.record("acc_none", "c")
	require.ErrorIs(t, f.store.PutRecords(t.Context(), f.record(account, "c"), stranger), metering.ErrNotFound)
	require.ErrorIs(t, f.gone(account, "c"), metering.ErrNotFound, "all or none")

	if f.reopen() {
		require.Equal(t, want, f.stored(account, "a"))
		want.Body = []byte("new")
		require.NoError(t, f.store.PutRecords(t.Context(), want))
		require.Equal(t, int64(2), f.stored(account, "a").Version)
	}
}

// gone returns the error of reading a record of the kind "note".
func (f *fixture) gone(account metering.AccountID, id string) error {
	_, err := f.store.Record(f.ctx(), account, "note", id)
	return err
}

func testRecordVersions(t *testing.T, f *fixture) {
	account := f.account(Tiny)
	a, b := f.record(account, "a"), f.record(account, "b")
	f.put(a)
	refused := func(records ...metering.Record) {
		t.Helper()
		require.ErrorIs(t, f.store.PutRecords(t.Context(), records...), metering.ErrVersion)
	}
	refused(b, a)
	refused(b, b)
	require.ErrorIs(t, f.gone(account, "b"), metering.ErrNotFound, "all or none")
	a.Version, b.Version = 1, 1
	refused(b)
	a.Body, a.Due = []byte("second"), f.clock.Now()
	f.put(a)
	refused(a)
	require.Equal(t, int64(2), f.stored(account, "a").Version)

	// A removal is as exclusive as a change, and shares its transaction.
	removed := f.stored(account, "a")
	removed.Body = nil
	b.Version = 0
	stale := removed
	stale.Version = 1
	refused(b, stale)
	require.ErrorIs(t, f.gone(account, "b"), metering.ErrNotFound)
	f.put(b, removed)
	require.ErrorIs(t, f.gone(account, "a"), metering.ErrNotFound)
	require.Equal(t, int64(1), f.stored(account, "b").Version)
	refused(removed)
	a.Version = 0
	f.put(a)
	require.Equal(t, int64(1), f.stored(account, "a").Version, "begun anew")
}

func testRecordLists(t *testing.T, f *fixture) {
	first, second := f.account(Tiny), f.account(Tiny)
	start := f.clock.Now()
	require.Empty(t, f.listed(metering.RecordFilter{}))
	add := func(account metering.AccountID, id string, at, due int) {
		r := f.record(account, id)
		r.At = start.Add(time.Duration(at) * time.Microsecond)
		if due > 0 {
			r.Due = start.Add(time.Duration(due) * time.Microsecond)
		}
		f.put(r)
	}
	add(first, "d", 3, 10)
	add(second, "c", 3, 30)
	add(first, "b", 2, 20)
	add(second, "B", 2, 20)
	add(first, "z", 1, 0)
	other := f.record(first, "x")
	other.Kind, other.Due = "other", start
	f.put(other)
	after := func(us int) time.Time { return start.Add(time.Duration(us) * time.Microsecond) }
	for _, c := range []struct {
		name   string
		filter metering.RecordFilter
		want   string
	}{
		{"all, by At and ID", metering.RecordFilter{}, "z B b c d"},
		{"of one account", metering.RecordFilter{Account: first}, "z b d"},
		{"of one name", metering.RecordFilter{ID: "b"}, "b"},
		{"of one name and another account", metering.RecordFilter{ID: "b", Account: second}, ""},
		{"the newest first", metering.RecordFilter{Newest: true}, "d c b B z"},
		{"the newest before", metering.RecordFilter{Newest: true, Before: after(3), Limit: 2}, "b B"},
		{"of none", metering.RecordFilter{Account: "acc_none"}, ""},
		{"limit", metering.RecordFilter{Limit: 2}, "z B"},
		{"before", metering.RecordFilter{Before: after(3)}, "z B b"},
		{"before, between two microseconds", metering.RecordFilter{Before: after(3).Add(1)}, "z B b c d"},
		{"due, by Due and ID", metering.RecordFilter{DueBy: after(30)}, "d B b c"},
		{"not due yet", metering.RecordFilter{DueBy: after(30).Add(-1)}, "d B b"},
		{"due of one account", metering.RecordFilter{DueBy: after(30), Account: second}, "B c"},
		{"due, limit", metering.RecordFilter{DueBy: after(30), Limit: 3}, "d B b"},
		{"due and before", metering.RecordFilter{DueBy: after(30), Before: after(3)}, "B b"},
	} {
		require.Equal(t, strings.Fields(c.want), f.listed(c.filter), c.name)
	}

	// More than any store reads at once, of which many are equally old.
	want := strings.Fields("z B b c d")
	var batch []metering.Record
	for i := range 700 {
		r := f.record(first, fmt.Sprintf("n%04d", i))
		r.At = after(100 + i/300)
		batch, want = append(batch, r), append(want, r.ID)
		if len(batch) == metering.MaxRecordsPut || i == 699 {
			f.put(batch...)
			batch = nil
		}
	}
	require.Equal(t, want, f.listed(metering.RecordFilter{}))
	require.Equal(t, want[:600], f.listed(metering.RecordFilter{Limit: 600}))
	slices.Reverse(want)
	require.Equal(t, want, f.listed(metering.RecordFilter{Newest: true}))

	// The loop may write the records that it yields.
	for r, err := range f.store.Records(t.Context(), metering.RecordFilter{Kind: "note", Account: first}) {
		require.NoError(t, err)
		r.Body = nil
		f.put(r)
	}
	require.Equal(t, strings.Fields("B c"), f.listed(metering.RecordFilter{}))
	for _, err := range f.store.Records(t.Context(), metering.RecordFilter{}) {
		require.Error(t, err, "a filter without a kind")
	}
}

func testRecordLimits(t *testing.T, f *fixture) {
	account := f.account(Tiny)
	long := f.record(account, strings.Repeat("~", metering.MaxRecordID))
	long.Body = bytes.Repeat([]byte{0xff}, metering.MaxRecordBytes)
	f.put(long)
	require.Len(t, f.stored(account, long.ID).Body, metering.MaxRecordBytes)
	for name, change := range map[string]func(r *metering.Record){
		"no account":    func(r *metering.Record) { r.Account = "" },
		"no kind":       func(r *metering.Record) { r.Kind = "" },
		"no id":         func(r *metering.Record) { r.ID = "" },
		"long kind":     func(r *metering.Record) { r.Kind = long.ID + "~" },
		"long id":       func(r *metering.Record) { r.ID = long.ID + "~" },
		"space in id":   func(r *metering.Record) { r.ID = "a b" },
		"NUL in id":     func(r *metering.Record) { r.ID = "a\x00" },
		"not ASCII":     func(r *metering.Record) { r.ID = "ä" },
		"large body":    func(r *metering.Record) { r.Body = append(long.Body, 0) },
		"removal of 0":  func(r *metering.Record) { r.Body = nil },
		"negative past": func(r *metering.Record) { r.Version = -1 },
	} {
		good, bad := f.record(account, "good"), f.record(account, "bad")
		change(&bad)
		require.Error(t, f.store.PutRecords(t.Context(), good, bad), name)
		require.ErrorIs(t, f.gone(account, "good"), metering.ErrNotFound, name)
	}
	many := make([]metering.Record, metering.MaxRecordsPut+1)
	for i := range many {
		many[i] = f.record(account, fmt.Sprint(i))
	}
	require.Error(t, f.store.PutRecords(t.Context(), many...))
	f.put(many[1:]...)
}

// testRaceRecords lets 32 writers create one record, each with a companion record, and then increment it.
func testRaceRecords(t *testing.T, f *fixture) {
	account := f.account(Tiny)
	const writers, rounds = 32, 8
	var created, counted atomic.Int64
	var winner atomic.Value
	each(writers, func(i int) {
		companion := f.record(account, fmt.Sprint("companion", i))
		if err := f.store.PutRecords(f.ctx(), companion, f.record(account, "a")); err == nil {
			created.Add(1)
			winner.Store(companion.ID)
		} else {
			assert.ErrorIs(t, err, metering.ErrVersion)
		}
		for range rounds {
			r, err := f.store.Record(f.ctx(), account, "note", "a")
			if !assert.NoError(t, err) {
				return
			}
			if err = f.store.PutRecords(f.ctx(), r); err == nil {
				counted.Add(1)
			} else {
				assert.ErrorIs(t, err, metering.ErrVersion)
			}
		}
	})
	require.Equal(t, int64(1), created.Load(), "one creates it")
	require.Equal(t, []string{"a", winner.Load().(string)}, f.listed(metering.RecordFilter{}))
	require.Positive(t, counted.Load())
	require.Equal(t, 1+counted.Load(), f.stored(account, "a").Version)
}
