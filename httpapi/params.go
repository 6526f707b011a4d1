package httpapi

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

// A Param is one field of an endpoint's request, for command lines and forms.
type Param struct {
	Name     string   `json:"name"`
	In       Place    `json:"-"`              // its place in the HTTP API; on a command line and in JSON all are alike
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
	return diag.Map(objectOf(ep.Operation.fields()).fields, paramOf)
}

func paramOf(f *field) Param {
	p := Param{
		Name: f.name, In: f.place, Required: f.required, OneOf: f.oneof, Doc: f.tag.Get("doc"),
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

// A schema is a JSON Schema (2020-12), as OpenAPI 3.1 uses it.
type schema = map[string]any

func ownSchema(t reflect.Type) schema {
	if own, ok := reflect.New(t).Interface().(interface{ Schema() schema }); ok && t.Kind() != reflect.Pointer {
		return own.Schema()
	}
	return nil
}

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

// Example is a request of the endpoint, a JSON object as [Endpoint.Run] takes it: the fields that are required or
// have an example in their tag, with these.
func (ep Endpoint) Example() []byte {
	var b bytes.Buffer
	groups := map[string]bool{}
	for _, p := range ep.Params() {
		if p.Example == "" || p.OneOf != "" && groups[p.OneOf] && !p.Required {
			continue
		}
		groups[p.OneOf] = true
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		value := p.JSON(p.Example)
		if p.List { // the example is the list as JSON, or its only entry
			if value = json.RawMessage(p.Example); p.Example[0] != '[' {
				value = append(append([]byte{'['}, p.JSON(p.Example)...), ']')
			}
		}
		fmt.Fprintf(&b, "%q:%s", p.Name, value)
	}
	return []byte("{" + b.String() + "}")
}

// Curl is the command that sends a request, a JSON object of all its fields, to the server at $DIAG_SERVER with
// the key $DIAG_KEY.
func (ep Endpoint) Curl(fields []byte) (string, error) {
	target, body, err := ep.Target(fields)
	if err != nil {
		return "", err
	}
	command := `curl "$DIAG_SERVER` + target + `" -H "Authorization: Bearer $DIAG_KEY"`
	if ep.HasBody() {
		if p := placesOf(ep.Operation.fields()); len(p.path.fields)+len(p.query.fields) == 0 {
			body = fields // in the order of its author
		}
		quoted := strings.ReplaceAll(string(body), "'", `'\''`)
		command += " \\\n  -H 'Content-Type: application/json' -d '" + quoted + "'"
	}
	if ep.Operation.report == nil {
		command += " \\\n  --output image"
	}
	return command, nil
}

// GoCall returns the call of the library that answers a request, a JSON object of all its fields, as the endpoint
// does, and the path of the package to import. In the call, ctx, env and access have their usual types; long texts
// and files are the variables text and data. Both are empty for a function that no other package can call.
func (ep Endpoint) GoCall(fields []byte) (pkg, call string, err error) {
	request, err := ep.Operation.decode(fields)
	if err != nil {
		return "", "", err
	}
	f := reflect.ValueOf(ep.Operation.function)
	function := runtime.FuncForPC(f.Pointer()).Name() // example.com/module/package.Function
	if !callable.MatchString(function) {
		return "", "", nil
	}
	args := []string{}
	for i := range f.Type().NumIn() {
		switch in := f.Type().In(i); in {
		case reflect.TypeFor[context.Context]():
			args = append(args, "ctx")
		case reflect.TypeFor[*diag.Env]():
			args = append(args, "env")
		case ep.Operation.request:
			args = append(args, goLiteral(reflect.ValueOf(request).Elem()))
		default:
			args = append(args, "access")
		}
	}
	name := path.Base(function)
	return strings.TrimSuffix(function, name[strings.Index(name, "."):]),
		"report, err := " + name + "(" + strings.Join(args, ", ") + ")", nil
}

// callable are the names of functions that other packages can import: no methods, no literals, and none of a command.
var callable = regexp.MustCompile(`/\w+\.[A-Z]\w*$`)

// maxLiteral is the length from which on a string makes a call hard to read.
const maxLiteral = 120

func goLiteral(v reflect.Value) string {
	t, parts := v.Type(), []string{}
	switch {
	case t == byteListType:
		return "data"
	case t.Kind() == reflect.Pointer:
		return "new(" + goLiteral(v.Elem()) + ")"
	case t.Kind() == reflect.String && v.Len() > maxLiteral:
		return "text"
	case t.Kind() == reflect.String:
		return strconv.Quote(v.String())
	case t.Kind() == reflect.Slice:
		for i := range v.Len() {
			parts = append(parts, goLiteral(v.Index(i)))
		}
	case t.Kind() == reflect.Struct && isText(t) && path.Base(t.PkgPath()) == "diag": // valid by construction
		return fmt.Sprintf("diag.Must%s(%q)", t.Name(), v)
	case t.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := t.Field(i); f.IsExported() && !v.Field(i).IsZero() {
				parts = append(parts, f.Name+": "+goLiteral(v.Field(i)))
			}
		}
	case isText(t): // the only number with names is that of a type of records
		return fmt.Sprintf("%s(dns.Type%s)", t, v)
	default:
		return fmt.Sprint(v)
	}
	return t.String() + "{" + strings.Join(parts, ", ") + "}"
}

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
	place    Place
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
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
	marshalText  = reflect.TypeFor[encoding.TextMarshaler]()
	byteListType = reflect.TypeFor[[]byte]()
	jsonType     = reflect.TypeFor[json.Unmarshaler]()
	valuesType   = reflect.TypeFor[interface{ Values() []string }]()
	objects      sync.Map // reflect.Type to *object
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
			name: name, index: sf.Index, typ: sf.Type, tag: sf.Tag, place: placeOf(sf), oneof: sf.Tag.Get("oneof"),
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
			if _, err := strconv.Atoi(v); err != nil && t.Kind() != reflect.String && !t.Implements(marshalText) {
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
	case t.Kind() != reflect.Pointer && pointer.Implements(jsonType):
		return (*parser).readRaw
	case t.Kind() != reflect.Pointer && pointer.Implements(textType):
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
