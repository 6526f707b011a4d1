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

// doctored is a ledger of which another hand has changed what it holds.
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

// A head proves what came before it: whatever is changed, removed or added later, and whatever has come since.
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
	same := func(l []metering.Entry) []metering.Entry { return l }
	without := func(drop func(metering.Entry) bool) func([]metering.Entry) []metering.Entry {
		return func(l []metering.Entry) []metering.Entry { return slices.DeleteFunc(l, drop) }
	}
	for name, c := range map[string]struct {
		change                func([]metering.Entry) []metering.Entry
		same, changed, pruned []time.Month
	}{
		"nothing":        {same, []time.Month{1, 2, 3, 4}, nil, nil},
		"since":          {func(l []metering.Entry) []metering.Entry { l[12].Credits = 9; return l }, []time.Month{1, 2, 3, 4}, nil, nil},
		"credits":        {func(l []metering.Entry) []metering.Entry { l[4].Credits = 9; return l }, []time.Month{1, 3, 4}, []time.Month{2}, nil},
		"number":         {func(l []metering.Entry) []metering.Entry { l[11].Seq = 14; return l }, []time.Month{1, 2, 3}, []time.Month{4}, nil},
		"link":           {func(l []metering.Entry) []metering.Entry { l[0].Chain[3]++; return l }, []time.Month{2, 3, 4}, []time.Month{1}, nil},
		"the last":       {without(func(e metering.Entry) bool { return e.Seq == 12 }), []time.Month{1, 2, 3}, []time.Month{4}, nil},
		"all":            {without(func(metering.Entry) bool { return true }), nil, nil, []time.Month{1, 2, 3, 4}},
		"first month":    {without(func(e metering.Entry) bool { return e.Seq <= 3 }), []time.Month{2, 3, 4}, nil, []time.Month{1}},
		"first months":   {without(func(e metering.Entry) bool { return e.Seq <= 5 }), []time.Month{3, 4}, nil, []time.Month{1, 2}},
		"second month":   {without(func(e metering.Entry) bool { return e.Seq == 5 }), []time.Month{1, 3, 4}, []time.Month{2}, nil},
		"one that added": {func(l []metering.Entry) []metering.Entry { l[12].Seq = 12; return l }, []time.Month{1, 2, 3, 4}, []time.Month{5}, nil},
	} {
		got, err := head.Against(t.Context(), doctored{store, c.change}, now)
		if err != nil || !slices.Equal(got.Same, month(c.same...)) || !slices.Equal(got.Changed, month(c.changed...)) ||
			!slices.Equal(got.Pruned, month(c.pruned...)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	none := doctored{store, without(func(metering.Entry) bool { return true })}
	got, err := head.Against(t.Context(), none, now.AddDate(0, -1, 0))
	if err != nil || !slices.Equal(got.Changed, month(4)) || !slices.Equal(got.Pruned, month(1, 2, 3)) {
		t.Errorf("what may still be charged cannot have been pruned: %+v, %v", got, err)
	}
}
