package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
)

// An API serves every endpoint and the OpenAPI document, and runs operations for parts of the same program that act for
// an account, such as watches and a dashboard.
type API struct{ server *server }

// New returns the API. It panics without a Gate, and where one of Config.Endpoints cannot be served: those are faults
// of the program, seen at start. An [http.Server] with DisableGeneralOptionsHandler leaves OPTIONS * to it too.
func New(c Config) *API { return &API{newServer(c, Endpoints())} }

// Endpoints is the table that the API serves: that of the public API, and behind it Config.Endpoints. The caller owns
// it.
func (a *API) Endpoints() Table { return slices.Clone(a.server.table) }

// Handler is [New], for those who serve alone.
func Handler(c Config) http.Handler { return New(c) }

// ServeHTTP implements [http.Handler].
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.server.ServeHTTP(w, r) }

// An Answer is the reply to a key that acts in this process.
type Answer struct {
	Result
	RequestID string // of the row in the ledger
	Credits   int64  // charged
	Remaining int64  // of the month's allowance
}

// Ask runs an operation like a request that presents the key: its scopes and its account's credits decide, and the
// answer is charged. Only address and rate limits do not apply. The fields are a JSON object, wherever HTTP carries
// them. Errors are those of [metering.Gate.Audited] and of [Problem.Err].
func (a *API) Ask(ctx context.Context, key metering.KeyID, ep Endpoint, fields []byte) (*Answer, error) {
	caller, err := a.server.Gate.CallerByID(ctx, key, a.server.clock())
	if err != nil {
		return nil, err
	}
	return askHandler(ctx, ep, fields, func(w http.ResponseWriter, r *http.Request) { a.server.serveCaller(w, r, caller) })
}

// Forward runs an operation on behalf of a client that sent another request to this server: as if it had sent one for
// the operation, with the same credentials and from the same address. The answer and the errors are those of [API.Ask].
func (a *API) Forward(ctx context.Context, client *http.Request, ep Endpoint, fields []byte) (*Answer, error) {
	return askHandler(ctx, ep, fields, func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"X-Forwarded-For", "Forwarded"} {
			r.Header[name] = client.Header[name]
		}
		r.RemoteAddr = client.RemoteAddr
		a.server.serve(w, r, client)
	})
}

// askHandler sends a request for an operation to a handler, and reads the reply.
func askHandler(ctx context.Context, ep Endpoint, fields []byte, serve http.HandlerFunc) (*Answer, error) {
	target, body, err := ep.Target(fields)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, ep.Method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", jsonMedia)
	}
	w := &answered{header: http.Header{}}
	serve(w, r)
	id := w.header["X-Request-Id"][0]
	if w.status != http.StatusOK {
		var p Problem
		if err := json.Unmarshal(w.body.Bytes(), &p); err != nil {
			return nil, fmt.Errorf("the reply to %s: %w", id, err)
		}
		return nil, p.Err()
	}
	answer := &Answer{Result: Result{MediaType: w.header["Content-Type"][0], Body: w.body.Bytes()}, RequestID: id}
	answer.Credits, _ = strconv.ParseInt(strings.Join(w.header["X-Credits-Consumed"], ""), 10, 64)
	answer.Remaining, _ = strconv.ParseInt(strings.Join(w.header["X-Credits-Remaining"], ""), 10, 64)
	return answer, nil
}

// serveCaller takes the steps of a request behind the admission of its key.
func (s *server) serveCaller(w http.ResponseWriter, r *http.Request, c *metering.Caller) {
	x := s.begin(w, r)
	defer x.finish()
	x.caller, x.seen.Plan = c, string(c.Plan.ID)
	f := x.route()
	if f == nil {
		f = x.admitScope()
	}
	if f == nil {
		f = x.serveContent()
	}
	if f != nil {
		x.refuse(f)
	}
}

// Error implements error.
func (p *Problem) Error() string { return fmt.Sprintf("%s: %s (%s)", p.Code, p.Message, p.RequestID) }

// Err returns the problem as the error that the operation itself would have returned, if it reported one: a
// [*ViolationsError], or the error of [diag.Unavailable] for a silent server. Otherwise it returns the problem.
func (p *Problem) Err() error {
	if len(p.Details.Fields) > 0 {
		return &ViolationsError{Violations: p.Details.Fields}
	}
	if p.Code == internalError {
		if asked, ok := strings.CutPrefix(p.Message, "There was no usable answer from "); ok {
			return diag.Unavailable(strings.TrimSuffix(asked, "."), nil)
		}
		if asked, ok := strings.CutPrefix(p.Message, "There was no answer from "); ok {
			return diag.Unavailable(strings.TrimSuffix(asked, " in time."), context.DeadlineExceeded)
		}
	}
	return p
}

// answered keeps a reply in memory.
type answered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answered) Header() http.Header         { return w.header }
func (w *answered) WriteHeader(status int)      { w.status = status }
func (w *answered) Write(p []byte) (int, error) { return w.body.Write(p) }
