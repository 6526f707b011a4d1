package headers

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/webcheck/headers/csp"
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

// evals reports whether scripts may run text as code.
func (e *evidence) evals() bool {
	return every(lists(e.enforced, "script-src", "default-src"), func(l csp.List) bool { return l.Has("unsafe-eval") })
}

// anywhere reports whether the first of some directives that each policy has allows any place.
func (e *evidence) anywhere(directives ...string) bool {
	all := lists(e.enforced, directives...)
	return len(all) == 0 || every(all, func(l csp.List) bool { return len(broad(l)) > 0 })
}

// objects reports whether plug-ins may be loaded from anywhere.
func (e *evidence) objects() bool { return e.anywhere(governing["object-src"]...) }

// bases reports whether a base element that is smuggled in may turn relative references of scripts elsewhere.
func (e *evidence) bases() bool { return e.anywhere("base-uri") }

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

// The policies of Referrer-Policy, by what they tell.
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

// cacheableStatus are those that caches may keep without being told to (RFC 9110 section 15.1).
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
		CacheControl: e.value("Cache-Control"), ETag: e.value("ETag"), LastModified: e.value("Last-Modified"), Age: e.value("Age"),
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

// disclosures returns the fields that tell about software, in the order of the server.
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

// detailed reports whether a field tells more than a name: a version (RFC 9110 section 10.2.4), or by its own name
// that a certain software runs.
func (d Disclosure) detailed() bool {
	if strings.EqualFold(d.Header, "Server") {
		return strings.ContainsAny(d.Value, "0123456789") && strings.Contains(d.Value, "/") || strings.ContainsAny(d.Value, "(")
	}
	return true
}

// features are the Permissions-Policy of a page: a structured dictionary whose values are * or lists of self, src
// and quoted origins (Permissions Policy section 5.2, RFC 9651).
type features struct {
	sent  bool
	err   error
	lists map[string][]string // the allowlist of each feature; * stands for itself
	order []string
}

func readFeatures(values []string) features {
	f := features{sent: len(values) > 0, lists: map[string][]string{}}
	if !f.sent {
		return f
	}
	dict, err := httpsfv.UnmarshalDictionary(values)
	if err != nil {
		f.err = err
		return f
	}
	for _, name := range dict.Names() {
		member, _ := dict.Get(name)
		f.order = append(f.order, name)
		f.lists[name] = []string{}
		switch m := member.(type) {
		case httpsfv.Item:
			f.lists[name] = append(f.lists[name], allowed(m)...)
		case httpsfv.InnerList:
			for _, item := range m.Items {
				f.lists[name] = append(f.lists[name], allowed(item)...)
			}
		}
	}
	return f
}

// allowed returns an entry of an allowlist; what browsers do not know is left out.
func allowed(item httpsfv.Item) []string {
	switch v := item.Value.(type) {
	case httpsfv.Token:
		if v == "*" || v == "self" || v == "src" {
			return []string{string(v)}
		}
	case string:
		return []string{`"` + v + `"`}
	}
	return nil
}

// String writes the policy as a header field.
func (f *features) String() string {
	var parts []string
	for _, name := range f.order {
		list := "(" + strings.Join(f.lists[name], " ") + ")"
		if len(f.lists[name]) == 1 && f.lists[name][0] == "*" {
			list = "*"
		}
		parts = append(parts, name+"="+list)
	}
	return strings.Join(parts, ", ")
}

// closed reports whether a feature is switched off for everybody.
func (f *features) closed(name string) bool {
	list, ok := f.lists[name]
	return ok && len(list) == 0
}

// maxFeatures bounds a policy of the old syntax that is translated.
const maxFeatures = 100

// translated reads the syntax of Feature-Policy, "geolocation 'self'; camera 'none'", and writes it as
// Permissions-Policy; empty if it is something else.
func translated(old string) string {
	f := features{lists: map[string][]string{}}
	for entry := range strings.FieldsFuncSeq(old, func(r rune) bool { return r == ';' || r == ',' }) {
		fields := strings.Fields(strings.ToLower(entry))
		if len(fields) == 0 {
			continue
		}
		name := fields[0]
		if _, twice := f.lists[name]; twice || len(f.order) == maxFeatures || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") != "" {
			return ""
		}
		f.order, f.lists[name] = append(f.order, name), []string{}
		for _, origin := range fields[1:] {
			switch {
			case origin == "'none'" && len(fields) == 2:
			case origin == "'self'" || origin == "'src'" || origin == "*":
				f.lists[name] = append(f.lists[name], strings.Trim(origin, "'"))
			case strings.HasPrefix(origin, "https://") && strings.Trim(origin, "abcdefghijklmnopqrstuvwxyz0123456789-.:/*") == "":
				f.lists[name] = append(f.lists[name], `"`+origin+`"`)
			default:
				return ""
			}
		}
		if len(fields) == 1 {
			f.lists[name] = []string{"self"} // an allowlist that is left out is that of the page itself
		}
	}
	if s := f.String(); s != "" {
		if again := readFeatures([]string{s}); again.err == nil {
			return s
		}
	}
	return ""
}
