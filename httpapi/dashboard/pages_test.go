package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostileName is a name that would be markup if it were not escaped.
const hostileName = `<script>alert("1")</script> & 'Co'`

// accountData is an account with something of everything, and the ids of it by the pattern before the id.
type accountData struct {
	metering.Account
	ids map[string]string
}

// email is that of a viewer of the account.
func (l accountData) email() string { return string(l.ID) + "@example.org" }

// seed gives an account something of everything, under hostileName names.
func (h *fixture) seed(account metering.Account) accountData {
	ctx, t := h.t.Context(), h.t
	l := accountData{account, map[string]string{}}
	_, err := h.admin.SetAccount(ctx, account.ID, func(a *metering.Account) { a.Name = hostileName })
	require.NoError(t, err)
	key, _, err := h.admin.CreateKey(ctx, metering.KeyRequest{Account: account.ID, Name: hostileName, Scopes: metering.Scopes(),
		IPAllowlist: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	require.NoError(t, err)
	l.ids["/dashboard/keys/"] = string(key.ID)
	channels := notify.Channels{Store: h.store, Clock: h.clock}
	channel, _, err := channels.Create(ctx, notify.ChannelRequest{Account: account.ID, Name: hostileName, Kind: notify.Webhook,
		Target: "https://hooks.example.com/in?key=verysecret"})
	require.NoError(t, err)
	l.ids["/dashboard/channels/"] = channel.ID
	sent, err := channels.Test(ctx, account.ID, channel.ID)
	require.NoError(t, err)
	l.ids["/dashboard/deliveries/"] = sent.ID
	l.ids["/dashboard/billing/"] = "2026-10"
	one, err := h.people.Add(ctx, account.ID, l.email(), member.Viewer)
	require.NoError(t, err)
	l.ids["/dashboard/members/"] = one.ID()
	for i := range 3 {
		h.charge(account, key, fmt.Sprintf("req_%s%d", account.ID, i), "spf/lookup", 2)
	}
	require.NoError(t, metering.Audited(ctx, h.store, metering.Act{Account: account.ID, At: h.clock(), Who: hostileName,
		From: "192.0.2.1", What: "key rotate", Detail: "name=" + hostileName + "\r\nX-Injected: 1"}, func(context.Context) error { return nil }))
	return l
}

// charge settles a charge of a key for an operation of the API.
func (h *fixture) charge(account metering.Account, key metering.Key, request, endpoint string, credits int64) {
	ctx := h.t.Context()
	now := h.clock()
	endpoint = "POST " + httpapi.Prefix + "/" + endpoint
	caller := &metering.Caller{Key: &key, Account: &account, Plan: new(metering.DefaultPlans()[account.Plan])}
	begun, err := h.gate.Begin(ctx, caller, metering.Op{RequestID: request, Endpoint: endpoint, Credits: credits, Now: now})
	require.NoError(h.t, err)
	_, err = h.gate.Settle(ctx, *begun.Ticket, metering.Outcome{At: now})
	require.NoError(h.t, err)
}

// newSeededFixture returns a fixture whose two accounts have something of everything, and existed a month ago.
func newSeededFixture(t *testing.T, changes ...func(*Config)) (h *fixture, own, foreign accountData) {
	h = newFixtureAt(t, startTime.AddDate(0, -1, 0), append([]func(*Config){func(c *Config) { c.OwnersEditInvoices = true }}, changes...)...)
	ctx := t.Context()
	own, foreign = h.seed(h.account), h.seed(h.other)
	h.advance(startTime.Sub(h.clock()))
	_, err := billing.Billing{Store: h.store, Clock: h.clock}.Close(ctx, metering.Period{Year: 2026, Month: time.October})
	require.NoError(t, err)
	for _, l := range []accountData{own, foreign} {
		key, err := h.store.Key(ctx, metering.KeyID(l.ids["/dashboard/keys/"]))
		require.NoError(t, err)
		h.charge(l.Account, key, "req_now"+string(l.ID), "dns/lookup", 1)
		session, _, err := h.people.Begin(ctx, l.ID, l.email(), "198.51.100.7")
		require.NoError(t, err)
		l.ids["/dashboard/sessions/"] = session.ID
	}
	return h, own, foreign
}

// path is the path of a page with the ids of an account, and whether the pattern has an id of those.
func (l accountData) path(pattern string) (path string, named bool) {
	before, rest, ok := strings.Cut(pattern, "{")
	if !ok {
		return pattern, false
	}
	_, after, _ := strings.Cut(rest, "}")
	id, ok := l.ids[before]
	return before + cmp.Or(id, "none") + after, ok
}

// administration are the pages that these tests walk: all but those whose ids other tests make.
func (h *fixture) administration() iter.Seq2[*page, string] {
	return func(yield func(*page, string) bool) {
		own := accountData{ids: map[string]string{}}
		for _, p := range h.dash.pages {
			if strings.Contains(p.pattern, "{") {
				if before, _, _ := strings.Cut(p.pattern, "{"); !slices.Contains(idPages, before) {
					continue
				}
			}
			path, _ := own.path(p.pattern)
			if !yield(p, path) {
				return
			}
		}
	}
}

var idPages = []string{"/dashboard/keys/", "/dashboard/channels/", "/dashboard/deliveries/", "/dashboard/billing/",
	"/dashboard/members/", "/dashboard/sessions/"}

// Every page that can be reached from the navigation by links is well-formed, has the policy, and leads nowhere wrong.
func TestEveryPage(t *testing.T) {
	h, _, _ := newSeededFixture(t)
	b := h.owner()
	titles := map[string]string{}
	queue, seen := []string{"/dashboard", "/dashboard/keys?notice=key-create"}, map[string]bool{}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if seen[at] || strings.HasPrefix(at, "/docs") || strings.HasPrefix(at, "/dashboard/playground/") {
			continue
		}
		seen[at] = true
		page := b.get(at)
		if strings.HasSuffix(page.header.Get("Content-Type"), "header=present") { // a CSV file
			continue
		}
		if strings.HasPrefix(page.header.Get("Content-Type"), "text/html") {
			wellFormed(t, at, page)
			if path, _, _ := strings.Cut(at, "?"); titles[page.Find("title").Text()] == "" {
				titles[page.Find("title").Text()] = path
			} else {
				assert.Equal(t, titles[page.Find("title").Text()], path, "two pages have one title: %s", page.Find("title").Text())
			}
		}
		for _, link := range page.Find("a[href], link[href], img[src]").EachIter() {
			href := link.AttrOr("href", link.AttrOr("src", ""))
			u, err := url.Parse(href)
			require.NoError(t, err, href)
			require.Empty(t, u.Host, "%s leads to a foreign host", at)
			if u.Path == "" { // of this page
				assert.Equal(t, 1, page.Find(`[id="`+u.Fragment+`"]`).Length(), "%s: #%s", at, u.Fragment)
				continue
			}
			queue = append(queue, u.RequestURI())
		}
	}
	for p, path := range h.administration() {
		hidden := p.pattern == "/dashboard/enter" || p.pattern == "/dashboard/domains.csv" // of an account without domains
		if p.method == "GET" && !strings.Contains(p.pattern, "{") && !hidden {
			assert.True(t, seen[path] || seen[path+"?month=2026-11"], "no link leads to %s", path)
		}
	}
	assert.NotContains(t, h.log.String(), "level=ERROR")
}

var events = regexp.MustCompile(`(?i)^(on|style$)`)

// wellFormed checks what holds for every page.
func wellFormed(t *testing.T, at string, p *reply) {
	t.Helper()
	assert.Contains(t, p.header.Get("Content-Security-Policy"), "default-src 'none'", at)
	assert.NotContains(t, p.header.Get("Content-Security-Policy"), "unsafe", at)
	assert.Equal(t, "no-store", p.header.Get("Cache-Control"), at)
	assert.Equal(t, "nosniff", p.header.Get("X-Content-Type-Options"), at)
	assert.NotContains(t, p.body, "ZgotmplZ", at)
	assert.Equal(t, 0, p.Find(`script:not([src="/dashboard/script.js"]), style, iframe, object, embed, base`).Length(), at)
	assert.Equal(t, 1, p.Find("h1").Length(), "%s has one h1", at)
	assert.Equal(t, 1, p.Find("main").Length(), at)
	assert.NotEmpty(t, p.words("title"), at)
	ids := map[string]bool{}
	for _, e := range p.Find("*").EachIter() {
		for _, a := range e.Get(0).Attr {
			assert.NotRegexp(t, events, a.Key, "%s: <%s %s>", at, goquery.NodeName(e), a.Key)
			if a.Key == "id" {
				assert.False(t, ids[a.Val], "%s: two elements have the id %s", at, a.Val)
				ids[a.Val] = true
			}
		}
	}
	for _, field := range p.Find("input:not([type=hidden]), select, textarea").EachIter() {
		id := field.AttrOr("id", "")
		assert.Equal(t, 1, p.Find(`label[for="`+id+`"]`).Length()+field.Closest("label:not([for])").Length(),
			"%s: field %q has no label", at, id)
		if described, ok := field.Attr("aria-describedby"); ok {
			for id := range strings.FieldsSeq(described) {
				assert.True(t, ids[id], "%s: nothing has the id %s", at, id)
			}
		}
	}
	for _, button := range p.Find("button").EachIter() {
		assert.NotEmpty(t, strings.TrimSpace(button.Text()), "%s has a button without a name", at)
	}
	assert.Equal(t, 0, p.Find("th:not([scope])").Length(), "%s: a heading of a table says what it is for", at)
	level := 0
	for _, heading := range p.Find("main h1, main h2, main h3, main h4").EachIter() {
		next := int(goquery.NodeName(heading)[1] - '0')
		assert.LessOrEqual(t, next, level+1, "%s: heading %q skips a level", at, heading.Text())
		level = next
	}
}

// What belongs to another account is not found, whatever is done with it, and nothing is changed.
func TestForeignIDs(t *testing.T) {
	h, own, foreign := newSeededFixture(t)
	b := h.owner()
	count := 0
	for p := range h.administration() {
		theirs, named := foreign.path(p.pattern)
		ours, _ := own.path(p.pattern)
		if !named || theirs == ours { // invoices are named by their months alone
			continue
		}
		count++
		r := b.send(p.method, theirs, url.Values{"sure": {"yes"}, "grace": {"24"}, "role": {"owner"}, "overlap": {"24"}, "reason": {"manual"}})
		assert.Equal(t, http.StatusNotFound, r.status, "%s %s", p.method, theirs)
		for _, none := range []string{"nothing", "a%2fb", strings.Repeat("x", 300)} {
			before, _, _ := strings.Cut(p.pattern, "{")
			_, after, _ := strings.Cut(p.pattern, "}")
			assert.Equal(t, http.StatusNotFound, b.send(p.method, before+none+after, url.Values{"sure": {"yes"}}).status, p.pattern)
		}
	}
	assert.Greater(t, count, 15)
	ctx := t.Context()
	key, err := h.store.Key(ctx, metering.KeyID(foreign.ids["/dashboard/keys/"]))
	require.NoError(t, err)
	assert.Nil(t, key.RevokedAt)
	assert.Empty(t, key.RotatedTo)
	session, err := h.people.Sessions(ctx, foreign.ID)
	require.NoError(t, err)
	assert.NotEmpty(t, session)
	assert.Equal(t, http.StatusNotFound, b.send("GET", "/dashboard/billing/2026-09", nil).status)
	assert.Equal(t, http.StatusNotFound, b.send("GET", "/dashboard/usage?month=2020-01", nil).status)
	assert.Equal(t, http.StatusNotFound, b.post("/dashboard/account", "account", string(foreign.ID)).status)
}

// A member without the role gets a refusal, and nothing changes. A visitor without a session is redirected to sign
// in.
func TestRoles(t *testing.T) {
	h, own, _ := newSeededFixture(t)
	roles := map[member.Role]*browser{}
	for _, role := range member.Roles() {
		roles[role] = h.as(string(role) + "@example.com")
	}
	acts := func() int {
		list, err := metering.Acts(t.Context(), h.store, metering.ActFilter{Account: own.ID})
		require.NoError(t, err)
		return len(list)
	}
	for _, p := range h.dash.pages {
		path, _ := own.path(p.pattern)
		if p.role == "" {
			continue
		}
		out := h.browser().send(p.method, path, url.Values{})
		assert.Equal(t, http.StatusSeeOther, out.status, p.pattern)
		to, _, _ := strings.Cut(out.header.Get("Location"), "?")
		assert.Equal(t, "/dashboard/enter", to, p.pattern)
		for role, b := range roles {
			if role.May(p.role) {
				continue
			}
			before := acts()
			r := b.send(p.method, path, url.Values{"sure": {"yes"}})
			assert.Equal(t, http.StatusForbidden, r.status, "%s: %s %s", role, p.method, path)
			assert.Contains(t, r.words("main"), "requires the role "+string(p.role), path)
			assert.Equal(t, before, acts(), "%s: %s", role, path)
		}
	}
	for role, b := range roles { // and pages show no form that the visitor may not send
		for p, path := range h.administration() {
			path, _ = own.path(p.pattern)
			if p.method != "GET" || p.role == "" || !role.May(p.role) || strings.HasSuffix(p.pattern, ".csv") {
				continue
			}
			for _, form := range b.get(path).Find("form[method=post]").EachIter() {
				h.mayPost(role, form.AttrOr("action", ""), path)
			}
		}
	}
}

// mayPost checks that a role may send a form that it is shown.
func (h *fixture) mayPost(role member.Role, action, at string) {
	h.t.Helper()
	r, err := http.NewRequest(http.MethodPost, action, nil)
	require.NoError(h.t, err)
	_, pattern := h.dash.mux.Handler(r)
	i := slices.IndexFunc(h.dash.pages, func(p *page) bool { return p.method+" "+p.pattern == pattern })
	require.GreaterOrEqual(h.t, i, 0, "%s has a form that leads to %s", at, action)
	assert.True(h.t, role.May(h.dash.pages[i].role), "%s shows the form of %s to a %s", at, action, role)
}

// Requests that another site has a browser send are refused, and leave no trace.
func TestForeignOrigins(t *testing.T) {
	h, own, _ := newSeededFixture(t)
	b := h.owner()
	for _, fields := range [][]string{
		{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"},
		{"Sec-Fetch-Site", "same-site", "Origin", "https://evil.example.com"},
		{"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
		{"Sec-Fetch-Site", "", "Origin", "null"},
		{"Sec-Fetch-Site", "cross-site", "Origin", ""},
	} {
		for _, p := range h.dash.pages {
			if p.method == http.MethodPost {
				path, _ := own.path(p.pattern)
				r := b.send(p.method, path, url.Values{"sure": {"yes"}}, fields...)
				assert.Equal(t, http.StatusForbidden, r.status, "%s from %s", path, fields)
			}
		}
	}
	key, err := h.store.Key(t.Context(), metering.KeyID(own.ids["/dashboard/keys/"]))
	require.NoError(t, err)
	assert.Nil(t, key.RevokedAt)
	r := b.send(http.MethodPost, "/dashboard/keys", url.Values{}, "Sec-Fetch-Site", "", "Origin", "https://diag.example.com")
	assert.Equal(t, http.StatusUnprocessableEntity, r.status, "our own origin, of a browser that sends no Sec-Fetch-Site")
}

// A counted store counts reads.
type counted struct {
	metering.Store
	reads atomic.Int64 // calls
	rows  atomic.Int64 // that lists handed out
}

func (c *counted) Record(ctx context.Context, a metering.AccountID, kind, id string) (metering.Record, error) {
	c.reads.Add(1)
	return c.Store.Record(ctx, a, kind, id)
}

func (c *counted) Records(ctx context.Context, f metering.RecordFilter) iter.Seq2[metering.Record, error] {
	return counting(c, c.Store.Records(ctx, f))
}

func (c *counted) Account(ctx context.Context, id metering.AccountID) (metering.Account, error) {
	c.reads.Add(1)
	return c.Store.Account(ctx, id)
}

func (c *counted) Accounts(ctx context.Context) ([]metering.Account, error) {
	c.reads.Add(1000) // of all accounts: no page may
	return c.Store.Accounts(ctx)
}

func (c *counted) Keys(ctx context.Context, f metering.KeyFilter) iter.Seq2[metering.Key, error] {
	return counting(c, c.Store.Keys(ctx, f))
}

func (c *counted) CountKeys(ctx context.Context, f metering.KeyFilter) (map[metering.KeyState]int, error) {
	c.reads.Add(1)
	return c.Store.CountKeys(ctx, f)
}

func (c *counted) Sums(ctx context.Context, f metering.EntryFilter) (metering.Sums, error) {
	c.reads.Add(1)
	return c.Store.Sums(ctx, f)
}

func (c *counted) Hours(
	ctx context.Context, id metering.AccountID, keys []metering.KeyID, since time.Time,
) ([]metering.HourSum, error) {
	c.reads.Add(1)
	list, err := c.Store.Hours(ctx, id, keys, since)
	c.rows.Add(int64(len(list)))
	return list, err
}

func (c *counted) Key(ctx context.Context, id metering.KeyID) (metering.Key, error) {
	c.reads.Add(1)
	return c.Store.Key(ctx, id)
}

func (c *counted) Balance(ctx context.Context, id metering.AccountID, p metering.Period) (metering.Balance, error) {
	c.reads.Add(1)
	return c.Store.Balance(ctx, id, p)
}

func (c *counted) Entries(ctx context.Context, f metering.EntryFilter) iter.Seq2[metering.Entry, error] {
	return counting(c, c.Store.Entries(ctx, f))
}

// counting counts a list that is read, and its rows.
func counting[T any](c *counted, list iter.Seq2[T, error]) iter.Seq2[T, error] {
	c.reads.Add(1)
	return func(yield func(T, error) bool) {
		for v, err := range list {
			if c.rows.Add(1); !yield(v, err) {
				return
			}
		}
	}
}

// A page costs few reads of the store, the session, the member and the account among them.
func TestReads(t *testing.T) {
	var store *counted
	h, own, _ := newSeededFixture(t, func(c *Config) {
		store = &counted{Store: c.Store}
		c.Store = store
	})
	b := h.owner()
	const most = 12
	for p := range h.administration() {
		if p.method != "GET" || p.role == "" {
			continue
		}
		path, _ := own.path(p.pattern)
		store.reads.Store(0)
		b.get(path)
		assert.LessOrEqual(t, store.reads.Load(), int64(most), path)
	}
}
