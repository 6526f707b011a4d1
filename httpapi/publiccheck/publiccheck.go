// Package publiccheck lets visitors check a domain without an account: by the same checks as the command diag DOMAIN,
// free of charge and within bounds.
//
//	checks := publiccheck.New(publiccheck.Config{API: api})
//	mux.Handle("/check", checks)
//
// POST /check with the form field "domain" starts a check, and leads to GET /check?domain=example.com, which shows its
// progress and then its result. A GET starts nothing, so that crawlers, previews of links and images in foreign pages
// cause no work: without a recent result it shows a button.
//
// The service is public, so everything has a bound of package budget: how many checks a network starts in an hour, how
// many run, and the memory of results. A check has a deadline, and ends early if nobody waits for it. Visitors who ask
// for the same domain share one check, and for some minutes its result; nothing is stored of who asked. Connections
// pass the guard of the API's Env, and names that have a meaning in private networks alone are refused.
//
// The pages load style sheet, script and icon from package pages, and lead to package dashboard on the same server.
package publiccheck

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

// Config configures the check. Only API is required.
type Config struct {
	// API runs the checks, in its world and within its memory.
	API *httpapi.API
	// Budget bounds the checks, in all and for each network. Nil means one of its own.
	Budget *budget.Budget
	// TrustedProxies are the peers whose X-Forwarded-For and Forwarded headers are trusted, for the bounds of
	// networks.
	TrustedProxies []netip.Prefix
	// PublicURL is the server's URL for browsers, an origin that forms may come from, as in a dashboard. Empty means
	// the host of the request alone.
	PublicURL string
	// Clock returns the time. Nil means time.Now.
	Clock func() time.Time
	// Log receives faults of the server. Nil disables logging.
	Log *slog.Logger
}

const (
	// maxRunTime bounds a check: the longest operation of it takes 30 seconds.
	maxRunTime = 35 * time.Second
	// idleTime is after how long a check ends that nobody asks for: its page asks more often.
	idleTime = 8 * time.Second
	// resultLifetime is how long a result is shown before the domain can be checked again, and failureLifetime how long
	// the lack of one.
	resultLifetime  = 10 * time.Minute
	failureLifetime = time.Minute
	// waitTime is how long a page waits for the result before it shows the progress.
	waitTime = 3 * time.Second
	// refreshTime is how often the page of a check that runs is loaded again.
	refreshTime = 2 * time.Second
	// busyTime is when a visitor should try again who found all places taken.
	busyTime = 10 * time.Second
)

// maxResultBytes bounds the memory of all results.
var maxResultBytes = int(budget.Of(budget.PublicPages).All)

// A Handler serves the check. Make one with [New].
type Handler struct {
	Config
	mux     httpapi.Mux
	origins *http.CrossOriginProtection // refuses forms of other sites
	ctx     context.Context             // of checks
	stop    context.CancelFunc
	pending diag.Group // checks that run

	mu      sync.Mutex
	results map[string]*result // by domain
	bytes   int                // of them
	sweptAt time.Time
}

// New returns the check. It panics without an API, and with an invalid PublicURL: those are faults of the program.
func New(c Config) *Handler {
	if c.API == nil {
		panic("publiccheck: Config.API is nil")
	}
	h := &Handler{Config: c, results: map[string]*result{}, origins: http.NewCrossOriginProtection()}
	if c.PublicURL != "" {
		if err := h.origins.AddTrustedOrigin(c.PublicURL); err != nil {
			panic("publiccheck: Config.PublicURL: " + err.Error())
		}
	}
	if h.Budget == nil {
		h.Budget = budget.New(budget.Config{})
	}
	h.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	h.ctx, h.stop = context.WithCancel(context.Background())
	h.mux.HandleFunc("GET /check", h.show)
	h.mux.HandleFunc("POST /check", h.start)
	return h
}

// Close ends the checks that run.
func (h *Handler) Close() {
	h.mu.Lock()
	h.stop() // from here on none is started
	h.mu.Unlock()
	h.pending.Wait()
}

// Patterns returns those of its pages, as [httpapi.Mux] has them.
func (h *Handler) Patterns() []string { return h.mux.Patterns() }

func (h *Handler) now() time.Time { return metering.Now(h.Clock) }
