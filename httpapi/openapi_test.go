package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A code names one rule in the whole product; operations of one package may share it.
func TestCodesAreUnique(t *testing.T) {
	known := map[diag.Code]rule.Description{}
	for _, ep := range endpoints {
		own := map[diag.Code]bool{}
		for _, r := range ep.Rules() {
			require.Regexp(t, `^[a-z0-9_]+(\.[a-z0-9_]+)+$|^cert_[a-z_]+$`, string(r.Code))
			require.False(t, own[r.Code], "%s: %s appears twice", ep.Path, r.Code)
			own[r.Code] = true
			if before, ok := known[r.Code]; ok {
				require.Equal(t, before, r)
			}
			known[r.Code] = r
		}
	}
}

// document is the OpenAPI document as an oracle for replies.
type document struct {
	compiler *jsonschema.Compiler
	root     map[string]any
}

const documentURL = "https://diagkit.example/openapi.json"

func newDocument(t testing.TB) *document {
	t.Helper()
	return documentFrom(t, writtenDocument())
}

func documentFrom(t testing.TB, text []byte) *document {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.AssertContent()
	require.NoError(t, c.AddResource(documentURL, doc))
	return &document{c, doc.(map[string]any)}
}

func (d *document) schema(t testing.TB, pointer ...string) *jsonschema.Schema {
	t.Helper()
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	parts := make([]string, len(pointer))
	for i, p := range pointer {
		parts[i] = escape.Replace(p)
	}
	s, err := d.compiler.Compile(documentURL + "#/" + strings.Join(parts, "/"))
	require.NoError(t, err)
	return s
}

func (d *document) request(t testing.TB, ep Endpoint) *jsonschema.Schema {
	return d.schema(t, "paths", Prefix+ep.Path, strings.ToLower(ep.Method), "requestBody", "content", jsonMedia, "schema")
}

// parameters lists the described parameters of the path and the query, by name.
func (d *document) parameters(ep Endpoint) map[string]map[string]any {
	op := d.root["paths"].(map[string]any)[Prefix+ep.Path].(map[string]any)[strings.ToLower(ep.Method)].(map[string]any)
	named := map[string]map[string]any{}
	for i, p := range op["parameters"].([]any) {
		if p := p.(map[string]any); p["name"] != nil {
			named[p["name"].(string)] = p
			p["index"] = fmt.Sprint(i)
		}
	}
	return named
}

// validateRequest checks an object of all fields: each parameter by its own schema, the rest as a body.
func (d *document) validateRequest(t testing.TB, ep Endpoint, request []byte) {
	t.Helper()
	_, body, err := ep.Target(request)
	require.NoError(t, err)
	if ep.HasBody() {
		validate(t, d.request(t, ep), body)
	}
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(request, &fields))
	for name, p := range d.parameters(ep) {
		if value, ok := fields[name]; ok {
			validate(t, d.schema(t, "paths", Prefix+ep.Path, strings.ToLower(ep.Method), "parameters", p["index"].(string), "schema"), value)
		}
	}
}

func (d *document) reply(t testing.TB, ep Endpoint) *jsonschema.Schema {
	return d.schema(t, "paths", Prefix+ep.Path, strings.ToLower(ep.Method), "responses", "200", "content", jsonMedia, "schema")
}

func validate(t testing.TB, s *jsonschema.Schema, body []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, s.Validate(v), "%s", body)
}

func TestOpenAPIDescribesEveryRow(t *testing.T) {
	d := newDocument(t)
	ids := map[string]bool{}
	for _, ep := range endpoints {
		if ep.HasBody() {
			d.request(t, ep)
		}
		op := d.root["paths"].(map[string]any)[Prefix+ep.Path].(map[string]any)[strings.ToLower(ep.Method)].(map[string]any)
		require.Equal(t, string(ep.Scope), op["x-scope"])
		require.Equal(t, json.Number(fmt.Sprint(ep.Credits)), op["x-credits"])
		require.False(t, ids[op["operationId"].(string)])
		ids[op["operationId"].(string)] = true
		statuses := slices.Sorted(maps.Keys(op["responses"].(map[string]any)))
		require.Equal(t, []string{"200", "400", "401", "403", "404", "405", "408", "409", "413", "415", "429", "500", "502", "503", "504"}, statuses)
		if ep.HasBody() {
			fields := len(requestFieldsOf(ep.Operation.request).body.fields)
			require.Equal(t, fields > 0, op["requestBody"].(map[string]any)["required"], ep.ID())
			body := op["requestBody"].(map[string]any)["content"].(map[string]any)[jsonMedia].(map[string]any)["schema"]
			properties, _ := body.(map[string]any)["properties"].(map[string]any)
			for name, p := range properties {
				require.Contains(t, p, "description", "%s: %s", ep.Path, name)
			}
		} else {
			require.NotContains(t, op, "requestBody")
		}
		if ep.Operation.report != nil {
			content := op["responses"].(map[string]any)["200"].(map[string]any)["content"].(map[string]any)[jsonMedia].(map[string]any)
			if s := d.reply(t, ep); content["example"] != nil {
				require.NoError(t, s.Validate(content["example"]), ep.ID())
			}
		}
		parameters := d.parameters(ep)
		for _, p := range ep.Params() {
			if p.In == InBody {
				if u := ep.Operation.upload; u != nil && len(u.media) > 0 {
					delete(parameters, p.Name) // next to a body that is the file itself
				}
				require.NotContains(t, parameters, p.Name)
				continue
			}
			described := parameters[p.Name]
			require.Equal(t, string(p.In), described["in"], "%s %s", ep.ID(), p.Name)
			require.Equal(t, p.Required, described["required"])
			require.NotEmpty(t, described["description"])
			require.NotEmpty(t, described["schema"])
			delete(parameters, p.Name)
		}
		require.Empty(t, parameters)
	}
}

// A field is described once: as a parameter, or in the schema of the body.
func TestOpenAPIParameters(t *testing.T) {
	var lend Endpoint
	for _, ep := range library() {
		if ep.Path == "/books/{id}/lend" {
			lend = ep
		}
	}
	requests := &schemas{components: map[string]schema{}, types: map[string]reflect.Type{}, request: true}
	ex := json.RawMessage(`{"id":"b1","days":3}`)
	text, err := json.Marshal(schema{"parameters": parameters(lend, requests), "body": requestBody(lend, requests, ex),
		"schemas": requests.components})
	require.NoError(t, err)
	require.JSONEq(t, `{
		"parameters": [{"name": "id", "in": "path", "required": true, "description": "Which one", "schema": {"type": "string"}}],
		"body": {"required": true, "content": {"application/json": {
			"schema": {"type": "object", "additionalProperties": false, "properties": {
			"days": {"type": "integer", "minimum": 1, "maximum": 30, "description": "For how long"},
			"to": {"type": "string", "description": "To whom"}}}, "example": {"days": 3}}}},
		"schemas": {}
	}`, string(text))
}

// The document is valid by the schema that the OpenAPI Initiative publishes. The folder of it is
// named by DIAG_OPENAPI_SCHEMAS.
func TestOpenAPIMetaSchema(t *testing.T) {
	dir := os.Getenv("DIAG_OPENAPI_SCHEMAS")
	if dir == "" {
		t.Skip("needs DIAG_OPENAPI_SCHEMAS, a folder with the OpenAPI 3.1 schemas; .ci/run provides it")
	}
	c := jsonschema.NewCompiler()
	var ids []string
	for _, name := range []string{"schema.json", "schema-base.json", "dialect/base.schema.json", "meta/base.schema.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		s, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		require.NoError(t, err)
		id := s.(map[string]any)["$id"].(string)
		require.NoError(t, c.AddResource(id, s))
		if strings.HasPrefix(name, "schema") {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		s, err := c.Compile(id)
		require.NoError(t, err)
		validate(t, s, Endpoints().OpenAPI())
	}
}

// Our reading of requests and the published schema agree.
func TestDecoderAgreesWithSchema(t *testing.T) {
	s := &schemas{components: map[string]schema{}, types: map[string]reflect.Type{}, request: true}
	s.typeSchema(reflect.TypeFor[sample]())
	text, err := json.Marshal(schema{"components": schema{"schemas": s.components}})
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource(documentURL, doc))
	oracle, err := c.Compile(documentURL + "#/components/schemas/sampleInput")
	require.NoError(t, err)

	// Values that are good for some field and bad for others.
	values := rapid.SampledFrom([]string{
		`"a"`, `"ab"`, `"abcdef"`, `"red"`, `"äöüäö"`, `"äöüäöü"`, `""`, `0`, `1`, `10`, `11`, `-1`, `0.5`, `1.0`, `1e1`, `65535`,
		`65536`, `true`, `false`, `[]`, `["a"]`, `["a","a"]`, `["a","b","c","d"]`, `["x"]`, `[1]`, `{}`, `{"x":1}`,
		`{"x":1,"deep":[{"x":2}]}`, `{"x":1,"deep":[{}]}`, `{"x":"1"}`, `{"x":1,"y":1}`, `"error"`,
	})
	names := rapid.SampledFrom([]string{"name", "colour", "code", "count", "ratio", "verify", "margin", "level", "list",
		"inner", "either", "or", "union", "unknown"})
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		members := []string{`"or":""`, `"name":"abc"`}[:rapid.IntRange(0, 2).Draw(t, "base")]
		for _, n := range rapid.SliceOfNDistinct(names, 0, 3, rapid.ID[string]).Draw(t, "names") {
			if member := fmt.Sprintf("%q:", n); !slices.ContainsFunc(members, func(m string) bool { return strings.HasPrefix(m, member) }) {
				members = append(members, member+values.Draw(t, "value"))
			}
		}
		body := "{" + strings.Join(members, ",") + "}"
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		require.NoError(t, err)
		want := oracle.Validate(v)
		got := decode([]byte(body), new(sample))
		if (got == nil) != (want == nil) {
			t.Fatalf("%s\nours: %v\nschema: %v", body, got, want)
		}
		if got == nil {
			accepted++
		}
	})
	require.NotZero(t, accepted, "the test never saw a good request")
}

// Members that a reply has got later are described, and optional.
func TestLaterMembersAreOptional(t *testing.T) {
	later := []string{"state", "score", "score_band", "verdict_headline", "verdict_sub", "score_factors", "score_breakdown",
		"recommendations", "passed_checks", "parsed_tags"}
	components := newDocument(t).root["components"].(map[string]any)["schemas"].(map[string]any)
	analysis := components["DMARCAnalysis"].(map[string]any)
	for _, name := range later {
		require.Contains(t, analysis["properties"], name)
		require.NotContains(t, analysis["required"], name)
	}
	require.Subset(t, analysis["required"], []any{"record", "valid", "findings"})
	require.Contains(t, components["DmarcDetails"].(map[string]any)["allOf"], map[string]any{"$ref": "#/components/schemas/Verdict"})
	require.Contains(t, components["DmarcLookupReport"].(map[string]any)["allOf"], map[string]any{"$ref": "#/components/schemas/DmarcDetails"})
	require.Contains(t, components["Verdict"].(map[string]any)["required"], "state", "which lookups had from the start")
}

// Allowed numbers are numbers, in the document and in requests.
func TestEnumOfNumbers(t *testing.T) {
	type request struct {
		Port uint16 `json:"port" enum:"25 587"`
		Many []int  `json:"many,omitempty" enum:"1 2"`
	}
	s := schemas{components: map[string]schema{}, types: map[string]reflect.Type{}, request: true}
	port := s.object(reflect.TypeFor[request]())["properties"].(schema)["port"].(schema)
	require.Equal(t, []any{json.Number("25"), json.Number("587")}, port["enum"])
	for body, want := range map[string]string{
		`{"port":25,"many":[2]}`: "", `{"port":587.0}`: "", `{"port":26}`: "must be one of 25, 587",
		`{"port":25,"many":[1,3]}`: "must be one of 1, 2",
	} {
		var req request
		err := decode([]byte(body), &req)
		if want == "" {
			require.NoError(t, err, body)
		} else {
			require.ErrorContains(t, err, want, body)
		}
	}
	type wrong struct {
		Port uint16 `json:"port" enum:"25,587"`
	}
	require.Panics(t, func() { objectOf(reflect.TypeFor[wrong]()) })
}
