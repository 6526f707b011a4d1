package observatory

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/suffix"
	"github.com/diagkit/diagkit/webcheck/internal/page"
	"golang.org/x/net/html"
)

// A markup holds what the Observatory reads in a page.
type markup struct {
	scripts  []map[string]string
	policies []string // of meta elements
	referrer string   // of the last meta element that has one
}

// maxElements bounds the elements of a kind that are kept.
const maxElements = 10_000

// htmlTypes are the media types in which a page is read. The Observatory compares them as they were sent.
var htmlTypes = []string{"text/html", "application/xhtml+xml"}

func (r *Response) mediaType() string {
	value, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return value
}

// readMarkup finds the elements that matter. A page without a media type has scripts, and no meta elements.
func readMarkup(answer Response) (m markup) {
	kind := answer.mediaType()
	if kind != "" && !slices.Contains(htmlTypes, kind) {
		return m
	}
	z := html.NewTokenizer(strings.NewReader(answer.Body))
	for name := range page.StartTags(z) {
		switch name {
		case "script":
			if len(m.scripts) < maxElements {
				m.scripts = append(m.scripts, page.Attributes(z))
			}
		case "meta":
			if kind != "" && len(m.policies) < maxElements {
				m.meta(page.Attributes(z))
			}
		case "noscript":
			z.NextIsNotRawText() // to the Observatory's parser there is no scripting
		}
	}
	return m
}

func (m *markup) meta(a map[string]string) {
	equiv, named := a["http-equiv"]
	content, ok := a["content"]
	switch {
	case named && ok:
		if lower(equiv) == "content-security-policy" && content != "" {
			m.policies = append(m.policies, content)
		}
	case lower(a["name"]) == "referrer":
		m.referrer = cmp.Or(content, m.referrer)
	}
}

// integrityOrder are the results for scripts, from the best. What is not in it counts as before them all.
var integrityOrder = []string{"sri-implemented-and-all-scripts-loaded-securely",
	"sri-implemented-and-external-scripts-loaded-securely", "sri-implemented-but-external-scripts-not-loaded-securely",
	"sri-not-implemented-but-external-scripts-loaded-securely",
	"sri-not-implemented-and-external-scripts-not-loaded-securely"}

var (
	protocolRelative = kit.Regexp(`^//[^/]`)
	fullURL          = kit.Regexp(`^https?://`)
)

func (s *scan) integrity() string {
	if kind := s.Page.mediaType(); kind != "" && !slices.Contains(htmlTypes, kind) {
		return "sri-not-implemented-response-not-html"
	}
	if len(s.page.scripts) == 0 {
		return "sri-not-implemented-but-no-scripts-loaded"
	}
	worst, foreign := "", false
	found := func(result string) {
		if worst == "" || slices.Index(integrityOrder, result) > slices.Index(integrityOrder, worst) {
			worst = result
		}
	}
	for _, script := range s.page.scripts {
		src, checked := script["src"], script["integrity"] != ""
		if src == "" {
			continue
		}
		own, secure := s.origin(src)
		foreign = foreign || !own
		switch {
		case own && checked && secure && worst == "":
			worst = "sri-implemented-and-all-scripts-loaded-securely"
		case own:
		case checked && !secure:
			found("sri-implemented-but-external-scripts-not-loaded-securely")
		case !checked && secure:
			found("sri-not-implemented-but-external-scripts-loaded-securely")
		case !checked:
			found("sri-not-implemented-and-external-scripts-not-loaded-securely")
		}
	}
	switch {
	case worst != "":
		return worst
	case foreign:
		return "sri-implemented-and-external-scripts-loaded-securely"
	default:
		return "sri-not-implemented-but-all-scripts-loaded-from-secure-origin"
	}
}

// origin reports whether a script is of the site itself, and whether it comes over https. To the Observatory a
// URL without a scheme is neither.
func (s *scan) origin(src string) (own, secure bool) {
	switch {
	case protocolRelative().MatchString(src):
		return false, false
	case fullURL().MatchString(src):
		return registrable(hostOf(src)) == registrable(s.Host), strings.HasPrefix(src, "https:")
	default:
		return true, s.Secure
	}
}

func hostOf(src string) string {
	if u, err := url.Parse(src); err == nil {
		return u.Hostname()
	}
	_, rest, _ := strings.Cut(src, "//")
	host := rest[:len(rest)-len(strings.TrimLeftFunc(rest, func(r rune) bool { return !strings.ContainsRune(":/?#", r) }))]
	return host
}

// registrable returns the domain that was registered for a host, below the suffixes of registries only;
// empty without one, as for an address.
func registrable(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || strings.Trim(host, "0123456789.") == "" || strings.Contains(host, ":") {
		return ""
	}
	suffix, _ := suffix.Registry(host, nil)
	rest := strings.TrimSuffix(strings.TrimSuffix(host, suffix), ".")
	if rest == "" || rest == host {
		return ""
	}
	return rest[strings.LastIndexByte(rest, '.')+1:] + "." + suffix
}

// policies are the Content-Security-Policy of a page, those of its header and those of its meta elements.
type policies struct {
	all      directives // nil if one of them cannot be read
	repeated bool
	err      error
	effect   int // how many directives are effective in their position
}

// notInMeta are directives that a meta element cannot give.
var notInMeta = []string{"frame-ancestors", "report-uri", "sandbox"}

func (s *scan) readPolicies() (p policies) {
	var header, meta []string
	if value, ok := s.Page.header("Content-Security-Policy"); ok {
		header = splitPolicies(value)
	}
	for _, content := range s.page.policies {
		meta = append(meta, splitPolicies(content)...)
	}
	p.all, p.repeated, p.err = parsePolicies(slices.Concat(header, meta))
	if p.err != nil {
		return p
	}
	inHeader, _, _ := parsePolicies(header)
	p.effect = len(inHeader)
	inMeta, repeated, _ := parsePolicies(meta)
	for name := range inMeta {
		if !slices.Contains(notInMeta, name) {
			p.effect++
		}
	}
	if repeated { // counted as a directive, even if it is one that has no effect there
		p.effect++
	}
	return p
}

func splitPolicies(value string) []string {
	list := strings.Split(value, ",")
	for i := range list {
		list[i] = trim(list[i])
	}
	return list
}

var broad = []string{"ftp:", "http:", "https:", "*", "http://*", "http://*.*", "https://*", "https://*.*"}

// unsafe are sources that let in whatever is injected.
var unsafe = append([]string{"'unsafe-inline'", "data:"}, broad...)

func has(sources, list []string) bool {
	return slices.ContainsFunc(sources, func(s string) bool { return slices.Contains(list, s) })
}

// vouched reports whether scripts can show a nonce or hash.
func vouched(sources []string) bool {
	return slices.ContainsFunc(sources, func(s string) bool {
		return strings.HasPrefix(s, "'sha256-") || strings.HasPrefix(s, "'sha384-") ||
			strings.HasPrefix(s, "'sha512-") || strings.HasPrefix(s, "'nonce-")
	})
}

func insecure(sources []string) bool {
	return slices.ContainsFunc(sources, func(s string) bool {
		return strings.HasPrefix(s, "http:") || strings.HasPrefix(s, "ftp:")
	})
}

func (s *scan) contentSecurityPolicy() string {
	p := s.policies
	if p.err != nil {
		return "csp-header-invalid"
	}
	if p.effect == 0 {
		if value, _ := s.Page.header("Content-Security-Policy-Report-Only"); value != "" {
			return "csp-not-implemented-but-reporting-enabled"
		}
		return "csp-not-implemented"
	}
	result := rate(p.all, s.Secure)
	if p.repeated && outcomes()[result].pass {
		return "csp-implemented-but-duplicate-directives"
	}
	return result
}

// or returns the name of the first directive that a policy has.
func (d directives) or(names ...string) string {
	for _, name := range names {
		if d[name] != nil {
			return name
		}
	}
	return ""
}

// rate rates a policy. Sources that others make void are taken out of the policy first.
func rate(all directives, secure bool) string {
	d := directives{"": {"*"}} // what holds where there is no directive
	for name, sources := range all {
		d[name] = slices.Clone(sources)
	}
	script, style, object := d.or("script-src", "default-src"), d.or("style-src", "default-src"),
		d.or("object-src", "default-src")
	for _, name := range []string{script, style} {
		if vouched(d[name]) {
			d[name] = slices.DeleteFunc(d[name], func(s string) bool { return s == "'unsafe-inline'" })
		}
	}
	if slices.Contains(d[script], "'strict-dynamic'") {
		if !vouched(d[script]) {
			return "csp-header-invalid"
		}
		d[script] = slices.DeleteFunc(d[script], func(s string) bool {
			return s == "'self'" || s == "'unsafe-inline'" ||
				slices.ContainsFunc(broad, func(b string) bool { return strings.HasPrefix(s, b) })
		})
	}
	var active, passive []string
	for name := range all {
		if name != "img-src" && name != "media-src" && name != "script-src" {
			active = append(active, d[name]...)
		}
	}
	active = append(active, d[script]...)
	for _, name := range []string{"img-src", "media-src"} {
		if name = d.or(name, "default-src"); name != "" {
			passive = append(passive, d[name]...)
		}
	}
	switch {
	case has(d[script], unsafe) || has(d[object], broad):
		return "csp-implemented-with-unsafe-inline"
	case secure && insecure(active):
		return "csp-implemented-with-insecure-scheme"
	case slices.Contains(d[script], "'unsafe-eval'") || slices.Contains(d[style], "'unsafe-eval'"):
		return "csp-implemented-with-unsafe-eval"
	case secure && insecure(passive):
		return "csp-implemented-with-insecure-scheme-in-passive-content-only"
	case has(d[style], unsafe):
		return "csp-implemented-with-unsafe-inline-in-style-src-only"
	case slices.Equal(d["default-src"], []string{"'none'"}):
		return "csp-implemented-with-no-unsafe-default-src-none"
	default:
		return "csp-implemented-with-no-unsafe"
	}
}
