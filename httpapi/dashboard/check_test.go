package dashboard

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/diagkit/diagkit/metering/member"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A domain is checked once without being watched: the address keeps it through sign-in, a GET costs nothing, and a form
// that is sent twice runs once. From the result the domain can be watched.
func TestCheck(t *testing.T) {
	h := newFixture(t, withDemoWorld(t), withWatches)
	const at = "/dashboard/check?domain=plain.example"
	visitor := h.browser()
	signIn := visitor.send(http.MethodGet, at, nil)
	require.Equal(t, http.StatusSeeOther, signIn.status)
	require.Equal(t, "/dashboard/enter?"+url.Values{"next": {at}}.Encode(), signIn.header.Get("Location"))

	b := h.owner()
	page := b.get(at)
	wellFormed(t, "check", page)
	assert.Equal(t, "plain.example", page.Find("#domain").AttrOr("value", ""))
	assert.Zero(t, h.used())
	form := page.Find("form.check")
	sent, again := b.submit(form), b.submit(form)
	require.Equal(t, http.StatusSeeOther, sent.status, sent.words("main"))
	require.Equal(t, sent.header.Get("Location"), again.header.Get("Location"))
	found := b.get(sent.header.Get("Location"))
	wellFormed(t, "result", found)
	assert.Contains(t, found.words("section.view"), "plain.example")
	assert.Positive(t, h.used())
	watched := b.submit(found.Find(`section.result form[action="/dashboard/domains"]`))
	require.Contains(t, watched.header.Get("Location"), "/dashboard/domains/plain.example")
	assert.Contains(t, b.get(at).words(".notice"), "You watch plain.example")

	for _, word := range []string{"", "not a domain", "192.0.2.1", "<script>.com"} {
		p := b.post("/dashboard/check", "domain", word, "token", member.NewToken())
		require.Equal(t, http.StatusUnprocessableEntity, p.status)
		require.Contains(t, p.words("#domain-fault"), "must be a domain name")
	}
	viewer := h.as("viewer@example.com")
	require.Zero(t, viewer.get(at).Find("main form").Length())
	require.Equal(t, http.StatusForbidden, viewer.post("/dashboard/check", "domain", "plain.example").status)
	stranger := h.as("owner@example.net")
	require.Equal(t, http.StatusNotFound, stranger.send(http.MethodGet, sent.header.Get("Location"), nil).status)
}
