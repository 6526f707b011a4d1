package headers

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/dunglas/httpsfv"
	"golang.org/x/net/publicsuffix"
)

// singles are fields with one value, of which browsers use the first, the last or none if there are several.
var singles = []string{"Content-Type", "X-Content-Type-Options", "Referrer-Policy", "Access-Control-Allow-Origin",
	"Cross-Origin-Opener-Policy", "Cross-Origin-Embedder-Policy", "Cross-Origin-Resource-Policy", "Location", "ETag",
	"Last-Modified"}

// obsolete are fields that browsers no longer know, and why.
var obsolete = [][2]string{
	{"Public-Key-Pins", "pins keys, which browsers have given up because it made sites unreachable"},
	{"Public-Key-Pins-Report-Only", "pins keys, which browsers have given up"},
	{"Expect-CT", "asks for Certificate Transparency, which browsers require anyway"},
	{"Feature-Policy", "was replaced by Permissions-Policy"},
	{"X-Content-Security-Policy", "was replaced by Content-Security-Policy in 2012"},
	{"X-WebKit-CSP", "was replaced by Content-Security-Policy in 2012"},
	{"X-XSS-Protection", "switched a filter that browsers have taken out, since it could be used to break pages"},
	{"P3P", "was read by Internet Explorer only"},
	{"X-UA-Compatible", "was read by Internet Explorer only"},
}

// siteData are the types of Clear-Site-Data.
var siteData = []string{`"cache"`, `"cookies"`, `"storage"`, `"executionContexts"`, `"clientHints"`, `"prefetchCache"`,
	`"prerenderCache"`, `"*"`}

// A misspelling is a field that no browser knows, and what was meant.
type misspelling struct{ name, meant, suggested string }

// protective are the fields whose names are looked for in misspellings, with a check of their value where one is cheap.
var protective = []string{"Strict-Transport-Security", "Content-Security-Policy", "Content-Security-Policy-Report-Only",
	"X-Frame-Options", "X-Content-Type-Options", "Referrer-Policy", "Permissions-Policy", "Cross-Origin-Opener-Policy",
	"Cross-Origin-Embedder-Policy", "Cross-Origin-Resource-Policy", "Access-Control-Allow-Origin", "Cache-Control",
	"Set-Cookie"}

// misnomers are misspellings that differ by more than a letter.
var misnomers = map[string]string{
	"x-content-type": "X-Content-Type-Options", "content-type-options": "X-Content-Type-Options",
	"x-content-options": "X-Content-Type-Options", "frame-options": "X-Frame-Options", "x-frame-option": "X-Frame-Options",
	"x-iframe-options": "X-Frame-Options", "referer-policy": "Referrer-Policy", "x-referrer-policy": "Referrer-Policy",
	"permission-policy": "Permissions-Policy", "x-permissions-policy": "Permissions-Policy",
	"x-strict-transport-security": "Strict-Transport-Security", "strict-transport": "Strict-Transport-Security", "hsts": "Strict-Transport-Security",
	"strict-transport-policy": "Strict-Transport-Security", "content-security": "Content-Security-Policy", "csp": "Content-Security-Policy",
	"content-security-policies": "Content-Security-Policy", "x-cache-control": "", "cache-controls": "Cache-Control",
	"allow-access-control-origin": "Access-Control-Allow-Origin", "access-control-allowed-origin": "Access-Control-Allow-Origin",
}

// misspellings returns the fields of the answer that look like misspelled ones, where the right one is absent.
func (e *evidence) misspellings() []misspelling {
	var found []misspelling
	for _, f := range e.final.Fields {
		name := strings.ToLower(f.Name)
		meant := misnomers[name]
		if meant == "" && len(name) > 8 && !slices.ContainsFunc(protective, func(p string) bool { return strings.EqualFold(p, name) }) {
			for _, p := range protective {
				if near(strings.ToLower(p), name) {
					meant = p
				}
			}
		}
		if meant != "" && !e.has(meant) && len(found) < 10 {
			found = append(found, misspelling{f.Name, meant, e.rightly(meant, text(f.Value))})
		}
	}
	return found
}

// rightly is the field with its right name, if the value is one that cannot break what works today.
func (e *evidence) rightly(name, value string) string {
	switch name {
	case "X-Content-Type-Options":
		return nosniff
	case "X-Frame-Options":
		if v := strings.ToLower(value); v == "deny" || v == "sameorigin" {
			return name + ": " + value
		}
	case "Referrer-Policy":
		if slices.Contains(privateReferrers, strings.ToLower(value)) {
			return name + ": " + value
		}
	}
	return ""
}

// near reports whether two names differ by one letter, or by two that are swapped.
func near(a, b string) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	x, y := a[i:], b[i:]
	switch {
	case x == "" || y == "":
		return len(x)+len(y) == 1
	case len(x) > 1 && len(y) > 1 && x[0] == y[1] && x[1] == y[0] && x[2:] == y[2:]:
		return true
	}
	return x[1:] == y || x == y[1:] || x[1:] == y[1:]
}

// reportingFaults are the fields about reports that cannot be read.
func (e *evidence) reportingFaults() (all diag.Failures) {
	for _, name := range []string{"Report-To", "NEL"} {
		if e.has(name) && !json.Valid([]byte("["+e.value(name)+"]")) {
			all = append(all, diag.Fail("%s is no JSON: %s.", name, diag.Quote(e.value(name))).About(name)...)
		}
	}
	if _, err := httpsfv.UnmarshalDictionary(e.values("Reporting-Endpoints")); e.has("Reporting-Endpoints") && err != nil {
		all = append(all, diag.Fail("Reporting-Endpoints is no structured dictionary: %s.", diag.Quote(e.value("Reporting-Endpoints"))).About("Reporting-Endpoints")...)
	}
	return all
}

// endpoints are where reports can be sent: the groups of Report-To, and the names in Reporting-Endpoints.
func (e *evidence) endpoints() (groups, names []string) {
	var list []struct{ Group string }
	_ = json.Unmarshal([]byte("["+e.value("Report-To")+"]"), &list) // what is no JSON defines nothing
	for _, g := range list {
		groups = append(groups, cmp.Or(g.Group, "default"))
	}
	if dict, err := httpsfv.UnmarshalDictionary(e.values("Reporting-Endpoints")); err == nil {
		names = dict.Names()
	}
	return groups, names
}

// loadsCode calls a function with each script and style sheet that the page loads, and reports whether there is one.
func (e *evidence) loadsCode(f func(load)) bool {
	any := false
	for _, l := range e.document.loads {
		if l.directive == "script-src" || l.directive == "style-src" {
			any = true
			if f != nil {
				f(l)
			}
		}
	}
	return any
}

// upgrades reports whether a policy makes browsers load everything over https.
func (e *evidence) upgrades() bool {
	return slices.ContainsFunc(e.enforced, func(p policy) bool { return p.Get("upgrade-insecure-requests") != nil })
}

// sameSite reports whether a URL is of the same registrable domain as the page.
func (e *evidence) sameSite(u *url.URL) bool {
	own, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(e.self.Hostname()))
	other, err2 := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(u.Hostname()))
	return strings.EqualFold(u.Hostname(), e.self.Hostname()) || err == nil && err2 == nil && own == other
}
