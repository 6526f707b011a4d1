package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every reply has a request id, whichever part gives it, and over TLS says that the host speaks TLS alone.
func TestFront(t *testing.T) {
	a := newAPI(t, "self", nil)
	front := Front{API: a.handler, Parts: map[string]http.Handler{"part": http.NotFoundHandler()}}
	for _, path := range []string{"/", "/part", "/part/x", "/nothing", "/docs", Prefix + "/openapi.json", Prefix + "/text/lower"} {
		for scheme, want := range map[string]string{"http": "", "https": "max-age=31536000"} {
			for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS"} {
				w := httptest.NewRecorder()
				front.ServeHTTP(w, httptest.NewRequest(method, scheme+"://diag.example"+path, nil))
				require.Len(t, w.Header()["X-Request-Id"], 1, "%s %s", method, path)
				require.Regexp(t, `^req_[a-z2-7]{26}$`, w.Header()["X-Request-Id"][0])
				require.Equal(t, want, w.Header().Get("Strict-Transport-Security"), "%s %s", method, path)
			}
		}
	}
}
