package httpapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
)

// Version is the version of the wire contract.
const Version = "1.2.0"

// openAPIDocument is made of the table, and of examples that the operations make themselves, by a test
// (TestDocuments), which fails where it differs.
//
//go:embed docs/openapi.json
var openAPIDocument string

// openapiID names in the document the operation that answers with it.
const openapiID = "openapi"

// OpenAPI returns the OpenAPI 3.1 document as JSON: of all endpoints of the public API, and of the custom ones that the
// table has. Without any it is the same for every server.
func (t Table) OpenAPI() []byte { return t.openAPIAt("", false) }

// openAPIAt returns the document of a server at a URL, or at the root of its host if that is empty. A keyless one has
// an authentication of its own, which the document does not describe.
func (t Table) openAPIAt(publicURL string, keyless bool) []byte {
	own := t.custom()
	if len(own) == 0 && publicURL == "" && !keyless {
		return []byte(openAPIDocument)
	}
	var doc schema
	d := json.NewDecoder(strings.NewReader(openAPIDocument)) // which a test has made
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		panic("httpapi: the OpenAPI document: " + err.Error())
	}
	own.describeIn(doc)
	if publicURL != "" {
		doc["servers"].([]any)[0].(schema)["url"] = publicURL
	}
	if keyless {
		removeKeys(doc)
	}
	text, err := encode(doc)
	if err != nil {
		panic("httpapi: the OpenAPI document: " + err.Error())
	}
	return bytes.TrimSpace(text)
}

// removeKeys removes from the document what it says about API keys.
func removeKeys(doc schema) {
	components := doc["components"].(schema)
	delete(doc, "security")
	delete(components, "securitySchemes")
	delete(components["headers"].(schema), "WWW-Authenticate")
	unauthorized := components["responses"].(schema)["401"].(schema)
	unauthorized["description"] = "The request is not authenticated."
	delete(unauthorized["headers"].(schema), "WWW-Authenticate")
	delete(unauthorized["content"].(schema)[jsonMedia].(schema), "examples")
}

// describeIn adds the rows to the document of the public API: a path and a tag for each, and the schemas of their
// types.
func (t Table) describeIn(doc schema) {
	replies := newSchemas()
	requests := &schemas{components: replies.components, types: replies.types, request: true}
	for _, ep := range endpoints { // their types have their names already
		requests.object(ep.Operation.request)
		if ep.Operation.report != nil {
			replies.typeSchema(ep.Operation.report)
		}
	}
	paths, components := doc["paths"].(schema), doc["components"].(schema)
	tags := doc["tags"].([]any)
	for _, ep := range t {
		ep.naming(func() {
			row := describe(ep, requests, replies, ep.Example(), components["responses"].(schema))
			paths[Prefix+ep.Path] = schema{strings.ToLower(ep.Method): row}
		})
		tag := schema{"name": ep.family(), "description": "Operations under /" + ep.family() + "."}
		if !slices.ContainsFunc(tags, func(other any) bool { return other.(schema)["name"] == tag["name"] }) {
			tags = append(tags, tag)
		}
	}
	doc["tags"] = tags
	all := components["schemas"].(schema)
	for name, s := range replies.components {
		if all[name] == nil {
			all[name] = s
		}
	}
}
