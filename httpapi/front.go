package httpapi

import (
	"net/http"
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
