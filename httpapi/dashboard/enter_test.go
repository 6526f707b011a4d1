package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Who opens a link, by whatever method, does not use it; who sends its form enters, once.
func TestEnter(t *testing.T) {
	h := newHouse(t)
	token, err := h.people.NewLink(t.Context(), "owner@example.com")
	require.NoError(t, err)
	at := strings.TrimPrefix(EnterURL(h.dash.PublicURL, token), h.dash.PublicURL)
	b := h.browser()
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodGet} {
		require.Equal(t, http.StatusOK, b.send(method, at, nil).status)
	}
	page := b.get(at)
	assert.Equal(t, "no-referrer", page.header.Get("Referrer-Policy"))
	assert.Equal(t, "Enter as owner@example.com", page.words("h1"))
	assert.Empty(t, b.cookies)
	account, _ := page.Find("input[name=account]").Attr("value")
	b.follow("/dashboard/enter", "token", token, "account", account)
	assert.Len(t, b.cookies, 1)
	assert.Equal(t, http.StatusNotFound, h.browser().post("/dashboard/enter", "token", token, "account", account).status)
}
