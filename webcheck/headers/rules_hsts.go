package headers

import (
	"net/url"
	"time"

	"github.com/diagkit/diagkit/diag"
)

func isHTTPS(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https"
}

func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// hstsRules are about Strict-Transport-Security.
var hstsRules = diag.Rules[*evidence]{{
	Code: "headers.hsts.over_http", Severity: diag.Warning, Ref: "RFC 6797 section 8.1",
	Title:       "Strict-Transport-Security over HTTP is ignored",
	Requirement: "Strict-Transport-Security is sent over HTTPS only",
	Advice:      "Send the header over HTTPS, and redirect HTTP there.",
	When:        func(e *evidence) bool { return !e.secure() },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(len(e.hsts) > 0, "%s sends Strict-Transport-Security over plain HTTP, where browsers ignore it.", e.final.URL).
			About("Strict-Transport-Security")
	},
}, {
	Code: "headers.hsts.missing", Severity: diag.Warning, Category: factorTransport, Ref: "RFC 6797 section 7.1",
	Title: "No Strict-Transport-Security", Requirement: "Strict-Transport-Security is sent",
	Advice: "Send Strict-Transport-Security, and raise max-age in stages from 300 to half a year or more while nothing " +
		"breaks, so browsers never try HTTP first. Add includeSubDomains only once every subdomain answers over HTTPS.",
	When: (*evidence).secure,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(len(e.hsts) == 0,
			"Browsers are not told to use HTTPS only (HSTS), so an attacker on the network can keep a visitor on HTTP.").
			About("Strict-Transport-Security").Suggesting(e.newHSTS())
	},
}, {
	Code: "headers.hsts.invalid", Severity: diag.Error, Category: factorTransport,
	DependsOn: []diag.Code{"headers.hsts.missing"}, Ref: "RFC 6797 section 6.1",
	Title: "Strict-Transport-Security is invalid and ignored", Requirement: "Strict-Transport-Security is valid",
	Advice: "Write the header as max-age=31536000, with further directives after semicolons.",
	Fails: func(e *evidence) diag.Failures {
		if e.hsts[0].Valid() {
			return nil
		}
		f := e.hsts[0].Faults[0]
		return diag.Failures{{
			Detail: diag.Sentence(f.Text), Target: "Strict-Transport-Security", Suggested: e.newHSTS(),
			Location: &diag.Location{Offset: f.Offset, Length: f.Length},
		}}
	},
}, {
	Code: "headers.hsts.zero", Severity: diag.Warning, Category: factorTransport,
	DependsOn: []diag.Code{"headers.hsts.invalid"}, Ref: "RFC 6797 section 6.1.1",
	Title: "max-age=0 switches Strict-Transport-Security off", Requirement: "max-age is more than 0",
	Advice: "Raise max-age once the whole host answers over HTTPS; leave it at 0 only to withdraw HSTS.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.hsts[0].Age() == 0, "With max-age=0 browsers forget that the host is to be reached over HTTPS only.").
			About("max-age").Suggesting(e.newHSTS())
	},
}, {
	Code: "headers.hsts.short", Severity: diag.Warning, Category: factorTransport,
	DependsOn: []diag.Code{"headers.hsts.zero"}, Ref: "RFC 6797 section 11.2",
	Title: "HSTS max-age is shorter than half a year", Requirement: "max-age is at least half a year",
	Advice: "Raise max-age in stages to 31536000, a year: browsers forget a short one between visits.",
	Fails: func(e *evidence) diag.Failures {
		age := e.hsts[0].Age()
		return diag.FailIf(age < halfYear, "Browsers forget the header after %s.", diag.Count(int64(age/time.Second), "second")).
			About("max-age").Suggesting(e.newHSTS())
	},
}, {
	Code: "headers.hsts.duplicate", Severity: diag.Warning, Category: factorTransport,
	DependsOn: []diag.Code{"headers.hsts.missing"}, Ref: "RFC 6797 section 8.1",
	Title: "Strict-Transport-Security is sent more than once", Requirement: "Strict-Transport-Security is sent once",
	Advice: "Let only one of web server, proxy and application send the header: browsers use the first, and " +
		"preload lists refuse several.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(len(e.hsts) > 1, "The header is sent %d times.", len(e.hsts)).About("Strict-Transport-Security")
	},
}}
