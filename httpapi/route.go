package httpapi

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// route finds the row of the table. It answers for the OpenAPI document by itself.
func (x *exchange) route() *failure {
	x.observed.Endpoint = "unknown"
	path := x.r.URL.Path
	methods := x.routes[path]
	if strings.Contains(strings.ToLower(x.r.URL.RawPath), "%2f") {
		methods = nil // an escaped slash separates nothing (RFC 3986 section 2.4)
	}
	if methods == nil {
		methods = x.match(x.r.URL)
	}
	switch {
	case path == openapiPath:
		x.observed.Endpoint = "openapi"
		return x.serveDocument()
	case path == "/":
		f := notFoundProblem()
		f.problem.Message = "The API is under " + x.PublicURL + Prefix + "/, and " + x.PublicURL + openapiPath +
			" describes it."
		return f
	case path == "*": // of OPTIONS alone (RFC 9110 section 9.3.7)
		return invalidRequestProblem(http.StatusNotImplemented, reasonMethod,
			"The server as a whole has no options; "+x.PublicURL+openapiPath+" describes the API.")
	case methods == nil:
		return x.pathProblem(path)
	}
	if x.ep = methods[x.r.Method]; x.ep == nil {
		return methodProblem(slices.Sorted(maps.Keys(methods)))
	}
	x.observed.Endpoint = x.ep.Operation.id
	return nil
}

// hasParameters reports whether a request has fields outside its body, or no body at all.
func (ep *Endpoint) hasParameters() bool {
	return ep.Operation.parametrized || ep.Method != http.MethodPost
}

// A pattern is a template of the table with its rows, by method.
type pattern struct {
	path     string
	template template
	methods  map[string]*Endpoint
}

// methodsAt returns the rows at a path of the table, by method, for one more to be added. It panics
// where a path would match two templates: which row answers must not depend on their order.
func (s *server) methodsAt(path string) map[string]*Endpoint {
	t := parseTemplate(path)
	if len(t.parameterNames()) == 0 {
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

// match returns the rows whose template a path matches, or nil. A row with exactly the path of the request takes
// precedence: it is looked up first.
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

// pathProblem answers if no row has the path, and names the one that may have been meant. It considers the path alone,
// so that it reveals nothing about IDs.
func (s *server) pathProblem(path string) *failure {
	f := notFoundProblem()
	if near, ok := s.table.Nearest(path); ok {
		f.problem.Message += " Did you mean " + near.Method + " " + s.PublicURL + Prefix + near.Path + "?"
	}
	return f
}

// maxPath bounds the paths that are compared with templates, in bytes as sent: ids have thirty
// characters, and whatever is longer names nothing.
const maxPath = 1024

// A template is a path, split at its slashes, in which a segment such as {id} matches any text.
type template []string

func parseTemplate(path string) template { return strings.Split(path, "/") }

func parameterName(segment string) (name string, ok bool) {
	name, ok = strings.CutPrefix(segment, "{")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, "}")
}

func (t template) parameterNames() []string {
	var list []string
	for _, segment := range t {
		if name, ok := parameterName(segment); ok {
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
		if _, ok := parameterName(want); !ok && text != want || ok && text == "" {
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
		_, isParameter := parameterName(t[i])
		_, otherIsParameter := parameterName(other[i])
		if !isParameter && !otherIsParameter && t[i] != other[i] {
			return false
		}
	}
	return true
}
