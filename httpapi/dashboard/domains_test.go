package dashboard

import (
	"net/http"
	"testing"

	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// watching is a change of a house that looks at its domains when the test says so.
func watching(c *Config) {
	c.Watches = watch.New(watch.Config{Store: c.Store, Plans: c.Plans, Clock: c.Clock, Log: c.Log})
}

// look runs all watches that are due.
func (h *house) look() {
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

// Domains are listed the worst first, with what is wrong and what expires.
func TestDomains(t *testing.T) {
	h := newHouse(t, online(t), watching)
	b := h.owner()
	empty := b.get("/dashboard")
	assert.Contains(t, empty.words(".empty"), "No domain is watched yet")
	require.Equal(t, 0, h.as("viewer@example.com").get("/dashboard").Find("main form").Length())

	page := b.add("good.example")
	assert.Contains(t, page.words(".notice"), "is watched")
	b.add("plain.example", "every", "1h0m0s")
	b.add("bücher.example")
	h.look()
	list := b.get("/dashboard")
	var names []string
	for _, a := range list.Find("table.domains tbody th a").EachIter() {
		names = append(names, a.Text())
	}
	require.Len(t, names, 3)
	assert.Contains(t, names, "bücher.example")
	assert.Contains(t, list.words(".credits"), "credits left this month")
	assert.Contains(t, list.words("table.domains"), "certificate 2027-01-16")
	assert.Contains(t, list.words("table.domains"), "good.example ✔ nothing wrong was found")

	found := b.get("/dashboard?q=BÜCH")
	assert.Equal(t, 1, found.Find("table.domains tbody tr").Length())
	none := b.get("/dashboard?q=" + "%3Cscript%3E")
	assert.Contains(t, none.words(".empty"), "No domain contains")
	wellFormed(t, "list", list)

	strange := h.as("owner@example.net")
	require.Equal(t, 0, strange.get("/dashboard").Find("table.domains").Length())
	for _, path := range []string{"", "?from=2026-11-01&to=2026-11-16"} {
		require.Equal(t, http.StatusNotFound, strange.send(http.MethodGet, "/dashboard/domains/good.example"+path, nil).status)
	}
	for _, path := range []string{"/check", "/settings", "/remove"} {
		require.Equal(t, http.StatusNotFound, strange.post("/dashboard/domains/good.example"+path, "token", newToken()).status)
		require.Equal(t, http.StatusForbidden, h.as("viewer@example.com").post("/dashboard/domains/good.example"+path).status)
	}
	require.Equal(t, http.StatusForbidden, h.as("viewer@example.com").post("/dashboard/domains", "domain", "x.example").status)
	for _, name := range []string{"nobody.example", "%3Cscript%3E", "..", "a%0d%0ab.example"} {
		require.GreaterOrEqual(t, b.send(http.MethodGet, "/dashboard/domains/"+name, nil).status, 300, name)
	}
}
