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
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
)

// Config says what the dashboard works with. Only Store and API are required.
type Config struct {
	Store metering.Store
	API   *httpapi.API

	Plans     metering.Prices  // nil means metering.DefaultPlans
	Env       *diag.Env        // the world that checks see; nil is the real one
	HostedSPF hostedspf.Store  // nil means that the page of hosted SPF is not there
	Watches   *watch.Watches   // nil means those of Store, which are run elsewhere
	Activity  *Activity        // what it remembers of requests; nil means that the page shows charges alone
	Clock     func() time.Time // nil means time.Now
	Doubt     func() error     // while it is an error, nothing is forgotten; nil: the clock is always believed
	Log       *slog.Logger     // hears of internal errors; nil means silence

	// Secure says that browsers reach the server by TLS, also where a proxy ends it. Cookies depend on it.
	Secure bool
	// PublicURL is where browsers reach the server, such as https://api.example.com, without a slash at the end. Links in
	// mails begin with it, and it is an origin that forms may come from, also where a proxy changes the name of the host.
	PublicURL string
	// Mail sends links for entering. Nil means that nobody can ask for one.
	Mail func(ctx context.Context, to, subject, text string) error
	// TrustedProxies are the peers whose X-Forwarded-For, Forwarded and TrustedUserHeader are believed.
	TrustedProxies []netip.Prefix
	// TrustedUserHeader is the header in which such a proxy names the e-mail address of the member that it has let
	// through. Empty means none.
	TrustedUserHeader string

	// OwnersMend lets owners void and credit invoices of their account, for servers whose accounts are all of one house:
	// elsewhere a customer could declare his own invoice void.
	OwnersMend bool
	// AllowHTTP and Ports are those of [notify.Channels].
	//
	// [notify.Channels]: https://pkg.go.dev/github.com/diagkit/diagkit/metering/notify#Channels
	AllowHTTP bool
	Ports     []uint16
}

// A dashboard is the handler behind Config.
type dashboard struct {
	Config
	pages     []*page
	mux       *http.ServeMux
	origins   *http.CrossOriginProtection // refuses what a foreign page has a browser send
	style     *httpapi.File
	icon      *httpapi.File
	templates func() *template.Template
	attempts  *attempts
	tallies   tallies
}

// A page is a row of the table of all pages.
type page struct {
	method, pattern string      // "" is GET
	role            member.Role // that a member needs; "" for anybody, without a session
	title           string
	nav             string // what the navigation calls it; "" where that does not have it

	// A page shows data by a template, or handles the request itself.
	template string
	show     func(r *http.Request) (any, error)
	handle   func(w http.ResponseWriter, r *http.Request) error

	// The following is of what changes something. It does so and says where to go on, with a notice there, or handles the
	// request itself. If the form has faults, the page that it stands on is shown again.
	do     func(r *http.Request) (to string, err error)
	notice string
	act    string   // what the log calls it; "" for what administers nothing
	fields []string // of the form, which the log may hold
	quiet  []string // of the form, which it must not
	body   int64    // bounds the body, which handle reads; 0: a form, which is read before

	again func(w http.ResponseWriter, r *http.Request) error // shows the page of the form instead of show
}

// with is a page and what its forms do.
func (p *page) with(forms ...*page) []*page {
	for _, f := range forms {
		f.method, f.title, f.template, f.show = http.MethodPost, p.title, p.template, p.show
	}
	return append([]*page{p}, forms...)
}

//go:embed templates assets
var files embed.FS

// New returns the dashboard. It panics without a store or an API, and with a PublicURL that is none: those are faults of
// the program, seen at start.
func New(c Config) http.Handler {
	if c.Store == nil || c.API == nil {
		panic("dashboard: Config.Store or Config.API is nil")
	}
	return newDashboard(c)
}

func newDashboard(c Config) *dashboard {
	if c.Plans == nil {
		c.Plans = metering.DefaultPlans()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	d := &dashboard{Config: c, mux: http.NewServeMux(), attempts: newAttempts(), origins: http.NewCrossOriginProtection()}
	if c.PublicURL != "" {
		if err := d.origins.AddTrustedOrigin(c.PublicURL); err != nil {
			panic("dashboard: Config.PublicURL: " + err.Error())
		}
	}
	if c.Watches == nil {
		d.Watches = watch.New(watch.Config{Store: c.Store, Plans: c.Plans, Clock: d.now, Doubt: d.doubt, Log: c.Log})
	}
	d.templates = sync.OnceValue(func() *template.Template {
		return template.Must(template.New("").Funcs(d.functions()).ParseFS(files, "templates/*.html"))
	})
	style, _ := files.ReadFile("assets/style.css") // which are embedded
	icon, _ := files.ReadFile("assets/icon.svg")
	d.style = httpapi.NewFile("text/css; charset=utf-8", append([]byte(render.Style), style...))
	d.icon = httpapi.NewFile("image/svg+xml", icon)
	d.pages = slices.Concat(d.domainPages(), d.playgroundPages(), d.keyPages(), d.usagePages(), d.activityPages(),
		d.billingPages(), d.channelPages(), d.spfPages(), d.memberPages(), d.sessionPages(), d.logPages(), d.entryPages(),
		d.sharePages())
	for _, p := range d.pages {
		p.method = cmp.Or(p.method, http.MethodGet)
		d.mux.HandleFunc(p.method+" "+p.pattern, d.serve(p))
	}
	d.mux.Handle("GET /dashboard/style.css", d.style)
	d.mux.Handle("GET /dashboard/icon.svg", d.icon)
	d.mux.HandleFunc("/", d.serve(&page{title: "Page not found", handle: func(http.ResponseWriter, *http.Request) error {
		return metering.ErrNotFound
	}}))
	return d
}

// policy lets a page have what is served beside it, and nothing else.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'"

// ServeHTTP implements [http.Handler].
func (d *dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if clean := path.Clean(r.URL.Path); reads && clean != r.URL.Path {
		http.Redirect(w, r, clean, http.StatusMovedPermanently)
		return
	}
	if err := d.origins.Check(r); err != nil {
		d.serve(&page{title: "Refused", handle: func(w http.ResponseWriter, r *http.Request) error {
			return d.renderStatus(w, r, http.StatusForbidden, "error",
				problem{"Refused", "This request comes from another site. Go back to the dashboard and try again there."})
		}})(w, r)
		return
	}
	d.mux.ServeHTTP(w, r)
}

// now is the time, in UTC and cut to the microsecond as stores keep it.
func (d *dashboard) now() time.Time {
	if d.Clock == nil {
		return time.Now().UTC().Truncate(time.Microsecond)
	}
	return d.Clock().UTC().Truncate(time.Microsecond)
}

// doubt says why the clock may not be believed now; nil if it may.
func (d *dashboard) doubt() error {
	if d.Doubt == nil {
		return nil
	}
	return d.Doubt()
}

// people are the members, their links and their sessions.
func (d *dashboard) people() member.Members {
	return member.Members{Store: d.Store, Clock: d.now}
}

func (d *dashboard) admin() metering.Admin {
	return metering.Admin{Store: d.Store, Plans: d.Plans, Clock: d.now}
}

// A scene is a request on its way through a page.
type scene struct {
	page    *page
	visitor *visitor // nil for pages that anybody may see
	form    *form
	status  int // of the reply
	from    netip.Addr
}

type sceneKey struct{}

func sceneOf(r *http.Request) *scene { return r.Context().Value(sceneKey{}).(*scene) }

// maxForm bounds the body of a form that administers something.
const maxForm = 64 << 10

// serve answers for a page: who may see it, what it shows, and how what goes wrong is told.
func (d *dashboard) serve(p *page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		s := &scene{page: p, form: &form{}, status: http.StatusOK, from: httpapi.ClientIP(r, d.TrustedProxies)}
		r = r.WithContext(context.WithValue(r.Context(), sceneKey{}, s))
		if p.role != "" {
			v, err := d.visit(w, r)
			if errors.Is(err, metering.ErrNotFound) {
				d.see(w, r, enterPath(r), "")
				return
			}
			if errors.Is(err, errTooMany) {
				err = d.tooMany(w, r)
			}
			if err != nil {
				d.fail(w, r, err)
			}
			if v == nil {
				return
			}
			if s.visitor = v; !v.May(p.role) {
				d.forbid(w, r)
				return
			}
		}
		if err := d.answer(w, r, p); err != nil {
			d.fail(w, r, err)
		}
	}
}

// answer has a page do what it does. What changes something is a row of the log before.
func (d *dashboard) answer(w http.ResponseWriter, r *http.Request, p *page) error {
	s := sceneOf(r)
	if p.method != http.MethodPost {
		return d.display(w, r, p)
	}
	limit := max(p.body, maxForm)
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	if p.body == 0 {
		if err := r.ParseForm(); err != nil {
			return d.renderStatus(w, r, http.StatusBadRequest, "error",
				problem{"Form not understood", "The form could not be read. Go back and send it again."})
		}
		s.form = newForm(r.PostForm, slices.Concat(p.fields, p.quiet))
	}
	var to string
	do := func(ctx context.Context) (err error) {
		if p.do == nil {
			return p.handle(w, r.WithContext(ctx))
		}
		to, err = p.do(r.WithContext(ctx))
		return err
	}
	var err error
	if p.act == "" || s.visitor == nil {
		err = do(r.Context())
	} else {
		err = metering.Acting(r.Context(), d.Store, d.deed(r, p), do)
	}
	switch {
	case (p.again != nil || p.show != nil) && s.form.refused(err):
		s.status = http.StatusUnprocessableEntity
		return d.display(w, r, p)
	case err == nil && p.do != nil:
		d.see(w, r, to, p.notice)
	}
	return err
}

// display shows a page, or that of a form again.
func (d *dashboard) display(w http.ResponseWriter, r *http.Request, p *page) error {
	if p.again != nil {
		return p.again(w, r)
	}
	if p.show == nil {
		return p.handle(w, r)
	}
	data, err := p.show(r)
	if err != nil {
		return err
	}
	return d.render(w, r, p.template, data)
}

// deed is the row of the log for a form that was sent.
func (d *dashboard) deed(r *http.Request, p *page) metering.Act {
	s := sceneOf(r)
	a := metering.Act{Account: s.visitor.Account.ID, At: d.now(), Who: s.visitor.Email, From: s.from.String(), What: p.act}
	var ids, told []string
	for _, name := range pathNames(p.pattern) {
		ids = append(ids, r.PathValue(name))
	}
	for _, name := range p.fields {
		if value := strings.Join(r.PostForm[name], ","); value != "" {
			told = append(told, name+"="+value)
		}
	}
	a.Subject, a.Detail = strings.Join(ids, " "), strings.Join(told, " ")
	return a
}

// pathNames are the names of the parts of a path that differ.
func pathNames(pattern string) (names []string) {
	for part := range strings.SplitSeq(pattern, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(strings.TrimSuffix(name, "}"), "..."))
		}
	}
	return names
}

// together does independent things at once, and joins their errors.
func together(do ...func() error) error {
	faults := make([]error, len(do))
	var all sync.WaitGroup
	for i, f := range do {
		all.Go(func() { faults[i] = f() })
	}
	all.Wait()
	return errors.Join(faults...)
}

// redirectable is what may stand in a header: a path below /dashboard of this very site.
func redirectable(to string) bool {
	odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }
	return strings.HasPrefix(to, "/dashboard") && !strings.Contains(to, "//") && !strings.ContainsFunc(to, odd)
}
