package dashboard

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"slices"
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
