package httpapi

import (
	"net/http"
	"strings"
)

// A Front leads requests to the parts of a server that stand beside its API, such as a dashboard. Unlike an
// [http.ServeMux] it does nothing to a path: that is for the API to judge.
type Front struct {
	API   http.Handler
	Parts map[string]http.Handler // by the first word of the path, such as "dashboard"
}

// ServeHTTP implements [http.Handler].
func (f Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if part := f.Parts[first]; part != nil {
		part.ServeHTTP(w, r)
		return
	}
	f.API.ServeHTTP(w, r)
}
