package headers

import (
	"net/url"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/headers/setcookie"
	"golang.org/x/net/publicsuffix"
)

// maxCookies bounds the cookies that are examined; browsers keep 180 of a site.
const maxCookies = 100

// A cookie is one Set-Cookie field of one hop.
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

// live returns the cookies that are set rather than removed.
func (e *evidence) live() []cookie {
	return slices.DeleteFunc(slices.Clone(e.cookies), func(c cookie) bool { return c.Removes(e.now) })
}

// title is the cookie's name as a sentence has it.
func (c *cookie) title() string {
	if c.Name == "" {
		return "without a name"
	}
	return diag.Quote(c.Name)
}

// sessionNames are parts of names of cookies by which sites recognise who has logged in.
var sessionNames = []string{"sess", "login", "auth", "jwt", "token", "logged_in", "remember", "connect.sid", "sid", "identity"}

// notSessions are parts of names that look like those and are none.
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
	case c.Domain != "" && c.Domain != host && !strings.HasSuffix(host, "."+c.Domain):
		return "its Domain " + diag.Quote(c.Domain) + " does not cover the host " + host
	case c.Domain != "" && c.Domain == suffix && c.Domain != host:
		return "its Domain " + c.Domain + " is a public suffix"
	case c.Secure && c.from.Scheme == "http":
		return "it has Secure and was set over http"
	case c.Partitioned && !c.Secure:
		return "it has Partitioned without Secure"
	}
	return ""
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
			Expires: diag.OrZero(c.Expires).UTC(),
		})
	}
	return list
}
