package headers

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/headers/setcookie"
)

func setsCookies(e *evidence) bool { return len(e.live()) > 0 }

func setsSessions(e *evidence) bool {
	return slices.ContainsFunc(e.live(), func(c cookie) bool { return c.session() })
}

// cookieRule makes a rule that looks at one cookie after the other.
func cookieRule(code diag.Code, severity diag.Severity, ref, title, requirement, advice string, when func(*evidence) bool,
	fails func(*evidence, *cookie) diag.Failures) rule {
	return rule{
		Code: code, Severity: severity, Category: factorCookies, Ref: ref, Title: title, Requirement: requirement, Advice: advice,
		When: when,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.live(), func(c cookie) diag.Failures { return fails(e, &c).About(c.title()) })
		},
	}
}

// protected reports whether Strict-Transport-Security keeps browsers from sending the cookie over http.
func (e *evidence) protected() bool {
	return e.trusted() && len(e.hsts) > 0 && e.hsts[0].Valid() && e.hsts[0].Age() >= halfYear
}

// cookieRules are about whether browsers take the cookies, about those of logins, and about attributes that do not do
// what was meant.
var cookieRules = diag.Rules[*evidence]{
	cookieRule("headers.cookies.prefix", diag.Error, "RFC 6265bis section 4.1.3",
		"Cookie violates its name prefix and is rejected", "Cookies meet the requirements of their name prefixes",
		"Set a __Host- cookie with Secure, Path=/ and without Domain, a __Secure- cookie with Secure; or "+
			"rename the cookie.",
		setsCookies, func(_ *evidence, c *cookie) diag.Failures {
			broken := c.BrokenPromises()
			return diag.FailIf(broken != nil, "Browsers reject the cookie %s with the prefix %s: %s.", c.title(), c.Prefix(), strings.Join(broken, ", ")).
				Suggesting(c.with(func(s *setcookie.Cookie) {
					s.Secure = true
					s.HTTPOnly = s.HTTPOnly || c.Prefix() == setcookie.HTTPName || c.Prefix() == setcookie.HostHTTP
					if c.Prefix() == setcookie.HostName || c.Prefix() == setcookie.HostHTTP {
						s.Domain, s.Path = "", "/"
					}
				}))
		}),
	cookieRule("headers.cookies.samesite.none", diag.Error, "RFC 6265bis section 5.7",
		"Cookie with SameSite=None lacks Secure and is rejected", "Cookies with SameSite=None have Secure",
		"Add Secure, which SameSite=None requires, or set SameSite=Lax if other sites need not send the cookie.",
		setsCookies, func(_ *evidence, c *cookie) diag.Failures {
			return diag.FailIf(c.SameSite == "None" && !c.Secure, "Browsers reject the cookie %s: it has SameSite=None without Secure.", c.title()).
				Suggesting(c.with(func(s *setcookie.Cookie) { s.Secure = true }))
		}),
	cookieRule("headers.cookies.rejected", diag.Error, "RFC 6265bis section 5.7",
		"Browsers reject a cookie", "Browsers accept the cookies",
		"Correct that attribute, or stop setting the cookie.", setsCookies, func(_ *evidence, c *cookie) diag.Failures {
			why := c.refusal()
			return diag.FailIf(why != "", "Browsers reject the cookie %s that %s sets: %s.", c.title(), c.from, why)
		}),
	cookieRule("headers.cookies.session.secure", diag.Error, "RFC 6265bis section 8.3",
		"Session cookie without Secure", "Session cookies have Secure, or HSTS protects them",
		"Add Secure to the cookie, so that browsers send it over HTTPS only.", setsSessions, func(e *evidence, c *cookie) diag.Failures {
			return diag.FailIf(c.session() && !c.Secure && !e.protected(),
				"The cookie %s looks like a session cookie and lacks Secure: one request over HTTP exposes it to anyone on the network path.", c.title()).
				Suggesting(e.securely(c))
		}),
	cookieRule("headers.cookies.session.httponly", diag.Warning, "RFC 6265bis section 4.1.2.6",
		"Session cookie without HttpOnly", "Session cookies have HttpOnly",
		"Add HttpOnly, unless the page's own scripts read the cookie: injected scripts then cannot steal it.",
		setsSessions, func(_ *evidence, c *cookie) diag.Failures {
			return diag.FailIf(c.session() && !c.HTTPOnly, "Any script of the page can read the cookie %s, which looks like a session cookie.", c.title())
		}),
	cookieRule("headers.cookies.secure", diag.Warning, "RFC 6265bis section 4.1.2.5",
		"Cookie without Secure", "Cookies have Secure", "Add Secure to every cookie that an HTTPS page sets.",
		func(e *evidence) bool { return setsCookies(e) && e.secure() },
		func(e *evidence, c *cookie) diag.Failures {
			told := c.session() && !e.protected() || c.SameSite == "None" || c.Prefix() != setcookie.NoPrefix
			return diag.FailIf(!c.Secure && !told, "The cookie %s lacks Secure, so browsers also send it over HTTP.", c.title()).
				Suggesting(e.securely(c))
		}),
	cookieRule("headers.cookies.samesite.invalid", diag.Warning, "RFC 6265bis section 5.6.7",
		"SameSite has a value that browsers do not know", "SameSite has a value that browsers know",
		"Set SameSite to Lax, Strict, or None with Secure.", setsCookies, func(_ *evidence, c *cookie) diag.Failures {
			return diag.FailIf(c.SameSite == "" && c.RawSameSite != "", "The cookie %s has SameSite=%s, which browsers take for absent.", c.title(), diag.Quote(c.RawSameSite))
		}),
	cookieRule("headers.cookies.samesite.missing", diag.Warning, "RFC 6265bis section 5.6.7",
		"Session or CSRF cookie without SameSite", "Session and CSRF cookies have SameSite",
		"Set SameSite=Lax, which Chromium assumes and other browsers do not: otherwise other sites can cause "+
			"requests with the cookie.",
		setsCookies, func(_ *evidence, c *cookie) diag.Failures {
			return diag.FailIf((c.session() || strings.Contains(strings.ToLower(c.Name), "csrf")) && c.SameSite == "" && c.RawSameSite == "",
				"The cookie %s has no SameSite; some browsers send it with cross-site requests.", c.title())
		}),
}

// securely returns the field with Secure; empty where the site does not answer over https, where it would not work.
func (e *evidence) securely(c *cookie) string {
	if !e.goodHTTPS() || c.from.Scheme != "https" {
		return ""
	}
	return c.with(func(s *setcookie.Cookie) { s.Secure = true })
}
