package page

import (
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// Resolve returns where a reference on a page leads, and whether it leads somewhere, by the rules of browsers
// (url.spec.whatwg.org section 4.4). The base is absolute, of http or https; without one only absolute references are
// resolved. What is not http, https, ws, wss or ftp comes back as it is, with the scheme in lower case.
func Resolve(base, ref string) (string, bool) {
	b, ok := split(base)
	return b.resolve(ref, ok)
}

func (b parts) resolve(ref string, hasBase bool) (string, bool) {
	ref = strings.TrimFunc(ref, func(r rune) bool { return r <= ' ' })
	if strings.ContainsAny(ref, "\t\n\r") {
		ref = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(ref)
	}
	if len(ref) > MaxValue {
		return "", false
	}
	scheme, rest := cutScheme(ref)
	switch {
	case scheme == "" && !hasBase:
		return "", false
	case scheme == "":
		return b.join(ref)
	case defaultPorts[scheme] == "":
		return scheme + ":" + encode(rest, ""), true
	case hasBase && scheme == b.scheme && !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, "\\"):
		return b.join(rest) // "https:page", a relative reference of long ago
	}
	return absolute(scheme, strings.TrimLeft(rest, "/\\"))
}

// defaultPorts are the schemes whose URLs have a host, a path and a port that is left out.
var defaultPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}

// cutScheme splits a reference at its scheme, which is returned in lower case; empty without one.
func cutScheme(s string) (scheme, rest string) {
	for i := range len(s) {
		switch c := s[i] | 0x20; {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= s[i] && s[i] <= '9' || s[i] == '+' || s[i] == '-' || s[i] == '.'):
		case i > 0 && s[i] == ':':
			return lower(s[:i]), s[i+1:]
		default:
			return "", s
		}
	}
	return "", s
}

func hasScheme(s, scheme string) bool {
	got, _ := cutScheme(strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }))
	return got == scheme
}

type parts struct{ scheme, origin, path, query string }

// split cuts an absolute URL in its normal form. It reports false for any other.
func split(url string) (parts, bool) {
	scheme, rest := cutScheme(url)
	if defaultPorts[scheme] == "" || !strings.HasPrefix(rest, "//") {
		return parts{}, false
	}
	url, _, _ = strings.Cut(url, "#")
	end := len(scheme) + len("://")
	if i := strings.IndexAny(url[end:], "/?"); i >= 0 {
		end += i
	} else {
		end = len(url)
	}
	p := parts{scheme: scheme, origin: url[:end]}
	p.path = url[end:]
	if i := strings.IndexByte(p.path, '?'); i >= 0 {
		p.path, p.query = p.path[:i], p.path[i:]
	}
	if p.path == "" {
		p.path = "/"
	}
	return p, true
}

// join resolves a reference without a scheme.
func (b parts) join(ref string) (string, bool) {
	isSlash := func(i int) bool { return len(ref) > i && (ref[i] == '/' || ref[i] == '\\') }
	switch {
	case isSlash(0) && isSlash(1):
		return absolute(b.scheme, strings.TrimLeft(ref, "/\\"))
	case isSlash(0):
		return b.origin + afterPath(ref), true
	case ref == "":
		return b.origin + b.path + b.query, true
	case ref[0] == '#':
		return b.origin + b.path + b.query + afterPath(ref)[1:], true
	case ref[0] == '?':
		return b.origin + b.path + afterPath(ref)[1:], true
	}
	return b.origin + afterPath(b.path[:strings.LastIndexByte(b.path, '/')+1]+ref), true
}

// absolute reads what follows the slashes of a URL.
func absolute(scheme, rest string) (string, bool) {
	authority, after := rest, ""
	if i := strings.IndexAny(rest, "/\\?#"); i >= 0 {
		authority, after = rest[:i], rest[i:]
	}
	user := ""
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, authority = encode(authority[:i], "\"#<>?`{}/;=@[\\]^|")+"@", authority[i+1:]
	}
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		host, port = authority[:i], authority[i+1:]
	}
	host, ok := normaliseHost(host)
	if !ok {
		return "", false
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return "", false
		}
		if port = strconv.FormatUint(n, 10); port != defaultPorts[scheme] {
			host += ":" + port
		}
	}
	return scheme + "://" + user + host + afterPath(after), true
}

// normaliseHost is the host parser, with names that are not domain names let through as they are.
func normaliseHost(s string) (string, bool) {
	if host, err := diag.ParseHost(s); err == nil {
		return host.String(), true
	}
	s = lower(s)
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7F || strings.IndexByte("#/:<>?@[\\]^|%", c) >= 0 {
			return "", false
		}
	}
	return s, s != "" && len(s) <= 255
}

func afterPath(s string) string {
	s, fragment, hasFragment := strings.Cut(s, "#")
	path, query, hasQuery := strings.Cut(s, "?")
	path = removeDots(encode(strings.ReplaceAll(path, "\\", "/"), "\"#<>?`{}"))
	if hasQuery {
		path += "?" + encode(query, "\"#<>'")
	}
	if hasFragment {
		path += "#" + encode(fragment, "\"<>`")
	}
	return path
}

// encode percent-encodes control characters, spaces, what is beyond ASCII, and these.
func encode(s, set string) string {
	bad := func(c rune) bool {
		if c == ' ' {
			return set != "" // an opaque path keeps it
		}
		return c < ' ' || c >= 0x7F || strings.ContainsRune(set, c)
	}
	if !strings.ContainsFunc(s, bad) {
		return s
	}
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, len(s)+len(s)/4)
	for i := range len(s) {
		if c := s[i]; bad(rune(c)) {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// removeDots removes dot segments (url.spec.whatwg.org, "path state").
func removeDots(path string) string {
	path = strings.TrimPrefix(path, "/")
	if !strings.Contains(path, ".") && !strings.Contains(path, "%2") {
		return "/" + path
	}
	segments := strings.Split(path, "/")
	kept := segments[:0]
	for i, s := range segments {
		dots := strings.ReplaceAll(lower(s), "%2e", ".")
		if dots != "." && dots != ".." {
			kept = append(kept, s)
			continue
		}
		if dots == ".." && len(kept) > 0 {
			kept = kept[:len(kept)-1]
		}
		if i == len(segments)-1 {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}
