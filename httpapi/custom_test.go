package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A hostRequest and a hostReport are those of an operation that a program adds to the server.
type hostRequest struct {
	Domain diag.Domain `json:"domain" doc:"the domain to examine" example:"example.com"`
	Port   int         `json:"port,omitempty" doc:"its port" min:"1" max:"65535" default:"25" example:"465"`
	Kind   string      `json:"kind,omitempty" enum:"mx web"`
}

type hostReport struct {
	Domain  diag.Domain       `json:"domain" doc:"what was examined"`
	Hosts   []hostFact        `json:"hosts"`
	Sender  *spf.LookupReport `json:"sender,omitempty"`
	Reasons map[string]int64  `json:"reasons"`
}

type hostFact struct {
	Name  string `json:"name"`
	Ports []int
}

func checkHosts(_ context.Context, _ *diag.Env, r hostRequest) (*hostReport, error) {
	switch r.Domain.String() {
	case "fault.example":
		return nil, &diag.InputError{Field: "domain", Reason: "is not one of ours"}
	case "nothing.example":
		return nil, nil
	}
	hosts := []hostFact{{"mx1." + r.Domain.String(), []int{25}}}
	return &hostReport{Domain: r.Domain, Hosts: hosts, Reasons: map[string]int64{}}, nil
}

func customHosts() Endpoint {
	return Endpoint{Method: "POST", Path: "/acme/hosts", Scope: metering.MailRead, Credits: 7,
		Purpose: "hosts that our policy allows", Operation: Call(checkHosts)}
}

type itemRequest struct {
	ID    string `json:"id" in:"path" example:"b1"`
	Limit int    `json:"limit,omitempty" in:"query" min:"1" max:"50"`
}

type itemReport struct {
	Item string `json:"item"`
}

func customItems() Endpoint {
	return Endpoint{"GET", "/acme/items/{id}", metering.DNSRead, 1, "one item",
		Pure(func(r itemRequest) (*itemReport, error) { return &itemReport{fmt.Sprint(r.ID, " ", r.Limit)}, nil })}
}

// newCustomAPI serves the public API with custom endpoints.
func newCustomAPI(t *testing.T, own ...Endpoint) *api {
	return newAPI(t, "pack", func(c *Config) { c.Endpoints = own })
}

// A custom operation passes the same steps as ours, and is charged like ours.
func TestCustomEndpoints(t *testing.T) {
	a := newCustomAPI(t, customHosts(), customItems())
	_, dnsOnly := a.newKey(metering.DNSRead)
	for _, tt := range []struct {
		name, path, body, auth string
		status                 int
		want                   string // of the body
		used                   int64  // in all, afterwards
	}{
		{"a reply", "/acme/hosts", `{"domain":"example.com","port":587}`, "", 200, `"name":"mx1.example.com"`, 7},
		{"all faults at once", "/acme/hosts",
			`{"domain":"exa mple.com","port":0,"kind":"x","more":1}`, "", 400, `(and 3 more)`, 7},
		{"a field too little", "/acme/hosts", `{}`, "", 400, "domain: is required", 7},
		{"a fault that the function finds", "/acme/hosts",
			`{"domain":"fault.example"}`, "", 400, "domain: is not one of ours", 7},
		{"neither report nor error", "/acme/hosts", `{"domain":"nothing.example"}`, "", 500, "internal error", 7},
		{"without its scope", "/acme/hosts", `{"domain":"example.com"}`, dnsOnly, 403, "lacks the scope mail:read", 7},
		{"a path close to it", "/acme/host", `{}`, "", 404, "Did you mean POST /public/v1/acme/hosts?", 7},
		{"ours beside it", "/text/upper", `{"text":"a"}`, "", 200, `"result":"A"`, 8},
	} {
		var headers []string
		if tt.auth != "" {
			headers = []string{"Authorization", "Bearer " + tt.auth}
		}
		r := a.post(tt.path, tt.body, headers...)
		assert.Equal(t, tt.status, r.Code, tt.name)
		assert.Contains(t, r.Body.String(), tt.want, tt.name)
		assert.Equal(t, tt.used, a.used(), tt.name)
		if tt.status != 200 {
			r.problem()
		}
	}
	first := a.post("/acme/hosts", `{"domain":"example.com"}`, "Idempotency-Key", "the-same-each-time")
	again := a.post("/acme/hosts", `{"domain":"example.com"}`, "Idempotency-Key", "the-same-each-time")
	assert.Equal(t, first.Body.String(), again.Body.String())
	assert.Equal(t, "7", first.header("X-Credits-Consumed"))
	assert.Equal(t, "true", again.header("X-Idempotent-Replay"))
	assert.EqualValues(t, 15, a.used())
	assert.Equal(t, "POST /public/v1/acme/hosts", a.seen[0].Endpoint)

	get := attempt{"GET", Prefix + "/acme/items/b1?limit=3", "", http.Header{}, "198.51.100.1:4"}
	get.header.Set("Authorization", "Bearer "+a.secret)
	assert.JSONEq(t, `{"item":"b1 3"}`, a.do(get).Body.String())
	get.path = Prefix + "/acme/items/b1?limit=51"
	assert.Equal(t, 400, a.do(get).Code)
}

// The document has the custom rows in addition to ours, which stay unchanged, and describes their replies.
func TestCustomEndpointsAreDescribed(t *testing.T) {
	own := []Endpoint{customHosts(), customItems()}
	a := newCustomAPI(t, own...)
	served := a.do(attempt{"GET", openapiPath, "", nil, "198.51.100.1:4"}).Body.Bytes()
	assert.Equal(t, Endpoints(own...).OpenAPI(), served)
	d, ours := documentFrom(t, served), documentFrom(t, Endpoints().OpenAPI())
	for path, row := range ours.root["paths"].(map[string]any) {
		assert.Equal(t, row, d.root["paths"].(map[string]any)[path], path)
	}
	for kind, list := range ours.root["components"].(map[string]any) {
		for name, c := range list.(map[string]any) {
			assert.Equal(t, c, d.root["components"].(map[string]any)[kind].(map[string]any)[name], name)
		}
	}
	require.Len(t, d.root["paths"], len(ours.root["paths"].(map[string]any))+2)
	tags, err := json.Marshal(d.root["tags"])
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(tags), `"acme"`))

	hosts := d.root["paths"].(map[string]any)[Prefix+"/acme/hosts"].(map[string]any)["post"].(map[string]any)
	assert.Equal(t, "hosts that our policy allows", hosts["summary"])
	assert.Equal(t, "7 credits, scope mail:read.", hosts["description"])
	d.validateRequest(t, own[0], own[0].Example())
	require.Error(t, d.request(t, own[0]).Validate(map[string]any{"domain": "example.com", "more": 1}))
	validate(t, d.reply(t, own[0]), a.post("/acme/hosts", string(own[0].Example())).Body.Bytes())
	require.Error(t, d.reply(t, own[0]).Validate(map[string]any{"domain": "example.com", "reasons": map[string]any{}}))
	assert.Contains(t, d.parameters(own[1]), "limit")
}

// A row that cannot be served is reported at start, with its name.
func TestCustomEndpointsAreChecked(t *testing.T) {
	type untagged struct{ Text string }
	type channel struct {
		Events chan int `json:"events"`
	}
	type badPattern struct {
		Text string `json:"text" pattern:"("`
	}
	type bare struct {
		Domain diag.Domain `json:"domain"`
	}
	type Verdict struct {
		Won bool `json:"won"`
	}
	type judged struct {
		Verdict Verdict `json:"verdict"`
	}
	change := func(f func(*Endpoint)) Endpoint { ep := customHosts(); f(&ep); return ep }
	path := func(p string) Endpoint { return change(func(ep *Endpoint) { ep.Path = p }) }
	does := func(op Operation) Endpoint { return change(func(ep *Endpoint) { ep.Operation = op }) }
	const prefix = "httpapi: POST /public/v1/acme/hosts: "
	for _, tt := range []struct {
		name, want string
		rows       []Endpoint
	}{
		{"no operation", prefix + "there is no operation: make one by httpapi.Call or httpapi.Pure",
			[]Endpoint{does(Operation{})}},
		{"another method", "httpapi: PUT /public/v1/acme/hosts: the method must be GET or POST",
			[]Endpoint{change(func(ep *Endpoint) { ep.Method = "PUT" })}},
		{"a path without its slash", "httpapi: POST /public/v1acme: the path must be words", []Endpoint{path("acme")}},
		{"a path with a slash at its end", "the path must be words", []Endpoint{path("/acme/")}},
		{"a path in capitals", "the path must be words", []Endpoint{path("/Acme")}},
		{"a path that is taken", "httpapi: POST /public/v1/spf/lookup: the path is that of POST /public/v1/spf/lookup, " +
			"or too much like it: choose another",
			[]Endpoint{path("/spf/lookup")}},
		{"a path that a template of ours has", "the path is that of GET /public/v1/spf/hosted/{id},",
			[]Endpoint{path("/spf/hosted/all")}},
		{"a path that is spelled like one of ours", "the path is that of POST /public/v1/mta-sts/lookup,",
			[]Endpoint{path("/mta/sts/lookup")}},
		{"a path twice", "the path is that of POST /public/v1/acme/hosts,", []Endpoint{customHosts(), customHosts()}},
		{"the document's path", "the path is that of the OpenAPI document", []Endpoint{path("/openapi")}},
		{"a path without its field", `the path has the parameters ["id"], the request has fields for []`,
			[]Endpoint{path("/acme/{id}")}},
		{"an unknown scope", prefix + `keys cannot have the scope "acme:read": ` +
			`choose one of ["dns:read" "mail:read" "mail:write" "web:read"]`,
			[]Endpoint{change(func(ep *Endpoint) { ep.Scope = "acme:read" })}},
		{"no price", prefix + "the price must be 1 to 1000000 credits, not 0",
			[]Endpoint{change(func(ep *Endpoint) { ep.Credits = 0 })}},
		{"a price too high", "not 1000001", []Endpoint{change(func(ep *Endpoint) { ep.Credits = 1_000_001 })}},
		{"no purpose", prefix + "the purpose is missing", []Endpoint{change(func(ep *Endpoint) { ep.Purpose = " " })}},
		{"a request that is no struct", prefix + "the request must be a struct, not string",
			[]Endpoint{does(Pure(func(string) (*hostReport, error) { return nil, nil }))}},
		{"a report that is no struct", prefix + "the report must be a struct, not string",
			[]Endpoint{does(Pure(func(hostRequest) (*string, error) { return nil, nil }))}},
		{"a field without a name", prefix + "field Text: its tag json must name it",
			[]Endpoint{does(Pure(func(untagged) (*hostReport, error) { return nil, nil }))}},
		{"a field that JSON does not have", prefix + "a request cannot hold a chan int",
			[]Endpoint{does(Pure(func(channel) (*hostReport, error) { return nil, nil }))}},
		{"a pattern that is none", prefix + "regexp: Compile",
			[]Endpoint{does(Pure(func(badPattern) (*hostReport, error) { return nil, nil }))}},
		{"a type called like one of ours", prefix + "httpapi.Verdict would be called Verdict as rule.Verdict is: rename it",
			[]Endpoint{does(Pure(func(hostRequest) (*judged, error) { return nil, nil }))}},
		{"a required field without an example",
			prefix + "its example is {}, which is no request: domain: is required; give fields an example in their tags",
			[]Endpoint{does(Pure(func(bare) (*hostReport, error) { return nil, nil }))}},
		{"a deadline too late", prefix + "its bounds must be above zero, and the deadline at most 1m0s",
			[]Endpoint{does(Call(checkHosts).WithTimeout(maxTime + 1))}},
		{"no body", "its bounds must be above zero", []Endpoint{does(Call(checkHosts).WithMaxBody(0))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer func() { require.Contains(t, fmt.Sprint(recover()), tt.want) }()
			newCustomAPI(t, tt.rows...)
		})
	}
}

// An endpoint without an operation has no fields and runs nothing, and nothing of it panics.
func TestEndpointWithoutOperation(t *testing.T) {
	ep := Endpoint{Method: "POST", Path: "/my/check", Scope: "dns:read", Credits: 2, Purpose: "mine"}
	_, err := ep.Run(t.Context(), nil, []byte(`{}`))
	require.EqualError(t, err, "the endpoint has no operation: make one by httpapi.Call or httpapi.Pure")
	_, _, err = ep.GoCall([]byte(`{}`))
	require.ErrorIs(t, err, errNoOperation)
	_, err = ep.Decode([]byte(`{}`))
	require.NoError(t, err)
	command, err := ep.Curl([]byte(`{}`))
	require.NoError(t, err)
	assert.Contains(t, command, `"$DIAG_SERVER/public/v1/my/check"`)
	assert.Empty(t, ep.Params())
	assert.Equal(t, "{}", string(ep.Example()))
	assert.False(t, ep.HasVerdict())
	assert.Empty(t, ep.Rules())
	assert.Equal(t, []string{"Mine."}, ep.Description())
}

// A function that no other package can call is not shown as a call of a library.
func TestGoCallOfOwn(t *testing.T) {
	pkg, call, err := customItems().GoCall([]byte(`{"id":"b1"}`))
	require.NoError(t, err)
	assert.Empty(t, pkg+call)
}

// A report without a view is shown by its verdict and by the members that are a line each.
func TestViewOfOwnReport(t *testing.T) {
	report, err := checkHosts(t.Context(), nil, hostRequest{Domain: diag.MustDomain("example.com")})
	require.NoError(t, err)
	v := View(report)
	assert.Equal(t, "answered", v.Headline)
	assert.Equal(t, []view.Fact{{Label: "domain", Value: "example.com"}}, v.Facts)

	type judged struct {
		diag.Verdict
		Count   int     `json:"host_count"`
		Share   float64 `json:"share"`
		Sure    bool    `json:"sure"`
		Nothing *int    `json:"nothing"`
		Lines   string  `json:"lines"`
		Hidden  string  `json:"-"`
	}
	v = View(&judged{Verdict: diag.Verdict{State: diag.Bad, Headline: "One host is not allowed"}, Count: 3, Share: 0.5,
		Sure: true, Lines: "a\nb", Hidden: "x"})
	assert.Equal(t, diag.Bad, v.State)
	assert.Equal(t, "One host is not allowed", v.Headline)
	assert.Equal(t, []view.Fact{{Label: "host count", Value: "3"}, {Label: "share", Value: "0.5"},
		{Label: "sure", Value: "true"}}, v.Facts)
	for _, none := range []any{nil, (*judged)(nil), "text"} {
		assert.Equal(t, "answered", View(none).Headline)
	}
}
