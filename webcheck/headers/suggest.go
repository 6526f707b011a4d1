package headers

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/webcheck/hsts"
	"github.com/diagkit/diagkit/webcheck/internal/csp"
)

// The bounds of a policy that is suggested, so that it can be read and sent.
const (
	maxHashes  = 20
	maxOrigins = 30 // of a directive
)

// newHSTS returns the Strict-Transport-Security to send next: what there is with the max-age of the next stage, as
// http/hsts-check suggests it. A new one is for this host only, for nothing is known of the hosts below it (RFC 6797
// section 11.4.1).
func (e *evidence) newHSTS() string {
	if !e.trusted() {
		return ""
	}
	current := &hsts.Header{}
	if len(e.hsts) > 0 && e.hsts[0].Valid() {
		current = e.hsts[0]
	}
	next, ok := hsts.NextStage(uint64(current.Age() / time.Second))
	if !ok {
		return ""
	}
	subdomains := current.IncludeSubdomains
	return hsts.FieldName + ": " + hsts.Value(next, subdomains, subdomains && current.Preload)
}

// newReferrer is the Referrer-Policy to send, which counts unless the page has one of its own.
func (e *evidence) newReferrer() string {
	if e.document != nil && e.document.referrer != "" {
		return ""
	}
	return "Referrer-Policy: strict-origin-when-cross-origin"
}

// newPolicy returns a policy that allows all that the page is seen to load, to be reported on before it is enforced:
// what scripts load later cannot be seen. It is empty if the page was not read.
func (e *evidence) newPolicy() string {
	if e.document == nil || e.document.cut {
		return ""
	}
	return "Content-Security-Policy-Report-Only: " + policyFor(e.document, e.self)
}

var suggestedOrder = []string{"script-src", "style-src", "img-src", "font-src", "connect-src", "media-src", "frame-src",
	"manifest-src"}

func policyFor(d *document, self *url.URL) string {
	sources := map[string][]string{"script-src": {"'self'"}, "style-src": {"'self'"}}
	object := []string{"'none'"}
	for _, l := range d.loads {
		origin := originOf(l.url, self)
		if l.directive == "object-src" {
			if object[0] == "'none'" {
				object = nil
			}
			object = addOrigin(object, origin)
			continue
		}
		if len(sources[l.directive]) == 0 {
			sources[l.directive] = []string{"'self'"}
		}
		sources[l.directive] = addOrigin(sources[l.directive], origin)
	}
	sources["script-src"] = addInline(sources["script-src"], d.scripts, d.handlers)
	sources["style-src"] = addInline(sources["style-src"], d.styles, d.css)
	parts := []string{"default-src 'self'"}
	for _, name := range suggestedOrder {
		if list := sources[name]; len(list) > 1 || name == "script-src" || name == "style-src" {
			parts = append(parts, name+" "+strings.Join(list, " "))
		}
	}
	action := []string{"'self'"}
	for _, u := range d.forms {
		action = addOrigin(action, originOf(u, self))
	}
	parts = append(parts, "object-src "+strings.Join(object, " "), "base-uri "+baseSource(d, self),
		"form-action "+strings.Join(action, " "), "frame-ancestors 'self'")
	return strings.Join(parts, "; ")
}

// originOf returns the source expression for a URL: its origin, or its scheme if it has none.
func originOf(u, self *url.URL) string {
	switch {
	case u.Scheme == self.Scheme && strings.EqualFold(u.Host, self.Host):
		return "'self'"
	case u.Host == "" || !plainHost(u.Host):
		return strings.ToLower(u.Scheme) + ":"
	default:
		return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Host)
	}
}

// plainHost reports whether a host is allowed in a policy: IPv6 addresses are not.
func plainHost(host string) bool {
	s, ok := csp.ParseSource("https://" + host)
	return ok && s.Host != "*"
}

func addOrigin(list []string, origin string) []string {
	if slices.Contains(list, origin) || slices.Contains(list, "https:") && strings.HasPrefix(origin, "https://") {
		return list
	}
	if len(list) < maxOrigins {
		return append(list, origin)
	}
	scheme, _, _ := strings.Cut(origin, ":")
	if source := scheme + ":"; !slices.Contains(list, source) && scheme != "'self'" {
		return append(list, source)
	}
	return list
}

// addInline allows inline scripts or styles by their hashes. Code in attributes has no hash that browsers
// would take, and where there is a hash they ignore 'unsafe-inline'.
func addInline(list []string, found []inline, attributes int) []string {
	if attributes > 0 || len(found) > maxHashes {
		return append(list, "'unsafe-inline'")
	}
	for _, s := range found {
		if hash := csp.Hash(s.text); !slices.Contains(list, hash) {
			list = append(list, hash)
		}
	}
	return list
}

// baseSource allows the base element that the page has.
func baseSource(d *document, self *url.URL) string {
	if u, err := url.Parse(d.base); err == nil {
		return originOf(u, self)
	}
	return "'self'"
}

// withoutVersions returns the Server field without versions and comments; empty if nothing is left.
func withoutVersions(server string) string {
	var kept []string
	depth := 0
	for word := range strings.FieldsSeq(server) {
		opens, closes := strings.Count(word, "("), strings.Count(word, ")")
		if depth == 0 && opens == 0 {
			name, _, _ := strings.Cut(word, "/")
			if name != "" && len(kept) == 0 &&
				strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == "" {
				kept = append(kept, name)
			}
		}
		depth = max(0, depth+opens-closes)
	}
	return strings.Join(kept, " ")
}
