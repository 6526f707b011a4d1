package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/miekg/dns"
)

// A link is a connection to a host, ready for a request.
type link struct {
	raw    net.Conn // to be closed
	conn   net.Conn // to be spoken over: raw, or TLS on top of it
	ip     netip.Addr
	tls    *pki.TLS // nil for http
	timing Timing
}

// dial connects to the host of a URL, and does the handshake for https. A link comes back also
// with an error, as far as it got.
func dial(ctx context.Context, env *diag.Env, u diag.URL, ports diag.Ports) (*link, *Error) {
	begin := env.Now()
	l := &link{}
	host := u.Host().Name()
	w := &witness{inner: env.DNS(), now: env.Now, last: begin}
	raw, err := env.WithResolver(w).DialHost(ctx, host, u.Port(), ports)
	asked := w.answered()
	l.timing.DNS = asked.Sub(begin)
	if err != nil {
		return l, DialError(ctx, host, u.Port(), err)
	}
	l.raw, l.conn = raw, raw
	l.ip = remoteIP(raw)
	l.timing.Connect = env.Now().Sub(asked)
	if u.Scheme() == "http" {
		return l, nil
	}
	return l, l.handshake(ctx, env, host)
}

func remoteIP(c net.Conn) netip.Addr {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// handshake speaks TLS. Verification is done afterwards, so that a certificate that fails it can be described.
func (l *link) handshake(ctx context.Context, env *diag.Env, host string) *Error {
	begin := env.Now()
	conn := tls.Client(l.raw, &tls.Config{
		ServerName:         host,
		InsecureSkipVerify: true, // see above
		NextProtos:         []string{"h2", "http/1.1"},
		MinVersion:         tls.VersionTLS10, // to be able to say that it is old
		Time:               env.Now,
	})
	err := conn.HandshakeContext(ctx)
	l.timing.TLS = env.Now().Sub(begin)
	if err != nil {
		return HandshakeError(ctx, host, err)
	}
	verifier := pki.Verifier{ServerName: host, Now: env.Now()}
	if env != nil {
		verifier.Roots = env.Roots
	}
	l.conn, l.tls = conn, verifier.Describe(conn.ConnectionState())
	return nil
}

// A witness is a resolver that remembers when the last answer came.
type witness struct {
	inner diag.Resolver
	now   func() time.Time

	mu   sync.Mutex
	last time.Time
}

// Exchange implements [diag.Resolver].
func (w *witness) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	m, err := w.inner.Exchange(ctx, q)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = w.now()
	return m, err
}

func (w *witness) answered() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// DialError returns an Error that explains why a connection to a port of a host failed, for diagnostics that
// dial themselves. It reveals nothing about a blocked address, so that it cannot be used to explore the
// network of this machine.
func DialError(ctx context.Context, host string, port uint16, err error) *Error {
	e := &Error{Code: Connect, Step: Connecting, Cause: err}
	at := fmt.Sprintf("port %d of %s", port, host)
	if _, blocked := err.(*diag.BlockedError); blocked {
		e.Code, e.Message = Blocked, "the host leads to an address or port that must not be reached"
		return e
	}
	if none, ok := errors.AsType[*diag.NoAddressError](err); ok {
		e.lookedUp(host, none)
		return e
	}
	switch {
	case timedOut(ctx, err):
		e.Code, e.Message, e.Unanswered = Timeout, "no connection to "+at+" was made in time", true
	case every(err, refused):
		e.Message = at + " refuses connections"
	default: // no route, or a reset: it may be the network in between
		e.Message, e.Unanswered = "no connection to "+at+" was made", true
		if every(err, local) {
			e.failed = "the network"
		}
	}
	return e
}

func (e *Error) lookedUp(host string, none *diag.NoAddressError) {
	e.Code, e.Step, e.Missing = DNS, LookingUp, none.Missing
	switch {
	case none.Err == nil:
		e.Message = none.Error()
		return
	case none.Resolver:
		e.failed = diag.DefaultResolver
	}
	e.Unanswered = true
	e.Message = "the address of " + host + " could not be looked up: " + diag.Reason(none.Err)
}

// every reports whether all errors of a dial are of a kind.
func every(err error, is func(error) bool) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(several.Unwrap(), func(err error) bool { return !is(err) })
	}
	return is(err)
}

// refused reports whether an address refuses connections; blocked addresses are ignored.
func refused(err error) bool {
	_, blocked := err.(*diag.BlockedError)
	return blocked || errors.Is(err, syscall.ECONNREFUSED)
}

// local reports whether a connection failed before anything was sent.
func local(err error) bool {
	return slices.ContainsFunc([]syscall.Errno{syscall.ENETUNREACH, syscall.EADDRNOTAVAIL, syscall.EMFILE,
		syscall.ENFILE, syscall.ENOBUFS, syscall.EPERM}, func(n syscall.Errno) bool { return errors.Is(err, n) })
}

// HandshakeError returns an Error that explains why a TLS handshake with a server failed.
func HandshakeError(ctx context.Context, server string, err error) *Error {
	failure := &Error{Code: TLS, Step: Handshaking, Cause: err}
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case timedOut(ctx, err):
		failure.Code, failure.Unanswered = Timeout, true
		failure.Message = "the TLS handshake with " + server + " did not end in time"
	case notTLS:
		failure.Message = server + " does not speak TLS on this port"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, net.ErrClosed):
		failure.Message = server + " broke off the TLS handshake"
	default:
		failure.Message = fmt.Sprintf("the TLS handshake with %s failed: %.200s", server, plain(err))
	}
	return failure
}

// plain strips the layers from an error of crypto/tls: "remote error: tls: handshake failure".
func plain(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op != "remote error" {
		return strings.TrimPrefix(diag.Reason(op.Err), "tls: ")
	}
	s := strings.ReplaceAll(err.Error(), "x509: ", "")
	if remote, ok := strings.CutPrefix(s, "remote error: tls: "); ok {
		return "the server answered " + strings.ToValidUTF8(remote, "\uFFFD")
	}
	return strings.ToValidUTF8(strings.TrimPrefix(s, "tls: "), "\uFFFD")
}

func timedOut(ctx context.Context, err error) bool {
	netErr, ok := errors.AsType[net.Error](err)
	return ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || ok && netErr.Timeout()
}
