package dashboard

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
)

// maxMonths is how many months there are to choose from: as many as a ledger is usually kept.
const maxMonths = 25

// months are those of an account up to this one, the newest first.
func (d *dashboard) months(account metering.Account) (list []metering.Period) {
	first := metering.PeriodOf(account.CreatedAt)
	for p := metering.PeriodOf(d.now()); !p.Before(first) && len(list) < maxMonths; p = p.Previous() {
		list = append(list, p)
	}
	return list
}

// chosenMonth is the month that the address of the page names, of those of the account; this one if it names none.
func (d *dashboard) chosenMonth(r *http.Request) (metering.Period, error) {
	p := metering.PeriodOf(d.now())
	text := r.URL.Query().Get("month")
	if text == "" {
		return p, nil
	}
	if err := p.UnmarshalText([]byte(text)); err != nil || !slices.Contains(d.months(visitorOf(r).Account), p) {
		return p, metering.ErrNotFound
	}
	return p, nil
}

// sums are rows with bars, of which the largest is whole.
type sums []billing.Sum

// Most is the largest.
func (s sums) Most() (most int64) {
	for _, one := range s {
		most = max(most, one.Credits)
	}
	return most
}

// percent is a part of a whole; 0 of nothing.
func percent(part, whole int64) int64 { return min(100, part*100/max(1, whole)) }

// usage is what the page shows.
type usage struct {
	Month                    metering.Period
	Months                   []metering.Period
	Account                  metering.Account
	Balance                  metering.Balance
	Plan                     metering.Plan
	Forecast                 int64 // credits at the end of the month if it goes on as until now; 0 if nobody can say
	OverageCents             int64
	Days, ByOperation, ByKey sums
	Names                    map[string]string
}

func (d *dashboard) showUsage(r *http.Request) (any, error) {
	month, err := d.chosenMonth(r)
	if err != nil {
		return nil, err
	}
	account := visitorOf(r).Account
	sceneOf(r).title = "Usage in " + month.String()
	u := usage{Month: month, Months: d.months(account), Account: account}
	var keys []metering.Key
	err = together(
		func() (err error) { u.Balance, err = d.Store.Balance(r.Context(), account.ID, month); return err },
		func() (err error) { keys, err = d.Store.Keys(r.Context(), account.ID); return err },
		func() error {
			return d.read(r.Context(), account.ID, month, func(t *tally) {
				u.Days = t.byDay(month, d.now())
				u.ByOperation = t.by(func(c billing.Usage) string { return operationName(c.Endpoint) })
				u.ByKey = t.by(func(c billing.Usage) string { return string(c.Key) })
			})
		},
	)
	u.Names = namesOf(keys)
	u.Plan = d.Plans.In(month)[u.Balance.Plan]
	u.OverageCents = (u.Balance.OverageMicros + metering.MicrosPerCent/2) / metering.MicrosPerCent
	u.Forecast = forecast(month, u.Balance.Used, d.now())
	return u, err
}

// forecast is what would be used by the end of a month that is not over, if as much is used in each second. A day must
// have passed.
func forecast(month metering.Period, used int64, now time.Time) int64 {
	passed, whole := now.Sub(month.Start()), month.End().Sub(month.Start())
	if passed < 24*time.Hour || passed >= whole {
		return 0
	}
	return int64(float64(used) * float64(whole) / float64(passed))
}

// showUsageFile sends the sums of a month as CSV (RFC 4180). Ids and names of operations begin with letters, so that no
// spreadsheet takes one for a formula.
func (d *dashboard) showUsageFile(r *http.Request) (any, error) {
	month, err := d.chosenMonth(r)
	if err != nil {
		return nil, err
	}
	rows := [][]string{{"day", "key", "endpoint", "credits", "charges_count"}}
	err = d.read(r.Context(), visitorOf(r).Account.ID, month, func(t *tally) {
		for n, u := range t.days {
			rows = append(rows, []string{n.day, string(n.key), n.endpoint, fmt.Sprint(u.Credits), fmt.Sprint(u.Charges)})
		}
	})
	slices.SortFunc(rows[1:], slices.Compare)
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	c.UseCRLF = true
	_ = c.WriteAll(rows) // a buffer takes all
	return file{"text/csv; charset=utf-8; header=present", "usage-" + month.String() + ".csv", b.Bytes()}, err
}

const (
	// maxTallies bounds the months of accounts that are kept summed. When there are more, all are read anew.
	maxTallies = 200
	// newest is how many charges of a month are kept for the page of activity.
	newest = 500
)

// A tally is the sums of the charges of an account in a month. The ledger is read on from where it was read before, for
// an account may have a million charges.
type tally struct {
	mu    sync.Mutex
	after int64                                  // the row that was read last
	days  map[dayName]billing.Usage              // by day
	hours map[metering.KeyID]map[time.Time]int64 // credits by the beginning of the hour
	last  []metering.Entry                       // the newest, in the order of commit
}

type dayName struct {
	day      string
	key      metering.KeyID
	endpoint string
}

// tallies are those that are kept. The zero value is ready for use.
type tallies struct {
	mu    sync.Mutex
	known map[tallyName]*tally
}

type tallyName struct {
	account metering.AccountID
	period  metering.Period
}

func (t *tallies) of(n tallyName) *tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxTallies && t.known[n] == nil {
		t.known = map[tallyName]*tally{}
	}
	if t.known[n] == nil {
		t.known[n] = &tally{days: map[dayName]billing.Usage{}, hours: map[metering.KeyID]map[time.Time]int64{}}
	}
	return t.known[n]
}

// read brings a tally up to date, and calls f while nobody changes it.
func (d *dashboard) read(ctx context.Context, account metering.AccountID, p metering.Period, f func(*tally)) error {
	t := d.tallies.of(tallyName{account, p})
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
	if end := e.Period.End(); !at.Before(end) { // it was admitted before midnight, and completed after it
		at = end.Add(-time.Nanosecond)
	}
	n := dayName{at.Format(time.DateOnly), e.Key, e.Endpoint}
	u := t.days[n]
	t.days[n] = billing.Usage{Account: e.Account, Key: e.Key, Endpoint: e.Endpoint, Credits: u.Credits + e.Credits,
		Charges: u.Charges + 1}
	if t.hours[e.Key] == nil {
		t.hours[e.Key] = map[time.Time]int64{}
	}
	t.hours[e.Key][at.Truncate(time.Hour)] += e.Credits
	if t.last = append(t.last, e); len(t.last) > 2*newest {
		t.last = slices.Clone(t.last[newest:])
	}
}

// by sums the charges by a name of theirs, the largest sum first.
func (t *tally) by(name func(billing.Usage) string) []billing.Sum {
	return billing.SumBy(slices.Collect(maps.Values(t.days)), name)
}

// byDay are the sums of each day of a month up to now.
func (t *tally) byDay(month metering.Period, now time.Time) (list []billing.Sum) {
	for at := month.Start(); at.Before(month.End()) && !at.After(now); at = at.AddDate(0, 0, 1) {
		sum := billing.Sum{Name: at.Format(time.DateOnly)}
		for n, u := range t.days {
			if n.day == sum.Name {
				sum.Credits, sum.Charges = sum.Credits+u.Credits, sum.Charges+u.Charges
			}
		}
		list = append(list, sum)
	}
	return list
}

// A spark is the credits of the last 24 hours, the oldest first.
type spark [24]int64

// lastDay is what each key of an account was charged in the last 24 hours, which may have begun in the month before.
func (d *dashboard) lastDay(ctx context.Context, account metering.AccountID) (map[metering.KeyID]spark, error) {
	now := d.now().Truncate(time.Hour)
	first := now.Add(-time.Duration(len(spark{})-1) * time.Hour)
	sparks := map[metering.KeyID]spark{}
	for _, p := range slices.Compact([]metering.Period{metering.PeriodOf(first), metering.PeriodOf(now)}) {
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
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="4" height="%d"/>`, i*5, height-h, h)
		}
	}
	return template.HTML(b.String()) // which holds numbers alone
}
