package httpapi

import (
	"encoding/json"
	"fmt"
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
	s := &schemas{components: map[string]schema{}, types: map[string]reflect.Type{}, request: true}
	described := s.of(f.typ)
	if items, ok := described["items"].(schema); ok {
		p.List, described = true, items
	}
	p.Kinds = kinds(described)
	return p
}

func kinds(s schema) []string {
	switch t := s["type"].(type) {
	case string:
		return []string{t}
	case []string:
		return t
	case []any:
		list := []string{}
		for _, k := range t {
			list = append(list, fmt.Sprint(k))
		}
		return list
	}
	return []string{"object"}
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
	quoted, err := json.Marshal(text)
	if err != nil { // a string can always be written
		panic(err)
	}
	return quoted
}
