package observatory

import (
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/dunglas/httpsfv"
	"golang.org/x/net/publicsuffix"
)

// sixMonths is the Observatory's value for six months, in seconds: many sites send this number.
const sixMonths = 15_552_000

func (s *scan) transportSecurity() string {
	result := s.transportHeader()
	if s.HTTPS != nil && s.preloaded(s.Host) {
		return "hsts-preloaded"
	}
	return result
}

func (s *scan) transportHeader() string {
	if s.HTTPS == nil {
		return "hsts-not-implemented-no-https"
	}
	if s.HTTPS.Untrusted {
		return "hsts-invalid-cert"
	}
	value, ok := s.HTTPS.header("Strict-Transport-Security")
	if !ok {
		return "hsts-not-implemented"
	}
	value = head(value, 1024)
	age, found := 0.0, false
	for directive := range strings.SplitSeq(value, ";") {
		if digits, ok := strings.CutPrefix(lower(directive), "max-age="); ok {
			age, found = leadingInt(head(digits, 120)), true
		}
	}
	switch {
	case !found || strings.Contains(value, ","):
		return "hsts-header-invalid"
	case age < sixMonths: // what is not a number is not less
		return "hsts-implemented-max-age-less-than-six-months"
	default:
		return "hsts-implemented-max-age-at-least-six-months"
	}
}

// leadingInt reads the number at the beginning of a text, as far as it goes; NaN without a number.
func leadingInt(s string) float64 {
	s = strings.TrimLeftFunc(s, isSpace)
	sign := 1.0
	switch {
	case strings.HasPrefix(s, "-"):
		s, sign = s[1:], -1
	case strings.HasPrefix(s, "+"):
		s = s[1:]
	}
	n, digits := 0.0, 0
	for ; digits < len(s) && s[digits] >= '0' && s[digits] <= '9'; digits++ {
		n = 10*n + float64(s[digits]-'0')
	}
	if digits == 0 {
		return math.NaN()
	}
	return sign * n
}

// preloaded reports whether browsers know a host as one for https only.
func (s *scan) preloaded(host string) bool { return s.Preloaded != nil && s.Preloaded(host) }

func (s *scan) redirection() string {
	if s.HTTP == nil {
		return "redirection-not-needed-no-http"
	}
	if s.HTTP.Untrusted {
		return "redirection-invalid-cert"
	}
	var route []*url.URL
	for _, step := range s.Redirects {
		u, err := url.Parse(step)
		if err != nil {
			u = new(url.URL)
		}
		route = append(route, u)
	}
	switch {
	case !slices.ContainsFunc(route, func(u *url.URL) bool { return !s.preloaded(u.Hostname()) }):
		return "redirection-all-redirects-preloaded"
	case len(route) == 1:
		return "redirection-missing"
	case route[len(route)-1].Scheme != "https":
		return "redirection-not-to-https"
	case route[1].Scheme == "http":
		return "redirection-not-to-https-on-initial-redirection"
	case route[0].Scheme == "http" && route[0].Hostname() != route[1].Hostname():
		return "redirection-off-host-from-http"
	default:
		return "redirection-to-https"
	}
}

func (s *scan) sharing() string {
	if s.CORS == nil {
		return "cross-origin-resource-sharing-not-implemented"
	}
	answer := Response{Header: s.CORS.Header}
	allowed, _ := answer.header("Access-Control-Allow-Origin")
	credentials, _ := answer.header("Access-Control-Allow-Credentials")
	switch {
	case allowed == "":
		return "cross-origin-resource-sharing-not-implemented"
	case lower(head(allowed, 256)) == "*":
		return "cross-origin-resource-sharing-implemented-with-public-access"
	case s.CORS.Origin == allowed && lower(credentials) == "true":
		return "cross-origin-resource-sharing-implemented-with-universal-access"
	default:
		return "cross-origin-resource-sharing-implemented-with-restricted-access"
	}
}

// The policies that protect the referrer, and those that disclose too much.
var (
	privateReferrers = []string{"no-referrer", "same-origin", "strict-origin", "strict-origin-when-cross-origin"}
	unsafeReferrers  = []string{"origin", "origin-when-cross-origin", "unsafe-url", "no-referrer-when-downgrade"}
)

func (s *scan) referrerPolicy() string {
	value, ok := s.Page.header("Referrer-Policy")
	if s.page.referrer != "" {
		value = strings.Join(slices.DeleteFunc([]string{value, s.page.referrer}, func(v string) bool { return v == "" }),
			", ")
		ok = true
	}
	if !ok {
		return "referrer-policy-not-implemented"
	}
	result := "referrer-policy-header-invalid"
	for token := range strings.SplitSeq(value, ",") { // the last that is known counts
		switch token = lower(token); {
		case slices.Contains(privateReferrers, token):
			result = "referrer-policy-private"
		case slices.Contains(unsafeReferrers, token):
			result = "referrer-policy-unsafe"
		}
	}
	return result
}

func (s *scan) contentTypeOptions() string {
	value, _ := s.Page.header("X-Content-Type-Options")
	switch {
	case value == "":
		return "x-content-type-options-not-implemented"
	case lower(head(value, 256)) == "nosniff":
		return "x-content-type-options-nosniff"
	default:
		return "x-content-type-options-header-invalid"
	}
}

func (s *scan) frameOptions() string {
	// A policy that cannot be read, or has no effect, has no frame-ancestors.
	if s.policies.err == nil && s.policies.effect > 0 && s.policies.all["frame-ancestors"] != nil {
		return "x-frame-options-implemented-via-csp"
	}
	value, _ := s.Page.header("X-Frame-Options")
	option := lower(head(value, 1024))
	switch {
	case value == "":
		return "x-frame-options-not-implemented"
	case option == "deny" || option == "sameorigin":
		return "x-frame-options-sameorigin-or-deny"
	case strings.HasPrefix(option, "allow-from"):
		return "x-frame-options-allow-from-origin"
	default:
		return "x-frame-options-header-invalid"
	}
}

func (s *scan) resourcePolicy() string {
	value, _ := s.Page.header("Cross-Origin-Resource-Policy")
	switch policy := lower(head(value, 256)); {
	case policy == "":
		return "corp-not-implemented"
	case slices.Contains([]string{"same-site", "same-origin", "cross-origin"}, policy):
		return "corp-implemented-with-" + policy
	default:
		return "corp-header-invalid"
	}
}

// isolation makes the test of a header field whose value is a token, perhaps with parameters (RFC 9651 section 3.3).
func isolation(name, test string, known ...string) func(*scan) string {
	return func(s *scan) string {
		value, _ := s.Page.header(name)
		if value == "" {
			return test + "-not-implemented"
		}
		item, err := httpsfv.UnmarshalItem([]string{trim(head(value, 1024))})
		token, ok := item.Value.(httpsfv.Token)
		if err != nil || !ok || !slices.Contains(known, string(token)) {
			return test + "-header-invalid"
		}
		return test + "-implemented-with-" + string(token)
	}
}

// maxCookies bounds the cookies that are kept; browsers keep 180 of a site.
const maxCookies = 300

// A jarred is a cookie as the Observatory's jar keeps it.
type jarred struct {
	name, domain, path string
	secure, httpOnly   bool
	sameSite           string // empty if absent or unknown
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

// admitted reports whether the jar accepts a cookie from a URL: not for another site, for a public suffix, or
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
		i := slices.IndexFunc(list, func(k jarred) bool {
			return k.name == j.name && k.domain == j.domain && k.path == j.path
		})
		if i >= 0 {
			list[i] = j
		} else {
			list = append(list, j)
		}
	}
	// The Observatory passes over the cookie by which Heroku's routers recognize a client.
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
