package dashboard

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/member"
)

func (d *dashboard) usagePages() []*page {
	return []*page{
		{pattern: "/dashboard/usage", role: member.Viewer, title: "Usage", nav: "Usage", template: "usage",
			show: d.showUsage},
		{pattern: "/dashboard/usage.csv", role: member.Viewer, title: "Usage", handle: d.sendUsage},
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
	billing.Sum
	Link  string
	Width int64 // of the bar, in percent
}

// lines gives sums their bars, the largest of which is whole.
func lines(sums []billing.Sum) (list []line) {
	most := int64(1)
	for _, s := range sums {
		most = max(most, s.Credits)
	}
	for _, s := range sums {
		list = append(list, line{Sum: s, Width: s.Credits * 100 / most})
	}
	return list
}

// usage is what the page shows.
type usage struct {
	titled
	Month                    metering.Period
	Months                   []metering.Period
	Account                  metering.Account
	Balance                  metering.Balance
	Plan                     metering.Plan
	Forecast                 int64 // credits at the end of the month if it goes on as until now; 0 if nobody can say
	Share                    int64 // of the allowance, in percent
	OverageCents             int64
	Days, ByOperation, ByKey []line
}

func (d *dashboard) showUsage(r *http.Request) (any, error) {
	month, err := d.chosenMonth(r)
	if err != nil {
		return nil, err
	}
	account := visitorOf(r).Account
	u := usage{titled: titled("Usage in " + month.String()), Month: month, Months: d.months(account), Account: account}
	var names map[metering.KeyID]string
	err = together(
		func() (err error) { u.Balance, err = d.Store.Balance(r.Context(), account.ID, month); return err },
		func() (err error) { names, err = d.keyNames(r); return err },
		func() error {
			return d.read(r.Context(), account.ID, month, func(t *tally) {
				u.Days = lines(t.byDay(month, d.now()))
				u.ByOperation = lines(t.by(func(c billing.Usage) string { return operationName(c.Endpoint) }))
				u.ByKey = lines(t.by(func(c billing.Usage) string { return string(c.Key) }))
			})
		},
	)
	for i, l := range u.ByKey {
		u.ByKey[i].Link, u.ByKey[i].Name = "/dashboard/keys/"+l.Name, names[metering.KeyID(l.Name)]
	}
	u.Plan = d.Plans.In(month)[u.Balance.Plan]
	u.OverageCents = (u.Balance.OverageMicros + metering.MicrosPerCent/2) / metering.MicrosPerCent
	u.Share = min(100, u.Balance.Used*100/max(1, u.Balance.Limit))
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

// keyNames are the names of the keys of the visitor's account.
func (d *dashboard) keyNames(r *http.Request) (map[metering.KeyID]string, error) {
	keys, err := d.Store.Keys(r.Context(), visitorOf(r).Account.ID)
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
		for n, u := range t.days {
			rows = append(rows, []string{n.day, string(n.key), n.endpoint, decimal(u.Credits), decimal(u.Charges)})
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
	return c.WriteAll(rows)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
