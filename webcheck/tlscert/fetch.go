package tlscert

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

// The bounds of a check.
const (
	// timeout is how long all of it lasts: the operation has 15 seconds (CONTRACT 1.9).
	timeout          = 13 * time.Second
	connectTimeout   = 6 * time.Second // for the lookup and the connection
	handshakeTimeout = 6 * time.Second // for the handshake of crypto/tls
	refusalTimeout   = 1 * time.Second // for a refusal after a handshake in which the client had no certificate
)

// gather asks the DNS and speaks with the server at each address.
func gather(ctx context.Context, env *diag.Env, req Request) (*examination, error) {
	logs, err := logs(env)
	if err != nil {
		return nil, err
	}
	x := &examination{limit: make(probe.Limit, maxConnections)}
	e := &evidence{
		whole: x, limit: make(probe.Limit, maxPerServer), req: req, began: env.Now(), now: env.Now(), logs: logs,
		name: req.Host.Name(),
	}
	if !req.ServerName.IsZero() {
		e.name = req.ServerName.String()
	}
	if env != nil {
		e.roots = env.Roots
	}
	bounded, cancel := diag.Within(ctx, timeout)
	defer cancel()
	env = env.Cached() // addresses are looked up to connect, and to list them all
	x.services = newServices(env)
	var answer caa
	var pins dane
	connected := make(chan struct{})
	var g diag.Group
	g.Go(func() { answer = lookupCAA(bounded, env, e.name) })
	g.Go(func() { pins = lookupDANE(bounded, env, e.name, req.Port) })
	g.Go(func() { x.others(bounded, env, e, connected) })
	g.Go(func() {
		if conn := e.connect(bounded, env, connected); conn != nil {
			e.converse(bounded, env, conn)
		}
	})
	g.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := e.failure.Unavailable(); err != nil {
		return nil, fmt.Errorf("examining TLS of %s: %w", e.req.Host, err)
	}
	// The DNS says nothing of an address either.
	if e.failure != nil && e.failure.Unanswered && !e.connected() && !answer.queried {
		return nil, diag.Unavailable(e.req.Host.Name(), e.failure.Cause)
	}
	x.settle(e, answer, pins)
	return x, nil
}

// connect makes the connection over which crypto/tls speaks, as clients do: to the address that answers first. That it
// is made, or not, is said by closing connected.
func (e *evidence) connect(ctx context.Context, env *diag.Env, connected chan struct{}) net.Conn {
	defer close(connected)
	bounded, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	host := e.req.Host.Name()
	conn, err := env.DialHost(bounded, host, uint16(e.req.Port), ports)
	if err != nil {
		e.failure = fetch.DialError(bounded, host, uint16(e.req.Port), err)
		return nil
	}
	a, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		conn.Close()
		return nil
	}
	e.addr = netip.AddrPortFrom(a.AddrPort().Addr().Unmap(), uint16(e.req.Port))
	return conn
}

// converse learns all about the server at the other end of a connection.
func (e *evidence) converse(ctx context.Context, env *diag.Env, conn net.Conn) {
	var g diag.Group
	early := !*e.req.CheckVersions // what nothing else takes longer than
	if early {
		g.Go(func() { e.present(ctx, env, probe.KeyTypes()) })
	}
	g.Go(func() {
		e.handshake(ctx, env, conn)
		conn.Close()
		silent := e.failed(fetch.Timeout)
		if silent { // what is silent now holds up all else
			e.speak(ctx, env)
		}
		others := e.otherTypes() // read before speak, whose second handshake may write what it reads
		if !silent {
			g.Go(func() { e.speak(ctx, env) })
		}
		if !early {
			e.present(ctx, env, others)
		}
	})
	g.Wait()
	if e.settlePresented(); e.failure != nil {
		e.relateChain(ctx, env)
	}
	g.Go(func() { e.evaluateClients(ctx, env) })
	for _, other := range e.others {
		g.Go(func() { other.relateChain(ctx, env) })
	}
	g.Wait()
	for _, other := range e.others {
		other.clientResults = e.clientResults
	}
}

// handshake speaks TLS with all that crypto/tls has. Verification is done afterwards, so that a certificate that fails
// it can be described; what was sent is kept even if the handshake fails later.
func (e *evidence) handshake(ctx context.Context, env *diag.Env, conn net.Conn) bool {
	bounded, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	config := &tls.Config{
		ServerName:         e.name,
		InsecureSkipVerify: true, // see above
		NextProtos:         protocols(e.req.Port),
		MinVersion:         tls.VersionTLS10, // to be able to say that it is old
		CipherSuites: kit.Map(slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()), // of TLS 1.2 and earlier
			func(s *tls.CipherSuite) uint16 { return s.ID }),
		Time: env.Now,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			e.asksClient = true
			return &tls.Certificate{}, nil // the client has none
		},
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			e.served = raw
			return nil
		},
	}
	e.avoidIntolerances(config)
	client := tls.Client(conn, config)
	began := time.Now()
	err := client.HandshakeContext(bounded)
	if err != nil {
		e.failure = fetch.HandshakeError(bounded, "the server", err)
		return false
	}
	e.handshakeMS = new(time.Since(began).Milliseconds())
	state := client.ConnectionState()
	e.version, e.suite, e.alpn = state.Version, state.CipherSuite, state.NegotiatedProtocol
	e.staple, e.handshakeSCTs = state.OCSPResponse, len(state.SignedCertificateTimestamps)
	e.refusesLate = e.asksClient && state.Version == tls.VersionTLS13 && refusesLate(client)
	return true
}

// refusesLate reports whether the server ends the connection after the handshake: in TLS 1.3 it learns only by the last
// message of the client that there is no certificate (RFC 8446 section 4.4.2.4).
func refusesLate(conn *tls.Conn) bool {
	conn.SetReadDeadline(time.Now().Add(refusalTimeout))
	_, err := conn.Read(make([]byte, 1))
	netErr, ok := errors.AsType[net.Error](err)
	return err != nil && !(ok && netErr.Timeout())
}

// speak sounds the server out, and fetches what is missing of its chain.
func (e *evidence) speak(ctx context.Context, env *diag.Env) {
	config := e.config()
	if e.failure != nil && e.failure.Code == fetch.Timeout { // a small ClientHello may be answered
		var ok bool
		if config, ok = probe.Knock(ctx, e.dialer(env), config); !ok {
			return
		}
	}
	if e.failure != nil { // the scan may find the chain
		e.scan = probe.Scan(ctx, e.dialer(env), config)
		e.retry(ctx, env)
		e.adopt()
		return
	}
	var g diag.Group
	if *e.req.CheckVersions {
		scan := func() *probe.Report { return e.scanServer(ctx, env) }
		g.Go(func() { e.scan = e.whole.baseline.of(ctx, scan, e.compare(ctx, env)) })
	}
	g.Go(func() { e.relateChain(ctx, env) })
	g.Wait()
	if e.scan != nil && !e.scan.Any() {
		e.scan.Partial = true // it spoke at first, and has stopped
	}
}

// scanServer scans the server for versions and cipher suites.
func (e *evidence) scanServer(ctx context.Context, env *diag.Env) *probe.Report {
	return probe.Scan(ctx, e.dialer(env), e.config())
}

// compare reports whether the server answers as another one of the host.
func (e *evidence) compare(ctx context.Context, env *diag.Env) func(*probe.Report) bool {
	return func(other *probe.Report) bool {
		return other.Any() && probe.Alike(ctx, e.dialer(env), e.config(), other)
	}
}

// retry repeats the handshake where the scan says that the server speaks TLS: that of one connection which broke off
// is not a fault of the server's settings.
func (e *evidence) retry(ctx context.Context, env *diag.Env) {
	if !e.scan.Any() || e.asksClient || e.oversized() {
		return
	}
	conn, err := env.DialAddr(ctx, "tcp", e.addr, ports)
	if err != nil {
		return
	}
	defer conn.Close()
	first := e.failure
	if e.failure = nil; !e.handshake(ctx, env, conn) {
		e.failure = first
	}
}

// adopt uses the result of the scan for the connection that crypto/tls could not make.
func (e *evidence) adopt() {
	if e.failure == nil {
		return
	}
	reply := e.scan.New
	if e.scan.Old != nil && (reply == nil || len(e.scan.Old.Chain) > 0) {
		reply = e.scan.Old
	}
	if reply == nil {
		return
	}
	e.version, e.suite, e.alpn = uint16(reply.Version), reply.Suite, reply.ALPN
	if len(e.served) == 0 {
		e.served, e.staple = reply.Chain, reply.Staple
	}
}

// The bounds of fetching issuers.
const (
	maxFetched      = 3         // chains have up to three certificates between leaf and root
	maxIssuerBytes  = 256 << 10 // a certificate has a few kilobytes
	issuerRedirects = 2
	issuerTimeout   = 5 * time.Second
)

// relate fetches what the certificates of a chain point to.
func (e *evidence) relate(ctx context.Context, env *diag.Env) related {
	var g diag.Group
	g.Go(func() { e.lookupOtherNames(ctx, env) })
	g.Go(func() {
		e.repair(ctx, env)
		e.askRevocation(ctx)
	})
	g.Wait()
	return e.related
}

// relateChain fetches it once for all parts that have the same chain.
func (e *evidence) relateChain(ctx context.Context, env *diag.Env) {
	e.related = e.whole.related.get(fingerprint(e.served...), func() related { return e.relate(ctx, env) })
}

// repair fetches the issuers of a chain that does not lead to a trusted authority, as some browsers do (RFC 5280
// section 4.2.2.1). It only serves to say that they would.
func (e *evidence) repair(ctx context.Context, env *diag.Env) {
	chain, _ := parseChain(e.served)
	if len(chain) == 0 || e.verifier().Complete(chain) {
		return
	}
	path := follow(chain)
	last := chain[path[len(path)-1]]
	for range maxFetched {
		if pki.SelfSigned(last) || len(last.IssuingCertificateURL) == 0 {
			return
		}
		e.repairTried = true
		issuer, err := fetchIssuer(ctx, env, last)
		if err != nil {
			e.repairFault = err
			return
		}
		e.fetched = append(e.fetched, issuer)
		if e.verifier().Complete(slices.Concat(chain, e.fetched)) {
			e.repaired = true
			return
		}
		last = issuer
	}
}

func fetchIssuer(ctx context.Context, env *diag.Env, c *x509.Certificate) (*x509.Certificate, error) {
	u, err := diag.ParseURL(c.IssuingCertificateURL[0])
	if err != nil {
		return nil, errors.New("the URL of the issuer is not valid")
	}
	r, err := fetch.Do(ctx, env, fetch.Request{
		URL: u, MaxRedirects: issuerRedirects, MaxBytes: maxIssuerBytes, Timeout: issuerTimeout, AllowUntrusted: true,
	})
	switch {
	case err != nil:
		return nil, err
	case r.Err != nil:
		return nil, r.Err
	case r.Final() == nil || r.Final().StatusCode != 200:
		return nil, fmt.Errorf("the answer is not a certificate")
	}
	issuer, err := parseIssuer(r.Body)
	if err != nil {
		return nil, err
	}
	if !issued(issuer, c) {
		return nil, errors.New("the certificate there did not sign this one")
	}
	return issuer, nil
}

// A Host is a server, by name or IP address, with an optional port.
type Host struct {
	diag.Host
	Port uint16 // 0 if none was given
}

// ParseHost parses a host such as "example.com", "example.com:8443", "192.0.2.1:443", "2001:db8::1" or
// "[2001:db8::1]:443". Names may be in Unicode, and ports are 1 to 65535. The error is a *[diag.InputError]
// for the field "host".
func ParseHost(s string) (Host, error) {
	if rest, ok := strings.CutPrefix(s, "https://"); ok {
		rest, _, _ = strings.Cut(rest, "/")
		return Host{}, input.Invalid("host", "is a URL; write its host alone: %.100q", rest)
	}
	if ip, err := netip.ParseAddr(s); err == nil && ip.Is6() {
		h, err := diag.ParseHost("[" + s + "]")
		return Host{Host: h}, err
	}
	var port uint16
	if name, number, err := net.SplitHostPort(s); err == nil {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || n == 0 {
			return Host{}, input.Invalid("host", "%.100q ends in no port", s)
		}
		if strings.Contains(name, ":") {
			name = "[" + name + "]"
		}
		s, port = name, uint16(n)
	}
	var h diag.Host
	if err := h.UnmarshalText([]byte(s)); err != nil {
		return Host{}, err
	}
	return Host{h, port}, nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *Host) UnmarshalText(text []byte) (err error) {
	*h, err = ParseHost(string(text))
	return err
}

// MarshalText implements [encoding.TextMarshaler].
func (h Host) MarshalText() ([]byte, error) {
	if h.Port == 0 {
		return h.Host.MarshalText()
	}
	return []byte(h.String() + ":" + strconv.Itoa(int(h.Port))), nil
}

// Schema returns the JSON Schema of the type.
func (Host) Schema() map[string]any {
	return map[string]any{
		"type": "string", "minLength": 1, "maxLength": 260,
		"description": "host name, in ASCII or Unicode, or IP address; may end in a port",
	}
}

// MustHost is ParseHost for constants; it panics on a bad host.
func MustHost(s string) Host {
	h, err := ParseHost(s)
	if err != nil {
		panic(err)
	}
	return h
}
