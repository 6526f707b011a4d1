package dashboard

import (
	"cmp"
	"context"
	"encoding/csv"
	"github.com/diagkit/diagkit/diag/kit"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
)

// maxMonths is how many months there are to choose from: the usual retention of a ledger.
const maxMonths = 25

// months returns those of an account up to this one, the newest first.
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
	if err := p.UnmarshalText([]byte(text)); err != nil || !slices.Contains(d.months(sessionOf(r).Account), p) {
		return p, metering.ErrNotFound
	}
	return p, nil
}

// usageRows are rows with bars, of which the largest is whole.
type usageRows []billing.Sum

// Max is the largest.
func (s usageRows) Max() (most int64) {
	for _, one := range s {
		most = max(most, one.Credits)
	}
	return most
}

// percent is a part of a whole; 0 of nothing.
func percent(part, whole int64) int64 { return min(100, part*100/max(1, whole)) }

// usagePage is the data of the page.
type usagePage struct {
	Month                    metering.Period
	Months                   []metering.Period
	Account                  metering.Account
	Balance                  metering.Balance
	Plan                     metering.Plan
	Forecast                 int64 // credits at the end of the month at the current rate; 0 if unknown
	OverageCents             int64
	Days, ByOperation, ByKey usageRows
	pager                          // of the keys
	MaxByKey                 int64 // credits of the key that was charged most
	Names                    map[string]string
}

func (d *dashboard) showUsage(r *http.Request) (any, error) {
	month, err := d.chosenMonth(r)
	if err != nil {
		return nil, err
	}
	account := sessionOf(r).Account
	stateOf(r).title = "Usage in " + month.String()
	u := usagePage{Month: month, Months: d.months(account), Account: account}
	err = runParallel(
		func() (err error) { u.Balance, err = d.Store.Balance(r.Context(), account.ID, month); return err },
		func() error {
			return d.withSums(r.Context(), account.ID, month, func(t metering.Sums) {
				u.Days, u.ByKey = dailySums(t, month, d.now()), billing.Ranked(t.Keys)
				operations := map[string]metering.Total{}
				for endpoint, total := range t.Endpoints {
					name := operationName(endpoint)
					operations[name] = operations[name].Plus(total)
				}
				u.ByOperation = billing.Ranked(operations)
			})
		},
	)
	if err != nil {
		return nil, err
	}
	u.MaxByKey = u.ByKey.Max()
	u.pager, u.ByKey = paginate(r, u.ByKey)
	u.Names, err = d.keyNames(r.Context(), account.ID, kit.Map(u.ByKey, func(s billing.Sum) metering.KeyID {
		return metering.KeyID(s.Name)
	}))
	u.Plan = d.Plans.In(month)[u.Balance.Plan]
	u.OverageCents = (u.Balance.OverageMicros + metering.MicrosPerCent/2) / metering.MicrosPerCent
	u.Forecast = forecast(month, u.Balance.Used, d.now())
	return u, err
}

// forecast returns the usage at the end of a month that is not over, at a constant rate. A day must have passed.
func forecast(month metering.Period, used int64, now time.Time) int64 {
	passed, whole := now.Sub(month.Start()), month.End().Sub(month.Start())
	if passed < 24*time.Hour || passed >= whole {
		return 0
	}
	return int64(float64(used) * float64(whole) / float64(passed))
}

// usageColumns are those of the file.
var usageColumns = []string{"day", "key", "endpoint", "credits", "charges_count"}

// showUsageFile sends the sums of a month as CSV (RFC 4180). IDs and names of operations begin with letters, so that
// no spreadsheet interprets one as a formula.
func (d *dashboard) showUsageFile(r *http.Request) (any, error) {
	month, err := d.chosenMonth(r)
	if err != nil {
		return nil, err
	}
	account := sessionOf(r).Account.ID
	if _, err = d.Store.Balance(r.Context(), account, month); err != nil { // while an error page is still possible
		return nil, err
	}
	return file{media: "text/csv; charset=utf-8; header=present", name: "usage-" + month.String() + ".csv",
		write: func(w io.Writer) error { return d.writeUsage(r.Context(), w, account, month) }}, nil
}

// commitDelay is how long after the end of a day its rows are written: charges are read in the order of their commit,
// which is not quite that of their completion. Later ones get rows of their own.
const commitDelay = time.Hour

// writeUsage writes the file day by day, since a month may have as many rows as charges.
func (d *dashboard) writeUsage(
	ctx context.Context, w io.Writer, account metering.AccountID, month metering.Period,
) error {
	c := csv.NewWriter(w)
	c.UseCRLF = true
	_ = c.Write(usageColumns) // an error stays until Flush
	days := map[string]map[usageFileKey]metering.Total{}
	writeBefore := func(day string) error {
		for _, ended := range slices.Sorted(maps.Keys(days)) {
			if ended >= day {
				break
			}
			writeDay(c, ended, days[ended])
			delete(days, ended)
		}
		c.Flush()
		return c.Error()
	}
	begun := ""
	for e, err := range d.Store.Entries(ctx, metering.EntryFilter{Account: account, Period: &month}) {
		if err != nil {
			return err
		}
		if day := dayOf(e.At.Add(-commitDelay), month); day > begun {
			if err := writeBefore(day); err != nil {
				return err
			}
			begun = day
		}
		day, row := dayOf(e.At, month), usageFileKey{e.Key, e.Endpoint}
		if days[day] == nil {
			days[day] = map[usageFileKey]metering.Total{}
		}
		days[day][row] = days[day][row].Plus(metering.Total{Credits: e.Credits, Charges: 1})
	}
	return writeBefore("~") // which is behind every day
}

// A usageFileKey is the key by which the charges of a day are summed.
type usageFileKey struct {
	key      metering.KeyID
	endpoint string
}

func writeDay(c *csv.Writer, day string, totals map[usageFileKey]metering.Total) {
	for _, row := range slices.SortedFunc(maps.Keys(totals), func(a, b usageFileKey) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.endpoint, b.endpoint))
	}) {
		_ = c.Write([]string{day, string(row.key), row.endpoint, strconv.FormatInt(totals[row].Credits, 10),
			strconv.FormatInt(totals[row].Charges, 10)})
	}
}

const (
	// maxCachedSums bounds the months of accounts that are kept summed, and maxCachedKeys the keys of all of them
	// together, which take some 100 bytes each. When there are more, all are read anew.
	maxCachedSums = 200
	maxCachedKeys = 300_000
)

// A cachedSums holds the sums of the charges of an account in a month. The ledger is read on from where it was read
// before, for an account may have a million charges.
type cachedSums struct {
	mu   sync.Mutex
	sums metering.Sums
}

// sumCache holds the cached sums of months. The zero value is ready for use.
type sumCache struct {
	mu    sync.Mutex
	known map[sumKey]*cachedSums
	keys  int // of all
}

type sumKey struct {
	account metering.AccountID
	period  metering.Period
}

func (t *sumCache) get(n sumKey) *cachedSums {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[n] == nil {
		if t.known == nil || len(t.known) >= maxCachedSums || t.keys >= maxCachedKeys {
			t.known, t.keys = map[sumKey]*cachedSums{}, 0
		}
		t.known[n] = &cachedSums{sums: metering.NewSums(0)}
	}
	return t.known[n]
}

// addKeys counts keys that were added to cached sums.
func (t *sumCache) addKeys(by int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keys += by
}

// withSums updates the cached sums of a month, and calls f while they are locked.
func (d *dashboard) withSums(
	ctx context.Context, account metering.AccountID, p metering.Period, f func(metering.Sums),
) error {
	t := d.sumCache.get(sumKey{account, p})
	t.mu.Lock()
	defer t.mu.Unlock()
	more, err := d.Store.Sums(ctx, metering.EntryFilter{Account: account, Period: &p, After: t.sums.Last})
	if err != nil {
		return err
	}
	before := len(t.sums.Keys)
	if before == 0 {
		t.sums = more
	} else {
		t.sums.Add(more)
	}
	d.sumCache.addKeys(len(t.sums.Keys) - before)
	f(t.sums)
	return nil
}

// dayOf is the date under which a charge of a month is summed.
func dayOf(at time.Time, month metering.Period) string {
	return metering.HourOf(at, &month).Format(time.DateOnly)
}

// dailySums are the sums of each day of a month up to now.
func dailySums(t metering.Sums, month metering.Period, now time.Time) (list []billing.Sum) {
	days := map[string]metering.Total{}
	for hour, total := range t.Hours {
		day := hour.Format(time.DateOnly)
		days[day] = days[day].Plus(total)
	}
	for at := month.Start(); at.Before(month.End()) && !at.After(now); at = at.AddDate(0, 0, 1) {
		day := at.Format(time.DateOnly)
		list = append(list, billing.Sum{Name: day, Credits: days[day].Credits, Charges: days[day].Charges})
	}
	return list
}

// A sparkline is the credits of the last 24 hours, the oldest first.
type sparkline [24]int64

// Total is the sum of all hours.
func (s sparkline) Total() (total int64) {
	for _, n := range s {
		total += n
	}
	return total
}

// Values are the credits as a chart shows them.
func (s sparkline) Values() []int64 { return s[:] }
