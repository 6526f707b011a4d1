package httpapi

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

// A Front is the handler of a server. It gives each reply the common headers: a request ID, no-store unless a handler
// sets another policy, and over TLS the requirement to use TLS for this host. A panic of a handler becomes an
// internal error. It routes requests to the parts of a server next to its API, such as a dashboard; unlike an
// [http.ServeMux] it does not change a path: that is left to the API.
type Front struct {
	API   http.Handler            // answers requests to no part
	Parts map[string]http.Handler // by the first word of the path, such as "dashboard"
	Log   *slog.Logger            // receives panics; nil disables logging
	// Requests bounds the concurrent requests of each network, many of which can share an HTTP/2 connection, except
	// for peers in Exempt, as in a [Listener]. Nil means any number.
	Requests *metering.NetworkCount
	Exempt   []netip.Prefix
}

// discardLog is a logger that discards everything.
var discardLog = slog.New(slog.DiscardHandler)

// strictTransport is for the host alone: of the names below it nothing is known here (RFC 6797 section 7.1).
const strictTransport = "max-age=31536000"

// ServeHTTP implements [http.Handler].
func (f Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := beginReply(w.Header())
	if r.TLS != nil { // RFC 6797 section 7.2
		w.Header()["Strict-Transport-Security"] = strictTransportHeader
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	tracked := &trackingWriter{ResponseWriter: w}
	defer func() {
		if p := recover(); p != nil {
			f.fail(tracked, r, id, p)
		}
	}()
	release, ok := admitPeer(f.Requests, f.Exempt, r.RemoteAddr)
	defer release()
	if !ok {
		cmp.Or(f.Log, discardLog).Debug("too many requests of one network at once", "request_id", id, "peer", r.RemoteAddr)
		write(w, problemFor(budget.ErrFull), id)
		return
	}
	cmp.Or(f.Parts[first], f.API).ServeHTTP(tracked, r)
}

// admitPeer counts a request or connection for the networks of a peer, unless it is exempt. It returns false if one
// of them has reached its limit; leave must be called in any case.
func admitPeer(count *metering.NetworkCount, exempt []netip.Prefix, address string) (release func(), ok bool) {
	if count == nil {
		return func() {}, true
	}
	peer, _ := netip.ParseAddrPort(address) // all addresses that cannot be parsed count as one
	ip := peer.Addr().Unmap().WithZone("")
	if slices.ContainsFunc(exempt, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return func() {}, true
	}
	return count.Take(ip)
}

// The fields of replies that are the same for all.
var noStoreHeader, strictTransportHeader = []string{"no-store"}, []string{strictTransport}

// beginReply gives a reply what each has from the beginning, and returns its id. One that has an id is left as it is.
func beginReply(h http.Header) (id string) {
	if has := h["X-Request-Id"]; len(has) == 1 {
		return has[0]
	}
	id = metering.NewRequestID()
	h["X-Request-Id"], h["Cache-Control"] = []string{id}, noStoreHeader // of the API: a reply that one customer paid for
	return id
}

// fail answers for a handler that panicked. A reply that had begun is aborted, so that no client treats it as
// complete.
func (f Front) fail(w *trackingWriter, r *http.Request, id string, p any) {
	if p == http.ErrAbortHandler {
		panic(p)
	}
	cmp.Or(f.Log, discardLog).LogAttrs(r.Context(), slog.LevelError, "panic",
		slog.String("request_id", id), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	write(w, internalProblem(http.StatusInternalServerError, reasonInternal, "internal error", nil), id)
}

// write answers with a problem, outside of the API.
func write(w http.ResponseWriter, f *failure, id string) {
	f.problem.RequestID = id
	body, err := encode(f.problem)
	if err != nil { // a Problem holds nothing that cannot be encoded
		panic(err)
	}
	if f.retryAfter > 0 {
		w.Header().Set("Retry-After", decimal(f.retryAfter))
	}
	w.Header().Set("Content-Type", jsonMedia)
	w.WriteHeader(f.status)
	w.Write(body)
}

// trackingWriter knows whether the reply has begun.
type trackingWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *trackingWriter) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *trackingWriter) Write(p []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(p)
}

func (w *trackingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A Mux is an [http.ServeMux] that can list its patterns, so that tests can request everything that a server serves.
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

// Patterns returns the registered patterns, in order.
func (m *Mux) Patterns() []string { return slices.Clone(m.patterns) }
