package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/metering"
)

// A Front leads requests to the parts of a server that stand beside its API, such as a dashboard, and gives each reply
// what all of them have: a request id, and over TLS the word that this host is to be asked by TLS alone. Unlike an
// [http.ServeMux] it does nothing to a path: that is for the API to judge.
type Front struct {
	API   http.Handler
	Parts map[string]http.Handler // by the first word of the path, such as "dashboard"
}

// strictTransport is for the host alone: of the names below it nothing is known here (RFC 6797 section 7.1).
const strictTransport = "max-age=31536000"

// ServeHTTP implements [http.Handler].
func (f Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.TLS != nil { // RFC 6797 section 7.2
		w.Header().Set("Strict-Transport-Security", strictTransport)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if part := f.Parts[first]; part != nil {
		w.Header().Set("X-Request-Id", metering.NewRequestID())
		part.ServeHTTP(w, r)
		return
	}
	f.API.ServeHTTP(w, r) // which logs the id that it gives
}

// A Mux is an [http.ServeMux] that can tell its patterns, so that tests can ask for everything that a server serves.
type Mux struct {
	http.ServeMux
	patterns []string
}

// Handle registers a handler, as [http.ServeMux.Handle] does.
func (m *Mux) Handle(pattern string, handler http.Handler) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.Handle(pattern, handler)
}

// HandleFunc registers a function, as [http.ServeMux.HandleFunc] does.
func (m *Mux) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(handler))
}

// Patterns returns what was registered, in that order.
func (m *Mux) Patterns() []string { return slices.Clone(m.patterns) }
