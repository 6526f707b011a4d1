package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

// An Answer is the reply to a key that acts in this process.
type Answer struct {
	Result
	RequestID string // of the row in the ledger
	Credits   int64  // charged
	Remaining int64  // of the month's allowance
}

// Ask runs an operation like a request that presents the key: its scopes and its account's credits decide, and the
// answer is charged. Only address and rate limits do not apply. The fields are a JSON object, wherever HTTP carries
// them. Errors are those of [metering.Gate.CallerByID] and of [Problem.Err].
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

// Unmetered returns a function that runs operations for visitors without a key. Nothing is charged or recorded.
// Visitors together have the memory of one account, and all calls of the function share their DNS lookups. The error is
// [budget.ErrFull] if the server is busy.
func (a *API) Unmetered() func(ctx context.Context, ep Endpoint, body []byte) (*Result, error) {
	env := a.server.Env.Cached()
	return func(ctx context.Context, ep Endpoint, body []byte) (*Result, error) {
		req, err := ep.Operation.decode(body)
		if err != nil {
			return nil, err
		}
		l, err := a.server.Budget.Work.Take(ctx, budget.Owner{}, ep.Operation.memory(req, len(body)))
		if err != nil {
			return nil, err
		}
		defer l.Release()
		return ep.Operation.execute(ctx, env, req)
	}
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
	w := &responseRecorder{header: http.Header{}}
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
	x.caller, x.observed.Plan = c, string(c.Plan.ID)
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

// responseRecorder keeps a reply in memory.
type responseRecorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *responseRecorder) Header() http.Header { return w.header }

func (w *responseRecorder) WriteHeader(status int) { w.status = status }

func (w *responseRecorder) Write(p []byte) (int, error) { return w.body.Write(p) }
