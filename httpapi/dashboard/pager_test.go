package dashboard

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	hostedmemory "github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// manyKeys gives an account keys that were created one after the other, of which every tenth is revoked.
func (h *fixture) manyKeys(account metering.AccountID, n int) (list []metering.Key) {
	h.t.Helper()
	for i := range n {
		k := metering.Key{
			ID: metering.KeyID(fmt.Sprintf("key_%026d", i)), Account: account, Name: fmt.Sprintf("Customer %d", i),
			Environment: metering.Live, Scopes: metering.Scopes(), Hash: sha256Of(fmt.Sprint(account, i)),
			DisplayPrefix: fmt.Sprintf("svc_live_%08d", i), CreatedAt: h.clock().Add(time.Duration(i-n) * time.Second),
		}
		if i%10 == 0 {
			k.RevokedAt, k.RevokedReason = new(h.clock()), metering.RevokedManual
		}
		list = append(list, k)
	}
	require.NoError(h.t, h.store.PutKeys(h.t.Context(), list...))
	return list
}

// Of many keys a page shows some: active ones first, the newest first, searched by name and by state.
func TestManyKeys(t *testing.T) {
	h := newFixture(t)
	keys := h.manyKeys(h.account.ID, 350) // of which 35 are revoked
	h.charge(h.account, keys[349], "req_1", "dns/lookup", 5)
	b := h.owner()
	names := func(p *reply) (names []string) {
		for _, a := range p.Find("table.responsive tbody th a").EachIter() {
			names = append(names, strings.TrimPrefix(a.Text(), "Customer "))
		}
		return names
	}
	first := b.get("/dashboard/keys")
	wellFormed(t, "the first page", first)
	require.Len(t, names(first), longRowsPageSize)
	assert.Equal(t, []string{"349", "348", "347"}, names(first)[:3])
	assert.Equal(t, "350 keys, active first", first.words("caption"))
	assert.Equal(t, "Showing 1–50 of 350. Page 1 of 7 Next", first.words("nav.pages"))
	assert.Equal(t, "5 credits in the last 24 hours", first.Find("svg.chart").AttrOr("aria-label", ""))
	assert.Contains(t, first.words("#state"), "active (315) rotating (0) expired (0) revoked (35)")

	var all []string
	for page := first; ; {
		all = append(all, names(page)...)
		next, more := page.Find("nav.pages a[rel=next]").Attr("href")
		if !more {
			break
		}
		page = b.get(next)
	}
	require.Len(t, all, 350, "each once")
	assert.Equal(t, []string{"341", "339"}, all[8:10])
	assert.Equal(t, []string{"1", "340", "330"}, all[314:317], "those that work, and then the others")
	seen := map[string]bool{}
	for _, name := range all {
		require.False(t, seen[name], name)
		seen[name] = true
	}

	for query, want := range map[string]string{
		"q=customer+34":                       "11 of 350 keys",
		"q=customer+34&state=active":          "10 of 350 keys",
		"q=SVC_live_00000017":                 "1 of 350 keys",
		"q=key_00000000000000000000000018":    "1 of 350 keys",
		"state=revoked":                       "35 of 350 keys",
		"state=odd":                           "350 keys, active first",
		"page=99":                             "350 keys, active first",
		"page=-1":                             "350 keys, active first",
		"q=customer&state=active&page=7":      "315 of 350 keys",
		"q=customer+1&state=revoked&page=two": "11 of 350 keys",
	} {
		assert.Equal(t, want, b.get("/dashboard/keys?"+query).words("caption"), query)
	}
	last := b.get("/dashboard/keys?q=customer&state=active&page=7")
	assert.Len(t, names(last), 15)
	before := last.Find("nav.pages a[rel=prev]").AttrOr("href", "")
	assert.Equal(t, "/dashboard/keys?page=6&q=customer&state=active", before, "filters are in the address")
	assert.Equal(t, "customer", last.Find("#q").AttrOr("value", ""))
	none := b.get("/dashboard/keys?q=%3Cscript%3E")
	wellFormed(t, "no key", none)
	assert.Contains(t, none.words(".empty"), "No keys match")
	assert.Equal(t, 0, h.as("owner@example.net").get("/dashboard/keys").Find("#q").Length(), "where there are none")
}

// Requests are shown some at a time, each once, also where several ended at one instant.
func TestManyRequests(t *testing.T) {
	h := newFixture(t)
	keys := h.manyKeys(h.account.ID, pageSize+2)
	const many = 12*maxActivityRows + 25
	for i := range many {
		if i%7 == 0 {
			h.advance(time.Second)
		}
		h.charge(h.account, keys[1+i%9], fmt.Sprint("req_", i), "dns/lookup", 1)
		if i >= many-100 { // the process remembers the newest, a moment later
			h.dash.Activity.Observe(httpapi.Observation{
				At: h.clock().Add(time.Millisecond), RequestID: fmt.Sprint("req_", i), Account: h.account.ID, Key: keys[1].ID,
				Endpoint: "dns/lookup", Code: "OK", Credits: 1,
			})
		}
	}
	b := h.owner()
	seen := map[string]bool{}
	pages := 0
	for page := b.get("/dashboard/activity"); ; pages++ {
		wellFormed(t, "a page of requests", page)
		rows := page.Find(".requests .code code")
		require.LessOrEqual(t, rows.Length(), maxActivityRows)
		for _, row := range rows.EachIter() {
			require.False(t, seen[row.Text()], row.Text())
			seen[row.Text()] = true
		}
		assert.NotContains(t, page.words(".requests summary"), "key_", "keys have their names")
		assert.Less(t, len(page.body), 60<<10)
		older, more := page.Find("nav.pages a[rel=next]").Attr("href")
		if !more {
			break
		}
		page = b.get(older)
	}
	require.Len(t, seen, many)
	require.Equal(t, many/maxActivityRows, pages, "after the first")

	assert.Equal(t, 1, b.get("/dashboard/activity").Find("input#key").Length(), "more keys than one chooses from")
	key := string(keys[5].ID)
	found := b.get("/dashboard/activity?key=" + key)
	assert.Equal(t, key, found.Find("#key").AttrOr("value", ""))
	assert.Equal(t, maxActivityRows, found.Find(".requests li").Length())
	assert.Contains(t, found.Find("nav.pages a[rel=next]").AttrOr("href", ""), "key="+key, "links carry the filters")
	assert.Equal(t, http.StatusNotFound, b.send("GET", "/dashboard/activity?older=yesterday", nil).status)
	sums := b.get("/dashboard/usage")
	assert.Equal(t, 9, sums.Find(`tbody th a[href*="key=key_"]`).Length())
}

// Keys with charges are listed some at a time, those that were charged most first.
func TestManyChargedKeys(t *testing.T) {
	h := newFixture(t)
	for i, k := range h.manyKeys(h.account.ID, 2*pageSize+50) {
		h.charge(h.account, k, fmt.Sprint("req_", i), "dns/lookup", int64(i+1))
	}
	b := h.owner()
	for page, want := range map[int][2]string{1: {"Customer 249 250", "Customer 150 151"}, 3: {"Customer 49 50", "Customer 0 1"}} {
		p := b.get(fmt.Sprint("/dashboard/usage?month=2026-11&show=keys&page=", page))
		wellFormed(t, "usage", p)
		assert.Less(t, len(p.body), 60<<10)
		rows := p.Find(`tbody tr:has(th a[href*="key=key_"])`)
		require.Equal(t, map[int]int{1: pageSize, 3: 50}[page], rows.Length())
		assert.Contains(t, strings.Join(strings.Fields(spaced(rows.First().Html())), " "), want[0])
		assert.Contains(t, strings.Join(strings.Fields(spaced(rows.Last().Html())), " "), want[1])
	}
	h.advance(time.Hour) // and later charges are added
	h.charge(h.account, metering.Key{ID: "key_00000000000000000000000000", Account: h.account.ID}, "req_late", "dns/lookup", 1000)
	first := b.get("/dashboard/usage")
	assert.Contains(t, first.words("tbody"), "Customer 0 1,001 2 0 Customer 249")
	assert.Equal(t, topRows, first.Find(`tbody tr:has(th a[href*="key=key_"])`).Length())
	assert.Contains(t, first.words("main"), "Show all keys (240 more)")
	all := b.get(first.Find(`a:contains("Show all keys")`).AttrOr("href", ""))
	assert.Contains(t, all.words("nav.pages"), "of 250")
}

// spaced is the text of a row, with a space where a tag is.
func spaced(markup string, err error) string {
	var b strings.Builder
	for i, part := range strings.Split(markup, "<") {
		_, text, _ := strings.Cut(part, ">")
		if i == 0 {
			text = part
		}
		b.WriteString(" " + text)
	}
	if err != nil {
		panic(err)
	}
	return b.String()
}

// The file of a month has the rows of each day in one place, also where a charge is committed after some of the next day;
// and it is cut off where it cannot be read to its end.
func TestUsageFile(t *testing.T) {
	var store *cutStore
	h := newFixture(t, func(c *Config) {
		store = &cutStore{Store: c.Store}
		c.Store = store
	})
	key := h.manyKeys(h.account.ID, 2)[1]
	midnight := startTime.Truncate(24 * time.Hour).Add(24 * time.Hour)
	for i, after := range []time.Duration{-9 * time.Hour, -time.Second, time.Second, -time.Millisecond, time.Hour + time.Second,
		3 * time.Hour, -2 * time.Second} {
		h.advance(midnight.Add(after).Sub(h.clock()))
		h.charge(h.account, key, fmt.Sprint("req_", i), "dns/lookup", 1<<i)
	}
	h.advance(5 * time.Hour)
	b := h.owner()
	rows := strings.Split(b.get("/dashboard/usage.csv").body, "\r\n")
	id := string(key.ID)
	row := "," + id + ",Customer 1,POST /public/v1/dns/lookup,"
	assert.Equal(t, []string{"day,key,key_name,endpoint,credits,charges_count", "2026-11-16" + row + "11,3",
		"2026-11-16" + row + "64,1", "2026-11-17" + row + "52,3", ""}, rows)

	store.cut = true
	assert.PanicsWithValue(t, http.ErrAbortHandler, func() { b.send("GET", "/dashboard/usage.csv", nil) })
	assert.Contains(t, h.log.String(), "usage.csv")
}

// A cutStore can read no ledger to its end.
type cutStore struct {
	metering.Store
	cut bool
}

func (s *cutStore) Entries(ctx context.Context, f metering.EntryFilter) iter.Seq2[metering.Entry, error] {
	if !s.cut {
		return s.Store.Entries(ctx, f)
	}
	return func(yield func(metering.Entry, error) bool) {
		for e := range s.Store.Entries(ctx, f) {
			if !yield(e, nil) {
				return
			}
		}
		yield(metering.Entry{}, metering.ErrUnavailable)
	}
}

// Reading on in a list that is cut at instants shows all of it, each row once.
func TestOlder(t *testing.T) {
	h, own, _ := newSeededFixture(t)
	h.multiply(own.ID, "delivery", 120)
	for range 250 {
		h.advance(time.Second)
		require.NoError(t, metering.Audited(t.Context(), h.store, metering.Act{Account: own.ID, At: h.clock(), What: "key create"},
			func(context.Context) error { return nil }))
	}
	b := h.owner()
	for path, want := range map[string]int{
		"/dashboard/log": 251, "/dashboard/channels": 121,
		"/dashboard/channels/" + own.ids["/dashboard/channels/"]: 121,
	} {
		rows, times := 0, map[string]bool{}
		page := b.get(path)
		require.Equal(t, 0, page.Find(`nav.pages a:contains("Newest")`).Length(), path)
		for more := true; more; {
			wellFormed(t, path, page)
			for _, row := range page.Find(`th[scope=row]:has(time)`).EachIter() {
				rows++
				times[row.Find("a").AttrOr("href", fmt.Sprint(rows))] = true
			}
			var next string
			if next, more = page.Find("nav.pages a[rel=next]").Attr("href"); more {
				page = b.get(next)
				require.Equal(t, path, page.Find(`nav.pages a:contains("Newest")`).AttrOr("href", ""))
			}
		}
		assert.Equal(t, want, rows, path)
		assert.Len(t, times, want, path)
		assert.Equal(t, http.StatusNotFound, b.send("GET", path+"?before=x", nil).status, path)
	}
}

// listReads bounds the rows read by pages that need more than they show: they sort or count lists with a bound of
// their own, named by the constants next to them.
var listReads = map[string]int64{
	"/dashboard":                 3_000, // watches: an account has at most 10,000
	"/dashboard/domains":         3_000, // likewise
	"/dashboard/domains.csv":     3_000,
	"/dashboard/domains/preview": 3_000,
	"/dashboard/members":         1_000,               // an account has at most 200
	"/dashboard/sessions":        1_000,               // a member has at most 50
	"/dashboard/billing":         1_000,               // invoices, one a month, and their changes
	"/dashboard/spf":             1_000,               // keys of profiles
	"/dashboard/usage":           1_000,               // sums are read once
	"/dashboard/usage.csv":       10_000,              // is a file of all that is charged
	"/dashboard/activity.csv":    2 * maxActivityFile, // is a file of so many requests
}

// No page of a large account reads or shows more than some hundred rows, however much there is.
func TestLargeAccount(t *testing.T) {
	var store *counted
	h, own, _ := newSeededFixture(t, func(c *Config) {
		store = &counted{Store: c.Store}
		c.Store = store
		c.HostedSPF = hostedmemory.New(hostedmemory.Config{Clock: c.Clock})
		c.Watches = watch.New(watch.Config{Store: c.Store, Clock: c.Clock})
	})
	ctx := t.Context()
	const many = 2_500
	keys := h.manyKeys(own.ID, many)
	for i := range many {
		h.charge(own.Account, keys[i], fmt.Sprint("req_l", i), fmt.Sprintf("operation/%d", i%60), 1)
	}
	for i := range 150 {
		email := fmt.Sprintf("member%d@example.org", i)
		_, err := h.people.Add(ctx, own.ID, email, member.Viewer)
		require.NoError(t, err)
		for range 3 {
			_, _, err = h.people.Begin(ctx, own.ID, email, "198.51.100.7")
			require.NoError(t, err)
		}
	}
	for i := range 300 {
		domain := fmt.Sprintf("customer-%d.example", i)
		require.NoError(t, h.dash.HostedSPF.Create(ctx, hostedspf.Profile{
			ID: fmt.Sprintf("spf_%026d", i), Owner: hostedspf.Owner(keys[i].ID), Domain: diag.MustDomain(domain),
			IncludeHost: diag.MustName(fmt.Sprintf("s%d.spf.example.net", i)), Status: hostedspf.Active, CreatedAt: h.clock(),
		}))
	}
	_, err := h.dash.Watches.Create(ctx, watch.Request{Account: own.ID, Domain: "first.example"})
	require.NoError(t, err)
	for kind, n := range map[string]int{"watch": 1_000, "delivery": 1_000, "invoice": 300, "invoice_note": 300, "act": 500} {
		h.multiply(own.ID, kind, n)
	}

	b := h.owner()
	b.get("/dashboard/usage") // which sums up the charges once
	walked := 0
	for p := range h.administration() {
		if p.method != "GET" || p.role == "" {
			continue
		}
		path, _ := own.path(p.pattern)
		for _, query := range []string{"", "?page=2", "?q=customer&state=active"} {
			store.reads.Store(0)
			store.rows.Store(0)
			page := b.get(path + query)
			most, known := listReads[p.pattern]
			if !known {
				most = 1_000
			}
			assert.LessOrEqual(t, store.rows.Load(), most, "rows read for %s", path+query)
			assert.LessOrEqual(t, store.reads.Load(), int64(24), "reads of the store for %s", path+query)
			if !strings.HasSuffix(p.pattern, ".csv") {
				assert.Less(t, len(page.body), 300<<10, "bytes of %s", path+query)
				if slices.Contains([]string{"/dashboard/activity", "/dashboard/usage", "/dashboard/keys", "/dashboard/log",
					"/dashboard/channels", "/dashboard/members", "/dashboard/sessions"}, p.pattern) {
					assert.Less(t, len(page.body), 60<<10, "bytes of %s", path+query)
				}
				for _, table := range page.Find("table").EachIter() {
					assert.LessOrEqual(t, table.Find("tbody tr").Length(), 2*pageSize, path+query)
				}
			}
			walked++
		}
	}
	require.Greater(t, walked, 40)
	for path, want := range map[string]int{
		"/dashboard/keys": longRowsPageSize, "/dashboard/members": pageSize, "/dashboard/sessions": longRowsPageSize, "/dashboard/spf": pageSize,
		"/dashboard": domainsPageSize, "/dashboard/log": logPageSize,
		"/dashboard/channels": 1 + deliveriesPageSize, // and the channel
		"/dashboard/billing":  2 * pageSize,           // invoices, and the newest notes
	} {
		page := b.get(path)
		assert.Equal(t, want, page.Find("table.responsive tbody tr").Length(), path)
		assert.Equal(t, 1, page.Find("nav.pages a[rel=next]").Length(), path)
	}
}

// multiply copies a record of an account under other names.
func (h *fixture) multiply(account metering.AccountID, kind string, n int) {
	h.t.Helper()
	ctx := h.t.Context()
	var copies []metering.Record
	for one, err := range h.store.Records(ctx, metering.RecordFilter{Kind: kind, Account: account, Limit: 1}) {
		require.NoError(h.t, err)
		for i := range n {
			r := one
			r.ID, r.Version, r.At = fmt.Sprintf("%s.%d", one.ID, i+2), 0, one.At.Add(time.Duration(i)*time.Second)
			copies = append(copies, r)
		}
	}
	require.NotEmpty(h.t, copies, kind)
	for len(copies) > 0 {
		group := copies[:min(len(copies), metering.MaxRecordsPut)]
		require.NoError(h.t, h.store.PutRecords(ctx, group...))
		copies = copies[len(group):]
	}
}
