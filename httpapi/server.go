package httpapi

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	hostedmemory "github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

const (
	// DefaultIPRate is how many requests a minute an address may send before it has presented a good key.
	DefaultIPRate = budget.DefaultIPRate
	// DefaultMemory bounds what running operations hold together, in bytes.
	DefaultMemory = budget.DefaultMemory
)

// unseenShare is the part of an address's requests that may still show a key with the right checksum.
var unseenShare = int(budget.Of(budget.Strangers).Network / budget.Of(budget.UnseenKeys).Network)

// Config configures the API. Only Gate is required.
type Config struct {
	// Gate admits, holds and charges.
	Gate *metering.Gate
	// Endpoints are operations of one's own, served like those of the public API and next to them: with the same
	// router, decoding, metering, refusals and OpenAPI document. New panics if a row cannot be served, with its name
	// and the reason: its path is taken, keys cannot have its scope (see [metering.Scopes]), or a type cannot be
	// carried.
	Endpoints []Endpoint
	// Env is the world that diagnostics see. Nil is the real one.
	Env *diag.Env
	// PublicURL is the URL at which clients reach the handler, without a final slash, or only its path: of a handler
	// that [http.StripPrefix] mounts below /tools that is "/tools", or "https://www.example.com/tools". The OpenAPI
	// document names it as the server, and refusals name paths with it. Empty means the root of the host.
	PublicURL string
	// Authenticate replaces API keys in requests, such as by session cookies: it returns the ID of the key for which a
	// request acts. Scopes, rate, allowlist and credits are those of that key, whose secret is not needed. An empty ID
	// is refused with 401; an error that [metering.ErrUnavailable] is not part of is an internal one. Requests with
	// cookies are also sent by pages of other origins: see [http.CrossOriginProtection]. Nil means that requests carry
	// API keys, as Authorization: Bearer.
	Authenticate func(*http.Request) (metering.KeyID, error)
	// Clock returns the time of requests. Nil is the wall clock.
	Clock func() time.Time
	// IPRate is how many requests a minute one address (a /32 or a /64) may send before it has presented a good key.
	// 0 means DefaultIPRate, a negative number no limit.
	IPRate int
	// HostedSPF keeps the hosted SPF profiles. Nil means an empty store in memory: no key has a profile. The server
	// does not close it, and resolves nothing by itself; that is the part of a [hostedspf.Scheduler] on the same store.
	HostedSPF hostedspf.Store
	// SPFZone is the zone that the bundled name server serves, as in [hostedspf.Access]; zero if it serves none.
	SPFZone diag.Name
	// NotifySPF, if set, is called with each change of a hosted SPF profile by a request, after it was stored.
	NotifySPF func(hostedspf.Event)
	// TrustedProxies are the peers whose X-Forwarded-For and Forwarded are believed.
	TrustedProxies []netip.Prefix
	// Pages answers browsers' requests outside of the API, such as [pages.Handler]. Nil means none.
	//
	// [pages.Handler]: https://pkg.go.dev/github.com/diagkit/diagkit/httpapi/pages#Handler
	Pages http.Handler
	// Budget bounds what accounts and keys hold. Parts outside the API draw on the same one. Nil means one of the
	// API's own, sized by Memory and MaxRunning.
	Budget *budget.Budget
	// MaxRunning bounds the diagnostics that run concurrently. 0 means 2048.
	MaxRunning int
	// Memory bounds what diagnostics hold together, in bytes, as far as their weights in the table
	// tell; a quarter more is for the bodies of requests. One key may take a quarter of it, and at most
	// 128 MiB, one account half of it, and at most 256 MiB. What does not fit waits for a while, and is then refused. 0
	// means DefaultMemory.
	Memory int64
	// Log hears of every request at level debug and of internal errors at level error. Nil means
	// silence. No secret and no content of a request is ever logged.
	Log *slog.Logger
	// Observe is called after each reply, for metrics. It must not block. Nil means no metrics.
	Observe func(Observation)
}

// An Observation is the outcome of one request. Its texts but the last three come from bounded sets, as labels of
// metrics must.
type Observation struct {
	Endpoint string // the row's ID, "openapi", "pages", a name that Guard was given, or "unknown" where no row matched
	Code     string // "OK", or the error code
	Status   int    // of HTTP
	Plan     string // of the caller, empty before it is known
	Credits  int64  // charged
	Replay   bool   // a kept reply was sent again
	// Deprecated is what the caller should stop using: the scope, "operation" for the row itself, or empty.
	Deprecated string

	At       time.Time     // when the last byte was written, by Config.Clock, in UTC
	Duration time.Duration // from the first byte read until then

	RequestID string
	Account   metering.AccountID // of the caller, empty before it is known
	Key       metering.KeyID     // likewise
}

// server is the handler behind Config.
type server struct {
	Config
	clock     func() time.Time
	log       *slog.Logger
	limiter   *metering.IPLimiter
	unseen    *metering.IPLimiter             // for possible good keys, once an address has no token left
	proxySeen sync.Once                       // logs a proxy that is not configured
	routes    map[string]map[string]*Endpoint // path to method to row

	outage outage

	lastPolicy atomic.Pointer[policyTexts]

	patterns []pattern // the rows whose path has parameters

	table    Table        // all rows
	document func() *File // the OpenAPI document
}

func newServer(c Config, table Table) *server {
	if c.Gate == nil {
		panic("httpapi: Config.Gate is nil")
	}
	s := &server{Config: c, clock: c.Clock, log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)),
		routes: map[string]map[string]*Endpoint{}}
	if s.clock == nil {
		s.clock = time.Now
	}
	s.IPRate = cmp.Or(c.IPRate, DefaultIPRate)
	if s.Budget == nil {
		s.Budget = budget.New(budget.Config{Memory: c.Memory, Running: c.MaxRunning})
	}
	if s.IPRate > 0 {
		s.limiter = &metering.IPLimiter{Limit: s.IPRate, Window: time.Minute}
		s.unseen = &metering.IPLimiter{Limit: max(1, s.IPRate/unseenShare), Window: time.Minute}
	}
	if s.HostedSPF == nil {
		s.HostedSPF = hostedmemory.New(hostedmemory.Config{Clock: s.clock})
	}
	s.table = table
	for _, ep := range c.Endpoints {
		s.table = s.table.add(ep)
	}
	for _, ep := range s.table {
		row := ep.check()
		row.Operation.id = ep.ID()
		methods := s.methodsAt(Prefix + ep.Path)
		methods[ep.Method] = row
		if ep.Method == http.MethodGet {
			methods[http.MethodHead] = row // RFC 9110 section 9.1; the same operation, at the same price
		}
	}
	s.document = documentOf(Endpoints(c.Endpoints...), c.PublicURL, c.Authenticate != nil)
	return s
}

const openapiPath = Prefix + "/openapi.json"

// ServeHTTP implements [http.Handler].
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.serve(w, r, r)
}

// serve answers a request with the credentials of another one, which is the same unless it is forwarded.
func (s *server) serve(w http.ResponseWriter, r, client *http.Request) {
	x := s.begin(w, r)
	defer x.finish()
	x.client = client
	if f := x.serve(); f != nil {
		x.refuse(f)
	}
}

// begin makes the exchange of a request, which finish ends.
func (s *server) begin(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{server: s, w: w, r: r, client: r, fields: w.Header(), began: s.clock(), id: identify(w.Header())}
	if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
		// A request may also have had a Content-Length, which net/http removes: then the connection must be closed
		// (RFC 9112 section 6.1), since others may have seen another end of it.
		x.header("Connection", "close")
	}
	return x
}

// forPages reports whether the pages answer: for each page outside of the API, and for whatever else a browser
// requests there.
func (x *exchange) forPages() bool {
	path := x.r.URL.Path
	reads := x.r.Method == http.MethodGet || x.r.Method == http.MethodHead
	if x.Pages == nil || !reads || strings.HasPrefix(path, Prefix+"/") {
		return false
	}
	switch path {
	case "/", "/docs", "/llms.txt", "/openapi.json", "/openapi.yaml":
		return true
	}
	return strings.HasPrefix(path, "/docs/") || strings.Contains(x.r.Header.Get("Accept"), "text/html")
}

// servePages runs the handler of the pages. They are the same for everyone and made once, so that no limiter guards
// them.
func (x *exchange) servePages() {
	x.ip = x.clientIP(x.r)
	x.seen.Endpoint = "pages"
	x.Pages.ServeHTTP(&statusWriter{x.w, x}, x.r)
}

// statusWriter notes the status of a reply that others write.
type statusWriter struct {
	http.ResponseWriter
	x *exchange
}

func (w *statusWriter) WriteHeader(status int) {
	w.x.seen.Status, w.x.seen.Code = status, "OK"
	if status >= 400 {
		w.x.seen.Code = string(InvalidRequest)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A Listener bounds the connections of a server, speaks TLS if configured, and gives the replies that net/http makes
// by itself (to a request that it cannot read, with header fields too large, an unknown Expect or Transfer-Encoding)
// the form of the API's own: a problem with a request ID. Over HTTP/2 it leaves them unchanged. It wraps the listener
// of an [http.Server], whose Serve takes it; for TLS too, since ServeTLS would have connections of its own.
type Listener struct {
	net.Listener
	// MaxConnections is how many connections may be open at once; excess ones are closed immediately, which clients
	// notice earlier than a connection that is never accepted. 0 means any number.
	MaxConnections int
	// Networks bounds the connections of each network, except for peers in Exempt, such as trusted proxies, whose
	// clients cannot be distinguished. Nil means any number.
	Networks *metering.NetworkCount
	Exempt   []netip.Prefix
	// TLS configures the server's certificate; HTTP/2 is offered in addition to HTTP/1.1. Nil means plain HTTP, where
	// an excess connection gets a reply that says so. It must not be changed after the first call of Accept.
	TLS *tls.Config
	// Log hears once a minute that there are too many connections. Nil means silence.
	Log *slog.Logger
	// ErrorLog hears of handshakes that failed, as that of an [http.Server] does. Nil means silence.
	ErrorLog *log.Logger

	open   atomic.Int64
	mu     sync.Mutex
	logged time.Time
	shed   int // connections closed since then

	handshakes
}

// Connections returns how many connections are open.
func (l *Listener) Connections() int { return int(l.open.Load()) }

// shedTime bounds the writing of a reply to a connection that is closed with it.
const shedTime = time.Second

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	if l.TLS != nil {
		return l.acceptSecured()
	}
	c, err := l.accept()
	if err != nil {
		return nil, err
	}
	return &http1Conn{Conn: c}, nil
}

// accept accepts the next connection for which there is room.
func (l *Listener) accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		leave, fits := l.admit(c)
		tooMany := l.open.Add(1) > int64(l.MaxConnections) && l.MaxConnections > 0
		if fits && !tooMany {
			return &countedConn{Conn: c, listener: l, leave: leave}, nil
		}
		l.open.Add(-1)
		leave()
		l.refuse(c, tooMany)
	}
}

// admit counts a connection for the networks of its peer, as [admitPeer] does.
func (l *Listener) admit(c net.Conn) (leave func(), ok bool) {
	return admitPeer(l.Networks, l.Exempt, c.RemoteAddr().String())
}

// refuse closes a connection too many: of all, or of its network alone.
func (l *Listener) refuse(c net.Conn, ofAll bool) {
	l.mu.Lock()
	l.shed++
	if l.Log != nil && time.Since(l.logged) >= time.Minute {
		text := "too many connections of one network; new ones are closed"
		if ofAll {
			text = "too many connections; new ones are closed"
		}
		l.Log.Warn(text, "connections_max", l.MaxConnections, "closed", l.shed)
		l.logged, l.shed = time.Now(), 0
	}
	l.mu.Unlock()
	if l.TLS == nil { // a few hundred bytes, which the kernel takes without waiting
		c.SetWriteDeadline(time.Now().Add(shedTime))
		f := problemFor(budget.ErrFull)
		c.Write(ownReply("503 Service Unavailable", f.problem, "Retry-After: "+decimal(f.retryAfter)+"\r\n"))
	}
	c.Close()
}

// countedConn is a connection that is counted.
type countedConn struct {
	net.Conn
	listener *Listener
	leave    func() // the count of its network
	closed   sync.Once
}

// Close implements [net.Conn].
func (c *countedConn) Close() error {
	c.closed.Do(func() {
		c.leave()
		c.listener.open.Add(-1)
	})
	return c.Conn.Close()
}

// CloseWrite closes the sending side.
func (c *countedConn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// http1Conn is a connection of HTTP/1.1, on which the replies of net/http are replaced.
type http1Conn struct {
	net.Conn
	headers string // of each reply of ours
}

// CloseWrite closes the sending side, so that a client reads the reply before the connection is gone: net/http does
// so when it closes with a request half read.
func (c *http1Conn) CloseWrite() error { return closeWrite(c.Conn) }

// Write implements [net.Conn].
func (c *http1Conn) Write(p []byte) (int, error) {
	status, ok := byNetHTTP(p)
	if !ok {
		return c.Conn.Write(p)
	}
	reason := status[len("400 "):]
	if _, text, more := strings.Cut(reason, ": "); more {
		reason = text
	}
	problem := invalidRequest(0, reasonInvalid, "The server cannot read this request: "+reason+".").problem
	if _, err := c.Conn.Write(ownReply(status, problem, c.headers)); err != nil {
		return 0, err
	}
	return len(p), nil
}

const (
	protocol = "HTTP/1.1 "
	// theirHeaders are in every reply that net/http writes past its handler, and in no other.
	theirHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	// unsupportedCoding is the body of one that does not repeat its status line.
	unsupportedCoding = "Unsupported transfer encoding"
)

// byNetHTTP returns the status line of a reply that is not from the handler: the bytes are all of it. They may also be
// any part of the handler's, which strangers may have written.
func byNetHTTP(p []byte) (status string, ok bool) {
	if len(p) < len(protocol)+len("400") || string(p[:len(protocol)]) != protocol || p[len(protocol)] == '2' {
		return "", false
	}
	line, _, _ := bytes.Cut(p, []byte("\r\n"))
	status = string(line[len(protocol):])
	if strings.HasPrefix(status, "417 ") {
		return status, bytes.Contains(p, []byte("\r\nContent-Length: 0\r\n")) && bytes.HasSuffix(p, []byte("\r\n\r\n"))
	}
	body, theirs := bytes.CutPrefix(p[len(line):], []byte(theirHeaders))
	return status, theirs && (string(body) == status || string(body) == unsupportedCoding)
}

// ownReply writes a problem as a whole reply, after which the connection is closed.
func ownReply(status string, p Problem, headers string) []byte {
	p.RequestID = metering.NewRequestID()
	body, err := encode(p)
	if err != nil { // a Problem holds nothing that cannot be encoded
		panic(err)
	}
	code, _ := strconv.Atoi(status[:len("400")])
	return append([]byte(protocol+status[:len("400 ")]+http.StatusText(code)+"\r\n"+
		"X-Request-Id: "+p.RequestID+"\r\nCache-Control: no-store\r\nContent-Type: "+jsonMedia+"\r\n"+headers+
		"Content-Length: "+strconv.Itoa(len(body))+"\r\nConnection: close\r\n\r\n"), body...)
}
