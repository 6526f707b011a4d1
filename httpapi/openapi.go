package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// Version is that of the wire contract.
const Version = "1.1.1"

// OpenAPI returns the OpenAPI 3.1 document of all endpoints as JSON. It is the same for every server.
func OpenAPI() []byte { return openAPI(endpoints, embeddedExample) }

// openAPI describes a table. Its objects are sorted by name, so that a new row adds lines in its own
// place and changes no others.
func openAPI(table []Endpoint, exampleOf func(Endpoint) example) []byte {
	components := map[string]schema{}
	types := map[string]reflect.Type{}
	replies := &schemas{components: components, types: types}
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
			"responses": schema{
				"200": schema{"description": "The OpenAPI document.",
					"content": schema{jsonMedia: schema{"schema": schema{"type": "object"}}}},
				"429": schema{"$ref": "#/components/responses/TooManyRequests"},
			},
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
			"summary": "What is wrong with a domain's DNS, mail and web set-up, and how to mend it.",
			"license": schema{"name": "MIT", "identifier": "MIT"},
		},
		"servers":  []any{schema{"url": "/", "description": "This server."}},
		"tags":     tags(table),
		"paths":    paths,
		"security": []any{schema{"apiKey": []string{}}},
		"components": schema{
			"securitySchemes": schema{"apiKey": schema{
				"type": "http", "scheme": "bearer", "bearerFormat": "svc_(live|test)_ and 36 characters",
				"description": "An API key. What it may do is said by its scopes.",
			}},
			"schemas":    components,
			"headers":    headerComponents(),
			"parameters": schema{"IdempotencyKey": idempotencyParameter()},
			"responses":  problemResponses(),
		},
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic("httpapi: the OpenAPI document: " + err.Error())
	}
	return append(out, '\n')
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
		"summary":     ep.Purpose,
		"description": "Costs " + plural(ep.Credits, "credit") + ". Needs the scope " + string(ep.Scope) + "." + ep.transitionText(),
		"tags":        []string{ep.family()},
		"x-scope":     ep.Scope,
		"x-credits":   ep.Credits,
		"parameters": append(parameters(ep, requests),
			schema{"$ref": "#/components/parameters/IdempotencyKey"}),
	}
	if ep.HasBody() {
		op["requestBody"] = requestBody(ep, requests, ex)
	}
	headers := successHeaders
	if ep.op.deprecation != nil {
		op["deprecated"] = true
	}
	if other := ep.op.transition; other != nil {
		op["x-deprecated-scopes"] = []any{other.scope}
	}
	if ep.op.deprecation != nil || ep.op.transition != nil {
		headers = append(slices.Clone(headers), "Deprecation", "Sunset")
	}
	content := schema{}
	for _, media := range ep.op.media {
		content[media] = schema{"schema": schema{"type": "string", "contentMediaType": media}}
	}
	if ep.op.report != nil {
		body := schema{"schema": replies.of(ep.op.report)}
		if ex.Reply != nil {
			body["example"] = ex.Reply
		}
		content[jsonMedia] = body
	}
	responses := schema{"200": schema{"description": "The result. It is charged.", "content": content,
		"headers": headerRefs(headers)}}
	for status, r := range problemStatuses {
		responses[strconv.Itoa(status)] = schema{"$ref": "#/components/responses/" + r.name}
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
		if f.place == InBody {
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
	content := schema{"schema": requests.of(ep.op.request)}
	body := schema{"required": true, "content": schema{jsonMedia: content},
		"description": "At most " + strconv.FormatInt(ep.op.body, 10) + " bytes."}
	describeUpload(ep, requests, body["content"].(schema))
	switch {
	case len(placesOf(ep.op.request).body.fields) == 0:
		body["required"] = false
		content["example"] = schema{}
	case ex.Request != nil:
		content["example"] = bodyOf(ep, ex.Request)
	}
	return body
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

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(n, 10) + " " + what + "s"
}

// problemStatuses are the statuses of refusals and failures, with the codes that use them.
var problemStatuses = map[int]struct {
	name    string
	text    string
	codes   []ErrorCode
	headers []string
}{
	400: {"BadRequest", "The request is at fault. It costs nothing.", []ErrorCode{InvalidRequest}, nil},
	401: {"Unauthorized", "The API key is missing, wrong, expired or revoked.",
		[]ErrorCode{InvalidAPIKey, ExpiredAPIKey, RevokedAPIKey}, []string{"WWW-Authenticate"}},
	403: {"Forbidden", "The key may not do this, or the credits are used up.",
		[]ErrorCode{InsufficientScope, IPNotAllowed, QuotaExceeded},
		[]string{"X-Credits-Limit", "X-Credits-Remaining"}},
	404: {"NotFound", "There is nothing at this path.", []ErrorCode{InvalidRequest}, nil},
	405: {"MethodNotAllowed", "The path knows other methods.", []ErrorCode{InvalidRequest}, []string{"Allow"}},
	409: {"Conflict", "The idempotency key was used for another request, or the first is still running.",
		[]ErrorCode{IdempotencyConflict}, []string{"Retry-After"}},
	413: {"TooLarge", "The body is too large.", []ErrorCode{InvalidRequest}, nil},
	415: {"UnsupportedMediaType", "The body has another media type.", []ErrorCode{InvalidRequest}, nil},
	429: {"TooManyRequests", "The bucket of the key or of the address is empty.",
		[]ErrorCode{RateLimited}, []string{"Retry-After"}},
	500: {"InternalError", "The server is at fault. It costs nothing.", []ErrorCode{InternalError}, nil},
	502: {"BadGateway", "A service that the check depends on did not answer.", []ErrorCode{InternalError}, nil},
	503: {"Overloaded", "The server is busy.", []ErrorCode{InternalError}, []string{"Retry-After"}},
	504: {"Timeout", "Nothing could be measured in time.", []ErrorCode{InternalError}, nil},
}

func problemResponses() schema {
	responses := schema{}
	for status, r := range problemStatuses {
		names := append([]string{"X-Request-Id"}, r.headers...)
		if status != http.StatusNotFound && status != http.StatusMethodNotAllowed && status != http.StatusUnauthorized {
			names = append(names, rateHeaderNames...)
		}
		codes := make([]string, len(r.codes))
		for i, c := range r.codes {
			codes[i] = string(c)
		}
		responses[r.name] = schema{
			"description": r.text,
			"headers":     headerRefs(names),
			"content": schema{jsonMedia: schema{
				"schema": schema{"allOf": []any{
					schema{"$ref": "#/components/schemas/PublicAPIError"},
					schema{"properties": schema{"code": schema{"enum": codes}}},
				}},
				"example": Problem{Code: r.codes[0], Message: r.text, RequestID: "req_aaaaaaaaaaaaaaaaaaaaaaaaaa"},
			}},
		}
	}
	return responses
}

func idempotencyParameter() schema {
	return schema{
		"name": "Idempotency-Key", "in": "header", "required": false,
		"description": "Names this request, bare or as a quoted string. Sent again within " +
			metering.ReplayWindow.String() + " with the same path, query and body, it is answered with the same reply and costs nothing.",
		"schema":  schema{"type": "string", "minLength": 10, "maxLength": 257, "pattern": "^[!-~]+$"},
		"example": "6d0c1f62-2f0b-4f5e-9d4b-0c2b6f3a9f10",
	}
}

var (
	rateHeaderNames = []string{
		"RateLimit-Policy", "RateLimit", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
	}
	successHeaders = append([]string{
		"X-Request-Id", "X-Credits-Limit", "X-Credits-Remaining", "X-Credits-Consumed", "X-Credits-Overage",
		"X-Idempotent-Replay",
	}, rateHeaderNames...)
)

func headerRefs(names []string) schema {
	refs := schema{}
	for _, n := range names {
		refs[n] = schema{"$ref": "#/components/headers/" + n}
	}
	return refs
}

func headerComponents() schema {
	integer := schema{"type": "integer", "minimum": 0}
	text := schema{"type": "string"}
	header := func(description string, s schema) schema { return schema{"description": description, "schema": s} }
	return schema{
		"X-Request-Id":          header("Names the request.", schema{"type": "string", "pattern": "^req_[a-z2-7]{26}$"}),
		"RateLimit-Policy":      header("The key's rate limit, as \"default\";q=60;w=60.", text),
		"RateLimit":             header("What is left of it and when it is full again, as \"default\";r=59;t=1.", text),
		"X-RateLimit-Limit":     header("Requests a minute.", integer),
		"X-RateLimit-Remaining": header("Requests left in the bucket.", integer),
		"X-RateLimit-Reset":     header("When the bucket is full again, in Unix seconds.", integer),
		"X-Credits-Limit":       header("Allowance of the month.", integer),
		"X-Credits-Remaining":   header("What is left of it.", integer),
		"X-Credits-Consumed":    header("What this request cost; 0 for a replay.", integer),
		"X-Credits-Overage":     header("Credits used above the allowance, if any.", integer),
		"X-Idempotent-Replay":   header("This reply was sent before.", schema{"type": "string", "const": "true"}),
		"WWW-Authenticate":      header("How to authenticate.", text),
		"Allow":                 header("Methods that the path knows.", text),
		"Deprecation":           header("Since when the operation, or the scope by which it was allowed, is deprecated (RFC 9745).", text),
		"Sunset":                header("When that ends (RFC 8594).", text),
		"Retry-After":           header("Seconds to wait.", schema{"type": "integer", "minimum": 1}),
	}
}
