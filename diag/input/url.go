package input

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/kit"
)

// MaxURL is the maximum length of a URL in octets, both as written and as normalized. It is more than the
// 8,000 octets that RFC 9110 section 4.1 recommends to support (CONTRACT 2).
const MaxURL = 8192

// A URL is a normalized http or https URL with a valid host, without a user name or password, of at most
// [MaxURL] octets (RFC 9110 section 4.2). Two URLs are equal if and only if their texts are. Its zero value
// is not a URL. URLs decode from JSON.
//
// A URL may name a host or port that must not be reached: that is checked by the Guard of package diag when
// dialing.
type URL struct {
	text   string
	scheme string
	host   Host
	port   uint16
}

// The faults of a URL, in words that follow on the URL.
var (
	errURLControl   = errors.New("it has a control character")
	errURLUTF8      = errors.New("it is not valid UTF-8")
	errURLScheme    = errors.New("the scheme must be http or https")
	errURLSlashes   = errors.New("two slashes must follow the scheme")
	errURLUser      = errors.New("it must not have a user name or password")
	errURLBackslash = errors.New("it has a backslash")
	errURLPort      = errors.New("the port must be a number from 1 to 65535")
	errURLEscape    = errors.New("it has a percent sign without two hexadecimal digits")
)

// ParseURL parses an absolute URL as users type it; without a scheme, it is https. The host is parsed by
// [ParseHost]. A backslash is allowed only in the query, because parsers disagree on its meaning elsewhere.
//
// To follow a link or a redirect, use [URL.Resolve], for which "example.com" is a relative path.
func ParseURL(s string) (URL, error) {
	u, err := parseURL(s)
	if err != nil {
		return URL{}, Invalid("url", "%.300q is not a URL to fetch: %v", withoutUser(s), err)
	}
	return u, nil
}

// withoutUser leaves out what may be a user name and a password: messages end up in logs.
func withoutUser(s string) string {
	rest := s
	if scheme, after, ok := strings.Cut(s, ":"); ok && strings.IndexAny(after, `/\\`) == 0 &&
		!strings.ContainsAny(scheme, `/?#\@`) {
		rest = after
	}
	rest = strings.TrimLeft(rest, `/\`)
	end := strings.IndexAny(rest, `/?#\`)
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return s
	}
	return s[:len(s)-len(rest)] + "…" + rest[at:]
}

func parseURL(s string) (URL, error) {
	switch {
	case len(s) > MaxURL:
		return URL{}, ErrURLLong
	case !utf8.ValidString(s):
		return URL{}, errURLUTF8
	case strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || 0x7F <= c && c < 0xA0 }):
		return URL{}, errURLControl
	}
	scheme, rest, found := cutScheme(s)
	if scheme != "http" && scheme != "https" {
		return URL{}, errURLScheme
	}
	end := strings.IndexAny(rest, "/?#\\")
	if end < 0 {
		end = len(rest)
	}
	host, port, err := parseAuthority(rest[:end], scheme, found)
	if err != nil {
		return URL{}, err
	}
	tail, err := normaliseTail(rest[end:])
	if err != nil {
		return URL{}, err
	}
	u := URL{scheme: scheme, host: host, port: port}
	u.text = u.Origin() + tail
	if len(u.text) > MaxURL {
		return URL{}, ErrURLLong
	}
	if _, err := url.Parse(u.text); err != nil {
		return URL{}, errors.New("it has a character where it is not allowed")
	}
	return u, nil
}

// cutScheme returns the scheme in lower case, https by default, the text after its slashes, and whether a scheme was
// found.
func cutScheme(s string) (scheme, rest string, found bool) {
	scheme, rest, found = strings.Cut(s, "://")
	if !found || strings.ContainsAny(scheme, "/?#\\@:[") {
		return "https", s, false
	}
	return strings.ToLower(scheme), rest, true
}

func parseAuthority(s, scheme string, hasScheme bool) (Host, uint16, error) {
	if strings.Contains(s, "@") {
		return Host{}, 0, errURLUser
	}
	text, digits := s, ""
	colon := strings.LastIndexByte(s, ':')
	if colon > strings.LastIndexByte(s, ']') {
		text, digits = s[:colon], s[colon+1:]
		if digits == "" && !hasScheme { // "http:/example.com", "file:/etc/passwd"
			return Host{}, 0, errURLSlashes
		}
	}
	host, err := parseHost(text)
	if err != nil {
		return Host{}, 0, fmt.Errorf("the host is no good: %w", err)
	}
	if digits == "" {
		return host, defaultPort(scheme), nil
	}
	port, err := parseDigits(digits, 10)
	if err != nil || port == 0 || port > 65535 {
		return Host{}, 0, errURLPort
	}
	return host, uint16(port), nil
}

func defaultPort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}

// normaliseTail brings what follows the authority into one form: a path, "/" at least, without dot segments; the query;
// the fragment; all with disallowed characters percent-encoded (RFC 3986 sections 3.3 to 3.5 and 6.2.2).
func normaliseTail(s string) (string, error) {
	s, fragment, _ := strings.Cut(s, "#")
	path, query, hasQuery := strings.Cut(s, "?")
	if strings.Contains(path, "\\") || strings.Contains(fragment, "\\") {
		return "", errURLBackslash
	}
	path, err := escape(path, "/:@!$&'()*+,;=")
	if err != nil {
		return "", err
	}
	text := removeDotSegments(path)
	if hasQuery {
		// Servers see a query as it was written, so a lone percent sign is left alone (WHATWG).
		text += "?" + escapeQuery(query)
	}
	if fragment != "" {
		if fragment, err = escape(fragment, "/:@!$&'()*+,;=?"); err != nil {
			return "", err
		}
		text += "#" + fragment
	}
	return text, nil
}

const upperHex = "0123456789ABCDEF"

// escape percent-encodes all but the unreserved characters, those given, and escapes.
func escape(s, allowed string) (string, error) {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '%' && (len(s) < i+3 || !isHex(s[i+1]) || !isHex(s[i+2])):
			return "", errURLEscape
		case c == '%' || isUnreserved(c) || strings.IndexByte(allowed, c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', upperHex[c>>4], upperHex[c&15]})
		}
	}
	return b.String(), nil
}

// escapeQuery percent-encodes what no query may hold (url.spec.whatwg.org, "query percent-encode
// set"), and the backslash.
func escapeQuery(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7F || strings.IndexByte("\"#<>'\\", c) >= 0 {
			b.Write([]byte{'%', upperHex[c>>4], upperHex[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// isUnreserved is RFC 3986 section 2.3.
func isUnreserved(c byte) bool {
	return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte("-._~", c) >= 0
}

// dotSegments decodes the spellings of dots that count in dot segments (url.spec.whatwg.org,
// "single-dot URL path segment").
var dotSegments = strings.NewReplacer("%2e", ".", "%2E", ".")

// removeDotSegments is RFC 3986 section 5.2.4 on a path that begins with a slash or is empty.
func removeDotSegments(path string) string {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	kept := segments[:0]
	for i, s := range segments {
		last := i == len(segments)-1
		switch dotSegments.Replace(s) {
		case ".", "..":
			if len(dotSegments.Replace(s)) == 2 && len(kept) > 0 {
				kept = kept[:len(kept)-1]
			}
			if last {
				kept = append(kept, "")
			}
		default:
			kept = append(kept, s)
		}
	}
	return "/" + strings.Join(kept, "/")
}

// MustURL is ParseURL for constants; it panics on a bad URL.
func MustURL(s string) URL { return must(ParseURL(s)) }

// String returns the normalized URL.
func (u URL) String() string { return u.text }

// IsZero reports whether u is the zero URL.
func (u URL) IsZero() bool { return u.text == "" }

// Scheme returns "http" or "https".
func (u URL) Scheme() string { return u.scheme }

// Host returns the host, without the port.
func (u URL) Host() Host { return u.host }

// Port returns the port, or the default of the scheme if the URL has none.
func (u URL) Port() uint16 { return u.port }

// Origin returns the scheme, the host, and the port if it is not the default of the scheme, such as
// "https://example.com:8443" (RFC 6454 section 6.2).
func (u URL) Origin() string {
	if u.port == defaultPort(u.scheme) {
		return u.scheme + "://" + u.host.String()
	}
	return u.scheme + "://" + u.host.String() + ":" + strconv.Itoa(int(u.port))
}

// HTTP returns a new [url.URL] for use with net/http.
func (u URL) HTTP() *url.URL {
	parsed, err := url.Parse(u.text)
	if err != nil { // ParseURL has seen to that
		return new(url.URL)
	}
	return parsed
}

// MarshalText implements [encoding.TextMarshaler].
func (u URL) MarshalText() ([]byte, error) { return []byte(u.text), nil }

// twiceSchemed matches a URL pasted after a scheme, as in forms that prepend https:// to the input: the scheme
// occurs twice, the second perhaps without its colon or a slash.
var twiceSchemed = kit.Regexp(`^(?i)(?:https?:?/+|https?:)+(https?)(?::/+([^/].*)|/{2,}([^/].*)|:([^/0-9].*))$`)

// UnmarshalText implements [encoding.TextUnmarshaler]. Unlike [ParseURL], it refuses a duplicate scheme, as in
// "https://https://example.com", for which browsers look up a host named https, and invisible characters,
// which browsers ignore in hosts and send in paths. The error suggests the correct input.
func (u *URL) UnmarshalText(text []byte) (err error) {
	s := string(text)
	if m := twiceSchemed().FindStringSubmatch(s); m != nil {
		rest := m[2] + m[3] + m[4]
		shown := strings.TrimPrefix(withoutUser("//"+rest), "//")
		return Invalid("url", "%.300q is not a URL to fetch: the scheme appears twice, give %.300s",
			strings.TrimSuffix(s, rest)+shown, strings.ToLower(m[1])+"://"+shown)
	}
	if *u, err = ParseURL(s); err != nil {
		return err
	}
	if fault := unseen(s); fault != nil {
		*u = URL{}
		return Invalid("url", "%.300q is not a URL to fetch: %v, give %.300s", s, fault, without(s, stray))
	}
	return nil
}
