package httpapi

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A handler outside the endpoints is reached with a good key only, and what it forwards is attributed to its client.
func TestGuard(t *testing.T) {
	a := newAPI(t, "self", nil)
	api := &API{a.handler.(*server)}
	upper, _ := Endpoints().Nearest("text/upper")
	var answer *Answer
	guarded := api.RequireKey("beside", 100, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "long", http.StatusRequestEntityTooLarge)
			return
		}
		if answer, err = api.Forward(r.Context(), r, upper, body); err != nil {
			http.Error(w, err.Error(), http.StatusTeapot)
			return
		}
		io.WriteString(w, answer.RequestID)
	}))
	ask := func(secret, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/beside", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, r)
		return w
	}
	w := ask(a.secret, `{"text":"ab"}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	assert.EqualValues(t, upper.Credits, answer.Credits)
	assert.NotEqual(t, answer.RequestID, w.Header()["X-Request-Id"][0], "each is a request of its own")
	for entry, err := range a.store.Entries(t.Context(), metering.EntryFilter{Account: a.account.ID}) {
		require.NoError(t, err)
		assert.Equal(t, answer.RequestID, entry.RequestID)
		assert.Equal(t, a.key.ID, entry.Key)
	}
	last := a.seen[len(a.seen)-1]
	assert.Equal(t, "beside", last.Endpoint)
	assert.Equal(t, "OK", last.Code)
	assert.Equal(t, http.StatusOK, last.Status)

	w = ask("svc_live_nonsense", `{}`)
	assert.Equal(t, http.StatusUnauthorized, w.Code)
	assert.Contains(t, w.Header(), "WWW-Authenticate")
	assert.Equal(t, http.StatusRequestEntityTooLarge, ask(a.secret, strings.Repeat(" ", 200)).Code)
	_, mail := a.newKey(metering.MailRead)
	w = ask(mail, `{"text":"ab"}`)
	assert.Equal(t, http.StatusTeapot, w.Code)
	assert.Contains(t, w.Body.String(), string(InsufficientScope))
	assert.EqualValues(t, upper.Credits, a.used())
	assert.Zero(t, api.server.Budget.Forms.Held())

	_, err := api.Forward(t.Context(), httptest.NewRequest(http.MethodPost, "/", nil), upper, []byte(`{"text":"ab"}`))
	refused, ok := errors.AsType[*Problem](err)
	require.True(t, ok, err)
	assert.Equal(t, InvalidAPIKey, refused.Code)
}

// A code, the beginning of some, and one that is misspelt.
func TestExplain(t *testing.T) {
	found, near := Endpoints().Explain("spf.lookups.exceeded")
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Operations, "spf/lookup")
	assert.Empty(t, near)
	found, _ = Endpoints().Explain("spf.lookups")
	assert.Greater(t, len(found), 1)
	found, near = Endpoints().Explain("spf.lookup.exceeded")
	assert.Empty(t, found)
	assert.Equal(t, "spf.lookups.exceeded", near)
	found, near = Endpoints().Explain(strings.Repeat("a.", 1000))
	assert.Empty(t, found)
	assert.Empty(t, near)
}

// Who guesses secret paths is stopped, with his network. Who knows one is not, nor are others.
func TestGuesses(t *testing.T) {
	a := newAPI(t, "self", nil)
	api := New(Config{Gate: a.gate, Clock: a.clock.Now})
	limited := api.LimitGuesses(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/known" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	ask := func(path, from string) int {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		limited.ServeHTTP(w, r)
		return w.Code
	}
	most := api.server.Budget.Visits.Limit
	for range most {
		require.Equal(t, http.StatusOK, ask("/known", "[2001:db8::1]:1"))
		require.Equal(t, http.StatusNotFound, ask("/guess", "[2001:db8::2]:1"))
	}
	require.Equal(t, http.StatusTooManyRequests, ask("/guess", "[2001:db8::3]:1"))
	require.Equal(t, http.StatusNotFound, ask("/guess", "192.0.2.1:1"))
	a.clock.Advance(time.Minute)
	require.Equal(t, http.StatusOK, ask("/known", "[2001:db8::1]:1"))
}
