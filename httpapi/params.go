package httpapi

import (
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
)

// A Param is one field of an endpoint's request, for command lines and forms.
type Param struct {
	Name     string   `json:"name"`
	In       Location `json:"-"`              // its place in the HTTP API; on a command line and in JSON all are alike
	Kinds    []string `json:"types"`          // that a value may have in JSON: string, integer, number, boolean, object
	List     bool     `json:"list,omitempty"` // a list of such values
	Required bool     `json:"required"`
	OneOf    string   `json:"one_of,omitempty"` // a group of which exactly one must be given; empty for none
	Doc      string   `json:"doc,omitempty"`
	Default  string   `json:"default,omitempty"`
	Example  string   `json:"-"` // which that of the endpoint shows
	Enum     []string `json:"enum,omitempty"`
	Min      *float64 `json:"minimum,omitempty"` // of a number; nil for none
	Max      *float64 `json:"maximum,omitempty"`
	MaxLen   int      `json:"max_length,omitempty"` // of a text, in characters or bytes; 0 for none
	Bytes    bool     `json:"base64,omitempty"`     // the text is Base64 of bytes, such as a file
}

// Params lists the fields of the endpoint's request, in their order.
func (ep Endpoint) Params() []Param {
	return kit.Map(objectOf(ep.Operation.fields()).fields, paramOf)
}

func paramOf(f *field) Param {
	p := Param{
		Name: f.name, In: f.location, Required: f.required, OneOf: f.oneof, Doc: f.tag.Get("doc"),
		Default: f.tag.Get("default"), Example: f.tag.Get("example"), Enum: f.limits.enum,
		Min: f.limits.min, Max: f.limits.max, MaxLen: max(f.limits.maxLen, f.limits.maxBytes),
		Bytes: strings.HasSuffix(f.name, "_base64"),
	}
	t := f.typ
	if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 && !isText(t) {
		p.List, t = true, t.Elem()
	}
	p.Kinds = kindsOf(t)
	return p
}

// JSON turns the text of a value, as from a command line, into JSON of a kind that the field takes. Any other text
// becomes a string, which the decoder refuses with a reason.
func (p Param) JSON(text string) json.RawMessage { return textJSON(text, p.Kinds) }

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
		case p.In == InQuery:
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
