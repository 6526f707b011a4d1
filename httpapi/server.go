package httpapi

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	hostedmemory "github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/metering"
)

const (
	// DefaultIPRate is how many requests a minute an address may send before it has shown a good key.
	DefaultIPRate = 120
	// unseenShare is the part of an address's requests that may still show a key with the right checksum.
	unseenShare = 4
	// defaultMaxRunning bounds the diagnostics that run at once; each may hold some sockets.
	defaultMaxRunning = 2048
)

// Config says what the API works with. Only Gate is required.
type Config struct {
	// Gate admits, holds and charges.
	Gate *metering.Gate
	// Env is the world that diagnostics see. Nil is the real one.
	Env *diag.Env
	// Clock tells the time of requests. Nil is the wall clock.
	Clock func() time.Time
	// IPRate is how many requests a minute one address (a /32 or a /64) may send before it has shown
	// a good key. 0 means DefaultIPRate, a negative number no limit.
	IPRate int
	// HostedSPF keeps the hosted SPF profiles. Nil means an empty store in memory: no key has a profile. The server
	// does not close it, and resolves nothing by itself; that is the part of a [hostedspf.Scheduler] on the same store.
	HostedSPF hostedspf.Store
	// SPFZone is the zone that the bundled name server serves, as in [hostedspf.Access]; zero if it serves none.
	SPFZone diag.Name
	// NotifySPF, if set, is called with what a request did to a hosted SPF profile, after it was stored.
	NotifySPF func(hostedspf.Event)
	// TrustedProxies are the peers whose X-Forwarded-For and Forwarded are believed.
	TrustedProxies []netip.Prefix
	// Pages answers for what browsers ask for outside of the API, such as [pages.Handler]. Nil means none.
	//
	// [pages.Handler]: https://pkg.go.dev/github.com/diagkit/diagkit/httpapi/pages#Handler
	Pages http.Handler
	// MaxRunning bounds the diagnostics that run at once. 0 means DefaultMaxRunning.
	MaxRunning int
	// Memory bounds what diagnostics hold together, in bytes, as far as their weights in the table
	// tell; a quarter more is for the bodies of requests. One key may take a quarter of it, and at most
	// 128 MiB. What does not fit waits for a while, and is then refused. 0 means DefaultMemory.
	Memory int64
	// Log hears of every request at level debug and of internal errors at level error. Nil means
	// silence. No secret and no content of a request is ever logged.
	Log *slog.Logger
	// Observe is called after each reply, for metrics. It must not block. Nil means no metrics.
	Observe func(Observation)
}

// An Observation is what metrics may know of one request. All its values come from bounded sets.
type Observation struct {
	Endpoint string // the row's ID, "openapi", "pages", or "unknown" where no row matched
	Code     string // "OK", or the error code
	Status   int    // of HTTP
	Plan     string // of the caller, empty before it is known
	Credits  int64  // charged
	Replay   bool   // a kept reply was sent again
	// Deprecated is what the caller should stop to use: the scope, "operation" for the row itself, or nothing.
	Deprecated string

	Duration time.Duration // from the first byte read to the last one written
}

// server is the handler behind Config.
type server struct {
	Config
	clock     func() time.Time
	log       *slog.Logger
	limiter   *metering.IPLimiter
	unseen    *metering.IPLimiter             // of what may be a good key, once an address has no token left
	memory    *budget                         // of diagnostics
	bodies    *budget                         // of what is read before they run
	proxySeen sync.Once                       // that a proxy is in front which nobody named
	routes    map[string]map[string]*Endpoint // path to method to row

	rates  atomic.Pointer[rateTexts] // of the plan that asked last
	outage outage

	patterns []pattern // the rows whose path has parameters
}

// Handler serves every endpoint and the OpenAPI document. It panics without a Gate: that is a fault
// of the program, seen at start. An [http.Server] with DisableGeneralOptionsHandler leaves OPTIONS * to it too.
func Handler(c Config) http.Handler { return newServer(c, endpoints) }

func newServer(c Config, table []Endpoint) *server {
	if c.Gate == nil {
		panic("httpapi: Config.Gate is nil")
	}
	s := &server{Config: c, clock: c.Clock, log: c.Log, routes: map[string]map[string]*Endpoint{}}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.MaxRunning == 0 {
		s.MaxRunning = defaultMaxRunning
	}
	if s.Memory == 0 {
		s.Memory = DefaultMemory
	}
	s.memory, s.bodies = newBudget(s.Memory, s.MaxRunning), newBudget(s.Memory/shares, 0)
	if s.IPRate == 0 {
		s.IPRate = DefaultIPRate
	}
	if s.IPRate > 0 {
		s.limiter = &metering.IPLimiter{Limit: s.IPRate, Window: time.Minute}
		s.unseen = &metering.IPLimiter{Limit: max(1, s.IPRate/unseenShare), Window: time.Minute}
	}
	if s.HostedSPF == nil {
		s.HostedSPF = hostedmemory.New(hostedmemory.Config{Clock: s.clock})
	}
	for _, ep := range table {
		row := ep.check()
		row.op.id = ep.ID()
		s.methodsAt(Prefix + ep.Path)[ep.Method] = row
	}
	return s
}

const openapiPath = Prefix + "/openapi.json"

// ServeHTTP implements [http.Handler].
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{server: s, w: w, r: r, fields: w.Header(), began: s.clock(), id: metering.NewRequestID()}
	x.header("X-Request-Id", x.id)
	x.header("Cache-Control", "no-store") // replies are what one customer paid for
	if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
		// A request may have had a Content-Length too, of which net/http tells nothing: then the connection
		// must be closed (RFC 9112 section 6.1), since others may have seen another end of it.
		x.header("Connection", "close")
	}
	defer x.finish()
	if f := x.serve(); f != nil {
		x.refuse(f)
	}
}

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
