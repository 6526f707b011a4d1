package csp

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// A List is the sources of a directive, read.
type List struct {
	sources []Source
}

// Sources reads the values of a directive. What browsers do not know is left out.
func (d *Directive) Sources() List {
	var l List
	for _, v := range d.Values {
		if s, ok := ParseSource(v); ok {
			l.sources = append(l.sources, s)
		}
	}
	return l
}

// Len returns how many sources there are.
func (l List) Len() int { return len(l.sources) }

// Has reports whether a keyword is in the list.
func (l List) Has(keyword string) bool {
	return slices.ContainsFunc(l.sources, func(s Source) bool { return s.Keyword == keyword })
}

// Vouches reports whether the list has a nonce or a hash.
func (l List) Vouches() bool {
	return slices.ContainsFunc(l.sources, func(s Source) bool { return s.Nonce != "" || s.Hash != "" })
}

// StrictDynamic reports whether scripts must show a nonce or a hash, and may then load others.
func (l List) StrictDynamic() bool { return l.Has("strict-dynamic") }

// AllInline reports whether any inline script or style is allowed (section 6.7.3.2).
func (l List) AllInline(script bool) bool {
	return l.Has("unsafe-inline") && !l.Vouches() && !(script && l.StrictDynamic())
}

// AllowsInline reports whether an inline script or style element with this nonce and text is allowed.
func (l List) AllowsInline(script bool, nonce, text string) bool {
	if l.AllInline(script) {
		return true
	}
	return slices.ContainsFunc(l.sources, func(s Source) bool { return s.Nonce != "" && s.Nonce == nonce }) ||
		l.hashes(text)
}

// hashes reports whether the list has a hash of a text. Each algorithm is computed once, however many hashes there are.
func (l List) hashes(text string) bool {
	sums := map[string]string{}
	return slices.ContainsFunc(l.sources, func(s Source) bool {
		algorithm, _, ok := strings.Cut(s.Hash, "-")
		if !ok {
			return false
		}
		if sums[algorithm] == "" {
			sums[algorithm] = hashLike(s.Hash, text)
		}
		return s.Hash == sums[algorithm]
	})
}

// Hash returns the source expression that vouches for an inline script or style.
func Hash(text string) string { return "'" + hashLike("sha256-", text) + "'" }

func hashLike(like, text string) string {
	algorithm, _, _ := strings.Cut(like, "-")
	h := sha256.New()
	switch algorithm {
	case "sha384":
		h = sha512.New384()
	case "sha512":
		h = sha512.New()
	}
	h.Write([]byte(text))
	return algorithm + "-" + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// AllowsScript reports whether an element may load a script from a URL (section 6.7.1.1).
func (l List) AllowsScript(u, self *url.URL, nonce string, integrity []string) bool {
	if nonce != "" && slices.ContainsFunc(l.sources, func(s Source) bool { return s.Nonce == nonce }) {
		return true
	}
	if len(integrity) > 0 && !slices.ContainsFunc(integrity, func(sum string) bool {
		return !slices.ContainsFunc(l.sources, func(s Source) bool { return s.Hash != "" && s.Hash == normalHash(sum) })
	}) {
		return true
	}
	return !l.StrictDynamic() && l.Allows(u, self)
}

func normalHash(sum string) string {
	algorithm, value, _ := strings.Cut(sum, "-")
	return strings.ToLower(algorithm) + "-" + normal(value)
}

// Allows reports whether a URL matches a source of the list (section 6.7.2.7). self is the URL of the page.
func (l List) Allows(u, self *url.URL) bool {
	return slices.ContainsFunc(l.sources, func(s Source) bool { return s.matches(u, self) })
}

func (s Source) matches(u, self *url.URL) bool {
	scheme := strings.ToLower(u.Scheme)
	switch {
	case s.Keyword == "self":
		return sameOrigin(u, self)
	case s.Keyword != "" || s.Nonce != "" || s.Hash != "":
		return false
	case s.Host == "*" && s.Scheme == "" && s.Port == "" && s.Path == "":
		return slices.Contains([]string{"http", "https", "ws", "wss"}, scheme) || scheme == self.Scheme
	case s.Host == "":
		return schemeMatches(s.Scheme, scheme)
	}
	want := s.Scheme
	if want == "" {
		want = self.Scheme
	}
	return schemeMatches(want, scheme) && hostMatches(s.Host, u.Hostname()) && s.portMatches(u) && s.pathMatches(u)
}

// sameOrigin allows the upgrade to https that section 6.7.2.8 allows.
func sameOrigin(u, self *url.URL) bool {
	if !strings.EqualFold(u.Hostname(), self.Hostname()) {
		return false
	}
	if u.Scheme == self.Scheme && portOf(u) == portOf(self) {
		return true
	}
	defaults := portOf(u) == defaultPort(u.Scheme) && portOf(self) == defaultPort(self.Scheme)
	return (defaults || portOf(u) == portOf(self)) &&
		(u.Scheme == "https" || u.Scheme == "wss" || u.Scheme == "ws" && self.Scheme == "http")
}

// schemeMatches is section 6.7.2.9: a scheme allows its secure sister.
func schemeMatches(a, b string) bool {
	switch a {
	case b:
		return true
	case "http":
		return b == "https"
	case "ws":
		return b == "wss" || b == "http" || b == "https"
	case "wss":
		return b == "https"
	}
	return false
}

// hostMatches is section 6.7.2.10.
func hostMatches(pattern, host string) bool {
	host = strings.ToLower(host)
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(host, suffix)
	}
	return pattern == host
}

// portMatches is section 6.7.2.11.
func (s Source) portMatches(u *url.URL) bool {
	switch port := portOf(u); s.Port {
	case "*":
		return true
	case "":
		return port == defaultPort(u.Scheme)
	case "80":
		return port == "80" || port == "443" && (u.Scheme == "https" || u.Scheme == "wss")
	default:
		return s.Port == port
	}
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return defaultPort(u.Scheme)
}

func defaultPort(scheme string) string {
	switch scheme {
	case "https", "wss":
		return "443"
	case "http", "ws":
		return "80"
	}
	return ""
}

// pathMatches is section 6.7.2.12.
func (s Source) pathMatches(u *url.URL) bool {
	if s.Path == "" || s.Path == "/" && u.Path == "" {
		return true
	}
	pattern, err := url.PathUnescape(s.Path)
	if err != nil {
		return false
	}
	if strings.HasSuffix(pattern, "/") {
		return strings.HasPrefix(u.Path, pattern)
	}
	return pattern == u.Path
}
