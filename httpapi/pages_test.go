package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pages get their own paths and what browsers request outside of the API; the API answers all else.
func TestPages(t *testing.T) {
	var seen []Observation
	pages := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusNotFound)
		} else {
			w.WriteHeader(http.StatusOK)
		}
		io.WriteString(w, "a page")
	})
	gate := newAPI(t, "self", nil).gate
	s := newServer(Config{Gate: gate, Pages: pages, IPRate: 1, Observe: func(o Observation) { seen = append(seen, o) }}, endpoints)
	for _, tt := range []struct {
		method, path, accept string
		page                 bool
	}{
		{"GET", "/", "*/*", true}, {"HEAD", "/", "", true}, {"GET", "/docs", "", true}, {"GET", "/docs/spf/lookup", "*/*", true},
		{"GET", "/openapi.yaml", "", true}, {"GET", "/llms.txt", "", true}, {"GET", "/gone", "text/html,*/*;q=0.8", true},
		{"GET", "/gone", "*/*", false}, {"POST", "/", "", false}, {"POST", "/docs", "text/html", false},
		{"GET", "/public/v1/spf/lookup", "text/html", false}, {"GET", "/public/v1/none", "text/html", false},
		{"OPTIONS", "*", "", false},
	} {
		seen = nil
		r := httptest.NewRequest(tt.method, "http://localhost/", nil)
		r.URL.Path = tt.path
		r.Header.Set("Accept", tt.accept)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		require.Equal(t, tt.page, w.Body.String() == "a page", "%v", tt)
		require.Equal(t, tt.page, seen[0].Endpoint == "pages", "%v", tt)
		require.Equal(t, w.Code, seen[0].Status)
		require.Equal(t, w.Code < 400, seen[0].Code == "OK")
		require.NotEmpty(t, w.Header().Get("X-Request-Id"))
	}
	without := newServer(Config{Gate: gate}, endpoints)
	w := httptest.NewRecorder()
	without.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	require.Equal(t, 404, w.Code)
	require.Contains(t, w.Body.String(), openapiPath)
}

// An unknown path names the operation that was probably meant, and a request without a key how to send one.
func TestHelpfulRefusals(t *testing.T) {
	a := newAPI(t, "self", nil)
	require.Equal(t, "There is nothing at this path. Did you mean POST /public/v1/spf/lookup?",
		a.post("/spf/lokup", "{}").problem().Message)
	require.Equal(t, "There is nothing at this path.", a.post("/nothing", "{}").problem().Message)
	require.Contains(t, a.post("/text/lower", "{}", "Authorization", "").problem().Message,
		"Authorization: Bearer svc_live_…")
}
