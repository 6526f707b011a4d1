package dashboard

import (
	"cmp"
	"context"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
)

const (
	// maxTallies bounds the months of accounts that are kept summed.
	maxTallies = 200
	// newest is how many charges of a month are kept for the page of activity.
	newest = 500
)

// A tally is the sums of the charges of an account in a month. The ledger is read on from where it was read before, for
// an account may have a million charges.
type tally struct {
	mu    sync.Mutex
	used  time.Time // when it was last asked for; guarded by tallies
	after int64
	days  map[dayName]*charged
	hours map[metering.KeyID]map[time.Time]int64 // credits by the beginning of the hour
	last  []metering.Entry                       // the newest, in the order of commit
}

type dayName struct {
	day      int // of the month
	key      metering.KeyID
	endpoint string
}

type charged struct{ credits, charges int64 }

// tallies are those that are kept. The zero value is ready for use.
type tallies struct {
	mu    sync.Mutex
	known map[tallyName]*tally
}

type tallyName struct {
	account metering.AccountID
	period  metering.Period
}

// of is the tally of a month, which another may be reading.
func (t *tallies) of(n tallyName, now time.Time) *tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[n] == nil {
		if t.known == nil || len(t.known) >= maxTallies {
			t.known = t.fresh()
		}
		t.known[n] = &tally{days: map[dayName]*charged{}, hours: map[metering.KeyID]map[time.Time]int64{}}
	}
	t.known[n].used = now
	return t.known[n]
}

// fresh are the tallies that were used last, half of them.
func (t *tallies) fresh() map[tallyName]*tally {
	var names []tallyName
	for n := range t.known {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b tallyName) int { return t.known[b].used.Compare(t.known[a].used) })
	kept := map[tallyName]*tally{}
	for _, n := range names[:len(names)/2] {
		kept[n] = t.known[n]
	}
	return kept
}

// read brings a tally up to date, and calls f while nobody changes it.
func (d *dashboard) read(
	ctx context.Context, account metering.AccountID, p metering.Period, f func(*tally),
) error {
	t := d.tallies.of(tallyName{account, p}, d.now())
	t.mu.Lock()
	defer t.mu.Unlock()
	filter := metering.EntryFilter{Account: account, Period: &p, After: t.after}
	for e, err := range d.Store.Entries(ctx, filter) {
		if err != nil {
			return err
		}
		t.add(e)
	}
	f(t)
	return nil
}

func (t *tally) add(e metering.Entry) {
	t.after = e.Seq
	at := e.At.UTC()
	n := dayName{at.Day(), e.Key, e.Endpoint}
	if metering.PeriodOf(at) != e.Period { // it was admitted before midnight, and completed after it
		n.day = e.Period.End().AddDate(0, 0, -1).Day()
	}
	sum := t.days[n]
	if sum == nil {
		sum = new(charged)
		t.days[n] = sum
	}
	sum.credits, sum.charges = sum.credits+e.Credits, sum.charges+1
	if t.hours[e.Key] == nil {
		t.hours[e.Key] = map[time.Time]int64{}
	}
	t.hours[e.Key][at.Truncate(time.Hour)] += e.Credits
	if t.last = append(t.last, e); len(t.last) > 2*newest {
		t.last = slices.Clone(t.last[newest:])
	}
}

// A sum is what was charged under one name.
type sum struct {
	Name             string
	Credits, Charges int64
}

// by sums a tally by a name.
func (t *tally) by(name func(dayName) string) []sum {
	sums := map[string]sum{}
	for n, c := range t.days {
		key := name(n)
		sums[key] = sum{key, sums[key].Credits + c.credits, sums[key].Charges + c.charges}
	}
	list := []sum{}
	for _, s := range sums {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b sum) int {
		return cmp.Or(cmp.Compare(b.Credits, a.Credits), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// A spark is the credits of the last 24 hours, the oldest first.
type spark [24]int64

// lastDay is what each key of an account was charged in the last 24 hours, which may have begun in the month before.
func (d *dashboard) lastDay(ctx context.Context, account metering.AccountID) (map[metering.KeyID]spark, error) {
	now := d.now().Truncate(time.Hour)
	first := now.Add(-time.Duration(len(spark{})-1) * time.Hour)
	sparks := map[metering.KeyID]spark{}
	months := slices.Compact([]metering.Period{metering.PeriodOf(first), metering.PeriodOf(now)})
	for _, p := range months {
		err := d.read(ctx, account, p, func(t *tally) {
			for key, hours := range t.hours {
				one := sparks[key]
				for i := range one {
					one[i] += hours[first.Add(time.Duration(i)*time.Hour)]
				}
				sparks[key] = one
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return sparks, nil
}

// Total is the sum of all hours.
func (s spark) Total() (total int64) {
	for _, n := range s {
		total += n
	}
	return total
}

// Bars are the drawing's: a rectangle for each hour in which there was something.
func (s spark) Bars() template.HTML {
	const height = 24
	most := max(1, slices.Max(s[:]))
	var b strings.Builder
	for i, n := range s {
		if n > 0 {
			h := max(1, n*height/most)
			b.WriteString(`<rect x="` + strconv.Itoa(i*5) + `" y="` + strconv.FormatInt(height-h, 10) +
				`" width="4" height="` + strconv.FormatInt(h, 10) + `"/>`)
		}
	}
	return template.HTML(b.String()) // which holds numbers alone
}
