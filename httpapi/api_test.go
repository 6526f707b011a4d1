package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/stretchr/testify/require"
)

// api is a server under test, with one account and one key.
type api struct {
	t       testing.TB
	clock   *meteringtest.Clock
	store   *meteringtest.FaultyStore
	admin   metering.Admin
	gate    *metering.Gate
	handler http.Handler
	account metering.Account
	key     metering.Key
	secret  string
	log     *syncBuffer
	seen    []Observation
}

// observed returns the observations, without the IDs of requests, their instants and addresses, which differ.
func (a *api) observed() (list []Observation) {
	a.t.Helper()
	for _, o := range a.seen {
		require.NotEmpty(a.t, o.RequestID)
		require.NotZero(a.t, o.At)
		require.True(a.t, o.IP.IsValid())
		o.RequestID, o.At, o.IP = "", time.Time{}, netip.Addr{}
		list = append(list, o)
	}
	return list
}

// newAPI serves a table of endpoints, by default the real one, on a plan.
func newAPI(t testing.TB, plan metering.PlanID, change func(*Config), table ...Endpoint) *api {
	t.Helper()
	return newAPIOn(t, inMemory, plan, change, table...)
}

// An opener makes an empty store.
type opener func(t testing.TB, clock func() time.Time) metering.Store

func inMemory(_ testing.TB, clock func() time.Time) metering.Store {
	return memory.New(memory.Config{Clock: clock})
}

// inFile keeps a store in a file of this folder.
func inFile(dir string) opener {
	return func(t testing.TB, clock func() time.Time) metering.Store {
		store, err := sqlite.Open(context.Background(), filepath.Join(dir, "diag.db"), sqlite.Config{Clock: clock})
		require.NoError(t, err)
		return store
	}
}

func inNewFile(t testing.TB, clock func() time.Time) metering.Store {
	return inFile(t.TempDir())(t, clock)
}

// newAPIOn is newAPI on a store of any kind.
func newAPIOn(t testing.TB, open opener, plan metering.PlanID, change func(*Config), table ...Endpoint) *api {
	t.Helper()
	a := &api{t: t, clock: meteringtest.NewClock(), log: &syncBuffer{}}
	a.store = meteringtest.Faulty(open(t, a.clock.Now))
	a.admin = metering.Admin{Store: a.store, Clock: a.clock.Now, DowngradeNow: true}
	var err error
	a.account, err = a.admin.CreateAccount(t.Context(), "test", plan)
	require.NoError(t, err)
	a.key, a.secret = a.newKey(metering.Scopes()...)
	a.gate, err = metering.NewGate(context.Background(), metering.GateConfig{Store: a.store, Clock: a.clock.Now})
	require.NoError(t, err)
	t.Cleanup(func() { a.gate.Close(); a.store.Close() })
	c := Config{
		Gate: a.gate, Clock: a.clock.Now, Env: &diag.Env{Clock: a.clock.Now},
		Log:     slog.New(slog.NewJSONHandler(a.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Observe: func(o Observation) { a.seen = append(a.seen, o) },
	}
	if change != nil {
		change(&c)
	}
	if table == nil {
		table = endpoints
	}
	a.handler = newServer(c, table)
	return a
}

func (a *api) newKey(scopes ...metering.Scope) (metering.Key, string) {
	key, secret, err := a.admin.CreateKey(context.Background(), metering.KeyRequest{
		Account: a.account.ID, Name: "test", Environment: metering.Live, Scopes: scopes,
	})
	require.NoError(a.t, err)
	return key, secret.Reveal()
}

// used returns the usage that the ledger records, after an audit.
func (a *api) used() int64 {
	a.t.Helper()
	audit, err := a.store.Audit(context.Background())
	require.NoError(a.t, err)
	require.Empty(a.t, audit.Faults)
	b, err := a.store.Balance(context.Background(), a.account.ID, metering.PeriodOf(a.clock.Now()))
	require.NoError(a.t, err)
	require.Zero(a.t, b.Held, "a hold was left behind")
	return b.Used
}

// attempt is a request in the making.
type attempt struct {
	method, path, body string
	header             http.Header
	from               string
}

// post makes a request with the good key.
func (a *api) post(path, body string, headers ...string) *reply {
	c := attempt{"POST", Prefix + path, body, http.Header{}, "198.51.100.1:4000"}
	c.header.Set("Authorization", "Bearer "+a.secret)
	c.header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		c.header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			c.header.Del(headers[i])
		}
	}
	return a.do(c)
}

func (a *api) do(c attempt) *reply { return a.doContext(context.Background(), c) }

func (a *api) doContext(ctx context.Context, c attempt) *reply {
	r := httptest.NewRequestWithContext(ctx, c.method, c.path, strings.NewReader(c.body))
	r.Header = c.header
	if c.from != "" {
		r.RemoteAddr = c.from
	}
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	return &reply{w, a.t}
}

type reply struct {
	*httptest.ResponseRecorder
	t testing.TB
}

// header returns the value of a header by its exact spelling.
func (r *reply) header(name string) string { return strings.Join(r.Result().Header[name], ", ") }

// problem returns the problem that a reply must be.
func (r *reply) problem() Problem {
	r.t.Helper()
	var p Problem
	d := json.NewDecoder(bytes.NewReader(r.Body.Bytes()))
	d.DisallowUnknownFields()
	require.NoError(r.t, d.Decode(&p), "%s", r.Body)
	require.Equal(r.t, r.header("X-Request-Id"), p.RequestID)
	require.NotEmpty(r.t, p.Message)
	validate(r.t, problemSchema(), r.Body.Bytes())
	return p
}

// syncBuffer is a log that many goroutines write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// row makes a table of one test operation, which answers by a function.
func row(path string, credits int64, f func(context.Context, *diag.Env, testRequest) (*testReport, error)) Endpoint {
	return Endpoint{"POST", path, metering.DNSRead, credits, "test", Call(f)}
}

type testRequest struct {
	Text string `json:"text,omitempty"`
}

type testReport struct {
	compose.Panics `json:"-"`

	Text string `json:"text"`
}

func echo(_ context.Context, _ *diag.Env, req testRequest) (*testReport, error) {
	return &testReport{Text: req.Text}, nil
}

var testPrefix = netip.MustParsePrefix("192.0.2.0/24")

const second = time.Second
