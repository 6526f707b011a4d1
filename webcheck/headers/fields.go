package headers

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/webcheck/internal/csp"
	"github.com/dunglas/httpsfv"
)

type policy = csp.Policy

func known(p policy) bool {
	unknown := 0
	for _, f := range p.Faults {
		if f.Kind == csp.UnknownDirective || f.Kind == csp.DeprecatedDirective {
			unknown++
		}
	}
	return len(p.Directives) > unknown
}

// frameOption returns what X-Frame-Options asks for: deny, sameorigin, or nothing that browsers know. Several values
// that are not the same make browsers deny, if one of them is known (HTML Standard, The X-Frame-Options header).
func (e *evidence) frameOption() string {
	list := words(e.value("X-Frame-Options"))
	slices.Sort(list)
	list = slices.Compact(list)
	isKnown := func(v string) bool { return v == "deny" || v == "sameorigin" || v == "allowall" }
	switch {
	case len(list) > 1 && slices.ContainsFunc(list, isKnown):
		return "deny"
	case len(list) == 1 && (list[0] == "deny" || list[0] == "sameorigin"):
		return list[0]
	default:
		return ""
	}
}

// nosniff reports whether browsers obey X-Content-Type-Options: the first value counts (Fetch Standard section 3.5).
func (e *evidence) nosniff() bool {
	first, _, _ := strings.Cut(e.value("X-Content-Type-Options"), ",")
	return strings.EqualFold(strings.TrimSpace(first), "nosniff")
}

// The policies of Referrer-Policy, by what they disclose.
var (
	leaking           = []string{"unsafe-url", "no-referrer-when-downgrade"}
	insecureReferrers = []string{"origin", "origin-when-cross-origin"}
	privateReferrers  = []string{"no-referrer", "same-origin", "strict-origin", "strict-origin-when-cross-origin"}
)

// referrers returns the policies of the header and, behind them, that of a meta element.
func (e *evidence) referrers() string {
	if e.document == nil || e.document.referrer == "" {
		return e.value("Referrer-Policy")
	}
	return strings.TrimPrefix(e.value("Referrer-Policy")+", "+text(e.document.referrer), ", ")
}

// referrer returns the policy that browsers follow: the last that they know (Referrer Policy section 8.1).
func (e *evidence) referrer() string {
	last := ""
	for _, w := range words(e.referrers()) {
		if slices.Contains(leaking, w) || slices.Contains(insecureReferrers, w) || slices.Contains(privateReferrers, w) {
			last = w
		}
	}
	return last
}

// token reads a field whose value is a token with parameters (RFC 9651 section 3.3).
func (e *evidence) token(name string, known []string) (string, bool) {
	item, err := httpsfv.UnmarshalItem(e.values(name))
	token, ok := item.Value.(httpsfv.Token)
	return string(token), err == nil && ok && slices.Contains(known, string(token))
}

// cacheDirectives reads Cache-Control (RFC 9111 section 5.2); names are in lower case.
func (e *evidence) cacheDirectives() map[string]string {
	list := map[string]string{}
	for part := range strings.SplitSeq(e.value("Cache-Control"), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" {
			if _, twice := list[name]; !twice {
				list[name] = strings.Trim(value, `" `)
			}
		}
	}
	return list
}

// cacheableStatus are the codes whose answers are heuristically cacheable (RFC 9110 section 15.1).
var cacheableStatus = []int{200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501}

// caching says what caches may do (RFC 9111 section 3).
func (e *evidence) caching() Caching {
	cc := e.cacheDirectives()
	_, never := cc["no-store"]
	explicit := e.has("Expires")
	for _, name := range []string{"public", "private", "max-age", "s-maxage"} {
		_, ok := cc[name]
		explicit = explicit || ok
	}
	return Caching{
		CacheControl: e.value("Cache-Control"), ETag: e.value("ETag"), LastModified: e.value("Last-Modified"),
		Age:       e.value("Age"),
		Cacheable: !never && (explicit || slices.Contains(cacheableStatus, e.final.StatusCode)),
	}
}

// shared reports whether caches that many share are asked to keep the answer.
func (e *evidence) shared() bool {
	cc := e.cacheDirectives()
	is := func(name string) bool { _, ok := cc[name]; return ok }
	if is("no-store") || is("private") || is("no-cache") {
		return false
	}
	return is("public") || is("s-maxage") && cc["s-maxage"] != "0" || is("max-age") && cc["max-age"] != "0"
}

// privately returns Cache-Control without what asks shared caches to keep the answer.
func (e *evidence) privately() string {
	parts := []string{"private"}
	for part := range strings.SplitSeq(e.value("Cache-Control"), ",") {
		part = strings.TrimSpace(part)
		name, _, _ := strings.Cut(strings.ToLower(part), "=")
		if name != "" && name != "public" && name != "s-maxage" && name != "proxy-revalidate" {
			parts = append(parts, part)
		}
	}
	return "Cache-Control: " + strings.Join(parts, ", ")
}

var telling = []string{"Server", "X-Powered-By", "X-AspNet-Version", "X-AspNetMvc-Version", "X-Generator",
	"X-Drupal-Cache", "X-Runtime", "X-Powered-CMS", "X-Joomla-Version", "X-Magento-Cache-Debug", "X-PHP-Version",
	"X-Redirect-By", "X-Shopify-Stage", "X-Version", "X-Backend-Server", "X-Litespeed-Cache", "X-Mod-Pagespeed",
	"X-Page-Speed", "X-Varnish", "X-CF-Powered-By", "MicrosoftSharePointTeamServices", "X-OWA-Version", "X-FEServer",
	"X-BEServer", "X-CalculatedBETarget", "Liferay-Portal", "X-Jenkins", "X-Confluence-Request-Time"}

// disclosures returns the fields that disclose software, in the order of the server.
func (e *evidence) disclosures() []Disclosure {
	var list []Disclosure
	for _, f := range e.final.Fields {
		tells := slices.ContainsFunc(telling, func(name string) bool { return strings.EqualFold(name, f.Name) })
		if tells && len(list) < maxDisclosures {
			list = append(list, Disclosure{f.Name, text(f.Value)})
		}
	}
	return list
}

// detailed reports whether a field discloses more than a name: a version (RFC 9110 section 10.2.4), or by its own name
// that a certain software runs.
func (d Disclosure) detailed() bool {
	if strings.EqualFold(d.Header, "Server") {
		return strings.ContainsAny(d.Value, "0123456789") && strings.Contains(d.Value, "/") ||
			strings.ContainsAny(d.Value, "(")
	}
	return true
}
