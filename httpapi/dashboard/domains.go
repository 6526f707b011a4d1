package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/notify"
)

// domainPages are those of the domains that the account watches.
func (d *dashboard) domainPages() []*page {
	const list, one = "/dashboard", "/dashboard/domains/{domain}"
	settings := []string{"domain", "checks", "every", "budget", "channels"}
	return []*page{
		{method: "GET", pattern: list, role: member.Viewer, title: "Domains", nav: "Domains", handle: d.showDomains},
		{method: "POST", pattern: "/dashboard/domains", role: member.Developer, title: "Domains", act: "watch add",
			fields: settings, handle: d.addDomain, again: d.showDomains},
		{method: "GET", pattern: one, role: member.Viewer, title: "Domain", handle: d.showDomain},
		{method: "POST", pattern: one + "/check", role: member.Developer, title: "Domain", quiet: []string{"token"},
			handle: d.checkDomain},
		{method: "POST", pattern: one + "/settings", role: member.Developer, title: "Domain", act: "watch set",
			fields: settings, handle: d.setDomain, again: d.showDomain},
		{method: "POST", pattern: one + "/remove", role: member.Developer, title: "Domain", act: "watch remove",
			handle: d.removeDomain},
	}
}

// onPage is how many domains a page of the list has.
const onPage = 100

// A domainsPage is the list of watched domains.
type domainsPage struct {
	Credits credits
	Rows    []domainRow
	Total   int    // of the account
	Found   int    // that the filter leaves
	Query   string // the filter
	Page    int    // from 1
	Pages   int
	Form    watchForm
}

// At is the address of another page of the list.
func (p *domainsPage) At(page int) string {
	return "/dashboard?" + url.Values{"q": {p.Query}, "page": {strconv.Itoa(page)}}.Encode()
}

// Before is the number of the page before; 0 where there is none.
func (p *domainsPage) Before() int { return p.Page - 1 }

// After is the number of the page after; 0 where there is none.
func (p *domainsPage) After() int { return (p.Page + 1) % (p.Pages + 1) }

// A domainRow is a watched domain in the list.
type domainRow struct{ *watch.Watch }

// Name is the domain as people write it.
func (r domainRow) Name() string { return cmp.Or(r.Unicode, r.Domain) }

// worstFirst is the order of marks in lists.
var worstFirst = []view.Mark{
	view.Critical, view.Error, view.Warning, view.Unknown, view.None, view.Info, view.Good, view.Optional,
}

// signs stand for marks beside their words, never alone.
var signs = map[view.Mark]string{
	view.Critical: "✖", view.Error: "✖", view.Warning: "▲", view.Unknown: "?", view.Info: "ℹ", view.Good: "✔",
	view.Optional: "–",
}

// Sign stands for how the domain is.
func (r domainRow) Sign() string { return signs[r.Mark] }

// Wrong says in a few words what is wrong.
func (r domainRow) Wrong() string {
	switch {
	case r.LastRun.IsZero():
		return ""
	case r.Worst != "":
		return watch.Title(r.Worst)
	case r.Unknown > 0:
		return diag.Count(r.Unknown, "check") + " without an answer"
	}
	return "nothing wrong was found"
}

// Counted says how much is wrong.
func (r domainRow) Counted() string {
	counted := func(n int, word string) string { return view.If(n > 0, diag.Count(n, word)) }
	return view.List(view.If(r.Counts.Critical > 0, decimal(int64(r.Counts.Critical))+" critical"),
		counted(r.Counts.Error, "error"), counted(r.Counts.Warning, "warning"))
}

// states are how watches stand, where that is remarkable.
var states = map[watch.Reason]string{
	watch.NoCredits: "waits: the account has too few credits left",
	watch.NoBudget:  "waits: its budget of the month is spent",
	watch.NoKey:     "waits: the key by which watches act was revoked", watch.Suspended: "waits: the account is suspended",
	watch.NoDomain: "the domain does not exist", watch.Lapsed: "the registration has ended",
	watch.Unreachable: "none of its name servers answers",
}

// Standing says how the watch itself is, where that is remarkable.
func (r domainRow) Standing() string {
	switch r.State {
	case watch.Fresh:
		return "is looked at for the first time within minutes"
	case watch.Running:
		return "is being looked at now"
	}
	return states[r.Reason]
}

// showDomains lists the watched domains, the worst first.
func (d *dashboard) showDomains(w http.ResponseWriter, r *http.Request) error {
	account, query := visitorOf(r).Account, r.URL.Query()
	shown := &domainsPage{Query: strings.TrimSpace(query.Get("q"))}
	var all []watch.Watch
	err := together(
		func() (err error) { all, err = d.Watches.List(r.Context(), account.ID); return err },
		func() (err error) { shown.Credits, err = d.credits(r.Context(), account); return err },
		func() (err error) {
			shown.Form, err = d.watchForm(r.Context(), account.ID, watch.Settings{})
			return err
		},
	)
	if err != nil {
		return err
	}
	shown.Total = len(all)
	wanted := strings.ToLower(shown.Query)
	shown.Rows = make([]domainRow, 0, len(all))
	for i := range all {
		if one := &all[i]; strings.Contains(one.Domain, wanted) || strings.Contains(one.Unicode, wanted) {
			shown.Rows = append(shown.Rows, domainRow{one})
		}
	}
	slices.SortFunc(shown.Rows, func(a, b domainRow) int {
		return cmp.Or(slices.Index(worstFirst, a.Mark)-slices.Index(worstFirst, b.Mark),
			b.Counts.Critical-a.Counts.Critical, b.Counts.Error-a.Counts.Error, b.Counts.Warning-a.Counts.Warning,
			strings.Compare(a.Domain, b.Domain))
	})
	shown.Found = len(shown.Rows)
	shown.Pages = max(1, (shown.Found+onPage-1)/onPage)
	number, _ := strconv.Atoi(query.Get("page")) // what is no number is the first
	shown.Page = min(max(1, number), shown.Pages)
	from := (shown.Page - 1) * onPage
	shown.Rows = shown.Rows[from:min(from+onPage, shown.Found)]
	return d.render(w, r, "domains", shown)
}

// A watchForm is what can be chosen for a watch, and what is chosen.
type watchForm struct {
	watch.Settings
	Groups     []string // of checks
	Operations []string
	Channels   []notify.Channel
}

// intervals are the times between runs that the form offers.
var intervals = []time.Duration{
	watch.MinEvery, 6 * time.Hour, 12 * time.Hour, watch.DefaultEvery, 72 * time.Hour, watch.MaxEvery,
}

// Intervals are what the form offers, and what was chosen elsewhere.
func (f watchForm) Intervals() []time.Duration {
	if f.Every == 0 || slices.Contains(intervals, f.Every) {
		return intervals
	}
	return append(slices.Clone(intervals), f.Every)
}

// Checked reports whether a check is chosen.
func (f watchForm) Checked(name string) bool { return slices.Contains(f.Checks, name) }

// Chosen reports whether the time between runs is chosen.
func (f watchForm) Chosen(every time.Duration) bool {
	return cmp.Or(f.Every, watch.DefaultEvery) == every
}

// Spends is the budget as it is typed; empty where none was chosen.
func (f watchForm) Spends() string { return view.If(f.Budget > 0, strconv.FormatInt(f.Budget, 10)) }

// Tells reports whether a channel is chosen.
func (f watchForm) Tells(id string) bool { return slices.Contains(f.Settings.Channels, id) }

// watchForm is the form for settings.
func (d *dashboard) watchForm(ctx context.Context, account metering.AccountID, s watch.Settings) (watchForm, error) {
	f := watchForm{Settings: s}
	for _, name := range watch.Checks() {
		if strings.Contains(name, "/") {
			f.Operations = append(f.Operations, name)
		} else {
			f.Groups = append(f.Groups, name)
		}
	}
	var err error
	f.Channels, err = notify.Channels{Store: d.Store, Plans: d.Plans, Clock: d.now}.List(ctx, account)
	return f, err
}

// settings are what a form says. What is no number is refused later, as out of bounds.
func settings(r *http.Request) watch.Settings {
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

// addDomain begins to watch a domain.
func (d *dashboard) addDomain(w http.ResponseWriter, r *http.Request) error {
	one, err := d.Watches.Create(r.Context(), watch.Request{
		Account: visitorOf(r).Account.ID, Domain: r.PostForm.Get("domain"), Settings: settings(r),
	})
	if err != nil {
		return err
	}
	d.see(w, r, domainPath(one.Domain), "watch-added")
	return nil
}

func domainPath(domain string) string { return "/dashboard/domains/" + url.PathEscape(domain) }

// credits are what an account has left this month.
type credits struct {
	metering.Balance
	Forecast int64 // by the end of the month, if it goes on as until now; 0 if nobody can say
	Budget   string
}

func (d *dashboard) credits(ctx context.Context, a metering.Account) (c credits, err error) {
	month := metering.PeriodOf(d.now())
	if c.Balance, err = d.Store.Balance(ctx, a.ID, month); err != nil {
		return c, err
	}
	c.Forecast = forecast(month, c.Used, d.now())
	switch {
	case !a.OverageEnabled:
		c.Budget = "no overage"
	case a.OverageBudgetCents == nil:
		c.Budget = "overage without a limit"
	default:
		c.Budget = "overage up to " + money(*a.OverageBudgetCents, d.Plans.In(month)[c.Plan].Currency)
	}
	return c, nil
}

// Short reports whether the credits will not last to the end of the month.
func (c credits) Short() bool { return c.Forecast > c.Limit }
