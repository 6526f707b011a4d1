package dashboard

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	hostedmemory "github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/metering"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Profiles of all keys of the account are shown, with what to publish, what changed and whether the domain uses them;
// members with the role can resolve one, which is charged to the key that it belongs to.
func TestHostedSPF(t *testing.T) {
	world, err := internet.New(startTime)
	require.NoError(t, err)
	t.Cleanup(world.Close)
	env := *world.Env()
	h := newFixture(t, func(c *Config) {
		env.Clock = c.Clock
		c.Env, c.HostedSPF = &env, hostedmemory.New(hostedmemory.Config{Clock: c.Clock})
	})
	b, ctx := h.owner(), t.Context()
	assert.Contains(t, b.get("/dashboard/spf").words(".empty"), "diagd spf create")

	world.Zone(`_spf.service.example. TXT "v=spf1 ip4:192.0.2.0/24 -all"`)
	world.Zone(`customer.example. TXT "v=spf1 include:_spf.service.example -all"`)
	key, _, err := h.admin.CreateKey(ctx, metering.KeyRequest{Account: h.account.ID, Name: "mail " + hostileName, Scopes: metering.Scopes()})
	require.NoError(t, err)
	h.advance(time.Second)
	_, rotated, _, err := h.admin.RotateKey(ctx, key.ID, time.Hour)
	require.NoError(t, err)
	p, err := hostedspf.Create(ctx, &env, hostedspf.Access{Store: h.dash.HostedSPF, Owner: hostedspf.Owner(key.ID)},
		hostedspf.CreateRequest{Domain: diag.MustDomain("customer.example"), Zone: diag.MustName("spf.example.net")})
	require.NoError(t, err)

	list := b.get("/dashboard/spf")
	wellFormed(t, "list", list)
	assert.Contains(t, list.words("table"), "customer.example active 1 → 1")
	at := list.Find("table a").AttrOr("href", "")
	page := b.get(at)
	wellFormed(t, "profile", page)
	assert.Contains(t, page.words("main"), "does not use this profile")
	assert.Contains(t, page.words("#publish~.code"), "include:"+p.IncludeHost.String())
	assert.Contains(t, page.words(".drawing.table"), p.IncludeHost.String())
	assert.Contains(t, page.words("section[aria-labelledby=resolutions]"), "192.0.2.0/24")

	world.Remove(func(rr dns.RR) bool {
		return slices.Contains([]string{"_spf.service.example.", "customer.example."}, rr.Header().Name)
	})
	world.Zone(`_spf.service.example. TXT "v=spf1 ip4:198.51.100.0/24 -all"`)
	world.Zone(`customer.example. TXT "v=spf1 redirect=` + p.IncludeHost.String() + `"`)
	h.advance(time.Minute)
	form := page.Find(`form[action$="/resolve"]`)
	sent, again := b.submit(form), b.submit(form)
	require.Equal(t, http.StatusSeeOther, sent.status, sent.words("main"))
	require.Equal(t, sent.header.Get("Location"), again.header.Get("Location"))
	page = b.get(sent.header.Get("Location"))
	wellFormed(t, "resolved", page)
	assert.Contains(t, page.words(".result"), "5 credits")
	assert.Contains(t, page.words("main"), "The domain's SPF record uses this profile")
	newest := page.Find("section[aria-labelledby=resolutions] tbody tr").First().Find("td")
	assert.Contains(t, newest.Eq(1).Text(), "198.51.100.0/24")
	assert.Contains(t, newest.Eq(2).Text(), "192.0.2.0/24")
	assert.Equal(t, 2, b.get(at+"?changes").Find("section[aria-labelledby=resolutions] tbody tr").Length())
	require.Equal(t, int64(5), h.used())
	for e := range h.store.Entries(ctx, metering.EntryFilter{Account: h.account.ID}) {
		assert.Equal(t, rotated.ID, e.Key)
	}

	viewer, strange := h.as("viewer@example.com"), h.as("owner@example.net")
	require.Equal(t, 0, viewer.get(at).Find("main form").Length())
	require.Equal(t, http.StatusForbidden, viewer.submit(form).status)
	require.Equal(t, http.StatusNotFound, strange.submit(form).status)
	require.Equal(t, 0, strange.get("/dashboard/spf").Find("table").Length())
	for _, path := range []string{at, sent.header.Get("Location"), "/dashboard/spf/spf_x", "/dashboard/spf/" + strings.Repeat("a", 30)} {
		require.Equal(t, http.StatusNotFound, strange.send(http.MethodGet, path, nil).status, path)
	}
	require.Equal(t, http.StatusNotFound, b.send(http.MethodGet, at+"?cursor=x", nil).status)
}

// Members create profiles that belong to a key, where the operator has named a zone, and remove them.
func TestCreateProfile(t *testing.T) {
	world, err := internet.New(startTime)
	require.NoError(t, err)
	t.Cleanup(world.Close)
	env := *world.Env()
	var events []hostedspf.EventType
	h := newFixture(t, func(c *Config) {
		env.Clock = c.Clock
		c.Env, c.HostedSPF = &env, hostedmemory.New(hostedmemory.Config{Clock: c.Clock})
		c.SPFZone = diag.MustName("spf.example.net")
		c.SPFAccess.Notify = func(e hostedspf.Event) { events = append(events, e.Type) }
	})
	world.Zone(`customer.example. TXT "v=spf1 ip4:192.0.2.0/24 -all"`)
	b := h.as("developer@example.com")
	assert.Contains(t, b.get("/dashboard/spf").words("main"), "Create a key first")
	reader, _, err := h.admin.CreateKey(t.Context(), metering.KeyRequest{Account: h.account.ID, Name: "reader",
		Scopes: []metering.Scope{metering.MailRead}})
	require.NoError(t, err)
	key, _, err := h.admin.CreateKey(t.Context(), metering.KeyRequest{Account: h.account.ID, Name: "mail " + hostileName,
		Scopes: metering.Scopes()})
	require.NoError(t, err)
	foreign, _, err := h.admin.CreateKey(t.Context(), metering.KeyRequest{Account: h.other.ID, Name: "x", Scopes: metering.Scopes()})
	require.NoError(t, err)
	wellFormed(t, "profiles", b.get("/dashboard/spf"))
	for _, tt := range []struct{ domain, record, key, field string }{
		{"not a domain", "", string(key.ID), "domain"},
		{"customer.example", "nothing", string(key.ID), "source_record"},
		{"none.example", "", string(key.ID), "source_record"},
		{"customer.example", "", string(reader.ID), "key"},
		{"customer.example", "", string(foreign.ID), "key"},
	} {
		r := b.post("/dashboard/spf", "domain", tt.domain, "source_record", tt.record, "key", tt.key)
		require.Equal(t, http.StatusUnprocessableEntity, r.status, tt)
		assert.NotEmpty(t, r.words("#"+tt.field+"-fault"), tt)
	}
	assert.Equal(t, http.StatusForbidden, h.as("viewer@example.com").post("/dashboard/spf", "domain", "customer.example").status)

	made := b.post("/dashboard/spf", "domain", "customer.example", "key", string(key.ID))
	require.Equal(t, http.StatusSeeOther, made.status, made.words("main"))
	page := b.get(made.header.Get("Location"))
	wellFormed(t, "created", page)
	assert.Contains(t, page.words("section[aria-labelledby=publish] .record"), "TXT customer.example v=spf1")
	assert.Contains(t, page.words("section[aria-labelledby=published] .record"), "ip4:192.0.2.0/24")
	assert.Zero(t, h.used())

	at, _, _ := strings.Cut(made.header.Get("Location"), "?")
	assert.Equal(t, http.StatusUnprocessableEntity, b.post(at+"/remove").status)
	assert.Equal(t, http.StatusNotFound, h.as("owner@example.net").post(at+"/remove", "sure", "yes").status)
	b.follow(at+"/remove", "sure", "yes")
	assert.Equal(t, http.StatusNotFound, b.send("GET", at, nil).status)
	assert.Equal(t, []hostedspf.EventType{hostedspf.ProfileCreated, hostedspf.ProfileRemoved}, events)
	assert.Equal(t, http.StatusNotFound, b.post(at+"/remove", "sure", "yes").status)
}

// Without profiles on the server they have no page.
func TestNoHostedSPF(t *testing.T) {
	h := newFixture(t)
	require.Equal(t, http.StatusNotFound, h.owner().send(http.MethodGet, "/dashboard/spf", nil).status)
	require.NotContains(t, h.owner().get("/dashboard").words("nav"), "Hosted SPF")
}
