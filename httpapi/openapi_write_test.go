package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
)

// writtenDocument is the OpenAPI document of the table as it is now, with the examples that are kept.
var writtenDocument = sync.OnceValue(func() []byte { return openAPI(endpoints, keptExample) })

// openAPI describes a table. Its objects are sorted by name, so that a new row adds lines in its own
// place and changes no others.
func openAPI(table []Endpoint, exampleOf func(Endpoint) example) []byte {
	replies := newSchemas()
	replies.places = replyPlaces()
	components, types := replies.components, replies.types
	requests := &schemas{components: components, types: types, request: true}
	problem := replies.of(reflect.TypeFor[Problem]())
	components["PublicAPIError"] = components["Problem"]
	delete(components, "Problem")
	problem["$ref"] = "#/components/schemas/PublicAPIError"

	paths := map[string]any{
		openapiPath: schema{"get": schema{
			"operationId": "openapi", "summary": "this document", "tags": []string{"meta"},
			"description": "The description of the API. It needs no key and costs nothing.",
			"security":    []any{}, "x-credits": 0,
			"responses": documentResponses(),
		}},
	}
	for _, ep := range table {
		path := Prefix + ep.Path
		if paths[path] == nil {
			paths[path] = schema{}
		}
		paths[path].(schema)[strings.ToLower(ep.Method)] = describe(ep, requests, replies, exampleOf(ep))
	}
	doc := schema{
		"openapi": "3.1.0",
		"info": schema{
			"title": "diagkit", "version": Version,
			"summary": "What is wrong with a domain's DNS, mail and web set-up, and how to fix it.",
			"description": "Each operation takes a JSON object and answers with a report: what was found, findings with a " +
				"severity and advice, and for most of them a verdict with a score. A fault of the domain is a finding in " +
				"a reply with status 200; an error is a fault of the request or of the server, and costs nothing. " +
				"Every reply has the headers " + strings.Join(replyHeaders, ", ") + ", and every success " +
				strings.Join(successHeaders, ", ") + ". A body has at most " + strconv.Itoa(defaultBody) + " bytes where " +
				"nothing else is said. Examples of replies are shortened to lists of one entry or none, and the largest are " +
				"left out.",
			"contact": schema{"name": "diagkit", "url": "https://github.com/diagkit/diagkit"},
			"license": schema{"name": "MIT", "identifier": "MIT"},
		},
		"x-reply-headers":   headerRefs(replyHeaders),
		"x-success-headers": headerTexts(successHeaders),
		"servers":           []any{schema{"url": "/", "description": "This server."}},
		"tags":              tags(table),
		"paths":             paths,
		"security":          []any{schema{"apiKey": []string{}}},
		"components": schema{
			"securitySchemes": schema{"apiKey": schema{
				"type": "http", "scheme": "bearer", "bearerFormat": "svc_(live|test)_ and 36 characters",
				"description": "An API key. What it may do is said by its scopes.",
			}},
			"schemas":    components,
			"headers":    headerComponents(usesDeprecation(table)),
			"parameters": schema{"IdempotencyKey": idempotencyParameter()},
			"responses":  problemResponses(),
		},
	}
	return laidOut(doc, "")
}

func tags(table []Endpoint) []any {
	families := map[string]bool{}
	for _, ep := range table {
		families[ep.family()] = true
	}
	list := []any{schema{"name": "meta", "description": "About the API itself."}}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		list = append(list, schema{"name": name, "description": "Operations under /" + name + "."})
	}
	return list
}

// family is the first part of the path.
func (ep Endpoint) family() string {
	first, _, _ := strings.Cut(ep.Name(), "/")
	return first
}

// operationID makes an identifier of the path: /mta-sts/lookup is mtaStsLookup.
func (ep Endpoint) operationID() string {
	words := strings.FieldsFunc(ep.Path, func(r rune) bool { return strings.ContainsRune("/-{}", r) })
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

func describe(ep Endpoint, requests, replies *schemas, ex example) schema {
	op := schema{
		"operationId": ep.operationID(),
		"summary":     ep.Summary(),
		"description": strings.Join(append(slices.Clone(ep.About()[:min(1, len(ep.About()))]), // rows of tests have none
			diag.Count(ep.Credits, "credit")+", scope "+string(ep.Scope)+"."+ep.transitionText()), " "),
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
		op["requestBody"] = requestBody(ep, requests, ex)
	}
	var headers []string // beside those of every success
	if ep.op.report == nil {
		headers = append(headers, "Content-Disposition", "X-Content-Type-Options")
	}
	if ep.op.deprecation != nil {
		op["deprecated"] = true
	}
	if other := ep.op.transition; other != nil {
		op["x-deprecated-scopes"] = []any{other.scope}
	}
	if ep.op.deprecation != nil || ep.op.transition != nil {
		headers = append(headers, deprecationHeaders...)
	}
	content := schema{}
	for _, media := range ep.op.media {
		content[media] = schema{"schema": schema{"type": "string", "contentMediaType": media}}
	}
	if ep.op.report != nil {
		body := schema{"schema": replies.of(ep.op.report)}
		if reply := shortened(ex.Reply, ep.op.report); reply != nil {
			body["example"] = reply
		}
		content[jsonMedia] = body
	}
	success := schema{"description": "The result.", "content": content}
	if headers != nil {
		success["headers"] = headerRefs(headers)
	}
	responses := schema{"200": success}
	for status := range problemStatuses {
		responses[strconv.Itoa(status)] = schema{"$ref": "#/components/responses/" + strconv.Itoa(status)}
	}
	op["responses"] = responses
	return op
}

// transitionText tells of a scope that the row accepts for a while.
func (ep Endpoint) transitionText() string {
	other := ep.op.transition
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
	for _, f := range objectOf(ep.op.request).fields {
		if f.place == inBody {
			continue
		}
		described := requests.property(ep.op.request.FieldByIndex(f.index))
		p := schema{"name": f.name, "in": f.place, "required": f.required, "schema": described}
		if text, ok := described["description"]; ok {
			p["description"] = text
			delete(described, "description")
		}
		list = append(list, p)
	}
	return append(list, uploadParameters(ep, requests)...)
}

// requestBody describes the fields in the body. Where there are none, the body may be left out.
func requestBody(ep Endpoint, requests *schemas, ex example) schema {
	// The schema stands in the body itself, not among the components: there, TypeScript takes a field with
	// a default for one that must be sent.
	content := schema{"schema": requests.object(ep.op.request)}
	body := schema{"required": true, "content": schema{jsonMedia: content}}
	if ep.op.body != defaultBody {
		body["description"] = "At most " + strconv.FormatInt(ep.op.body, 10) + " bytes"
	}
	describeUpload(ep, requests, body["content"].(schema))
	switch {
	case len(placesOf(ep.op.request).body.fields) == 0:
		body["required"] = false
		content["example"] = schema{}
	case ex.Request != nil:
		content["example"] = bodyOf(ep, ex.Request)
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
	p := placesOf(ep.op.request)
	if len(p.path.fields)+len(p.query.fields) == 0 {
		return request // as it is written, with its members in their order
	}
	_, body, err := ep.Target(request)
	if err != nil {
		panic("httpapi: the example of " + ep.ID() + ": " + err.Error())
	}
	return body
}

func idempotencyParameter() schema {
	return schema{
		"name": "Idempotency-Key", "in": "header", "required": false,
		"description": "Names this request, bare or as a quoted string. Sent again within " +
			metering.ReplayWindow.String() + " with the same path, query and body, it is answered with the same " +
			"reply and costs nothing.",
		"schema":  schema{"type": "string", "minLength": 10, "maxLength": 257, "pattern": "^[!-~]+$"},
		"example": "6d0c1f62-2f0b-4f5e-9d4b-0c2b6f3a9f10",
	}
}

// describeUpload adds to the JSON body of a row the other forms that it takes.
func describeUpload(ep Endpoint, requests *schemas, content schema) {
	u := ep.op.upload
	if u == nil {
		return
	}
	properties := schema{filePart: schema{"type": "string", "contentMediaType": "application/octet-stream",
		"maxLength": u.max, "description": "The file, in place of " + u.field}}
	for _, f := range objectOf(ep.op.request).fields {
		if f.name != u.field {
			properties[f.name] = requests.property(ep.op.request.FieldByIndex(f.index))
		}
	}
	form := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if objectOf(ep.op.request).byName[u.field].required {
		form["required"] = []string{filePart}
	}
	content[formMedia] = schema{"schema": form}
	for _, media := range u.media {
		content[media] = schema{"schema": schema{"type": "string", "contentMediaType": media, "maxLength": u.max}}
	}
}

// uploadParameters are the fields beside a body that is the file itself.
func uploadParameters(ep Endpoint, requests *schemas) []any {
	u, list := ep.op.upload, []any{}
	if u == nil || len(u.media) == 0 {
		return nil
	}
	for _, f := range objectOf(ep.op.request).fields {
		if f.name == u.field {
			continue
		}
		described := requests.property(ep.op.request.FieldByIndex(f.index))
		text, _ := described["description"].(string)
		delete(described, "description")
		list = append(list, schema{"name": f.name, "in": inQuery, "required": false, "schema": described,
			"description": text + "; only where the body is the file itself"})
	}
	return list
}
