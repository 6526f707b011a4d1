package dashboard

import (
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
)

func (d *dashboard) usagePages() []*page {
	return []*page{
		{method: "GET", pattern: "/dashboard/usage", role: member.Viewer, title: "Usage", nav: "Usage", handle: d.showUsage},
		{method: "GET", pattern: "/dashboard/usage.csv", role: member.Viewer, title: "Usage", handle: d.sendUsage},
	}
}

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

// A line is a row with a bar.
type line struct {
	sum
	Link  string
	Width int64 // of the bar, in percent
}

// lines gives sums their bars, the largest of which is whole.
func lines(sums []sum) (list []line) {
	most := int64(1)
	for _, s := range sums {
		most = max(most, s.Credits)
	}
	for _, s := range sums {
		list = append(list, line{sum: s, Width: s.Credits * 100 / most})
	}
	return list
}

// usage is what the page shows.
type usage struct {
	Month                      metering.Period
	Months                     []metering.Period
	Balance                    metering.Balance
	Plan                       metering.Plan
	Forecast                   int64 // credits at the end of the month if it goes on as until now; 0 if nobody can say
	Share                      int64 // of the allowance, in percent
	Over                       bool  // the forecast is above the allowance
	Days, ByOperation, ByKey   []line
	OverageCents, BudgetCents  int64
	Budgeted, Enabled, HardCap bool
}

// Title implements titled.
func (u usage) Title() string { return "Usage in " + u.Month.String() }

func (d *dashboard) showUsage(w http.ResponseWriter, r *http.Request) error {
	month, err := d.chosenMonth(r)
	if err != nil {
		return err
	}
	account := visitorOf(r).Account
	u := usage{Month: month, Months: d.months(account), Enabled: account.OverageEnabled}
	var names map[metering.KeyID]string
	var byKey []sum
	err = together(
		func() (err error) { u.Balance, err = d.Store.Balance(r.Context(), account.ID, month); return err },
		func() (err error) { names, err = d.keyNames(r, account.ID); return err },
		func() error {
			return d.read(r.Context(), account.ID, month, func(t *tally) {
				u.Days = lines(t.byDay(month, d.now()))
				u.ByOperation = lines(t.by(func(n dayName) string { return operationName(n.endpoint) }))
				byKey = t.by(func(n dayName) string { return string(n.key) })
			})
		},
	)
	if err != nil {
		return err
	}
	for _, l := range lines(byKey) {
		l.Link = "/dashboard/keys/" + l.Name
		l.Name = names[metering.KeyID(l.Name)]
		u.ByKey = append(u.ByKey, l)
	}
	u.Plan = d.Plans.In(month)[u.Balance.Plan]
	u.HardCap = u.Plan.HardCap()
	u.OverageCents = (u.Balance.OverageMicros + metering.MicrosPerCent/2) / metering.MicrosPerCent
	if account.OverageBudgetCents != nil {
		u.Budgeted, u.BudgetCents = true, *account.OverageBudgetCents
	}
	u.Share = min(100, u.Balance.Used*100/max(1, u.Balance.Limit))
	u.Forecast = forecast(month, u.Balance.Used, d.now())
	u.Over = u.Forecast > u.Balance.Limit
	return d.render(w, r, "usage", u)
}

// byDay are the sums of each day of a month up to now.
func (t *tally) byDay(month metering.Period, now time.Time) []sum {
	of := map[int]charged{}
	for n, c := range t.days {
		of[n.day] = charged{of[n.day].credits + c.credits, of[n.day].charges + c.charges}
	}
	list := []sum{}
	for day := month.Start(); day.Before(month.End()) && !day.After(now); day = day.AddDate(0, 0, 1) {
		c := of[day.Day()]
		list = append(list, sum{day.Format(time.DateOnly), c.credits, c.charges})
	}
	return list
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

// keyNames are the names of the keys of an account.
func (d *dashboard) keyNames(r *http.Request, account metering.AccountID) (map[metering.KeyID]string, error) {
	keys, err := d.Store.Keys(r.Context(), account)
	names := map[metering.KeyID]string{}
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	return names, err
}

// sendUsage sends the sums of a month as CSV (RFC 4180). Ids and names of operations begin with letters, so that no
// spreadsheet takes one for a formula.
func (d *dashboard) sendUsage(w http.ResponseWriter, r *http.Request) error {
	month, err := d.chosenMonth(r)
	if err != nil {
		return err
	}
	rows := [][]string{{"day", "key", "endpoint", "credits", "charges_count"}}
	err = d.read(r.Context(), visitorOf(r).Account.ID, month, func(t *tally) {
		for n, c := range t.days {
			day := month.Start().AddDate(0, 0, n.day-1).Format(time.DateOnly)
			rows = append(rows, []string{day, string(n.key), n.endpoint, decimal(c.credits), decimal(c.charges)})
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(rows[1:], slices.Compare)
	w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="usage-%s.csv"`, month))
	c := csv.NewWriter(w)
	c.UseCRLF = true
	return errors.Join(c.WriteAll(rows), c.Error())
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
