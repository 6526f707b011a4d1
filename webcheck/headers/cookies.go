package headers

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/setcookie"
	"golang.org/x/net/publicsuffix"
)

// maxCookies bounds the cookies that are examined; browsers keep 180 of a site.
const maxCookies = 100

type cookie struct {
	setcookie.Cookie
	line   string
	from   *url.URL
	broken bool // browsers cannot read the field at all
}

func (e *evidence) readCookies() {
	for _, h := range e.page.Hops {
		from, err := url.Parse(h.URL)
		if err != nil {
			continue
		}
		for _, line := range h.Header.Values("Set-Cookie") {
			if len(e.cookies) == maxCookies {
				return
			}
			c, ok := setcookie.Parse(line)
			e.cookies = append(e.cookies, cookie{c, line, from, !ok})
		}
	}
}

// activeCookies returns the cookies that are set rather than removed.
func (e *evidence) activeCookies() []cookie {
	return slices.DeleteFunc(slices.Clone(e.cookies), func(c cookie) bool { return c.Removes(e.now) })
}

// title is the cookie's name as a sentence has it.
func (c *cookie) title() string {
	if c.Name == "" {
		return "without a name"
	}
	return phrase.Quote(c.Name)
}

// sessionNames are parts of names of cookies by which sites recognize who has logged in.
var sessionNames = []string{"sess", "login", "auth", "jwt", "token", "logged_in", "remember", "connect.sid", "sid",
	"identity"}

// notSessions are parts of names that look like those but are not.
var notSessions = []string{"csrf", "xsrf", "consent", "cookie_policy", "_ga", "_gid", "sidebar", "side"}

// session reports whether the cookie looks like that of a login.
func (c *cookie) session() bool {
	name := strings.ToLower(c.Name)
	contains := func(part string) bool {
		if part == "sid" {
			return name == "sid" || strings.HasSuffix(name, "sid") || strings.HasPrefix(name, "sid_")
		}
		return strings.Contains(name, part)
	}
	return slices.ContainsFunc(sessionNames, contains) &&
		!slices.ContainsFunc(notSessions, func(part string) bool { return strings.Contains(name, part) })
}

// path returns the path to which the cookie is sent (RFC 6265bis section 5.1.4).
func (c *cookie) path() string {
	if c.Path != "" {
		return c.Path
	}
	i := strings.LastIndexByte(c.from.Path, '/')
	if i <= 0 {
		return "/"
	}
	return c.from.Path[:i]
}

// refusal says why browsers refuse the cookie, apart from its prefix and SameSite; empty if they take it
// (RFC 6265bis section 5.7).
func (c *cookie) refusal() string {
	host := strings.ToLower(c.from.Hostname())
	suffix, _ := publicsuffix.PublicSuffix(c.Domain)
	switch {
	case c.broken && len(c.line) > setcookie.MaxPair:
		return "name and value are longer than 4096 bytes"
	case c.broken:
		return "the field is empty or has a control character"
	case c.Name == "" && setcookie.PrefixOf(c.Value) != setcookie.NoPrefix:
		return "it has no name, and a value with the prefix of one"
	case c.Domain != "" && c.Domain != host && (isAddress(host) || !strings.HasSuffix(host, "."+c.Domain)):
		return "its Domain " + phrase.Quote(c.Domain) + " does not cover the host " + host
	case c.Domain != "" && c.Domain == suffix && c.Domain != host:
		return "its Domain " + c.Domain + " is a public suffix"
	case c.Secure && c.from.Scheme == "http":
		return "it has Secure and was set over http"
	case c.Partitioned && !c.Secure:
		return "it has Partitioned without Secure"
	}
	return ""
}

// isAddress reports whether a host is one, which has no domains above it (RFC 6265bis section 5.1.3).
func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// repeated returns the cookies that a later field of the same answer sets anew.
func (e *evidence) repeated() (found []cookie) {
	type key struct{ hop, name, domain, path string }
	seen := map[key]bool{}
	for _, c := range e.activeCookies() {
		k := key{c.from.String(), c.Name, c.Domain, c.path()}
		if seen[k] && !c.broken {
			found = append(found, c)
		}
		seen[k] = true
	}
	return found
}

// with returns the field to send instead, after a change; empty if what is in it may be meant for one visitor.
func (c *cookie) with(change func(*setcookie.Cookie)) string {
	if c.session() {
		return ""
	}
	changed := c.Cookie
	change(&changed)
	return "Set-Cookie: " + changed.String()
}

func (e *evidence) reportCookies() []Cookie {
	list := []Cookie{}
	for _, c := range e.cookies {
		if c.broken {
			continue
		}
		list = append(list, Cookie{
			Name: text(c.Name), Secure: c.Secure, HTTPOnly: c.HTTPOnly, SameSite: c.SameSite,
			PrefixOK: len(c.BrokenPromises()) == 0, Path: text(c.path()), Domain: text(c.Domain), MaxAge: c.MaxAge,
			Expires: kit.OrZero(c.Expires).UTC(),
		})
	}
	return list
}

func setsCookies(e *evidence) bool { return len(e.activeCookies()) > 0 }

func setsSessions(e *evidence) bool {
	return slices.ContainsFunc(e.activeCookies(), func(c cookie) bool { return c.session() })
}

// cookieRule makes a rule that examines each cookie.
func cookieRule(code diag.Code, severity diag.Severity, ref, title, requirement, advice string,
	when func(*evidence) bool,
	fails func(*evidence, *cookie) rule.Failures) rule.Rule[*evidence] {
	return rule.Rule[*evidence]{
		Code: code, Severity: severity, Category: factorCookies, Ref: ref, Title: title, Requirement: requirement,
		Advice: advice,
		When:   when,
		Fails: func(e *evidence) rule.Failures {
			return rule.FailEach(e.activeCookies(), func(c cookie) rule.Failures { return fails(e, &c).About(c.title()) })
		},
	}
}

// protected reports whether Strict-Transport-Security keeps browsers from sending the cookie over http.
func (e *evidence) protected() bool {
	return e.trusted() && len(e.hsts) > 0 && e.hsts[0].Valid() && e.hsts[0].Age() >= halfYear
}

// cookieRules are about whether browsers take the cookies, about those of logins, and about attributes that do not do
// what was meant.
var cookieRules = rule.Rules[*evidence]{
	cookieRule("headers.cookies.prefix", diag.Error, "RFC 6265bis section 4.1.3",
		"Cookie violates its name prefix and is rejected", "Cookies meet the requirements of their name prefixes",
		"Set a __Host- cookie with Secure, Path=/ and without Domain, a __Secure- cookie with Secure; "+
			"or rename the cookie.",
		setsCookies, func(_ *evidence, c *cookie) rule.Failures {
			broken := c.BrokenPromises()
			return rule.FailIf(broken != nil, "Browsers reject the cookie %s with the prefix %s: %s.", c.title(), c.Prefix(),
				strings.Join(broken, ", ")).
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
		setsCookies, func(_ *evidence, c *cookie) rule.Failures {
			return rule.FailIf(c.SameSite == "None" && !c.Secure,
				"Browsers reject the cookie %s: it has SameSite=None without Secure.", c.title()).
				Suggesting(c.with(func(s *setcookie.Cookie) { s.Secure = true }))
		}),
	cookieRule("headers.cookies.rejected", diag.Error, "RFC 6265bis section 5.7",
		"Browsers reject a cookie", "Browsers accept the cookies",
		"Correct that attribute, or stop setting the cookie.", setsCookies, func(_ *evidence, c *cookie) rule.Failures {
			why := c.refusal()
			return rule.FailIf(why != "", "Browsers reject the cookie %s that %s sets: %s.", c.title(), c.from, why)
		}),
	cookieRule("headers.cookies.attribute", diag.Warning, "RFC 6265bis section 5.6",
		"Browsers ignore an attribute of a cookie", "Browsers know the attributes of cookies",
		"Write attributes as Max-Age=3600, Expires=Wed, 21 Oct 2026 07:28:00 GMT, Path=/, SameSite=Lax, Secure and "+
			"HttpOnly, with semicolons between them.",
		setsCookies, func(_ *evidence, c *cookie) rule.Failures {
			return rule.FailEach(c.Ignored, func(i setcookie.Ignored) rule.Failures {
				return rule.Fail("The cookie %s has %s, which %s.", c.title(), phrase.Quote(i.Text), i.Why)
			})
		}),
	{
		Code: "headers.cookies.repeated", Severity: diag.Info, Category: factorCookies, Ref: "RFC 6265 section 4.1.1",
		Title: "Cookie is set more than once in a response", Requirement: "Each cookie is set once in a response",
		Advice: "Set each cookie once in a response: browsers keep the last.", When: setsCookies,
		Fails: func(e *evidence) rule.Failures {
			return rule.FailEach(e.repeated(), func(c cookie) rule.Failures {
				return rule.Fail("The response of %s sets the cookie %s again, with the same domain and path.", c.from, c.title()).
					About(c.title())
			})
		},
	},
	cookieRule("headers.cookies.session.secure", diag.Error, "RFC 6265bis section 8.3",
		"Session cookie without Secure", "Session cookies have Secure, or HSTS protects them",
		"Add Secure to the cookie, so that browsers send it over HTTPS only.",
		setsSessions, func(e *evidence, c *cookie) rule.Failures {
			return rule.FailIf(c.session() && !c.Secure && !e.protected(),
				"The cookie %s looks like a session cookie and lacks Secure: "+
					"one request over HTTP exposes it to anyone on the network path.", c.title()).
				Suggesting(e.securely(c))
		}),
	cookieRule("headers.cookies.session.httponly", diag.Warning, "RFC 6265bis section 4.1.2.6",
		"Session cookie without HttpOnly", "Session cookies have HttpOnly",
		"Add HttpOnly, unless the page's own scripts read the cookie: injected scripts then cannot steal it.",
		setsSessions, func(_ *evidence, c *cookie) rule.Failures {
			return rule.FailIf(c.session() && !c.HTTPOnly,
				"Any script of the page can read the cookie %s, which looks like a session cookie.", c.title())
		}),
	cookieRule("headers.cookies.secure", diag.Warning, "RFC 6265bis section 4.1.2.5",
		"Cookie without Secure", "Cookies have Secure", "Add Secure to every cookie that an HTTPS page sets.",
		func(e *evidence) bool { return setsCookies(e) && e.secure() },
		func(e *evidence, c *cookie) rule.Failures {
			reportedElsewhere := c.session() && !e.protected() || c.SameSite == "None" || c.Prefix() != setcookie.NoPrefix
			return rule.FailIf(!c.Secure && !reportedElsewhere,
				"The cookie %s lacks Secure, so browsers also send it over HTTP.", c.title()).
				Suggesting(e.securely(c))
		}),
	cookieRule("headers.cookies.samesite.invalid", diag.Warning, "RFC 6265bis section 5.6.7",
		"SameSite has a value that browsers do not know", "SameSite has a value that browsers know",
		"Set SameSite to Lax, Strict, or None with Secure.", setsCookies, func(_ *evidence, c *cookie) rule.Failures {
			return rule.FailIf(c.SameSite == "" && c.RawSameSite != "",
				"The cookie %s has SameSite=%s, which browsers take for absent.", c.title(), phrase.Quote(c.RawSameSite))
		}),
	cookieRule("headers.cookies.samesite.missing", diag.Warning, "RFC 6265bis section 5.6.7",
		"Session or CSRF cookie without SameSite", "Session and CSRF cookies have SameSite",
		"Set SameSite=Lax, which Chromium assumes and other browsers do not: "+
			"otherwise other sites can cause requests with the cookie.",
		setsCookies, func(_ *evidence, c *cookie) rule.Failures {
			return rule.FailIf((c.session() || strings.Contains(strings.ToLower(c.Name), "csrf")) && c.SameSite == "" &&
				c.RawSameSite == "",
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
