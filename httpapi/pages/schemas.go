package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/httpapi"
)

// A document is the OpenAPI document.
type document map[string]any

// readDocument reads the document for the templates. It is read for each page that is made, and not kept.
func readDocument(table httpapi.Table) (doc document, err error) {
	d := json.NewDecoder(bytes.NewReader(table.OpenAPI()))
	d.UseNumber()
	return doc, d.Decode(&doc)
}

// component is the target of a reference.
func (doc document) component(ref string) any {
	var at any = map[string]any(doc)
	for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		at = at.(map[string]any)[step]
	}
	return at
}

// Types are the objects that have names, by these.
func (doc document) Types() map[string]any {
	components, _ := doc["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	types := map[string]any{}
	for name, schema := range schemas {
		if schema := schema.(map[string]any); schema["properties"] != nil || schema["allOf"] != nil {
			types[name] = schema
		}
	}
	return types
}

// maxFieldNames bounds the fields of a type that the list of all types names.
const maxFieldNames = 6

// fieldNames are the first fields of a type, without those that it has of others.
func fieldNames(schema map[string]any) string {
	var names []string
	parts, _ := schema["allOf"].([]any)
	for _, part := range append(parts, schema) {
		properties, _ := part.(map[string]any)["properties"].(map[string]any)
		names = append(names, slices.Sorted(maps.Keys(properties))...)
	}
	if len(names) > maxFieldNames {
		names = append(names[:maxFieldNames], "…")
	}
	return strings.Join(names, ", ")
}

// typesPath is the folder of the pages of types.
const typesPath = "/docs/types/"

// usersOfType are the operations whose replies contain a type, directly or in other types.
func (s *site) usersOfType(doc document, name string) (users []operation) {
	paths := doc["paths"].(map[string]any)
	for _, op := range s.operations {
		method := paths[httpapi.Prefix+op.Path].(map[string]any)[strings.ToLower(op.Method)].(map[string]any)
		refs := map[string]bool{}
		doc.collectRefs(method["responses"].(map[string]any)["200"], refs)
		if refs["#/components/schemas/"+name] {
			users = append(users, op)
		}
	}
	return users
}

// collectRefs adds what a part of the document refers to, also by way of others.
func (doc document) collectRefs(part any, refs map[string]bool) {
	switch part := part.(type) {
	case map[string]any:
		if ref, ok := part["$ref"].(string); ok && !refs[ref] {
			refs[ref] = true
			doc.collectRefs(doc.component(ref), refs)
		}
		for name, member := range part {
			if name != "example" {
				doc.collectRefs(member, refs)
			}
		}
	case []any:
		for _, member := range part {
			doc.collectRefs(member, refs)
		}
	}
}

// A schemaAt is an object in a page, and how many levels of objects without names are shown in it.
type schemaAt struct {
	Schema any
	Depth  int
}

func newSchemaAt(schema any, depth int) schemaAt { return schemaAt{schema, depth} }

// Inside is an object one level below.
func (s schemaAt) Inside(schema any) schemaAt { return schemaAt{schema, s.Depth - 1} }

// Same is another schema at this level, such as the kind of the entries of a list.
func (s schemaAt) Same(schema any) schemaAt { return schemaAt{schema, s.Depth} }

// typeName is a type of a schema, or several.
func typeName(t any) string {
	list, several := t.([]any)
	if !several {
		return fmt.Sprint(t)
	}
	return strings.Join(kit.Map(list, func(t any) string { return fmt.Sprint(t) }), " or ")
}

// otherMedia returns the media types of a body beside JSON.
func otherMedia(content map[string]any) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(content)), func(media string) bool {
		return media == "application/json"
	})
}
