package dashboard

import (
	"context"
	"errors"
	"github.com/diagkit/diagkit/diag/phrase"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
)

// A domainPage is a watched domain: how it is, what to do, what ends when, what has changed, and the settings.
type domainPage struct {
	*watch.Watch
	outcome
	summary  string // of the known state, in a few words
	Report   report
	Current  *watch.Snapshot
	Records  []watch.Record // the current ones, as far as they fit
	Days     []day
	Day      *dayChanges // the day that is open
	Changes  *comparison // of two days; nil where none were chosen
	Form     watchOptions
	AllPrice int64 // of all checks, at most
}

// findingTitle describes a finding in words.
func (d *dashboard) findingTitle(f watch.Finding) string {
	return d.Watches.Title(f.Code) +
		view.TextIf(f.Target != "", " ("+render.Printable(strings.TrimSuffix(f.Target, "."))+")")
}

// historyDays is how many days the strip has: a quarter of a year.
const historyDays = 91

// requestedWatch is the watch that the path names, or [metering.ErrNotFound].
func (d *dashboard) requestedWatch(r *http.Request) (watch.Watch, error) {
	name, err := diag.ParseDomain(r.PathValue("domain"))
	if err != nil {
		return watch.Watch{}, metering.ErrNotFound
	}
	return d.Watches.Get(r.Context(), sessionOf(r).Account.ID, watch.ID(name))
}

// showDomain shows a watched domain.
func (d *dashboard) showDomain(r *http.Request) (any, error) {
	watched, err := d.requestedWatch(r)
	if err != nil {
		return nil, err
	}
	stateOf(r).title = render.Printable(displayName(&watched))
	page := &domainPage{Watch: &watched, summary: phrase.Capitalize(d.summary(&watched)) + "."}
	if _, page.AllPrice, err = allChecks(watched); err != nil {
		return nil, err
	}
	account, today := sessionOf(r).Account.ID, d.now().Truncate(24*time.Hour)
	first := today.AddDate(0, 0, 1-historyDays)
	var runs []watch.Run
	var digest *target.Digest
	err = runParallel(
		func() (err error) { page.Current, err = d.Watches.Now(r.Context(), account, watched.ID); return err },
		func() (err error) { digest, err = d.digest(r.Context(), &watched); return err },
		func() (err error) { runs, err = d.Watches.History(r.Context(), account, watched.ID, first); return err },
		func() (err error) { page.Form, err = d.watchOptions(r, watched.Settings); return err },
		func() (err error) { page.Changes, err = d.compareDays(r, watched); return err },
		func() (err error) {
			page.outcome, err = d.loadOutcome(r, operation{}, func(k *run) bool { return k.Domain == watched.Domain })
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	page.Report = d.newReport(digest, page.Current, d.now())
	page.Days = groupByDay(runs, first, today)
	page.Day = openDay(runs, r.URL.Query().Get("day"))
	page.Records = fitting(page.Current.Records)
	if r.Method == http.MethodGet && page.isChecking(d.now()) {
		stateOf(r).header.Set("Refresh", "2")
	}
	return page, nil
}

// maxWait is for how long a page reloads that waits for a check which is due.
const maxWait = 2 * time.Minute

// isChecking reports whether the page is to be reloaded soon, because a check is running or about to begin.
func (p *domainPage) isChecking(now time.Time) bool {
	due := p.State == watch.OK || p.State == watch.Fresh || p.State == watch.Ended
	return p.State == watch.Running || due && !p.NextRun.After(now) && now.Sub(p.NextRun) < maxWait
}

// maxRecords bounds the records that a page shows, in bytes of HTML.
const maxRecords = 5 << 10

// fitting are the records of a list that fit into a page.
func fitting(list []watch.Record) []watch.Record {
	room := maxRecords
	for i, r := range list {
		for _, v := range r.Values {
			room -= len(template.HTMLEscapeString(v)) + 4*strings.Count(v, "+")
		}
		if room -= 200; room < 0 { // for the row
			return list[:i]
		}
	}
	return list
}

// The changes of a day are the runs that have changed something.
type dayChanges struct {
	Date string
	Runs []watch.Run
	More int // changes that do not fit
}

// The bounds of the changes that a page shows: findings, and records whose values are cut.
const (
	maxDayFindings = 20
	maxDayRecords  = 6
	maxDayValue    = 120 // bytes
)

// openDay returns the changes of a day, or without one those of the newest day that has some; nil if none has.
func openDay(runs []watch.Run, date string) *dayChanges {
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		date = ""
	}
	c := &dayChanges{Date: date}
	findings, records := maxDayFindings, maxDayRecords
	for _, r := range runs {
		if on := r.At.UTC().Format(time.DateOnly); hasChanges(r.Difference) && (c.Date == "" || c.Date == on) {
			c.Date, r.Facts = on, nil
			c.More += boundDifference(&r.Difference, &findings, &records)
			if hasChanges(r.Difference) {
				c.Runs = append(c.Runs, r)
			}
		}
	}
	if c.Date == "" {
		return nil
	}
	return c
}

// boundDifference shortens a difference to so many findings and records, and returns by how much.
func boundDifference(d *watch.Difference, findings, records *int) (left int) {
	left = bound(&d.Appeared, findings) + bound(&d.Gone, findings) + bound(&d.Changed, records)
	for i, ch := range d.Changed {
		d.Changed[i].Old, d.Changed[i].New = clipped(ch.Old), clipped(ch.New)
	}
	return left
}

// bound shortens a list to what there is room for, and returns by how much.
func bound[T any](list *[]T, room *int) (left int) {
	n := min(len(*list), *room)
	left, *room, *list = len(*list)-n, *room-n, slices.Clone((*list)[:n])
	return left
}

func clipped(values []string) []string {
	return kit.Map(values[:min(len(values), maxDayRecords)], func(v string) string { return phrase.Clip(v, maxDayValue) })
}

func hasChanges(d watch.Difference) bool { return len(d.Appeared)+len(d.Gone)+len(d.Changed) > 0 }

// A day is a cell of the strip.
type day struct {
	At          time.Time
	Mark        view.Mark // of the worst run; none on days without a run
	ChangeCount int       // findings and records
}

// Date names the day.
func (d day) Date() string { return d.At.Format(time.DateOnly) }

// Label describes the content of the cell.
func (d day) Label() string {
	if d.Mark == view.None {
		return d.Date() + ": not checked"
	}
	return d.Date() + ": " + string(d.Mark) + view.TextIf(d.ChangeCount > 0, ", "+phrase.Count(d.ChangeCount, "change"))
}

// groupByDay puts runs, the newest first, into the days from one to another.
func groupByDay(runs []watch.Run, first, last time.Time) (list []day) {
	for at := first; !at.After(last); at = at.AddDate(0, 0, 1) {
		list = append(list, day{At: at})
	}
	for _, run := range runs {
		i := int(run.At.Sub(first) / (24 * time.Hour))
		if run.At.Before(first) || i >= len(list) {
			continue
		}
		cell := &list[i]
		if cell.Mark == view.None || slices.Index(markOrder, run.Mark) < slices.Index(markOrder, cell.Mark) {
			cell.Mark = run.Mark
		}
		cell.ChangeCount += len(run.Appeared) + len(run.Gone) + len(run.Changed)
	}
	return list
}

// A comparison holds the differences between the ends of two days.
type comparison struct {
	From, To    string
	UnknownDate string // the day of which nothing is known
	watch.Difference
	More int // changes that do not fit
}

// Unchanged reports whether nothing differs.
func (c *comparison) Unchanged() bool { return !hasChanges(c.Difference) && len(c.Facts) == 0 }

// compareDays compares the days that the address of the page names.
func (d *dashboard) compareDays(r *http.Request, watched watch.Watch) (*comparison, error) {
	query := r.URL.Query()
	c := &comparison{From: query.Get("from"), To: query.Get("to")}
	if c.From == "" || c.To == "" {
		return nil, nil
	}
	var snapshots [2]*watch.Snapshot
	for i, name := range []string{c.From, c.To} {
		begin, err := time.Parse(time.DateOnly, name)
		if err != nil {
			return nil, metering.ErrNotFound
		}
		end := begin.AddDate(0, 0, 1).Add(-time.Microsecond)
		snapshots[i], err = d.Watches.At(r.Context(), watched.Account, watched.ID, end)
		if errors.Is(err, metering.ErrNotFound) {
			c.UnknownDate = name
			return c, nil
		}
		if err != nil {
			return nil, err
		}
	}
	c.Difference = watch.Diff(snapshots[0], snapshots[1])
	isServer := func(f watch.Fact) bool { return f.Label == "server" } // and how fast it answered
	c.Facts = slices.DeleteFunc(c.Facts, isServer)
	findings, records, facts := maxDayFindings, maxDayRecords, maxDayFindings
	c.More = boundDifference(&c.Difference, &findings, &records) + bound(&c.Facts, &facts)
	return c, nil
}

// allChecks returns all checks of a domain, whatever its watch makes of them, and their maximum cost.
func allChecks(watched watch.Watch) (t target.Target, price int64, err error) {
	t, err = target.Parse(watched.Domain)
	for _, c := range t.Checks(target.Options{}) {
		_, most := c.Price()
		price += most
	}
	return t, price, err
}

// runWatch makes the checks of a watch now.
func (d *dashboard) runWatch(r *http.Request) (string, error) {
	watched, err := d.requestedWatch(r)
	if err == nil {
		_, err = d.Watches.RunNow(r.Context(), watched.Account, watched.ID)
	}
	return domainPath(watched.Domain), err
}

// checkDomain runs all checks of a domain now, once for each token, and leads to the result.
func (d *dashboard) checkDomain(r *http.Request) (string, error) {
	watched, err := d.requestedWatch(r)
	if err != nil {
		return "", err
	}
	t, _, err := allChecks(watched)
	if err != nil {
		return "", err
	}
	return d.checkOnce(r, domainPath(watched.Domain), watched.Domain, t)
}

// checkOnce runs all checks of a domain, once for each token, and leads to the page of the result.
func (d *dashboard) checkOnce(r *http.Request, path, domain string, t target.Target) (string, error) {
	return d.runOnce(r, path, func(ctx context.Context, account metering.AccountID) *run {
		started := &run{Domain: domain, Path: path, At: d.now()}
		key, err := d.admin().ServiceKey(ctx, account, actor)
		if err == nil {
			call := func(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error) {
				answer, err := d.API.Ask(ctx, key.ID, ep, body)
				if err != nil {
					return nil, err
				}
				return &answer.Result, nil
			}
			report := target.Run(ctx, t, target.Options{}, call, nil)
			if err = report.Err(); err == nil {
				started.View, started.Credits = report.View(), report.Credits
				started.Foot = started.View.Foot
			}
		}
		return d.finish(started, err)
	})
}

// setDomain changes the settings of a watch.
func (d *dashboard) setDomain(r *http.Request) (string, error) {
	watched, err := d.requestedWatch(r)
	if err != nil {
		return "", err
	}
	_, err = d.Watches.Set(r.Context(), watched.Account, watched.ID, func(s *watch.Settings) {
		chosen := parseSettings(r)
		if chosen.Budget == watched.Budget {
			chosen.Budget = s.Budget // which may be 0: then it follows the cost of the runs
		}
		*s = chosen
	})
	return domainPath(watched.Domain), err
}

// removeDomain ends a watch.
func (d *dashboard) removeDomain(r *http.Request) (string, error) {
	watched, err := d.requestedWatch(r)
	if err == nil {
		err = d.Watches.Remove(r.Context(), watched.Account, watched.ID)
	}
	return "/dashboard", err
}
