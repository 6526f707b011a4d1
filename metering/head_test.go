package metering_test

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

// doctored is a ledger with manipulated entries.
type doctored struct {
	metering.Ledger
	change func([]metering.Entry) []metering.Entry
}

func (d doctored) Entries(ctx context.Context, f metering.EntryFilter) iter.Seq2[metering.Entry, error] {
	var list []metering.Entry
	for e := range d.Ledger.Entries(ctx, f) {
		list = append(list, e)
	}
	return func(yield func(metering.Entry, error) bool) {
		for _, e := range d.change(list) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// A head covers the entries before it: it detects any change, removal or addition among them, whatever has been
// appended since.
func TestHead(t *testing.T) {
	now := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	store := memory.New(memory.Config{Clock: func() time.Time { return now }})
	defer store.Close()
	account, err := metering.Admin{Store: store}.CreateAccount(t.Context(), "Example Ltd", "self")
	if err != nil {
		t.Fatal(err)
	}
	spend := func() {
		t.Helper()
		for range 3 {
			begun, err := store.Begin(t.Context(), metering.Op{
				RequestID: "req", Account: account.ID, Credits: 1, Now: now, Lease: now.Add(time.Minute),
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = store.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: now}); err != nil {
				t.Fatal(err)
			}
		}
		now = now.AddDate(0, 1, 0)
	}
	for range 4 {
		spend()
	}
	head, err := metering.ReadHead(t.Context(), store, 0)
	if err != nil || head.Seq != 12 || len(head.Months) != 4 {
		t.Fatal(head, err)
	}
	text, err := json.Marshal(head)
	if err == nil {
		head = metering.Head{}
		err = json.Unmarshal(text, &head)
	}
	if err != nil {
		t.Fatal(err)
	}
	spend() // in May
	month := func(list ...time.Month) []metering.Period {
		periods := []metering.Period{}
		for _, m := range list {
			periods = append(periods, metering.Period{Year: 2026, Month: m})
		}
		return periods
	}
	type months = []time.Month
	without := func(drop func(metering.Entry) bool) func([]metering.Entry) []metering.Entry {
		return func(l []metering.Entry) []metering.Entry { return slices.DeleteFunc(l, drop) }
	}
	edited := func(i int, edit func(*metering.Entry)) func([]metering.Entry) []metering.Entry {
		return func(l []metering.Entry) []metering.Entry { edit(&l[i]); return l }
	}
	none := without(func(metering.Entry) bool { return true })
	for name, c := range map[string]struct {
		change                func([]metering.Entry) []metering.Entry
		same, changed, pruned months
	}{
		"nothing":      {edited(0, func(*metering.Entry) {}), months{1, 2, 3, 4}, nil, nil},
		"since":        {edited(12, func(e *metering.Entry) { e.Credits = 9 }), months{1, 2, 3, 4}, nil, nil},
		"credits":      {edited(4, func(e *metering.Entry) { e.Credits = 9 }), months{1, 3, 4}, months{2}, nil},
		"number":       {edited(11, func(e *metering.Entry) { e.Seq = 14 }), months{1, 2, 3}, months{4}, nil},
		"link":         {edited(0, func(e *metering.Entry) { e.Chain = new(metering.Chain) }), months{2, 3, 4}, months{1}, nil},
		"added":        {edited(12, func(e *metering.Entry) { e.Seq = 12 }), months{1, 2, 3, 4}, months{5}, nil},
		"the last":     {without(func(e metering.Entry) bool { return e.Seq == 12 }), months{1, 2, 3}, months{4}, nil},
		"second month": {without(func(e metering.Entry) bool { return e.Seq == 5 }), months{1, 3, 4}, months{2}, nil},
		"first month":  {without(func(e metering.Entry) bool { return e.Seq <= 3 }), months{2, 3, 4}, nil, months{1}},
		"first months": {without(func(e metering.Entry) bool { return e.Seq <= 5 }), months{3, 4}, nil, months{1, 2}},
		"all":          {none, nil, nil, months{1, 2, 3, 4}},
	} {
		got, err := head.Compare(t.Context(), doctored{store, c.change}, now)
		if err != nil || !slices.Equal(got.Same, month(c.same...)) || !slices.Equal(got.Changed, month(c.changed...)) ||
			!slices.Equal(got.Pruned, month(c.pruned...)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	got, err := head.Compare(t.Context(), doctored{store, none}, now.AddDate(0, -1, 0))
	if err != nil || !slices.Equal(got.Changed, month(4)) || !slices.Equal(got.Pruned, month(1, 2, 3)) {
		t.Errorf("what may still be charged cannot have been pruned: %+v, %v", got, err)
	}
}
