// Package dashboard serves the pages on which the members of an account manage it: keys, usage, activity, billing,
// channels, members, sessions, the log of changes, watched domains, and a playground. [New] makes its handler:
//
//	pages := dashboard.New(dashboard.Config{Store: store, API: api, PublicURL: "https://api.example.com"})
//	mux.Handle("/dashboard/", pages)
//
// It answers for /dashboard, all below it, /r/{token}, where results are shared, and /badge/DOMAIN.svg, which shows the
// state of a shared result in other pages.
//
// Pages are html/template, one style sheet, and no script. Every page is a row of one table: who may see it, what it
// shows, and for changes their name in the log. All actions of a page use the functions behind the commands of diagd,
// and each change is a row of the log before it is made (see [metering.Audited]).
//
// Members sign in by a single-use link, which the operator makes or the server mails, or by a header of a trusted
// proxy; see package member. Requests that change something are refused when they come from a foreign origin
// ([http.CrossOriginProtection]), and what belongs to another account is not found.
package dashboard

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/member"
)

// Config configures the dashboard. Only Store and API are required.
type Config struct {
	Store metering.Store
	API   *httpapi.API

	Plans     metering.Prices // nil means metering.DefaultPlans
	Env       *diag.Env       // the world that checks see; nil is the real one
	HostedSPF hostedspf.Store // nil means that the page of hosted SPF is not there
	// SPFZone is the zone in which profiles that members create get their names; zero means that only the operator
	// creates them. SPFAccess has Zone and Notify for what is done to them.
	SPFZone   diag.Name
	SPFAccess hostedspf.Access
	Watches   *watch.Watches   // nil means those of Store, which are run elsewhere
	Activity  *Activity        // the recent requests; nil means that the page shows charges alone
	Budget    *budget.Budget   // of the server; nil means one of its own
	Clock     func() time.Time // nil means time.Now
	Doubt     func() error     // while it is an error, nothing is forgotten; nil: the clock is always believed
	Log       *slog.Logger     // receives internal errors; nil disables logging

	// Secure means that browsers reach the server by TLS, also if a proxy terminates it. Cookies depend on it.
	Secure bool
	// PublicURL is the server's URL for browsers, such as https://api.example.com, without a final slash. Links in
	// mails begin with it, and it is an origin that forms may come from, also where a proxy changes the name of the
	// host.
	PublicURL string
	// Mail sends sign-in links. Nil means that visitors cannot request one.
	Mail func(ctx context.Context, to, subject, text string) error
	// TrustedProxies are the peers whose X-Forwarded-For, Forwarded and TrustedUserHeader are trusted.
	TrustedProxies []netip.Prefix
	// TrustedUserHeader is the header in which such a proxy names the e-mail address of the member that it has let
	// through. Empty means none.
	TrustedUserHeader string

	// OwnersEditInvoices lets owners void and credit invoices of their account, for servers whose accounts all
	// belong to one organization: elsewhere a customer could declare his own invoice void.
	OwnersEditInvoices bool
	// Seller is the name and address of the operator, as invoices have it, in lines. Empty leaves it out.
	Seller string
	// AllowHTTP and Ports are those of the Channels of package notify.
	AllowHTTP bool
	Ports     []uint16
}

// A dashboard is the handler behind Config.
type dashboard struct {
	Config
	endpoints httpapi.Table // of the API
	pages     []*page
	notices   map[string]string // messages that a page may show about the last action, by the word in its address
	mux       httpapi.Mux
	origins   *http.CrossOriginProtection // refuses requests that a foreign page triggers
	templates func() *template.Template
	sumCache  sumCache
}

//go:embed templates
var files embed.FS

// New returns the dashboard. It panics without a store or an API, and with an invalid PublicURL: those are faults of
// the program, detected at start.
func New(c Config) http.Handler {
	if c.Store == nil || c.API == nil {
		panic("dashboard: Config.Store or Config.API is nil")
	}
	if c.Plans == nil {
		c.Plans = metering.DefaultPlans()
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	d := &dashboard{Config: c, endpoints: c.API.Endpoints(), notices: map[string]string{},
		origins: http.NewCrossOriginProtection()}
	if d.Budget == nil {
		d.Budget = budget.New(budget.Config{})
	}
	if c.PublicURL != "" {
		if err := d.origins.AddTrustedOrigin(c.PublicURL); err != nil {
			panic("dashboard: Config.PublicURL: " + err.Error())
		}
	}
	if c.Watches == nil {
		d.Watches = watch.New(watch.Config{Store: c.Store, Plans: c.Plans, Clock: d.now, Doubt: c.Doubt, Log: c.Log,
			Endpoints: d.endpoints[len(httpapi.Endpoints()):]})
	}
	d.templates = sync.OnceValue(func() *template.Template {
		return ui.Templates(d.templateFuncs(), files, "templates/*.html")
	})
	d.pages = append(d.pageTable(), &page{title: "Page not found", show: func(*http.Request) (any, error) {
		return nil, metering.ErrNotFound
	}})
	for _, p := range d.pages {
		d.mux.HandleFunc(strings.TrimSpace(p.method+" "+cmp.Or(p.pattern, "/")), d.serve(p))
		if p.doneText != "" {
			d.notices[noticeName(p.action)] = p.doneText
		}
	}
	d.mux.Handle("GET /dashboard/style.css", httpapi.NewFile("text/css; charset=utf-8", ui.Style()))
	d.mux.Handle("GET /dashboard/script.js", httpapi.NewFile("text/javascript; charset=utf-8", ui.Script()))
	d.mux.Handle("GET /dashboard/icon.svg", httpapi.NewFile("image/svg+xml", ui.Icon()))
	return d
}

// ServeHTTP implements [http.Handler].
func (d *dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", ui.ScriptPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	if target := cleanPath(r.URL); isRead && target != "" {
		w.Header().Set("Location", target)
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	d.mux.ServeHTTP(w, r)
}

// cleanPath returns the target of a redirect for a path of ours with superfluous slashes, or "" for other paths. A path
// whose encoding matters is never redirected: decoded, it might lead to another site.
func cleanPath(u *url.URL) string {
	clean := path.Clean(u.Path)
	isOurs := strings.HasPrefix(clean+"/", "/dashboard/") || strings.HasPrefix(clean, "/r/") ||
		strings.HasPrefix(clean, "/badge/")
	if clean == u.Path || !isOurs || u.RawPath != "" {
		return ""
	}
	return (&url.URL{Path: clean, RawQuery: u.RawQuery}).String() // in which no character leads elsewhere
}

// Patterns are those of all pages and files, as [httpapi.Mux] has them.
func (d *dashboard) Patterns() []string { return d.mux.Patterns() }

func (d *dashboard) now() time.Time { return metering.Now(d.Clock) }

// members are the members, their links and their sessions.
func (d *dashboard) members() member.Members {
	return member.Members{Store: d.Store, Clock: d.now}
}

func (d *dashboard) admin() metering.Admin {
	return metering.Admin{Store: d.Store, Plans: d.Plans, Clock: d.now}
}

func stateOf(r *http.Request) *requestState {
	return r.Context().Value(requestStateKey{}).(*requestState)
}

// runParallel runs independent functions concurrently, and joins their errors.
func runParallel(functions ...func() error) error {
	errs := make([]error, len(functions))
	var all diag.Group
	for i, f := range functions {
		all.Go(func() { errs[i] = f() })
	}
	all.Wait()
	return errors.Join(errs...)
}
