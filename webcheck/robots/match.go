package robots

import (
	"slices"
	"strings"
)

// A Decision says whether a crawler may fetch a path, and why.
type Decision struct {
	Allowed bool
	Rule    *Rule  // that decided; nil if none matched
	Agent   string // of the group that was followed, * for that of all; empty if none was
}

// Match decides for a crawler, named by its product token, and a path with its query, as in a request.
func (f *File) Match(agent, path string) Decision {
	if f.All != ByRules {
		return Decision{Allowed: f.All == allAllowed}
	}
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	name := f.agent(Token(agent))
	d := Decision{Allowed: true, Agent: name}
	if p, _, _ := strings.Cut(path, "?"); name == "" || p == "/robots.txt" { // RFC 9309 section 2.2.2
		return d
	}
	path = normalise(path)
	for i := range f.Groups {
		if !slices.Contains(f.Groups[i].Agents, name) {
			continue
		}
		for j := range f.Groups[i].Rules {
			r := &f.Groups[i].Rules[j]
			if better(r, d.Rule) && matches(r.pattern, path) {
				d.Rule, d.Allowed = r, r.Allow
			}
		}
	}
	return d
}

// agent returns the name of the groups that a crawler follows; empty if there are none for it.
func (f *File) agent(token string) string {
	all := ""
	for _, g := range f.Groups {
		if token != "" && slices.Contains(g.Agents, token) {
			return token
		}
		if slices.Contains(g.Agents, "*") {
			all = "*"
		}
	}
	return all
}

// better reports whether a rule would outweigh another: it is longer, or as long and allows.
func better(r, than *Rule) bool {
	if than == nil {
		return true
	}
	a, b := len(r.pattern), len(than.pattern)
	return a > b || a == b && r.Allow && !than.Allow
}

// matches reports whether a pattern matches the beginning of a path, or all of it if it ends with $.
func matches(pattern, path string) bool {
	toEnd := strings.HasSuffix(pattern, "$")
	pattern = strings.TrimSuffix(pattern, "$")
	first, rest, star := strings.Cut(pattern, "*")
	if !strings.HasPrefix(path, first) {
		return false
	}
	path = path[len(first):]
	for star {
		var piece string
		piece, rest, star = strings.Cut(rest, "*")
		if !star && toEnd {
			return strings.HasSuffix(path, piece)
		}
		i := strings.Index(path, piece)
		if i < 0 {
			return false
		}
		path = path[i+len(piece):]
	}
	return !toEnd || path == ""
}

// normalise brings a path into the form in which paths are compared: bytes beyond ASCII encoded, what
// needs no encoding decoded, hexadecimal digits in capitals (RFC 9309 section 2.2.2). Encoded * and $
// stay as they are, apart from those with a meaning.
func normalise(path string) string {
	const digits = "0123456789ABCDEF"
	plain := true
	for i := range len(path) {
		if c := path[i]; c == '%' || c >= 0x80 || c <= ' ' {
			plain = false
			break
		}
	}
	if plain {
		return path
	}
	b := make([]byte, 0, len(path)+8)
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) && hex(path[i+1]) >= 0 && hex(path[i+2]) >= 0 {
			c = byte(hex(path[i+1])<<4 | hex(path[i+2]))
			i += 2
			if unreserved(c) {
				b = append(b, c)
			} else {
				b = append(b, '%', digits[c>>4], digits[c&15])
			}
			continue
		}
		if c >= 0x80 || c <= ' ' {
			b = append(b, '%', digits[c>>4], digits[c&15])
			continue
		}
		b = append(b, c)
	}
	return string(b)
}

func hex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// unreserved is RFC 3986 section 2.3.
func unreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
