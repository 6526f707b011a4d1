package agent

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	hostedmemory "github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// site is a server of tools under test, with one account.
type site struct {
	t       *testing.T
	store   metering.Store
	admin   metering.Admin
	account metering.Account
	secret  string // of a key with all scopes
	url     string
	server  *httptest.Server
}

const profile = "spf_mn4zq2vtw6k7y3cx5hbd2jfgla" // as the documentation shows it

// newSite serves tools in a world, by default that of the demonstration, on a plan.
func newSite(t *testing.T, plan metering.PlanID, env *diag.Env, own ...httpapi.Endpoint) *site {
	s := &site{t: t, store: memory.New(memory.Config{})}
	s.admin = metering.Admin{Store: s.store, DowngradeNow: true}
	var err error
	s.account, err = s.admin.CreateAccount(t.Context(), "test", plan)
	require.NoError(t, err)
	key, secret := s.key(metering.Scopes()...)
	s.secret = secret
	gate, err := metering.NewGate(context.Background(), metering.GateConfig{Store: s.store})
	require.NoError(t, err)
	profiles := hostedmemory.New(hostedmemory.Config{})
	now := time.Now().UTC().Truncate(time.Microsecond)
	require.NoError(t, profiles.Create(t.Context(), hostedspf.Profile{
		ID: profile, Owner: hostedspf.Owner(key.ID), Domain: diag.MustDomain("example.com"), Name: "example.com",
		Status: hostedspf.Active, SourceRecord: "v=spf1 mx -all", IncludeHost: diag.MustName("_spf.example.com"),
		IntervalSeconds: hostedspf.DefaultInterval, CreatedAt: now, UpdatedAt: now, NextResolveAt: now,
	}))
	api := httpapi.New(httpapi.Config{Gate: gate, Env: env, IPRate: -1, HostedSPF: profiles, Endpoints: own})
	server := httptest.NewServer(New(Config{API: api, PublicURL: "https://diag.example"}))
	s.url, s.server = server.URL+"/mcp", server
	t.Cleanup(func() { server.Close(); gate.Close(); s.store.Close() })
	return s
}

func world(t *testing.T) *diag.Env {
	w, err := internet.New(time.Now())
	require.NoError(t, err)
	t.Cleanup(w.Close)
	return w.Env()
}

func (s *site) key(scopes ...metering.Scope) (metering.Key, string) {
	key, secret, err := s.admin.CreateKey(context.Background(), metering.KeyRequest{
		Account: s.account.ID, Name: "test", Environment: metering.Test, Scopes: scopes,
	})
	require.NoError(s.t, err)
	return key, secret.Reveal()
}

// used returns the usage that the ledger records.
func (s *site) used() int64 {
	b, err := s.store.Balance(context.Background(), s.account.ID, metering.PeriodOf(time.Now()))
	require.NoError(s.t, err)
	require.Zero(s.t, b.Held, "a hold was left behind")
	return b.Used
}

// bearing sends a key with each request.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// connect opens a session of the SDK's client.
func connect(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, nil)
	require.NoError(t, err)
	t.Cleanup(func() { session.Close() })
	return session
}

func (s *site) session(secret string) *mcp.ClientSession {
	return connect(s.t, &mcp.StreamableClientTransport{
		Endpoint: s.url, HTTPClient: &http.Client{Transport: bearing(secret)}, DisableStandaloneSSE: true, MaxRetries: -1,
	})
}

// piped is a session on a pipe, as with diag mcp.
func piped(t *testing.T, env *diag.Env) *mcp.ClientSession {
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	l := Local{Ask: func() target.Ask { return target.Local(env) }}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- Serve(ctx, l, toServer, fromServer) }()
	t.Cleanup(func() { cancel(); assert.NoError(t, <-done) })
	return connect(t, &mcp.IOTransport{Reader: toClient, Writer: fromClient})
}

// use calls a tool, and checks the result against its bound or, if it has a report, its schema.
func use(t *testing.T, session *mcp.ClientSession, name string, arguments any) *mcp.CallToolResult {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(t, err)
	require.NotEmpty(t, said(result))
	if result.StructuredContent == nil {
		bounded(t, result)
	} else {
		valid(t, result.StructuredContent)
	}
	return result
}

// bounded requires that all of a result that costs an agent tokens is text, and within the bound.
func bounded(t *testing.T, result *mcp.CallToolResult) {
	t.Helper()
	texts := *result
	texts.Content = slices.DeleteFunc(slices.Clone(result.Content), func(c mcp.Content) bool {
		_, image := c.(*mcp.ImageContent)
		return image
	})
	text, err := json.Marshal(&texts)
	require.NoError(t, err)
	require.LessOrEqual(t, len(text), 4096, "%s", text)
	require.Nil(t, result.StructuredContent)
}

func said(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }

// part is a member of structured content.
func part(r *mcp.CallToolResult, names ...string) any {
	var at = r.StructuredContent
	for _, name := range names {
		members, _ := at.(map[string]any)
		at = members[name]
	}
	return at
}

// structured is the schema of structured content.
var structured = sync.OnceValue(func() *jsonschema.Schema {
	return jsonschema.NewCompiler().MustCompile("testdata/structured.json")
})

func valid(t *testing.T, content any) {
	t.Helper()
	require.NoError(t, structured().Validate(content), "%v", content)
}

// charged returns the cost that a reply reports.
func charged(t *testing.T, r *mcp.CallToolResult) (credits int64) {
	t.Helper()
	found := regexp.MustCompile(`\. (\d+) credits? charged`).FindStringSubmatch(said(r))
	require.NotNil(t, found, said(r))
	credits, err := strconv.ParseInt(found[1], 10, 64)
	require.NoError(t, err)
	return credits
}

// Every tool is described in full, and all together are short.
func TestTools(t *testing.T) {
	session := piped(t, world(t))
	list, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	text, err := json.Marshal(list)
	require.NoError(t, err)
	const bytesOfToken = 3.5 // at least, in English with JSON
	tokens := float64(len(text)) / bytesOfToken
	t.Logf("tools/list has %d bytes, some %.0f tokens", len(text), tokens)
	assert.Less(t, tokens, 6000.0)
	names := []string{}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		assert.NotEmpty(t, tool.Title)
		assert.Regexp(t, `Price: (free|\d+ (to \d+ )?credits?)`, tool.Description)
		assert.Contains(t, tool.Description, "se ", "when to use it, or another one")
		assert.Nil(t, tool.OutputSchema, "results without full are texts alone")
		assert.Equal(t, tool.Name != "run_operation", tool.Annotations.ReadOnlyHint)
		closed := strings.Fields("validate_record analyze_report explain_finding describe_operation")
		assert.Equal(t, slices.Contains(closed, tool.Name), !*tool.Annotations.OpenWorldHint, tool.Name)
	}
	assert.ElementsMatch(t, strings.Fields("check_domain check_mail check_web check_address resolve validate_record "+
		"analyze_message analyze_report explain_finding describe_operation run_operation"), names)
	contract, err := os.ReadFile("../CONTRACT.md")
	require.NoError(t, err)
	_, about, _ := strings.Cut(string(contract), "\n## 12. ")
	for _, tool := range toolsOf(httpapi.Endpoints()) {
		_, row, ok := strings.Cut(about, "\n| `"+tool.Name+"` | ")
		assert.True(t, ok, tool.Name)
		row, _, _ = strings.Cut(row, "\n")
		for _, a := range tool.Arguments {
			assert.Contains(t, row, "`"+a.Name+"`")
		}
		if tool.maxCost > 1 && tool.Name != "run_operation" {
			price, _, _ := strings.Cut(tool.Price, " credits")
			assert.Contains(t, row, price)
		}
	}
	assert.Contains(t, string(text), "28 to 38 credits")
	assert.Contains(t, string(text), "spf/hosted/{id}/resolve changes something")
	assert.Contains(t, session.InitializeResult().Instructions, markerOpen[:len(markerOpen)-1])
}

const message = "From: a@good.example\nTo: b@example.com\nSubject: hello\nDate: Thu, 01 Jan 2026 12:00:00 +0000\n\nHello.\n"

// dmarcReport is an aggregate report with a text in some fields.
func dmarcReport(text string) string {
	return `<feedback><report_metadata><org_name>` + text + `</org_name><report_id>1</report_id><date_range>
<begin>1767225600</begin><end>1767311999</end></date_range></report_metadata>
<policy_published><domain>good.example</domain><p>none</p></policy_published>
<record><row><source_ip>192.0.2.1</source_ip><count>2</count><policy_evaluated><disposition>none</disposition>
<dkim>fail</dkim><spf>fail</spf></policy_evaluated></row><identifiers><header_from>` + text + `</header_from></identifiers>
<auth_results><spf><domain>good.example</domain><result>fail</result></spf></auth_results></record></feedback>`
}

// Each tool well.
func TestEachTool(t *testing.T) {
	tls := `{"organization-name":"receiver","date-range":{"start-datetime":"2026-01-01T00:00:00Z","end-datetime":` +
		`"2026-01-01T23:59:59Z"},"contact-info":"a@receiver.example","report-id":"1","policies":[]}`
	s := newSite(t, "self", world(t))
	over, local := s.session(s.secret), piped(t, world(t))
	for _, tt := range []struct {
		tool        string
		arguments   map[string]any
		says        string
		least, most int64 // credits
	}{
		{"check_domain", map[string]any{"domain": "hopeless.example"}, "Nobody can send mail", 28, 38},
		{"check_mail", map[string]any{"domain": "harbour.example", "smtp": false}, "_spf.shop.example", 11, 21},
		{"check_web", map[string]any{"site": "harbour.example"}, "certificate", 10, 10},
		{"check_web", map[string]any{"site": "https://harbour.example/"}, "certificate", 7, 7},
		{"check_address", map[string]any{"ip": "192.0.2.1"}, "192.0.2.1", 8, 8},
		{"resolve", map[string]any{"name": "good.example", "type": "MX"}, "mx1.good.example", 1, 1},
		{"validate_record", map[string]any{"record": "v=spf1 mx +all"}, "spf.all.pass", 1, 1},
		{"validate_record", map[string]any{"record": "v=TLSRPTv1; rua=mailto:a@good.example"}, "is valid", 0, 0},
		{"analyze_message", map[string]any{"message": message}, "good.example", 2, 2},
		{"analyze_message", map[string]any{"message": "From: a@good.example\n"}, "good.example", 2, 2},
		{"analyze_report", map[string]any{"report": dmarcReport("good.example")}, "192.0.2.1", 5, 5},
		{"analyze_report", map[string]any{"report": tls}, "receiver", 0, 0},
		{"explain_finding", map[string]any{"code": "spf.lookups.exceeded"}, "RFC 7208", 0, 0},
		{"explain_finding", map[string]any{"code": "spf.lookups"}, "spf.lookups.exceeded", 0, 0},
		{"describe_operation", map[string]any{}, "dnssec/check 3: ", 0, 0},
		{"describe_operation", map[string]any{"operation": "/public/v1/dnssec/check"}, "chain of trust", 0, 0},
		{"run_operation", map[string]any{"operation": "text/upper", "arguments": map[string]any{"text": "straße"}},
			"STRASSE", 1, 1},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			before := s.used()
			r := use(t, over, tt.tool, tt.arguments)
			require.False(t, r.IsError, said(r))
			assert.Contains(t, said(r), tt.says)
			used := s.used() - before
			assert.True(t, tt.least <= used && used <= tt.most, "charged %d", used)
			if tt.tool != "explain_finding" && tt.tool != "describe_operation" {
				assert.Equal(t, used, charged(t, r))
			}
			r = use(t, local, tt.tool, tt.arguments)
			require.False(t, r.IsError, said(r))
			assert.Contains(t, said(r), tt.says)
			assert.NotContains(t, said(r), "charged,")
		})
	}
}

// Each tool badly: the error names the argument and the remedy, and costs nothing.
func TestWrongArguments(t *testing.T) {
	s := newSite(t, "self", world(t))
	over := s.session(s.secret)
	for _, tt := range []struct{ tool, arguments, says string }{
		{"check_domain", `{}`, "domain: is required, such as example.com."},
		{"check_domain", `{"domain":7}`, "domain: must be a text"},
		{"check_domain", `{"domain":"no dots"}`, "domain: "},
		{"check_domain", `{"domian":"good.example"}`, "Did you mean domain?"},
		{"check_domain", `{"domain":"https://good.example/"}`, "use check_web"},
		{"check_domain", `{"domain":"good.example","smtp":"false"}`, "smtp: must be true or false, without quotes."},
		{"check_mail", `{"domain":"192.0.2.1"}`, "use check_address"},
		{"check_web", `{"site":"v=spf1 -all"}`, "use validate_record"},
		{"check_address", `{"ip":"good.example"}`, "use check_domain"},
		{"check_address", `{"ip":null}`, "ip: is required"},
		{"resolve", `{"name":"good.example","type":"XYZ"}`, "type: "},
		{"resolve", `{"name":"good..example"}`, "name: "},
		{"resolve", `{"name":"good.example","resolver":"gogle"}`, "Did you mean google?"},
		{"validate_record", `{"record":"hello"}`, "v=DMARC1"},
		{"analyze_message", `{}`, "message or message_base64"},
		{"analyze_message", `{"message_base64":"!"}`, "message_base64: "},
		{"analyze_report", `{"report":"hello"}`, "neither a DMARC report"},
		{"analyze_report", `{"report_base64":"!"}`, "not Base64"},
		{"analyze_report", `{"report":"v=spf1 -all"}`, "validate_record"},
		{"explain_finding", `{"code":"spf.lookup.exceeded"}`, "Did you mean spf.lookups.exceeded?"},
		{"describe_operation", `{"operation":"dnsec/check"}`, "Did you mean dnssec/check?"},
		{"run_operation", `{"operation":"dnsec/check"}`, "Did you mean dnssec/check?"},
		{"run_operation", `{"operation":"dnssec/check","arguments":{"domian":"good.example"}}`, "arguments.domian: "},
		{"run_operation", `{"operation":"dnssec/check","arguments":{}}`, `{"domain":"`},
		{"run_operation", `{"operation":"dnssec/check","arguments":[]}`, "arguments: must be a JSON object"},
	} {
		r := use(t, over, tt.tool, json.RawMessage(tt.arguments))
		assert.True(t, r.IsError, tt.arguments)
		assert.Contains(t, said(r), tt.says, tt.arguments)
	}
	assert.Zero(t, s.used())
	_, err := over.CallTool(t.Context(), &mcp.CallToolParams{Name: "nonsense"})
	assert.Error(t, err)
	r := use(t, piped(t, world(t)), "run_operation", map[string]any{"operation": "spf/hosted"})
	assert.True(t, r.IsError)
	assert.Contains(t, said(r), "--server")
}

// run_operation reaches every operation and answers its example; the reported cost equals the charge.
func TestEveryOperation(t *testing.T) {
	s := newSite(t, "self", world(t))
	over := s.session(s.secret)
	var sum int64
	t.Run("each", func(t *testing.T) {
		for _, ep := range httpapi.Endpoints() {
			sum += 2 * ep.Credits
			t.Run(ep.Name(), func(t *testing.T) {
				t.Parallel()
				arguments := json.RawMessage(strings.ReplaceAll(string(ep.Example()), "{profile}", profile))
				for _, full := range []bool{false, true} {
					r := use(t, over, "run_operation", map[string]any{
						"operation": ep.Name(), "arguments": arguments, "full": full,
					})
					require.False(t, r.IsError, said(r))
					assert.EqualValues(t, ep.Credits, charged(t, r))
					assert.LessOrEqual(t, len(said(r)), maxResult)
					assert.Equal(t, full, r.StructuredContent != nil)
					assert.Equal(t, full, part(r, "untrusted_report") != nil)
					if full {
						assert.EqualValues(t, ep.Credits, part(r, "credits"))
					}
					if ep.Name() == "http/qr" {
						assert.IsType(t, &mcp.ImageContent{}, r.Content[1])
					}
				}
				assert.False(t, use(t, over, "describe_operation", map[string]any{"operation": ep.Name()}).IsError)
			})
		}
	})
	assert.Equal(t, sum, s.used())
}

// Custom operations are reached like ours.
func TestOwnOperation(t *testing.T) {
	type request struct {
		Domain diag.Domain `json:"domain" example:"example.com"`
	}
	type report struct {
		diag.Verdict
		Domain diag.Domain `json:"domain"`
	}
	check := func(r request) (*report, error) {
		return &report{diag.Verdict{State: diag.Valid, Headline: "All hosts are allowed"}, r.Domain}, nil
	}
	s := newSite(t, "pack", world(t), httpapi.Endpoint{Method: "POST", Path: "/acme/hosts", Scope: metering.MailRead,
		Credits: 40, Purpose: "hosts that our policy allows", Operation: httpapi.Pure(check)})
	session := s.session(s.secret)
	call := func(name string, arguments map[string]any) string {
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		require.NoError(t, err)
		return said(r)
	}
	list, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	text, err := json.Marshal(list)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"acme/hosts"`)
	assert.Contains(t, string(text), "1 to 40 credits")
	assert.Contains(t, call("describe_operation", map[string]any{}), "acme/hosts 40: hosts that our policy allows")
	assert.Contains(t, call("describe_operation", map[string]any{"operation": "acme/hosts"}),
		"Hosts that our policy allows.")
	assert.Contains(t, call("run_operation", map[string]any{"operation": "acme/host"}), "Did you mean acme/hosts?")
	require.Zero(t, s.used())
	assert.Contains(t, call("run_operation", map[string]any{"operation": "acme/hosts",
		"arguments": map[string]any{"domain": "example.com"}}), "All hosts are allowed")
	assert.EqualValues(t, 40, s.used())
}
