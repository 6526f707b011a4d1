package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

// Each kind of problem has examples as the server makes them, and they match the document.
func TestProblemExamples(t *testing.T) {
	d := newDocument(t)
	shown := problemExamples()
	require.Len(t, shown, len(problemStatuses))
	for status, r := range problemStatuses {
		s := d.schema(t, "components", "responses", strconv.Itoa(status), "content", jsonMedia, "schema")
		codes := map[ErrorCode]bool{}
		for name, e := range shown[status] {
			p := e.(schema)["value"].(Problem)
			codes[p.Code] = true
			require.Contains(t, r.codes, p.Code)
			validate(t, s, []byte(toJSON(t, p)))
			require.Contains(t, []string{string(p.Code), p.Details.Reason, p.Details.Scope}, name)
			bare := p.Code == InvalidAPIKey || p.Code == ExpiredAPIKey || p.Code == RevokedAPIKey || p.Code == IPNotAllowed
			require.Equal(t, bare, reflect.DeepEqual(p.Details, ProblemDetails{}), "%s: details", name)
		}
		for _, code := range r.codes {
			require.True(t, codes[code], "%d has no example of %s", status, code)
		}
	}
}

// headersOfHTTP belong to every reply of HTTP and are described by no API.
var headersOfHTTP = map[string]bool{"Content-Type": true, "Content-Length": true, "Date": true}

// Every header that a reply has is one that the document describes for it.
func TestHeadersAreDescribed(t *testing.T) {
	a, _ := hostedAPI(t)
	var doc struct {
		Paths      map[string]map[string]struct{ Responses map[string]described }
		Components struct{ Responses map[string]described }
		Always     map[string]any `json:"x-reply-headers"`
		Success    map[string]any `json:"x-success-headers"`
	}
	require.NoError(t, json.Unmarshal(writtenDocument(), &doc))
	row := func(path, method string) map[string]described { return doc.Paths[Prefix+path][method].Responses }
	check := func(name string, r *reply, responses map[string]described) {
		t.Helper()
		known, ok := responses[strconv.Itoa(r.Code)]
		require.True(t, ok, "%s: %d is not described", name, r.Code)
		if known.Ref != "" {
			known = doc.Components.Responses[known.Ref[len("#/components/responses/"):]]
		}
		described, names := []map[string]any{doc.Always, known.Headers}, map[string]bool{}
		if r.Code == http.StatusOK {
			described = append(described, doc.Success)
		}
		for _, headers := range described {
			for n := range headers {
				names[http.CanonicalHeaderKey(n)] = true
			}
		}
		for n := range r.Result().Header {
			require.True(t, names[http.CanonicalHeaderKey(n)] || headersOfHTTP[n], "%s: %d has the header %s", name, r.Code, n)
		}
	}
	key := []string{"Idempotency-Key", "described-key"}
	lower, resolve, show, qr := row("/text/lower", "post"), row("/resolve", "post"), row("/spf/hosted/{id}", "get"), row("/http/qr", "post")
	check("success", a.post("/text/lower", `{"text":"A"}`, key...), lower)
	check("replay", a.post("/text/lower", `{"text":"A"}`, key...), lower)
	check("conflict", a.post("/text/lower", `{"text":"B"}`, key...), lower)
	check("fault", a.post("/text/lower", `{`), lower)
	check("media type", a.post("/text/lower", `x`, "Content-Type", "text/plain"), lower)
	check("no key", a.post("/text/lower", `{}`, "Authorization", ""), lower)
	check("too large", a.post("/resolve", string(make([]byte, defaultBody+1))), resolve)
	check("image", a.post("/http/qr", `{"data":"x"}`), qr)
	check("profile of somebody else", a.get("/spf/hosted/"+exampleProfile), show)
	check("method", a.do(attempt{"GET", Prefix + "/text/lower", "", http.Header{}, "198.51.100.9:1"}), lower)
	document := row("/openapi.json", "get")
	get := func(method string, headers http.Header) *reply {
		return a.do(attempt{method, openapiPath, "", headers, "198.51.100.9:1"})
	}
	check("document", get("GET", http.Header{}), document)
	check("compressed document", get("GET", http.Header{"Accept-Encoding": {"gzip"}}), document)
	check("known document", get("GET", http.Header{"If-None-Match": {"*"}}), document)
	check("document with another method", get("POST", http.Header{}), document)
	_, narrow := a.newKey(metering.MailRead)
	check("scope", a.post("/text/lower", `{"text":"A"}`, "Authorization", "Bearer "+narrow), lower)
	_, err := a.admin.SetAccount(t.Context(), a.account.ID, func(acc *metering.Account) { acc.Plan = "free" })
	require.NoError(t, err)
	for r := a.post("/text/lower", `{"text":"A"}`); ; r = a.post("/text/lower", `{"text":"A"}`) {
		if r.Code != http.StatusOK {
			require.Equal(t, http.StatusTooManyRequests, r.Code)
			check("rate", r, lower)
			break
		}
	}
	a.exhaust()
	check("quota", a.post("/text/lower", `{"text":"A"}`), lower)
}

// exhaust uses up the credits of the month, however slowly the plan allows it.
func (a *api) exhaust() {
	for a.clock.Advance(60 * second); a.post("/http/qr", `{"data":"x"}`).Code == http.StatusOK; {
		a.clock.Advance(60 * second)
	}
	for a.clock.Advance(60 * second); a.post("/text/lower", `{"text":"A"}`).Code == http.StatusOK; {
		a.clock.Advance(60 * second)
	}
	a.clock.Advance(60 * second)
}

// described is a response of the document.
type described struct {
	Ref     string `json:"$ref"`
	Headers map[string]any
}

// What a request may leave out is not required, for generators that evaluate defaults; a reply has none.
func TestDefaults(t *testing.T) {
	var walk func(place string, v any)
	walk = func(place string, v any) {
		switch v := v.(type) {
		case []any:
			for i, member := range v {
				walk(fmt.Sprint(place, "/", i), member)
			}
		case map[string]any:
			if properties, ok := v["properties"].(map[string]any); ok {
				for name, p := range properties {
					p := p.(map[string]any)
					require.NotContains(t, p, "default", "%s.%s: openapi-typescript would require it", place, name)
					if list, ok := p["examples"].([]any); ok && p["type"] == "array" {
						require.IsType(t, []any{}, list[0], "%s.%s", place, name)
					}
				}
			}
			for name, member := range v {
				walk(place+"/"+name, member)
			}
		}
	}
	root := newDocument(t).root
	walk("components", root["components"].(map[string]any)["schemas"])
	for path, operations := range root["paths"].(map[string]any) {
		for _, op := range operations.(map[string]any) {
			walk(path, op.(map[string]any)["responses"])
		}
	}
}
