package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

// maxQuery bounds the query of a request, in bytes as sent. No parameter of the table is longer than a
// domain or a cursor.
const maxQuery = 4096

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

// own adds to a request whose profiles it is about: those of the caller's key and of all keys that it was rotated from.
func (x *exchange) own(req any) (any, error) {
	first, err := x.Gate.Origin(x.r.Context(), *x.caller.Key)
	if err != nil {
		return nil, err
	}
	access := hostedspf.Access{Store: x.HostedSPF, Owner: hostedspf.Owner(first), Notify: x.NotifySPF, Zone: x.SPFZone}
	return &ownedRequest{access, req}, nil
}

// A fieldReader reads fields that arrive as text, by their names: from a query or from a form.
type fieldReader struct {
	*parser
	v     reflect.Value
	o     *object
	kinds map[*field][]string
	what  string // field or parameter, as messages call it
	seen  []string
}

func (r *fieldReader) read(name, value string) {
	r.path = r.path[:0]
	r.member(0, name)
	switch f := r.o.byName[name]; {
	case !utf8.ValidString(name) || !utf8.ValidString(value):
		r.invalid("is not valid UTF-8")
	case f == nil:
		r.unknown(r.what, r.o)
	case slices.Contains(r.seen, name):
		r.invalid("is given twice")
	default:
		r.seen = append(r.seen, name)
		r.readParameter(r.v, f, value, r.kinds[f])
	}
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

func textJSON(text string, kinds []string) json.RawMessage {
	is := func(kind string) bool { return slices.Contains(kinds, kind) }
	_, notInt := strconv.ParseInt(text, 10, 64)
	_, notNumber := strconv.ParseFloat(text, 64)
	switch { // Go reads more than JSON allows: +5, 007, 0x1p4
	case is("integer") && notInt == nil && json.Valid([]byte(text)),
		is("number") && notNumber == nil && json.Valid([]byte(text)),
		is("boolean") && (text == "true" || text == "false"),
		is("object") && json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	quoted, err := encode(text)
	if err != nil { // a string can always be written
		panic(err)
	}
	return bytes.TrimSpace(quoted)
}
