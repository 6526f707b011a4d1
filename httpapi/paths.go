package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxPath bounds the paths that are compared with templates, in bytes as sent: ids have thirty
// characters, and whatever is longer names nothing.
const maxPath = 1024

// A template is a path, split at its slashes, in which a segment such as {id} matches any text.
type template []string

func parseTemplate(path string) template { return strings.Split(path, "/") }

func parameter(segment string) (name string, ok bool) {
	name, ok = strings.CutPrefix(segment, "{")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, "}")
}

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

// A Place is where a request carries a field. The tag in of a request's field names it; without one
// the field is in the body.
type Place string

// The places.
const (
	inBody  Place = "body"  // a member of the JSON object
	inQuery Place = "query" // a parameter behind the question mark
	InPath  Place = "path"  // a segment of the path, {name} in the table
)

func placeOf(sf reflect.StructField) Place {
	switch p := Place(sf.Tag.Get("in")); p {
	case "":
		return inBody
	case inQuery, InPath:
		return p
	default:
		panic(fmt.Sprintf("httpapi: field %s: a request has no place %q", sf.Name, p))
	}
}

// places holds the fields of a request type by their place. What is outside the body arrives as text, so kinds lists
// for each such field the JSON types that it takes.
type places struct {
	path, query, body *object
	kinds             map[*field][]string
}

var placesByType sync.Map // reflect.Type to *places

// placesOf sorts the fields of a request once. It panics if a field cannot be in its declared place.
func placesOf(t reflect.Type) *places {
	if p, ok := placesByType.Load(t); ok {
		return p.(*places)
	}
	all := objectOf(t)
	p := &places{path: all.at(InPath), query: all.at(inQuery), body: all.at(inBody), kinds: map[*field][]string{}}
	for _, f := range append(slices.Clone(p.path.fields), p.query.fields...) {
		param := paramOf(f)
		if param.List || slices.Contains(param.Kinds, "object") {
			panic(fmt.Sprintf("httpapi: field %s: a parameter is one text, no list and no object", f.name))
		}
		if f.place == InPath && !f.required {
			panic(fmt.Sprintf("httpapi: field %s: what is in the path is always there", f.name))
		}
		p.kinds[f] = param.Kinds
	}
	actual, _ := placesByType.LoadOrStore(t, p)
	return actual.(*places)
}

func (o *object) at(place Place) *object {
	part := &object{byName: map[string]*field{}, groups: map[string][]string{}}
	for _, f := range o.fields {
		if f.place != place {
			continue
		}
		part.fields = append(part.fields, f)
		part.byName[f.name] = f
		if f.oneof == "" {
			continue
		}
		if part.groups[f.oneof] = append(part.groups[f.oneof], f.name); f.place == InPath {
			panic(fmt.Sprintf("httpapi: field %s: what is in the path is no choice", f.name))
		}
	}
	for name, members := range part.groups {
		if len(members) != len(o.groups[name]) {
			panic(fmt.Sprintf("httpapi: the fields of the group %s are in different places", name))
		}
	}
	return part
}

// parametrised reports whether a request has fields outside its body, or no body at all.
func (ep *Endpoint) parametrised() bool { return ep.Operation.placed || ep.Method != http.MethodPost }

// maxTime bounds the deadlines of operations: servers give up writing a little later, and so do tools of agents
// waiting.
const maxTime = time.Minute

// check panics where a row cannot be served: it has no operation, its method is neither GET nor POST, a GET row has a
// field in the body (RFC 9110 section 9.3.1: content of a GET request means nothing), or the names in the path are not
// those of the fields in the path. It returns the row as the server keeps it.
func (ep Endpoint) check() *Endpoint {
	op := &ep.Operation
	switch {
	case op.run == nil:
		ep.fail("there is no operation: make one by httpapi.Call or httpapi.Pure")
	case op.request.Kind() != reflect.Struct:
		ep.fail("the request must be a struct, not %s", op.request)
	case op.report != nil && op.report.Kind() != reflect.Struct:
		ep.fail("the report must be a struct, not %s", op.report)
	case op.body < 1 || op.time < 0 || op.time > maxTime || op.weight < 0:
		ep.fail("its bounds must be above zero, and the deadline at most %s", maxTime)
	case ep.Method != http.MethodGet && ep.Method != http.MethodPost:
		ep.fail("the method must be GET or POST")
	}
	p := ep.places()
	if ep.Method == http.MethodGet && len(p.body.fields) > 0 {
		ep.fail("the field %s needs a place outside the body", p.body.fields[0].name)
	}
	names := parseTemplate(ep.Path).names()
	if fields := p.path.names(); !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(fields))) {
		ep.fail("the path has the parameters %q, the request has fields for %q", names, fields)
	}
	if op.upload != nil && op.owned {
		ep.fail("an operation on profiles takes no files")
	}
	op.placed = len(p.path.fields)+len(p.query.fields) > 0 || op.owned
	return &ep
}

// places are those of the fields of the request.
func (ep Endpoint) places() (p *places) {
	ep.described(func() { p = placesOf(ep.Operation.request) })
	return p
}

// described processes the types of a row. One that the API cannot carry panics with the name of the row, and at
// start, not under a request.
func (ep Endpoint) described(do func()) {
	defer func() {
		if fault := recover(); fault != nil {
			ep.fail("%s", strings.TrimPrefix(fmt.Sprint(fault), "httpapi: "))
		}
	}()
	do()
}

// fail panics because a row cannot be served.
func (ep Endpoint) fail(format string, args ...any) {
	panic("httpapi: " + ep.ID() + ": " + fmt.Sprintf(format, args...))
}
