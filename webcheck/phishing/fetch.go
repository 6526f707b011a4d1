package phishing

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/registry"
	"github.com/diagkit/diagkit/webcheck/internal/page"
	"golang.org/x/net/html"
	"golang.org/x/net/publicsuffix"
)

// The bounds of what is fetched. Pages that ask for passwords are small: kits of more than 2 MiB are not known.
const (
	maxPage         = 2 << 20
	maxRefresh      = 256 << 10 // of each document on the way, in which a refresh is looked for
	siteTimeout     = 10 * time.Second
	registryTimeout = 9 * time.Second
)

// Memory is what a check holds at most, in bytes: a page of 2 MiB, and what is read out of it.
const Memory = 56 << 20

// gather asks all there is to ask: the registry and, if it may be visited, the site at once, and the registry once
// more if the site leads to another. The error is that of the context, or wraps [diag.ErrUnavailable] if nothing was
// learned because our resolver is dead.
func (e *evidence) gather(ctx context.Context, env *diag.Env) error {
	var first, inner, second *age
	var g diag.Group
	g.Go(func() { first = lookUpAge(ctx, env, e.anatomy) })
	if e.wrapped != nil {
		g.Go(func() { inner = lookUpAge(ctx, env, e.wrapped) })
	}
	if e.visited {
		g.Go(func() {
			e.visit(ctx, env)
			if e.end != nil && (e.wrapped == nil || e.end.place() != e.wrapped.place()) {
				second = lookUpAge(ctx, env, e.end)
			}
		})
	}
	g.Wait()
	for _, a := range []*age{first, inner, second} {
		if a != nil {
			e.ages = append(e.ages, *a)
		}
	}
	if err := ctx.Err(); err != nil || known(e, false) || !e.visited {
		return err
	}
	if err := fetch.Unavailable(e.site); err != nil {
		return fmt.Errorf("examining %s: %w", e.url, err)
	}
	return nil
}

// visit follows the URL to its end and reads the page there.
func (e *evidence) visit(ctx context.Context, env *diag.Env) {
	site, err := fetch.Do(ctx, env, fetch.Request{
		URL: e.url, MaxRedirects: fetch.DefaultRedirects, MaxBytes: maxPage, AllowUntrusted: true,
		Timeout: diag.TimeLeft(ctx, siteTimeout),
		Next: func(hop fetch.Hop, body []byte) fetch.Lead {
			if lead := fetch.Refresh(hop.Header); lead.Target != "" {
				return lead
			}
			p := readPage(hop, body[:min(len(body), maxRefresh)])
			if p == nil {
				return fetch.Lead{}
			}
			r, ok := p.Refresh()
			if !ok || r.To.Raw == "" {
				return fetch.Lead{}
			}
			return fetch.Lead{Type: fetch.MetaRefresh, Target: r.To.Raw, Base: p.Base, After: time.Duration(r.Delay) * time.Second}
		},
	})
	if err != nil {
		return // the context ended
	}
	e.site, e.body = site, site.Body
	if final := site.Final(); final != nil {
		e.page = readPage(*final, site.Body)
	}
	if end, err := dissect(site.URL.String(), e.targets); err == nil && end.place() != e.place() {
		e.end = end
	}
	e.examine()
}

// readPage reads the page of an answer, or returns nil if it is not one.
func readPage(hop fetch.Hop, body []byte) *page.Page {
	kind := strings.ToLower(hop.Header.Get("Content-Type"))
	if len(bytes.TrimSpace(body)) == 0 ||
		kind != "" && !strings.Contains(kind, "html") && !strings.Contains(kind, "xml") {
		return nil
	}
	u, err := diag.ParseURL(hop.URL)
	if err != nil {
		return nil
	}
	return page.Read(body, page.Options{URL: u, ContentType: hop.Header.Get("Content-Type")})
}

// lookUpAge asks how long the domain of a site is registered. Under a suffix of a company that lets everyone have a
// name there is no registration to ask for.
func lookUpAge(ctx context.Context, env *diag.Env, a *anatomy) *age {
	if a.registered == "" || a.private() {
		return nil
	}
	d, err := diag.ParseDomain(a.registered)
	if err != nil {
		return nil
	}
	bounded, cancel := diag.Within(ctx, registryTimeout)
	defer cancel()
	follow := false // the registry knows the date
	report, err := registry.LookupDomain(bounded, env, registry.DomainRequest{Domain: d, FollowRegistrar: &follow})
	if err != nil || report.RegisteredDomain != d.String() {
		return &age{d, nil}
	}
	return &age{d, report}
}

// examine finds what the rules on content look at.
func (e *evidence) examine() {
	if e.page == nil {
		return
	}
	e.survey = surveyPage(page.Decode(e.body, e.site.Final().Header.Get("Content-Type")).Text)
	e.identity = e.readIdentity(e.survey)
	e.hiddenFrames = hiddenFrames(e.body, e.page.Base)
	if e.page.TextBytes <= maxFramedText && len(e.page.Frames) > 0 {
		a, err := dissect(e.page.Frames[0].URL, e.targets)
		if err == nil && e.foreign(a.url.Host().Name()) {
			e.framed = a
		}
	}
}

// The visible text, in bytes, up to which a page with a frame is nothing but that frame, and one with a script is what
// the script makes of it.
const (
	maxFramedText   = 200
	maxScriptedText = 40
)

// scripted reports whether the page is empty until a script runs.
func (e *evidence) scripted() bool {
	return e.page != nil && e.page.TextBytes <= maxScriptedText && e.page.Counts.Scripts > 0 &&
		len(e.page.Frames) == 0 && len(e.survey.waiting) == 0
}

// hosted are brands of software that others run on hosts of their own, whose pages to log in have its name.
var hosted = diag.Words("WordPress GitLab Atlassian Cisco Oracle SAP IBM Samsung Huawei HP Dell Sony Zoho")

func (e *evidence) forms() []Form {
	list := []Form{}
	if e.page == nil {
		return list
	}
	for i := range e.page.Forms {
		f := &e.page.Forms[i]
		for _, to := range append([]page.Ref{f.Action}, f.Actions...) {
			list = append(list, e.form(f, to))
		}
	}
	return list
}

func (e *evidence) form(f *page.Form, to page.Ref) Form {
	out := Form{HasPassword: f.HasPassword}
	url := to.URL
	if url == "" && to.Raw == "" {
		url = e.site.URL.String()
	}
	u, err := diag.ParseURL(url)
	if err != nil {
		out.CrossOrigin = true // data:, mailto: and the like
		return out
	}
	out.ActionHost = u.Host().Name()
	out.CrossOrigin = u.Origin() != e.site.URL.Origin()
	out.Insecure = u.Scheme() == "http"
	return out
}

// foreign reports whether a host belongs to another owner than the site whose page was read: another
// registrable domain, and neither one of the same brand nor one that has the name of the site in its own.
func (e *evidence) foreign(host string) bool {
	registered, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		registered = host
	}
	a := e.last()
	if name := a.label(); len(name) > minHostWord && strings.HasPrefix(registered, name) {
		return false
	}
	return registered != a.place() && (a.owner == nil || e.targets.Owner(host) != a.owner)
}

var (
	obfuscated = diag.Regexp(`(?i)(?:eval|document\.write(?:ln)?|Function)\s*\(\s*(?:unescape|atob|decodeURIComponent|String\.fromCharCode)\s*\(` +
		`|eval\s*\(\s*function\s*\(\s*p\s*,\s*a\s*,\s*c\s*,\s*k|unescape\s*\(\s*['"](?:%[0-9a-f]{2}){20}`)
	exfiltrates = diag.Regexp(`(?i)api\.telegram\.org/bot|discord(?:app)?\.com/api/webhooks/|formspree\.io/|formsubmit\.co/|submit-form\.com/`)
)

// maxFrames bounds the frames that are examined.
const maxFrames = 20

// hiddenFrames lists the hosts of invisible frames of other sites.
func hiddenFrames(body []byte, base string) (hosts []string) {
	z := html.NewTokenizer(bytes.NewReader(body))
	for name := range page.StartTags(z) {
		if name != "iframe" || len(hosts) == maxFrames {
			continue
		}
		if host := hiddenFrame(page.Attributes(z), base); host != "" && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// hiddenFrame returns the host of an iframe if it is hidden.
func hiddenFrame(a map[string]string, base string) string {
	value := func(name string) string { return strings.ToLower(strings.ReplaceAll(a[name], " ", "")) }
	tiny, style := []string{"0", "1", "0px", "1px"}, value("style")
	_, hidden := a["hidden"]
	hidden = hidden || strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") ||
		slices.Contains(tiny, value("width")) || slices.Contains(tiny, value("height"))
	if !hidden || a["src"] == "" {
		return ""
	}
	absolute, _ := page.Resolve(base, a["src"])
	u, err := diag.ParseURL(absolute)
	if err != nil {
		return ""
	}
	return u.Host().Name()
}
