package dashboard

import (
	"context"
	"errors"
	"github.com/diagkit/diagkit/diag/phrase"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
)

// A domainPage is a watched domain: its state, what has changed, and what to do.
type domainPage struct {
	*watch.Watch
	outcome
	Current  *watch.Snapshot
	Days     []day
	Events   []watch.Run // that changed something, the newest first
	Changes  *comparison // of two days; nil where none were chosen
	Form     watchOptions
	MaxPrice int64 // of a check now, at most
}

// findingTitle describes a finding in words.
func (d *dashboard) findingTitle(f watch.Finding) string {
	return d.Watches.Title(f.Code) +
		view.TextIf(f.Target != "", " ("+render.Printable(strings.TrimSuffix(f.Target, "."))+")")
}

// historyDays is how many days the strip has: a quarter of a year.
const historyDays = 91

// maxEvents bounds the events that a page shows.
const maxEvents = 20

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
	page := &domainPage{Watch: &watched}
	if _, _, page.MaxPrice, err = checkPlan(watched); err != nil {
		return nil, err
	}
	account, today := sessionOf(r).Account.ID, d.now().Truncate(24*time.Hour)
	first := today.AddDate(0, 0, 1-historyDays)
	var runs []watch.Run
	err = runParallel(
		func() (err error) { page.Current, err = d.Watches.Now(r.Context(), account, watched.ID); return err },
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
	page.Days = groupByDay(runs, first, today)
	for _, run := range runs {
		if hasChanges(run.Difference) && len(page.Events) < maxEvents {
			page.Events = append(page.Events, run)
		}
	}
	return page, nil
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

// PreviousDate names the day before.
func (d day) PreviousDate() string { return d.At.AddDate(0, 0, -1).Format(time.DateOnly) }

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
	return c, nil
}

// checkPlan returns the checks of a watch's groups, or all if it has operations instead, and their maximum cost.
func checkPlan(watched watch.Watch) (t target.Target, o target.Options, price int64, err error) {
	t, err = target.Parse(watched.Domain)
	o.Only = slices.DeleteFunc(slices.Clone(watched.Checks), func(name string) bool { return strings.Contains(name, "/") })
	for _, c := range t.Checks(o) {
		_, most := c.Price()
		price += most
	}
	return t, o, price, err
}

// checkDomain runs all checks of a domain now, once for each token, and leads to the result.
func (d *dashboard) checkDomain(r *http.Request) (string, error) {
	watched, err := d.requestedWatch(r)
	if err != nil {
		return "", err
	}
	t, o, _, err := checkPlan(watched)
	if err != nil {
		return "", err
	}
	return d.checkOnce(r, domainPath(watched.Domain), watched.Domain, t, o)
}

// checkOnce runs checks of a domain, once for each token, and leads to the page of the result.
func (d *dashboard) checkOnce(r *http.Request, path, domain string, t target.Target, o target.Options) (string, error) {
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
			report := target.Run(ctx, t, o, call, nil)
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
