package dashboard

import (
	"cmp"
	"fmt"
	"github.com/diagkit/diagkit/diag/phrase"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/notify"
)

// A domainsPage is the list of watched domains.
type domainsPage struct {
	metering.Balance       // of the account
	Forecast         int64 // credits by the end of the month; 0 if unknown
	Currency         string
	domainFilter
	pager                  // of the filtered rows
	Rows    []*watch.Watch // of the page
	Total   int            // of the account
	States  linkList       // with the counts of what else the filter selects
	AreaSum map[watch.Area]int
	Form    watchOptions
	Added   *addition // the outcome of a submitted form; nil without one
}

// displayName is a watched domain as people write it.
func displayName(w *watch.Watch) string { return cmp.Or(w.Unicode, w.Domain) }

// markOrder is the order of marks in lists.
var markOrder = []view.Mark{
	view.Critical, view.Error, view.Warning, view.Unknown, view.None, view.Info, view.Good, view.Optional,
}

// markSymbols are symbols for marks, shown next to their words, never alone.
var markSymbols = map[view.Mark]string{
	view.Critical: "✖", view.Error: "✖", view.Warning: "▲", view.Unknown: "?", view.Info: "ℹ", view.Good: "✔",
	view.Optional: "–",
}

// summary describes in a few words the faults of a domain.
func (d *dashboard) summary(r *watch.Watch) string {
	switch {
	case r.LastRun.IsZero():
		return ""
	case r.State == watch.Ended:
		return phrase.Capitalize(reasonTexts[r.Reason])
	case r.Worst != "":
		return d.Watches.Title(r.Worst)
	case r.Unknown > 0:
		return phrase.Count(r.Unknown, "check") + " without an answer"
	case r.Mark == view.Unknown:
		return "Not known yet: a result is being confirmed"
	case r.Nothing && r.Siteless:
		return "No website: nothing was checked"
	case r.Nothing:
		return "Nothing was checked"
	}
	return "No problems found"
}

// coverage describes how many checks the state is based on.
func coverage(r *watch.Watch) string {
	return view.TextIf(r.All > 0, fmt.Sprintf("%d of %s", r.Answered, phrase.Count(r.All, "check")))
}

// severityCounts counts the faults of a domain.
func severityCounts(r *watch.Watch) string {
	n := r.Counts
	return view.List(view.TextIf(n.Critical > 0, strconv.Itoa(n.Critical)+" critical"),
		view.TextIf(n.Error > 0, phrase.Count(n.Error, "error")),
		view.TextIf(n.Warning > 0, phrase.Count(n.Warning, "warning")))
}

// reasonTexts describe the states of watches that need attention.
var reasonTexts = map[watch.Reason]string{
	watch.NoCredits: "paused: the account does not have enough credits",
	watch.NoBudget:  "paused: the monthly budget is used up",
	watch.NoKey:     "paused: the service key of watches was revoked", watch.Suspended: "paused: the account is suspended",
	watch.NoDomain: "the domain does not exist", watch.Lapsed: "the registration has ended",
	watch.Unreachable: "none of its name servers answers",
}

// stateText describes the state of the watch itself, if it needs attention.
func stateText(r *watch.Watch) string {
	switch r.State {
	case watch.Fresh:
		return "first check within a few minutes"
	case watch.Running:
		return "checking now"
	}
	return reasonTexts[r.Reason]
}

// domainsPageSize is how many rows a page of the list has: less than 60 KB of HTML.
const domainsPageSize = 50

// MaxAdded is how many domains the form takes.
func (*domainsPage) MaxAdded() int { return maxAdded }

// IsFormOpen reports whether the page begins with the form that adds domains.
func (p *domainsPage) IsFormOpen() bool { return p.Added != nil || p.Total == 0 }

// OrderText describes the order of the list.
func (p *domainsPage) OrderText() string {
	return p.Order.Title + view.TextIf(p.Reverse, ", reversed")
}

// showDomains lists the watched domains that a filter selects, the worst first unless it says otherwise.
func (d *dashboard) showDomains(r *http.Request) (any, error) {
	account, month := sessionOf(r).Account.ID, metering.PeriodOf(d.now())
	page := &domainsPage{domainFilter: parseDomainFilter(r.URL.Query()), Added: stateOf(r).added}
	stateOf(r).notice = additionNotice(r.URL.Query())
	var all []watch.Watch
	err := runParallel(
		func() (err error) { all, err = d.Watches.List(r.Context(), account); return err },
		func() (err error) { page.Balance, err = d.Store.Balance(r.Context(), account, month); return err },
		func() (err error) { page.Form, err = d.watchOptions(r, watch.Settings{}); return err },
	)
	if err != nil {
		return nil, err
	}
	page.Forecast, page.Currency = forecast(month, page.Used, d.now()), d.Plans.In(month)[page.Plan].Currency
	page.Total = len(all)
	selected := page.selectFrom(all)
	page.Rows, page.AreaSum, page.States = selected.rows, selected.areas, page.stateLinks(selected)
	page.pager, page.Rows = paginateBy(r, page.Rows, domainsPageSize)
	page.pager.query = page.values()
	return page, nil
}

// watchOptions are the options of a watch.
type watchOptions struct {
	Groups, Operations []string // checks
	Intervals          []interval
	Channels           []notify.Channel
}

// An interval is the time between runs, and what that costs at most with the checks that the form shows initially.
type interval struct {
	Every   time.Duration
	Credits int64 // a month, for one domain
}

// intervals are the times between runs that the form offers.
var intervals = []time.Duration{
	watch.MinEvery, 6 * time.Hour, 12 * time.Hour, watch.DefaultEvery, 72 * time.Hour, watch.MaxEvery,
}

// watchOptions returns those of an account, with the settings that the form shows initially.
func (d *dashboard) watchOptions(r *http.Request, current watch.Settings) (c watchOptions, err error) {
	for _, name := range d.Watches.Checks() {
		if strings.Contains(name, "/") {
			c.Operations = append(c.Operations, name)
		} else {
			c.Groups = append(c.Groups, name)
		}
	}
	current.Every = cmp.Or(current.Every, watch.DefaultEvery)
	choices := intervals
	if !slices.Contains(intervals, current.Every) { // it was chosen elsewhere
		choices = append(slices.Clone(intervals), current.Every)
	}
	if len(current.Checks) == 0 {
		current.Checks = c.Groups
	}
	checks := current.Checks
	if submitted := stateOf(r).form.Values["checks"]; len(submitted) > 0 {
		checks = submitted
	}
	for _, every := range choices {
		c.Intervals = append(c.Intervals,
			interval{every, d.Watches.MonthlyCost(watch.Settings{Checks: checks, Every: every})})
	}
	stateOf(r).form.SetDefaults(url.Values{"checks": current.Checks, "every": {current.Every.String()},
		"channels": current.Channels,
		"budget":   {view.TextIf(current.Budget > 0, strconv.FormatInt(current.Budget, 10))}})
	c.Channels, err = d.channels().List(r.Context(), sessionOf(r).Account.ID)
	return c, err
}

// parseSettings returns the values of a form. An invalid number is refused later, as out of bounds.
func parseSettings(r *http.Request) watch.Settings {
	every, err := time.ParseDuration(r.PostForm.Get("every"))
	if err != nil {
		every = -1
	}
	budget, err := strconv.ParseInt(cmp.Or(strings.TrimSpace(r.PostForm.Get("budget")), "0"), 10, 64)
	if err != nil || budget < 0 {
		budget = 1
	}
	return watch.Settings{Checks: r.PostForm["checks"], Every: every, Budget: budget, Channels: r.PostForm["channels"]}
}

func domainPath(domain string) string { return "/dashboard/domains/" + url.PathEscape(domain) }
