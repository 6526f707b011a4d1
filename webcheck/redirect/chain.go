package redirect

import (
	_ "embed" // shorteners.txt
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/idn"
	"github.com/diagkit/diagkit/webcheck/hsts"
	"github.com/diagkit/diagkit/webcheck/internal/page"
	"golang.org/x/net/publicsuffix"
)

// evidence is the input of the rules.
type evidence struct {
	start diag.URL
	limit int  // of redirects
	head  bool // the method is HEAD
	now   time.Time

	result *fetch.Result
	secure *fetch.Result // of its end over HTTPS, see trySecure; nil if that was not asked for

	steps    []step
	domains  []string
	location *locationFault // of the last hop; nil without one

	page             *page.Page
	pageHop          int         // index of the hop that it is of
	script           string      // where its scripts seem to lead
	later            *fetch.Lead // the refresh of the last document that was asked for one
	ignored          string      // where a refresh of it leads that browsers ignore
	title, canonical string
}

// A step is a hop with its meaning for the chain.
type step struct {
	hop       *fetch.Hop
	url       diag.URL
	site      string // registrable domain of the host, or the host itself
	tracking  []string
	cookies   []string
	shortener string
	script    string
	hsts      bool
	upgraded  bool
	forwards  string // query parameter that names the target
}

func (e *evidence) examine() {
	secure := map[string]bool{} // hosts that browsers visit over https only; true: and those below
	e.domains = []string{}
	for i := range e.result.Hops {
		s := newStep(&e.result.Hops[i])
		s.upgraded = s.url.Scheme() == "http" && pinned(secure, s.url.Host())
		if h := s.policy(); h != nil {
			s.hsts = *h.MaxAge > 0
			secure[s.url.Host().Name()] = h.IncludeSubdomains
			if !s.hsts {
				delete(secure, s.url.Host().Name())
			}
		}
		e.steps = append(e.steps, s)
		e.visit(s.url)
	}
	e.visit(e.result.URL)
	e.readLocation()
	e.readPage()
}

func newStep(h *fetch.Hop) step {
	u, _ := diag.ParseURL(h.URL) // it was made of a URL
	s := step{hop: h, url: u, site: site(u.Host()), tracking: []string{}, cookies: h.Cookies()}
	s.tracking = append(s.tracking, trackingParameters(u)...)
	if d, ok := u.Host().Domain(); ok {
		s.shortener = shortener(d)
	}
	s.forwards = forwarding(&s)
	return s
}

// policy returns the HSTS policy of a hop, or nil if browsers see none (RFC 6797 section 8.1): it must
// come over https, without any error of TLS, from a host with a name.
func (s *step) policy() *hsts.Header {
	values := s.hop.Header.Values("Strict-Transport-Security")
	if _, named := s.url.Host().Domain(); !named || len(values) == 0 || s.hop.TLS == nil || s.hop.TLS.Err() != nil {
		return nil
	}
	h := hsts.Parse(values[0])
	if !h.Valid() || h.MaxAge == nil {
		return nil
	}
	return h
}

// pinned reports whether a host, or one above it with includeSubDomains, must be visited over https
// (RFC 6797 section 8.2).
func pinned(secure map[string]bool, host diag.Host) bool {
	name := host.Name()
	if _, ok := secure[name]; ok {
		return true
	}
	for _, parent, ok := strings.Cut(name, "."); ok; _, parent, ok = strings.Cut(parent, ".") {
		if secure[parent] {
			return true
		}
	}
	return false
}

func (e *evidence) visit(u diag.URL) {
	if _, ok := u.Host().Domain(); ok && !slices.Contains(e.domains, site(u.Host())) {
		e.domains = append(e.domains, site(u.Host()))
	}
}

// site returns the registrable domain of a host by the list of publicsuffix.org; of a public suffix and
// of an address the host itself.
func site(h diag.Host) string {
	d, ok := h.Domain()
	if !ok {
		return h.Name()
	}
	if org, err := publicsuffix.EffectiveTLDPlusOne(d.String()); err == nil {
		return org
	}
	return d.String()
}

// unicode is the host for people, or nothing if that is the same.
func (s *step) unicode() string {
	d, ok := s.url.Host().Domain()
	if !ok || d.Unicode() == d.String() {
		return ""
	}
	return d.Unicode()
}

// lookalike returns a label of the host that looks like another one, and which, or that mixes scripts.
func lookalike(h diag.Host) (label idn.Label, found bool) {
	d, ok := h.Domain()
	if !ok || !strings.Contains(d.String(), "xn--") {
		return idn.Label{}, false
	}
	r, err := idn.Convert(idn.Request{Domain: d.String()})
	if err != nil {
		return idn.Label{}, false
	}
	for _, l := range r.Labels {
		if l.MixedScript || l.ConfusableWith != "" {
			return l, true
		}
	}
	return idn.Label{}, false
}

func (s *step) redirects() bool { return s.hop.RedirectType != "" }

func (s *step) permanent() bool {
	code := s.hop.StatusCode
	return s.hop.RedirectType == fetch.HTTPRedirect &&
		(code == http.StatusMovedPermanently || code == http.StatusPermanentRedirect)
}

func (s *step) downgrade() bool { return s.url.Scheme() == "https" && s.hop.Target.Scheme() == "http" }

func (s *step) upgrade() bool { return s.url.Scheme() == "http" && s.hop.Target.Scheme() == "https" }

func (s *step) crosses() bool { return !s.hop.Target.IsZero() && site(s.hop.Target.Host()) != s.site }

// last returns the last hop that answered, or nil.
func (e *evidence) last() *step {
	if len(e.steps) == 0 {
		return nil
	}
	return &e.steps[len(e.steps)-1]
}

// end returns the hop at which the chain ended by itself, or nil if it did not.
func (e *evidence) end() *step {
	s := e.last()
	if s == nil || e.result.Err != nil && (s.redirects() || s.hop.URL != e.result.URL.String()) {
		return nil
	}
	return s
}

// failed reports whether the chain ended early for a reason, as a matter of fact.
func (e *evidence) failed(code fetch.Reason) bool {
	return e.result.Err != nil && e.result.Err.Code == code && !e.result.Err.Unanswered
}

// elsewhere reports whether it ended at a URL other than that of the last answer.
func (e *evidence) elsewhere() bool {
	s := e.last()
	return s != nil && s.hop.URL != e.result.URL.String()
}

// followed counts redirects, with the last one if its target was tried.
func (e *evidence) followed() int {
	n := max(0, len(e.steps)-1)
	if e.elsewhere() && !e.failed(fetch.Blocked) {
		n++
	}
	return n
}

func (e *evidence) truncated() bool {
	s := e.last()
	return e.failed(fetch.TooManyRedirects) || e.limit == 0 && s != nil && s.redirects()
}

// stopped reports whether the caller wanted no more redirects to be followed.
func (e *evidence) stopped() bool { return e.truncated() && e.limit < fetch.DefaultRedirects }

// tooLong reports whether the last answer redirects to a URL that is longer than what is read here.
func (e *evidence) tooLong() bool { return e.location != nil && e.location.kind == tooLong }

// cutShort reports whether the end was reached, but not all of its document.
func (e *evidence) cutShort() bool { return e.end() != nil && e.result.Err != nil }

func (e *evidence) permanentOnly() bool {
	n := e.followed()
	return n > 0 && !slices.ContainsFunc(e.steps[:n], func(s step) bool { return !s.permanent() })
}

func (e *evidence) readPage() {
	end := e.end()
	if end == nil || end.redirects() {
		e.later = nil
		return
	}
	if e.later == nil { // it was not to be asked
		e.next(*end.hop, e.result.Body)
	}
	if e.later.Type == "" {
		e.later = nil
	}
	if e.page == nil || e.pageHop != end.hop.Index {
		e.page = nil
		e.read(*end.hop, e.result.Body)
	}
	if e.page == nil {
		return
	}
	end.script = e.script
	for i := range e.page.Metas {
		m := &e.page.Metas[i]
		if _, to, ok := fetch.ParseRefresh(m.Content); ok && m.HTTPEquiv == "refresh" &&
			classify(to, "https").kind == unsafe {
			e.ignored = to
		}
	}
	e.title, _ = e.page.Title()
	if list := e.page.Canonicals(); len(list) > 0 {
		e.canonical = list[0].URL
	}
}

// shorteners are the domains of services that make short URLs, and their names. It was compiled by hand
// from the services' own sites, as known in November 2026; the list of publicsuffix.org knows nothing of
// them, and no authority does.
var shorteners = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(shortenerLines) {
		domain, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[domain] = name
	}
	return all
})

//go:embed shorteners.txt
var shortenerLines string

// shortener returns the name of the URL shortener that a domain belongs to, or nothing.
func shortener(d diag.Domain) string {
	for name := d.String(); name != ""; {
		if s, ok := shorteners()[name]; ok {
			return s
		}
		_, name, _ = strings.Cut(name, ".")
	}
	return ""
}
