package httpapi

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag/kit"
)

// A field is a JSON member of a request, as described by its struct tags. A member is required unless its tag has
// omitempty. The tags, all optional:
//
//	doc      what it means           example  a value for the documentation
//	default  what absence means (documentation: the diagnostic itself applies it)
//	min max          bounds of a number
//	minlen maxlen    bounds of a string, in characters
//	maxbytes         bound of a string, in bytes of UTF-8; of a []byte, in bytes (minlen too)
//	minitems maxitems unique:"true"  bounds of a list
//	enum     allowed strings or whole numbers, separated by spaces; a type's Values method does the same
//	pattern  regular expression for a string
//	oneof    name of a group of which exactly one member must be given
//	in       path or query, for a field that is not in the body
type field struct {
	name     string
	index    []int
	typ      reflect.Type
	required bool
	location Location
	oneof    string
	limits   limits
	tag      reflect.StructTag
	decode   func(p *parser, v reflect.Value, l *limits)
}

// limits are the bounds of one value, from its tags.
type limits struct {
	min, max           *float64
	minLen, maxLen     int // characters; maxLen 0: none
	maxBytes           int
	minItems, maxItems int // maxItems 0: none
	unique             bool
	enum               []string
	pattern            *regexp.Regexp
}

type object struct {
	fields []*field
	byName map[string]*field
	groups map[string][]string // oneof group to its members
}

var (
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	byteListType        = reflect.TypeFor[[]byte]()
	jsonUnmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	valuesType          = reflect.TypeFor[interface{ Values() []string }]()
	objects             sync.Map // reflect.Type to *object
)

// objectOf compiles a struct type once. It panics on a type that the API cannot carry: that is a
// fault in the table of endpoints, seen at start.
func objectOf(t reflect.Type) *object {
	if o, ok := objects.Load(t); ok {
		return o.(*object)
	}
	o := &object{byName: map[string]*field{}, groups: map[string][]string{}}
	for _, sf := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if sf.Anonymous && name == "" || !sf.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			panic(fmt.Sprintf("httpapi: field %s: its tag json must name it", sf.Name))
		}
		f := &field{
			name: name, index: sf.Index, typ: sf.Type, tag: sf.Tag, location: locationOf(sf), oneof: sf.Tag.Get("oneof"),
			limits: limitsOf(sf),
		}
		f.required = !slices.Contains(strings.Split(options, ","), "omitempty") && f.oneof == ""
		f.decode = decoderOf(sf.Type)
		o.fields = append(o.fields, f)
		o.byName[name] = f
		if f.oneof != "" {
			o.groups[f.oneof] = append(o.groups[f.oneof], name)
		}
	}
	actual, _ := objects.LoadOrStore(t, o)
	return actual.(*object)
}

func (o *object) names() []string {
	return kit.Map(o.fields, func(f *field) string { return f.name })
}

func (o *object) in(location Location) *object {
	part := &object{byName: map[string]*field{}, groups: map[string][]string{}}
	for _, f := range o.fields {
		if f.location != location {
			continue
		}
		part.fields = append(part.fields, f)
		part.byName[f.name] = f
		if f.oneof == "" {
			continue
		}
		if part.groups[f.oneof] = append(part.groups[f.oneof], f.name); f.location == InPath {
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

func limitsOf(sf reflect.StructField) limits {
	number := func(key string) *float64 {
		text, ok := sf.Tag.Lookup(key)
		if !ok {
			return nil
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(fmt.Sprintf("httpapi: field %s: tag %s: %v", sf.Name, key, err))
		}
		return &f
	}
	count := func(key string) int {
		if f := number(key); f != nil {
			return int(*f)
		}
		return 0
	}
	l := limits{
		min: number("min"), max: number("max"), minLen: count("minlen"), maxLen: count("maxlen"),
		maxBytes: count("maxbytes"), minItems: count("minitems"), maxItems: count("maxitems"),
		unique: sf.Tag.Get("unique") == "true", enum: enumOf(sf.Type, sf.Tag),
	}
	if p := sf.Tag.Get("pattern"); p != "" {
		l.pattern = regexp.MustCompile(p)
	}
	return l
}

// enumOf returns the allowed values of a string or a whole number, or of those in a list.
func enumOf(t reflect.Type, tag reflect.StructTag) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if text, ok := tag.Lookup("enum"); ok {
		values := strings.Fields(text)
		for _, v := range values {
			if _, err := strconv.Atoi(v); err != nil && t.Kind() != reflect.String && !t.Implements(textMarshalerType) {
				panic(fmt.Sprintf("httpapi: tag enum:%q of a %s: %v", text, t, err))
			}
		}
		return values
	}
	if t.Implements(valuesType) {
		return reflect.Zero(t).Interface().(interface{ Values() []string }).Values()
	}
	return nil
}

func decoderOf(t reflect.Type) func(*parser, reflect.Value, *limits) {
	switch pointer := reflect.PointerTo(t); {
	case t.Kind() != reflect.Pointer && pointer.Implements(jsonUnmarshalerType):
		return (*parser).readRaw
	case t.Kind() != reflect.Pointer && pointer.Implements(textUnmarshalerType):
		return (*parser).readText
	}
	if t == byteListType {
		return (*parser).readBytes
	}
	switch t.Kind() {
	case reflect.String:
		return (*parser).readString
	case reflect.Bool:
		return (*parser).readBool
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint16, reflect.Uint32:
		return (*parser).readInt
	case reflect.Float64:
		return (*parser).readFloat
	case reflect.Pointer:
		inner := decoderOf(t.Elem())
		return func(p *parser, v reflect.Value, l *limits) {
			v.Set(reflect.New(t.Elem()))
			inner(p, v.Elem(), l)
		}
	case reflect.Slice:
		inner := decoderOf(t.Elem())
		return func(p *parser, v reflect.Value, l *limits) { p.readList(v, l, inner) }
	case reflect.Struct:
		return func(p *parser, v reflect.Value, _ *limits) { p.readObject(v) }
	}
	panic(fmt.Sprintf("httpapi: a request cannot hold a %s", t))
}

// A Location is where a request carries a field. The tag in of a request's field names it; without one
// the field is in the body.
type Location string

// The locations.
const (
	InBody  Location = "body"  // a member of the JSON object
	InQuery Location = "query" // a parameter behind the question mark
	InPath  Location = "path"  // a segment of the path, {name} in the table
)

func locationOf(sf reflect.StructField) Location {
	switch p := Location(sf.Tag.Get("in")); p {
	case "":
		return InBody
	case InQuery, InPath:
		return p
	default:
		panic(fmt.Sprintf("httpapi: field %s: a request has no place %q", sf.Name, p))
	}
}

// requestFields holds the fields of a request type by their place. What is outside the body arrives as text, so kinds
// lists for each such field the JSON types that it takes.
type requestFields struct {
	path, query, body *object
	kinds             map[*field][]string
}

var requestFieldsByType sync.Map // reflect.Type to *requestFields

// requestFieldsOf sorts the fields of a request once. It panics if a field cannot be in its declared place.
func requestFieldsOf(t reflect.Type) *requestFields {
	if p, ok := requestFieldsByType.Load(t); ok {
		return p.(*requestFields)
	}
	all := objectOf(t)
	p := &requestFields{path: all.in(InPath), query: all.in(InQuery), body: all.in(InBody), kinds: map[*field][]string{}}
	for _, f := range append(slices.Clone(p.path.fields), p.query.fields...) {
		param := paramOf(f)
		if param.List || slices.Contains(param.Kinds, "object") {
			panic(fmt.Sprintf("httpapi: field %s: a parameter is one text, no list and no object", f.name))
		}
		if f.location == InPath && !f.required {
			panic(fmt.Sprintf("httpapi: field %s: what is in the path is always there", f.name))
		}
		p.kinds[f] = param.Kinds
	}
	actual, _ := requestFieldsByType.LoadOrStore(t, p)
	return actual.(*requestFields)
}

// A schema is a JSON Schema (2020-12), as OpenAPI 3.1 uses it.
type schema = map[string]any

func customSchema(t reflect.Type) schema {
	if own, ok := reflect.New(t).Interface().(interface{ Schema() schema }); ok && t.Kind() != reflect.Pointer {
		return own.Schema()
	}
	return nil
}

func kindsOf(t reflect.Type) []string {
	if own := customSchema(t); own != nil {
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

func isText(t reflect.Type) bool {
	return t.Kind() != reflect.Pointer &&
		(t.Implements(textMarshalerType) || reflect.PointerTo(t).Implements(textUnmarshalerType))
}
