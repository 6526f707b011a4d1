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

// eachCookie makes the test of a rule that looks at one cookie after the other.
func eachCookie(fails func(*evidence, *cookie) diag.Failures) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		return diag.FailEach(e.live(), func(c cookie) diag.Failures { return fails(e, &c).About(c.title()) })
	}
}

// protected reports whether Strict-Transport-Security keeps browsers from sending the cookie over http.
func (e *evidence) protected() bool {
	return e.trusted() && len(e.hsts) > 0 && e.hsts[0].Valid() && e.hsts[0].Age() >= halfYear
}

// cookieRules are about whether browsers take the cookies, and about those of logins.
var cookieRules = diag.Rules[*evidence]{
	{
		Code: "headers.cookies.prefix", Severity: diag.Error, Category: factorCookies, DependsOn: fetched,
		Ref:         "RFC 6265bis section 4.1.3",
		Title:       "Cookie violates its name prefix and is rejected",
		Requirement: "Cookies meet the requirements of their name prefixes",
		Advice: "Set a __Host- cookie with Secure, Path=/ and without Domain, a __Secure- cookie with Secure; or " +
			"rename the cookie.",
		When: setsCookies,
		Fails: eachCookie(func(_ *evidence, c *cookie) diag.Failures {
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
	},
	{
		Code: "headers.cookies.samesite.none", Severity: diag.Error, Category: factorCookies, DependsOn: fetched,
		Ref:         "RFC 6265bis section 5.7",
		Title:       "Cookie with SameSite=None lacks Secure and is rejected",
		Requirement: "Cookies with SameSite=None have Secure",
		Advice:      "Add Secure, which SameSite=None requires, or set SameSite=Lax if other sites need not send the cookie.",
		When:        setsCookies,
		Fails: eachCookie(func(_ *evidence, c *cookie) diag.Failures {
			return diag.FailIf(c.SameSite == "None" && !c.Secure, "Browsers reject the cookie %s: it has SameSite=None without Secure.", c.title()).
				Suggesting(c.with(func(s *setcookie.Cookie) { s.Secure = true }))
		}),
	},
	{
		Code: "headers.cookies.rejected", Severity: diag.Error, Category: factorCookies, DependsOn: fetched,
		Title: "Browsers reject a cookie", Requirement: "Browsers accept the cookies", Ref: "RFC 6265bis section 5.7",
		Advice: "Correct that attribute, or stop setting the cookie.",
		When:   setsCookies,
		Fails: eachCookie(func(_ *evidence, c *cookie) diag.Failures {
			why := c.refusal()
			return diag.FailIf(why != "", "Browsers reject the cookie %s that %s sets: %s.", c.title(), c.from, why)
		}),
	},
	{
		Code: "headers.cookies.session.secure", Severity: diag.Error, Category: factorCookies, DependsOn: fetched,
		Ref:   "RFC 6265bis section 8.3",
		Title: "Session cookie without Secure", Requirement: "Session cookies have Secure, or HSTS protects them",
		Advice: "Add Secure to the cookie, so that browsers send it over HTTPS only.",
		When:   setsSessions,
		Fails: eachCookie(func(e *evidence, c *cookie) diag.Failures {
			return diag.FailIf(c.session() && !c.Secure && !e.protected(),
				"The cookie %s looks like a session cookie and lacks Secure: one request over HTTP exposes it to anyone on the network path.", c.title()).
				Suggesting(e.securely(c))
		}),
	},
	{
		Code: "headers.cookies.session.httponly", Severity: diag.Warning, Category: factorCookies, DependsOn: fetched,
		Ref:   "RFC 6265bis section 4.1.2.6",
		Title: "Session cookie without HttpOnly", Requirement: "Session cookies have HttpOnly",
		Advice: "Add HttpOnly, unless the page's own scripts read the cookie: injected scripts then cannot steal it.",
		When:   setsSessions,
		Fails: eachCookie(func(_ *evidence, c *cookie) diag.Failures {
			return diag.FailIf(c.session() && !c.HTTPOnly, "Any script of the page can read the cookie %s, which looks like a session cookie.", c.title())
		}),
	},
	{
		Code: "headers.cookies.secure", Severity: diag.Warning, Category: factorCookies, DependsOn: fetched,
		Title: "Cookie without Secure", Requirement: "Cookies have Secure", Ref: "RFC 6265bis section 4.1.2.5",
		Advice: "Add Secure to every cookie that an HTTPS page sets.",
		When:   func(e *evidence) bool { return setsCookies(e) && e.secure() },
		Fails: eachCookie(func(e *evidence, c *cookie) diag.Failures {
			told := c.session() && !e.protected() || c.SameSite == "None" || c.Prefix() != setcookie.NoPrefix
			return diag.FailIf(!c.Secure && !told, "The cookie %s lacks Secure, so browsers also send it over HTTP.", c.title()).
				Suggesting(e.securely(c))
		}),
	},
}

// securely returns the field with Secure; empty where the site does not answer over https, where it would not work.
func (e *evidence) securely(c *cookie) string {
	if !e.goodHTTPS() || c.from.Scheme != "https" {
		return ""
	}
	return c.with(func(s *setcookie.Cookie) { s.Secure = true })
}

// cookieDetailRules are about attributes that do not do what was meant.
var cookieDetailRules = diag.Rules[*evidence]{
	{
		Code: "headers.cookies.samesite.invalid", Severity: diag.Warning, Category: factorCookies, DependsOn: fetched,
		Ref:   "RFC 6265bis section 5.6.7",
		Title: "SameSite has a value that browsers do not know", Requirement: "SameSite has a value that browsers know",
		Advice: "Set SameSite to Lax, Strict, or None with Secure.",
		When:   setsCookies,
		Fails: eachCookie(func(_ *evidence, c *cookie) diag.Failures {
			return diag.FailIf(c.SameSite == "" && c.RawSameSite != "", "The cookie %s has SameSite=%s, which browsers take for absent.", c.title(), diag.Quote(c.RawSameSite))
		}),
	},
	{
		Code: "headers.cookies.samesite.missing", Severity: diag.Warning, Category: factorCookies, DependsOn: fetched,
		Ref:   "RFC 6265bis section 5.6.7",
		Title: "Session or CSRF cookie without SameSite", Requirement: "Session and CSRF cookies have SameSite",
		Advice: "Set SameSite=Lax, which Chromium assumes and other browsers do not: else other sites can cause " +
			"requests with the cookie.",
		When: setsCookies,
		Fails: eachCookie(func(_ *evidence, c *cookie) diag.Failures {
			return diag.FailIf((c.session() || strings.Contains(strings.ToLower(c.Name), "csrf")) && c.SameSite == "" && c.RawSameSite == "",
				"The cookie %s has no SameSite; some browsers send it with cross-site requests.", c.title())
		}),
	},
}
