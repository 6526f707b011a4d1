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
	r := &fieldReader{parser: &parser{}, object: &object{}, kind: "parameter"}
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
	v, fields := target.Elem(), requestFieldsOf(ep.Operation.request)
	p, path := &parser{}, parseTemplate(Prefix+ep.Path)
	values, ok := path.match(u.EscapedPath())
	if !ok { // an exact path with an escaped slash, which separates no segments
		return nil, notFoundProblem()
	}
	for i, name := range path.parameterNames() {
		if !utf8.ValidString(values[i]) {
			return nil, notFoundProblem()
		}
		f := fields.path.byName[name]
		p.readParameter(v, f, values[i], fields.kinds[f])
	}
	if len(p.violations) > 0 {
		return nil, notFoundProblem()
	}
	r := &fieldReader{parser: p, v: v, object: fields.query, kinds: fields.kinds, kind: "parameter"}
	r.readQuery(u.RawQuery)
	r.checkPresence(r.object, r.seen, 0)
	if ep.HasBody() && len(body) > 0 {
		p.data, p.pos, p.path = body, 0, p.path[:0]
		p.readDocument(v, fields.body)
	} else {
		p.checkPresence(fields.body, nil, 0)
	}
	if err := p.finish(target.Interface()); err != nil {
		return nil, err
	}
	return target.Interface(), nil
}

// hostedRequest adds to a request whose profiles it is about: those of the caller's key and of all keys that it was
// rotated from.
func (x *exchange) hostedRequest(req any) (any, error) {
	first, err := x.Gate.Origin(x.r.Context(), *x.caller.Key)
	if err != nil {
		return nil, err
	}
	access := hostedspf.Access{Store: x.HostedSPF, Owner: hostedspf.Owner(first), Notify: x.NotifySPF, Zone: x.SPFZone}
	return &hostedRequest{access, req}, nil
}

// A fieldReader reads fields that arrive as text, by their names: from a query or from a form.
type fieldReader struct {
	*parser
	v      reflect.Value
	object *object
	kinds  map[*field][]string
	kind   string // field or parameter, as messages call it
	seen   []string
}

func (r *fieldReader) read(name, value string) {
	r.path = r.path[:0]
	r.setPath(0, name)
	switch f := r.object.byName[name]; {
	case !utf8.ValidString(name) || !utf8.ValidString(value):
		r.invalid("is not valid UTF-8")
	case f == nil:
		r.unknownName(r.kind, r.object)
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
			r.setPath(0, name)
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
	p.setPath(0, f.name)
	p.data, p.pos = textJSON(text, kinds), 0
	f.decode(p, v.FieldByIndex(f.index), &f.limits)
	p.path = p.path[:0]
}

func textJSON(text string, kinds []string) json.RawMessage {
	takes := func(kind string) bool { return slices.Contains(kinds, kind) }
	_, intErr := strconv.ParseInt(text, 10, 64)
	_, floatErr := strconv.ParseFloat(text, 64)
	switch { // Go reads more than JSON allows: +5, 007, 0x1p4
	case takes("integer") && intErr == nil && json.Valid([]byte(text)),
		takes("number") && floatErr == nil && json.Valid([]byte(text)),
		takes("boolean") && (text == "true" || text == "false"),
		takes("object") && json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	quoted, err := encode(text)
	if err != nil { // a string can always be written
		panic(err)
	}
	return bytes.TrimSpace(quoted)
}
