package httpapi

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	hostedmemory "github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

const (
	// DefaultIPRate is how many requests a minute an address may send before it has presented a good key.
	DefaultIPRate = budget.DefaultIPRate
	// DefaultMemory bounds what running operations hold together, in bytes.
	DefaultMemory = budget.DefaultMemory
)

// unseenShare is the part of an address's requests that may still show a key with the right checksum.
var unseenShare = int(budget.Of(budget.Strangers).Network / budget.Of(budget.UnseenKeys).Network)

// Config configures the API. Only Gate is required.
type Config struct {
	// Gate admits requests, holds their price and charges for them. New panics without one.
	Gate *metering.Gate
	// Endpoints are custom operations, served like those of the public API and next to them: with the same router,
	// decoding, metering, refusals and OpenAPI document. Nil means none. New panics if a row cannot be served, with
	// its name and the reason: its path is taken, keys cannot have its scope (see [metering.Scopes]), or a type
	// cannot be carried.
	Endpoints []Endpoint
	// Env is the world that diagnostics see. Nil is the real one.
	Env *diag.Env
	// PublicURL is the URL at which clients reach the handler, without a final slash, or only its path: of a handler
	// that [http.StripPrefix] mounts below /tools that is "/tools", or "https://www.example.com/tools". The OpenAPI
	// document names it as the server, and refusals name paths with it. Empty means the root of the host.
	PublicURL string
	// Authenticate replaces API keys in requests, such as by session cookies: it returns the ID of the key for which a
	// request acts. Scopes, rate, allowlist and credits are those of that key, whose secret is not needed. An empty ID
	// is answered with 401, an error that wraps [metering.ErrUnavailable] with 503, any other error with 500. Cookies
	// are also sent with requests of pages of other origins: see [http.CrossOriginProtection]. Nil means that requests
	// carry API keys, as Authorization: Bearer.
	Authenticate func(*http.Request) (metering.KeyID, error)
	// Clock returns the time of requests. Nil is the wall clock.
	Clock func() time.Time
	// IPRate is how many requests a minute one address (a /32 or a /64) may send that do not present a good key. An
	// address that exceeds it may go on with a good API key, but not by Authenticate. 0 means
	// DefaultIPRate, a negative number no limit.
	IPRate int
	// HostedSPF keeps the hosted SPF profiles. Nil means an empty store in memory: no key has a profile. The server
	// does not close it, and resolves nothing by itself; that is the part of a [hostedspf.Scheduler] on the same store.
	HostedSPF hostedspf.Store
	// SPFZone is the zone that the bundled name server serves, as in [hostedspf.Access]; zero if it serves none.
	SPFZone diag.Name
	// NotifySPF is called with each change of a hosted SPF profile by a request, after it was stored. Nil means that
	// no one is notified.
	NotifySPF func(hostedspf.Event)
	// TrustedProxies are the peers whose X-Forwarded-For and Forwarded headers are trusted. Nil trusts none.
	TrustedProxies []netip.Prefix
	// Pages answers browsers' requests outside of the API, such as [pages.Handler]. Nil means none.
	//
	// [pages.Handler]: https://pkg.go.dev/github.com/diagkit/diagkit/httpapi/pages#Handler
	Pages http.Handler
	// Budget bounds what accounts and keys hold. Parts outside the API draw on the same one. Nil means one of the
	// API's own, sized by Memory and MaxRunning.
	Budget *budget.Budget
	// MaxRunning bounds the diagnostics that run concurrently. 0 means 2048.
	MaxRunning int
	// Memory bounds the memory of all running diagnostics, in bytes, by the figures of the table; a quarter more is for
	// the bodies of requests. One key may take a quarter of it, and at most 128 MiB, one account half of it, and at
	// most 256 MiB. A request that does not fit waits for a while, and is then refused. 0 means DefaultMemory.
	Memory int64
	// Log receives every request at level debug and internal errors at level error. Nil disables logging. No secret
	// and no content of a request is ever logged.
	Log *slog.Logger
	// Observe is called after each reply, for metrics. It must not block. Nil means no metrics.
	Observe func(Observation)
}

// An API serves every endpoint and the OpenAPI document, and runs operations for parts of the same program that act for
// an account, such as watches and a dashboard.
type API struct{ server *server }

// New returns the API. It panics without a Gate, and where one of Config.Endpoints cannot be served: those are faults
// of the program, seen at start. An [http.Server] with DisableGeneralOptionsHandler leaves OPTIONS * to it too.
func New(c Config) *API { return &API{newServer(c, Endpoints())} }

// Handler returns the API of [New] as a handler, for programs that need nothing else of it.
func Handler(c Config) http.Handler { return New(c) }

// Endpoints returns the table that the API serves: that of the public API, followed by Config.Endpoints. The caller
// owns it.
func (a *API) Endpoints() Table { return slices.Clone(a.server.table) }

// ServeHTTP implements [http.Handler].
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.server.ServeHTTP(w, r) }

// server is the handler behind Config.
type server struct {
	Config
	clock        func() time.Time
	log          *slog.Logger
	limiter      *metering.IPLimiter
	unseenKeys   *metering.IPLimiter             // for possible good keys, once an address has no token left
	proxyWarning sync.Once                       // logs a proxy that is not configured
	routes       map[string]map[string]*Endpoint // path to method to row

	outage outage

	lastPolicy atomic.Pointer[policyTexts]

	patterns []pattern // the rows whose path has parameters

	table    Table        // all rows
	document func() *File // the OpenAPI document
}

func newServer(c Config, table Table) *server {
	if c.Gate == nil {
		panic("httpapi: Config.Gate is nil")
	}
	s := &server{Config: c, clock: c.Clock, log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)),
		routes: map[string]map[string]*Endpoint{}}
	if s.clock == nil {
		s.clock = time.Now
	}
	s.IPRate = cmp.Or(c.IPRate, DefaultIPRate)
	if s.Budget == nil {
		s.Budget = budget.New(budget.Config{Memory: c.Memory, Running: c.MaxRunning})
	}
	if s.IPRate > 0 {
		s.limiter = &metering.IPLimiter{Limit: s.IPRate, Window: time.Minute}
		s.unseenKeys = &metering.IPLimiter{Limit: max(1, s.IPRate/unseenShare), Window: time.Minute}
	}
	if s.HostedSPF == nil {
		s.HostedSPF = hostedmemory.New(hostedmemory.Config{Clock: s.clock})
	}
	s.table = table
	for _, ep := range c.Endpoints {
		s.table = s.table.add(ep)
	}
	for _, ep := range s.table {
		row := ep.mustBeServable()
		row.Operation.id = ep.ID()
		methods := s.methodsAt(Prefix + ep.Path)
		methods[ep.Method] = row
		if ep.Method == http.MethodGet {
			methods[http.MethodHead] = row // RFC 9110 section 9.1; the same operation, at the same price
		}
	}
	s.document = documentFunc(Endpoints(c.Endpoints...), c.PublicURL, c.Authenticate != nil)
	return s
}

// ServeHTTP implements [http.Handler].
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.serve(w, r, r)
}
