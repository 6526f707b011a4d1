package httpapi

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/mailauth/taglist"
	"github.com/diagkit/diagkit/metering"
)

// A Table is a list of endpoints, in the order in which documents have them.
type Table []Endpoint

// Endpoints is the table of the public API, and behind it endpoints of one's own. The caller owns it.
func Endpoints(own ...Endpoint) Table { return append(append(Table(nil), endpoints...), own...) }

// Named returns the endpoint with a name, also one as addresses of pages have it.
func (t Table) Named(name string) (ep Endpoint, ok bool) {
	for _, ep := range t {
		if ep.Name() == name || ep.At() == name {
			return ep, true
		}
	}
	return Endpoint{}, false
}

// own are the rows that are not of the public API.
func (t Table) own() (own Table) {
	for _, ep := range t {
		if _, ours := Table(endpoints).Named(ep.Name()); !ours {
			own = append(own, ep)
		}
	}
	return own
}

// maxPrice bounds the price of an endpoint of one's own, in credits: a month of the agency plan.
const maxPrice = 1_000_000

// ownPath is the form of the paths of one's own. Other characters would need escapes in URLs, names of files or
// commands.
var ownPath = regexp.MustCompile(`^(/([a-z0-9]+(-[a-z0-9]+)*|\{[a-z][a-z0-9_]*\}))+$`)

// add returns the table with one more row of one's own. It panics if the row is not valid: the path, the scope or the
// price is malformed, the path is taken, or the examples in the tags of the request's fields make no request.
func (t Table) add(ep Endpoint) Table {
	switch {
	case !ownPath.MatchString(ep.Path):
		ep.fail("the path must be words of a-z and 0-9 behind slashes, such as /acme/mx-policy or /acme/hosts/{id}")
	case !slices.Contains(metering.Scopes(), ep.Scope):
		ep.fail("the scope %q is none that keys can have: choose one of %q", ep.Scope, metering.Scopes())
	case ep.Credits < 1 || ep.Credits > maxPrice:
		ep.fail("the price must be 1 to %d credits, not %d", maxPrice, ep.Credits)
	case strings.TrimSpace(ep.Purpose) == "":
		ep.fail("the purpose is missing: documents and lists show it")
	case ep.operationID() == openapiID:
		ep.fail("the path is that of the OpenAPI document: choose another")
	}
	for _, other := range t {
		if parseTemplate(other.Path).overlaps(parseTemplate(ep.Path)) || other.operationID() == ep.operationID() {
			ep.fail("the path is that of %s, or too much like it: choose another", other.ID())
		}
	}
	ep.check()
	if _, err := ep.Operation.decode(ep.Example()); err != nil { // which documents and forms show
		ep.fail("its example is %s, which is no request: %v; give fields an example in their tags", ep.Example(), err)
	}
	return append(t, ep)
}

// maxMeant bounds the paths for which the nearest endpoint is searched, in bytes.
const maxMeant = 100

// Nearest returns the endpoint that an unknown path or name probably means: the one with most of its words, misspelt
// ones included, of which the first counts double. Among equals it is the shortest, and then the first of the table.
func (t Table) Nearest(path string) (nearest Endpoint, ok bool) {
	if len(path) > maxMeant {
		return Endpoint{}, false
	}
	var all []string
	for _, ep := range t {
		all = append(all, pathWords(ep.Path)...)
	}
	all = slices.Compact(slices.Sorted(slices.Values(all)))
	typed := pathWords(strings.TrimPrefix(strings.ToLower(path), Prefix))
	for i, w := range typed {
		typed[i] = cmp.Or(taglist.Nearest(w, all...), w)
	}
	const perWord = 20 // more than twice the words of a path
	most := 0
	for _, ep := range t {
		own := pathWords(ep.Path)
		score := -len(own)
		for i, w := range typed {
			switch at := slices.Index(own, w); {
			case at == 0 && i == 0:
				score += 2 * perWord
			case at == i:
				score += perWord + 1 // where it belongs
			case at >= 0:
				score += perWord
			}
		}
		if score > most {
			nearest, most, ok = ep, score, true
		}
	}
	return nearest, ok
}

func pathWords(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '-' || r == '{' || r == '}' })
}
