package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
)

// usageHistory is a fixture with charges of two keys in the last two months, and failures of today.
func usageHistory(t *testing.T) (h *fixture, keys []metering.Key) {
	h = newFixtureAt(t, startTime.AddDate(0, -1, 0))
	keys = h.manyKeys(h.account.ID, 3)[1:]
	n := 0
	for _, at := range []struct {
		ago       time.Duration
		key       int
		operation string
	}{
		{40 * 24 * time.Hour, 0, "dmarc/lookup"}, // last month alone
		{28 * 24 * time.Hour, 0, "spf/lookup"},   // within 30 days
		{6 * 24 * time.Hour, 1, "spf/lookup"},    // within 7 days
		{5 * time.Hour, 1, "resolve"},            // within 24 hours
		{time.Hour, 0, "spf/hosted/{id}/resolve"},
	} {
		when := startTime.Add(-at.ago)
		if when.Before(h.clock()) {
			when = h.clock()
		}
		h.advance(when.Sub(h.clock()))
		h.charge(h.account, keys[at.key], fmt.Sprintf("req_%026d", n), at.operation, 1<<n)
		n++
	}
	h.advance(startTime.Sub(h.clock()))
	for _, code := range []string{"INVALID_REQUEST", "INVALID_REQUEST", "RATE_LIMITED", "INTERNAL_ERROR"} {
		h.failure(h.account.ID, keys[0].ID, httpapi.Observation{Code: code, Endpoint: "POST /public/v1/resolve"})
	}
	h.failure(h.account.ID, keys[1].ID, httpapi.Observation{Code: "INVALID_REQUEST", Endpoint: "POST /public/v1/spf/lookup"})
	return h, keys
}

// Ranges and filters compose, and the page counts what all of them match: charges of the ledger and failures that are
// remembered.
func TestUsageFilters(t *testing.T) {
	h, keys := usageHistory(t)
	b := h.owner()
	first, second := "&key="+string(keys[0].ID), "&key="+string(keys[1].ID)
	for query, want := range map[string][2]string{ // requests and credits
		"month=2026-10":                        {"2 requests", "3 credits"},
		"":                                     {"8 requests", "28 credits"},
		"month=2026-11":                        {"8 requests", "28 credits"},
		"range=30d":                            {"9 requests", "30 credits"},
		"range=7d":                             {"8 requests", "28 credits"},
		"range=24h":                            {"7 requests", "24 credits"},
		"range=24h" + first:                    {"5 requests", "16 credits"},
		"range=24h" + second:                   {"2 requests", "8 credits"},
		"range=24h&operation=resolve":          {"5 requests", "8 credits"},
		"range=24h&operation=resolve" + second: {"1 request", "8 credits"},
		"range=24h&operation=hosted":           {"1 request", "16 credits"},
		"range=24h&code=ok":                    {"2 requests", "24 credits"},
		"range=24h&code=refused":               {"4 requests", ""},
		"range=24h&code=failed":                {"1 request", ""},
		"range=24h&code=invalid_request":       {"3 requests", ""},
		"range=24h&code=RATE_LIMITED" + first:  {"1 request", ""},
		"range=30d&operation=spf":              {"4 requests", "22 credits"},
		"range=30d&operation=spf/lookup":       {"3 requests", "6 credits"},
	} {
		for range 2 { // the second time from what is kept of the first
			p := b.get("/dashboard/usage?" + query)
			wellFormed(t, query, p)
			charts := p.Find("svg.bars")
			assert.Equal(t, want[0], charts.First().AttrOr("aria-label", ""), query)
			if want[1] != "" {
				assert.Equal(t, want[1], charts.Last().AttrOr("aria-label", ""), query)
			}
		}
		requests := b.get("/dashboard/activity?" + query).Find(".requests li").Length()
		assert.Equal(t, strings.Fields(want[0])[0], fmt.Sprint(requests), "the requests of %s", query)
	}
	for _, query := range []string{"range=24h&operation=none", "range=7d&key=key_none", "month=2026-11&code=NONE"} {
		p := b.get("/dashboard/usage?" + query)
		assert.Contains(t, p.words(".empty"), "No requests match these filters", query)
		assert.Equal(t, "Clear filters", p.words(".empty a"), query)
	}
	assert.Equal(t, http.StatusNotFound, b.send("GET", "/dashboard/usage?range=odd", nil).status)
}

// All links of the page carry what is chosen, and the form shows it.
func TestUsageLinks(t *testing.T) {
	h, keys := usageHistory(t)
	b := h.owner()
	for _, path := range []string{"/dashboard/usage", "/dashboard/activity"} {
		chosen := url.Values{"range": {"30d"}, "operation": {"spf/lookup"}, "key": {string(keys[1].ID)}, "code": {"refused"}}
		p := b.get(path + "?" + chosen.Encode())
		assert.Equal(t, "30 d", p.words("nav.tabs [aria-current]"))
		assert.Equal(t, "30d", p.Find("form.filter [name=range]").AttrOr("value", ""))
		assert.Equal(t, "spf/lookup", p.Find("#operation").AttrOr("value", ""))
		assert.Equal(t, "refused", p.Find("#code option[selected]").AttrOr("value", ""))
		assert.Equal(t, string(keys[1].ID), p.Find("#key option[selected]").AttrOr("value", ""))
		links := 0
		for _, a := range p.Find(`main a[href^="/dashboard/usage"], main a[href^="/dashboard/activity"]`).EachIter() {
			if a.Text() == "Clear filters" {
				assert.Equal(t, path+"?range=30d", a.AttrOr("href", ""))
				continue
			}
			links++
			u, err := url.Parse(a.AttrOr("href", ""))
			require.NoError(t, err)
			for name := range chosen {
				if name != "range" || a.Closest("nav.tabs").Length() == 0 {
					assert.NotEmpty(t, u.Query().Get(name), "%s: %s of %s", path, name, u)
				}
			}
		}
		assert.Greater(t, links, 5, path)
		tab := p.Find(`nav.tabs a:contains("24 h")`).AttrOr("href", "")
		assert.Equal(t, "24 h", b.get(tab).words("nav.tabs [aria-current]"))
		month := p.Find(`nav.tabs a:contains("November")`).AttrOr("href", "")
		assert.Equal(t, "2026-11", b.get(month).Find("#month option[selected]").Text())
	}
}

// Bars have titles, labels and classes; the same numbers are in a table; and the page says where they are from.
func TestUsageCharts(t *testing.T) {
	h, _ := usageHistory(t)
	b := h.owner()
	for query, bars := range map[string]int{"range=24h": 24, "range=7d": 28, "range=30d": 30, "month=2026-11": 16, "month=2026-10": 31} {
		p := b.get("/dashboard/usage?" + query)
		assert.Equal(t, bars, p.Find("svg.bars").First().Find("g title").Length(), query)
		assert.Equal(t, bars, p.Find("details tbody tr").Length(), query)
		assert.GreaterOrEqual(t, p.Find("svg.bars").First().Find("text").Length(), 3, query)
		assert.Less(t, len(p.body), 60<<10, query)
		assert.NotContains(t, p.body, " style=")
	}
	p := b.get("/dashboard/usage?range=24h")
	titles := p.Find("svg.bars").First().Find("g title")
	assert.Equal(t, "15 Nov, 11:00: 0 charged", titles.First().Text())
	assert.Equal(t, "16 Nov, 10:00: 0 charged, 4 refused, 1 failed", titles.Last().Text())
	assert.Contains(t, p.words("details tbody"), "16 Nov, 09:00 16 1 0 0 16 Nov, 10:00 0 0 4 1")
	assert.Contains(t, p.words("main"), "Charges come from the ledger and cover all servers. "+
		"Refused and failed requests are kept in memory by this server only, since 2026-11-16 10:30 UTC")
	assert.Contains(t, p.words("table"), "charged 2 24")
	assert.Contains(t, p.words("table"), "INVALID_REQUEST 3 0")
	assert.Contains(t, p.words("table"), "resolve 8 1 4")
}

// Of many operations the page has the first ten, and a view of its own has all.
func TestManyOperations(t *testing.T) {
	h := newFixture(t)
	key := h.manyKeys(h.account.ID, 2)[1]
	for i := range 60 {
		h.charge(h.account, key, fmt.Sprint("req_", i), fmt.Sprintf("operation/%d", i), int64(i+1))
	}
	b := h.owner()
	p := b.get("/dashboard/usage?range=7d")
	rows := `tbody th a[href*="operation=operation"]`
	assert.Equal(t, topRows, p.Find(rows).Length())
	assert.Equal(t, "operation/59", p.Find(rows).First().Text())
	assert.Contains(t, p.words("main"), "Show all operations (50 more)")
	all := b.get(p.Find(`a:contains("Show all operations")`).AttrOr("href", ""))
	assert.Equal(t, 60, all.Find(rows).Length())
	assert.Less(t, len(all.body), 60<<10)
	assert.Equal(t, "/dashboard/usage?range=7d", all.Find(`a:contains("Back to the overview")`).AttrOr("href", ""))
}

// The first rows of a table are those of the whole.
func TestUsageTable(t *testing.T) {
	charges, failures := map[string]metering.Total{}, map[string]usageCounts{}
	for i := range 200 {
		name := fmt.Sprint("row ", i)
		if i%3 > 0 {
			charges[name] = metering.Total{Credits: int64(i * 7919 % 50), Charges: 1}
		}
		if i%2 == 0 {
			failures[name] = usageCounts{Refused: int64(i % 5), Failed: 1}
		}
	}
	all := newTable(charges, failures, 0)
	require.Len(t, all.Rows, 167)
	require.Zero(t, all.More())
	require.EqualValues(t, 49, all.Max())
	for _, most := range []int{1, 2, topRows, 166, 167, 168} {
		first := newTable(charges, failures, most)
		require.Equal(t, all.Rows[:min(most, 167)], first.Rows, most)
		require.Equal(t, max(0, 167-most), first.More(), most)
	}
}

// An account keeps the sums of some selections, the last used; others are read anew, and those of other accounts stay.
func TestSumsAreBounded(t *testing.T) {
	var store *counted
	h := newFixture(t, func(c *Config) {
		store = &counted{Store: c.Store}
		c.Store = store
	})
	key := h.manyKeys(h.account.ID, 2)[1]
	h.charge(h.account, key, "req_1", "spf/lookup", 1)
	month := metering.PeriodOf(startTime)
	sum := func(account metering.AccountID, endpoint string) (total int64) {
		f := metering.EntryFilter{Account: account, Period: &month, Endpoint: endpoint}
		require.NoError(t, h.dash.withSums(t.Context(), f, func(s metering.Sums) { total = s.Keys[key.ID].Credits }))
		return total
	}
	sum(h.other.ID, "")
	for i := range 5 * maxAccountSums {
		require.Zero(t, sum(h.account.ID, fmt.Sprint("none", i)))
		require.EqualValues(t, 1, sum(h.account.ID, "spf"))
	}
	mine := h.dash.sumCache.accounts[h.account.ID].list
	require.Len(t, mine, maxAccountSums)
	require.Equal(t, "spf", mine[0].endpoint)
	require.Len(t, h.dash.sumCache.accounts[h.other.ID].list, 1)
	h.charge(h.account, key, "req_2", "spf/lookup", 2)
	require.EqualValues(t, 3, sum(h.account.ID, "spf"), "what was added since is read")
	require.EqualValues(t, 3, sum(h.account.ID, "spf"), "and once")
	h.dash.sumCache.addKeys(h.account.ID, h.dash.sumCache.accounts[h.account.ID], maxCachedKeys)
	require.Len(t, h.dash.sumCache.accounts, 1)
	require.Len(t, h.dash.sumCache.accounts[h.account.ID].list, 1)
	require.EqualValues(t, 3, sum(h.account.ID, "spf"))
}
