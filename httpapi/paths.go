package httpapi

import (
	"net/url"
	"strings"
)

// maxPath bounds the paths that are compared with templates, in bytes as sent: ids have thirty
// characters, and whatever is longer names nothing.
const maxPath = 1024

// A template is a path, cut at its slashes, in which a segment such as {id} stands for any text.
type template []string

func parseTemplate(path string) template { return strings.Split(path, "/") }

// parameter returns the name of a segment in braces.
func parameter(segment string) (name string, ok bool) {
	name, ok = strings.CutPrefix(segment, "{")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, "}")
}

// names lists the parameters.
func (t template) names() []string {
	var list []string
	for _, segment := range t {
		if name, ok := parameter(segment); ok {
			list = append(list, name)
		}
	}
	return list
}

// match compares a path as it was sent, and returns the values of the parameters in their order.
//
// A path is cut at its slashes before its segments are decoded (RFC 3986 section 2.4), so that an
// escaped slash belongs to a value and never separates two; %73 for s means the same as s (section
// 6.2.2.2). No parameter is empty, and a slash at the end makes another path.
func (t template) match(escaped string) (values []string, ok bool) {
	rest, more := escaped, true
	for _, want := range t {
		if !more {
			return nil, false
		}
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		text, err := url.PathUnescape(segment)
		if err != nil {
			return nil, false
		}
		if _, ok := parameter(want); !ok && text != want || ok && text == "" {
			return nil, false
		} else if ok {
			values = append(values, text)
		}
	}
	return values, !more
}

// overlaps reports whether some path matches both templates.
func (t template) overlaps(other template) bool {
	if len(t) != len(other) {
		return false
	}
	for i := range t {
		_, any := parameter(t[i])
		_, otherAny := parameter(other[i])
		if !any && !otherAny && t[i] != other[i] {
			return false
		}
	}
	return true
}

// A pattern is a template of the table with the rows that stand at it, by method.
type pattern struct {
	path     string
	template template
	methods  map[string]*Endpoint
}

// methodsAt returns the rows at a path of the table, by method, for one more to be added. It panics
// where a path would match two templates: which row answers must not depend on their order.
func (s *server) methodsAt(path string) map[string]*Endpoint {
	t := parseTemplate(path)
	if len(t.names()) == 0 {
		if s.routes[path] == nil {
			s.routes[path] = map[string]*Endpoint{}
		}
		return s.routes[path]
	}
	for _, p := range s.patterns {
		if p.path == path {
			return p.methods
		}
		if p.template.overlaps(t) {
			panic("httpapi: the paths " + p.path + " and " + path + " overlap")
		}
	}
	p := pattern{path, t, map[string]*Endpoint{}}
	s.patterns = append(s.patterns, p)
	return p.methods
}

// match returns the rows whose template a path matches, or nil. A row that has the very path of the
// request goes before: it is looked up first.
func (s *server) match(u *url.URL) map[string]*Endpoint {
	escaped := u.EscapedPath()
	if len(escaped) > maxPath {
		return nil
	}
	for _, p := range s.patterns {
		if _, ok := p.template.match(escaped); ok {
			return p.methods
		}
	}
	return nil
}
