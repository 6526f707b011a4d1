package httpapi

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

// Every reply has a request ID, whichever part gives it, and over TLS a Strict-Transport-Security header.
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
				require.Contains(t, w.Header().Get("Cache-Control"), "no-", "%s %s", method, path)
				if method != "HEAD" && w.Header().Get("Content-Type") == jsonMedia && w.Code >= 400 {
					require.Contains(t, w.Body.String(), w.Header().Get("X-Request-Id"), "%s %s", method, path)
				}
			}
		}
	}
}

// A panic of a part is reported to its client with an ID that the log has too, and without the cause. A reply that
// had begun is aborted.
func TestFrontOfPanics(t *testing.T) {
	var log syncBuffer
	handler := func(f func(w http.ResponseWriter)) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { f(w) })
	}
	front := Front{Log: slog.New(slog.NewTextHandler(&log, nil)), Parts: map[string]http.Handler{
		"early": handler(func(http.ResponseWriter) { panic("index out of range") }),
		"late":  handler(func(w http.ResponseWriter) { io.WriteString(w, "half"); panic("index out of range") }),
		"noted": handler(func(w http.ResponseWriter) { w.WriteHeader(200); panic("index out of range") }),
		"abort": handler(func(http.ResponseWriter) { panic(http.ErrAbortHandler) }),
	}}
	w := httptest.NewRecorder()
	front.ServeHTTP(w, httptest.NewRequest("GET", "/early/x", nil))
	var p Problem
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
	require.Equal(t, []any{500, InternalError, "internal error"}, []any{w.Code, p.Code, p.Message})
	require.Equal(t, w.Header().Get("X-Request-Id"), p.RequestID)
	require.Contains(t, log.String(), p.RequestID)
	require.Contains(t, log.String(), "index out of range")
	for _, path := range []string{"/late", "/noted", "/abort"} {
		require.PanicsWithValue(t, http.ErrAbortHandler, func() {
			front.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
		}, path)
	}
	require.Equal(t, 3, strings.Count(log.String(), "index out of range"), "an abort is no fault")
	front = Front{API: front.Parts["early"]} // without a log
	front.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
}

// One network has so many concurrent requests, over any number of connections, and others have theirs. A request that
// ends makes room, also by a panic.
func TestRequestsOfOneNetwork(t *testing.T) {
	let, running := make(chan bool), make(chan bool)
	front := Front{
		API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			running <- true
			if <-let {
				panic(http.ErrAbortHandler)
			}
		}),
		Requests: &metering.NetworkCount{All: 100, Each: 2}, Exempt: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	}
	ask := func(from string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest("GET", "/x", nil), httptest.NewRecorder()
		r.RemoteAddr = from
		defer func() { _ = recover() }()
		front.ServeHTTP(w, r)
		return w
	}
	done := make(chan int)
	begin := func(from string) {
		go func() { ask(from); done <- 0 }()
		<-running
	}
	begin("[2001:db8::1]:1")
	begin("[2001:db8::2]:1")
	w := ask("[2001:db8::3]:1")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Contains(t, w.Body.String(), reasonOverloaded)
	for _, other := range []string{"192.0.2.1:1", "10.0.0.1:1", "10.0.0.1:1", "10.0.0.1:1"} {
		begin(other)
	}
	for i := range 6 {
		let <- i%2 == 0
		<-done
	}
	require.Zero(t, front.Requests.Held())
}
