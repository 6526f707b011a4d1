package dashboard

import (
	"context"
	"errors"
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
	Now     *watch.Snapshot
	Days    []day
	Events  []watch.Run // that changed something, the newest first
	Changes *comparison // of two days; nil where none were chosen
	Form    choices
	Price   int64 // of a check now, at most
}

// says describes a finding in words.
func (d *dashboard) says(f watch.Finding) string {
	return d.Watches.Title(f.Code) +
		view.If(f.Target != "", " ("+render.Printable(strings.TrimSuffix(f.Target, "."))+")")
}

// daysShown is how many days the strip has: a quarter of a year.
const daysShown = 91

// mostEvents bounds the events that a page shows.
const mostEvents = 20

// watched is the watch that the path names, or [metering.ErrNotFound].
func (d *dashboard) watched(r *http.Request) (watch.Watch, error) {
	name, err := diag.ParseDomain(r.PathValue("domain"))
	if err != nil {
		return watch.Watch{}, metering.ErrNotFound
	}
	return d.Watches.Get(r.Context(), visitorOf(r).Account.ID, watch.ID(name))
}

// showDomain shows a watched domain.
func (d *dashboard) showDomain(r *http.Request) (any, error) {
	one, err := d.watched(r)
	if err != nil {
		return nil, err
	}
	sceneOf(r).title = render.Printable(domainName(&one))
	shown := &domainPage{Watch: &one}
	if _, _, shown.Price, err = checksNow(one); err != nil {
		return nil, err
	}
	account, today := visitorOf(r).Account.ID, d.now().Truncate(24*time.Hour)
	first := today.AddDate(0, 0, 1-daysShown)
	var runs []watch.Run
	err = together(
		func() (err error) { shown.Now, err = d.Watches.Now(r.Context(), account, one.ID); return err },
		func() (err error) { runs, err = d.Watches.History(r.Context(), account, one.ID, first); return err },
		func() (err error) { shown.Form, err = d.choices(r, one.Settings); return err },
		func() (err error) { shown.Changes, err = d.comparison(r, one); return err },
		func() (err error) {
			shown.outcome, err = d.outcomeOf(r, operation{}, func(k *run) bool { return k.Domain == one.Domain })
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	shown.Days = daysOf(runs, first, today)
	for _, run := range runs {
		if something(run.Difference) && len(shown.Events) < mostEvents {
			shown.Events = append(shown.Events, run)
		}
	}
	return shown, nil
}

func something(d watch.Difference) bool { return len(d.Appeared)+len(d.Gone)+len(d.Changed) > 0 }

// A day is a cell of the strip.
type day struct {
	At      time.Time
	Mark    view.Mark // of the worst run; none on days without a run
	Changes int       // findings and records
}

// Date names the day.
func (d day) Date() string { return d.At.Format(time.DateOnly) }

// Before names the day before.
func (d day) Before() string { return d.At.AddDate(0, 0, -1).Format(time.DateOnly) }

// Words describes the content of the cell.
func (d day) Words() string {
	if d.Mark == view.None {
		return d.Date() + ": not looked at"
	}
	return d.Date() + ": " + string(d.Mark) + view.If(d.Changes > 0, ", "+diag.Count(d.Changes, "change"))
}

// daysOf puts runs, the newest first, into the days from one to another.
func daysOf(runs []watch.Run, first, last time.Time) (list []day) {
	for at := first; !at.After(last); at = at.AddDate(0, 0, 1) {
		list = append(list, day{At: at})
	}
	for _, run := range runs {
		i := int(run.At.Sub(first) / (24 * time.Hour))
		if run.At.Before(first) || i >= len(list) {
			continue
		}
		one := &list[i]
		if one.Mark == view.None || slices.Index(worstFirst, run.Mark) < slices.Index(worstFirst, one.Mark) {
			one.Mark = run.Mark
		}
		one.Changes += len(run.Appeared) + len(run.Gone) + len(run.Changed)
	}
	return list
}

// A comparison holds the differences between the ends of two days.
type comparison struct {
	From, To string
	Unknown  string // the day of which nothing is known
	watch.Difference
}

// Same reports whether nothing differs.
func (c *comparison) Same() bool { return !something(c.Difference) && len(c.Facts) == 0 }

// comparison compares the days that the address of the page names.
func (d *dashboard) comparison(r *http.Request, one watch.Watch) (*comparison, error) {
	query := r.URL.Query()
	c := &comparison{From: query.Get("from"), To: query.Get("to")}
	if c.From == "" || c.To == "" {
		return nil, nil
	}
	var known [2]*watch.Snapshot
	for i, name := range []string{c.From, c.To} {
		begin, err := time.Parse(time.DateOnly, name)
		if err != nil {
			return nil, metering.ErrNotFound
		}
		known[i], err = d.Watches.At(r.Context(), one.Account, one.ID, begin.AddDate(0, 0, 1).Add(-time.Microsecond))
		if errors.Is(err, metering.ErrNotFound) {
			c.Unknown = name
			return c, nil
		}
		if err != nil {
			return nil, err
		}
	}
	c.Difference = watch.Diff(known[0], known[1])
	asked := func(f watch.Fact) bool { return f.Label == "server" } // and how fast it answered
	c.Facts = slices.DeleteFunc(c.Facts, asked)
	return c, nil
}

// checksNow returns the checks of a watch's groups, or all if it has operations instead, and their maximum cost.
func checksNow(one watch.Watch) (t target.Target, o target.Options, price int64, err error) {
	t, err = target.Parse(one.Domain)
	o.Only = slices.DeleteFunc(slices.Clone(one.Checks), func(name string) bool { return strings.Contains(name, "/") })
	for _, c := range t.Checks(o) {
		_, most := c.Price()
		price += most
	}
	return t, o, price, err
}

// checkDomain runs all checks of a domain now, once for each token, and leads to the result.
func (d *dashboard) checkDomain(r *http.Request) (string, error) {
	one, err := d.watched(r)
	if err != nil {
		return "", err
	}
	t, o, _, err := checksNow(one)
	if err != nil {
		return "", err
	}
	return d.once(r, domainPath(one.Domain), func(ctx context.Context, account metering.AccountID) *run {
		kept := &run{Domain: one.Domain, At: d.now()}
		key, err := d.admin().ServiceKey(ctx, account, actor)
		if err == nil {
			ask := func(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error) {
				answer, err := d.API.Ask(ctx, key.ID, ep, body)
				if err != nil {
					return nil, err
				}
				return &answer.Result, nil
			}
			whole := target.Run(ctx, t, o, ask, nil)
			if err = whole.Err(); err == nil {
				kept.View, kept.Credits = whole.View(), whole.Credits
				kept.Foot = kept.View.Foot
			}
		}
		return d.ended(kept, err)
	})
}

// setDomain changes the settings of a watch.
func (d *dashboard) setDomain(r *http.Request) (string, error) {
	one, err := d.watched(r)
	if err != nil {
		return "", err
	}
	_, err = d.Watches.Set(r.Context(), one.Account, one.ID, func(s *watch.Settings) {
		chosen := settings(r)
		if chosen.Budget == one.Budget {
			chosen.Budget = s.Budget // which may be 0: then it follows the cost of the runs
		}
		*s = chosen
	})
	return domainPath(one.Domain), err
}

// removeDomain ends a watch.
func (d *dashboard) removeDomain(r *http.Request) (string, error) {
	one, err := d.watched(r)
	if err == nil {
		err = d.Watches.Remove(r.Context(), one.Account, one.ID)
	}
	return "/dashboard", err
}
