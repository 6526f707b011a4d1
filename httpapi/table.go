package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/metering"
)

// A Table is a list of endpoints, in the order in which documents have them.
type Table []Endpoint

// Endpoints returns the table of the public API, followed by custom endpoints. The caller owns it.
func Endpoints(own ...Endpoint) Table { return append(append(Table(nil), endpoints...), own...) }

// ByName returns the endpoint with a name or a slug.
func (t Table) ByName(name string) (ep Endpoint, ok bool) {
	for _, ep := range t {
		if ep.Name() == name || ep.Slug() == name {
			return ep, true
		}
	}
	return Endpoint{}, false
}

// An Endpoint is one operation of the public API: a row of its table. A custom one sets all fields, and is served
// by [Config.Endpoints].
type Endpoint struct {
	Method    string // GET or POST; a GET request has its fields in path and query
	Path      string // under Prefix, such as /acme/mx-policy or /acme/hosts/{id}
	Scope     metering.Scope
	Credits   int64     // price of a reply; what fails costs nothing
	Purpose   string    // its purpose, in a few words
	Operation Operation // its work, made by Call or Pure; without it, New panics and Run returns an error
}

// Name returns the path without its first slash, such as "mta-sts/lookup".
func (ep Endpoint) Name() string { return strings.TrimPrefix(ep.Path, "/") }

// Slug returns the name as it is written in URLs of pages: without the braces around parameters.
func (ep Endpoint) Slug() string { return slugReplacer.Replace(ep.Name()) }

var slugReplacer = strings.NewReplacer("{", "", "}", "")

// ID returns the method and the whole path, by which the ledger and the metrics name the endpoint.
func (ep Endpoint) ID() string { return ep.Method + " " + Prefix + ep.Path }

// Summary returns what the operation does: its purpose, or a more specific text if that is the purpose of a family.
func (ep Endpoint) Summary() string { return cmp.Or(ep.Operation.summary, ep.Purpose) }

// Family returns the heading of the endpoint in lists.
func (ep Endpoint) Family() string {
	switch scope, _, _ := strings.Cut(string(ep.Scope), ":"); {
	case strings.HasPrefix(ep.Path, "/text/"):
		return "Text"
	case strings.HasPrefix(ep.Path, "/spf/hosted"):
		return "Hosted SPF"
	case scope == "mail":
		return "Mail"
	case scope == "web":
		return "Web"
	}
	return "DNS and registration"
}

// family is the first part of the path.
func (ep Endpoint) family() string {
	first, _, _ := strings.Cut(ep.Name(), "/")
	return first
}

// operationID makes an identifier of the path: /mta-sts/lookup is mtaStsLookup.
func (ep Endpoint) operationID() string {
	words := strings.FieldsFunc(ep.Path, func(r rune) bool { return strings.ContainsRune("/-{}", r) })
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// HasVerdict reports whether replies have a verdict in words.
func (ep Endpoint) HasVerdict() bool {
	if ep.Operation.report == nil {
		return false
	}
	_, ok := ep.Operation.report.FieldByName("Headline")
	return ok
}

// ReturnsImage reports whether the reply is an image, and not JSON.
func (ep Endpoint) ReturnsImage() bool { return ep.Operation.report == nil }

// HasBody reports whether a request carries its fields in a JSON body.
func (ep Endpoint) HasBody() bool { return ep.Method == http.MethodPost }

// Hosted reports whether the operation works on hosted SPF profiles: it then runs at a server or by
// [Endpoint.RunHosted], and not by [Endpoint.Run].
func (ep Endpoint) Hosted() bool { return ep.Operation.hosted }

// MaxBody returns the maximum size of the JSON body of a request, in bytes.
func (ep Endpoint) MaxBody() int64 { return ep.Operation.body }

// Rules describes the rules by which the endpoint's reports are judged, if there are any.
func (ep Endpoint) Rules() []rule.Description {
	if ep.Operation.report == nil {
		return nil
	}
	if judged, ok := reflect.New(ep.Operation.report).Interface().(interface{ Rules() []rule.Description }); ok {
		return judged.Rules()
	}
	return nil
}

// Scopes returns the scopes of which a key needs one: that of the row, and one that it still accepts for a while.
func (ep Endpoint) Scopes() []metering.Scope {
	list := []metering.Scope{ep.Scope}
	if ep.Operation.transition != nil {
		list = append(list, ep.Operation.transition.scope)
	}
	return list
}

// A Deprecation holds since when something should no longer be used, and when it ends.
type Deprecation struct {
	Since  time.Time // zero: no date is set yet, so replies do not contain one
	Sunset time.Time // zero: no end is decided yet
}

// A scopeTransition is a scope that a row temporarily accepts in addition to its own.
type scopeTransition struct {
	scope metering.Scope
	Deprecation
}

// custom are the rows that are not of the public API.
func (t Table) custom() (custom Table) {
	for _, ep := range t {
		if _, isPublic := Table(endpoints).ByName(ep.Name()); !isPublic {
			custom = append(custom, ep)
		}
	}
	return custom
}

// maxPrice bounds the price of a custom endpoint, in credits: a month of the agency plan.
const maxPrice = 1_000_000

// customPath is the form of custom paths. Other characters would need escapes in URLs, names of files or
// commands.
var customPath = regexp.MustCompile(`^(/([a-z0-9]+(-[a-z0-9]+)*|\{[a-z][a-z0-9_]*\}))+$`)

// add returns the table with one more custom row. It panics if the row is not valid: the path, the scope or the
// price is malformed, the path is taken, or the examples in the tags of the request's fields make no request.
func (t Table) add(ep Endpoint) Table {
	switch {
	case !customPath.MatchString(ep.Path):
		ep.panicf("the path must be words of a-z and 0-9 behind slashes, such as /acme/mx-policy or /acme/hosts/{id}")
	case !slices.Contains(metering.Scopes(), ep.Scope):
		ep.panicf("keys cannot have the scope %q: choose one of %q", ep.Scope, metering.Scopes())
	case ep.Credits < 1 || ep.Credits > maxPrice:
		ep.panicf("the price must be 1 to %d credits, not %d", maxPrice, ep.Credits)
	case strings.TrimSpace(ep.Purpose) == "":
		ep.panicf("the purpose is missing: documents and lists show it")
	case ep.operationID() == openapiID:
		ep.panicf("the path is that of the OpenAPI document: choose another")
	}
	for _, other := range t {
		if parseTemplate(other.Path).overlaps(parseTemplate(ep.Path)) || other.operationID() == ep.operationID() {
			ep.panicf("the path is that of %s, or too much like it: choose another", other.ID())
		}
	}
	ep.mustBeServable()
	if _, err := ep.Operation.decode(ep.Example()); err != nil { // which documents and forms show
		ep.panicf("its example is %s, which is no request: %v; give fields an example in their tags", ep.Example(), err)
	}
	return append(t, ep)
}

// maxTime bounds the deadlines of operations: servers give up writing a little later, and so do tools of agents
// waiting.
const maxTime = time.Minute

// mustBeServable panics where a row cannot be served: it has no operation, its method is neither GET nor POST, a GET
// row has a field in the body (RFC 9110 section 9.3.1: content of a GET request means nothing), or the names in the
// path are not those of the fields in the path. It returns the row as the server keeps it.
func (ep Endpoint) mustBeServable() *Endpoint {
	op := &ep.Operation
	switch {
	case op.run == nil:
		ep.panicf("there is no operation: make one by httpapi.Call or httpapi.Pure")
	case op.request.Kind() != reflect.Struct:
		ep.panicf("the request must be a struct, not %s", op.request)
	case op.report != nil && op.report.Kind() != reflect.Struct:
		ep.panicf("the report must be a struct, not %s", op.report)
	case op.body < 1 || op.time < 0 || op.time > maxTime || op.fixedMemory < 0:
		ep.panicf("its bounds must be above zero, and the deadline at most %s", maxTime)
	case ep.Method != http.MethodGet && ep.Method != http.MethodPost:
		ep.panicf("the method must be GET or POST")
	}
	p := ep.requestFields()
	if ep.Method == http.MethodGet && len(p.body.fields) > 0 {
		ep.panicf("the field %s needs a place outside the body", p.body.fields[0].name)
	}
	names := parseTemplate(ep.Path).parameterNames()
	if fields := p.path.names(); !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(fields))) {
		ep.panicf("the path has the parameters %q, the request has fields for %q", names, fields)
	}
	if op.upload != nil && op.hosted {
		ep.panicf("an operation on profiles takes no files")
	}
	op.parametrized = len(p.path.fields)+len(p.query.fields) > 0 || op.hosted
	return &ep
}

// requestFields are those of the fields of the request.
func (ep Endpoint) requestFields() (p *requestFields) {
	ep.naming(func() { p = requestFieldsOf(ep.Operation.request) })
	return p
}

// naming processes the types of a row. One that the API cannot carry panics with the name of the row, and at
// start, not under a request.
func (ep Endpoint) naming(do func()) {
	defer func() {
		if fault := recover(); fault != nil {
			ep.panicf("%s", strings.TrimPrefix(fmt.Sprint(fault), "httpapi: "))
		}
	}()
	do()
}

// panicf panics because a row cannot be served.
func (ep Endpoint) panicf(format string, args ...any) {
	panic("httpapi: " + ep.ID() + ": " + fmt.Sprintf(format, args...))
}

// maxNearestInput bounds the paths for which the nearest endpoint is searched, in bytes.
const maxNearestInput = 100

// Nearest returns the endpoint that an unknown path or name probably means: the one with most of its words, misspelt
// ones included, of which the first counts double. Among equals it is the shortest, and then the first of the table.
func (t Table) Nearest(path string) (nearest Endpoint, ok bool) {
	if len(path) > maxNearestInput {
		return Endpoint{}, false
	}
	var known []string
	for _, ep := range t {
		known = append(known, pathWords(ep.Path)...)
	}
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	words := pathWords(strings.TrimPrefix(strings.ToLower(path), Prefix))
	for i, w := range words {
		words[i] = cmp.Or(phrase.Nearest(w, known...), w)
	}
	const perWord = 20 // more than twice the words of a path
	best := 0
	for _, ep := range t {
		own := pathWords(ep.Path)
		score := -len(own)
		for i, w := range words {
			switch at := slices.Index(own, w); {
			case at == 0 && i == 0:
				score += 2 * perWord
			case at == i:
				score += perWord + 1 // where it belongs
			case at >= 0:
				score += perWord
			}
		}
		if score > best {
			nearest, best, ok = ep, score, true
		}
	}
	return nearest, ok
}

func pathWords(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '-' || r == '{' || r == '}' })
}
