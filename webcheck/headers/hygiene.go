package headers

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
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
	"x-strict-transport-security": "Strict-Transport-Security", "strict-transport": "Strict-Transport-Security",
	"hsts":                    "Strict-Transport-Security",
	"strict-transport-policy": "Strict-Transport-Security", "content-security": "Content-Security-Policy",
	"csp":                       "Content-Security-Policy",
	"content-security-policies": "Content-Security-Policy", "x-cache-control": "", "cache-controls": "Cache-Control",
	"allow-access-control-origin":   "Access-Control-Allow-Origin",
	"access-control-allowed-origin": "Access-Control-Allow-Origin",
}

// misspellings returns the fields of the answer that look like misspelled ones, where the right one is absent.
func (e *evidence) misspellings() []misspelling {
	var found []misspelling
	for _, f := range e.final.Fields {
		name := strings.ToLower(f.Name)
		meant := misnomers[name]
		if meant == "" && len(name) > 8 &&
			!slices.ContainsFunc(protective, func(p string) bool { return strings.EqualFold(p, name) }) {
			for _, p := range protective {
				if phrase.Distance(strings.ToLower(p), name) == 1 {
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

// reportingFaults are the fields about reports that cannot be read.
func (e *evidence) reportingFaults() (all rule.Failures) {
	for _, name := range []string{"Report-To", "NEL"} {
		if e.has(name) && !json.Valid([]byte("["+e.value(name)+"]")) {
			all = append(all, rule.Fail("%s is not JSON: %s.", name, phrase.Quote(e.value(name))).About(name)...)
		}
	}
	if _, err := httpsfv.UnmarshalDictionary(e.values("Reporting-Endpoints")); e.has("Reporting-Endpoints") && err != nil {
		all = append(all,
			rule.Fail("Reporting-Endpoints is not a structured dictionary: "+
				"%s.", phrase.Quote(e.value("Reporting-Endpoints"))).
				About("Reporting-Endpoints")...)
	}
	return all
}

// endpoints are where reports can be sent: the groups of Report-To, and the names in Reporting-Endpoints.
func (e *evidence) endpoints() (groups, names []string) {
	var list []struct{ Group string }
	_ = json.Unmarshal([]byte("["+e.value("Report-To")+"]"), &list) // what is not JSON defines nothing
	for _, g := range list {
		groups = append(groups, cmp.Or(g.Group, "default"))
	}
	if dict, err := httpsfv.UnmarshalDictionary(e.values("Reporting-Endpoints")); err == nil {
		names = dict.Names()
	}
	return groups, names
}

// code returns the scripts and style sheets that the page loads.
func (e *evidence) code() []load {
	if e.document == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.document.loads), func(l load) bool {
		return l.directive != "script-src" && l.directive != "style-src"
	})
}

// upgrades reports whether a policy makes browsers load everything over https.
func (e *evidence) upgrades() bool { return upgrades(e.enforced) }

func upgrades(policies []policy) bool {
	return slices.ContainsFunc(policies, func(p policy) bool { return p.Get("upgrade-insecure-requests") != nil })
}

// sameSite reports whether a URL is of the same registrable domain as the page.
func (e *evidence) sameSite(u *url.URL) bool {
	own, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(e.self.Hostname()))
	other, err2 := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(u.Hostname()))
	return strings.EqualFold(u.Hostname(), e.self.Hostname()) || err == nil && err2 == nil && own == other
}

var hygieneRules = rule.Rules[*evidence]{{
	Code: "headers.misspelled", Severity: diag.Warning, Ref: "RFC 9110 section 5.1",
	Title:       "Header name is misspelled and ignored by browsers",
	Requirement: "Names of security fields are spelled right",
	Advice:      "Send the field under its right name, and remove the misspelled one.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.misspellings(), func(m misspelling) rule.Failures {
			return rule.Fail("The response has a field %s; %s was probably meant.", phrase.Quote(m.name), m.meant).
				About(phrase.Quote(m.name)).
				Suggesting(m.suggested)
		})
	},
}, {
	Code: "headers.duplicate", Severity: diag.Info, Ref: "RFC 9110 section 5.3",
	Title: "Header that must be sent once is sent several times", Requirement: "Fields with one value are sent once",
	Advice: "Let only one of web server, proxy and application send the field.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(singles, func(name string) rule.Failures {
			n := len(e.values(name))
			return rule.FailIf(n > 1, "%s is sent %d times: %s.", name, n, phrase.Quote(e.value(name))).About(name)
		})
	},
}, {
	Code: "headers.cache.cookies", Severity: diag.Warning, Ref: "RFC 9111 section 7.3",
	Title:       "Shared caches may keep a response that sets cookies",
	Requirement: "Shared caches keep no response that sets cookies",
	Advice: "Send Cache-Control: private or no-store with responses that set cookies; " +
		"otherwise one visitor may get another's cookie.",
	When: func(e *evidence) bool { return len(e.final.Header.Values("Set-Cookie")) > 0 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.shared(), "Cache-Control is %s, and the response sets cookies.",
			phrase.Quote(e.value("Cache-Control"))).
			About("Cache-Control").Suggesting(e.privately())
	},
}, {
	Code: "headers.disclosure", Severity: diag.Info, Ref: "RFC 9110 section 10.2.4",
	Title: "Header discloses software and its version", Requirement: "The header discloses no versions of software",
	Advice: "Remove the field or the version in it. Keeping the software up to date matters more.",
	Fails: func(e *evidence) rule.Failures {
		list := slices.DeleteFunc(e.disclosures(), func(d Disclosure) bool { return !d.detailed() })
		return rule.FailEach(list, func(d Disclosure) rule.Failures {
			f := rule.Fail("%s discloses %s.", d.Header, phrase.Quote(d.Value)).About(d.Header)
			if name := withoutVersions(d.Value); strings.EqualFold(d.Header, "Server") && name != "" && len(list) == 1 {
				return f.Suggesting("Server: " + name)
			}
			return f
		})
	},
}, {
	Code: "headers.obsolete", Severity: diag.Info, Ref: "RFC 9110 section 16.3.1",
	Title: "Obsolete field", Requirement: "No field is obsolete",
	Advice: "Remove the field.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(obsolete, func(o [2]string) rule.Failures {
			return rule.FailIf(e.has(o[0]), "%s %s.", o[0], o[1]).About(o[0])
		})
	},
}, {
	Code: "headers.reporting.syntax", Severity: diag.Warning,
	Ref:   "Reporting API section 3.2, Network Error Logging section 4",
	Title: "Reporting field has a syntax error and is ignored", Requirement: "Reporting fields are valid",
	Advice: "Write Reporting-Endpoints as name=\"https://…\", and Report-To and NEL as JSON objects.",
	When:   func(e *evidence) bool { return e.has("Report-To") || e.has("NEL") || e.has("Reporting-Endpoints") },
	Fails:  (*evidence).reportingFaults,
}, {
	Code: "headers.reporting.group", Severity: diag.Info,
	Ref:   "Network Error Logging section 4.1, CSP Level 3 section 6.5.2",
	Title: "Reports go to an endpoint that is not defined", Requirement: "Reports go to endpoints that are defined",
	Advice: "Define the endpoint in Reporting-Endpoints, or the group in Report-To, with the URL that takes reports.",
	Fails: func(e *evidence) (all rule.Failures) {
		if e.reportingFaults() != nil {
			return nil
		}
		groups, endpoints := e.endpoints()
		var nel struct {
			ReportTo string `json:"report_to"`
		}
		if e.has("NEL") {
			_ = json.Unmarshal([]byte(e.values("NEL")[0]), &nel) // without a group none needs a definition
			all = rule.FailIf(nel.ReportTo != "" && !slices.Contains(groups, nel.ReportTo),
				"NEL sends reports to the group %s, which Report-To does not define.", phrase.Quote(nel.ReportTo)).About("NEL")
		}
		for i := range e.enforced {
			if d := e.enforced[i].Get("report-to"); d != nil && len(d.Values) > 0 &&
				!slices.Contains(slices.Concat(groups, endpoints), d.Values[0]) {
				all = append(all,
					rule.Fail("report-to of the Content-Security-Policy names %s, "+
						"which neither Reporting-Endpoints nor Report-To defines.",
						phrase.Quote(d.Values[0])).About("report-to")...)
			}
		}
		return all
	},
}, {
	Code: "headers.clear_site_data", Severity: diag.Warning, Ref: "Clear Site Data section 3.1",
	Title:       "Clear-Site-Data has a value that browsers ignore",
	Requirement: "Clear-Site-Data has values that browsers know",
	Advice:      "Write the types in double quotes, separated by commas: \"cache\", \"cookies\", \"storage\", or \"*\".",
	When:        func(e *evidence) bool { return e.has("Clear-Site-Data") },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(strings.Split(e.value("Clear-Site-Data"), ","), func(v string) rule.Failures {
			return rule.FailIf(!slices.Contains(siteData, strings.TrimSpace(v)), "Clear-Site-Data has %s.",
				phrase.Quote(strings.TrimSpace(v))).About("Clear-Site-Data")
		})
	},
}, {
	Code: "headers.scripts.insecure", Severity: diag.Error, Category: factorScripts,
	Ref:   "W3C Mixed Content section 4.2",
	Title: "HTTPS page loads a script or style over plain HTTP", Requirement: "Scripts and styles come over HTTPS",
	Advice: "Write https instead of http: browsers block the file.",
	When:   func(e *evidence) bool { return e.secure() && len(e.code()) > 0 },
	Fails: func(e *evidence) (all rule.Failures) {
		for _, l := range e.code() {
			if l.url.Scheme == "http" && !e.upgrades() {
				all = append(all,
					rule.Fail("The page loads %s, which browsers block.", phrase.Quote(l.raw)).About(phrase.Quote(l.raw))...)
			}
		}
		return all.Together("The page loads %d scripts and styles over plain HTTP, which browsers block.", len(all))
	},
}, {
	Code: "headers.scripts.scheme", Severity: diag.Warning, Category: factorScripts,
	Ref:         "HTTP Observatory, subresource integrity",
	Title:       "Script from another site is not loaded over https",
	Requirement: "Scripts from other sites are loaded over https",
	Advice:      "Begin the URL of the script with https, so that it is safe however the page is served.",
	When:        func(e *evidence) bool { return len(e.code()) > 0 },
	Fails: func(e *evidence) (all rule.Failures) {
		for _, l := range e.code() {
			reportedElsewhere := l.url.Scheme == "http" && e.secure() && !e.upgrades()
			if l.directive == "script-src" && !e.sameSite(l.url) && !reportedElsewhere &&
				!strings.HasPrefix(strings.ToLower(l.raw), "https:") {
				all = append(all,
					rule.Fail("The page names the script %s without https.", phrase.Quote(l.raw)).About(phrase.Quote(l.raw))...)
			}
		}
		return all.Together("The page names %d scripts of other sites without https.", len(all))
	},
}, {
	Code: "headers.scripts.integrity", Severity: diag.Info, Category: factorScripts,
	Ref:   "Subresource Integrity section 3.5",
	Title: "Script of another site without integrity", Requirement: "Scripts of other sites have integrity",
	Advice: "Add integrity with the hash of the file, and crossorigin, where the file does not change; " +
		"or serve it yourself.",
	When: func(e *evidence) bool { return len(e.code()) > 0 },
	Fails: func(e *evidence) (all rule.Failures) {
		for _, l := range e.code() {
			if l.directive == "script-src" && l.url.Host != "" && !e.sameSite(l.url) && len(l.integrity) == 0 {
				all = append(all,
					rule.Fail("The page runs %s, whatever that host serves.", phrase.Quote(l.raw)).About(l.url.Host)...)
			}
		}
		return all.Together("The page runs %d scripts of other sites, whatever those hosts serve.", len(all))
	},
}}
