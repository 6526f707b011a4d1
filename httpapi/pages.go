package httpapi

import (
	"net/http"
	"strings"
)

// forPages reports whether the pages answer: for all that lies outside of the API and has one, and for whatever else a
// browser asks for there.
func (x *exchange) forPages() bool {
	path := x.r.URL.Path
	reads := x.r.Method == http.MethodGet || x.r.Method == http.MethodHead
	if x.Pages == nil || !reads || strings.HasPrefix(path, Prefix+"/") {
		return false
	}
	switch path {
	case "/", "/docs", "/llms.txt", "/openapi.json", "/openapi.yaml":
		return true
	}
	return strings.HasPrefix(path, "/docs/") || strings.Contains(x.r.Header.Get("Accept"), "text/html")
}

// servePages lets the pages answer. They are the same for everybody and made once, so that no limiter guards them.
func (x *exchange) servePages() {
	x.ip = x.clientIP(x.r)
	x.seen.Endpoint = "pages"
	x.Pages.ServeHTTP(&statusWriter{x.w, x}, x.r)
}

// statusWriter notes the status of a reply that others write.
type statusWriter struct {
	http.ResponseWriter
	x *exchange
}

func (w *statusWriter) WriteHeader(status int) {
	w.x.seen.Status, w.x.seen.Code = status, "OK"
	if status >= 400 {
		w.x.seen.Code = string(InvalidRequest)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
