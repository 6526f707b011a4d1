//go:build !race || nightly

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/dashboard"
	"github.com/diagkit/diagkit/httpapi/letterbox"
	"github.com/diagkit/diagkit/httpapi/metrics"
	"github.com/diagkit/diagkit/httpapi/pages"
	hostedmemory "github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A pipes is a listener whose connections never leave the process.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A caller is a connection from an address.
type caller struct {
	net.Conn
	from netip.AddrPort
}

func (c caller) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.from) }

func (p *pipes) dial(from string) net.Conn {
	client, server := net.Pipe()
	p.conns <- caller{server, netip.AddrPortFrom(netip.MustParseAddr(from), 1234)}
	c := newClientConn(client)
	go c.send()
	return c
}

// A clientConn is the client's end of a connection. Like a socket, and unlike a pipe, it accepts writes without
// waiting for the other end: up to a number of large ones, and any number of small ones, since net/http sends
// close_notify while it holds a lock, for which the clock of a bubble would not move on.
type clientConn struct {
	net.Conn
	large  chan struct{} // one for each large write that is not sent
	wake   chan struct{} // there may be something to send
	done   chan struct{}
	closed sync.Once

	mu      sync.Mutex
	pending [][]byte
}

func newClientConn(c net.Conn) *clientConn {
	return &clientConn{
		Conn: c, large: make(chan struct{}, 16), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

func isLarge(p []byte) bool { return len(p) > 64 }

func (c *clientConn) Write(p []byte) (int, error) {
	if isLarge(p) {
		select {
		case c.large <- struct{}{}:
		case <-c.done:
			return 0, net.ErrClosed
		}
	}
	c.mu.Lock()
	c.pending = append(c.pending, bytes.Clone(p))
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (c *clientConn) Close() error {
	c.closed.Do(func() { close(c.done) })
	return nil
}

func (c *clientConn) send() {
	defer c.Conn.Close()
	for {
		select {
		case <-c.wake:
		case <-c.done:
			return
		}
		c.mu.Lock()
		pending := c.pending
		c.pending = nil
		c.mu.Unlock()
		for _, p := range pending {
			if isLarge(p) {
				<-c.large
			}
			if _, err := c.Conn.Write(p); err != nil {
				<-c.done // the other end closed: its reply is read, while writes wait as they do for a full socket
				return
			}
		}
	}
}

// errSecretive is an error whose text no client may see.
var errSecretive = errors.New("dial tcp 10.0.0.1:5432: connect: connection refused")

// A brokenStore panics on demand.
type brokenStore struct {
	*meteringtest.FaultyStore
	broken atomic.Bool
}

func (s *brokenStore) Key(ctx context.Context, id metering.KeyID) (metering.Key, error) {
	s.mayPanic()
	return s.FaultyStore.Key(ctx, id)
}

func (s *brokenStore) Record(
	ctx context.Context, account metering.AccountID, kind, id string,
) (metering.Record, error) {
	s.mayPanic()
	return s.FaultyStore.Record(ctx, account, kind, id)
}

func (s *brokenStore) mayPanic() {
	if s.broken.Load() {
		panic(errSecretive)
	}
}

// silence is a world in which no server answers.
type silence struct{}

func (silence) Exchange(context.Context, *dns.Msg) (*dns.Msg, error) { return nil, errSecretive }

// A way is how clients reach a site.
type way struct {
	scheme string // http or https
	proto  string // as ALPN has it; empty for http
	ipRate int    // 0 is off
}

// A site is all HTTP listeners of diagd in a bubble, on a store in memory.
type site struct {
	t         *testing.T
	way       way
	store     *brokenStore
	admin     metering.Admin
	account   metering.AccountID
	secret    string // of a key that may do everything
	signature notify.Secret
	listeners map[string]*pipes // by their flags
	client    *http.Client
	ids       map[string]bool // that replies had
	checked   int
	pause     time.Duration // after each request: the address has a token again
}

func newSite(t *testing.T, w way) *site {
	s := &site{t: t, way: w, listeners: map[string]*pipes{}, ids: map[string]bool{}, pause: time.Second}
	quiet := slog.New(slog.DiscardHandler)
	s.store = &brokenStore{FaultyStore: meteringtest.Faulty(memory.New(memory.Config{}))}
	s.admin = metering.Admin{Store: s.store, DowngradeNow: true}
	account, err := s.admin.CreateAccount(t.Context(), "a", "self")
	require.NoError(t, err)
	s.account = account.ID
	_, s.secret = s.key(metering.KeyRequest{Account: account.ID, Scopes: metering.Scopes()})
	_, err = member.Members{Store: s.store}.Add(t.Context(), account.ID, owner, member.Owner)
	require.NoError(t, err)
	checked := checkedFlags{log: quiet, ipRate: w.ipRate}
	if w.ipRate == 0 {
		checked.ipRate = -1
	}
	if w.scheme == "https" {
		cert, key := writeCertificate(t, t.TempDir(), 1)
		pair, err := tls.LoadX509KeyPair(cert, key)
		require.NoError(t, err)
		checked.security = &tls.Config{Certificates: []tls.Certificate{pair}}
	}
	gate, err := metering.NewGate(context.Background(), metering.GateConfig{Store: s.store})
	require.NoError(t, err)
	env := &diag.Env{Resolver: silence{}, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errSecretive
	}}
	bounds, profiles := budget.New(budget.Config{}), hostedmemory.New(hostedmemory.Config{})
	a := &app{}
	a.serving.dashboard.ownersEditInvoices = true
	api := httpapi.New(httpapi.Config{
		Gate: gate, Env: env, IPRate: checked.ipRate, Budget: bounds, HostedSPF: profiles, Log: quiet,
		Pages: pages.Handler(pages.Config{}),
	})
	front := a.mount(checked, api, dashboard.Config{
		Store: s.store, Env: env, HostedSPF: profiles, Log: quiet, Budget: bounds,
	}, "https://diag.example")
	box, err := letterbox.New(letterbox.Config{Env: env, Domain: diag.MustDomain("box.example"), Budget: bounds})
	require.NoError(t, err)
	front.Parts["letterbox"] = box
	a.serving.publicCheck = true
	stopChecks := a.servePublicCheck(checked, api, bounds, "https://diag.example", front.Parts)
	s.signature, err = notify.ParseSecret(callbackSecret)
	require.NoError(t, err)
	heard := &callbacks{log: quiet, secret: s.signature, clock: time.Now, limiter: bounds.Callbacks,
		settle: func(context.Context, billing.PaymentReport) (billing.Invoice, error) {
			return billing.Invoice{}, errSecretive
		}}
	health := newHealth(metrics.New().Handler(), gate.Health, func(io.Writer) {}, quiet)
	health.ready.Store(true)
	for flag, server := range map[string]*http.Server{
		"listen": newServer(checked, front), "callback-listen": heard.server(checked, bounds), "metrics-listen": &health.Server,
	} {
		s.listeners[flag] = &pipes{make(chan net.Conn), make(chan struct{})}
		l := &httpapi.Listener{Listener: s.listeners[flag]}
		switch flag {
		case "listen":
			l = checked.boundListener(l.Listener, bounds.Connections)
		case "callback-listen":
			l = checked.boundListener(l.Listener, bounds.CallbackConnections)
		}
		go server.Serve(l)
		t.Cleanup(func() { server.Close() })
	}
	s.client = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			ForceAttemptHTTP2: w.proto == "h2", DisableCompression: true,
			DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
				flag, _, _ := net.SplitHostPort(address)
				return s.listeners[flag].dial("192.0.2.1"), nil
			},
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{w.proto}},
		},
	}
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		box.Close()
		stopChecks()
		gate.Close()
		time.Sleep(time.Minute) // of the bubble: each end of a connection waits for the close_notify of the other
	})
	return s
}

func (s *site) key(r metering.KeyRequest) (metering.Key, string) {
	r.Name, r.Environment = "a", metering.Live
	key, secret, err := s.admin.CreateKey(s.t.Context(), r)
	require.NoError(s.t, err)
	return key, secret.Reveal()
}

// enter begins a session of the owner, whose previous one a route may have ended.
func (s *site) enter() string {
	people := member.Members{Store: s.store}
	token, err := people.NewLink(s.t.Context(), owner)
	require.NoError(s.t, err)
	_, session, err := people.Enter(s.t.Context(), token, s.account, "192.0.2.1")
	require.NoError(s.t, err)
	return session
}

const owner = "a@example.com"

// scheme is that of a listener: the operator's has no TLS.
func (s *site) scheme(listener string) string {
	if listener == "metrics-listen" {
		return "http"
	}
	return s.way.scheme
}

// A variant is another form of a sample's request.
type variant struct {
	name   string
	change func(r *http.Request)
	status []int              // of the reply to an authorized caller; empty for any
	only   func(r route) bool // nil means every route
}

func hasBody(r route) bool { return r.method != "GET" && r.needs != "nothing" }
func isAPI(r route) bool   { return strings.HasPrefix(r.path, httpapi.Prefix+"/") }

// stalled is a body that never comes.
type stalled struct{ ctx context.Context }

func (b stalled) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, io.EOF }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// oversize is more than any route takes.
const oversize = 64 << 20

func withBody(r *http.Request, body io.Reader, length int64) {
	r.Body, r.ContentLength = io.NopCloser(body), length
}

var variants = []variant{
	{name: "other method", change: func(r *http.Request) { r.Method = "PATCH" }, status: []int{404, 405}},
	{name: "OPTIONS", change: func(r *http.Request) { r.Method = "OPTIONS" }, status: []int{404, 405}},
	{name: "HEAD", change: func(r *http.Request) { r.Method = "HEAD"; withBody(r, http.NoBody, 0) }},
	{name: "path below", change: func(r *http.Request) { r.URL.Path += "/x" }},
	{name: "unclean path", change: func(r *http.Request) { r.URL.Path = "/x/.." + r.URL.Path }, status: []int{307, 404}},
	{name: "too large", only: hasBody, status: []int{413}, change: func(r *http.Request) {
		withBody(r, io.LimitReader(zeros{}, oversize), oversize)
	}},
	{name: "too large, without a length", only: hasBody, status: []int{413}, change: func(r *http.Request) {
		withBody(r, io.LimitReader(zeros{}, oversize), -1)
	}},
	{name: "stalled", only: hasBody, status: []int{408}, change: func(r *http.Request) {
		withBody(r, stalled{r.Context()}, 10)
	}},
	{name: "stalled, without a length", only: hasBody, status: []int{408}, change: func(r *http.Request) {
		withBody(r, stalled{r.Context()}, -1)
	}},
	{name: "broken", only: hasBody, status: []int{400, 401}, change: func(r *http.Request) {
		const neither = "{\"a\":%zz;" // JSON nor a form
		withBody(r, strings.NewReader(neither), int64(len(neither)))
	}},
	{name: "empty", only: hasBody, change: func(r *http.Request) { withBody(r, http.NoBody, 0) }},
	{name: "other media type", only: hasBody, change: func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-nothing")
	}},
	{name: "foreign origin", change: func(r *http.Request) {
		r.Header.Set("Origin", "https://evil.example")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
	}, only: func(r route) bool { return r.method != "GET" && !isAPI(r) }},
}

// request is the sample of a route.
func (s *site) request(ctx context.Context, r route) *http.Request {
	method := r.method
	if method == "" {
		method = "POST"
	}
	url := s.scheme(r.listener) + "://" + r.listener + r.path
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(r.body))
	require.NoError(s.t, err)
	switch {
	case r.method == "GET":
	case isAPI(r), r.needs == "key", r.needs == "signature":
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	default:
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return req
}

// A proof is a request's credential, and the limit of requests a minute that the API then reports.
type proof struct {
	name, key, cookie string
	limit             string // empty means that of the address
}

// partsOfPages are those that the API does not answer for.
var partsOfPages = []string{"dashboard", "r", "letterbox", "check", "badge", "unsubscribe", "confirm"}

// ask sends a request, and checks the common properties of the reply.
func (s *site) ask(what string, r route, c proof, change func(r *http.Request)) *http.Response {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	req := s.request(ctx, r)
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	if c.cookie != "" {
		req.Header.Set("Cookie", "__Host-diagkit="+c.cookie)
	}
	if change != nil {
		change(req)
	}
	what = fmt.Sprintf("%s %s: %s as %s: %s", r.listener, r.pattern, what, c.name, s.way)
	resp, err := s.client.Do(req)
	require.NoError(s.t, err, what)
	body, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err, what)
	cancel() // ends a body that is still sent
	resp.Body.Close()
	r.path = req.URL.Path
	s.check(what, r, c.limit, req.Method, resp, body)
	time.Sleep(s.pause) // of the bubble
	return resp
}

func (w way) String() string {
	return fmt.Sprintf("%s %s, address limit %d", w.scheme, w.proto, w.ipRate)
}

// goErrors matches errors of the standard library and of databases, which must not occur in replies.
var goErrors = regexp.MustCompile(`(?i)\bEOF\b|\b(read|write|dial) tcp\b|i/o timeout|context (canceled|deadline)|` +
	`runtime error|goroutine \d|\.go:\d|strconv\.|\bjson: |unmarshal|http: request body|10\.0\.0\.1|sql: |` +
	`multipart: |mime: `)

var rateNames = []string{
	"RateLimit-Policy", "RateLimit", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
}

// valuesOf are the values of a field, however HTTP spells it.
func valuesOf(h http.Header, name string) (values []string) {
	for k, list := range h {
		if strings.EqualFold(k, name) {
			values = append(values, list...)
		}
	}
	return values
}

// checkAll checks the common properties of all replies.
func (s *site) checkAll(what string, secure bool, resp *http.Response, body []byte) {
	s.t.Helper()
	s.checked++
	h := resp.Header
	ids := valuesOf(h, "X-Request-Id")
	require.Len(s.t, ids, 1, what)
	require.Regexp(s.t, `^req_[a-z2-7]{26}$`, ids[0], what)
	require.False(s.t, s.ids[ids[0]], "%s: the id of another reply", what)
	s.ids[ids[0]] = true
	require.Len(s.t, valuesOf(h, "Cache-Control"), 1, what)
	require.Equal(s.t, secure, len(valuesOf(h, "Strict-Transport-Security")) == 1, what)
	if resp.StatusCode >= 400 {
		require.NotRegexp(s.t, goErrors, string(body), what)
	}
}

// check checks the reply of a route. Limit is that of the caller, empty for that of the address.
func (s *site) check(what string, r route, limit, method string, resp *http.Response, body []byte) {
	s.t.Helper()
	s.checkAll(what, s.scheme(r.listener) == "https", resp, body)
	h := resp.Header
	ids := valuesOf(h, "X-Request-Id")
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	first, _, _ := strings.Cut(r.path[1:], "/")
	refused := media == "application/json" && resp.StatusCode >= 400
	api := r.listener == "listen" && (isAPI(r) || first == "mcp" || refused && !slices.Contains(partsOfPages, first))
	if limit == "" && s.way.ipRate > 0 {
		limit = fmt.Sprint(s.way.ipRate)
	}
	rpc := bytes.HasPrefix(body, []byte(`{"jsonrpc"`))
	if !api || rpc && resp.StatusCode == 403 { // pages of others may not call it, whatever they show
		limit = ""
	}
	for _, name := range rateNames {
		values := valuesOf(h, name)
		if limit == "" {
			require.Empty(s.t, values, "%s: %s", what, name)
			continue
		}
		require.Len(s.t, values, 1, "%s: %s", what, name)
	}
	if limit != "" {
		require.Equal(s.t, limit, valuesOf(h, "X-RateLimit-Limit")[0], what)
	}
	if resp.StatusCode == 429 {
		require.NotEmpty(s.t, h.Get("Retry-After"), what)
	}
	if api && resp.StatusCode == 401 {
		require.Equal(s.t, "Bearer", h.Get("WWW-Authenticate"), what)
	}
	if resp.StatusCode == 405 && api {
		require.NotEmpty(s.t, h.Get("Allow"), what)
	}
	if media == "text/html" && r.listener == "listen" {
		for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy"} {
			require.NotEmpty(s.t, h.Get(name), "%s: %s", what, name)
		}
	}
	if resp.StatusCode >= 400 && api && method != "HEAD" && !rpc {
		var p struct {
			Code, Message string
			RequestID     string `json:"request_id"`
			Details       map[string]any
		}
		require.NoError(s.t, json.Unmarshal(body, &p), "%s: %s", what, body)
		require.Regexp(s.t, `^[A-Z]+(_[A-Z]+)*$`, p.Code, what)
		require.NotEmpty(s.t, p.Message, what)
		require.NotNil(s.t, p.Details, what)
		require.Equal(s.t, ids[0], p.RequestID, what)
		require.Equal(s.t, "application/json", h.Get("Content-Type"), what)
	}
}

// walked are the routes that speak HTTP. Pages of operations are alike, so that one is enough.
func walked(t testing.TB) (list []route) {
	seen := false
	for _, r := range routes(t) {
		page := strings.HasPrefix(r.path, "/docs/") && strings.Count(r.path, "/") > 2
		slow := r.path == "/debug/pprof/profile" || r.path == "/debug/pprof/trace"
		if r.pattern == "" || page && seen || slow {
			continue
		}
		seen = seen || page
		list = append(list, r)
	}
	return list
}

func ways() (list []way) {
	for _, w := range []way{{"http", "", 0}, {"https", "http/1.1", 0}, {"https", "h2", 0}} {
		list = append(list, w, way{w.scheme, w.proto, 120})
	}
	return list
}

// proofs returns no credential, a guessed one, and a valid one.
func (s *site) proofs(r route) []proof {
	may := proof{name: "a key", key: s.secret, limit: ownLimit}
	if r.needs == "session" {
		may = proof{name: "an owner", cookie: s.enter()}
	}
	return []proof{{name: "nobody"}, {name: "a guess", key: "svc_live_nonsense", cookie: "nonsense"}, may}
}

// ownLimit is that of the plan of a site's account.
const ownLimit = "600000"

// Every reply of the process has the common properties, for every form of request and every caller.
func TestEveryReply(t *testing.T) {
	for _, w := range ways() {
		if testing.Short() && w.ipRate == 0 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, w)
			for _, r := range walked(t) {
				proofs := s.proofs(r)
				for _, v := range variants {
					if v.only != nil && !v.only(r) {
						continue
					}
					for i, c := range proofs {
						resp := s.ask(v.name, r, c, v.change)
						if v.status != nil && i == 2 && r.listener != "metrics-listen" {
							require.Contains(t, v.status, resp.StatusCode, "%s: %s", r.pattern, v.name)
						}
					}
				}
			}
			t.Logf("%s: %d replies", w, s.checked)
		})
	}
}

// unreadable are requests that net/http refuses by itself or passes on as they are, and the status; 0 for any.
var unreadable = map[string]int{
	"nonsense\r\n\r\n":                      400,
	"GET / HTTP/1.1\r\n\r\n":                400,
	"GET / HTTP/9.1\r\nHost: a\r\n\r\n":     505,
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":      0,
	"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n": 0,
	"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 2*maxHeaderBytes) + "\r\n\r\n":            431,
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n":                                    501,
	"POST / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 2\r\n\r\n":                           417,
	"POST /dashboard HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n":            400,
	"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n":                                                    0,
	"GET http://b/%2e%2e/%00 HTTP/1.1\r\nHost: a\r\n\r\n":                                              0,
	"GET /public/v1/spf/hosted HTTP/1.0\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n": 0,
}

// The replies that net/http makes by itself have them too, and those of a listener: to plain HTTP at the port of TLS,
// or to an excess connection.
func TestRepliesWithoutHandler(t *testing.T) {
	for _, w := range ways() {
		if w.proto == "h2" || w.ipRate > 0 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, w)
			for listener, pipes := range s.listeners {
				secure := s.scheme(listener) == "https"
				for text, status := range unreadable {
					c := pipes.dial("192.0.2.1")
					if secure {
						c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{w.proto}})
					}
					s.raw(listener, c, text, status, secure)
				}
				if secure {
					s.raw(listener, pipes.dial("192.0.2.1"), "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, false)
				}
				bound := map[string]budget.ID{"listen": budget.Connections, "callback-listen": budget.CallbackConnections}
				most, ok := bound[listener]
				if !ok || secure { // where a connection too many is closed without a word
					continue
				}
				for range budget.Of(most).Network {
					defer pipes.dial("198.51.100.1").Close()
				}
				s.raw(listener, pipes.dial("198.51.100.1"), "", 503, false)
			}
		})
	}
}

// raw sends bytes and checks the first reply, whose status is 0 for any.
func (s *site) raw(listener string, c net.Conn, text string, status int, secure bool) {
	s.t.Helper()
	defer c.Close()
	what := fmt.Sprintf("%s %.60q: %s", listener, text, s.way)
	if text != "" {
		go io.WriteString(c, text) // the server may answer before it has read all
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(s.t, err, what)
	body, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err, what)
	if status != 0 {
		require.Equal(s.t, status, resp.StatusCode, what)
		require.Contains(s.t, string(body), resp.Header.Get("X-Request-Id"), what)
	}
	s.checkAll(what, secure, resp, body)
}

// A refusal of a key, or an expired key, is reported with the key's own limit, and with that of the address if it is
// not good.
func TestRefusalsOfKeys(t *testing.T) {
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, w)
			free, err := s.admin.CreateAccount(t.Context(), "b", "free")
			require.NoError(t, err)
			_, scoped := s.key(metering.KeyRequest{Account: s.account, Scopes: []metering.Scope{metering.MailWrite}})
			_, elsewhere := s.key(metering.KeyRequest{Account: s.account, Scopes: metering.Scopes(),
				IPAllowlist: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}})
			_, poor := s.key(metering.KeyRequest{Account: free.ID, Scopes: metering.Scopes()})
			key, revoked := s.key(metering.KeyRequest{Account: s.account, Scopes: metering.Scopes()})
			_, err = s.admin.RevokeKey(t.Context(), key.ID, "")
			require.NoError(t, err)
			for name, c := range map[string]struct {
				proof
				fault  error // of the store
				status int   // at some route at least
			}{
				"scope":    {proof{key: scoped, limit: ownLimit}, nil, 403},
				"address":  {proof{key: elsewhere}, nil, 403},
				"revoked":  {proof{key: revoked}, nil, 401},
				"rate":     {proof{key: poor, limit: "10"}, nil, 429},
				"quota":    {proof{key: s.secret, limit: ownLimit}, &metering.QuotaError{Reason: metering.QuotaSuspended}, 403},
				"no store": {proof{key: s.secret, limit: ownLimit}, errStoreAway, 503},
				"fault":    {proof{key: s.secret, limit: ownLimit}, errSecretive, 500},
			} {
				if c.fault != nil {
					s.store.Inject(meteringtest.Fault{Call: meteringtest.Begin, Err: c.fault})
				}
				c.name = name
				seen := map[int]bool{}
				for _, r := range walked(t) {
					if r.needs == "key" {
						seen[s.ask(name, r, c.proof, nil).StatusCode] = true
					}
				}
				s.store.Heal()
				require.True(t, seen[c.status], "%s: %v", name, seen)
			}
			if w.ipRate > 0 {
				s.exhaustAddress()
			}
		})
	}
}

// errStoreAway is an error of a store that is not there.
var errStoreAway = fmt.Errorf("%w: %w", metering.ErrUnavailable, errSecretive)

// exhaustAddress uses up the limit of the address for callers without a good key.
func (s *site) exhaustAddress() {
	s.pause = 0
	for _, r := range walked(s.t) {
		if r.needs != "key" {
			continue
		}
		for n, status := 0, 0; status != 429; n++ {
			require.LessOrEqual(s.t, n, s.way.ipRate)
			status = s.ask("again", r, proof{name: "nobody"}, nil).StatusCode
		}
		require.Equal(s.t, 429, s.ask("again", r, proof{name: "a guess", key: "svc_live_nonsense"}, nil).StatusCode)
		require.NotEqual(s.t, 429, s.ask("again", r, proof{"a key", s.secret, "", ownLimit}, nil).StatusCode)
	}
}

// A failure or panic behind a route is reported without its text.
func TestFailingStore(t *testing.T) {
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, w)
			for _, r := range walked(t) {
				who := s.proofs(r)[2]
				if who.limit = ""; r.needs == "nothing" { // no key is known to be good
					who = proof{name: "nobody"}
				}
				for what, fault := range map[string]error{"no store": errStoreAway, "fault": errSecretive, "panic": nil} {
					if fault == nil && r.needs == "key" { // which would be known then
						continue
					}
					s.store.broken.Store(fault == nil)
					if fault != nil {
						s.store.Inject(meteringtest.Fault{Call: meteringtest.Any, Err: fault})
					}
					status := s.ask(what, r, who, nil).StatusCode
					s.store.Heal()
					s.store.broken.Store(false)
					if r.needs == "session" {
						require.GreaterOrEqual(t, status, 500, "%s: %s", r.pattern, what)
					}
				}
			}
		})
	}
}
