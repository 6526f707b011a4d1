package headers

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/dunglas/httpsfv"
)

// hygieneRules are about caching, disclosure, spelling, and fields that are obsolete.
var hygieneRules = diag.Rules[*evidence]{
	{
		Code: "headers.misspelled", Severity: diag.Warning, Weight: 5, Category: factorHygiene, DependsOn: fetched,
		Title:       "Field name is misspelled, so that browsers ignore it",
		Requirement: "Names of security fields are spelled right",
		Ref:         "RFC 9110 section 5.1", Advice: "Send the field under its right name, and remove the misspelled one.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.misspellings(), func(m misspelling) diag.Failures {
				return diag.Fail("The answer has a field %s; %s was probably meant.", diag.Quote(m.name), m.meant).About(diag.Quote(m.name)).
					Suggesting(m.suggested)
			})
		},
	},
	{
		Code: "headers.duplicate", Severity: diag.Info, DependsOn: fetched,
		Title:       "Field that should stand once is sent several times",
		Requirement: "Fields with one value are sent once", Ref: "RFC 9110 section 5.3",
		Advice: "Let only one of web server, proxy and application send the field.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(singles, func(name string) diag.Failures {
				n := len(e.values(name))
				return diag.FailIf(n > 1, "%s is sent %d times: %s.", name, n, diag.Quote(e.value(name))).About(name)
			})
		},
	},
	{
		Code: "headers.cache.cookies", Severity: diag.Warning, Weight: 5, Category: factorHygiene, DependsOn: fetched,
		Title:       "Shared caches may keep an answer that sets cookies",
		Requirement: "Shared caches keep no answer that sets cookies", Ref: "RFC 9111 section 7.3",
		Advice: "Send Cache-Control: private or no-store with answers that set cookies; else one visitor may get " +
			"another's cookie.",
		When: func(e *evidence) bool { return len(e.final.Header.Values("Set-Cookie")) > 0 },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.shared(), "Cache-Control is %s, and the answer sets cookies.", diag.Quote(e.value("Cache-Control"))).
				About("Cache-Control").Suggesting(e.privately())
		},
	},
	{
		Code: "headers.disclosure", Severity: diag.Info, Weight: 2, Category: factorHygiene, DependsOn: fetched,
		Title:       "Header discloses software and its version",
		Requirement: "The header discloses no versions of software", Ref: "RFC 9110 section 10.2.4",
		Advice: "Remove the field, or leave the version out; and keep the software up to date, which matters more.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.disclosures(), func(d Disclosure) diag.Failures {
				f := diag.FailIf(d.detailed(), "%s discloses %s.", d.Header, diag.Quote(d.Value)).About(d.Header)
				if name := withoutVersions(d.Value); strings.EqualFold(d.Header, "Server") && name != "" {
					return f.Suggesting("Server: " + name)
				}
				return f
			})
		},
	},
	{
		Code: "headers.xss_protection", Severity: diag.Info, DependsOn: fetched,
		Title:       "X-XSS-Protection switches on a filter that did harm",
		Requirement: "X-XSS-Protection is absent or 0", Ref: "MDN, X-XSS-Protection",
		Advice: "Remove the field, or send 0: browsers have taken the filter out, since it could be used to break " +
			"pages. Use Content-Security-Policy.",
		Fails: func(e *evidence) diag.Failures {
			value := e.value("X-XSS-Protection")
			return diag.FailIf(value != "" && !strings.HasPrefix(value, "0"), "X-XSS-Protection is %s.", diag.Quote(value)).
				About("X-XSS-Protection").Suggesting("X-XSS-Protection: 0")
		},
	},
	{
		Code: "headers.obsolete", Severity: diag.Info, DependsOn: fetched,
		Title: "Obsolete field", Requirement: "No field is obsolete", Ref: "RFC 9110 section 16.3.1",
		Advice: "Remove the field.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(obsolete, func(o [2]string) diag.Failures {
				return diag.FailIf(e.has(o[0]), "%s %s.", o[0], o[1]).About(o[0])
			})
		},
	},
	{
		Code: "headers.reporting.syntax", Severity: diag.Warning, Weight: 2, Category: factorHygiene, DependsOn: fetched,
		Title: "Reporting field has a syntax error and is ignored", Requirement: "Reporting fields are valid",
		Ref:    "Reporting API section 3.2, Network Error Logging section 4",
		Advice: "Write Reporting-Endpoints as name=\"https://…\", and Report-To and NEL as JSON objects.",
		When:   func(e *evidence) bool { return e.has("Report-To") || e.has("NEL") || e.has("Reporting-Endpoints") },
		Fails: func(e *evidence) (all diag.Failures) {
			for _, name := range []string{"Report-To", "NEL"} {
				if e.has(name) && !json.Valid([]byte("["+e.value(name)+"]")) {
					all = append(all, diag.Fail("%s is no JSON: %s.", name, diag.Quote(e.value(name))).About(name)...)
				}
			}
			if _, err := httpsfv.UnmarshalDictionary(e.values("Reporting-Endpoints")); e.has("Reporting-Endpoints") && err != nil {
				all = append(all, diag.Fail("Reporting-Endpoints is no structured dictionary: %s.", diag.Quote(e.value("Reporting-Endpoints"))).About("Reporting-Endpoints")...)
			}
			return all
		},
	},
	{
		Code: "headers.reporting.group", Severity: diag.Info, DependsOn: []diag.Code{"headers.reporting.syntax"},
		Title:       "NEL names a group that Report-To does not define",
		Requirement: "NEL names a group that Report-To defines", Ref: "Network Error Logging section 4.1",
		Advice: "Define the group in Report-To, or name one that it defines.",
		When:   func(e *evidence) bool { return e.has("NEL") },
		Fails: func(e *evidence) diag.Failures {
			var nel struct {
				ReportTo string `json:"report_to"`
			}
			_ = json.Unmarshal([]byte(e.values("NEL")[0]), &nel) // without a group there is none to be defined
			var groups []struct{ Group string }
			_ = json.Unmarshal([]byte("["+e.value("Report-To")+"]"), &groups)
			for _, g := range groups {
				if g.Group == nel.ReportTo || g.Group == "" && nel.ReportTo == "default" {
					return nil
				}
			}
			return diag.FailIf(nel.ReportTo != "", "NEL sends reports to the group %s, which Report-To does not define.", diag.Quote(nel.ReportTo)).About("NEL")
		},
	},
	{
		Code: "headers.clear_site_data", Severity: diag.Warning, DependsOn: fetched,
		Title:       "Clear-Site-Data has a value that browsers ignore",
		Requirement: "Clear-Site-Data has values that browsers know", Ref: "Clear Site Data section 3.1",
		Advice: "Write the types in double quotes, separated by commas: \"cache\", \"cookies\", \"storage\", or \"*\".",
		When:   func(e *evidence) bool { return e.has("Clear-Site-Data") },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(strings.Split(e.value("Clear-Site-Data"), ","), func(v string) diag.Failures {
				return diag.FailIf(!slices.Contains(siteData, strings.TrimSpace(v)), "Clear-Site-Data has %s.", diag.Quote(strings.TrimSpace(v))).About("Clear-Site-Data")
			})
		},
	},
	{
		Code: "headers.clear_site_data.page", Severity: diag.Info, DependsOn: fetched,
		Title: "Page clears the browser's data at each visit", Requirement: "Only logging out clears data",
		Ref:    "Clear Site Data section 3.1",
		Advice: "Send Clear-Site-Data in answer to logging out only.",
		When:   func(e *evidence) bool { return e.has("Clear-Site-Data") && e.final.StatusCode == http.StatusOK },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(strings.Contains(e.value("Clear-Site-Data"), `"`), "The page sends Clear-Site-Data: %s.", diag.Quote(e.value("Clear-Site-Data"))).About("Clear-Site-Data")
		},
	},
	{
		Code: "headers.scripts.insecure", Severity: diag.Error, Weight: 10, Category: factorTypes, DependsOn: fetched,
		Title:       "HTTPS page loads a script or style over plain HTTP",
		Requirement: "Scripts and styles come over HTTPS", Ref: "W3C Mixed Content section 4.2",
		Advice: "Write https in the place of http: browsers block the file.",
		When:   func(e *evidence) bool { return e.secure() && e.document != nil && e.loadsCode(nil) },
		Fails: func(e *evidence) (all diag.Failures) {
			e.loadsCode(func(l load) {
				if l.url.Scheme == "http" && !e.upgrades() {
					all = append(all, diag.Fail("The page loads %s.", diag.Quote(l.raw)).About(diag.Quote(l.raw))...)
				}
			})
			return all
		},
	},
	{
		Code: "headers.scripts.integrity", Severity: diag.Info, DependsOn: fetched,
		Title: "Script of another site without integrity", Requirement: "Scripts of other sites have integrity",
		Ref: "Subresource Integrity section 3.5",
		Advice: "Add integrity with the hash of the file, and crossorigin, where the file does not change; or serve it " +
			"yourself.",
		When: func(e *evidence) bool { return e.document != nil && e.loadsCode(nil) },
		Fails: func(e *evidence) (all diag.Failures) {
			e.loadsCode(func(l load) {
				if l.directive == "script-src" && l.url.Host != "" && !e.sameSite(l.url) && len(l.integrity) == 0 {
					all = append(all, diag.Fail("The page runs %s, whatever that host serves.", diag.Quote(l.raw)).About(l.url.Host)...)
				}
			})
			return all
		},
	},
	{
		Code: "headers.compression", Severity: diag.Info, DependsOn: fetched,
		Title: "Page is not compressed", Requirement: "The page is compressed", Ref: "RFC 9110 section 8.4",
		Advice: "Switch on compression with gzip, Brotli or zstd for text.",
		When:   func(e *evidence) bool { return e.document != nil && len(e.page.Body) > worthCompressing },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.page.Encoding == "" || e.page.Encoding == "identity", "The page of %d bytes came without compression, though gzip was offered.", e.page.TransferBytes).
				About("Content-Encoding")
		},
	},
	{
		Code: "headers.http_version", Severity: diag.Info, DependsOn: fetched,
		Title: "HTTP/2 is not offered", Requirement: "HTTP/2 is offered", Ref: "RFC 9113 section 3.2",
		Advice: "Switch on HTTP/2 in the server or the proxy in front of it, which loads pages of many files faster.",
		When:   (*evidence).secure,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(strings.HasPrefix(e.final.HTTPVersion, "HTTP/1"), "The server chose %s over TLS, though HTTP/2 was offered.", e.final.HTTPVersion)
		},
	},
	{
		Code: "headers.alt_svc", Severity: diag.Info, DependsOn: fetched,
		Title: "Alt-Svc has a syntax error and is ignored", Requirement: "Alt-Svc is valid", Ref: "RFC 7838 section 3",
		Advice: "Write each alternative as protocol=\"host:port\", such as h3=\":443\"; ma=86400.",
		When:   func(e *evidence) bool { return e.has("Alt-Svc") },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!validAltSvc(e.value("Alt-Svc")), "Alt-Svc is %s.", diag.Quote(e.value("Alt-Svc"))).About("Alt-Svc")
		},
	},
}

// worthCompressing is the size from which compression saves a packet (one of Ethernet).
const worthCompressing = 1500
