package input

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
)

// Oddities are violations of RFC 3986 in a reference that browsers tolerate. Other clients refuse it or request
// another URL.
type Oddities struct {
	Backslash bool // a backslash before the query, which browsers read as a slash
	Control   bool // a control character, which browsers drop
	// Slashes reports that the scheme is not followed by exactly two slashes. With more, browsers take what
	// follows them for the host; with fewer, and on a page of that scheme, they take it for a path on the
	// host of the page.
	Slashes bool
}

// ErrURLLong is the error for a URL longer than [MaxURL], which may be valid otherwise.
var ErrURLLong = fmt.Errorf("it is longer than %d bytes", MaxURL)

// Resolve returns the URL that a link or a Location header on this page leads to; see [URL.Read]. The error
// is an *[Error].
func (u URL) Resolve(ref string) (URL, error) {
	target, _, err := u.Read(ref)
	if err != nil {
		return URL{}, Invalid("url", "%.300q is not a URL to fetch: %v", withoutUser(ref), err)
	}
	return target, nil
}

// Read resolves a reference on this page as browsers do (url.spec.whatwg.org, "basic URL parser"), and
// returns its violations of RFC 3986. Leading and trailing control characters are dropped, line breaks and
// tabs removed, and backslashes read as slashes; bytes beyond ASCII and spaces are percent-encoded, as are
// lone percent signs outside the query. The URL is checked like any other. The error is [ErrURLLong], or says
// why the URL cannot be fetched in words that continue a sentence beginning with the URL.
func (u URL) Read(ref string) (URL, Oddities, error) {
	var odd Oddities
	s := strings.TrimFunc(ref, func(c rune) bool { return c <= ' ' })
	s = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
	odd.Control = s != strings.Trim(ref, " ") || strings.ContainsFunc(s, isControl)
	if len(s) > MaxURL {
		return URL{}, odd, ErrURLLong
	}
	head, tail := s, ""
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		head, tail = s[:i], s[i:]
	}
	scheme, path, named := cutAnyScheme(head)
	if named && scheme != "http" && scheme != "https" {
		return URL{}, odd, errURLScheme
	}
	odd.Backslash = strings.Contains(path, `\`)
	path = strings.ReplaceAll(path, `\`, "/")
	rest := strings.TrimLeft(path, "/")
	slashes := len(path) - len(rest)
	odd.Slashes = slashes > 2 || named && slashes != 2
	var text string
	switch {
	case named && scheme != u.scheme, slashes >= 2: // then comes a host
		if !named {
			scheme = u.scheme
		}
		host := rest
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			host = rest[:i]
		}
		text = scheme + "://" + host + escapeRaw(rest[len(host):]+tail)
	default:
		text = u.Origin() + u.mergePath(escapeRaw(path+tail))
	}
	target, err := parseURL(text)
	return target, odd, err
}

// mergePath returns what follows the origin of a reference without a host (RFC 3986 section 5.2.2).
func (u URL) mergePath(ref string) string {
	own, _, _ := strings.Cut(strings.TrimPrefix(u.text, u.Origin()), "#")
	path, _, _ := strings.Cut(own, "?")
	switch {
	case ref == "" || ref[0] == '#':
		return own + ref
	case ref[0] == '/':
		return ref
	case ref[0] == '?':
		return path + ref
	default:
		return path[:strings.LastIndexByte(path, '/')+1] + ref
	}
}

var anyScheme = kit.Regexp(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// cutAnyScheme returns the scheme of a reference in lower case, what follows on its colon, and whether there is one.
func cutAnyScheme(s string) (scheme, rest string, found bool) {
	m := anyScheme().FindString(s)
	if m == "" {
		return "", s, false
	}
	return strings.ToLower(m[:len(m)-1]), s[len(m):], true
}

// escapeRaw percent-encodes what [parseURL] refuses behind a host and browsers encode: bytes beyond ASCII, spaces and
// control characters, backslashes in a fragment, and percent signs that encode nothing, but for those of a query.
func escapeRaw(s string) string {
	before, _, _ := strings.Cut(s, "#")
	fragment := len(before)
	path, _, _ := strings.Cut(before, "?")
	var b strings.Builder
	for i := range len(s) {
		c, query := s[i], len(path) < i && i < fragment
		lone := c == '%' && !query && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]))
		if c >= 0x80 || c == ' ' || isControl(rune(c)) || lone || c == '\\' && i > fragment {
			b.Write([]byte{'%', upperHex[c>>4], upperHex[c&15]})
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func isControl(c rune) bool { return c < ' ' || c == 0x7F }
