package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/netip"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// schemas makes the schemas of Go types; structs become components, but for those that only one place uses.
type schemas struct {
	components map[string]schema
	types      map[string]reflect.Type
	request    bool                 // of requests: required and closed; of replies: open, for fields may be added
	useCounts  map[reflect.Type]int // that use a struct; nil: it is not known, and each is a component
	uses       map[reflect.Type]int // counted so far
}

func newSchemas() *schemas {
	return &schemas{components: map[string]schema{}, types: map[string]reflect.Type{}, uses: map[reflect.Type]int{}}
}

// usedOnce reports whether a struct has one place only, so that it is described there.
func (s *schemas) usedOnce(t reflect.Type) bool { return s.useCounts[t] == 1 }

// A leaf is the schema of a type that is one JSON string, and its name among the components; the name is empty if the
// schema is no longer than a reference.
type leaf struct {
	name   string
	schema schema
}

var leaves = map[reflect.Type]leaf{
	reflect.TypeFor[diag.Domain](): {"Domain", schema{"type": "string", "minLength": 1, "maxLength": 254,
		"format": "idn-hostname", "description": "A domain name as A-labels or Unicode, with or without the final dot."}},
	reflect.TypeFor[diag.Name](): {"DNSName", schema{"type": "string", "minLength": 1, "maxLength": 254,
		"description": "Any name of the DNS: a domain, also with underscores or a leading *, or the root."}},
	reflect.TypeFor[diag.Selector](): {"", schema{"type": "string", "minLength": 1, "maxLength": 253}},
	reflect.TypeFor[diag.IP]():       ipLeaf,
	reflect.TypeFor[netip.Addr]():    ipLeaf,
	reflect.TypeFor[netip.Prefix]():  {"", schema{"type": "string"}},
	reflect.TypeFor[time.Time]():     {"", schema{"type": "string", "format": "date-time"}},
}

var ipLeaf = leaf{"IP", schema{"type": "string", "minLength": 2, "maxLength": 45,
	"description": "An IPv4 or IPv6 address without a zone."}}

var rawJSONType = reflect.TypeFor[json.RawMessage]()

// typeSchema returns the schema of a type, or a reference to its component.
func (s *schemas) typeSchema(t reflect.Type) schema {
	if leaf, ok := leaves[t]; ok {
		return s.component(leaf.name, clone(leaf.schema))
	}
	if own := customSchema(t); own != nil {
		return clone(own)
	}
	switch {
	case t == rawJSONType:
		return schema{}
	case t == byteListType:
		return schema{"type": "string", "contentEncoding": "base64"}
	case isText(t):
		return s.stringSchema(t)
	}
	switch t.Kind() {
	case reflect.String:
		return s.stringSchema(t)
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return schema{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return schema{"type": "number", "format": "double"} // without which generators take one of half the precision
	case reflect.Pointer:
		return s.typeSchema(t.Elem())
	case reflect.Slice, reflect.Array:
		return schema{"type": "array", "items": s.typeSchema(t.Elem())}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": s.typeSchema(t.Elem())}
	case reflect.Struct:
		return s.reference(t)
	}
	return schema{} // any value
}

// component makes a schema a component, if it has a name, and refers to it.
func (s *schemas) component(name string, of schema) schema {
	if name == "" {
		return of
	}
	s.components[name] = of
	return schema{"$ref": "#/components/schemas/" + name}
}

// stringSchema is the schema of a string. The enumerations of package diag, which every operation has, are components.
func (s *schemas) stringSchema(t reflect.Type) schema {
	values, name := enumOf(t, ""), ""
	if len(values) > 0 && isVocabulary(t) {
		name = t.Name()
	}
	return s.component(name, withEnum(schema{"type": "string"}, values))
}

// reference makes a struct a component, once, and refers to it.
func (s *schemas) reference(t reflect.Type) schema {
	if s.uses != nil {
		s.uses[t]++
	}
	if s.usedOnce(t) {
		return s.object(t)
	}
	name := s.name(t)
	if _, ok := s.components[name]; !ok {
		s.components[name] = nil // a type that holds itself ends here
		s.components[name] = s.object(t)
	}
	return schema{"$ref": "#/components/schemas/" + name}
}

// name returns the type's own name; if two packages use one, the package name precedes it. A type inside a request is
// another component than the same type in a reply: it is closed.
func (s *schemas) name(t reflect.Type) string {
	name := genericName(t.Name())
	if shared, ok := contractTypes[t.String()]; ok {
		name = shared
	} else if pkg := path.Base(t.PkgPath()); !isVocabulary(t) && pkg != "pki" && pkg != "httpapi" {
		name = strings.ToUpper(pkg[:1]) + pkg[1:] + name
	}
	if s.request {
		name += "Input"
	}
	if other, ok := s.types[name]; ok && other != t {
		panic("httpapi: " + t.String() + " would be called " + name + " as " + other.String() + " is: rename it")
	}
	s.types[name] = t
	return name
}

// isVocabulary reports whether a type is of package diag, part of which are types of package rule by other names.
func isVocabulary(t reflect.Type) bool {
	pkg := path.Base(t.PkgPath())
	return pkg == "diag" || pkg == "rule"
}

// contractTypes are the names that CONTRACT 2 gives to types of other names.
var contractTypes = map[string]string{
	"diag.RecordLookup": "Lookup", "dmarc.Analysis": "DMARCAnalysis", "fetch.Hop": "Hop",
	"hostedspf.Profile": "HostedSPF", "hostedspf.Resolution": "Resolution", "logo.Facts": "BIMILogo",
	"markcert.Certificate": "BIMICert", "reception.MXHost": "MXHost", "resolve.DNSRecord": "DNSRecord",
	"taglist.ParsedTag": "ParsedTag",
}

// genericName makes a name of that of a generic type: "Part[example.org/mailauth/spf.Report]" becomes PartSpfReport.
func genericName(name string) string {
	name, argument, ok := strings.Cut(name, "[")
	if !ok {
		return name
	}
	pkg, of, _ := strings.Cut(path.Base(strings.TrimSuffix(argument, "]")), ".")
	return name + strings.ToUpper(pkg[:1]) + pkg[1:] + of
}

// object describes a struct. What a reply embeds is a component of its own, which others embed too, and its own
// members are in a separate part of allOf: generators that merge such parts lose what is outside of them. The tag
// later of an embedded struct names members that were added to replies since the first version of the API: they are
// always present, and validating clients need not know them.
func (s *schemas) object(t reflect.Type) schema {
	properties, required, laterNames, parts := schema{}, []string{}, []string{}, []any{}
	var component []int // the index of the last embedded struct that is one
	for _, sf := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		switch {
		case len(component) > 0 && slices.Equal(sf.Index[:min(len(component), len(sf.Index))], component): // described there
		case sf.Anonymous && name == "":
			laterNames = append(laterNames, strings.Fields(sf.Tag.Get("later"))...)
			if embedded := s.typeSchema(sf.Type); !s.request && len(laterNames) == 0 && embedded["$ref"] != nil {
				component, parts = sf.Index, append(parts, embedded)
			}
		case !sf.IsExported() || name == "-":
		case name == "": // encoding/json takes that of the field
			properties[sf.Name] = s.property(sf)
			required = append(required, sf.Name)
		case s.request && locationOf(sf) != InBody: // it is described as a parameter
		default:
			properties[name] = s.property(sf)
			if !optional(sf) && sf.Tag.Get("oneof") == "" && !slices.Contains(laterNames, name) {
				required = append(required, name)
			}
		}
	}
	o := schema{"type": "object"}
	if len(properties) > 0 || len(parts) == 0 {
		o["properties"] = properties
	}
	if len(required) > 0 {
		slices.Sort(required)
		o["required"] = required
	}
	if len(parts) > 0 && len(properties) > 0 {
		parts = append(parts, o)
	}
	if len(parts) > 0 {
		return schema{"allOf": parts}
	}
	if s.request {
		o["additionalProperties"] = false
		s.groups(t, o)
	}
	return o
}

// groups requires exactly one member of each oneof group.
func (s *schemas) groups(t reflect.Type, o schema) {
	all := []any{}
	for _, members := range sortedGroups(objectOf(t).in(InBody)) {
		choices := []any{}
		for _, m := range members {
			choices = append(choices, schema{"required": []string{m}})
		}
		all = append(all, schema{"oneOf": choices})
	}
	if len(all) > 0 {
		o["allOf"] = all
	}
}

func sortedGroups(o *object) [][]string {
	list := [][]string{}
	for _, members := range o.groups {
		list = append(list, members)
	}
	slices.SortFunc(list, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return list
}

// property is the schema of a field with what its tags add.
func (s *schemas) property(sf reflect.StructField) schema {
	p := s.typeSchema(sf.Type)
	base := p // what string tags speak of: for a list, its items
	if items, ok := p["items"].(schema); ok {
		base = items
	}
	set := func(target schema, key, tag string) {
		if text, ok := sf.Tag.Lookup(tag); ok {
			target[key] = json.Number(text)
		}
	}
	set(base, "minimum", "min")
	set(base, "maximum", "max")
	set(base, "minLength", "minlen")
	set(base, "maxLength", "maxlen")
	set(base, "maxLength", "maxbytes")
	if sf.Type == byteListType {
		inBase64(base)
	}
	set(p, "minItems", "minitems")
	set(p, "maxItems", "maxitems")
	if sf.Tag.Get("unique") == "true" {
		p["uniqueItems"] = true
	}
	if pattern := sf.Tag.Get("pattern"); pattern != "" {
		base["pattern"] = pattern
	}
	if _, ok := sf.Tag.Lookup("enum"); ok {
		withEnum(base, enumOf(sf.Type, sf.Tag))
	}
	if text, ok := sf.Tag.Lookup("default"); ok && s.request { // a reply has no defaults
		p["default"] = literal(text, p)
	}
	if text, ok := sf.Tag.Lookup("example"); ok && s.request {
		p["examples"] = []any{exampleLiteral(text, p)}
	}
	if doc := sf.Tag.Get("doc"); doc != "" {
		p["description"] = sentenceCase(doc)
	}
	if !s.request && sf.Type.Kind() == reflect.Pointer && !optional(sf) {
		return nullable(p)
	}
	return p
}

// inBase64 turns the bounds of bytes into those of their base64.
func inBase64(s schema) {
	for _, bound := range []string{"minLength", "maxLength"} {
		if n, ok := s[bound].(json.Number); ok {
			bytes, _ := n.Int64() // of a tag that the decoder has read before
			s[bound] = base64.StdEncoding.EncodedLen(int(bytes))
		}
	}
}

// optional reports whether a field may be absent.
func optional(sf reflect.StructField) bool {
	_, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
	list := strings.Split(options, ",")
	return slices.Contains(list, "omitempty") || slices.Contains(list, "omitzero")
}

// nullable is the schema of a field that is always there and null where it makes no sense, as the
// broadcast address of a /31 network.
func nullable(p schema) schema {
	if p["type"] == nil { // a reference, or one with more
		whole := clone(p)
		delete(whole, "description")
		maps.DeleteFunc(p, func(name string, _ any) bool { return name != "description" })
		p["anyOf"] = []any{whole, schema{"type": "null"}}
		return p
	}
	p["type"] = []any{p["type"], "null"}
	if values, ok := p["enum"].([]any); ok {
		p["enum"] = append(values, nil)
	}
	return p
}

func withEnum(s schema, values []string) schema {
	if len(values) == 0 {
		return s
	}
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = literal(v, s)
	}
	s["enum"] = list
	return s
}

// literal reads a tag's text as a value of the schema's type.
func literal(text string, s schema) any {
	if s["type"] == "string" {
		return text
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return text
	}
	if f, ok := v.(float64); ok && f == float64(int64(f)) {
		return json.Number(strconv.FormatInt(int64(f), 10))
	}
	return v
}

// exampleLiteral is literal for examples: that of a list may be its only entry.
func exampleLiteral(text string, s schema) any {
	items, isList := s["items"].(schema)
	if !isList || strings.HasPrefix(text, "[") {
		return literal(text, s)
	}
	return []any{literal(text, items)}
}

// sentenceCase returns a tag's text in the form that the document uses.
func sentenceCase(doc string) string {
	return strings.ToUpper(doc[:1]) + strings.TrimSuffix(doc[1:], ".")
}

func clone(s schema) schema {
	c := make(schema, len(s))
	for k, v := range s {
		c[k] = v
	}
	return c
}
