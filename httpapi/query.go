package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/metering"
)

// maxQuery bounds the query of a request, in bytes as sent. No parameter of the table is longer than a
// domain or a cursor.
const maxQuery = 4096

// serveParameters continues a request that has fields outside its body. They pass the same checks as those of a body,
// and all faults are reported together.
func (x *exchange) serveParameters() *failure {
	body, f := x.content()
	if f != nil {
		return f
	}
	req, err := x.ep.decodeParameters(x.r.URL, body)
	if err != nil {
		return problemFor(err)
	}
	if x.ep.Operation.owned {
		if req, err = x.own(req); err != nil {
			return x.problem(err)
		}
	}
	return x.charge(req, body)
}

// content reads the body of a row that does not require one. On GET it must be empty: it would have no meaning, and a
// body that a server ignores and a proxy does not, or the other way round, smuggles requests (RFC 9110 section
// 9.3.1). On POST no body means an empty object, whatever the media type.
func (x *exchange) content() ([]byte, *failure) {
	if more, f := x.hasContent(); f != nil || !more {
		return nil, f
	}
	if x.ep.Method == http.MethodGet {
		return nil, problemFor(&ViolationsError{[]Violation{
			{"", reasonInvalid, "a GET request has no body; its fields are in the path and the query"},
		}})
	}
	return x.readBody()
}

// hasContent reports whether there is a body. That its length is not known in advance does not mean that there is one.
func (x *exchange) hasContent() (bool, *failure) {
	if x.r.ContentLength >= 0 {
		return x.r.ContentLength > 0, nil
	}
	first := make([]byte, 1)
	switch _, err := io.ReadFull(x.r.Body, first); {
	case err == io.EOF:
		return false, nil
	case err != nil:
		return false, unreadBody(err)
	}
	x.r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(first), x.r.Body), x.r.Body}
	return true, nil
}

// fingerprint is that of CONTRACT 5.2. The path includes the query, if present, as it was sent: another order of its
// parameters makes another request. So does another form of the same file.
func (x *exchange) fingerprint(body []byte) [32]byte {
	path := x.r.URL.Path
	if x.r.URL.RawQuery != "" {
		path += "?" + x.r.URL.RawQuery
	}
	media, _ := x.uploaded()
	return metering.Fingerprint(x.ep.Method, path, cmp.Or(media, jsonMedia), body)
}

// refuseQuery adds the parameters of a query to the faults of a body, if the row has none.
func refuseQuery(raw string, err error) error {
	r := &fieldReader{parser: &parser{}, o: &object{}, what: "parameter"}
	if r.readQuery(raw); len(r.violations) == 0 {
		return err
	}
	if body, ok := errors.AsType[*ViolationsError](err); ok {
		return &ViolationsError{append(body.Violations, r.violations...)}
	}
	return r.err()
}

// decodeParameters reads a request from path, query and body. An invalid path parameter names nothing: that is a 404,
// whether an ID is malformed, unknown or of another owner.
func (ep *Endpoint) decodeParameters(u *url.URL, body []byte) (any, error) {
	target := reflect.New(ep.Operation.request)
	v, places := target.Elem(), placesOf(ep.Operation.request)
	p, path := &parser{}, parseTemplate(Prefix+ep.Path)
	values, ok := path.match(u.EscapedPath())
	if !ok { // an exact path with an escaped slash, which separates no segments
		return nil, notFound()
	}
	for i, name := range path.names() {
		if !utf8.ValidString(values[i]) {
			return nil, notFound()
		}
		f := places.path.byName[name]
		p.readParameter(v, f, values[i], places.kinds[f])
	}
	if len(p.violations) > 0 {
		return nil, notFound()
	}
	r := &fieldReader{parser: p, v: v, o: places.query, kinds: places.kinds, what: "parameter"}
	r.readQuery(u.RawQuery)
	r.checkPresence(r.o, r.seen, 0)
	if ep.HasBody() && len(body) > 0 {
		p.data, p.pos, p.path = body, 0, p.path[:0]
		p.readDocument(v, places.body)
	} else {
		p.checkPresence(places.body, nil, 0)
	}
	if err := p.verdict(target.Interface()); err != nil {
		return nil, err
	}
	return target.Interface(), nil
}

// readQuery reads the parameters behind the question mark, in the form of HTML forms (WHATWG URL Standard,
// application/x-www-form-urlencoded): pairs between ampersands, a plus sign for a space. An empty value is given, and
// empty: ?cursor= differs from no cursor.
func (r *fieldReader) readQuery(raw string) {
	r.path = r.path[:0]
	if len(raw) > maxQuery {
		r.invalid("the query must have at most %d bytes, not %d", maxQuery, len(raw))
		return
	}
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, err := parsePair(pair)
		if err != nil {
			r.path = r.path[:0]
			r.member(0, name)
			r.invalid("%s", err)
			continue
		}
		r.read(name, value)
	}
}

// parsePair decodes a name and its value. The name of a broken pair is empty where it is the broken part.
func parsePair(pair string) (name, value string, err error) {
	rawName, rawValue, _ := strings.Cut(pair, "=")
	if name, err = unescape(rawName); err != nil {
		return "", "", fmt.Errorf("the name of a parameter %w", err)
	}
	value, err = unescape(rawValue)
	return name, value, err
}

func unescape(raw string) (string, error) {
	text, err := url.QueryUnescape(raw)
	switch {
	case err != nil:
		return "", errors.New("has a percent sign without two hexadecimal digits")
	case !utf8.ValidString(text):
		return "", errors.New("is not valid UTF-8")
	}
	return text, nil
}

// readParameter reads a text as if it were a member of a body: as the JSON value that it looks like, if the field
// takes that type, and otherwise as a string.
func (p *parser) readParameter(v reflect.Value, f *field, text string, kinds []string) {
	p.member(0, f.name)
	p.data, p.pos = textJSON(text, kinds), 0
	f.decode(p, v.FieldByIndex(f.index), &f.limits)
	p.path = p.path[:0]
}

// Target splits a JSON object of all the request's fields into the parts of an HTTP request: the path below the
// server's root with its query, and the body, which is nil on GET. It checks no values: that is the server's part. A
// field that the request does not have, and one of the path that is missing or empty, is a *[ViolationsError].
func (ep Endpoint) Target(fields []byte) (target string, body []byte, err error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(fields, &given); err != nil {
		return "", nil, &ViolationsError{[]Violation{{"", reasonMalformed, "a JSON object is expected"}}}
	}
	target = Prefix + ep.Path
	query, rest, faults := []string{}, map[string]json.RawMessage{}, []Violation{}
	for _, p := range ep.Params() {
		value, ok := given[p.Name]
		ok = ok && string(value) != "null" // which means absence
		delete(given, p.Name)
		switch text := valueText(value); {
		case p.In == InPath && (!ok || text == ""):
			faults = append(faults, Violation{p.Name, reasonMissing, "is required"})
		case p.In == InPath:
			target = strings.Replace(target, "{"+p.Name+"}", url.PathEscape(text), 1)
		case !ok:
		case p.In == inQuery:
			query = append(query, url.QueryEscape(p.Name)+"="+url.QueryEscape(text))
		default:
			rest[p.Name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		faults = append(faults, Violation{name, reasonUnknown, "is not a field of this request"})
	}
	if len(faults) > 0 {
		return "", nil, &ViolationsError{faults}
	}
	if len(query) > 0 {
		target += "?" + strings.Join(query, "&")
	}
	if !ep.HasBody() {
		return target, nil, nil
	}
	body, err = json.Marshal(rest)
	return target, body, err
}

// valueText is a JSON value as a text: a string without its quotes.
func valueText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
