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
	s := &schemas{components: map[string]schema{}, types: map[string]reflect.Type{}, request: true}
	params := []Param{}
	for _, f := range objectOf(ep.op.request).fields {
		p := Param{
			Name: f.name, Required: f.required, OneOf: f.oneof, Doc: f.tag.Get("doc"),
			Default: f.tag.Get("default"), Example: f.tag.Get("example"), Enum: f.limits.enum,
		}
		described := s.of(f.typ)
		if items, ok := described["items"].(schema); ok {
			p.List, described = true, items
		}
		p.Kinds = kinds(described)
		params = append(params, p)
	}
	return params
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
func (p Param) JSON(text string) json.RawMessage {
	is := func(kind string) bool { return slices.Contains(p.Kinds, kind) }
	_, notInt := strconv.ParseInt(text, 10, 64)
	_, notNumber := strconv.ParseFloat(text, 64)
	switch {
	case is("integer") && notInt == nil,
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
