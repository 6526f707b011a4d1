// Package agent offers the diagnostics to AI agents as tools of the Model Context Protocol (MCP, revision 2025-11-25,
// and the earlier and later ones that the SDK supports).
//
// An agent lists the tools, each with its schema, its price and when to use it, and calls them. Most answer with the
// view of a report: the verdict, the facts, what to publish or do, as Markdown in a result of at most 4 KB. With full
// they add structured content: the view, and the report itself. run_operation reaches every operation of the API.
//
// [New] serves the tools over HTTP next to the API, with its keys, scopes, credits and limits: each tool call becomes
// a request of its caller to the API in this process, so that it is charged once and has its row in the ledger.
//
//	api := httpapi.New(httpapi.Config{Gate: gate})
//	mux.Handle("/mcp", agent.New(agent.Config{API: api}))
//
// [Serve] speaks on standard input and output, and uses the [target.Ask] that it is given: this machine, or a server.
//
// What a domain publishes (records, banners, titles of pages, subjects of mail) is written by strangers, who may
// address the agent. All text that may quote them is between markers which they cannot write, and in structured
// content below "untrusted". No description of a tool and no notice ever contains any of it.
package agent

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxBody bounds a request: agents have no longer texts. Larger files are for the API itself.
	maxBody = 4 << 20
	// maxCall bounds a tool: no operation takes longer than 45 s, and servers give up writing after little more.
	maxCall = time.Minute
)

// Config configures a server of tools. Only API is required.
type Config struct {
	API *httpapi.API
	// PublicURL is the URL at which browsers reach this server: only pages of that origin may call. Empty means that
	// none may.
	PublicURL string
	Clock     func() time.Time // nil means time.Now; decides when the month of the credits ends
	Version   string           // of the program; empty means [diag.Version]
	Log       *slog.Logger     // receives panics; nil disables logging
}

// New serves the tools by streamable HTTP, without sessions: every request carries its key (Authorization: Bearer), and
// is answered with JSON. It panics without an API.
func New(c Config) http.Handler {
	if c.API == nil {
		panic("agent: Config.API is nil")
	}
	s := &service{API: c.API, table: c.API.Endpoints(), clock: c.Clock, log: c.Log, charged: true}
	server := s.server(c.Version)
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		// It would refuse all that comes through a proxy on the same machine. No page may call, and a key is needed.
		DisableLocalhostProtection: true,
	})
	guarded := c.API.RequireKey("mcp", maxBody, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && !isSingleMessage(r) { // GET and DELETE, which are about sessions, are 405
			refuse(w, http.StatusBadRequest, "Send one message a request: batches are not accepted.")
			return
		}
		tools.ServeHTTP(&refusalWriter{ResponseWriter: w}, r.WithContext(context.WithValue(r.Context(), clientKey{}, r)))
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header["Origin"]; len(origin) > 0 && (len(origin) > 1 || !c.isOwnOrigin(origin[0])) {
			refuse(w, http.StatusForbidden, "Pages of another origin may not call this server.")
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// clientKey is the context key of the request that carried a tool call.
type clientKey struct{}

// isOwnOrigin reports whether an origin is that of the server's own pages. Comparing it with the Host of the request
// would not do: in a DNS rebinding attack both name the attacker's host.
func (c Config) isOwnOrigin(origin string) bool {
	u, err := url.Parse(c.PublicURL)
	return err == nil && u.Host != "" && origin == u.Scheme+"://"+u.Host
}

// isSingleMessage reports whether the body begins as one message, and not as a batch. What was read is put back.
func isSingleMessage(r *http.Request) bool {
	const spaces = 64 // of which no client sends as many
	body := bufio.NewReader(r.Body)
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	begin, _ := body.Peek(spaces) // a later read returns the error again
	return bytes.HasPrefix(bytes.TrimSpace(begin), []byte("{"))
}

// refuse answers with an error of JSON-RPC 2.0 (section 5.1) to a request that was not read.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	text, _ := json.Marshal(message) // which is a string
	io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":`+string(text)+"}}\n")
}

// refusalWriter replaces the text by which the SDK refuses a request: by an error of JSON-RPC that does not repeat
// errors of libraries.
type refusalWriter struct {
	http.ResponseWriter
	status int // of a refusal whose text is to come
}

// WriteHeader implements [http.ResponseWriter].
func (w *refusalWriter) WriteHeader(status int) {
	if text := strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain"); status >= 400 && text {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *refusalWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		return w.ResponseWriter.Write(p)
	}
	text := strings.TrimSpace(string(p))
	switch known := strings.HasPrefix(text, "Accept must") || strings.Contains(text, "protocol version"); {
	case w.status == http.StatusMethodNotAllowed:
		text = "Send messages by POST: there are no sessions, and no streams."
	case w.status == http.StatusUnsupportedMediaType:
		text = "Content-Type must be application/json."
	case !known:
		text = "The body must be a message of JSON-RPC 2.0, as the Model Context Protocol defines it."
	}
	refuse(w.ResponseWriter, w.status, text)
	w.status = 0
	return len(p), nil
}

// Unwrap is for [http.ResponseController].
func (w *refusalWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Local configures the tools of [Serve].
type Local struct {
	// Ask returns what a call queries, such as [target.Local]: each call has its own, so that none is answered from
	// an outdated cache.
	Ask func() target.Ask
	// Charged means that the tools call a server, which charges for its answers and keeps hosted SPF profiles.
	Charged bool
	Version string // of the program; empty means [diag.Version]
}

// Serve speaks with one client until the reader or the context ends. Nothing but the protocol is written.
func Serve(ctx context.Context, l Local, r io.ReadCloser, w io.WriteCloser) error {
	s := &service{local: l.Ask, table: httpapi.Endpoints(), charged: l.Charged}
	err := s.server(l.Version).Run(ctx, &mcp.IOTransport{Reader: r, Writer: w})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// service is the state that the tools share.
type service struct {
	API     *httpapi.API
	table   httpapi.Table
	local   func() target.Ask // instead of API
	charged bool
	clock   func() time.Time
	log     *slog.Logger
}

func (s *service) server(version string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{
		Name: "diagkit", Title: "Diagnostics of DNS, mail and web", Version: cmp.Or(version, diag.Version),
	}, &mcp.ServerOptions{
		Instructions: instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	list := toolsOf(s.table)
	for i := range list {
		server.AddTool(list[i].mcpTool(), s.handler(&list[i]))
	}
	return server
}

// A call is one use of a tool.
type call struct {
	*service
	tool     *tool
	ctx      context.Context
	client   *http.Request // nil on standard input
	askLocal target.Ask    // there
	values

	mu          sync.Mutex
	credits     int64
	creditsLeft *int64 // of the month's credits, where a server tells
}

// handler runs a tool. Errors are returned to the agent as the result of the tool, which it can read and correct.
func (s *service) handler(t *tool) mcp.ToolHandler {
	return func(ctx context.Context, request *mcp.CallToolRequest) (result *mcp.CallToolResult, _ error) {
		ctx, cancel := context.WithTimeout(ctx, maxCall)
		defer cancel()
		c := &call{service: s, tool: t, ctx: ctx}
		if client, ok := ctx.Value(clientKey{}).(*http.Request); ok {
			c.client = client
			defer context.AfterFunc(client.Context(), cancel)() // the SDK hides the end of older clients
		} else {
			c.askLocal = s.local()
		}
		defer func() {
			if p := recover(); p != nil { // in a goroutine of the SDK, where it would end the program
				if s.log != nil {
					s.log.Error("panic", "tool", t.Name, "value", p, "stack", string(debug.Stack()))
				}
				result = failureResult("Internal error. Operations that were answered before it are charged.")
			}
		}()
		var err error
		if c.values, err = t.parse(request.Params.Arguments); err != nil {
			return failureResult(c.explainError(err, nil)), nil
		}
		if result, err = t.run(c); err != nil {
			return failureResult(c.explainError(err, nil)), nil
		}
		return result, nil
	}
}

// failureResult returns an error result, within the size bound of all results.
func failureResult(text string) *mcp.CallToolResult {
	for most := len(text); ; most /= 2 {
		result := textResult(phrase.Clip(text, most))
		if result.IsError = true; fits(result) {
			return result
		}
	}
}

// ask returns the [target.Ask] of the call.
func (c *call) ask(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error) {
	if c.client == nil {
		result, err := c.askLocal(ctx, ep, body)
		if err == nil && c.charged {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.credits += ep.Credits
		}
		return result, err
	}
	answer, err := c.API.Forward(ctx, c.client, ep, body)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.credits += answer.Credits
	if c.creditsLeft == nil || answer.Remaining < *c.creditsLeft {
		c.creditsLeft = &answer.Remaining
	}
	return &answer.Result, nil
}
