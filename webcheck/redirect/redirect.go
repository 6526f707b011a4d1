package redirect

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/page"
)

// A Request asks where a URL leads.
type Request struct {
	URL          string `json:"url" minlen:"1" maxlen:"8192" doc:"http or https URL; without a scheme it is https" example:"https://example.com/"`
	Method       string `json:"method,omitempty" enum:"GET HEAD" default:"GET" doc:"method of the requests; with HEAD there are no documents to read"`
	MaxRedirects *int   `json:"max_redirects,omitempty" default:"10" min:"0" max:"20" doc:"how many redirects are followed"`
	UserAgent    string `json:"user_agent,omitempty" maxlen:"256" doc:"User-Agent of the requests; by default that of this service"`
	FollowMeta   *bool  `json:"follow_meta,omitempty" default:"true" doc:"whether to follow meta refresh and the Refresh header, as browsers do"`
}

// A Report describes where a URL leads, with a verdict on the redirects.
type Report struct {
	URL             string   `json:"url" doc:"the URL as it was given"`
	NormalizedURL   string   `json:"normalized_url" doc:"the URL as it is requested"`
	FinalURL        string   `json:"final_url" doc:"last URL of the chain; with an error, where it ended"`
	FinalStatusCode int      `json:"final_status_code,omitempty" doc:"status at the end of the chain; absent if it was not reached"`
	RedirectCount   int      `json:"redirect_count" min:"0" doc:"how many redirects were followed"`
	Hops            []Hop    `json:"hops" maxitems:"21" doc:"requests that were answered, in order"`
	LoopDetected    bool     `json:"loop_detected" doc:"whether the redirects form a loop"`
	Truncated       bool     `json:"truncated" doc:"whether there are more redirects than were followed"`
	HTTPSUpgrade    bool     `json:"https_upgrade" doc:"whether a redirect leads from http to https"`
	Downgrade       bool     `json:"downgrade" doc:"whether a redirect leads from https to http"`
	CrossDomain     bool     `json:"cross_domain" doc:"whether a redirect leads to another registrable domain"`
	Domains         []string `json:"domains" doc:"registrable domains in the order met, each once"`
	PermanentOnly   bool     `json:"permanent_only" doc:"whether there are redirects and all have status 301 or 308"`
	Final           Final    `json:"final" doc:"what is at the end of the chain"`
	diag.Verdict
	Partial bool        `json:"partial" doc:"whether something could not be learned"`
	Error   fetch.Error `json:"error,omitzero" doc:"why the chain did not reach its end"`
	diag.Timing
}

// A Hop is one request and the header of its response.
type Hop struct {
	fetch.Hop
	HostUnicode        string   `json:"host_unicode,omitempty" doc:"the host for people, if it has characters beyond ASCII"`
	ResolvedLocation   string   `json:"resolved_location,omitempty" doc:"URL to which it leads"`
	Permanent          bool     `json:"permanent" doc:"whether it redirects with status 301 or 308"`
	KeepsMethod        *bool    `json:"keeps_method,omitempty" doc:"whether a POST stays a POST behind this redirect"`
	DelaySeconds       int64    `json:"delay_seconds,omitempty" min:"0" doc:"how long a refresh waits"`
	Downgrade          bool     `json:"downgrade" doc:"whether it leads from https to http"`
	CrossDomain        bool     `json:"cross_domain" doc:"whether it leads to another registrable domain"`
	Shortener          string   `json:"shortener,omitempty" doc:"URL shortener that the host belongs to" example:"Bitly"`
	TrackingParameters []string `json:"tracking_parameters" maxitems:"50" doc:"names of the query parameters that serve tracking"`
	Cookies            []string `json:"cookies" maxitems:"50" doc:"names of the cookies that it sets"`
	HSTS               bool     `json:"hsts" doc:"whether it makes browsers use https for the host from then on"`
	UpgradedByHSTS     bool     `json:"upgraded_by_hsts" doc:"whether browsers use https here because an earlier hop made them"`
	ScriptTarget       string   `json:"script_target,omitempty" doc:"where a script of the page may lead; it was not run"`
	Timing             HopTime  `json:"timing" doc:"how long the parts of the hop took"`
}

// HopTime is the duration of the parts of a hop, in milliseconds.
type HopTime struct {
	DNS       int64  `json:"dns_ms" min:"0" doc:"lookup of the host"`
	Connect   int64  `json:"connect_ms" min:"0" doc:"connection"`
	TLS       *int64 `json:"tls_ms,omitempty" min:"0" doc:"TLS handshake, for https"`
	FirstByte int64  `json:"first_byte_ms" min:"0" doc:"from the request to the head of the answer"`
}

// Final describes the document at the end of a chain.
type Final struct {
	ContentType   string `json:"content_type,omitempty" doc:"Content-Type of the answer"`
	ContentLength *int64 `json:"content_length,omitempty" min:"0" doc:"Content-Length of the answer, in bytes"`
	Title         string `json:"title,omitempty" doc:"title of the page"`
	Canonical     string `json:"canonical,omitempty" doc:"canonical URL that the page names"`
}

// Check follows a URL to its destination. The error is a *[diag.InputError], or that of the context if it
// ended. A dead host, a loop or a target that must not be reached is a result.
func Check(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	ask, err := req.fetch()
	if err != nil {
		return nil, err
	}
	e, err := gather(ctx, env, ask)
	if err != nil {
		return nil, err
	}
	e.examine()
	return e.report(req, env), nil
}

func (r Request) fetch() (fetch.Request, error) {
	var u diag.URL
	if err := u.UnmarshalText([]byte(r.URL)); err != nil {
		return fetch.Request{}, err
	}
	ask := fetch.Request{
		URL: u, Method: r.Method, UserAgent: r.UserAgent, MaxRedirects: fetch.DefaultRedirects, MaxBytes: MaxBytes,
		Header: http.Header{"Accept": {"text/html,application/xhtml+xml,*/*;q=0.8"}},
	}
	switch r.Method {
	case "", http.MethodGet, http.MethodHead:
	default:
		return ask, input.Invalid("method", "%.20q is neither GET nor HEAD", r.Method)
	}
	if r.MaxRedirects != nil {
		ask.MaxRedirects = *r.MaxRedirects
		if ask.MaxRedirects < 0 || ask.MaxRedirects > fetch.MaxRedirects {
			return ask, input.Invalid("max_redirects", "must be from 0 to %d", fetch.MaxRedirects)
		}
	}
	if r.FollowMeta == nil || *r.FollowMeta {
		ask.Next = func(fetch.Hop, []byte) fetch.Lead { return fetch.Lead{} } // see gather
	}
	return ask, nil
}

// Rules describes the rules behind the findings.
func (*Report) Rules() []rule.Description { return rules().Describe() }

func (e *evidence) report(req Request, env *diag.Env) *Report {
	r := &Report{
		URL: req.URL, NormalizedURL: e.start.String(), FinalURL: e.result.URL.String(), RedirectCount: e.followed(),
		Hops: []Hop{}, LoopDetected: e.result.Loop, Truncated: e.truncated(), Domains: e.domains,
		PermanentOnly: e.permanentOnly(), Error: kit.OrZero(e.result.Err),
		Partial: e.result.Err != nil && e.result.Err.Unanswered || e.cutShort() || e.tooLong(),
		Verdict: rules().Judge(e, e.texts()),
	}
	if e.tooLong() {
		r.Error = fetch.Error{} // that is not an error of the chain: see Scope
	}
	for i := range e.steps {
		s := &e.steps[i]
		r.HTTPSUpgrade = r.HTTPSUpgrade || s.upgrade()
		r.Downgrade = r.Downgrade || s.downgrade()
		r.CrossDomain = r.CrossDomain || s.crosses()
		r.Hops = append(r.Hops, s.report())
	}
	if end := e.end(); end != nil {
		r.FinalStatusCode = end.hop.StatusCode
		r.Final = e.final(end)
	}
	r.Timing = diag.NewTiming(e.now, env.Now())
	return r
}

func (e *evidence) final(end *step) Final {
	f := Final{ContentType: printable(end.hop.Header.Get("Content-Type")), Title: e.title, Canonical: e.canonical}
	if n, err := strconv.ParseUint(end.hop.Header.Get("Content-Length"), 10, 63); err == nil {
		f.ContentLength = new(int64(n))
	}
	return f
}

func (s *step) report() Hop {
	h := Hop{
		Hop: *s.hop, HostUnicode: s.unicode(), Permanent: s.permanent(), DelaySeconds: int64(s.hop.After.Seconds()),
		Downgrade: s.downgrade(), CrossDomain: s.crosses(), Shortener: s.shortener, TrackingParameters: s.tracking,
		Cookies: s.cookies, HSTS: s.hsts, UpgradedByHSTS: s.upgraded, ScriptTarget: s.script,
		Timing: HopTime{
			DNS: s.hop.Timing.DNS.Milliseconds(), Connect: s.hop.Timing.Connect.Milliseconds(),
			FirstByte: s.hop.Timing.FirstByte.Milliseconds(),
		},
	}
	if !s.hop.Target.IsZero() {
		h.ResolvedLocation = s.hop.Target.String()
	}
	if s.hop.TLS != nil {
		h.Timing.TLS = new(s.hop.Timing.TLS.Milliseconds())
	}
	if s.hop.RedirectType == fetch.HTTPRedirect {
		code := s.hop.StatusCode
		h.KeepsMethod = new(code == http.StatusTemporaryRedirect || code == http.StatusPermanentRedirect)
	}
	return h
}

// printable makes a text of strangers fit for a report.
func printable(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// The limits of fetches.
const (
	// timeout is how long the chain is followed, so that there is a report before the caller's time is up,
	// which usually is 15 seconds (CONTRACT 1.9).
	timeout = 12 * time.Second
	// MaxBytes is the maximum number of bytes of each document that are read.
	MaxBytes = 256 << 10
	// Memory is an upper bound of the memory that a check uses, in bytes.
	Memory = 32 << 20
	// maxDelay is how long a refresh may wait to count as a redirect. Pages that time a session out lead
	// elsewhere after minutes.
	maxDelay = 30 * time.Second
)

// gather follows the chain.
func gather(ctx context.Context, env *diag.Env, ask fetch.Request) (*evidence, error) {
	e := &evidence{start: ask.URL, now: env.Now(), limit: ask.MaxRedirects, head: ask.Method == "HEAD"}
	if ask.Next != nil {
		ask.Next = e.next
	}
	ask.Timeout = diag.TimeLeft(ctx, timeout)
	var err error
	if e.result, err = fetch.Do(ctx, env.Cached(), ask); err != nil {
		return nil, err
	}
	if err := fetch.Unavailable(e.result); err != nil {
		return nil, fmt.Errorf("following %s: %w", ask.URL, err)
	}
	return e, e.trySecure(ctx, env)
}

// trySecure asks for the end of the chain over HTTPS, if it ends at port 80: browsers that were given its URL try HTTPS
// first, and there is something to redirect to only where HTTPS answers.
func (e *evidence) trySecure(ctx context.Context, env *diag.Env) error {
	end := e.result.URL
	served := e.result.Err == nil && end.Scheme() == "http" && end.Port() == 80
	u, err := diag.ParseURL("https" + strings.TrimPrefix(end.String(), "http"))
	if err != nil || !served && !reach.Refuses(e.result) && !reach.Mute(e.result) {
		return nil // or longer by a letter than a URL may be
	}
	wait := timeout - env.Now().Sub(e.now)
	if wait <= 0 {
		return nil
	}
	e.secure, err = fetch.Do(ctx, env.Cached(), fetch.Request{
		URL: u, MaxBytes: 1, Raw: true, Timeout: diag.TimeLeft(ctx, wait), AllowUntrusted: true,
	})
	return err
}

// next says where a document leads. Browsers follow the Refresh field first, and then the first meta element.
func (e *evidence) next(h fetch.Hop, body []byte) fetch.Lead {
	lead := fetch.Refresh(h.Header)
	if lead.Type == "" {
		lead = e.read(h, body)
	}
	e.later = &lead
	if lead.After > maxDelay {
		return fetch.Lead{}
	}
	return lead
}

func (e *evidence) read(h fetch.Hop, body []byte) fetch.Lead {
	media := h.Header.Get("Content-Type")
	if len(body) == 0 || !isHTML(media, body) {
		return fetch.Lead{}
	}
	u, err := diag.ParseURL(h.URL)
	if err != nil {
		return fetch.Lead{}
	}
	p := page.Read(body, page.Options{URL: u, ContentType: media})
	e.page, e.pageHop, e.script = p, h.Index, ""
	if len(p.Text) <= maxIdleText {
		e.script = scriptIn(page.Decode(body, media).Text)
	}
	if r, ok := p.Refresh(); ok {
		return metaLead(r, p.BaseTag.Raw)
	}
	// Many a page says the same to browsers with and without scripts.
	if r := p.Noscript.Refresh; r != nil && r.To.URL != "" && e.script != "" {
		if script, ok := page.Resolve(p.Base, e.script); ok && r.To.URL == script {
			return metaLead(*r, p.BaseTag.Raw)
		}
	}
	return fetch.Lead{}
}

func metaLead(r page.Refresh, base string) fetch.Lead {
	return fetch.Lead{Type: fetch.MetaRefresh, Target: r.To.Raw, Base: base, After: time.Duration(r.Delay) * time.Second}
}

// isHTML reports whether browsers treat a document as a page. Without a type they sniff its beginning
// (mimesniff.spec.whatwg.org section 7.1).
func isHTML(media string, body []byte) bool {
	kind, _, _ := strings.Cut(media, ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "text/html", "application/xhtml+xml":
		return true
	case "":
		return strings.HasPrefix(strings.TrimLeft(string(body[:min(len(body), 64)]), "\ufeff \t\r\n\f"), "<")
	}
	return false
}
