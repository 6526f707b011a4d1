package agent

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/miekg/dns"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
	`"clientInfo":{"name":"t","version":"1"}}}`

// post sends a body as a client without the SDK does.
func (s *site) post(body string, headers ...string) (*http.Response, string) {
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+s.secret)
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Del(headers[i]); headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp, string(text)
}

// Access depends on the key and the origin.
func TestEntry(t *testing.T) {
	s := newSite(t, "self", nil)
	batch := "[" + strings.Repeat(initialize+",", 1000) + initialize + "]"
	for _, tt := range []struct {
		name, body string
		headers    []string
		status     int
	}{
		{"key", initialize, nil, 200},
		{"no key", initialize, []string{"Authorization", ""}, 401},
		{"wrong key", initialize, []string{"Authorization", "Bearer svc_live_nonsense"}, 401},
		{"no key and a batch", batch, []string{"Authorization", ""}, 401},
		{"own origin", initialize, []string{"Origin", "https://diag.example"}, 200},
		{"foreign origin", initialize, []string{"Origin", "https://evil.example"}, 403},
		{"origin of a page without one", initialize, []string{"Origin", "null"}, 403},
		{"rebound name", initialize, []string{"Origin", "http://127.0.0.1"}, 403},
		{"batch", batch, nil, 400},
		{"batch behind spaces", strings.Repeat(" ", 200) + batch, nil, 400},
		{"nothing", "", nil, 400},
		{"too large", `{"a":"` + strings.Repeat("x", maxBody) + `"}`, nil, 413},
		{"no JSON", `{"jsonrpc":%`, nil, 400},
		{"no message", `{"jsonrpc":"1.0","a":1}`, nil, 400},
		{"other media type", initialize, []string{"Content-Type", "text/plain"}, 415},
	} {
		resp, text := s.post(tt.body, tt.headers...)
		assert.Equal(t, tt.status, resp.StatusCode, "%s: %s", tt.name, text)
		if tt.status == 401 {
			assert.Equal(t, "Bearer", resp.Header.Get("WWW-Authenticate"))
		}
		if tt.status != 403 {
			assert.NotEmpty(t, resp.Header.Get("X-Request-Id"))
		}
		assert.Equal(t, "application/json", resp.Header.Get("Content-Type"), tt.name)
		assert.NotContains(t, text, "json: ", "errors of libraries stay inside")
		assert.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"))
	}
	assert.Zero(t, s.used())
	for _, method := range []string{http.MethodGet, http.MethodDelete} { // clients look for streams, and end sessions
		r, err := http.NewRequestWithContext(t.Context(), method, s.url, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+s.secret)
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
		assert.Equal(t, "POST", resp.Header.Get("Allow"))
	}
}

// A body without a length is bounded too.
func TestChunkedBody(t *testing.T) {
	s := newSite(t, "self", nil)
	body := io.MultiReader(strings.NewReader(`{"a":"`), bytes.NewReader(bytes.Repeat([]byte("x"), maxBody)))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, body)
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+s.secret)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
}

// A missing scope or exhausted credits are reported with what to do.
func TestRefusals(t *testing.T) {
	env := world(t)
	s := newSite(t, "free", env) // 30 credits, 10 requests a minute
	_, mail := s.key(metering.MailRead)
	r := use(t, s.session(mail), "resolve", map[string]any{"name": "good.example"})
	assert.True(t, r.IsError)
	assert.Contains(t, said(r), "lacks the scope dns:read (it has: mail:read)")

	_, rest := s.key(metering.Scopes()...)
	score := map[string]any{"operation": "deliverability/score", "arguments": map[string]any{"domain": "good.example"}}
	require.False(t, use(t, s.session(rest), "run_operation", score).IsError)
	require.EqualValues(t, 30, s.used())
	r = use(t, s.session(rest), "run_operation", score)
	assert.True(t, r.IsError)
	assert.Regexp(t, `30 of 30 are used\. They are renewed on 1 \w+ 20\d\d`, said(r))

	_, busy := s.key(metering.DNSRead)
	session := s.session(busy)
	for range 6 { // two tokens each
		r = use(t, session, "run_operation", map[string]any{"operation": "ip/netmask"})
		if strings.Contains(said(r), "Too many") {
			break
		}
	}
	assert.Regexp(t, `Wait \d+ seconds?, and call again`, said(r))
	assert.EqualValues(t, 30, s.used())
}

// If a part is refused, the rest is reported, with the reason for the refusal.
func TestPartlyRefused(t *testing.T) {
	s := newSite(t, "self", world(t))
	_, secret := s.key(metering.DNSRead, metering.WebRead)
	r := use(t, s.session(secret), "check_domain", map[string]any{"domain": "harbour.example", "full": true})
	require.False(t, r.IsError, said(r))
	assert.Equal(t, true, part(r, "partial"))
	assert.Contains(t, part(r, "refused"), "lacks the scope mail:read")
	head, _, _ := strings.Cut(said(r), markerOpen)
	assert.Contains(t, head, "lacks the scope mail:read")
	assert.EqualValues(t, s.used(), part(r, "credits"))
}

// Each answer has its row in the ledger, under the key of the caller.
func TestLedger(t *testing.T) {
	s := newSite(t, "self", world(t))
	r := use(t, s.session(s.secret), "check_address", map[string]any{"ip": "192.0.2.1"})
	require.False(t, r.IsError)
	rows := map[string]int64{}
	for c, err := range s.store.Entries(t.Context(), metering.EntryFilter{Account: s.account.ID}) {
		require.NoError(t, err)
		rows[strings.TrimPrefix(c.Endpoint, "POST "+httpapi.Prefix+"/")] += c.Credits
	}
	want := map[string]int64{"ip/nslookup": 1, "ip/whois": 2, "blacklist/ip": 5}
	assert.Equal(t, want, rows)
}

// waiting is a resolver that signals each query and blocks until the context ends.
type waiting struct{ asked chan struct{} }

func (w waiting) Exchange(ctx context.Context, _ *dns.Msg) (*dns.Msg, error) {
	select {
	case w.asked <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// A client that disconnects ends its call, which costs nothing; so does one that is cancelled on a pipe.
func TestCancelled(t *testing.T) {
	for _, version := range []string{"2025-06-18", "2025-11-25", ""} {
		w := waiting{make(chan struct{}, 1)}
		s := newSite(t, "self", &diag.Env{Resolver: w})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,`+
				`"method":"tools/call","params":{"name":"resolve","arguments":{"name":"example.com"}}}`))
			if err == nil {
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				r.Header.Set("Authorization", "Bearer "+s.secret)
				if version != "" {
					r.Header.Set("MCP-Protocol-Version", version)
				}
				_, err = http.DefaultClient.Do(r)
			}
			done <- err
		}()
		<-w.asked
		cancel()
		assert.ErrorIs(t, <-done, context.Canceled)
		s.server.Close() // waits for what runs
		assert.Zero(t, s.used())
	}
	w := waiting{make(chan struct{}, 1)}
	session := piped(t, &diag.Env{Resolver: w})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-w.asked; cancel() }()
	_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "resolve", Arguments: map[string]any{"name": "example.com"}})
	assert.ErrorIs(t, err, context.Canceled)
}

// A silent resolver is reported as such.
func TestSilence(t *testing.T) {
	r := use(t, piped(t, world(t)), "resolve", map[string]any{"name": "silent.example"})
	assert.True(t, r.IsError)
	assert.Contains(t, said(r), "Nothing was charged. Try again")
}

// Concurrent calls of several sessions each get their own answer, and are charged once.
func TestConcurrency(t *testing.T) {
	s := newSite(t, "self", nil)
	var group sync.WaitGroup
	const sessions, calls = 4, 8
	for range sessions {
		session := s.session(s.secret)
		for i := range calls {
			group.Go(func() {
				word := strings.Repeat("a", i+1)
				r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_operation", Arguments: map[string]any{
					"operation": "text/upper", "arguments": map[string]any{"text": word},
				}})
				if assert.NoError(t, err) {
					assert.Regexp(t, `\b`+strings.ToUpper(word)+`\b`, said(r))
				}
			})
		}
	}
	group.Wait()
	assert.EqualValues(t, sessions*calls, s.used())
}

// A tool that panics is an error of the tool, and not the end of the program.
func TestPanic(t *testing.T) {
	s := &service{local: nil, API: &httpapi.API{}}
	broken := &tool{Name: "broken", action: action{run: func(*call) (*mcp.CallToolResult, error) { panic("broken") }}}
	ctx := context.WithValue(t.Context(), clientKey{}, &http.Request{})
	r, err := s.handler(broken)(ctx, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}})
	require.NoError(t, err)
	assert.True(t, r.IsError)
	assert.NotContains(t, said(r), "broken")
}
