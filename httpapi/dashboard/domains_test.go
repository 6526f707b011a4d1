package dashboard

import (
	"encoding/csv"
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
	form := b.get("/dashboard").Find(`.columns[action="/dashboard/domains"]`)
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
	b.submit(b.get("/dashboard").Find(".quick"), "domain", "bücher.example")
	h.runWatches()
	list := b.get("/dashboard")
	var names []string
	for _, a := range list.Find("table.domains tbody th a").EachIter() {
		names = append(names, a.Text())
	}
	require.Len(t, names, 3)
	assert.Contains(t, names, "bücher.example")
	assert.Contains(t, list.words(".credits"), "credits left this month")
	assert.Contains(t, list.words("table.domains"), "in 61 days certificate")
	assert.Contains(t, list.words("table.domains"), "good.example ✔ No problems found")

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

// testWatches are watched domains with known states.
func testWatches(h *fixture) {
	ctx, now := h.t.Context(), h.clock()
	for name, s := range map[string]watch.Summary{
		"alpha.example": {Mark: view.Critical, Worst: "tls.certificate.expired", Counts: watch.Counts{Critical: 1, Warning: 2},
			Areas: []watch.Area{watch.MailArea, watch.TLSArea}, LastRun: now.Add(-time.Hour), Changed: now.Add(-48 * time.Hour),
			Change: "worse: Certificate has expired", Coverage: watch.Coverage{Answered: 17, All: 18}},
		"beta.example": {Mark: view.Error, Worst: "spf.lookups.exceeded", Counts: watch.Counts{Error: 2},
			Areas: []watch.Area{watch.MailArea}, LastRun: now.Add(-3 * time.Hour), Expires: now.AddDate(0, 0, 9), Expiry: "registration"},
		"gamma.example": {Mark: view.Warning, Worst: "dmarc.policy.none", Counts: watch.Counts{Warning: 1},
			Areas: []watch.Area{watch.MailArea}, LastRun: now.Add(-2 * time.Hour), Expires: now.AddDate(0, 1, 0), Expiry: "certificate",
			Changed: now.Add(-time.Hour), Change: "=HYPERLINK(1)"},
		"delta.example":   {Mark: view.Unknown, Unknown: 1, LastRun: now.Add(-4 * time.Hour)},
		"epsilon.example": {Mark: view.Good, LastRun: now.Add(-5 * time.Hour), Reason: watch.NoCredits},
		"zeta.example":    {},
		"eta.example": {Mark: view.Critical, LastRun: now.Add(-6 * time.Hour), Reason: watch.NoDomain,
			Areas: []watch.Area{watch.DNSArea}},
	} {
		one, err := h.dash.Watches.Create(ctx, watch.Request{Account: h.account.ID, Domain: name})
		require.NoError(h.t, err)
		h.editRecord(h.account.ID, "watch", one.ID, s)
	}
}

// The list is filtered by text, state and area, and sorted; filters compose, stand in the address, and survive others.
func TestDomainFilters(t *testing.T) {
	h := newFixture(t, withWatches)
	testWatches(h)
	b := h.owner()
	shown := func(p *reply) string {
		var names []string
		for _, a := range p.Find("table.domains tbody th a").EachIter() {
			names = append(names, strings.TrimSuffix(a.Text(), ".example"))
		}
		return strings.Join(names, " ")
	}
	for query, want := range map[string]string{
		"":                                   "alpha eta beta gamma delta zeta epsilon",
		"sort=-worst":                        "epsilon zeta delta gamma beta eta alpha",
		"sort=name":                          "alpha beta delta epsilon eta gamma zeta",
		"sort=-name":                         "zeta gamma eta epsilon delta beta alpha",
		"sort=change":                        "gamma alpha beta delta epsilon eta zeta",
		"sort=-change":                       "alpha gamma beta delta epsilon eta zeta",
		"sort=expiry":                        "beta gamma alpha delta epsilon eta zeta",
		"sort=-expiry":                       "gamma beta alpha delta epsilon eta zeta",
		"sort=checked":                       "alpha gamma beta delta epsilon eta zeta",
		"sort=-checked":                      "eta epsilon delta beta gamma alpha zeta",
		"sort=nothing":                       "alpha eta beta gamma delta zeta epsilon",
		"state=problem":                      "alpha eta beta",
		"state=warning":                      "gamma",
		"state=unknown":                      "delta",
		"state=good":                         "epsilon",
		"state=new":                          "zeta",
		"state=paused":                       "epsilon",
		"state=ended":                        "eta",
		"state=nothing":                      "alpha eta beta gamma delta zeta epsilon",
		"area=mail":                          "alpha beta gamma",
		"area=tls":                           "alpha",
		"area=nothing&state=problem":         "alpha eta beta",
		"area=mail&state=problem&sort=-name": "beta alpha",
		"q=ETA&state=problem":                "eta beta",
		"q=nothing":                          "",
	} {
		assert.Equal(t, want, shown(b.get("/dashboard?"+query)), query)
	}

	page := b.get("/dashboard?q=a&area=mail&state=problem&sort=-name")
	wellFormed(t, "filtered", page)
	links := map[string]string{}
	for _, a := range page.Find(".tabs a").EachIter() {
		links[a.Text()] = a.AttrOr("href", "")
	}
	assert.Equal(t, map[string]string{"All 3": "/dashboard?area=mail&q=a&sort=-name",
		"Problems 2": "/dashboard?area=mail&q=a&sort=-name&state=problem",
		"Warnings 1": "/dashboard?area=mail&q=a&sort=-name&state=warning"}, links)
	assert.Equal(t, "Problems 2", page.words(".tabs [aria-current]"))
	assert.Equal(t, "any area Mail (2) DNS (1) TLS certificate (1)", page.words("#area"))
	assert.Equal(t, "2 of 7 domains", page.words("caption"))
	heading := func(title string) *goquery.Selection {
		return page.Find("thead th").FilterFunction(func(_ int, s *goquery.Selection) bool { return s.Text() == title })
	}
	assert.Equal(t, "descending", heading("Domain").AttrOr("aria-sort", ""))
	assert.Equal(t, "/dashboard?area=mail&q=a&sort=name&state=problem", heading("Domain").Find("a").AttrOr("href", ""))
	assert.Empty(t, heading("Status").AttrOr("aria-sort", ""))
	assert.Equal(t, "/dashboard?area=mail&q=a&state=problem", heading("Status").Find("a").AttrOr("href", ""))
	assert.Equal(t, "problem", page.Find(`.filter input[name="state"]`).AttrOr("value", ""))

	all := b.get("/dashboard")
	wellFormed(t, "all", all)
	assert.Equal(t, "All 7 Problems 3 Warnings 1 Unknown 1 Good 1 First check pending 1 Paused 1 Gone or unreachable 1",
		all.words(".tabs"))
	row := all.words("table.domains tbody tr:first-child")
	assert.Equal(t, "alpha.example ✖ Certificate of the host has expired 1 critical, 2 warnings · 17 of 18 checks "+
		"worse: Certificate has expired 2 days ago – 1 hour ago next now", row)
	assert.Contains(t, all.words("table.domains"), "eta.example ✖ The domain does not exist")
	assert.Contains(t, all.words("table.domains"), "zeta.example First check within a few minutes")
	assert.Contains(t, all.words("table.domains"), "epsilon.example paused: the account does not have enough credits")

	h.multiply(h.account.ID, "watch", 60)
	paged := b.get("/dashboard?q=example&state=problem&sort=name&page=1&notice=x&added=0")
	next := paged.Find("nav.pages a[rel=next]")
	assert.Equal(t, "/dashboard?page=2&q=example&sort=name&state=problem", next.AttrOr("href", paged.words(".tabs")))
}

// The file has the domains that the filter selects, and no formulas.
func TestDomainsFile(t *testing.T) {
	h := newFixture(t, withWatches)
	testWatches(h)
	b := h.as("viewer@example.com")
	page := b.get("/dashboard?area=mail&sort=name")
	file := b.get(page.Find(`a[href^="/dashboard/domains.csv"]`).AttrOr("href", ""))
	assert.Equal(t, `attachment; filename="domains-2026-11-16.csv"`, file.header.Get("Content-Disposition"))
	rows, err := csv.NewReader(strings.NewReader(file.body)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 4)
	assert.Equal(t, domainColumns, rows[0])
	assert.Equal(t, []string{"alpha.example", "", "problem", "Certificate of the host has expired", "mail tls", "1", "0", "2", "17", "18", "",
		"worse: Certificate has expired", "2026-11-14T10:30:00Z", "", "", "2026-11-16T09:30:00Z", "2026-11-16T10:30:00Z"}, rows[1])
	assert.Equal(t, "'=HYPERLINK(1)", rows[3][11])
	assert.Equal(t, []string{"alpha.example", "beta.example", "gamma.example"}, splitEntries(file.body), "the form takes it")
	strange := h.as("owner@example.net").get("/dashboard/domains.csv")
	assert.Equal(t, strings.Join(domainColumns, ",")+"\r\n", strange.body)
}

// The page of a domain shows the current state, what changed on which day, and the result of a check now; from that a
// link is made for each recipient who can fix something.
func TestDomain(t *testing.T) {
	h := newFixture(t, withDemoWorld(t), withWatches)
	b := h.owner()
	page := b.add("plain.example")
	wellFormed(t, "new", page)
	assert.Contains(t, page.words(".notice"), "First check within a few minutes")
	require.Equal(t, historyDays, page.Find("ol.days li").Length())
	h.runWatches()
	page = b.get("/dashboard/domains/plain.example")
	wellFormed(t, "known", page)
	last := page.Find("ol.days li .day").Last()
	assert.Equal(t, "day error", last.AttrOr("class", ""))
	assert.Contains(t, last.Text(), "2026-11-16: error")
	assert.NotEmpty(t, page.words("table.records"))
	days := b.get("/dashboard/domains/plain.example?from=2026-11-15&to=2026-11-16")
	assert.Contains(t, days.words("#changes"), "No data for 2026-11-15")

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
		assert.Equal(t, domain, wrong.Find("#domain").Text())
	}
	require.Equal(t, http.StatusUnprocessableEntity, b.submit(page.Find(`form[action$="/remove"]`)).status)
	removed := b.submit(page.Find(`form[action$="/remove"]`), "sure", "yes")
	assert.Contains(t, removed.header.Get("Location"), "watch-remove")
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
	changes := page.words("#changes")
	assert.Contains(t, changes, "Resolved No SPF record")
	assert.Contains(t, changes, "SPF of plain.example "+record)
	assert.NotContains(t, changes, "resolver")
	last := page.Find("ol.days li a").Last()
	assert.Contains(t, last.Text(), "change")
	for _, day := range []string{"", last.AttrOr("href", "")} { // the newest that has changes is open
		open := h.owner().get("/dashboard/domains/plain.example" + strings.TrimSuffix(day, "#day"))
		assert.Contains(t, open.words("#day"), "SPF of plain.example "+record)
		assert.Contains(t, open.words("#day h3"), "2026-11-18")
	}
	assert.Contains(t, h.owner().get("/dashboard/domains/plain.example?day=2026-11-17").words("#day"), "No changes")
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
		{with(func(*watch.Summary) {}), "No problems found", ""}, // of a run before it was counted
		{with(func(s *watch.Summary) { s.Answered, s.All = 1, 18 }), "No problems found", "1 of 18 checks"},
		{with(func(s *watch.Summary) { s.Answered, s.All, s.Nothing, s.Siteless = 1, 18, true, true }),
			"No website: nothing was checked", "1 of 18 checks"},
		{with(func(s *watch.Summary) { s.Answered, s.All, s.Nothing = 1, 18, true }),
			"Nothing was checked", "1 of 18 checks"},
		{with(func(s *watch.Summary) { s.Answered, s.All, s.Unknown = 1, 18, 1 }),
			"1 check without an answer", "1 of 18 checks"},
		{with(func(s *watch.Summary) { s.Answered, s.All, s.Mark = 18, 18, view.Unknown }),
			"Not known yet: a result is being confirmed", "18 of 18 checks"}, // of a domain that may not exist
		{with(func(s *watch.Summary) { s.Answered, s.All, s.Worst = 1, 18, "spf.all.pass" }), watch.Title("spf.all.pass"),
			"1 of 18 checks"},
	} {
		assert.Equal(t, tt.wrong, d.summary(tt.watch))
		assert.Equal(t, tt.covered, coverage(tt.watch))
	}
}
