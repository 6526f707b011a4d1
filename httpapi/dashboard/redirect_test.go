package dashboard

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// No path leads to another site, however it is written.
func TestRedirectsStayHere(t *testing.T) {
	h := newFixture(t)
	for path, want := range map[string]string{
		"/dashboard/":                        "/dashboard",
		"/dashboard/keys/":                   "/dashboard/keys",
		"/dashboard//keys?page=2":            "/dashboard/keys?page=2",
		"/r/abc/":                            "/r/abc",
		"/dashboard/..%2f%5Cevil.example":    "",
		"/dashboard/..%2F%2Fevil.example":    "",
		"/dashboard/..%2f%09/evil.example":   "",
		"/dashboard/../%09/evil.example":     "",
		"/dashboard/%5Cevil.example":         "",
		"/dashboard/%2e%2e/%5Cevil.example":  "",
		"/r/..%2f%5Cevil.example":            "",
		"/r/%2e%2e%2f%5C%5Cevil.example":     "",
		"/r/..%5Cevil.example":               "",
		"/dashboard/keys/%0d%0aX-Evil:%20a/": "",
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			w := httptest.NewRecorder()
			h.dash.ServeHTTP(w, httptest.NewRequest(method, "https://diag.example.com"+path, nil))
			to := w.Header().Get("Location")
			if want != "" {
				require.Equal(t, http.StatusMovedPermanently, w.Code, path)
				require.Equal(t, want, to)
				continue
			}
			require.NotContains(t, to, `\`, path)
			require.NotContains(t, to, "\t", path)
			base, err := url.Parse("https://diag.example.com/")
			require.NoError(t, err)
			at, err := base.Parse(to)
			require.NoError(t, err)
			require.Equal(t, base.Host, at.Host, path)
			if to == "" {
				require.Equal(t, http.StatusNotFound, w.Code, path)
			}
		}
	}
}
