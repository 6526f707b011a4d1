package httpapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
)

// A Param is one field of an endpoint's request, for command lines and forms.
type Param struct {
	Name     string
	In       Place    // where the HTTP API has it; on a command line and in JSON for Run all are alike
	Kinds    []string // JSON types that a value may have: string, integer, number, boolean, object
	List     bool     // a list of such values
	Required bool
	OneOf    string // a group of which exactly one must be given; empty for none
	Doc      string
	Default  string
	Example  string
	Enum     []string
}

// Params lists the fields of the endpoint's request, in their order.
func (ep Endpoint) Params() []Param {
	params := []Param{}
	for _, f := range objectOf(ep.op.request).fields {
		params = append(params, paramOf(f))
	}
	return params
}

func paramOf(f *field) Param {
	p := Param{
		Name: f.name, In: f.place, Required: f.required, OneOf: f.oneof, Doc: f.tag.Get("doc"),
		Default: f.tag.Get("default"), Example: f.tag.Get("example"), Enum: f.limits.enum,
	}
	t := f.typ
	if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 && !isText(t) {
		p.List, t = true, t.Elem()
	}
	p.Kinds = kindsOf(t)
	return p
}

// A schema is a JSON Schema (2020-12), as OpenAPI 3.1 uses it.
type schema = map[string]any

// ownSchema is the schema that a type has of its own, or nil.
func ownSchema(t reflect.Type) schema {
	if own, ok := reflect.New(t).Interface().(interface{ Schema() schema }); ok && t.Kind() != reflect.Pointer {
		return own.Schema()
	}
	return nil
}

// kindsOf lists the JSON types of a type's values.
func kindsOf(t reflect.Type) []string {
	if own := ownSchema(t); own != nil {
		switch kinds := own["type"].(type) {
		case string:
			return []string{kinds}
		case []string:
			return kinds
		}
		return []string{"object"} // or one of several
	}
	switch kind := t.Kind(); {
	case kind == reflect.Pointer:
		return kindsOf(t.Elem())
	case kind == reflect.String, t == byteListType, isText(t):
		return []string{"string"}
	case kind == reflect.Bool:
		return []string{"boolean"}
	case reflect.Int <= kind && kind <= reflect.Uint64:
		return []string{"integer"}
	case kind == reflect.Float32, kind == reflect.Float64:
		return []string{"number"}
	}
	return []string{"object"}
}

// isText reports whether a type is a text in JSON.
func isText(t reflect.Type) bool {
	return t.Kind() != reflect.Pointer && (t.Implements(marshalText) || reflect.PointerTo(t).Implements(textType))
}

// JSON turns the text of a value, as from a command line, into JSON of a kind that the field takes.
// A text that is of no such kind becomes a string, for the decoder to refuse with its reason.
func (p Param) JSON(text string) json.RawMessage { return textJSON(text, p.Kinds) }

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
