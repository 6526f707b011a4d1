package dashboard

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withWatches is a change of a fixture that runs the checks of its domains when the test asks for it.
func withWatches(c *Config) {
	c.Watches = watch.New(watch.Config{Store: c.Store, Plans: c.Plans, Clock: c.Clock, Log: c.Log})
}

// runWatches runs all watches that are due.
func (h *fixture) runWatches() {
	h.t.Helper()
	h.dash.Watches.Ask = h.dash.API.Ask
	require.NoError(h.t, h.dash.Watches.Flush(h.t.Context()))
}

// add watches a domain by the form, and returns the page to which that leads.
func (b *browser) add(domain string, fields ...string) *reply {
	b.t.Helper()
	form := b.get("/dashboard").Find(`form[action="/dashboard/domains"]`)
	p := b.submit(form, append([]string{"domain", domain}, fields...)...)
	require.Equal(b.t, http.StatusSeeOther, p.status, p.words("main"))
	return b.get(p.header.Get("Location"))
}

// Domains are listed the worst first, with their faults and expiries.
func TestDomains(t *testing.T) {
	h := newFixture(t, withDemoWorld(t), withWatches)
	b := h.owner()
	empty := b.get("/dashboard")
	assert.Contains(t, empty.words(".empty"), "No domains yet")
	require.Equal(t, 0, h.as("viewer@example.com").get("/dashboard").Find("main form").Length())

	page := b.add("good.example")
	assert.Contains(t, page.words(".notice"), "Domain added")
	b.add("plain.example", "every", "1h0m0s")
	b.add("bücher.example")
	h.runWatches()
	list := b.get("/dashboard")
	var names []string
	for _, a := range list.Find("table.domains tbody th a").EachIter() {
		names = append(names, a.Text())
	}
	require.Len(t, names, 3)
	assert.Contains(t, names, "bücher.example")
	assert.Contains(t, list.words(".credits"), "credits left this month")
	assert.Contains(t, list.words("table.domains"), "certificate 2027-01-16")
	assert.Contains(t, list.words("table.domains"), "good.example ✔ no problems found")

	found := b.get("/dashboard?q=BÜCH")
	assert.Equal(t, 1, found.Find("table.domains tbody tr").Length())
	none := b.get("/dashboard?q=" + "%3Cscript%3E")
	assert.Contains(t, none.words(".empty"), "No domains match")
	wellFormed(t, "list", list)

	strange := h.as("owner@example.net")
	require.Equal(t, 0, strange.get("/dashboard").Find("table.domains").Length())
	for _, path := range []string{"", "?from=2026-11-01&to=2026-11-16"} {
		require.Equal(t, http.StatusNotFound, strange.send(http.MethodGet, "/dashboard/domains/good.example"+path, nil).status)
	}
	for _, path := range []string{"/check", "/settings", "/remove"} {
		require.Equal(t, http.StatusNotFound, strange.post("/dashboard/domains/good.example"+path, "token", member.NewToken()).status)
		require.Equal(t, http.StatusForbidden, h.as("viewer@example.com").post("/dashboard/domains/good.example"+path).status)
	}
	require.Equal(t, http.StatusForbidden, h.as("viewer@example.com").post("/dashboard/domains", "domain", "x.example").status)
	for _, name := range []string{"nobody.example", "%3Cscript%3E", "..", "a%0d%0ab.example"} {
		require.GreaterOrEqual(t, b.send(http.MethodGet, "/dashboard/domains/"+name, nil).status, 300, name)
	}
}

// The page of a domain shows the current state, what changed on which day, and the result of a check now; from that a
// link is made for each recipient who can fix something.
func TestDomain(t *testing.T) {
	h := newFixture(t, withDemoWorld(t), withWatches)
	b := h.owner()
	page := b.add("plain.example")
	wellFormed(t, "new", page)
	assert.Contains(t, page.words(".lead"), "first check within a few minutes")
	require.Equal(t, historyDays, page.Find("ol.days li").Length())
	h.runWatches()
	page = b.get("/dashboard/domains/plain.example")
	wellFormed(t, "known", page)
	last := page.Find("ol.days li a").Last()
	assert.Equal(t, "day error", last.AttrOr("class", ""))
	assert.Contains(t, last.Text(), "2026-11-16: error")
	assert.NotEmpty(t, page.words("table.records"))
	day := b.get("/dashboard/domains/plain.example" + last.AttrOr("href", ""))
	assert.Contains(t, day.words("#changes+.empty"), "No data for 2026-11-15")

	spent := h.used()
	form := page.Find(`form[action$="/check"]`)
	sent, again := b.submit(form), b.submit(form)
	require.Equal(t, http.StatusSeeOther, sent.status, sent.words("main"))
	require.Equal(t, sent.header.Get("Location"), again.header.Get("Location"))
	found := b.get(sent.header.Get("Location"))
	wellFormed(t, "checked", found)
	assert.Equal(t, 1, found.Find("section.view").Length())
	assert.Contains(t, found.words("section.view"), "of 14 checks")
	cost := h.used() - spent
	assert.Positive(t, cost)
	assert.Contains(t, found.words(".ran"), fmt.Sprintf("%d credits", cost))
	require.Equal(t, http.StatusNotFound, h.as("owner@example.net").send(http.MethodGet, sent.header.Get("Location"), nil).status)

	shares := found.Find(`section.result form[action="/dashboard/shares"]`)
	require.Equal(t, 3, shares.Length())
	for i, want := range []string{"MAIL", "v=DMARC1; p=none", "What to change on the servers"} {
		made := b.submit(shares.Eq(i))
		link := b.get(made.header.Get("Location")).Find("#shared a").AttrOr("href", "")
		public := h.browser().get(strings.TrimPrefix(link, h.dash.PublicURL))
		wellFormed(t, want, public)
		assert.Contains(t, public.words("main"), want)
		assert.Equal(t, i == 0, public.Find(".drawing").Length() == 1)
		assert.NotContains(t, public.words("main"), "credit")
	}
}

func (h *fixture) used() int64 {
	balance, err := h.store.Balance(h.t.Context(), h.account.ID, metering.PeriodOf(h.clock()))
	require.NoError(h.t, err)
	return balance.Used
}

// The settings of a watch are chosen by a form, whose faults are shown next to the fields.
func TestDomainSettings(t *testing.T) {
	h := newFixture(t, withDemoWorld(t), withWatches)
	b := h.owner()
	page := b.add("plain.example")
	const path = "/dashboard/domains/plain.example"
	settings := func() *goquery.Selection { return b.get(path).Find(`form[action$="/settings"]`) }
	require.Equal(t, http.StatusSeeOther, b.submit(settings(), "every", "1h0m0s").status)
	one := func() watch.Watch {
		list, err := h.dash.Watches.List(t.Context(), h.account.ID)
		require.NoError(t, err)
		require.Len(t, list, 1)
		return list[0]
	}
	assert.Equal(t, time.Hour, one().Every)
	first := one().Budget
	require.Equal(t, http.StatusSeeOther, b.submit(settings(), "every", "24h0m0s").status)
	assert.Less(t, one().Budget, first, "who chose no budget has one that fits")
	require.Equal(t, http.StatusSeeOther, b.submit(settings(), "budget", "5000").status)
	assert.Equal(t, int64(5000), one().Budget)

	for field, value := range map[string]string{"every": "1s", "budget": "1", "checks": "nothing", "channels": "chn_of_others"} {
		wrong := b.submit(settings(), field, value)
		require.Equal(t, http.StatusUnprocessableEntity, wrong.status, field)
		wellFormed(t, field, wrong)
		assert.NotEmpty(t, wrong.words("#"+field+"-fault"), field)
	}
	for domain, reason := range map[string]string{"plain.example": "watched already", "a..b": "", "<script>": ""} {
		wrong := b.post("/dashboard/domains", "domain", domain, "every", "24h0m0s")
		require.Equal(t, http.StatusUnprocessableEntity, wrong.status, domain)
		assert.Contains(t, wrong.words("#domain-fault"), reason, domain)
		assert.Equal(t, domain, wrong.Find("#domain").AttrOr("value", ""))
	}
	assert.Contains(t, b.submit(page.Find(`form[action$="/remove"]`)).header.Get("Location"), "watch-remove")
	assert.Equal(t, http.StatusNotFound, b.send(http.MethodGet, path, nil).status)
}

// Two days are compared by the known states at their ends.
func TestComparison(t *testing.T) {
	world, err := internet.New(startTime)
	require.NoError(t, err)
	t.Cleanup(world.Close)
	h := newFixture(t, func(c *Config) { c.Env = world.Env() }, withWatches)
	b := h.owner()
	b.add("plain.example", "every", "24h0m0s")
	h.runWatches()
	const record = "v=spf1 <script>alert(1)</script> -all"
	world.Zone(`plain.example. TXT "` + record + `"` + "\n")
	h.advance(40 * time.Hour)
	for range 4 { // a change is reported once it was seen several times
		h.runWatches()
		h.advance(10 * time.Minute)
	}
	page := h.owner().get("/dashboard/domains/plain.example?from=2026-11-16&to=2026-11-18")
	wellFormed(t, "changed", page)
	changes := page.words("section[aria-labelledby=changes]")
	assert.Contains(t, changes, "Resolved No SPF record")
	assert.Contains(t, changes, "SPF of plain.example "+record)
	assert.NotContains(t, changes, "resolver")
	assert.Contains(t, page.words("section[aria-labelledby=events]"), "SPF of plain.example "+record)
	assert.Contains(t, page.Find("ol.days li a").Last().Text(), "change")
	for _, path := range []string{"?from=x&to=2026-11-17", "?from=2026-11-17&to=2026-13-01"} {
		require.Equal(t, http.StatusNotFound, h.owner().send(http.MethodGet, "/dashboard/domains/plain.example"+path, nil).status)
	}
}

// Days are cells: each shows its worst mark, or none if nothing was checked.
func TestDays(t *testing.T) {
	first := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	at := func(hours int) time.Time { return first.Add(time.Duration(hours) * time.Hour) }
	days := groupByDay([]watch.Run{
		{At: at(80), Mark: view.Good}, {At: at(30), Mark: view.Good}, {At: at(29), Mark: view.Error}, {At: at(26), Mark: view.Warning,
			Difference: watch.Difference{Gone: make([]watch.Finding, 2)}}, {At: at(-1), Mark: view.Critical},
	}, first, at(72))
	var words []string
	for _, d := range days {
		words = append(words, d.Label())
	}
	assert.Equal(t, []string{"2026-11-01: not checked", "2026-11-02: error, 2 changes", "2026-11-03: not checked",
		"2026-11-04: good"}, words)
	assert.Equal(t, "2026-11-01", days[1].PreviousDate())
}

// The page states how many checks a state is based on, and does not praise what was not examined.
func TestSummary(t *testing.T) {
	d := &dashboard{Config: Config{Watches: watch.New(watch.Config{Store: memory.New(memory.Config{})})}}
	ran := watch.Summary{LastRun: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)}
	with := func(change func(*watch.Summary)) *watch.Watch {
		w := &watch.Watch{Summary: ran}
		change(&w.Summary)
		return w
	}
	for _, tt := range []struct {
		watch          *watch.Watch
		wrong, covered string
	}{
		{&watch.Watch{}, "", ""},
		{with(func(*watch.Summary) {}), "no problems found", ""}, // of a run before it was counted
		{with(func(s *watch.Summary) { s.Answered, s.All = 1, 18 }), "no problems found", "1 of 18 checks"},
		{with(func(s *watch.Summary) { s.Answered, s.All, s.Nothing, s.Siteless = 1, 18, true, true }),
			"no website: nothing was checked", "1 of 18 checks"},
		{with(func(s *watch.Summary) { s.Answered, s.All, s.Nothing = 1, 18, true }),
			"nothing was checked", "1 of 18 checks"},
		{with(func(s *watch.Summary) { s.Answered, s.All, s.Unknown = 1, 18, 1 }),
			"1 check without an answer", "1 of 18 checks"},
		{with(func(s *watch.Summary) { s.Answered, s.All, s.Worst = 1, 18, "spf.all.pass" }), watch.Title("spf.all.pass"),
			"1 of 18 checks"},
	} {
		assert.Equal(t, tt.wrong, d.summary(tt.watch))
		assert.Equal(t, tt.covered, coverage(tt.watch))
	}
}
