package observatory

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// maxCookies bounds the cookies that are kept; browsers keep 180 of a site.
const maxCookies = 300

// A jarred is a cookie as the Observatory's jar keeps it.
type jarred struct {
	name, domain, path string
	secure, httpOnly   bool
	sameSite           string // empty if there is none that is known
}

// readCookie reads a Set-Cookie line as the jar of the Observatory does, which is nearly RFC 6265 section 5.2.
func readCookie(c Cookie) (jarred, bool) {
	pair, attributes, _ := strings.Cut(trim(latin1(c.Line)), ";")
	if i := strings.IndexAny(pair, "\n\r\x00"); i >= 0 {
		pair = pair[:i]
	}
	name, value, ok := strings.Cut(pair, "=")
	if !ok || name == "" || control(trim(name)) || control(trim(value)) {
		return jarred{}, false
	}
	j := jarred{name: trim(name)}
	for av := range strings.SplitSeq(attributes, ";") {
		key, value, _ := strings.Cut(trim(av), "=")
		switch value = trim(value); lower(key) {
		case "domain":
			if domain := strings.TrimPrefix(value, "."); domain != "" {
				j.domain = strings.ToLower(domain)
			}
		case "path":
			j.path = ""
			if strings.HasPrefix(value, "/") {
				j.path = value
			}
		case "secure":
			j.secure = true
		case "httponly":
			j.httpOnly = true
		case "samesite":
			j.sameSite = ""
			if v := strings.ToLower(value); slices.Contains(sameSites, v) {
				j.sameSite = v
			}
		}
	}
	return j, j.admitted(c.URL)
}

var sameSites = []string{"strict", "lax", "none"}

func control(s string) bool { return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) }

// admitted reports whether the jar takes a cookie from a URL: not for another site, for a public suffix, or
// against the promise of its prefix.
func (j *jarred) admitted(from string) bool {
	u, err := url.Parse(from)
	if err != nil {
		return false
	}
	host, explicit := strings.ToLower(u.Hostname()), j.domain != ""
	if explicit {
		if suffix, _ := publicsuffix.PublicSuffix(j.domain); suffix == j.domain {
			return false
		}
		if host != j.domain && !strings.HasSuffix(host, "."+j.domain) {
			return false
		}
	}
	hasPath := j.path != ""
	if !explicit {
		j.domain = host
	}
	if !hasPath {
		j.path = defaultPath(u.Path)
	}
	switch {
	case strings.HasPrefix(j.name, "__Secure-"):
		return j.secure
	case strings.HasPrefix(j.name, "__Host-"):
		return j.secure && !explicit && j.path == "/"
	}
	return true
}

// defaultPath is RFC 6265 section 5.1.4.
func defaultPath(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 || path[0] != '/' {
		return "/"
	}
	return path[:i]
}

func (s *scan) jar() []jarred {
	var list []jarred
	for _, c := range s.Cookies[:min(len(s.Cookies), maxCookies)] {
		j, ok := readCookie(c)
		if !ok {
			continue
		}
		i := slices.IndexFunc(list, func(k jarred) bool { return k.name == j.name && k.domain == j.domain && k.path == j.path })
		if i >= 0 {
			list[i] = j
		} else {
			list = append(list, j)
		}
	}
	// The Observatory passes over the cookie by which Heroku's routers recognise a client.
	return slices.DeleteFunc(list, func(j jarred) bool { return j.name == "heroku-session-affinity" })
}

// cookieOrder are the results for cookies with a fault, from the mildest.
var cookieOrder = []string{"cookies-without-secure-flag-but-protected-by-hsts", "cookies-without-secure-flag",
	"cookies-session-without-secure-flag-but-protected-by-hsts", "cookies-samesite-flag-invalid",
	"cookies-anticsrf-without-samesite-flag", "cookies-session-without-httponly-flag",
	"cookies-session-without-secure-flag"}

func (s *scan) cookies() string {
	jar := s.jar()
	if len(jar) == 0 {
		return "cookies-not-found"
	}
	worst := -1
	found := func(is bool, result string) {
		if is {
			worst = max(worst, slices.Index(cookieOrder, result))
		}
	}
	for _, line := range s.Page.Header.Values("Set-Cookie") {
		found(badSameSite(line), "cookies-samesite-flag-invalid")
	}
	hsts := outcomes()[s.transportSecurity()].pass
	everywhere := true
	for _, j := range jar {
		name := strings.ToLower(j.name)
		session := strings.Contains(name, "login") || strings.Contains(name, "sess")
		found(!j.secure && j.sameSite == "none", "cookies-samesite-flag-invalid")
		found(!j.secure && hsts, "cookies-without-secure-flag-but-protected-by-hsts")
		found(!j.secure && !hsts, "cookies-without-secure-flag")
		found(strings.Contains(name, "csrf") && j.sameSite == "", "cookies-anticsrf-without-samesite-flag")
		found(session && !j.secure && hsts, "cookies-session-without-secure-flag-but-protected-by-hsts")
		found(session && !j.secure && !hsts, "cookies-session-without-secure-flag")
		found(session && !j.httpOnly, "cookies-session-without-httponly-flag")
		everywhere = everywhere && j.sameSite != ""
	}
	switch {
	case worst >= 0:
		return cookieOrder[worst]
	case everywhere:
		return "cookies-secure-with-httponly-sessions-and-samesite"
	default:
		return "cookies-secure-with-httponly-sessions"
	}
}

// badSameSite reports whether a Set-Cookie line has a SameSite with a value that is not known.
func badSameSite(line string) bool {
	for part := range strings.SplitSeq(latin1(line), ";") {
		words := strings.Split(trim(part), "=")
		if lower(words[0]) != "samesite" {
			continue
		}
		if len(words) < 2 || words[1] == "" || !slices.Contains(sameSites, lower(words[1])) {
			return true
		}
	}
	return false
}
