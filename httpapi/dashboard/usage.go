package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
	"github.com/diagkit/diagkit/metering"
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

// percent is a part of a whole; 0 of nothing.
func percent(part, whole int64) int64 { return min(100, part*100/max(1, whole)) }

// usageCounts are requests by their outcome: charges of the ledger, and failures that this server remembers.
type usageCounts struct{ Credits, Charged, Refused, Failed int64 }

func (c usageCounts) plusCharges(t metering.Total) usageCounts {
	c.Credits += t.Credits
	c.Charged += t.Charges
	return c
}

func (c usageCounts) plusFailure(code string) usageCounts {
	if outcomeOf(code) == codeFailed {
		c.Failed++
	} else {
		c.Refused++
	}
	return c
}

// Errors counts all failures.
func (c usageCounts) Errors() int64 { return c.Refused + c.Failed }

// Requests counts all requests.
func (c usageCounts) Requests() int64 { return c.Charged + c.Errors() }

// A usageRow is the counts of an operation, a key, or a part of the range.
type usageRow struct {
	Name string
	usageCounts
}

// byUse compares rows: those with most credits come first, then those with most failures.
func byUse(a, b usageRow) int {
	return cmp.Or(cmp.Compare(b.Credits, a.Credits), cmp.Compare(b.Errors(), a.Errors()), cmp.Compare(a.Name, b.Name))
}

// A usageTable is rows in the order of their use, or the first of them.
type usageTable struct {
	Rows []usageRow
	all  int // with those that were left out
}

// add adds a row to a table that shows at most so many; 0 means all, in any order until sort.
func (t *usageTable) add(row usageRow, most int) {
	t.all++
	if most == 0 {
		t.Rows = append(t.Rows, row)
		return
	}
	i, _ := slices.BinarySearchFunc(t.Rows, row, byUse)
	if i < most {
		t.Rows = slices.Insert(t.Rows[:min(len(t.Rows), most-1)], i, row)
	}
}

// newTable returns the table of charges and failures by name.
func newTable[K ~string](charges map[K]metering.Total, failures map[K]usageCounts, most int) (t usageTable) {
	for name, total := range charges {
		t.add(usageRow{string(name), failures[name].plusCharges(total)}, most)
	}
	for name, c := range failures {
		if _, charged := charges[name]; !charged {
			t.add(usageRow{string(name), c}, most)
		}
	}
	if most == 0 {
		slices.SortFunc(t.Rows, byUse)
	}
	return t
}

// More is how many rows were left out.
func (t usageTable) More() int { return t.all - len(t.Rows) }

// Max is the most credits of a row.
func (t usageTable) Max() int64 {
	if len(t.Rows) == 0 {
		return 0
	}
	return t.Rows[0].Credits
}

// topRows is how many operations and keys the page shows; a view of its own shows all.
const topRows = 10

// The views of the page that show all of something, by the parameter show.
const (
	showOperations = "operations"
	showKeys       = "keys"
)

// usagePage is the data of the page.
type usagePage struct {
	selection
	Account      metering.Account
	Balance      metering.Balance
	Plan         metering.Plan
	Forecast     int64 // credits at the end of the month at the current rate; 0 if unknown
	OverageCents int64

	Show                       string // showOperations or showKeys; empty: the first of both, and the charts
	Total                      usageCounts
	Parts                      []usageRow // of the range, in their order
	ByCode, ByOperation, ByKey usageTable
	MaxByKey                   int64 // credits of the key that was charged most
	KeyPager                   pager
	Names                      map[string]string
	RecordedSince              time.Time // from which on failures are remembered; zero: none are
	RequestsChart, CreditChart ui.BarChart
}

func (d *dashboard) showUsage(r *http.Request) (any, error) {
	s, err := d.parseSelection(r)
	if err != nil {
		return nil, err
	}
	account := sessionOf(r).Account
	stateOf(r).title = "Usage in " + s.Title()
	u := &usagePage{selection: s, Account: account}
	if show := r.URL.Query().Get("show"); show == showOperations || show == showKeys {
		u.Show = show
	}
	failures, since := d.Activity.Requests(account.ID)
	u.RecordedSince = since
	failures = slices.DeleteFunc(failures, func(o httpapi.Observation) bool { return o.Code == codeOK || !s.matches(o) })
	err = runParallel(
		func() (err error) { u.Balance, err = d.Store.Balance(r.Context(), account.ID, s.Month); return err },
		func() error { return d.loadKeys(r.Context(), account.ID, &u.selection) },
		func() error {
			if !s.HasCharges() {
				u.count(metering.NewSums(0), failures, d.now())
				return nil
			}
			return d.withSums(r.Context(), s.filter(account.ID), func(t metering.Sums) { u.count(t, failures, d.now()) })
		},
	)
	if err != nil {
		return nil, err
	}
	if u.MaxByKey = u.ByKey.Max(); u.Show == showKeys {
		u.KeyPager, u.ByKey.Rows = paginate(r, u.ByKey.Rows)
	}
	u.Names, err = d.keyNames(r.Context(), account.ID, kit.Map(u.ByKey.Rows, func(row usageRow) metering.KeyID {
		return metering.KeyID(row.Name)
	}))
	u.Plan = d.Plans.In(s.Month)[u.Balance.Plan]
	u.OverageCents = (u.Balance.OverageMicros + metering.MicrosPerCent/2) / metering.MicrosPerCent
	u.Forecast = forecast(s.Month, u.Balance.Used, d.now())
	return u, err
}

// count sums up charges and failures by everything that the page shows.
func (u *usagePage) count(t metering.Sums, failures []httpapi.Observation, now time.Time) {
	parts := u.parts(now)
	charges, operations := map[string]metering.Total{}, map[string]usageCounts{}
	keys, codes := map[metering.KeyID]usageCounts{}, map[string]usageCounts{}
	for hour, total := range t.Hours {
		if p := partOf(parts, hour); p != nil {
			p.usageCounts = p.plusCharges(total)
		}
	}
	for endpoint, total := range t.Endpoints {
		name := operationName(endpoint)
		charges[name] = charges[name].Plus(total)
		u.Total = u.Total.plusCharges(total)
	}
	if u.Total.Charged > 0 {
		codes[codeOK] = u.Total
	}
	for _, o := range failures {
		if p := partOf(parts, o.At); p != nil {
			p.usageCounts = p.plusFailure(o.Code)
		}
		name := operationName(o.Endpoint)
		operations[name], keys[o.Key] = operations[name].plusFailure(o.Code), keys[o.Key].plusFailure(o.Code)
		codes[o.Code], u.Total = codes[o.Code].plusFailure(o.Code), u.Total.plusFailure(o.Code)
	}
	most := func(view string) int {
		if u.Show == view {
			return 0
		}
		return topRows
	}
	u.ByOperation = newTable(charges, operations, most(showOperations))
	u.ByKey = newTable(t.Keys, keys, most(showKeys))
	u.ByCode = newTable(nil, codes, 0)
	for _, p := range parts {
		u.Parts = append(u.Parts, p.usageRow)
	}
	u.draw(parts)
}

// A usagePart is a part of the range, for which a chart has a bar.
type usagePart struct {
	usageRow
	start time.Time
	tick  string // its label on the axis; empty for most
}

// parts are those of the range up to now, without counts.
func (u *usagePage) parts(now time.Time) (list []*usagePart) {
	layout, isTick, tickLayout := "2 Jan, 15:04", func(time.Time) bool { return false }, "2 Jan"
	add := func(at time.Time) {
		p := &usagePart{usageRow: usageRow{Name: at.Format(layout)}, start: at}
		if isTick(at) {
			p.tick = at.Format(tickLayout)
		}
		list = append(list, p)
	}
	switch u.Range {
	case "":
		layout, isTick = "2 Jan", func(t time.Time) bool { return t.Day()%5 == 1 && t.Day() < 30 }
		for at := u.Month.Start(); at.Before(u.Month.End()) && !at.After(now); at = at.AddDate(0, 0, 1) {
			add(at)
		}
		return list
	case "24h":
		isTick, tickLayout = func(t time.Time) bool { return t.Hour()%6 == 0 }, "15:04"
	case "7d":
		isTick = func(t time.Time) bool { return t.Hour() == 0 && t.YearDay()%2 == 0 }
	default:
		layout, isTick = "2 Jan", func(t time.Time) bool { return t.YearDay()%6 == 0 }
	}
	for _, t := range timeRanges {
		for i := 0; t.Name == u.Range && i < t.parts; i++ {
			add(u.since.Add(time.Duration(i) * t.step))
		}
	}
	return list
}

// partOf is the part in which an instant is: the last one for one behind it, since the clock of another server may be
// ahead of ours; nil before the first.
func partOf(parts []*usagePart, at time.Time) *usagePart {
	i, _ := slices.BinarySearchFunc(parts, at, func(p *usagePart, at time.Time) int {
		if p.start.After(at) {
			return 1
		}
		return -1
	})
	if i == 0 {
		return nil
	}
	return parts[i-1]
}

// draw makes the charts.
func (u *usagePage) draw(parts []*usagePart) {
	requests := []ui.Series{{Title: "charged"}, {Title: "refused", Class: "warning"}, {Title: "failed", Class: "error"}}
	u.RequestsChart = ui.BarChart{Label: formatCount(u.Total.Requests(), "request"), Series: requests}
	u.CreditChart = ui.BarChart{Label: formatCount(u.Total.Credits, "credit"), Series: []ui.Series{{Title: "credits"}}}
	for _, p := range parts {
		u.RequestsChart.Bars = append(u.RequestsChart.Bars,
			ui.Bar{Title: p.Name, Tick: p.tick, Values: []int64{p.Charged, p.Refused, p.Failed}})
		u.CreditChart.Bars = append(u.CreditChart.Bars, ui.Bar{Title: p.Name, Tick: p.tick, Values: []int64{p.Credits}})
	}
}

// IsEmpty reports whether there is nothing to show.
func (u *usagePage) IsEmpty() bool { return u.Total == usageCounts{} }

// forecast returns the usage at the end of a month that is not over, at a constant rate. A day must have passed.
func forecast(month metering.Period, used int64, now time.Time) int64 {
	passed, whole := now.Sub(month.Start()), month.End().Sub(month.Start())
	if passed < 24*time.Hour || passed >= whole {
		return 0
	}
	return int64(float64(used) * float64(whole) / float64(passed))
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
