package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
)

// describe is the operation of a row, with an example of its request if there is one, and the responses that all have.
func describe(ep Endpoint, requests, replies *schemas, request json.RawMessage, responses schema) schema {
	about := descriptions()[ep.Name()] // custom operations have none: only the summary is known
	op := schema{
		"operationId": ep.operationID(),
		"summary":     ep.Summary(),
		"description": strings.Join(append(slices.Clone(about[:min(1, len(about))]),
			phrase.Count(ep.Credits, "credit")+", scope "+string(ep.Scope)+"."+ep.transitionText()), " "),
		"tags":      []string{ep.family()},
		"x-scope":   ep.Scope,
		"x-credits": ep.Credits,
	}
	params := parameters(ep, requests)
	if ep.Method == http.MethodPost {
		params = append(params, schema{"$ref": "#/components/parameters/IdempotencyKey"})
	}
	op["parameters"] = params
	if ep.HasBody() {
		op["requestBody"] = requestBody(ep, requests, request)
	}
	var headers []string // in addition to those of every success
	if ep.Operation.report == nil {
		headers = append(headers, "Content-Disposition", "X-Content-Type-Options")
	}
	if ep.Operation.deprecation != nil {
		op["deprecated"] = true
	}
	if other := ep.Operation.transition; other != nil {
		op["x-deprecated-scopes"] = []any{other.scope}
	}
	if ep.Operation.deprecation != nil || ep.Operation.transition != nil {
		headers = append(headers, deprecationHeaders...)
	}
	content := schema{}
	for _, media := range ep.Operation.media {
		content[media] = schema{"schema": schema{"type": "string", "contentMediaType": media}}
	}
	if ep.Operation.report != nil {
		content[jsonMedia] = schema{"schema": replies.typeSchema(ep.Operation.report)}
	}
	success := schema{"description": "The result.", "content": content}
	if headers != nil {
		success["headers"] = headerRefs(headers)
	}
	all := schema{"200": success}
	for status := range responses {
		all[status] = schema{"$ref": "#/components/responses/" + status}
	}
	op["responses"] = all
	return op
}

// transitionText describes a scope that the row accepts temporarily.
func (ep Endpoint) transitionText() string {
	other := ep.Operation.transition
	if other == nil {
		return ""
	}
	text := " A key with the scope " + string(other.scope) + " alone is accepted too; that is deprecated"
	if !other.Sunset.IsZero() {
		text += " and ends on " + other.Sunset.UTC().Format(time.DateOnly)
	}
	return text + "."
}

// parameters describes the fields in the path and the query.
func parameters(ep Endpoint, requests *schemas) []any {
	list := []any{}
	for _, f := range objectOf(ep.Operation.request).fields {
		if f.location == InBody {
			continue
		}
		described := requests.property(ep.Operation.request.FieldByIndex(f.index))
		p := schema{"name": f.name, "in": f.location, "required": f.required, "schema": described}
		if text, ok := described["description"]; ok {
			p["description"] = text
			delete(described, "description")
		}
		list = append(list, p)
	}
	return append(list, uploadParameters(ep, requests)...)
}

// requestBody describes the fields in the body. Without any, the body may be left out.
func requestBody(ep Endpoint, requests *schemas, example json.RawMessage) schema {
	// The schema is in the body itself, not among the components: there, TypeScript treats a field with a default as
	// required.
	content := schema{"schema": requests.object(ep.Operation.request)}
	body := schema{"required": true, "content": schema{jsonMedia: content}}
	if ep.Operation.body != defaultBody {
		body["description"] = "At most " + strconv.FormatInt(ep.Operation.body, 10) + " bytes"
	}
	describeUpload(ep, requests, body["content"].(schema))
	switch {
	case len(requestFieldsOf(ep.Operation.request).body.fields) == 0:
		body["required"] = false
		content["example"] = schema{}
	case example != nil:
		content["example"] = bodyOf(ep, example)
		withoutExamples(content)
	}
	return body
}

// withoutExamples removes the examples of the members that the example of the body has.
func withoutExamples(content schema) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(content["example"].(json.RawMessage), &members) // an object, as the tests see to
	for name, p := range content["schema"].(schema)["properties"].(schema) {
		if _, ok := members[name]; ok {
			delete(p.(schema), "examples")
		}
	}
}

// bodyOf is the part of an example that is in the body.
func bodyOf(ep Endpoint, request json.RawMessage) json.RawMessage {
	p := requestFieldsOf(ep.Operation.request)
	if len(p.path.fields)+len(p.query.fields) == 0 {
		return request // as it is written, with its members in their order
	}
	_, body, err := ep.Target(request)
	if err != nil {
		panic("httpapi: the example of " + ep.ID() + ": " + err.Error())
	}
	return body
}

// describeUpload adds to the JSON body of a row the other forms that it takes.
func describeUpload(ep Endpoint, requests *schemas, content schema) {
	u := ep.Operation.upload
	if u == nil {
		return
	}
	properties := schema{filePart: schema{"type": "string", "contentMediaType": "application/octet-stream",
		"maxLength": u.maxBytes, "description": "The file, in place of " + u.field}}
	for _, f := range objectOf(ep.Operation.request).fields {
		if f.name != u.field {
			properties[f.name] = requests.property(ep.Operation.request.FieldByIndex(f.index))
		}
	}
	form := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if objectOf(ep.Operation.request).byName[u.field].required {
		form["required"] = []string{filePart}
	}
	content[formMedia] = schema{"schema": form}
	for _, media := range u.media {
		content[media] = schema{"schema": schema{"type": "string", "contentMediaType": media, "maxLength": u.maxBytes}}
	}
}

// uploadParameters are the fields next to a body that is the file itself.
func uploadParameters(ep Endpoint, requests *schemas) []any {
	u, list := ep.Operation.upload, []any{}
	if u == nil || len(u.media) == 0 {
		return nil
	}
	for _, f := range objectOf(ep.Operation.request).fields {
		if f.name == u.field {
			continue
		}
		described := requests.property(ep.Operation.request.FieldByIndex(f.index))
		text, _ := described["description"].(string)
		delete(described, "description")
		list = append(list, schema{"name": f.name, "in": InQuery, "required": false, "schema": described,
			"description": text + "; only where the body is the file itself"})
	}
	return list
}

// deprecationHeaders are those of replies of a row that can be deprecated.
var deprecationHeaders = []string{"Deprecation", "Sunset"}

func headerRefs(names []string) schema {
	refs := schema{}
	for _, n := range names {
		refs[n] = schema{"$ref": "#/components/headers/" + n}
	}
	return refs
}
