package httpapi

import (
	"bytes"
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

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

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
	// Log receives once a minute that there are too many connections. Nil disables logging.
	Log *slog.Logger
	// ErrorLog receives handshakes that failed, as that of an [http.Server] does. Nil disables logging.
	ErrorLog *log.Logger

	open        atomic.Int64
	mu          sync.Mutex
	logged      time.Time
	closedCount int // connections closed since then

	handshakes
}

// Connections returns how many connections are open.
func (l *Listener) Connections() int { return int(l.open.Load()) }

// shedTime bounds the writing of a reply to a connection that is closed with it.
const shedTime = time.Second

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	if l.TLS != nil {
		return l.acceptTLS()
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
		release, fits := l.admit(c)
		tooMany := l.open.Add(1) > int64(l.MaxConnections) && l.MaxConnections > 0
		if fits && !tooMany {
			return &countedConn{Conn: c, listener: l, release: release}, nil
		}
		l.open.Add(-1)
		release()
		l.refuse(c, tooMany)
	}
}

// admit counts a connection for the networks of its peer, as [admitPeer] does.
func (l *Listener) admit(c net.Conn) (release func(), ok bool) {
	return admitPeer(l.Networks, l.Exempt, c.RemoteAddr().String())
}

// refuse closes a connection too many: of all, or of its network alone.
func (l *Listener) refuse(c net.Conn, tooMany bool) {
	l.mu.Lock()
	l.closedCount++
	if l.Log != nil && time.Since(l.logged) >= time.Minute {
		text := "too many connections of one network; new ones are closed"
		if tooMany {
			text = "too many connections; new ones are closed"
		}
		l.Log.Warn(text, "connections_max", l.MaxConnections, "closed", l.closedCount)
		l.logged, l.closedCount = time.Now(), 0
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
	release  func() // the count of its network
	closed   sync.Once
}

// Close implements [net.Conn].
func (c *countedConn) Close() error {
	c.closed.Do(func() {
		c.release()
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
	status, ok := netHTTPStatus(p)
	if !ok {
		return c.Conn.Write(p)
	}
	reason := status[len("400 "):]
	if _, text, more := strings.Cut(reason, ": "); more {
		reason = text
	}
	problem := invalidRequestProblem(0, reasonInvalid, "The server cannot read this request: "+reason+".").problem
	if _, err := c.Conn.Write(ownReply(status, problem, c.headers)); err != nil {
		return 0, err
	}
	return len(p), nil
}

const (
	protocol = "HTTP/1.1 "
	// netHTTPHeaders are in every reply that net/http writes past its handler, and in no other.
	netHTTPHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	// unsupportedCoding is the body of one that does not repeat its status line.
	unsupportedCoding = "Unsupported transfer encoding"
)

// netHTTPStatus returns the status line of a reply that is not from the handler: the bytes are all of it. They may
// also be any part of the handler's, which strangers may have written.
func netHTTPStatus(p []byte) (status string, ok bool) {
	if len(p) < len(protocol)+len("400") || string(p[:len(protocol)]) != protocol || p[len(protocol)] == '2' {
		return "", false
	}
	line, _, _ := bytes.Cut(p, []byte("\r\n"))
	status = string(line[len(protocol):])
	if strings.HasPrefix(status, "417 ") {
		return status, bytes.Contains(p, []byte("\r\nContent-Length: 0\r\n")) && bytes.HasSuffix(p, []byte("\r\n\r\n"))
	}
	body, match := bytes.CutPrefix(p[len(line):], []byte(netHTTPHeaders))
	return status, match && (string(body) == status || string(body) == unsupportedCoding)
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
