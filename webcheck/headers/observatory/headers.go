package observatory

import (
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/dunglas/httpsfv"
)

// sixMonths is what the Observatory takes for the seconds of six months: many sites send this number.
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
	case age < sixMonths: // what is no number is not less
		return "hsts-implemented-max-age-less-than-six-months"
	default:
		return "hsts-implemented-max-age-at-least-six-months"
	}
}

// leadingInt reads the number at the beginning of a text, as far as it goes; NaN if there is none.
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
		u, err := url.Parse(step.URL)
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

// The policies that tell other sites what came from where, and those that tell too much.
var (
	privateReferrers = []string{"no-referrer", "same-origin", "strict-origin", "strict-origin-when-cross-origin"}
	unsafeReferrers  = []string{"origin", "origin-when-cross-origin", "unsafe-url", "no-referrer-when-downgrade"}
)

func (s *scan) referrerPolicy() string {
	value, ok := s.Page.header("Referrer-Policy")
	if s.page.referrer != "" {
		value = strings.Join(slices.DeleteFunc([]string{value, s.page.referrer}, func(v string) bool { return v == "" }), ", ")
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
