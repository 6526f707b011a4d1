package headers

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

var hygieneRules = diag.Rules[*evidence]{{
	Code: "headers.misspelled", Severity: diag.Warning, Ref: "RFC 9110 section 5.1",
	Title:       "Header name is misspelled and ignored by browsers",
	Requirement: "Names of security fields are spelled right",
	Advice:      "Send the field under its right name, and remove the misspelled one.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.misspellings(), func(m misspelling) diag.Failures {
			return diag.Fail("The response has a field %s; %s was probably meant.", diag.Quote(m.name), m.meant).About(diag.Quote(m.name)).
				Suggesting(m.suggested)
		})
	},
}, {
	Code: "headers.duplicate", Severity: diag.Info, Ref: "RFC 9110 section 5.3",
	Title: "Header that must be sent once is sent several times", Requirement: "Fields with one value are sent once",
	Advice: "Let only one of web server, proxy and application send the field.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(singles, func(name string) diag.Failures {
			n := len(e.values(name))
			return diag.FailIf(n > 1, "%s is sent %d times: %s.", name, n, diag.Quote(e.value(name))).About(name)
		})
	},
}, {
	Code: "headers.cache.cookies", Severity: diag.Warning, Ref: "RFC 9111 section 7.3",
	Title:       "Shared caches may keep a response that sets cookies",
	Requirement: "Shared caches keep no answer that sets cookies",
	Advice: "Send Cache-Control: private or no-store with responses that set cookies; otherwise one visitor may get " +
		"another's cookie.",
	When: func(e *evidence) bool { return len(e.final.Header.Values("Set-Cookie")) > 0 },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.shared(), "Cache-Control is %s, and the response sets cookies.", diag.Quote(e.value("Cache-Control"))).
			About("Cache-Control").Suggesting(e.privately())
	},
}, {
	Code: "headers.disclosure", Severity: diag.Info, Ref: "RFC 9110 section 10.2.4",
	Title: "Header discloses software and its version", Requirement: "The header discloses no versions of software",
	Advice: "Remove the field or the version in it. Keeping the software up to date matters more.",
	Fails: func(e *evidence) diag.Failures {
		list := slices.DeleteFunc(e.disclosures(), func(d Disclosure) bool { return !d.detailed() })
		return diag.FailEach(list, func(d Disclosure) diag.Failures {
			f := diag.Fail("%s discloses %s.", d.Header, diag.Quote(d.Value)).About(d.Header)
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
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(obsolete, func(o [2]string) diag.Failures {
			return diag.FailIf(e.has(o[0]), "%s %s.", o[0], o[1]).About(o[0])
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
	Fails: func(e *evidence) (all diag.Failures) {
		if e.reportingFaults() != nil {
			return nil
		}
		groups, endpoints := e.endpoints()
		var nel struct {
			ReportTo string `json:"report_to"`
		}
		if e.has("NEL") {
			_ = json.Unmarshal([]byte(e.values("NEL")[0]), &nel) // without a group there is none to be defined
			all = diag.FailIf(nel.ReportTo != "" && !slices.Contains(groups, nel.ReportTo),
				"NEL sends reports to the group %s, which Report-To does not define.", diag.Quote(nel.ReportTo)).About("NEL")
		}
		for i := range e.enforced {
			if d := e.enforced[i].Get("report-to"); d != nil && len(d.Values) > 0 && !slices.Contains(slices.Concat(groups, endpoints), d.Values[0]) {
				all = append(all, diag.Fail("report-to of the Content-Security-Policy names %s, which neither Reporting-Endpoints nor Report-To defines.",
					diag.Quote(d.Values[0])).About("report-to")...)
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
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(strings.Split(e.value("Clear-Site-Data"), ","), func(v string) diag.Failures {
			return diag.FailIf(!slices.Contains(siteData, strings.TrimSpace(v)), "Clear-Site-Data has %s.", diag.Quote(strings.TrimSpace(v))).About("Clear-Site-Data")
		})
	},
}, {
	Code: "headers.scripts.insecure", Severity: diag.Error, Category: factorScripts,
	Ref:   "W3C Mixed Content section 4.2",
	Title: "HTTPS page loads a script or style over plain HTTP", Requirement: "Scripts and styles come over HTTPS",
	Advice: "Write https instead of http: browsers block the file.",
	When:   func(e *evidence) bool { return e.secure() && e.document != nil && e.loadsCode(nil) },
	Fails: func(e *evidence) (all diag.Failures) {
		e.loadsCode(func(l load) {
			if l.url.Scheme == "http" && !e.upgrades() {
				all = append(all, diag.Fail("The page loads %s, which browsers block.", diag.Quote(l.raw)).About(diag.Quote(l.raw))...)
			}
		})
		return all.Together("The page loads %d scripts and styles over plain HTTP, which browsers block.", len(all))
	},
}, {
	Code: "headers.scripts.scheme", Severity: diag.Warning, Category: factorScripts,
	Ref:         "HTTP Observatory, subresource integrity",
	Title:       "Script from another site is not loaded over https",
	Requirement: "Scripts from other sites are loaded over https",
	Advice:      "Begin the URL of the script with https, so that it is safe however the page is served.",
	When:        func(e *evidence) bool { return e.document != nil && e.loadsCode(nil) },
	Fails: func(e *evidence) (all diag.Failures) {
		e.loadsCode(func(l load) {
			told := l.url.Scheme == "http" && e.secure() && !e.upgrades()
			if l.directive == "script-src" && !e.sameSite(l.url) && !told && !strings.HasPrefix(strings.ToLower(l.raw), "https:") {
				all = append(all, diag.Fail("The page names the script %s without https.", diag.Quote(l.raw)).About(diag.Quote(l.raw))...)
			}
		})
		return all.Together("The page names %d scripts of other sites without https.", len(all))
	},
}, {
	Code: "headers.scripts.integrity", Severity: diag.Info, Category: factorScripts,
	Ref:   "Subresource Integrity section 3.5",
	Title: "Script of another site without integrity", Requirement: "Scripts of other sites have integrity",
	Advice: "Add integrity with the hash of the file, and crossorigin, where the file does not change; or serve it " +
		"yourself.",
	When: func(e *evidence) bool { return e.document != nil && e.loadsCode(nil) },
	Fails: func(e *evidence) (all diag.Failures) {
		e.loadsCode(func(l load) {
			if l.directive == "script-src" && l.url.Host != "" && !e.sameSite(l.url) && len(l.integrity) == 0 {
				all = append(all, diag.Fail("The page runs %s, whatever that host serves.", diag.Quote(l.raw)).About(l.url.Host)...)
			}
		})
		return all.Together("The page runs %d scripts of other sites, whatever those hosts serve.", len(all))
	},
}}
