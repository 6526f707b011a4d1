package dashboard

import (
	"encoding/csv"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
)

// The oldest requests of an account are forgotten, and the account that has been silent for the longest time.
func TestActivityIsBounded(t *testing.T) {
	begin := time.Date(2026, 11, 16, 10, 0, 0, 0, time.UTC)
	a := &Activity{}
	n := 0
	observe := func(account metering.AccountID) {
		a.Observe(httpapi.Observation{At: begin.Add(time.Duration(n) * time.Second), Account: account, RequestID: fmt.Sprint(n)})
		n++
	}
	list, since := a.Requests("first")
	require.Empty(t, list)
	require.Zero(t, since)
	for range maxAccountFailures {
		observe("first")
	}
	list, since = a.Requests("first")
	require.Len(t, list, maxAccountFailures)
	require.Equal(t, begin, since, "all that there was is remembered")
	for range maxAccountFailures + 1 {
		observe("first")
		list, since = a.Requests("first")
		require.Len(t, list, maxAccountFailures)
		require.Equal(t, fmt.Sprint(n-1), list[0].RequestID)
		require.Equal(t, fmt.Sprint(n-maxAccountFailures), list[maxAccountFailures-1].RequestID)
		require.Equal(t, list[maxAccountFailures-1].At, since)
		require.True(t, slices.IsSortedFunc(list, func(a, b httpapi.Observation) int { return b.At.Compare(a.At) }))
	}
	for i := range maxActivityAccounts - 1 {
		observe(metering.AccountID(fmt.Sprint(i)))
	}
	observe("first")
	observe("another")
	require.Len(t, a.accounts, maxActivityAccounts)
	for account, want := range map[metering.AccountID]int{"first": maxAccountFailures, "another": 1, "0": 0, "1": 1} {
		list, _ := a.Requests(account)
		require.Len(t, list, want, account)
	}
	evicted := begin.Add(time.Duration(n-1) * time.Second)
	for account, want := range map[metering.AccountID]time.Time{"another": evicted, "0": evicted, "1": begin} {
		_, since := a.Requests(account)
		require.Equal(t, want, since, "what was forgotten is not claimed to be known: %s", account)
	}
}

// Successes, of which the ledger knows, do not displace failures, and texts of failures are bounded.
func TestActivityKeepsFailures(t *testing.T) {
	a, at := &Activity{}, startTime
	observe := func(code, message string) {
		at = at.Add(time.Second)
		a.Observe(httpapi.Observation{At: at, Account: "one", Code: code, Message: message})
	}
	observe("INVALID_REQUEST", "is missing")
	for range 3 * maxAccountSuccesses {
		observe("OK", "")
	}
	list, since := a.Requests("one")
	require.Len(t, list, 1+maxAccountSuccesses)
	require.Equal(t, "is missing", list[maxAccountSuccesses].Message)
	require.Equal(t, startTime.Add(time.Second), since)

	long := strings.Repeat("a", 200)
	for range 3 * maxAccountFailures {
		observe("INVALID_REQUEST", long)
		size := 0
		list, _ := a.Requests("one")
		for _, o := range list {
			size += len(o.Field) + len(o.Message)
		}
		require.LessOrEqual(t, size, maxAccountTexts)
		require.Equal(t, size, a.accounts["one"].texts)
		require.Equal(t, long, list[0].Message, "the newest is kept")
	}
	list, _ = a.Requests("one")
	require.Len(t, list, maxAccountFailures+maxAccountSuccesses)
	require.True(t, slices.IsSortedFunc(list, func(a, b httpapi.Observation) int { return b.At.Compare(a.At) }))
}

// BenchmarkActivity remembers requests of one account.
func BenchmarkActivity(b *testing.B) {
	a := &Activity{}
	o := httpapi.Observation{At: time.Now(), Account: "acc_example", RequestID: "req_example", Code: "OK"}
	b.ReportAllocs()
	for b.Loop() {
		a.Observe(o)
	}
}

// failure remembers a failure of an account.
func (h *fixture) failure(account metering.AccountID, key metering.KeyID, o httpapi.Observation) {
	h.advance(time.Second)
	o.At, o.Account, o.Key = h.clock(), account, key
	h.dash.Activity.Observe(o)
}

// A row opens to what is known of the request, and what comes from it is escaped.
func TestActivityRow(t *testing.T) {
	h, own, _ := newSeededFixture(t)
	key := metering.KeyID(own.ids["/dashboard/keys/"])
	h.failure(own.ID, key, httpapi.Observation{RequestID: "req_1", Endpoint: "POST /public/v1/tls/scan", Status: 400,
		Code: "INVALID_REQUEST", Field: "ports[2]", Message: "must be from 1 to 65535 <b>\u202e", Duration: 3 * time.Millisecond,
		IP: netip.MustParseAddr("198.51.100.7")})
	page := h.owner().get("/dashboard/activity")
	wellFormed(t, "activity", page)
	row := ".requests li:nth-child(1) details"
	assert.Equal(t, 1, page.Find(row).Length())
	assert.Equal(t, 0, page.Find(row+"[open]").Length())
	assert.Equal(t, "16 Nov 10:30:01 tls/scan "+hostileName+" INVALID_REQUEST 0 credits 3 ms", page.words(row+" summary"))
	assert.Equal(t, `Field ports[2] Message must be from 1 to 65535 <b>\u202e Request POST /public/v1/tls/scan Key `+hostileName+
		" From 198.51.100.7 Request ID req_1 Copy", page.words(row+" dl"))
	assert.Contains(t, page.words("main"), "messages are kept with “…” in place of values")
	assert.Contains(t, page.words("main"), "by this server only, since")
}

// A part of an ID is searched as far as is cheap, and the page says how far that was.
func TestActivitySearch(t *testing.T) {
	h := newFixture(t)
	key := h.manyKeys(h.account.ID, 2)[1]
	id := func(i int) string { return fmt.Sprintf("req_%026d", i) }
	for i := range maxSearched + 300 {
		h.charge(h.account, key, id(i), "dns/lookup", 1)
		h.advance(time.Millisecond)
	}
	h.failure(h.account.ID, key.ID, httpapi.Observation{RequestID: "req_abcdefgh", Code: "INVALID_REQUEST"})
	b := h.owner()
	found := func(p *reply) (list []string) {
		for _, one := range p.Find(".requests .code code").EachIter() {
			list = append(list, one.Text())
		}
		return list
	}
	for query, want := range map[string][]string{
		"id=20299": {id(20299)}, "id=REQ_ABCD": {"req_abcdefgh"}, "id=cdef": {"req_abcdefgh"}, "id=" + id(7): {id(7)},
	} {
		p := b.get("/dashboard/activity?" + query)
		wellFormed(t, query, p)
		assert.Equal(t, want, found(p), query)
	}
	for _, query := range []string{"id=req_", "id=abc", "id=req_abc"} {
		assert.Contains(t, b.get("/dashboard/activity?"+query).words("#id-fault"), "at least 4 characters", query)
	}
	page := b.get("/dashboard/activity?id=000123&operation=lookup&range=24h")
	assert.Equal(t, maxActivityRows, len(found(page)), "as many as a page has: %v", page.words("nav.pages"))
	page = b.get("/dashboard/activity?range=24h&id=" + strings.TrimPrefix(id(123), "req_"))
	assert.Empty(t, found(page))
	assert.Contains(t, page.words("nav.pages"), "Searched back to 2026-11-16 10:30 UTC")
	on := page.Find("nav.pages a[rel=next]").AttrOr("href", "")
	assert.Contains(t, on, "range=24h")
	page = b.get(on)
	assert.Equal(t, []string{id(123)}, found(page))
	assert.NotContains(t, page.words("main"), "Searched back")
}

// A page of requests is small, also where all names and messages are as long as they can be.
func TestActivityPageSize(t *testing.T) {
	h := newFixture(t)
	var key metering.Key
	for range maxKeyChoices {
		var err error
		key, _, err = h.admin.CreateKey(t.Context(), metering.KeyRequest{Account: h.account.ID,
			Name: strings.Repeat(`"`, metering.MaxNameLength), Scopes: metering.Scopes(), Environment: metering.Live})
		require.NoError(t, err)
	}
	for i := range 2 * maxActivityRows {
		h.failure(h.account.ID, key.ID, httpapi.Observation{RequestID: fmt.Sprintf("req_%026d", i), Code: "IDEMPOTENCY_CONFLICT",
			Endpoint: "POST /public/v1/spf/hosted/{id}/resolve", Field: strings.Repeat("a", 64), Message: strings.Repeat("é", 100),
			IP: netip.MustParseAddr("2001:db8:1111:2222:3333:4444:5555:6666")})
	}
	b := h.owner()
	seen := map[string]bool{}
	for next, more := "/dashboard/activity", true; more; {
		p := b.get(next)
		assert.Less(t, len(p.body), 60<<10)
		for _, one := range p.Find(".requests .code code").EachIter() {
			require.False(t, seen[one.Text()])
			seen[one.Text()] = true
		}
		next, more = p.Find("nav.pages a[rel=next]").Attr("href")
	}
	assert.Len(t, seen, 2*maxActivityRows)
}

// The file has what the filters match, and no cell of it is a formula.
func TestActivityFile(t *testing.T) {
	h := newFixture(t)
	key, _, err := h.admin.CreateKey(t.Context(), metering.KeyRequest{Account: h.account.ID, Name: "=HYPERLINK(\"x\")",
		Scopes: metering.Scopes(), Environment: metering.Live})
	require.NoError(t, err)
	h.charge(h.account, key, "req_1", "dns/lookup", 2)
	h.failure(h.account.ID, key.ID, httpapi.Observation{RequestID: "req_2", Endpoint: "POST /public/v1/resolve", Status: 400,
		Code: "INVALID_REQUEST", Field: "domain", Message: "+1, that\nis", Duration: 5 * time.Millisecond,
		IP: netip.MustParseAddr("192.0.2.1")})
	b := h.owner()
	rows := func(query string) [][]string {
		p := b.get("/dashboard/activity.csv" + query)
		rows, err := csv.NewReader(strings.NewReader(p.body)).ReadAll()
		require.NoError(t, err)
		require.Equal(t, activityColumns, rows[0])
		return rows[1:]
	}
	charge := []string{"2026-11-16T10:30:00.000Z", "req_1", "POST /public/v1/dns/lookup", string(key.ID), `'=HYPERLINK("x")`,
		"OK", "", "2", "", "", "", ""}
	failure := []string{"2026-11-16T10:30:01.000Z", "req_2", "POST /public/v1/resolve", string(key.ID), `'=HYPERLINK("x")`,
		"INVALID_REQUEST", "400", "0", "5", "192.0.2.1", "domain", "'+1, that is"}
	assert.Equal(t, [][]string{failure, charge}, rows(""))
	assert.Equal(t, [][]string{charge}, rows("?code=ok&range=7d"))
	assert.Equal(t, [][]string{failure}, rows("?operation=resolve"))
	assert.Empty(t, rows("?key=key_other"))
	for _, row := range strings.Split(b.get("/dashboard/usage.csv").body, "\r\n")[1:] {
		assert.True(t, row == "" || strings.Contains(row, `"'=HYPERLINK(""x"")"`), row)
	}
}
